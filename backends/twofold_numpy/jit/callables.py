"""Machine code as built-in functions of Python: the interpreter jumps to it directly, so a call costs as much as any builtin's.

A function's ``self`` is a bytes object with the numbers that the code reads: `HEAD` numbers that all kernels share, then the kernel's.
"""

import ctypes
import itertools
import struct
from collections.abc import Callable, Iterable
from functools import cache
from types import BuiltinFunctionType

import numpy as np

#: The calling convention: ``PyObject *f(self, PyObject **arguments, Py_ssize_t count)``.
METH_FASTCALL = 0x80
#: Numbers before the kernel's own: the addresses of None, of ndarray and of the fallback for rejected arguments; and one of the five
#: modes below.
HEAD = 4
#: How code treats the GIL, and arguments that it rejects. KEEP_GIL and RELEASE_GIL keep or release it during the computation, and call
#: the fallback. WITHOUT_GIL is called without the GIL and REPORT_REFUSAL releases it; both return null, or another address if they reject
#: the arguments, and leave the fallback to the caller. Computations in pieces release the GIL and reject nothing, or with REFUSE_GAPS
#: arrays that are not C-contiguous.
KEEP_GIL, RELEASE_GIL, WITHOUT_GIL, REPORT_REFUSAL, REFUSE_GAPS = range(5)
#: Offset of a bytes object's content.
# The basic size counts the zero byte behind the content too.
CONTENT = bytes.__basicsize__ - 1

_make = ctypes.pythonapi.PyCFunction_NewEx
_make.restype, _make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
_numbers = itertools.count()


class Definition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = [("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


@cache
def _definition(address: int) -> Definition:
    """The definition for an address, kept forever: a function uses it until it is freed."""
    made = Definition(f"kernel{next(_numbers)}".encode(), address, METH_FASTCALL, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))  # never freed: at exit the cache may be freed before the last function
    return made


class _Owner:
    """Keeps the objects that a function needs alive. It is in the place of a builtin's module."""

    def __init__(self, *objects: object) -> None:
        self.objects = objects


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element."""
    return array.__array_interface__["data"][0]


def builtin_of(address: int, library: object, numbers: Iterable[int], refused: Callable[..., None], lock: int) -> BuiltinFunctionType:
    """A built-in function of arrays.

    Parameters
    ----------
    address, library
        The code's address, and the object that keeps it loaded.
    numbers
        The kernel's numbers.
    refused
        The fallback: called with the arguments, in place of the kernel, if the kernel rejects them; the kernel has then written nothing.
    lock
        The mode: `KEEP_GIL`, `RELEASE_GIL`, `WITHOUT_GIL`, `REPORT_REFUSAL` or `REFUSE_GAPS`.
    """
    # ids are addresses; the objects behind them are immortal (None, ndarray) or kept alive by the owner
    flat = [id(None), id(np.ndarray), id(refused), lock, *numbers]
    # `self` is a bytes object, which the code reads; the owner is in the place of a module's name, which CPython keeps alive but never
    # reads
    return _make(ctypes.addressof(_definition(address)), struct.pack(f"{len(flat)}q", *flat), _Owner(library, refused))
