"""Indices of ``mx.nd``: which make views (an integer or a slice on the first axis), which slices, which gathers; and assignment."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import IndexingError, ShapeError
from ..imperative.array import Array, from_host
from ..imperative.cell import Cell, wrap
from ..imperative.invoke import invoke
from ..imperative.write import write
from ..op.registry import OPS
from ..op.shapes import broadcast_shapes, checked_index

FULL = (None, None, None)


class Parsed:
    """An index as steps: a slice of every axis, integer arrays on some, then a shape (integer axes gone, new axes in).

    Attributes
    ----------
    key
        One (begin, end, step) triple per axis.
    arrays
        Axis to integer index array (a NumPy array or an `Array`).
    shape_of
        For each axis of the result before arrays are applied: the source axis it comes from, or None for a new axis.
    """

    def __init__(self, shape: tuple[int, ...], index: Any) -> None:
        self.key: list[tuple[int | None, int | None, int | None]] = []
        self.arrays: dict[int, Any] = {}
        self.kept: list[int | None] = []
        items = index if isinstance(index, tuple) else (index,)
        items = self._expanded(items, len(shape))
        for item in items:
            if item is None:
                self.kept.append(None)
            else:
                self._axis(item, len(self.key), shape)

    @staticmethod
    def _expanded(items: tuple[Any, ...], ndim: int) -> list[Any]:
        used = sum(_axes_of(i) for i in items if i is not None and i is not Ellipsis)
        if used > ndim:
            raise IndexingError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
        out: list[Any] = []
        seen = False
        for item in items:
            if item is Ellipsis:
                if seen:
                    raise IndexingError("an index can only have a single ellipsis ('...')")
                seen = True
                out += [slice(None)] * (ndim - used)
            else:
                out.append(item)
        return out if seen else out + [slice(None)] * (ndim - used)

    def _axis(self, item: Any, axis: int, shape: tuple[int, ...]) -> None:
        if isinstance(item, slice):
            self.key.append(tuple(None if k is None else k.__index__() for k in (item.start, item.stop, item.step)))  # type: ignore[arg-type]
            self.kept.append(axis)
        elif isinstance(item, (bool, np.bool_)):
            raise IndexingError("a bool is not an index here", repr(item), "use an integer, a slice or an array")
        elif isinstance(item, (int, np.integer)):
            at = checked_index(int(item), shape[axis], axis)
            self.key.append((at, at + 1, None))
        elif isinstance(item, (Array, np.ndarray, list, tuple, range)):
            for places in _integer_arrays(item, shape[axis]):
                self.arrays[len(self.key)] = places
                self.key.append(FULL)
                self.kept.append(len(self.key) - 1)
        else:
            raise IndexingError(f"index of type {type(item).__name__} is not supported", repr(item), "use integers, slices, None, ..., or arrays")

    @property
    def is_whole(self) -> bool:
        """Whether it selects everything, in order."""
        return not self.arrays and all(k == FULL for k in self.key) and self.kept == list(range(len(self.key)))


def _axes_of(item: Any) -> int:
    if isinstance(item, Array) and item._dtype == "bool":
        return item.ndim
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def _integer_arrays(item: Any, size: int) -> list[Any]:
    """Index arrays of one item: itself as integers in [0, size), or of a mask the places where it is true, per axis."""
    host = item.asnumpy() if isinstance(item, Array) else np.asarray(item)
    if host.dtype == bool:
        return list(np.nonzero(host))
    places = host.astype(np.int64)
    if places.size and (places.min() < -size or places.max() >= size):
        raise IndexingError(f"index {places.max() if places.max() >= size else places.min()} is out of bounds for axis with size {size}")
    return [np.where(places < 0, places + size, places)]


def index_cells(parsed: Parsed, like: Array) -> tuple[Any, list[Any]]:
    """(key of the ``index`` primitive, index cells on the array's device)."""
    order = list(parsed.arrays)
    key = tuple(order.index(k) if k in parsed.arrays else None for k in range(len(parsed.key)))
    broadcast_shapes("index", [a.shape for a in parsed.arrays.values()])
    cells = [from_host(type(like)._root or type(like), np.asarray(parsed.arrays[k]), like.context) for k in order]
    return key, cells


def get(x: Any, index: Any) -> Any:
    """``x[index]``."""
    cls = type(x)._root or type(x)
    parsed = Parsed(x.shape, index)
    if not parsed.arrays and all(k == FULL for k in parsed.key[1:]) and None not in parsed.kept:
        return _leading(x, parsed)
    out: Any = x
    if any(k != FULL for k in parsed.key):
        out = wrap(cls, invoke(OPS["slice"].sig(key=tuple(parsed.key)), (out,))[0])
    lengths = list(out.shape)
    if parsed.arrays:
        key, cells = index_cells(parsed, x)
        out = wrap(cls, invoke(OPS["index"].sig(key=key), (out, *cells))[0])
        return _reshaped_gather(out, parsed, cls)
    shape = tuple(1 if k is None else lengths[k] for k in parsed.kept)
    return _reshaped(out, shape or (1,), cls)


def _leading(x: Any, parsed: Parsed) -> Any:
    """A view of the first axis: x[i] or x[i:j]; with a step a copy."""
    key = tuple(parsed.key)
    if key and key[0][2] not in (None, 1):
        return wrap(type(x)._root or type(x), invoke(OPS["slice"].sig(key=key), (x,))[0])
    chain = [OPS["slice"].sig(key=key)]
    if 0 not in parsed.kept:
        chain.append(OPS["reshape"].sig(shape=tuple(x.shape[1:]) or (1,)))
    return x._view(*chain)


def _reshaped(out: Any, shape: tuple[int, ...], cls: type) -> Any:
    return out if out.shape == shape else wrap(cls, invoke(OPS["reshape"].sig(shape=shape), (out,))[0])


def _reshaped_gather(out: Any, parsed: Parsed, cls: type) -> Any:
    """After a gather: drop the axes that integers selected, put in new axes (in front of what follows them)."""
    gone = [k for k in range(len(parsed.key)) if k not in parsed.kept]
    if not gone and None not in parsed.kept:
        return out
    index_ndim = len(broadcast_shapes("index", [a.shape for a in parsed.arrays.values()]))
    first = min(parsed.arrays)
    adjacent = sorted(parsed.arrays) == list(range(first, first + len(parsed.arrays)))
    sources: list[Any] = []
    placed = False
    for k in range(len(parsed.key)):
        if k not in parsed.arrays:
            sources.append(k)
        elif not placed:
            placed = True
            sources += ["i"] * index_ndim
    if not adjacent:
        sources = ["i"] * index_ndim + [s for s in sources if s != "i"]
    sizes = [n for s, n in zip(sources, out.shape, strict=True) if s not in gone]
    for at, k in enumerate(parsed.kept):
        if k is None:
            sizes.insert(min(at, len(sizes)), 1)
    return _reshaped(out, tuple(sizes) or (1,), cls)


def put(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    parsed = Parsed(x.shape, index)
    root, chain = (x._base, x._chain) if type(x)._root is not None else (x, ())
    if parsed.arrays:
        _put_at(x, root, chain, parsed, value)
        return
    target = tuple(len(range(*slice(*k).indices(n))) for k, n in zip(parsed.key, x.shape, strict=True))
    value = _fitting(value, x, target, parsed)
    write(root, chain, None if parsed.is_whole else tuple(parsed.key), value)


def _put_at(x: Any, root: Cell, chain: Any, parsed: Parsed, value: Any) -> None:
    """Assignment at integer arrays: slices beside them become arrays of places too."""
    arrays: dict[int, Any] = {}
    free = [k for k in range(len(parsed.key)) if k not in parsed.arrays and parsed.key[k] != FULL]
    index = broadcast_shapes("index", [a.shape for a in parsed.arrays.values()])
    for n, k in enumerate(free):
        places = np.arange(*slice(*parsed.key[k]).indices(x.shape[k]))
        arrays[k] = places.reshape([-1] + [1] * (len(free) - 1 - n + len(index)))
    arrays |= parsed.arrays
    full = Parsed.__new__(Parsed)
    full.key, full.arrays, full.kept = [FULL] * len(parsed.key), arrays, parsed.kept
    key, cells = index_cells(full, x)
    sig = OPS["index"].sig(key=key)
    write(root, chain, (sig, *cells), _plain_value(value, x))


def _plain_value(value: Any, x: Any) -> Any:
    """A value to be written: a cell on the array's device, a Python scalar, or a NumPy array of the array's dtype."""
    if isinstance(value, Array):
        if value.context is not x.context and not (value.context.is_host and x.context.is_host):
            value = from_host(type(x)._root or type(x), value.asnumpy(), x.context)
        return value if value._dtype == x._dtype else value.astype(x._dtype)
    if isinstance(value, (bool, int, float)):
        return value
    from ..dtype import NUMPY

    return np.asarray(value).astype(NUMPY[x._dtype])


def _fitting(value: Any, x: Any, target: Sequence[int], parsed: Parsed) -> Any:
    """The value in a shape that broadcasts to the slice (integer axes of size 1 included).

    Raises
    ------
    ShapeError
        If it does not fit.
    """
    value = _plain_value(value, x)
    if isinstance(value, (bool, int, float)):
        return value
    shape = tuple(1 if k is None else target[k] for k in parsed.kept)
    try:
        fits = broadcast_shapes("item assignment", [shape, value.shape]) == shape or value.size == 1
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError("item assignment: the value does not broadcast to the selection", f"{value.shape} into {shape}", "give a value that fits")
    if value.shape == tuple(target) or len(parsed.kept) == len(target) and None not in parsed.kept:
        return value
    wide = (1,) * (len(shape) - len(value.shape)) + tuple(value.shape[max(0, len(value.shape) - len(shape)) :])
    sizes = dict(zip([k for k in parsed.kept], wide, strict=True))
    return value.reshape(tuple(sizes.get(k, 1) for k in range(len(target))))
