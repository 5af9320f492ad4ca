"""Indexing in ``twofold.np``, by NumPy's rules. Basic indexing returns views, except for single elements, which are copies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..assembly import fragment, inlined
from ..calls import items
from ..calls.host_calls import is_recorded, to_numpy
from ..calls.item_fragments import ELLIPSIS
from ..device import CPU
from ..dtype import INTEGERS
from ..errors import AutogradError, IndexingError, ShapeError
from ..imperative.array import Array, apply_op
from ..imperative.cell import HOST, PLAIN, Value, content_of, wrap
from ..imperative.counters import COUNTERS
from ..imperative.element import NATIVE
from ..imperative.guards import apart, is_tracked
from ..imperative.index_rules import Rules
from ..imperative.indexing import Indexer
from ..imperative.invoke import content, data_of, host_of
from ..imperative.tape import tls
from ..imperative.trace import Trace
from ..imperative.transfer import on_device
from ..imperative.views import CONSTANT, is_changeable, views_are_constant
from ..imperative.write import change_inline, look, read, read_inline
from ..ndarray.types import ArrayLike, Index
from ..ops import primitive_shape
from .array import ndarray, ndarrayElement
from .creation import asarray
from .followed_writes import is_mask, put_by_mask, whole_mask
from .masked_selection import MaskedSelection, is_known, unknown_number


def _is_basic(item: object) -> bool:
    kind = item.__class__
    return kind is int or kind is slice or item is None or item is Ellipsis or isinstance(item, np.integer)


def _is_view(shape: tuple[int, ...], items: Sequence[object], key: object, target: object) -> bool:
    """Whether a basic index gives an array in NumPy, not a scalar."""
    return len(items) > len(shape) or len(items) < len(shape) or any(i is None or i is Ellipsis or isinstance(i, slice) for i in items)


def _places(item: Any) -> np.ndarray:
    """An item of an index as a NumPy array of bools (a mask) or integers.

    Raises
    ------
    IndexingError
        If it is neither.
    AutogradError
        If it is a mask whose values are not known while a function is traced.
    """
    try:
        host = host_of(item) if isinstance(item, Array) else np.asarray(item)
    except AutogradError:
        if not is_mask(item):
            raise
        raise unknown_number(item) from None
    except ValueError as error:
        raise IndexingError(f"an index is not an array: {error}", None, "pass integers, slices, None, ... or arrays") from None
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


INDEXER = Indexer(Rules((), _is_view, _is_basic, _places, _value, ellipsis_separates=True, takes_whole=False))


@fragment
def root_of(x: Any) -> Any:
    """The array that owns the memory of an array."""
    return x if x._held is not None else x._base


@inlined
def get(x: ndarray, index: object) -> ndarray:
    """``x[index]``."""
    if index.__class__ is tuple and not index:
        if not x.shape:  # as a copy does not change with the array, it stands for NumPy's scalar
            may_change = is_changeable(x) or getattr(x, "_gradient", None) is not None
            return apply_op(primitive_shape.contiguous, x, cls=ndarray) if may_change else x
        index = ELLIPSIS
    if x._held is None:
        piece = _piece(x, index)
        if piece is not None:
            return piece
    if tls.tape.__class__ is Trace and (mask := whole_mask(x, index)) is not None and not is_known(mask):
        return MaskedSelection.of(x, mask)
    root = root_of(x)
    of = content_of(root)
    if is_tracked(of) and (gathered := INDEXER.gather_as_given(x, index)) is not None:
        return gathered
    basic = INDEXER.basic(x.shape, index)
    chain = () if root is x else x._chain
    if basic is None:
        if is_followed(index):
            return INDEXER.gather(x, index)
        single = _without_arrays(index)
        if single is not None:
            # NumPy copies where the index is a 0-d array, not a scalar (see `_without_arrays`)
            return x[single].copy() if any(i.__class__ is ndarray and i.context is CPU for i in _items(index)) else x[single]
        memory = memory_of(x)
        if memory is None:
            return INDEXER.gather(x, index)
        COUNTERS.inline += 1  # NumPy's result of an index with arrays is a copy, so nothing is shared
        return wrap(ndarray, content(HOST.as_array(memory[to_numpy(index)]), CPU))
    if basic.is_view:
        return x._view(*basic.chain)
    if is_variable(x):
        return INDEXER.get(x, index)
    if is_tracked(of):
        return wrap(ndarray, read(root, (*chain, *basic.chain)))
    found = read_inline(root, (*chain, *basic.chain))
    if found is None:
        return INDEXER.get(x, index)
    scalar = found[1][()]
    return scalar if scalar.__class__ in NATIVE else wrap(ndarray, HOST.as_array(np.array(scalar)))


def _piece(x: Any, key: Any) -> ndarray | None:
    """The part that an index without arrays selects from a view that another operation made; None if it must wait or be recorded."""
    for k in key if key.__class__ is tuple else (key,):
        if k.__class__ is not int and k.__class__ is not slice:
            return None
    of = x._base._content
    memory = of if of.__class__ is PLAIN else None if is_tracked(of) or of.device is not CPU else of.data
    if memory.__class__ is not PLAIN or x._gradient is not None:
        return None
    seen = x._seen if x._of is of else look(HOST, memory, x._chain)
    if not seen.ndim:
        return None
    x._of = None  # Another thread must not mistake the old ``_seen`` for the one of this content.
    x._seen = seen
    x._of = of
    try:
        found = seen[key]
    except IndexError:
        return None
    if found.__class__ in NATIVE:
        return found
    if found.__class__ is not PLAIN:
        return None
    view: Any = ndarray.__new__(ndarray)
    view._base, view._under, view._key, view._of, view._seen = x._base, x, key, of, found
    view._held = view._gradient = None
    view._steps = CONSTANT if views_are_constant(x._base._held) else None
    return view


def put(x: ndarray, index: Index, value: ArrayLike) -> None:
    """``x[index] = value``."""
    if tls.tape.__class__ is Trace and put_by_mask(x, index, value):
        return
    if is_followed(index):
        INDEXER.put(x, index, value)
        return
    single = _without_arrays(index)
    # at an index without arrays, a value that is pending or on a device may be written later
    at_once = single is None or (
        root_of(x)._content.__class__ is PLAIN and not (isinstance(value, Array) and value._content.__class__ is Value)
    )
    if at_once and not is_recorded(value):
        key, host = to_numpy(index) if single is None else single, to_numpy(value)
        if changed_inline(x, lambda target: HOST.write(target, key, apart(host, target))):
            return
    INDEXER.put(x, index, value)


def is_variable(x: Any) -> bool:
    """Whether an array is a view that is a variable itself, so that reading it now has to be recorded even if its root is not tracked."""
    return tls.tape is not None and x._held is None and x._gradient is not None


def changed_inline(x: Any, change: Callable[[Any], object], value: object = None) -> bool:
    """Change an array by a NumPy function; False if the change has to wait or to be recorded.

    Parameters
    ----------
    x
        The array.
    change
        Writes to the NumPy array that it is called with.
    value
        The other operand that the function reads. If it is tracked, NumPy cannot write it into the array.
    """
    root, chain = (x, ()) if x._held is not None else (x._base, x._chain)
    if is_recorded(value):
        return False
    return change_inline(root, chain, change)


@inlined
def memory_of(x: Any) -> np.ndarray | None:
    """NumPy's view of an array's memory, computed if it is pending; None where an operation has to be recorded, or is not on cpu(0)."""
    root, chain = (x, ()) if x._held is not None else (x._base, x._chain)
    v = content_of(root)
    if is_variable(x):
        return None
    if v.__class__ is PLAIN:
        return look(HOST, v, chain)
    if is_tracked(v) or v.device is not CPU:
        return None
    data = data_of(v)
    return look(HOST, data, chain) if data.__class__ is PLAIN else None


def add_at(x: ndarray, index: Index, value: ArrayLike) -> None:
    """``x[index] += value``, accumulating at repeated indices."""
    if not is_followed(index) and not is_recorded(value):
        key, host = to_numpy(index), to_numpy(value)
        if changed_inline(x, lambda target: change_at(np.add, target, key, host)):
            return
    if INDEXER.basic(x.shape, index) is not None:  # every position occurs once
        x[index] = x[index] + value
    else:
        x[...] = wrap(ndarray, INDEXER.added(x, index, value))


def change_at(function: np.ufunc, target: np.ndarray, *given: Any) -> None:
    """Call the method ``at`` of one of NumPy's functions, which would write to arrays that refuse it."""
    if not target.flags.writeable:
        raise ValueError("assignment destination is read-only")
    function.at(target, *given)


def is_followed(index: object) -> bool:
    """Whether an index has arrays that a trace follows, so that their values are not read."""
    return tls.tape.__class__ is Trace and any(map(INDEXER.is_followed, _items(index)))


def _items(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _without_arrays(index: Any) -> Any:
    """The index as a tuple, with integers in place of integer arrays without axes; None if it contains other arrays.

    Those that stand for NumPy's scalars select as integers do; others too, but NumPy then returns a copy. On a device the two are the
    same class, and count as scalars, which elements and results without axes are in NumPy.
    """
    plain = [i.__index__() if isinstance(i, (ndarray, np.ndarray)) and not i.ndim and i.dtype.kind in "iu" else i for i in _items(index)]
    return tuple(plain) if all(map(_is_basic, plain)) else None


ndarray._indexer = INDEXER
items.attach(ndarray, ndarrayElement, get, put, items.NUMPY)
