"""Indexing, and assignment to the selection of an index. Where the array classes differ is in their `Rules`.

A basic index is a slice of every axis, followed by a reshape that drops the axes selected by integers and inserts new ones. If the items
include index arrays, slices are taken and new axes inserted first. The remaining case is NumPy's indexing by arrays and whole axes.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from operator import index as integer
from typing import Any, NamedTuple

import numpy as np

from ..device import CPU
from ..dtype import INTEGERS, is_float
from ..errors import IndexingError, ShapeError
from ..opdef import BoundOp, broadcast_shapes, checked_index
from ..ops import primitive_gather, primitive_shape
from ..ops.primitive_arithmetic import astype
from ..signal_handlers import unless_signalled
from .array import Array, adopted, from_host
from .cell import PLAIN, Cell, Content, Value, wrap
from .index_rules import Assigned, Basic, Rules, Triple
from .invoke import invoke
from .tape import tls
from .trace import Trace, is_followed
from .write import Chain, write

FULL: Triple = (None, None, None)
#: Maximum number of basic indices that an `Indexer` caches.
_MOST = 4096
INT64, UINT64, BOOL = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(bool)


class Indexer:
    """Indexing by one class's rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        #: Basic indices by (shape, items): parsing takes longer than most small operations.
        self._known: dict[object, Basic] = {}

    def get(self, x: Array, index: object) -> Any:
        """``x[index]``."""
        basic = self.basic(x.shape, index)
        if basic is None:
            return self.gather(x, index)
        return x._view(*basic.chain) if basic.is_view else _applied(x, basic.chain)

    def put(self, x: Array, index: object, value: object) -> None:
        """``x[index] = value``."""
        root, chain = (x._base, x._chain) if x._held is None else (x, ())
        basic = self.basic(x.shape, index)
        if basic is None:
            self._scatter(x, root, chain, index, value)
        elif not (isinstance(value, Array) and _is_there(value, root, (*chain, *basic.chain))):
            value = _fitting(self.rules.value(value, x), basic)
            write(root, chain, None if basic.target == x.shape and all(k[2] in (None, 1) for k in basic.key) else basic.key, value)

    # basic indices

    def basic(self, shape: tuple[int, ...], index: object) -> Basic | None:
        """The index if it is basic: integers, slices, None and an ellipsis; else None."""
        items = index if isinstance(index, tuple) else (index,)
        # classes are part of the key: True, 1 and 1.0 are equal
        parts: list[object] = [shape]
        cached = True
        i: Any
        for i in items:
            if i.__class__ is int:
                parts.append(i)
            elif i.__class__ is slice:
                parts.append((slice, i.start, i.stop, i.step))
                # an array may change, and some have a hash
                cached = cached and not (isinstance(i.start, Array) or isinstance(i.stop, Array) or isinstance(i.step, Array))
            elif i is None or i is Ellipsis or self.rules.is_basic(i):
                parts.append((i.__class__, i))
            else:
                return None
        if not cached:
            return self._parsed(shape, items)
        key = tuple(parts)
        try:
            found = self._known.get(key)
        except unless_signalled(TypeError):  # a slice of anything else that is not hashable
            return self._parsed(shape, items)
        if found is None:
            found = self._parsed(shape, items)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = found
        return found

    def _parsed(self, shape: tuple[int, ...], items: Sequence[Any]) -> Basic:
        key: list[Triple] = []
        kept: list[int | None] = []
        for item in _expanded(items, len(shape)):
            if item is None:
                kept.append(None)
            elif isinstance(item, slice):
                kept.append(len(key))
                key.append(self._triple(item))
            else:
                at = checked_index(int(item), shape[len(key)], len(key))
                key.append((at, at + 1, None))
        target = tuple(len(range(*slice(*k).indices(n))) for k, n in zip(key, shape, strict=True))
        chain = [primitive_shape.slice.bind(key=tuple(key))]
        result = tuple(1 if k is None else target[k] for k in kept) or (self.rules.element if shape else ())
        if result != target:
            chain.append(primitive_shape.reshape.bind(shape=result))
        takes_target = len(kept) == len(target) or (self.rules.takes_whole and target == shape)
        return Basic(tuple(key), tuple(kept), tuple(chain), self.rules.is_view(shape, items, key, target), target, takes_target)

    def _triple(self, item: slice) -> Triple:
        """The bounds and the step of a slice as integers or None. A float in an array is one where it would be an index."""
        found: list[int | None] = []
        for bound in (item.start, item.stop, item.step):
            place = bound
            if isinstance(bound, Array) and is_float(bound._dtype):
                with suppress(IndexingError):
                    place = self.rules.places(bound)
            found.append(None if place is None else integer(place))
        return found[0], found[1], found[2]

    # index arrays

    def _places(self, x: Array, index: object) -> "Places":
        """The index as view operations and index arrays. Integers count as 0-d index arrays, as in NumPy."""
        key: list[Triple] = []
        arrays: list[np.ndarray | None] = []
        shape: list[int] = []
        source = x.shape
        items = [
            i if i is None or i is Ellipsis or isinstance(i, slice) or self.is_followed(i) else self.rules.places(i)
            for i in (index if isinstance(index, tuple) else (index,))
        ]
        separator: int | None = None
        for item in _expanded(items, len(source), self.rules.ellipsis_separates):
            if item is Ellipsis:
                separator = len(arrays)
            if item is None or item is Ellipsis or (isinstance(item, np.ndarray) and item.dtype == bool and not item.ndim):
                is_mask = isinstance(item, np.ndarray)
                arrays.append(np.zeros(int(item), np.int64) if is_mask else None)  # a single bool is a new axis of size 1 or 0
                shape.append(1)
                continue
            for a in [None] if isinstance(item, slice) else _index_arrays(item, source, len(key), x):
                triple = self._triple(item) if isinstance(item, slice) else FULL
                key.append(triple)
                shape.append(len(range(*slice(*triple).indices(source[len(key) - 1]))))
                arrays.append(a)
        chain = [] if all(k == FULL for k in key) else [primitive_shape.slice.bind(key=tuple(key))]
        if len(shape) > len(source):
            chain.append(primitive_shape.reshape.bind(shape=tuple(shape)))
        return Places(tuple(chain), tuple(arrays), tuple(shape), separator)

    def is_followed(self, item: object) -> bool:
        """Whether an item is an array of integers that a trace follows: its values are not read."""
        if tls.tape.__class__ is not Trace or not isinstance(item, Array):
            return False
        # MXNet's arrays are float32 by default, so indices may be floats
        return (item._dtype in INTEGERS or (bool(self.rules.element) and is_float(item._dtype))) and is_followed(item)

    def gather_as_given(self, x: Array, index: object) -> Any:
        """``x[index]`` for index arrays that can be operands without conversion (see `_as_given`); None for any other index."""
        found = _as_given(x, index)
        return None if found is None else wrap(x._kind, invoke(*found)[0])

    def gather(self, x: Array, index: object) -> Any:
        """``x[index]`` for an index with arrays."""
        found = self.gather_as_given(x, index)
        if found is not None:
            return found
        places = self._places(x, index)
        bound_op, cells = _index_sig(places.arrays, x)
        out = wrap(x._kind, invoke(bound_op, (_applied(x, places.chain), *cells))[0])
        if places.dropped is not None:
            out = _applied(out, [primitive_shape.reshape.bind(shape=_selected_shape(places))])
        return out if out.shape or not self.rules.element else _applied(out, [primitive_shape.reshape.bind(shape=self.rules.element)])

    def _scatter(self, x: Array, root: Cell, chain: Chain, index: object, value: object) -> None:
        """Assignment at index arrays."""
        if not x.shape:  # a mask without axes selects the only element, or none: it has no coordinates
            selected = _selected_shape(self._places(x, index))
            new = _broadcastable(self.rules.value(value, x), selected)
            if 0 not in selected:
                write(root, chain, None, _reshaped(new, ()) if isinstance(new, (Array, np.ndarray)) else new)
            return
        bound_op, cells, selected = self._target(x, index)
        write(root, chain, (bound_op, *cells), _broadcastable(self.rules.value(value, x), selected))

    def added(self, x: Array, index: object, value: object) -> Content:
        """The content of an array with a value added at index arrays; duplicate indices accumulate."""
        bound_op, cells, selected = self._target(x, index)
        new = _broadcastable(self.rules.value(value, x), selected)
        new = from_host(type(x), new, x.context) if isinstance(new, np.ndarray) else new
        return invoke(primitive_gather.index_add.bind(key=bound_op.params["key"]), (x, new, *cells))[0]

    def _target(self, x: Array, index: object) -> tuple[BoundOp, list[Array], tuple[int, ...]]:
        """The ``index`` primitive with arrays that select the same elements of the array itself, and the selection's shape.

        If the index has slices or new axes too, the arrays are the coordinates of every selected element.
        """
        places = self._places(x, index)
        arrays: Sequence[np.ndarray | Array | None] = places.arrays
        if places.chain:
            selected = _selected_shape(places)
            if any(isinstance(a, Array) for a in places.arrays):
                bound_op, cells = _index_sig(places.arrays, x)
                # the coordinates of the view are known, those of its elements follow from the index
                columns = [adopted(type(x), np.ascontiguousarray(_coordinates(x.shape, k, places)), x.context) for k in range(x.ndim)]
                found = [wrap(x._kind, invoke(bound_op, (column, *cells))[0]) for column in columns]
                arrays = [_applied(f, [primitive_shape.reshape.bind(shape=selected)]) for f in found]
            else:
                where = tuple(slice(None) if a is None else a for a in places.arrays)
                arrays = [_coordinates(x.shape, k, places)[where].reshape(selected) for k in range(x.ndim)]
        return *_index_sig(arrays, x), _selected_shape(places)


