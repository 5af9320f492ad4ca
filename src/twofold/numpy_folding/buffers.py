"""The buffer protocol of `FoldingArray`: a slot of the type is filled directly.

Python 3.12 has a method for it, `__buffer__`. But a memoryview by that method names an object of Python's as its source, which lets go of
the memory with the memoryview, and ``numpy.ndarray(shape, dtype, memoryview(x))`` keeps the source alone.

The layout of a type object up to the slot is the same in every CPython 3 on a machine; it is checked before anything is written. If the
check fails, the method is used; without it ``memoryview(x)`` and ``file.write(x)`` do not work, and ``numpy.asarray(x)`` uses another
protocol.
"""

import ctypes
import sys
from typing import Any

from .array import FoldingArray, exported

#: Pointers in a type object before ``tp_as_buffer``, its header of three words included.
BEFORE = 20
WORD = ctypes.sizeof(ctypes.c_void_p)


def _slots(cls: type) -> int:
    """The address of a class's buffer slots; 0 if there are none."""
    return ctypes.c_void_p.from_address(id(cls) + BEFORE * WORD).value or 0


def _is_as_known() -> bool:
    """Whether type objects are laid out as expected: classes have slots inside themselves, empty unless they have buffers."""
    if sys.implementation.name != "cpython":
        return False
    plain = type("plain", (), {})
    buffered = type("buffered", (bytearray,), {})
    for cls, has_buffer in ((plain, False), (buffered, True), (FoldingArray, hasattr(FoldingArray, "__buffer__"))):
        at = _slots(cls)
        if not id(cls) < at < id(cls) + type.__sizeof__(cls):
            return False
        if bool(ctypes.c_void_p.from_address(at).value) is not has_buffer:
            return False
    # A subclass of `bytearray` inherits its functions, so both types must hold the same address in this slot.
    static = _slots(bytearray)
    return ctypes.c_void_p.from_address(static).value == ctypes.c_void_p.from_address(_slots(buffered)).value


def attach() -> None:
    """Fill the slot."""
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = ctypes.py_object, ctypes.c_void_p, ctypes.c_int

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
    def get_buffer(x: Any, view: int, flags: int) -> int:
        try:
            return get(exported(x), view, flags)
        except Exception:  # an exception cannot cross into C; -1 without an exception makes Python raise a SystemError
            return -1

    @ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.c_void_p)
    def release_buffer(x: object, view: int) -> None:
        """Do nothing. The slot must not be empty: NumPy's `frombuffer` would keep the array instead of the buffer."""

    slots = (ctypes.c_void_p * 2).from_address(_slots(FoldingArray))
    for k, function in enumerate((get_buffer, release_buffer)):
        slots[k] = ctypes.cast(function, ctypes.c_void_p).value
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))  # never freed: the slot points to it until the process ends


#: Whether the slot is filled.
IS_ATTACHED = _is_as_known()
if IS_ATTACHED:
    attach()
