"""Functions that select between arrays, apply functions to parts of one, or surround one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...calls.host_calls import arrays_in, is_recorded, to_numpy
from ...errors import DTypeError, ParameterError
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike
from ...opdef import broadcast_shapes, normalized_axis
from ..array import ndarray
from ..creation import broadcast_view, operand, zeros_like
from ..forms import form_of
from ..means import mean
from ..parts import concatenate, stack
from ..reductions import max, min
from ..shapes import expand_dims, moveaxis
from ..ufuncs import chosen
from .statistics import median


@form_of(np.select)
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> ndarray:
    """For each position the element of the first array whose condition holds, or the default."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ParameterError(
            "select: list of cases must be same length as list of conditions", f"{len(choicelist)} and {len(condlist)}", "pass one each"
        )
    conditions = [operand(c) for c in condlist]
    if any(c._dtype != "bool" for c in conditions):
        raise DTypeError("select: conditions are bools", ", ".join([c._dtype for c in conditions]), "compare, or cast with astype")
    kind = np.result_type(*[v.dtype if isinstance(v, ndarray) else to_numpy(v) for v in (*choicelist, default)])
    *choices, result = [operand(v).astype(kind, copy=False) for v in (*choicelist, default)]
    shape = broadcast_shapes("select", [v.shape for v in (*conditions, *choices, result)])
    # backwards, so that the first condition that holds decides
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        result = chosen(condition, choice, result)
    return result if result.shape == shape else broadcast_view(result, shape).copy()


@form_of(np.piecewise)
def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> ndarray:
    """Functions of the elements where conditions hold: the last function whose condition does."""
    a = operand(x)
    if is_recorded(condlist) and any(map(is_followed, arrays_in(condlist))):

        def part(function: Any) -> ndarray:
            value: Any = function(a, *args, **kw) if callable(function) else function
            return operand(value).astype(a.dtype, copy=False)

        return _piecewise_followed(a, condlist, funclist, part)
    given = np.asarray(to_numpy(condlist), bool)
    # one condition may be given without a list around it
    if isinstance(condlist, (list, tuple)) and not isinstance(condlist[0], (list, tuple, ndarray, np.ndarray)) and a.ndim:
        given = given[None]
    conditions = list(given.reshape(-1, *a.shape) if given.ndim <= a.ndim else given)
    # an extra function applies where no condition holds
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    elif len(funclist) != len(conditions):
        what = f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected"
        raise ParameterError(what, str(len(funclist)), "pass as many")
    result = zeros_like(a)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result = chosen(condition, operand(function).astype(a.dtype, copy=False), result)
        elif condition.any():
            value: Any = function(a[condition] if a.ndim else a, *args, **kw)
            result[condition if a.ndim else ...] = value
    return result


def _piecewise_followed(a: ndarray, condlist: Any, funclist: Sequence[object], part: Callable[..., ndarray]) -> ndarray:
    """`piecewise` with conditions that are not known: each function is computed of all elements.

    Raises
    ------
    ParameterError
        If there are more or fewer functions than conditions, except for one that applies where none holds.
    """
    several = isinstance(condlist, (list, tuple)) or operand(condlist).ndim > a.ndim
    conditions = [operand(c) for c in condlist] if several else [operand(condlist)]
    functions = list(funclist)
    result = zeros_like(a)
    if len(functions) == len(conditions) + 1:
        result = part(functions.pop())
    elif len(functions) != len(conditions):
        what = f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected"
        raise ParameterError(what, str(len(functions)), "pass as many")
    for condition, function in zip(conditions, functions, strict=True):
        result = chosen(condition, part(function), result)
    return result if result.shape == a.shape else broadcast_view(result, a.shape).copy()