class Places(NamedTuple):
    """An index with arrays.

    Attributes
    ----------
    chain
        View operations on the source: slices and new axes.
    arrays
        For each axis of that view an index array, or None for the whole axis.
    shape
        Shape of that view.
    dropped
        A new axis that is not part of the selection: it only separates the index arrays on its two sides.
    """

    chain: tuple[BoundOp, ...]
    arrays: tuple[Any, ...]
    shape: tuple[int, ...]
    dropped: int | None


def _as_given(x: Array, index: Any) -> tuple[BoundOp, list[Any]] | None:
    """The ``index`` primitive and its operands, for an index of whole axes and of arrays that can be operands directly; else None.

    The arrays are a mask of one axis, or ready nonnegative indices on cpu(0). A recorded or pending operation borrows them: they are
    copied only if they are written in the meantime.
    """
    v: Any = x._held  # a view's content is read only when needed, since reading it may be recorded
    shape = v.data.shape if v.__class__ is Value and v.data.__class__ is PLAIN else x.shape
    items = index if index.__class__ is tuple else (index,)
    if len(items) > len(shape):
        return None
    key: list[int | None] = []
    operands: list[Any] = []
    extent: tuple[int, ...] | None = None
    for item, size in zip(items, shape, strict=False):
        if item.__class__ is slice and item.start is None is item.stop and item.step is None:
            key.append(None)
            continue
        i: Any = (item._held if item._held is not None else item._operand) if isinstance(item, Array) else None
        places = i.data if i.__class__ is Value and i.device is CPU else i
        if places.__class__ is not PLAIN or not places.ndim:
            return None
        key.append(len(operands))
        if places.dtype is BOOL and places.shape == (size,) and len(items) == 1:
            operands.append(Value(places.nonzero()[0]))
            break
        if places.dtype is not INT64 or not places.size or places.shape != (extent or places.shape):
            return None
        unsigned = places.view(UINT64)  # as unsigned numbers, negative indices are the largest
        if unsigned.item(unsigned.argmax()) >= size:  # for a few elements three times as fast as ``max``
            return None
        extent = places.shape
        operands.append(item if item._held is not None else Value(np.array(places)))
    if not operands:
        return None
    v = x._content if v is None else v
    if v.__class__ is Value and v.device is not CPU:
        return None
    operands.insert(0, wrap(x._kind, v) if x._held is None else x)
    return _index_of(tuple(key), len(shape)), operands


