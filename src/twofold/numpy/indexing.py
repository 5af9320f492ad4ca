"""Indexing in ``twofold.np``, by NumPy's rules. Basic indexing returns views, except for single elements, which are copies."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device import CPU
from ..dtype import INTEGERS
from ..errors import IndexingError, ShapeError
from ..imperative import items
from ..imperative.array import Array
from ..imperative.cell import HOST, PLAIN, Value, wrap
from ..imperative.counters import COUNTERS
from ..imperative.indexing import Indexer, Rules
from ..imperative.invoke import content, host_of
from ..imperative.record import tls
from ..imperative.transfer import on_device
from ..imperative.write import read_at_once
from ..ndarray.host_calls import is_recorded, to_numpy
from ..ndarray.types import ArrayLike, Index
from .array import ndarray, ndarrayElement, ndarrayView
from .creation import asarray


def _is_basic(item: object) -> bool:
    kind = item.__class__
    return kind is int or kind is slice or item is None or item is Ellipsis or isinstance(item, np.integer)


def _is_view(shape: tuple[int, ...], items: Sequence[object], key: object, target: object) -> bool:
    """Whether a basic index gives an array in NumPy, not a scalar."""
    return len(items) > len(shape) or len(items) < len(shape) or any(i is None or i is Ellipsis or isinstance(i, slice) for i in items)


def _places(item: ArrayLike) -> np.ndarray:
    """An item of an index as a NumPy array of bools (a mask) or integers.

    Raises
    ------
    IndexingError
        If it is neither.
    """
    try:
        host = host_of(item) if isinstance(item, Array) else np.asarray(item)
    except ValueError as error:
        raise IndexingError("an index is not an array", str(error), "pass integers, slices, None, ... or arrays") from None
    if host.dtype == bool:
        return host
    # an empty list is a valid index, though NumPy makes it a float64 array
    if host.dtype.kind not in "iu" and (host.size or isinstance(item, (Array, np.ndarray))):
        what = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
        raise IndexingError(what, repr(item)[:60])
    return host.astype(np.int64)


def _value(value: Any, x: ndarray) -> Any:
    """The value of an assignment: a Python scalar, or an array in the target's dtype and on its device."""
    if isinstance(value, Array) or is_recorded(value):
        value = asarray(value)
        if not value.context.shares_memory_with(x.context):
            value = wrap(ndarray, on_device(value, x.context))
        return value if value._dtype == x._dtype else value.astype(x._dtype)
    if isinstance(value, (bool, int, float)) and x._dtype not in INTEGERS:
        return bool(value) if x._dtype == "bool" else value
    # Python integers go through `asarray`, which raises where the dtype cannot hold them; arrays wrap around, as in NumPy
    host = np.asarray(value, x.dtype) if not isinstance(value, np.ndarray) else value.astype(x.dtype)
    if host.dtype.kind == "O":
        raise ShapeError("item assignment: the value is not an array of numbers", repr(value)[:60], "pass numbers")
    return host.item() if not host.ndim and host.dtype.kind in "biuf" else host


INDEXER = Indexer(Rules((), _is_view, _is_basic, _places, _value, ellipsis_separates=True))


def get(x: ndarray, index: Any) -> ndarray:
    """``x[index]``."""
    basic = INDEXER.basic(x.shape, index)
    if basic is None:
        v = x._v if x._root is None else None
        if v.__class__ is PLAIN:
            COUNTERS.inline += 1  # NumPy's result of an index with arrays is a copy, so nothing is shared
            return wrap(ndarray, content(HOST.as_array(v[to_numpy(index)]), CPU))
        single = _without_arrays(index)
        if single is not None:  # 0-d integer arrays select as integers do, but NumPy then returns a copy
            return get(x, single).copy()
        return INDEXER.get(x, index)
    if basic.is_view:
        return x._view(*basic.chain)
    root, chain = (x, basic.chain) if x._root is None else (x._base, (*x._chain, *basic.chain))  # type: ignore[attr-defined]
    found = read_at_once(root, chain)
    if found is None:
        return INDEXER.get(x, index)
    _, element = found
    return wrap(ndarray, HOST.as_array(np.array(element)))


def put(x: ndarray, index: Index, value: ArrayLike) -> None:
    """``x[index] = value``."""
    if x._root is None:
        v = x._v
        if v.__class__ is PLAIN:
            new = value._v if isinstance(value, Array) else value
            # a `Value` may be pending, on a device, or recorded: the general path decides. So may those in a list
            if new.__class__ is not Value and (tls.tape is None or not is_recorded(new)):
                COUNTERS.in_place += 1
                v[index if _is_basic(index) else to_numpy(index)] = new
                return
    INDEXER.put(x, index, value)


def add_at(x: ndarray, index: Index, value: ArrayLike) -> None:
    """``x[index] += value``, accumulating at repeated indices."""
    if INDEXER.basic(x.shape, index) is not None:  # every position occurs once
        x[index] = x[index] + value
    else:
        x[...] = wrap(ndarray, INDEXER.added(x, index, value))


def _without_arrays(index: Any) -> Any:
    """The index with integers in place of 0-d integer arrays; None if it contains other arrays."""
    items = index if isinstance(index, tuple) else (index,)
    plain = [i.__index__() if isinstance(i, (ndarray, np.ndarray)) and not i.ndim and i.dtype.kind in "iu" else i for i in items]
    return tuple(plain) if all(map(_is_basic, plain)) else None


ndarray._indexer = INDEXER
items.attach(ndarray, ndarrayView, ndarrayElement, get, put)
