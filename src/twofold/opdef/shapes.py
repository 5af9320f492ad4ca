"""Pure functions on shapes: broadcasting, reductions, reshape codes, window sizes, basic slices."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import index
from typing import Any, SupportsIndex

from ..errors import IndexingError, NoSuchAxis, ParameterError, ShapeError

Shape = tuple[int, ...]


def broadcast_shapes(name: str, shapes: Sequence[Shape]) -> Shape:
    """The common shape of broadcast operands.

    Raises
    ------
    ShapeError
        If two sizes differ and neither is 1.
    """
    first = shapes[0] if shapes else ()
    if shapes.count(first) == len(shapes):
        return first
    rank = max(map(len, shapes))
    out = [1] * rank
    for shape in shapes:
        # aligned at the last axis, as NumPy does
        for k, n in enumerate(shape, rank - len(shape)):
            if n != 1 and out[k] not in (1, n):
                raise ShapeError(f"{name}: shapes do not broadcast", ", ".join(map(str, shapes)), "make their trailing sizes equal or 1")
            out[k] = n if n != 1 else out[k]
    return tuple(out)


def normalized_axis(axis: int, ndim: int, name: str = "axis") -> int:
    """A possibly negative axis as one counted from the front.

    Raises
    ------
    NoSuchAxis
        If the array has no such axis.
    """
    axis = index(axis)
    if not -ndim <= axis < max(ndim, 1):
        todo = f"pass one from {-ndim} to {ndim - 1}" if ndim else "a 0-d array has none: reshape it to (1,)"
        error = NoSuchAxis(f"{name} is out of range", f"{axis} for {ndim} dimensions", todo)
        error.axis, error.ndim = axis, ndim
        raise error
    return axis + ndim if axis < 0 else +axis  # of a bool an integer, as what is kept for axes is found by equal ones


def integers(given: SupportsIndex | Iterable[SupportsIndex]) -> Shape:
    """One integer or several, such as axes or sizes, as a tuple of Python's. An array without axes counts as one."""
    several: Any = given
    if given.__class__ is not tuple:
        try:
            return (index(several),)
        except TypeError:
            if not isinstance(several, Iterable):  # no integer
                raise
    return tuple(map(index, several))


def normalized_axes(axis: int | Iterable[int] | None, ndim: int) -> Shape:
    """Axes counted from the front, sorted, each once; None means all. An array without axes takes 0 and -1 too, as NumPy's ``sum`` does."""
    if axis is None or (ndim == 0 and axis in (0, -1, (0,), (-1,))):
        return tuple(range(ndim))
    return tuple(sorted(distinct_axes(axis, ndim)))


def distinct_axes(axis: int | Iterable[int], ndim: int, name: str = "axis") -> Shape:
    """Axes counted from the front, in the order given.

    Raises
    ------
    ShapeError
        If one is out of range or named twice.
    """
    given = integers(axis)
    axes = tuple([normalized_axis(a, ndim, name) for a in given])
    if len(set(axes)) < len(axes):
        raise ShapeError(f"{name} names an axis twice", str(given), "name each axis once")
    return axes


@lru_cache(4096)
def order_of_axes(ndim: int, *axes: int) -> Shape | None:
    """All axes of an array counted from the front, in the order given; None if that reverses them.

    Raises
    ------
    ShapeError
        If they are not the array's, each once.
    """
    order = tuple([normalized_axis(a, ndim, "transpose: axis") for a in axes])
    if sorted(order) != list(range(ndim)):
        raise ShapeError("axes don't match array", f"axes {axes} of an array with {ndim} axes", "name each axis once")
    return None if order == tuple(range(ndim))[::-1] else order


@lru_cache(4096)
def swapped_axes(ndim: int, axis1: int, axis2: int) -> Shape | None:
    """All axes of an array with two of them exchanged; None if that reverses them.

    Raises
    ------
    ShapeError
        If the array has no such axis.
    """
    order = list(range(ndim))
    a, b = normalized_axis(axis1, ndim, "axis1"), normalized_axis(axis2, ndim, "axis2")
    order[a], order[b] = b, a
    return order_of_axes(ndim, *order)