@cache
def _index_of(key: tuple[int | None, ...], ndim: int) -> BoundOp:
    """``index`` with a key for the first axes; the others are whole."""
    return primitive_gather.index.bind(key=(*key, *[None] * (ndim - len(key))))


def _expanded(items: Sequence[Any], ndim: int, separates: bool = False) -> list[Any]:
    """The items with the ellipsis expanded to whole axes, so that all axes are indexed.

    If ``separates``, an ellipsis for no axes is kept between index arrays.

    Raises
    ------
    IndexingError
        If there are more items than axes, or several ellipses.
    """
    used = sum(map(_axes_of, items))
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if used > ndim:
        raise IndexingError(f"too many indices ({used}) for array with {ndim} dimensions")
    if len(dots) > 1:
        raise IndexingError("Cannot use more than one ellipsis (`...`) for indexing")
    at = dots[0] if dots else len(items)
    beside = items[max(at - 1, 0) : at + 2]
    between_arrays = dots and len(beside) == 3 and all(isinstance(i, (np.ndarray, Array)) for i in (beside[0], beside[2]))
    written_out = [Ellipsis] if separates and used == ndim and between_arrays else [slice(None)] * (ndim - used)
    return [*items[:at], *written_out, *items[at + 1 :]]


def _axes_of(item: object) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def is_contiguous(shape: Sequence[int], items: Sequence[object], key: Sequence[Triple], target: Sequence[int]) -> bool:
    """Whether a slice is one block of memory: single elements of the leading axes, a range of the next axis, all of the axes after it."""
    inside = False
    for size, (_, _, step), n in zip(shape, key, target, strict=True):
        if (n > 1 and step not in (None, 1)) or (inside and n != size):
            return False
        inside = inside or n != 1
    return True


