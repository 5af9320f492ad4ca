"""``x.flat[key] = value``: values are repeated until there is one for every place; those left over are ignored."""

import numpy as np

from ..calls.host_calls import is_recorded, to_numpy
from ..imperative.cell import PLAIN
from ..ndarray.types import ArrayLike, Index
from .array import ndarray
from .creation import operand
from .flat import flatiter
from .indexing import changed_inline, is_followed


def _setitem(self: flatiter, key: Index, value: ArrayLike) -> None:
    array = self._array
    if (key.__class__ is int and array._held.__class__ is PLAIN) or is_followed(key):
        ndarray.__setitem__(self, key, value)  # as of any vector
    else:
        write(array, key, value)


def write(array: ndarray, key: Index, value: ArrayLike) -> None:
    """``array.flat[key] = value``."""
    where = to_numpy(key)
    if not is_recorded(value):
        host = to_numpy(value)
        if changed_inline(array, lambda target: _write(target, where, host)):
            return
    places, values = np.arange(array.size)[where].reshape(-1), operand(value, array.context).reshape(-1)
    if places.size and values.size:
        each = values[np.arange(places.size) % values.size]
        if array.ndim:
            array[np.unravel_index(places, array.shape)] = each
        else:
            array[...] = each[-1]


def _write(target: np.ndarray, key: np.ndarray, values: object) -> None:
    if not target.flags.writeable:
        raise ValueError("assignment destination is read-only")
    target.flat[key] = values


def set_flat(self: ndarray, value: ArrayLike) -> None:
    """``x.flat = value``."""
    write(self, Ellipsis, value)


flatiter.__setitem__ = _setitem
