"""Writes to elements at a mask or places that a trace follows: whichever elements these are, the shapes are known."""

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from ..errors import ShapeError
from ..imperative.array import Array, apply_op
from ..imperative.trace import is_followed
from ..ndarray.types import ArrayLike
from ..opdef import normalized_axis
from ..ops import primitive_gather, primitive_reduce
from ..ops.primitive_arithmetic import maximum, minimum
from ..ops.primitive_arithmetic import where as where_op
from .array import ndarray
from .creation import arange, asarray, operand
from .masked_selection import MaskedSelection


def is_mask(item: object) -> TypeGuard[Array]:
    """Whether a value is an array of bools that a trace follows."""
    return isinstance(item, Array) and item._dtype == "bool" and is_followed(item)


def whole_mask(x: ndarray, index: object) -> Array | None:
    """The mask of an index that is nothing but a mask of the first axes, and that a trace follows."""
    mask: object = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    return mask if is_mask(mask) and mask.shape == x.shape[: mask.ndim] else None


def put_by_mask(x: ndarray, index: Any, value: ArrayLike) -> bool:
    """``x[index] = value`` for an index with one mask that a trace follows, and integers, slices, None and an ellipsis.

    Returns
    -------
    bool
        False for any other index, and for a value for each element: their number is not known.
    """
    if isinstance(value, MaskedSelection):
        x[...] = value.written_to(x, whole_mask(x, index))
        return True
    items = list(index) if isinstance(index, tuple) else [index]
    masks = [k for k, item in enumerate(items) if is_mask(item)]
    if len(masks) != 1 or any(isinstance(i, (Array, np.ndarray, list, bool)) for k, i in enumerate(items) if k != masks[0]):
        return False
    at, mask = masks[0], items[masks[0]]
    dots = next((k for k, i in enumerate(items) if i is Ellipsis), None)
    if dots is None:
        items.append(Ellipsis)
    elif dots < at:
        # written out, so that the axes before the mask are counted
        used = sum(1 for k, i in enumerate(items) if k != at and i is not None) - 1
        whole = [slice(None)] * (x.ndim - used - mask.ndim)
        items[dots : dots + 1] = whole
        at += len(whole) - 1
    first = sum(1 for i in items[:at] if i is not None)
    if mask.shape != x.shape[first : first + mask.ndim]:
        return False
    # the axes of the mask whole, the others as the index has them
    key = (*items[:at], *[slice(None)] * mask.ndim, *items[at + 1 :])
    before = sum(1 for i in items[:at] if i is None or isinstance(i, slice))
    numbers = [k for k, i in enumerate(items) if k != at and not (i is None or i is Ellipsis or isinstance(i, slice))]
    span = [*numbers, at]
    part = x[key]
    rest = part.ndim - before - mask.ndim
    # integers count as index arrays: apart from the mask, the selection's axes come first
    new = _along_mask(asarray(value), before, mask.ndim, rest, max(span) - min(span) + 1 == len(span))
    if new is None:
        return False
    chosen = mask.reshape(mask.shape + (1,) * rest)
    x[key] = apply_op(where_op, chosen, new.astype(x.dtype, copy=False), part, cls=ndarray)
    return True


def _along_mask(value: ndarray, before: int, axes: int, rest: int, in_place: bool) -> ndarray | None:
    """A value that is written to all elements of a mask, with axes of one element in place of those of the mask.

    Parameters
    ----------
    value
        As it broadcasts to the selection, in which one axis stands for the mask.
    before, axes, rest
        Number of axes before the mask's, of the mask's, and after them.
    in_place
        Whether the selection's axis has the place of the mask's; else it comes first, and only a single value is taken.
    """
    if value.size == 1:
        return value.reshape(())
    while value.ndim > before + 1 + rest and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    if value.ndim <= rest:
        return value
    place = value.ndim - rest - 1
    if not in_place or value.shape[place] != 1:
        return None
    return value.reshape(value.shape[:place] + (1,) * axes + value.shape[place + 1 :])