def _applied(x: Array, chain: Sequence[BoundOp]) -> Array:
    for bound_op in chain:
        x = wrap(x._kind, invoke(bound_op, (x,))[0])
    return x


def _is_there(value: Array, root: Cell, chain: Sequence[BoundOp]) -> bool:
    """Whether a value is a view of the assignment's target itself: ``x[k] += y`` updates the view in place, then assigns it to ``x[k]``."""
    return value._held is None and value._base is root and value._chain == chain


# index arrays


def _index_arrays(item: np.ndarray | Array, shape: tuple[int, ...], axis: int, like: Array) -> list[Any]:
    """The index arrays of one item: integers in [0, size), one array for each axis of a mask.

    An array that a trace follows is checked when its values are known.

    Raises
    ------
    IndexingError
        If an index is out of bounds, or a mask's shape differs from that of the axes it indexes.
    """
    if isinstance(item, Array):
        chain = [astype.bind(dtype="int64"), primitive_gather.checked_index.bind(size=shape[axis], negative=True)]
        return [_applied(wrap(like._kind, item._content), chain)]
    if item.dtype == bool:
        if item.shape != (axes := shape[axis : axis + item.ndim]):
            raise IndexingError("the mask's shape differs from that of the axes it indexes", f"{item.shape} for {axes}")
        return list(np.nonzero(item))
    size = shape[axis]
    low, high = (item.min(), item.max()) if item.size else (0, -1)  # nothing is out of bounds in an empty index
    if low < -size or high >= size:
        raise IndexingError(f"index {high if high >= size else low} is out of bounds for axis {axis} with size {size}")
    return [np.where(item < 0, item + size, item) if low < 0 else item]


