"""Machine code as functions of Python: the interpreter jumps to it with the arguments as they lie, which costs as much as any builtin.

A function's ``self`` is a bytes object, the numbers that the code reads: those of `head`, then those of the kernel.
"""

import ctypes
import itertools
import struct
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

#: The calling convention: ``PyObject *f(self, PyObject **arguments, Py_ssize_t count)``.
METH_FASTCALL = 0x80
#: Numbers before a kernel's own: the addresses of None, of the class of arrays and of what is called with arrays that are refused,
#: and what it does about the lock.
HEAD = 4
#: What code does about the interpreter's lock: it keeps it, lets other threads run while it computes, is called without it, or does as
#: the second and, like the third, returns null, or another address where it refuses the arrays, and then calls nothing.
KEEPS, RELEASES, FOREIGN, TELLS = range(4)
#: Bytes before the content of a bytes object.
CONTENT = bytes.__basicsize__ - 1

_make = ctypes.pythonapi.PyCFunction_NewEx
_make.restype, _make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
_numbers = itertools.count()


class _Definition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


@cache
def _definition(address: int) -> _Definition:
    """The one of a place in memory, kept for good: a function looks at its own until it is gone, in whatever order cycles are collected."""
    return _Definition(f"kernel{next(_numbers)}".encode(), address, METH_FASTCALL, None)


class _Kept:
    """What a function needs as long as it lives; it stands where other builtins have their module."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects


def function_of(address: int, library: Any, numbers: Iterable[int], refused: Callable[..., Any], lock: int) -> Callable[..., Any]:
    """A function of arrays.

    Parameters
    ----------
    address, library
        Of the code, and what keeps it loaded.
    numbers
        What the kernel reads.
    refused
        Called with the arrays, and its result returned, if they are not what the kernel takes; nothing is written before.
    lock
        What it does about the interpreter's lock: `KEEPS`, `RELEASES`, `FOREIGN` or `TELLS`.
    """
    flat = [id(None), id(np.ndarray), id(refused), lock, *numbers]
    return _make(ctypes.addressof(_definition(address)), struct.pack(f"{len(flat)}q", *flat), _Kept(library, refused))