@form_of(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., ArrayLike], axis: int, arr: ArrayLike, *args: object, **kwargs: object) -> ndarray:
    """The results of a function of each vector along an axis, whose axes take the place of that axis."""
    x = operand(arr)
    at = normalized_axis(axis, x.ndim)
    rows = moveaxis(x, at, -1)
    results = [operand(func1d(rows[place], *args, **kwargs)) for place in np.ndindex(rows.shape[:-1])]
    if not results:
        raise ParameterError("Cannot apply_along_axis when any iteration dimensions are 0", str(x.shape), "pass a larger array")
    every = stack(results).reshape(*rows.shape[:-1], *results[0].shape)
    count = results[0].ndim
    return moveaxis(every, tuple(range(every.ndim - count, every.ndim)), tuple(range(at, at + count)))


@form_of(np.apply_over_axes)
def apply_over_axes(func: Callable[..., ArrayLike], a: ArrayLike, axes: ArrayLike) -> ndarray:
    """A function ``(array, axis)`` applied over the axes in turn; each keeps size 1."""
    x = operand(a)
    for axis in np.ravel(axes):
        at = normalized_axis(int(axis), x.ndim)
        result = operand(func(x, at))
        x = result if result.ndim == x.ndim else expand_dims(result, at)
        if x.ndim != operand(a).ndim:
            raise ParameterError("function is not returning an array of the correct shape", str(result.shape), "return one axis less")
    return x


# padding


@form_of(np.pad)
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **options: Any) -> ndarray:
    """An array padded with constants, statistics of its edges, or ramps: along one axis after the other, as NumPy does."""
    x = operand(array)
    widths = _pairs(pad_width, x.ndim)
    if mode not in PADDING or set(options) - {OPTIONS.get(mode, "stat_length")}:
        return NotImplemented
    values = options.get("constant_values", options.get("end_values", 0))
    ends = _pairs(values, x.ndim) if not is_recorded(values) else [[operand(values)] * 2] * x.ndim
    lengths = _pairs(options.get("stat_length"), x.ndim)
    if mode != "constant" and any(not n and any(w) for n, w in zip(x.shape, widths, strict=True)):
        return NotImplemented  # NumPy raises
    if is_recorded(values) and operand(values).ndim:
        return NotImplemented
    for axis, (width, end, length) in enumerate(zip(widths, ends, lengths, strict=True)):
        rows = moveaxis(x, axis, 0)
        # the end of an axis is padded as the beginning of its reversed rows
        before, after = [
            PADDING[mode](side, int(n), e, k)
            for side, n, e, k in ((rows, width[0], end[0], length[0]), (rows[::-1], width[1], end[1], length[1]))
        ]
        x = moveaxis(concatenate([before, rows, after[::-1]]), 0, axis)
    return x


def _pairs(value: Any, ndim: int) -> list[Any]:
    """For each axis the values before and after."""
    if isinstance(value, dict):
        pairs = [value.get(k, value.get(k - ndim, 0)) for k in range(ndim)]
        return [p if isinstance(p, (tuple, list)) else (p, p) for p in pairs]
    return np.broadcast_to(np.asarray(to_numpy(value)), (ndim, 2)).tolist()


def _filled(rows: ndarray, count: int, value: ArrayLike) -> ndarray:
    return broadcast_view(operand(value).astype(rows.dtype, copy=False), (count, *rows.shape[1:]))


def _ramp(rows: ndarray, count: int, end: object, length: object) -> ndarray:
    # as ``linspace(end, edge, count, endpoint=False)``
    parts = (np.arange(count) / np.maximum(count, 1)).reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
    return (rows[:1] - end) * parts + end


def _statistic(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def padding(rows: ndarray, count: int, end: object, length: int | None) -> ndarray:
        return _filled(rows, count, function(rows[:length], 0, keepdims=True))

    return padding


#: The option of a mode, if not ``stat_length``.
OPTIONS = {"constant": "constant_values", "linear_ramp": "end_values"}
#: By mode: a function of the array with the padded axis in front, how much to add in front of it, the end value and the length.
PADDING: dict[Any, Callable[[ndarray, int, Any, Any], ndarray]] = {
    "constant": lambda rows, count, end, length: _filled(rows, count, end),
    "linear_ramp": _ramp,
    "maximum": _statistic(max),
    "minimum": _statistic(min),
    "mean": _statistic(mean),
    "median": _statistic(median),
}
