"""Handles: numbers that stand for arrays and other objects where MXNet's programs pass pointers of C.

A handle keeps its object alive. An array is found by its number as long as it lives, as functions of C get the number alone.
"""

import ctypes
from collections.abc import Sequence
from typing import TypeVar
from weakref import WeakValueDictionary

import numpy as np

from ..device import Device
from ..errors import InvalidValue, MXNetError
from ..executor.executor import Executor
from ..formats.params import STORAGE_CODES
from ..imperative.array import Array
from ..ndarray import empty
from ..ndarray.array import NDArray
from ..ndarray.types import DTypeLike
from ..symbol.symbol import Symbol
from .array_state import adopt
from .base import _HANDLES, _Handle
from .cached_op import CachedOp

T = TypeVar("T")
#: The handles that are in use, and the arrays that have had one, by number.
_handles: "WeakValueDictionary[int, _Handle]" = WeakValueDictionary()
_arrays: "WeakValueDictionary[int, Array]" = WeakValueDictionary()


def handle_of(thing: object, kind: str) -> _Handle:
    """The handle of an object, of a class such as ``"NDArrayHandle"``."""
    found = _handles.get(id(thing))
    if found is None:
        # the number of an object that lives is its own
        found = _handles[id(thing)] = _HANDLES[kind](id(thing))
        found.owner = thing
        # functions of C get the number without the handle, which may be gone by then
        if isinstance(thing, Array):
            _arrays[id(thing)] = thing
    return found


def owner(number: int | None, kind: type[T]) -> T:
    """The object that a handle's number stands for.

    Raises
    ------
    MXNetError
        If there is none of the kind, or it lives no more.
    """
    # an empty handle has no number, and no object has the number 0
    found: object = _arrays.get(number or 0)
    if found is None:
        handle = _handles.get(number or 0)
        found = None if handle is None else handle.owner
    if not isinstance(found, kind):
        what = f"no {kind.__name__} has this handle"
        raise MXNetError(what, str(number), "keep the object, or its handle, as long as it is used")
    return found


def number_of(handle: ctypes.c_void_p | None) -> int | None:
    """The number of a handle; None if it is empty."""
    return None if handle is None else handle.value


class ArrayHandle(NDArray):
    """Handles of `NDArray`."""

    @property
    def handle(self) -> _Handle:
        """The array's handle, of which `NDArray` makes an array on the same memory."""
        return handle_of(self, "NDArrayHandle")

    @property
    def _as_parameter_(self) -> _Handle:
        """What functions of C get for the array: programs cast what a monitor passes to a handle."""
        return self.handle

    @classmethod
    def _of_handle(cls, handle: object = None, writable: bool = True) -> Array | None:
        """The array of a handle, as a view, whether it is to be written to or not. None without a handle."""
        if not isinstance(handle, ctypes.c_void_p):
            return _refused(handle, writable)
        number = number_of(handle)
        if number is None:
            return None
        array = owner(number, Array)
        return array if array._is_sparse else array._view()  # type: ignore[attr-defined]


def _ndarray_cls(handle: ctypes.c_void_p, writable: bool = True, stype: int | None = None) -> Array:
    """The array of a handle, of its own class; ``stype`` is the code of its storage type, which it has anyway.

    Raises
    ------
    InvalidValue
        If its storage type is another one.
    """
    array = owner(number_of(handle), Array)
    code = STORAGE_CODES[array.stype]
    if stype not in (None, -1, code):
        raise InvalidValue("_ndarray_cls: the array has another storage type", f"{stype} for {array.stype}", f"pass {code}")
    found = None if array._is_sparse else NDArray._of_handle(handle, writable)
    return array if found is None else found


def _np_ndarray_cls(handle: ctypes.c_void_p, writable: bool = True, stype: int = 0) -> Array:
    """The array of a handle as one of ``mx.np``."""
    return _ndarray_cls(handle, writable, stype).as_np_ndarray()


def _new_alloc_handle(shape: Sequence[int], ctx: Device, delay_alloc: bool, dtype: DTypeLike = np.float32) -> _Handle:
    """The handle of a new array, whose memory is allocated when it is written to, whatever ``delay_alloc`` says."""
    return handle_of(empty(tuple(shape), ctx, dtype), "NDArrayHandle")


class SymbolHandle(Symbol):
    """The handle of `Symbol`."""

    __slots__ = ()

    def _set_handle(self, handle: ctypes.c_void_p) -> None:
        """Make this symbol that of a handle."""
        self.heads = owner(number_of(handle), Symbol).heads


def _property(kind: str) -> property:
    return property(lambda thing: handle_of(thing, kind))


# `Symbol` makes a symbol of outputs
type.__setattr__(_HANDLES["SymbolHandle"], "__iter__", lambda handle: iter(owner(handle.value, Symbol).heads))
_refused = NDArray._of_handle
adopt(NDArray, ArrayHandle)
adopt(Symbol, SymbolHandle)
for _cls, _kind in ((Symbol, "SymbolHandle"), (Executor, "ExecutorHandle"), (CachedOp, "CachedOpHandle")):
    type.__setattr__(_cls, "handle", _property(_kind))
