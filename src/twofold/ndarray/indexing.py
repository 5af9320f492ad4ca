"""Indices of ``mx.nd``: which make views (contiguous basic ones), which copy, which gather; and assignment to all of them.

A basic index is a slice of every axis and then a shape (axes selected by an integer gone, new axes in). With index arrays among
the items, slices are taken and new axes put in first; what is left is NumPy's indexing by arrays and whole axes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtype import NUMPY
from ..errors import DTypeError, IndexingError, ParameterError, ShapeError
from ..imperative.array import Array, from_host
from ..imperative.cell import Cell, wrap
from ..imperative.invoke import invoke
from ..imperative.transfer import on_device
from ..imperative.write import write
from ..op.conventions import legacy_scalar
from ..op.registry import OPS
from ..op.shapes import broadcast_shapes, checked_index
from ..op.spec import Sig

Triple = tuple[int | None, int | None, int | None]
FULL: Triple = (None, None, None)
_MOST = 4096


class Basic(NamedTuple):
    """A basic index of a shape.

    Attributes
    ----------
    key
        One (begin, end, step) triple per axis.
    kept
        For each axis of the result the source axis it comes from, or None for a new axis.
    chain
        The view operations: a slice, then a reshape if axes go or come.
    is_view
        Whether what it selects is contiguous, and so shares memory.
    target
        Sizes of the slice, before axes go or come.
    """

    key: tuple[Triple, ...]
    kept: tuple[int | None, ...]
    chain: tuple[Sig, ...]
    is_view: bool
    target: tuple[int, ...]


#: Basic indices by (shape, items): one that was seen before costs a look-up.
_BASIC: dict[Any, Basic] = {}


def get(x: Any, index: Any) -> Any:
    """``x[index]``."""
    basic = _basic(x.shape, index)
    if basic is None:
        return _gathered(x, index)
    if basic.is_view:
        return x._view(*basic.chain)
    return _applied(x, basic.chain)


def put(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    root, chain = (x._base, x._chain) if type(x)._root is not None else (x, ())
    basic = _basic(x.shape, index)
    if basic is None:
        _scatter(x, root, chain, index, value)
        return
    value = _fitting(_plain_value(value, x), basic)
    write(root, chain, None if basic.target == x.shape and all(k[2] in (None, 1) for k in basic.key) else basic.key, value)


# basic indices


def _basic(shape: tuple[int, ...], index: Any) -> Basic | None:
    """The index if it is basic: integers, slices, None and an ellipsis; else None."""
    items = index if index.__class__ is tuple else (index,)
    key = shape, tuple([(i.__class__, i.start, i.stop, i.step) if i.__class__ is slice else (i.__class__, i) for i in items])
    try:
        found = _BASIC.get(key)
    except TypeError:  # lists and arrays
        key, found = None, None
    if found is None and all(_is_basic(i) for i in items):
        found = _parsed(shape, items)
        if key is not None:
            if len(_BASIC) >= _MOST:
                _BASIC.clear()
            _BASIC[key] = found
    return found


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer, np.bool_))


def _parsed(shape: tuple[int, ...], items: Sequence[Any]) -> Basic:
    key: list[Triple] = []
    kept: list[int | None] = []
    for item in _expanded(items, len(shape)):
        if item is None:
            kept.append(None)
        elif isinstance(item, slice):
            kept.append(len(key))
            key.append(_triple(item))
        else:
            at = checked_index(int(item), shape[len(key)], len(key))
            key.append((at, at + 1, None))
    target = tuple(len(range(*slice(*k).indices(n))) for k, n in zip(key, shape, strict=True))
    chain = [OPS["slice"].sig(key=tuple(key))]
    result = tuple(1 if k is None else target[k] for k in kept) or ((1,) if shape else ())
    if result != target:
        chain.append(OPS["reshape"].sig(shape=result))
    return Basic(tuple(key), tuple(kept), tuple(chain), _is_contiguous(shape, key, target), target)


def _triple(item: slice) -> Triple:
    return tuple(None if k is None else k.__index__() for k in (item.start, item.stop, item.step))  # type: ignore[return-value]


def _expanded(items: Sequence[Any], ndim: int) -> list[Any]:
    """The items with the ellipsis written out, one (or more, for a mask) per axis.

    Raises
    ------
    IndexingError
        If there are too many of them.
    """
    used = sum(_axes_of(i) for i in items)
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if used > ndim:
        raise IndexingError(f"too many indices ({used}) for array with {ndim} dimensions")
    if len(dots) > 1:
        raise IndexingError("Cannot use more than one ellipsis (`...`) for indexing")
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * (ndim - used), *items[at + 1 :]]


def _axes_of(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, Array) and item._dtype == "bool" else 1


def _is_contiguous(shape: Sequence[int], key: Sequence[Triple], target: Sequence[int]) -> bool:
    """Whether a slice is one piece of memory: one element of leading axes, a range of the next, all of those behind."""
    inside = False
    for size, (_, _, step), n in zip(shape, key, target, strict=True):
        if (n > 1 and step not in (None, 1)) or (inside and n != size):
            return False
        inside = inside or n != 1
    return True


def _applied(x: Any, chain: Sequence[Sig]) -> Any:
    cls = type(x)._root or type(x)
    for sig in chain:
        x = wrap(cls, invoke(sig, (x,))[0])
    return x


# index arrays


class Places(NamedTuple):
    """An index with arrays: what to do to the source first, then the arrays and the axes they index (None: whole axes)."""

    chain: tuple[Sig, ...]
    items: tuple[Any, ...]
    shape: tuple[int, ...]


def _places(x: Any, index: Any) -> Places:
    """Slices and new axes first; integers become arrays of no axes, as in NumPy they count as index arrays here."""
    key: list[Triple] = []
    items: list[Any] = []
    shape: list[int] = []
    source = x.shape
    for item in _expanded(index if isinstance(index, tuple) else (index,), len(source)):
        axis = len(key)
        if item is None:
            items.append(None)
            shape.append(1)
            continue
        arrays = [None] if isinstance(item, slice) else _index_arrays(item, source, axis)
        for a in arrays:
            triple = _triple(item) if isinstance(item, slice) else FULL
            key.append(triple)
            shape.append(len(range(*slice(*triple).indices(source[len(key) - 1]))))
            items.append(a)
    chain = [] if all(k == FULL for k in key) else [OPS["slice"].sig(key=tuple(key))]
    if len(shape) > len(source):
        chain.append(OPS["reshape"].sig(shape=tuple(shape)))
    return Places(tuple(chain), tuple(items), tuple(shape))


def _index_arrays(item: Any, shape: tuple[int, ...], axis: int) -> list[np.ndarray]:
    """Index arrays of one item: integers in [0, size), or of a mask (an array of ours of dtype bool) the places where it is true.

    Raises
    ------
    ParameterError
        If the item is no index.
    IndexingError
        If an index is out of range.
    """
    if not isinstance(item, (Array, np.ndarray, list, tuple, range, int, np.integer, np.bool_)):
        raise ParameterError(
            f"NDArray does not support slicing with key {item} of type {type(item)}", None, "use integers, slices, None, ... or arrays"
        )
    host = item.asnumpy() if isinstance(item, Array) else np.asarray(item)
    if isinstance(item, Array) and host.dtype == bool:
        if host.shape != shape[axis : axis + host.ndim]:
            raise IndexingError("the mask's shape is not that of the axes it indexes", f"{host.shape} for {shape[axis : axis + host.ndim]}")
        return list(np.nonzero(host))
    if host.dtype.kind not in "biuf" or (host.dtype.kind == "f" and not isinstance(item, Array) and host.size):
        raise ParameterError("NDArray does not support slicing with arrays of this kind", str(host.dtype), "use integers")
    places, size = host.astype(np.int64), shape[axis]
    if places.size and (places.min() < -size or places.max() >= size):
        wrong = places.max() if places.max() >= size else places.min()
        raise IndexingError(f"index {wrong} is out of bounds for axis {axis} with size {size}")
    return [np.where(places < 0, places + size, places)]


def _index_sig(arrays: Sequence[Any], like: Array) -> tuple[Sig, list[Any]]:
    """The ``index`` primitive for an item per axis (an index array, or None for the whole axis), and the arrays on the device."""
    used = [a for a in arrays if a is not None]
    try:
        broadcast_shapes("index", [a.shape for a in used])
    except ShapeError as error:
        raise IndexingError("index arrays do not broadcast", ", ".join(str(a.shape) for a in used), "give arrays of one shape") from error
    numbers = iter(range(len(used)))
    key = tuple(None if a is None else next(numbers) for a in arrays)
    cls = type(like)._root or type(like)
    return OPS["index"].sig(key=key), [from_host(cls, a, like.context) for a in used]


def _gathered(x: Any, index: Any) -> Any:
    cls = type(x)._root or type(x)
    places = _places(x, index)
    out = _applied(x, places.chain)
    sig, cells = _index_sig(places.items, x)
    out = wrap(cls, invoke(sig, (out, *cells))[0])
    return out if out.shape else _applied(out, [OPS["reshape"].sig(shape=(1,))])


def _scatter(x: Any, root: Cell, chain: Any, index: Any, value: Any) -> None:
    """Assignment at index arrays; where slices or new axes stand beside them, at the coordinates of every place."""
    places = _places(x, index)
    arrays: Sequence[Any] = places.items
    if places.chain:
        selected = tuple(slice(None) if a is None else a for a in places.items)
        arrays = [_coordinates(x.shape, k, places)[selected] for k in range(x.ndim)]
    sig, cells = _index_sig(arrays, x)
    write(root, chain, (sig, *cells), _plain_value(value, x))


def _coordinates(shape: Sequence[int], axis: int, places: Places) -> np.ndarray:
    """The coordinate along an axis of every element of the source, as it is when slices are taken and new axes put in."""
    column = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    whole = np.broadcast_to(column, shape)
    for sig in places.chain:
        whole = whole[tuple(slice(*t) for t in sig.params["key"])] if sig.op.name == "slice" else whole.reshape(sig.params["shape"])
    return whole


# values


def _plain_value(value: Any, x: Any) -> Any:
    """A value to be written, in the array's dtype: a cell on its device, a Python number, or a NumPy array.

    Raises
    ------
    DTypeError
        If it is nothing of the kind.
    """
    if isinstance(value, Array):
        if value.context is not x.context and not (value.context.is_host and x.context.is_host):
            value = wrap(type(value)._root or type(value), on_device(value, x.context))
        return value if value._dtype == x._dtype else value.astype(x._dtype)  # type: ignore[attr-defined]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float)):
        return legacy_scalar(value, x._dtype)
    try:
        host, dtype = np.asarray(value), NUMPY[x._dtype]
        if host.dtype == dtype:
            return host
        with np.errstate(all="ignore"):
            return host.astype(dtype)
    except (TypeError, ValueError) as error:
        raise DTypeError(
            "item assignment: the value is not array-like", str(error), "give an array, a number or nested lists of them"
        ) from None


def _fitting(value: Any, basic: Basic) -> Any:
    """The value in a shape that broadcasts to the slice (whose integer axes have size 1).

    Raises
    ------
    ShapeError
        If it does not fit.
    """
    if isinstance(value, (bool, int, float)):
        return value
    shape = tuple(1 if k is None else basic.target[k] for k in basic.kept)
    given = tuple(value.shape)
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    wide = (1,) * (len(shape) - len(given)) + given
    if len(wide) != len(shape) or any(n not in (1, m) for n, m in zip(wide, shape, strict=True)):
        raise ShapeError(
            "item assignment: the value does not broadcast to the selection", f"{value.shape} into {shape}", "give a value that fits"
        )
    sizes = dict(zip(basic.kept, wide, strict=True))
    fitting = tuple(sizes.get(k, 1) for k in range(len(basic.target)))
    if value.shape in (fitting, basic.target):
        return value
    return value._view(OPS["reshape"].sig(shape=fitting)) if isinstance(value, Array) else value.reshape(fitting)  # type: ignore[attr-defined]
