"""Selections of a number of elements that the caller names, as in JAX: their shapes are known while a function is traced."""

from typing import Any

import numpy as np

from ..errors import AutogradError, ParameterError
from ..imperative.invoke import host_of
from ..ndarray.types import ArrayLike
from ..ops import ordering, primitive_gather, primitive_reduce
from .array import ndarray
from .creation import arange, operand, zeros
from .fallback import by_numpy
from .parts import concatenate
from .reductions import run
from .ufuncs import chosen

#: What to do where a number of elements is not known.
WITH_SIZE = "pass size=, the number of results; surplus ones are fill_value. Or use np.where(mask, x, 0), which keeps the shape"


def host_of_selected(x: ndarray, name: str, todo: str = WITH_SIZE) -> np.ndarray:
    """The values of an array, for a selection whose size depends on them.

    Raises
    ------
    AutogradError
        If they are not known while a function is traced.
    """
    try:
        return host_of(x)
    except AutogradError as error:
        what = f"{error.what.partition(':')[0]}: the number of elements that {name} finds is not known while its function is traced"
        raise AutogradError(what, f"an array of shape {x.shape}", todo) from None


def _checked(name: str, size: Any) -> int:
    """A number of results.

    Raises
    ------
    ParameterError
        If it is no integer, or negative.
    """
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
        raise ParameterError(f"{name}: size is not a number of results", size, "pass an integer of 0 or more")
    return int(size)


def _first_places(mask: ndarray, size: int) -> tuple[ndarray, ndarray]:
    """Where a vector of bools is true, as a vector of this size, and which elements of that are places; the others are 0."""
    count = mask.size
    # sorted, so that the places come first and in order: every element that is none counts as a place beyond the end
    keys = chosen(mask, arange(count, dtype="int64", device=mask.context), count)
    places = run(ordering.sort_axis, keys, axis=0)[:size] if count else keys
    missing = size - places.size
    if missing > 0:
        places = concatenate([places, arange(missing, dtype="int64", device=mask.context) * 0 + count])
    there = places < count
    return chosen(there, places, 0), there


def nonzero_of_size(x: ndarray, size: Any, fill_value: Any, name: str = "nonzero") -> list[ndarray]:
    """Indices of the first ``size`` elements that are not zero, a vector for each axis.

    Parameters
    ----------
    x
        The array.
    size
        Number of indices.
    fill_value
        The index in place of those that are not there: an integer, or one for each axis; 0 if None.
    name
        The function, for messages.

    Raises
    ------
    ParameterError
        If ``size`` is negative, or there is another number of fill values than axes.
    """
    mask: Any = x != 0
    places, there = _first_places(mask.reshape(-1), _checked(name, size))
    fills = list(fill_value) if isinstance(fill_value, (tuple, list)) else [0 if fill_value is None else fill_value] * x.ndim
    if len(fills) != x.ndim:
        raise ParameterError(f"{name}: another number of fill values than axes", f"{len(fills)} for {x.ndim}", "pass one for each")
    found, step = [], x.size
    # a place in the flattened array as a number with one digit for each axis
    for n, fill in zip(x.shape, fills, strict=True):
        step //= n or 1
        found.append(chosen(there, places // max(step, 1) % max(n, 1), operand(fill).astype("int64")))
    return found


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """The distinct elements in order.

    Parameters
    ----------
    ar
        The array.
    return_index, return_inverse, return_counts, axis, equal_nan
        As ``numpy.unique``.
    size
        Number of results, as in JAX: a function that is traced needs it. Surplus elements are left out.
    fill_value
        Stands in place of elements that are not there; the smallest element if None. Their counts are 0.

    Raises
    ------
    ParameterError
        If ``size`` is negative, or given with an axis.
    """
    if size is None:
        options = {"axis": axis, "equal_nan": equal_nan}
        try:
            return by_numpy(np.unique, (ar, return_index, return_inverse, return_counts), options)
        except AutogradError:
            host_of_selected(operand(ar), "unique")
            raise
    x = operand(ar)
    if axis is not None:
        raise ParameterError("unique: a fixed size is for elements, not for slices along an axis", f"axis={axis}", "leave one of both out")
    # nothing is found in an element that is not counted
    flat, count = x.reshape(-1) if x.size else zeros(1, dtype=x.dtype, device=x.context), _checked("unique", size)
    order = run(ordering.argsort_axis, flat, axis=0, is_ascend=True, dtype="int64")
    found = run(primitive_gather.take, flat, order, axis=0)
    differs = found[1:] != found[:-1]
    if equal_nan and x.dtype.kind in "fc":
        differs &= (found[1:] == found[1:]) | (found[:-1] == found[:-1])
    first = concatenate([operand(np.full(1, x.size > 0), x.context), differs])
    # one more, so that each run of equal elements ends where the next one begins
    places, there = _first_places(first, count + 1)
    values = run(primitive_gather.take, found, places[:count], axis=0)
    if fill_value is not None:
        values = chosen(there[:count], values, operand(fill_value).astype(x.dtype))
    results = [values]
    if return_index:
        results.append(run(primitive_gather.take, order, places[:count], axis=0))
    if return_inverse:
        number = run(primitive_reduce.cumulative_sum, first.astype("int64"), axis=0) - 1
        # sorting the order gives its inverse
        ranks = run(ordering.argsort_axis, order, axis=0, is_ascend=True, dtype="int64")
        results.append(run(primitive_gather.take, number, ranks, axis=0).reshape(x.shape))
    if return_counts:
        ends = chosen(there, places, x.size)
        results.append(chosen(there[:count], ends[1:] - ends[:-1], 0))
    return tuple(results) if len(results) > 1 else values