def _copyto(dst: ndarray, src: ArrayLike, casting: Any = "same_kind", where: ArrayLike = True) -> None:
    new = operand(src, dst.context)
    # raises what NumPy raises for a cast that it refuses
    np.copyto(np.empty((), dst.dtype), np.empty((), new.dtype), casting=casting)
    dst[...] = apply_op(where_op, asarray(where), new.astype(dst.dtype, copy=False), dst, cls=ndarray)


def _repeated(values: ArrayLike, like: ndarray, places: ndarray) -> ndarray:
    """Values at places, which begin again at the end of the values."""
    flat = operand(values, like.context).astype(like.dtype, copy=False).reshape(-1)
    if not flat.size:
        raise ShapeError("a mask selects elements for which there are no values", "an empty array", "pass at least one value")
    return apply_op(primitive_gather.take, flat, places % flat.size, cls=ndarray, axis=0)


def _putmask(a: ndarray, mask: ArrayLike, values: ArrayLike) -> None:
    new = _repeated(values, a, arange(a.size, device=a.context).reshape(a.shape))
    a[...] = apply_op(where_op, _of_size(mask, a), new, a, cls=ndarray)


def _place(arr: ndarray, mask: ArrayLike, vals: ArrayLike) -> None:
    chosen = _of_size(mask, arr)
    # the number of each selected element among these; before the first one it is -1, the last value, which is not written
    counts = apply_op(primitive_reduce.cumulative_sum, chosen.reshape(-1).astype("int64"), cls=ndarray, axis=0)
    number = (counts - 1).reshape(arr.shape)
    arr[...] = apply_op(where_op, chosen, _repeated(vals, arr, number), arr, cls=ndarray)


def _of_size(mask: ArrayLike, like: ndarray) -> ndarray:
    """A mask in the shape of an array with as many elements.

    Raises
    ------
    ShapeError
        If it has another number of elements.
    """
    found: Any = asarray(mask)
    if found.size != like.size:
        raise ShapeError("a mask has another number of elements than the array", f"{found.shape} for {like.shape}", "pass one for each")
    return (found if found._dtype == "bool" else found != 0).reshape(like.shape)


def _put(a: ndarray, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    places = operand(ind, a.context).reshape(-1)
    if mode == "wrap":
        places = places % a.size
    elif mode == "clip":
        places = apply_op(minimum, apply_op(maximum, places, 0, cls=ndarray), a.size - 1, cls=ndarray)
    flat = a.reshape(-1) * 1
    flat[places] = _repeated(v, a, arange(places.size, device=a.context))
    a[...] = flat.reshape(a.shape)


def _put_along_axis(arr: ndarray, indices: ArrayLike, values: ArrayLike, axis: int | None = -1) -> None:
    if axis is None:
        flat = arr.reshape(-1) * 1
        flat[operand(indices)] = values
        arr[...] = flat.reshape(arr.shape)
        return
    at = normalized_axis(axis, arr.ndim)
    # the other axes' places, in a column along each
    key: list[Any] = [np.arange(n).reshape([-1 if k == i else 1 for i in range(arr.ndim)]) for k, n in enumerate(arr.shape)]
    key[at] = operand(indices)
    arr[tuple(key)] = values


#: By the name of a function of NumPy that writes: position and keyword of the mask or places, and the function for one that is followed.
WRITERS: dict[str, tuple[int, str, Callable[..., None]]] = {
    "copyto": (3, "where", _copyto),
    "place": (1, "mask", _place),
    "put": (1, "ind", _put),
    "put_along_axis": (1, "indices", _put_along_axis),
    "putmask": (1, "mask", _putmask),
}


def writer_of(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Callable[..., None] | None:
    """The function that writes where a trace follows the mask or the places; None for any other call."""
    if (found := WRITERS.get(name)) is None:
        return None
    place, keyword, function = found
    where = args[place] if place < len(args) else options.get(keyword)
    return function if isinstance(where, Array) and is_followed(where) else None