def moved_axes(source: int | Iterable[int], destination: int | Iterable[int], ndim: int) -> Shape:
    """The order of the axes after ``moveaxis``: those named at their new positions, the others as before.

    Raises
    ------
    ShapeError
        If an axis is out of range or named twice.
    ParameterError
        If source and destination differ in number.
    """
    sources, destinations = distinct_axes(source, ndim, "moveaxis: source"), distinct_axes(destination, ndim, "moveaxis: destination")
    if len(sources) != len(destinations):
        what = "moveaxis: `source` and `destination` arguments must have the same number of elements"
        raise ParameterError(what, f"{len(sources)} and {len(destinations)}", "pass equally many of each")
    order = [k for k in range(ndim) if k not in sources]
    # from the front, so that later insertions do not move earlier ones
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return tuple(order)


def reduced_shape(shape: Shape, axis: int | Iterable[int] | None, keepdims: bool) -> Shape:
    """The shape after a reduction over axes."""
    gone = normalized_axes(axis, len(shape))
    return tuple(1 if k in gone else n for k, n in enumerate(shape) if keepdims or k not in gone)


def filled_shape(shape: Sequence[int], size: int, name: str = "reshape") -> Shape:
    """A target shape whose single -1 is computed from the number of elements.

    Raises
    ------
    ShapeError
        If the sizes do not fit.
    """
    known = math.prod(n for n in shape if n != -1)
    unknown = sum(n == -1 for n in shape)
    if unknown > 1 or (unknown and (known == 0 or size % known)) or (not unknown and known != size):
        raise ShapeError(
            f"{name}: the sizes do not match", f"{size} elements into {tuple(shape)}", "pass sizes whose product is the number of elements"
        )
    return tuple(size // known if n == -1 else n for n in shape)


def reshape_codes(shape: Shape, codes: Sequence[int], reverse: bool = False) -> Shape:
    """MXNet's Reshape: 0 keeps a size, -1 infers one, -2 keeps the rest, -3 merges two, -4 splits one in the two that follow.

    Raises
    ------
    ShapeError
        If the codes do not fit the shape.
    """
    # from the last axis on: both sides are turned around, and so is the result
    if reverse:
        return reshape_codes(shape[::-1], tuple(codes)[::-1])[::-1]
    out: list[int] = []
    at, k, codes = 0, 0, list(codes)
    try:
        while k < len(codes):
            code = codes[k]
            # -2 copies all sizes that are left, -3 joins two, -4 splits one, 0 keeps one; others are sizes
            if code == -2:
                out += shape[at:]
                at = len(shape)
            elif code == -3:
                out.append(shape[at] * shape[at + 1])
                at += 2
            elif code == -4:
                out += _split_size(shape[at], codes[k + 1], codes[k + 2])
                at, k = at + 1, k + 2
            else:
                out.append(shape[at] if code == 0 else code)
                at += 1
            k += 1
    except IndexError:
        raise ShapeError(
            "Reshape: the codes do not match the shape", f"shape {shape}, codes {tuple(codes)}", "see the meaning of 0 and -1 to -4"
        ) from None
    return filled_shape(out, math.prod(shape))


def _split_size(size: int, a: int, b: int) -> list[int]:
    if (a == -1 and b == -1) or a == 0 or b == 0:
        raise ShapeError("Reshape: -4 needs two sizes, at most one of them -1", f"{a}, {b}", "pass the sizes to split into")
    a, b = (size // b if a == -1 else a), (size // a if b == -1 else b)
    if a * b != size:
        raise ShapeError("Reshape: -4 does not split evenly", f"{size} into {a} and {b}", "pass sizes whose product is the axis")
    return [a, b]


Key = tuple[tuple[int | None, int | None, int | None], ...]


def sliced_shape(shape: Shape, key: Key) -> Shape:
    """The shape of ``x[begin:end:step, …]``, with one triple per axis, by Python's rules."""
    return tuple(len(range(*slice(*k).indices(n))) for n, k in zip(shape, key, strict=True))


def window_size(size: int, kernel: int, stride: int, dilate: int, before: int = 0, after: int = 0) -> int:
    """How many windows fit along one axis: floor((size + padding - effective kernel) / stride) + 1."""
    return (size + before + after - dilate * (kernel - 1) - 1) // stride + 1


def checked_index(index: int, size: int, axis: int) -> int:
    """A possibly negative index, counted from the front.

    Raises
    ------
    IndexingError
        If it is out of range.
    """
    if not -size <= index < size:
        raise IndexingError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index + size if index < 0 else index
