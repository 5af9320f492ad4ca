"""Functions of ``twofold.np`` that split arrays into views of parts, and join arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtype import promote
from ..errors import ParameterError, ShapeError
from ..ndarray.types import ArrayLike, Axis, Casting, DTypeLike
from ..opdef import normalized_axis
from ..ops import joining, primitive_shape
from .array import Out, ndarray
from .creation import operand, operands
from .reductions import run
from .shapes import atleast_1d, atleast_2d, atleast_3d, moveaxis
from .ufuncs import deliver


def _number_or_places(indices_or_sections: Any) -> int | list[int]:
    """The number of parts to split into, or the places to split at."""
    try:
        len(indices_or_sections)
    except TypeError:
        return int(indices_or_sections)
    return [int(k) for k in indices_or_sections]


def array_split(ary: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[ndarray]:
    """Views of parts along an axis: a number of them, whose sizes differ by at most one, or split at the given indices."""
    x = operand(ary)
    at = normalized_axis(axis, x.ndim)
    size = x.shape[at]
    places = _number_or_places(indices_or_sections)
    if isinstance(places, int):
        count = places
        if count < 1:
            raise ParameterError("number sections must be larger than 0.", str(count), "pass 1 or more")
        places = [k * (size // count) + min(k, size % count) for k in range(1, count)]
    edges = zip([0, *places], [*places, size], strict=True)
    return [x[(slice(None),) * at + (slice(i, j),)] for i, j in edges]


def split(ary: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[ndarray]:
    """Views of parts along an axis: a number of equal ones, or split at the given indices.

    Raises
    ------
    ParameterError
        If the axis cannot be divided into that number of equal parts.
    """
    size, parts = operand(ary).shape[axis], _number_or_places(indices_or_sections)
    if isinstance(parts, int) and size % parts:
        raise ParameterError("array split does not result in an equal division", f"{size} into {indices_or_sections}", "use array_split")
    return array_split(ary, parts, axis)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[ndarray]:
    """`split` along the second axis; vectors along their only axis."""
    ndim = operand(ary).ndim
    if not ndim:
        raise ShapeError("hsplit only works on arrays of 1 or more dimensions", "()", "reshape it")
    return split(ary, indices_or_sections, 1 if ndim > 1 else 0)


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[ndarray]:
    """`split` along the first axis, for arrays with at least two."""
    if operand(ary).ndim < 2:
        raise ShapeError("vsplit only works on arrays of 2 or more dimensions", str(operand(ary).shape), "use split")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int]) -> list[ndarray]:
    """`split` along the third axis."""
    if operand(ary).ndim < 3:
        raise ShapeError("dsplit only works on arrays of 3 or more dimensions", str(operand(ary).shape), "use split")
    return split(ary, indices_or_sections, 2)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Views of the slices along an axis, which is removed."""
    return tuple(moveaxis(operand(x), axis, 0))


def concatenate(
    arrays: Sequence[ArrayLike], axis: int | None = 0, out: Out = None, *, dtype: DTypeLike = None, casting: Casting = "same_kind"
) -> ndarray:
    """Arrays joined along an axis, flattened first if None.

    Raises
    ------
    ParameterError
        If there are no arrays.
    ShapeError
        If shapes differ in other axes.
    """
    parts = operands(*arrays)
    if not parts:
        raise ParameterError("need at least one array to concatenate", None, "pass arrays")
    if axis is None:
        parts, axis = [p.reshape(-1) for p in parts], 0
    elif not all(p.shape for p in parts):
        raise ParameterError("zero-dimensional arrays cannot be concatenated", None, "use stack, or axis=None")
    result = run(primitive_shape.concat, *_alike(parts, dtype, casting), axis=normalized_axis(axis, parts[0].ndim))
    return deliver(result, out, casting)


def _alike(parts: list[ndarray], dtype: DTypeLike, casting: Casting) -> list[ndarray]:
    """The arrays cast to one dtype: the given one, or the one that theirs are promoted to."""
    if dtype is None:  # usually there is nothing to cast
        dtypes = {p._dtype for p in parts}
        if len(dtypes) == 1:
            return parts
        dtype = promote(*[p._dtype for p in parts])
    return [p.astype(dtype, casting=casting, copy=False) for p in parts]


concat = concatenate


def stack(
    arrays: Sequence[ArrayLike], axis: int = 0, out: Out = None, *, dtype: DTypeLike = None, casting: Casting = "same_kind"
) -> ndarray:
    """Arrays of equal shape joined along a new axis."""
    parts = operands(*arrays)
    if not parts:
        raise ParameterError("need at least one array to stack", None, "pass arrays")
    if len({p.shape for p in parts}) > 1:
        raise ShapeError("all input arrays must have the same shape", ", ".join(str(p.shape) for p in parts), "make them equal")
    result = run(joining.stack, *_alike(parts, dtype, casting), axis=normalized_axis(axis, parts[0].ndim + 1))
    return deliver(result, out, casting)


def _several(result: ndarray | tuple[ndarray, ...]) -> list[ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


def vstack(tup: Sequence[ArrayLike], *, dtype: DTypeLike = None, casting: Casting = "same_kind") -> ndarray:
    """Arrays joined along the first axis, after `atleast_2d`."""
    return concatenate(_several(atleast_2d(*tup)), 0, dtype=dtype, casting=casting)


row_stack = vstack


def hstack(tup: Sequence[ArrayLike], *, dtype: DTypeLike = None, casting: Casting = "same_kind") -> ndarray:
    """Arrays joined along the second axis; vectors along their only axis."""
    parts = _several(atleast_1d(*tup))
    return concatenate(parts, 0 if not parts or parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Sequence[ArrayLike]) -> ndarray:
    """Arrays joined along the third axis, after `atleast_3d`."""
    return concatenate(_several(atleast_3d(*tup)), 2)


def column_stack(tup: Sequence[ArrayLike]) -> ndarray:
    """Arrays joined along the second axis, vectors as columns."""
    parts = operands(*tup)
    return concatenate([p if p.ndim > 1 else p.reshape(-1, 1) for p in parts], 1)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> ndarray:
    """The array with values appended along an axis, flattened first if None."""
    return concatenate([arr, values], axis)


def roll(a: ArrayLike, shift: int | Sequence[int], axis: Axis = None) -> ndarray:
    """Elements shifted along axes, wrapping around; without an axis, over the flattened array, which keeps its shape."""
    x = operand(a)
    if axis is None:
        return roll(x.reshape(-1), int(np.sum(shift)), 0).reshape(x.shape)
    for by, at in zip(*map(np.ravel, np.broadcast_arrays(shift, axis)), strict=True):
        k = normalized_axis(int(at), x.ndim)
        cut = x.shape[k] - int(by) % x.shape[k] if x.shape[k] else 0
        x = concatenate(array_split(x, [cut], k)[::-1], k)
    return x if x is not a else x.copy()  # ``axis=()`` shifts nothing, but the result must not be the argument
