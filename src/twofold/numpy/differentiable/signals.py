"""Functions of sequences: convolution, interpolation, derivatives, phases, spaced values; and cross products, sinc, the Bessel function."""

import math
from typing import Any

import numpy as np

from ...calls.host_calls import is_recorded, to_numpy
from ...dtype import is_float, promote
from ...errors import DTypeError, ParameterError, ShapeError
from ...imperative.invoke import host_of
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike, Axis, DTypeLike
from ...opdef import normalized_axes, normalized_axis
from ...ops.primitive_convolve import convolve_full
from ..array import ndarray
from ..creation import broadcast_view, ones_like, operand, operands, zeros_like
from ..forms import form_of
from ..parts import concatenate, stack
from ..reductions import cumsum, run, sum
from ..selecting import clip, diff, where
from ..shapes import elements_at, expand_dims, moveaxis
from ..sort_order import argsort
from ..ufuncs import chosen, function_of

# convolution

MODES = {"valid": 0, "same": 1, "full": 2}


def _convolved(a: ArrayLike, v: ArrayLike, mode: str | int, *, correlates: bool) -> ndarray:
    """The convolution of two vectors, or the correlation, which is that with the reversed and conjugated second one."""
    x, y = [operand(k) for k in (a, v)]
    x, y = [k if k.ndim else k.reshape(1) for k in (x, y)]
    kind = MODES.get(mode, mode) if isinstance(mode, str) else mode
    if x.ndim > 1 or y.ndim > 1 or not x.size or not y.size or kind not in MODES.values():
        return NotImplemented  # NumPy raises
    dtype = promote(x._dtype, y._dtype)
    # half precision is summed in float32
    wide = "float32" if is_float(dtype) and dtype not in ("float32", "float64") else dtype
    x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
    if correlates:
        y = (y if is_float(wide) else y.conj())[::-1]
    every = run(convolve_full, x, y).astype(dtype, copy=False)
    short, long = sorted((x.size, y.size))
    if kind == MODES["full"]:
        return every
    # the part where the shorter vector lies wholly inside the longer one
    if kind == MODES["valid"]:
        return every[short - 1 : long].copy()
    # NumPy's correlation swaps the vectors if the second one is longer, and reverses the result
    first = short // 2 if correlates and x.size < y.size else (short - 1) // 2
    return every[first : first + long].copy()


@form_of(np.convolve)
def convolve(a: ArrayLike, v: ArrayLike, mode: str | int = "full") -> ndarray:
    """The convolution of two vectors."""
    return _convolved(a, v, mode, correlates=False)


@form_of(np.correlate)
def correlate(a: ArrayLike, v: ArrayLike, mode: str | int = "valid") -> ndarray:
    """The correlation of two vectors, the second one conjugated."""
    return _convolved(a, v, mode, correlates=True)


# interpolation


@form_of(np.interp)
def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None, period: Any = None) -> ndarray:
    """The piecewise linear function through points (``xp``, ``fp``), which is differentiated in all three arguments."""
    at, places, values = operands(x, xp, fp)
    if places.ndim != 1 or places.shape != values.shape or not places.size:
        return NotImplemented  # NumPy raises
    at, places = at.astype("float64", copy=False), places.astype("float64", copy=False)
    values = values.astype("float64", copy=False) if is_float(values._dtype) or not values._dtype.startswith("complex") else values
    if period is not None:
        if not is_recorded(period) and float(period) == 0:
            raise ParameterError("period must be a non-zero value", repr(period), "pass another")
        period, left, right = abs(period), None, None
        # one period, with its last point repeated before it and its first point after it: every x lies between two points
        at, places = at % period, places % period
        order = argsort(places)
        places, values = places[order], values[order]
        places = concatenate([places[-1:] - period, places, places[:1] + period])
        values = concatenate([values[-1:], values, values[:1]])
    if is_followed(at) or is_followed(places):
        return _interpolated(at, places, values, left, right)
    here, known, last = host_of(at), host_of(places), places.size - 1
    # the points on both sides of x; beyond the ends the nearest two, and `left` or `right` replaces the result below
    low = np.clip(np.searchsorted(known, here, "right") - 1, 0, max(last - 1, 0))
    high = np.minimum(low + 1, last)
    start, height = elements_at(places, low), elements_at(values, low)
    if last:
        slope = (elements_at(values, high) - height) / (elements_at(places, high) - start)
        height = slope * (at - start) + height
    height = chosen(here < known[0], values[0] if left is None else left, height)
    height = chosen(here > known[-1], values[-1] if right is None else right, height)
    exactly = here == known[-1]  # the last slope may not be finite, or round
    return chosen(exactly, values[-1], height) if exactly.any() else height