def _index_sig(arrays: Sequence[np.ndarray | Array | None], like: Array) -> tuple[BoundOp, list[Array]]:
    """The ``index`` primitive for an item per axis (an index array, or None for the whole axis), and the arrays on the device."""
    used = [a for a in arrays if a is not None]
    try:
        broadcast_shapes("index", [a.shape for a in used])
    except ShapeError as error:
        given = ", ".join(str(a.shape) for a in used)
        raise IndexingError("index arrays do not broadcast", given, "pass arrays of the same shape") from error
    numbers = iter(range(len(used)))
    key = tuple(None if a is None else next(numbers) for a in arrays)
    cells = [a if isinstance(a, Array) else adopted(type(like), a, like.context) for a in used]
    return primitive_gather.index.bind(key=key), cells


def _selected_shape(places: Places) -> tuple[int, ...]:
    """The shape of the selection. The index arrays' axes take the arrays' place if these are adjacent; otherwise they come first."""
    used = [k for k, a in enumerate(places.arrays) if a is not None]
    index = broadcast_shapes("index", [places.arrays[k].shape for k in used])
    rest = [n for k, n in enumerate(places.shape) if places.arrays[k] is None and k != places.dropped]
    at = used[0] if used == list(range(used[0], used[0] + len(used))) else 0
    return (*rest[:at], *index, *rest[at:])


def _coordinates(shape: Sequence[int], axis: int, places: Places) -> np.ndarray:
    """The coordinate along an axis of the source, for every element of the view that slices and new axes make of it."""
    column = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    whole = np.broadcast_to(column, shape)
    for bound_op in places.chain:
        selects, params = bound_op.op.layout.selects, bound_op.params
        whole = whole.reshape(params["shape"]) if selects is None else whole[selects(**params)]
    return whole


def _fitting(value: Any, basic: Basic) -> Assigned:
    """The value in a shape that broadcasts to the slice, in which axes selected by integers have size 1.

    Raises
    ------
    ShapeError
        If it does not broadcast to the selection.
    """
    if isinstance(value, (bool, int, float)):
        return value
    # an array of NumPy may also have the shape of the whole that is selected; one of the library may not, as in MXNet
    takes_target = basic.takes_target if isinstance(value, np.ndarray) else len(basic.kept) == len(basic.target)
    if takes_target and value.shape == basic.target:
        return value
    shape = tuple(1 if k is None else basic.target[k] for k in basic.kept)
    value = _broadcastable(value, shape)
    wide = (1,) * (len(shape) - len(value.shape)) + tuple(value.shape)
    sizes = dict(zip(basic.kept, wide, strict=True))
    fitting = tuple(sizes.get(k, 1) for k in range(len(basic.target)))
    return value if value.shape in (fitting, basic.target) else _reshaped(value, fitting)


def _broadcastable(value: Any, shape: tuple[int, ...]) -> Any:
    """The value without surplus leading axes of size 1.

    Raises
    ------
    ShapeError
        If it does not broadcast to the selection.
    """
    if isinstance(value, (bool, int, float)):
        return value
    given = tuple(value.shape)
    while len(given) > len(shape) and given[0] == 1:
        given = given[1:]
    wide = (1,) * (len(shape) - len(given)) + given
    if len(wide) != len(shape) or any(n not in (1, m) for n, m in zip(wide, shape, strict=True)):
        what, both = "item assignment: the value does not broadcast to the selection", f"{value.shape} into {shape}"
        raise ShapeError(what, both, "pass a value that broadcasts to it")
    return value if given == value.shape else _reshaped(value, given)


def _reshaped(value: Array | np.ndarray, shape: tuple[int, ...]) -> Array | np.ndarray:
    return value._view(primitive_shape.reshape.bind(shape=shape)) if isinstance(value, Array) else value.reshape(shape)  # type: ignore[attr-defined]