def _interpolated(at: ndarray, places: ndarray, values: ndarray, left: Any, right: Any) -> ndarray:
    """`interp` without reading values: an interval is found by counting the points before it."""
    last = places.size - 1
    low = clip(sum(expand_dims(at, -1) >= places, -1) - 1, 0, max(last - 1, 0))
    start, height = places[low], values[low]
    if last:
        slope = (values[low + 1] - height) / (places[low + 1] - start)
        height = slope * (at - start) + height
    height = where(at < places[0], values[0] if left is None else left, height)
    height = where(at > places[-1], values[-1] if right is None else right, height)
    return where(at == places[-1], values[-1], height)


# differences


@form_of(np.gradient)
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int = 1) -> ndarray | tuple[ndarray, ...]:
    """Derivatives along axes by central differences, one-sided at the ends; for uniform distances or at given coordinates."""
    x = operand(f)
    axes = normalized_axes(axis, x.ndim)
    given = [1.0] * len(axes) if not varargs else list(varargs) * len(axes) if len(varargs) == 1 else list(varargs)
    if len(given) != len(axes) or (len(varargs) == 1 and len(axes) > 1 and operand(varargs[0]).ndim):
        raise DTypeError("gradient: invalid number of arguments", f"{len(varargs)} distances for {len(axes)} axes", "pass one each")
    results = [moveaxis(_derivative(moveaxis(x, at, 0), h, edge_order), 0, at) for at, h in zip(axes, given, strict=True)]
    results = [r.astype(x.dtype, copy=False) if x.dtype.kind in "fc" else r for r in results]
    return results[0] if len(results) == 1 else tuple(results)


def _derivative(rows: ndarray, distance: ArrayLike, edge_order: int) -> ndarray:
    """The derivative along the first axis; ``distance`` is a number, or the coordinates."""
    count = rows.shape[0]
    if edge_order not in (1, 2) or count < edge_order + 1:
        what = "gradient: the array is too small for its edges, which take one element more than edge_order (1 or 2)"
        raise ParameterError(what, f"{count} elements, edge_order={edge_order}", "pass a larger array")
    steps: Any = operand(distance)
    if steps.ndim > 1 or (steps.ndim and steps.size != count):
        raise ShapeError("gradient: when 1d, distances must match the length of the corresponding dimension", str(steps.shape), "pass (n,)")
    steps = diff(steps) if steps.ndim else broadcast_view(steps, (count - 1,))
    steps = steps.reshape(-1, *[1] * (rows.ndim - 1))
    slopes = (rows[1:] - rows[:-1]) / steps
    before, after = steps[:-1], steps[1:]
    # each interior derivative is the mean of the slopes on both sides, weighted by the other side's distance
    inner = (slopes[:-1] * after + slopes[1:] * before) / (before + after)
    if edge_order == 1:
        return concatenate([slopes[:1], inner, slopes[-1:]])
    bend = (slopes[1:] - slopes[:-1]) / (before + after)  # half the second derivative
    first, final = slopes[:1] - bend[:1] * steps[:1], slopes[-1:] + bend[-1:] * steps[-1:]
    return concatenate([first, inner, final])


@form_of(np.unwrap)
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> ndarray:
    """Phases without jumps: multiples of the period are added, which are constants."""
    if is_recorded((discont, period)):
        return NotImplemented
    x = operand(p)
    if is_followed(x):
        # differences of neighbors are moved into one period by whole periods, as the documentation of `numpy.unwrap` says
        whole = x.dtype.kind in "iu" and isinstance(period, int)
        step = diff(x, axis=axis)
        moved = (step + period / 2) % period - period / 2 if not whole else (step + period // 2) % period - period // 2
        moved = chosen((moved == -period / 2) & (step > 0), period / 2 if not whole else period // 2, moved)
        jumps = chosen(abs(step) < (period / 2 if discont is None else discont), 0, moved - step)
        first = jumps.take(np.arange(1), axis) * 0
        return x + concatenate([first, cumsum(jumps, axis)], axis)
    host = host_of(x)
    return x + (np.unwrap(host, discont, axis, period=period) - host)


# spaced values


def _in_one_dtype(*values: ArrayLike) -> list[ndarray]:
    """Arrays and numbers as arrays of their common inexact dtype; Python's numbers widen none."""
    kind = np.result_type(0.0, *[v.dtype if isinstance(v, (ndarray, np.ndarray)) else to_numpy(v) for v in values])
    return [v.astype(kind, copy=False) for v in operands(*values)]


@form_of(np.linspace)
def linspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DTypeLike = None, axis: int = 0
) -> ndarray | tuple[ndarray, ndarray]:
    """Evenly spaced numbers from ``start`` to ``stop``."""
    if num < 0:
        raise ParameterError(f"Number of samples, {num}, must be non-negative.", None, "pass 0 or more")
    first, last = _in_one_dtype(start, stop)
    steps = num - 1 if endpoint else num
    # a single sample is the start, and the distance to the next one is NaN
    parts = (np.arange(num) / (steps or 1)).reshape(-1, *[1] * max(first.ndim, last.ndim)).astype(first.real.dtype)
    values = moveaxis(first * (1 - parts) + last * parts, 0, axis)
    values = values if dtype is None else values.astype(dtype, copy=False)
    return (values, (last - first) / (steps or np.nan)) if retstep else values


@form_of(np.logspace)
def logspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: ArrayLike = 10.0, dtype: DTypeLike = None, axis: int = 0
) -> ndarray:
    """Powers of a base whose exponents are evenly spaced."""
    values = function_of("power")(base if np.ndim(base) == 0 else expand_dims(base, axis), linspace(start, stop, num, endpoint, axis=axis))
    return values if dtype is None else values.astype(dtype, copy=False)


@form_of(np.geomspace)
def geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0) -> ndarray:
    """Numbers from ``start`` to ``stop`` with equal ratios."""
    first, last = [v.astype(np.result_type(v.dtype, np.float64), copy=False) for v in operands(start, stop)]
    # the logarithm of the ratio exists for negative numbers too, if both have the same sign
    exponents = linspace(zeros_like(first), function_of("log")(last / first), num, endpoint, axis=axis)
    values = expand_dims(first, axis) * function_of("exp")(exponents)
    return values if dtype is None else values.astype(dtype, copy=False)


# products


@form_of(np.cross)
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> ndarray:
    """Cross products of vectors with 2 or 3 components; those of two vectors in a plane have the component across it only."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    x, y = operands(a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    sizes = x.shape[-1], y.shape[-1]
    if sizes != (3, 3):
        # NumPy judges the sizes, on arrays without elements: up to 2.4 it takes vectors in a plane, with a warning
        np.cross(np.empty((0, sizes[0])), np.empty((0, sizes[1])))
    (x0, x1), (y0, y1) = [(v[..., 0], v[..., 1]) for v in (x, y)]
    across = x0 * y1 - x1 * y0
    if sizes == (2, 2):
        return across
    # a vector in the plane has the third component 0
    x2, y2 = [v[..., 2] if v.shape[-1] == 3 else zeros_like(v[..., 0]) for v in (x, y)]
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, across]
    return moveaxis(stack(parts, -1), -1, axisc)


@form_of(np.linalg.cross)
def _cross_of_matrices(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> ndarray:
    if any(operand(v).shape[normalized_axis(axis, operand(v).ndim)] != 3 for v in (x1, x2)):
        return NotImplemented  # NumPy raises
    return cross(x1, x2, axis=axis)


# functions of numbers

#: sinc by its series below this argument in radians, where the derivative of the quotient would lose digits.
SERIES_BELOW = 0.5
#: 1 / (2k + 1)!, with alternating signs.
SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)]


@form_of(np.sinc)
def sinc(x: ArrayLike) -> ndarray:
    """sin(πx) / (πx), which is 1 at 0."""
    y = operand(x) * math.pi
    near = abs(y) < SERIES_BELOW
    series, square = zeros_like(y), y * y
    for c in SERIES[::-1]:
        series = series * square + c
    apart = chosen(near, 1.0, y)
    return chosen(near, series, function_of("sin")(apart) / apart)


#: Cosines at which exp(x cos θ) is sampled: the trapezoidal rule for a periodic function converges to rounding for all finite results.
COSINES = np.cos((np.arange(64) + 0.5) * (math.pi / 128))


@form_of(np.i0)
def i0(x: ArrayLike) -> ndarray:
    """The modified Bessel function of order 0: the mean of cosh(x cos θ) over all angles."""
    a = operand(x)
    found = sum(function_of("cosh")(expand_dims(a.astype("float64", copy=False), -1) * COSINES), -1) / len(COSINES)
    return found.astype(a.dtype, copy=False)


@form_of(np.kaiser)
def kaiser(M: int, beta: ArrayLike) -> ndarray:
    """The Kaiser window of M points; ``beta`` is differentiated."""
    b = operand(beta).astype("float64", copy=False)
    if M < 2:
        return ones_like(b.reshape(-1)[: max(int(M), 0)])
    at = 2 * np.arange(int(M)) / (M - 1) - 1
    return i0(b * np.sqrt(1 - at * at)) / i0(b)
