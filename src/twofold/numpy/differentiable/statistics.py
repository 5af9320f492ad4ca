"""Quantiles, reductions that ignore NaN or mask elements, covariances."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...calls.host_calls import is_recorded, to_numpy
from ...dtype import is_float
from ...imperative.invoke import host_of
from ...imperative.trace import is_followed
from ...ndarray.types import ArrayLike, Axis, DTypeLike
from ...opdef import normalized_axes
from .. import parts, shapes
from ..array import Out, ndarray
from ..creation import broadcast_view, operand, operands
from ..fallback import by_numpy
from ..forms import form_of
from ..linear import dot
from ..means import average
from ..reductions import all, cumprod, cumsum, max, min, sum
from ..selecting import diff, take_along_axis
from ..shapes import elements_at
from ..sort_order import sort
from ..ufuncs import chosen, deliver, function_of

isnan, sqrt = function_of("isnan"), function_of("sqrt")


# quantiles


def _by_ranks(numpys: Callable[..., Any], a: ArrayLike, axis: Axis, keepdims: bool, *q: Any, **options: Any) -> Any:
    """A quantile: a weighted mean of two elements, which NumPy finds as the quantile of the elements' ranks.

    Equal elements are ranked in the order of their positions, which decides the gradient.
    """
    if is_recorded((q, options)):
        return NotImplemented
    x, q = operand(a), to_numpy(q)
    axes = normalized_axes(axis, x.ndim)
    # the reduced axes are merged into the last one: each row is one sample
    kept = [k for k in range(x.ndim) if k not in axes]
    rows = x.transpose([*kept, *axes]).reshape([*[x.shape[k] for k in kept], math.prod([x.shape[k] for k in axes])])
    if options.get("weights") is not None:
        # one weight for each element, or for each place along the axis, in the order of the rows
        weights = np.asarray(to_numpy(options["weights"]))
        if weights.shape != x.shape and len(axes) == 1:
            weights = np.broadcast_to(weights.reshape([-1 if k in axes else 1 for k in range(x.ndim)]), x.shape)
        options["weights"] = weights.transpose([*kept, *axes]).reshape(rows.shape)
    count = rows.shape[-1]
    if x.dtype.kind != "f":
        return NotImplemented
    if is_followed(x) and x.size and options.get("weights") is None and ("nan" not in numpys.__name__ or _is_linear(options)):
        found = _by_sorting(numpys, rows, *q, **options)
        shape = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
        return found.reshape(*found.shape[: found.ndim - len(kept)], *shape) if keepdims else found
    if not x.size:
        return by_numpy(numpys, (x.detach(), *q), options | {"axis": axis, "keepdims": keepdims})
    # NumPy's quantile of the ranks 0, 1, … says which two elements are combined, and in which proportion
    host = host_of(rows)
    order = np.argsort(host, -1, kind="stable")
    ranks = np.empty(host.shape)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(float(count)), host.shape), -1)
    # NaN stays NaN, so that NumPy lets it spoil the result or ignores it, as the function does
    ranks[np.isnan(host)] = np.nan
    at = np.asarray(numpys(ranks, *q, axis=-1, **options))
    shape = at.shape[: at.ndim - len(kept)] + tuple([1 if k in axes else n for k, n in enumerate(x.shape)]) if keepdims else at.shape
    missing, at = np.isnan(at).reshape(shape), np.nan_to_num(at)
    low, high = np.floor(at).astype(np.int64), np.ceil(at).astype(np.int64)
    # positions in the flattened rows: the order of each row gives the element of a rank
    starts = np.arange(order.size // count).reshape(host.shape[:-1]) * count
    order = np.broadcast_to(order, (*at.shape, count))
    lower, upper = [elements_at(rows, starts + np.take_along_axis(order, k[..., None], -1)[..., 0]).reshape(shape) for k in (low, high)]
    part = ((at - low).reshape(shape)).astype(x.dtype)
    value = _between(lower, upper, part)
    value = chosen(missing, np.nan, value) if missing.any() else value
    # the dtype of NumPy's result, found on one element
    kind = numpys(np.zeros(1, x.dtype), *q, **(options | ({"weights": np.ones(1)} if options.get("weights") is not None else {}))).dtype
    return value.astype(kind, copy=False)


def _by_sorting(numpys: Callable[..., Any], rows: ndarray, *q: np.ndarray, **options: Any) -> ndarray:
    """A quantile of rows whose values are not known: that of their ranks says where in the sorted rows it is."""
    ordered = sort(rows)
    if "nan" in numpys.__name__:
        return _by_sorting_numbers(ordered, np.asarray(numpys(np.arange(2.0), *q)))
    at = np.asarray(numpys(np.arange(float(rows.shape[-1])), *q, **options))
    lower, upper = [ordered[..., k(at).astype(np.int64)] for k in (np.floor, np.ceil)]
    value = _between(lower, upper, (at - np.floor(at)).astype(rows.dtype))
    # NaN is sorted to the end
    last = ordered[..., -1]
    value = chosen(function_of("isnan")(shapes.expand_dims(last, -1) if at.ndim else last), np.nan, value)
    return shapes.moveaxis(value, -1, 0) if at.ndim else value


def _is_linear(options: Mapping[str, object]) -> bool:
    return options.get("method", "linear") == "linear"


def _by_sorting_numbers(ordered: ndarray, fraction: np.ndarray) -> ndarray:
    """Quantiles of the elements of sorted rows that are numbers: at fractions of the way from the first to the last."""
    # NaN is sorted to the end, so the numbers are the first elements
    count = sum(~isnan(ordered), -1, keepdims=True)
    place = fraction.reshape(-1) * function_of("maximum")(count - 1, 0)
    low = function_of("floor")(place)
    lower, upper = [take_along_axis(ordered, k.astype("int64"), -1) for k in (low, function_of("ceil")(place))]
    value = chosen(lower == upper, lower, lower + (upper - lower) * (place - low).astype(ordered.dtype))
    return shapes.moveaxis(value, -1, 0) if fraction.ndim else value[..., 0]


def _between(lower: ndarray, upper: ndarray, part: np.ndarray) -> ndarray:
    """Linear interpolation, rounded as NumPy's: from the nearer end, and a half is the mean."""
    if not part.any():
        return lower
    if (part == 0.5).all():
        return (lower + upper) / 2
    step = upper - lower
    value = chosen(part >= 0.5, upper - step * (1 - part), lower + step * part)
    return chosen(part == 0, lower, value)  # the step between equal infinities is NaN


def _median(numpys: Callable[..., Any]) -> Callable[..., Any]:
    def median(a: ArrayLike, axis: Axis = None, out: Out = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
        result = _by_ranks(numpys, a, axis, keepdims is True)
        return result if result is NotImplemented else deliver(result, out, "unsafe")

    return form_of(numpys)(median)


def _quantile(numpys: Callable[..., object]) -> None:
    def quantile(
        a: ArrayLike,
        q: ArrayLike,
        axis: Axis = None,
        out: Out = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: ArrayLike | None = None,
    ) -> Any:
        options: dict[str, Any] = {"method": method} if weights is None else {"method": method, "weights": weights}
        # NumPy says which two ranks a quantile lies between, and where; the gradient goes to these elements
        result = _by_ranks(numpys, a, axis, keepdims is True, q, **options)
        return result if result is NotImplemented else deliver(result, out, "unsafe")

    form_of(numpys)(quantile)


median, nanmedian = _median(np.median), _median(np.nanmedian)
for _function in (np.quantile, np.percentile, np.nanquantile, np.nanpercentile):
    _quantile(_function)


# reductions that ignore elements


def _nan_extremum(numpys: Callable[..., object], reduce: Callable[..., ndarray], beyond: float) -> None:
    def extremum(a: ArrayLike, axis: Axis = None, out: Out = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        x = operand(a)
        missing = isnan(x)
        options = {} if initial is None else {"initial": initial, "where": where}
        result = reduce(chosen(missing, beyond, x), axis, keepdims=bool(keepdims), **options)
        if initial is None:
            # if all elements are missing, their replacement must not be the result
            result = chosen(all(missing, axis, keepdims=bool(keepdims)), np.nan, result)
        return deliver(result, out, "unsafe")

    form_of(numpys)(extremum)


_nan_extremum(np.nanmax, max, -np.inf)
_nan_extremum(np.nanmin, min, np.inf)


@form_of(np.nancumsum)
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    """Cumulative sums along an axis, with NaN as 0."""
    x = operand(a)
    return cumsum(chosen(isnan(x), 0, x), axis, dtype, out)


@form_of(np.nancumprod)
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: Out = None) -> ndarray:
    """Cumulative products along an axis, with NaN as 1."""
    x = operand(a)
    return cumprod(chosen(isnan(x), 1, x), axis, dtype, out)


def _spread(numpys: Callable[..., object], ignores_nan: bool, finish: Callable[[ndarray], ndarray]) -> None:
    def spread(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: Out = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: ArrayLike = True,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> ndarray:
        x = operand(a) if dtype is None else operand(a).astype(dtype, copy=False)
        used = where if not ignores_nan else ~isnan(x) if where is True else where & ~isnan(x)
        mask = broadcast_view(operands(used, x)[0], x.shape)
        x = chosen(mask, x, 0)
        counts = sum(mask, axis, keepdims=True).astype(x.real.dtype)
        centre = sum(x, axis, keepdims=True) / counts if mean is None else mean
        apart = chosen(mask, x - centre, 0)
        squares = apart * apart if is_float(apart._dtype) else apart.real**2 + apart.imag**2
        less = counts - (ddof if correction is None else correction)
        # too few elements give NaN where NaN is ignored, else a division by 0, as in NumPy
        variance = sum(squares, axis, keepdims=True) / chosen(less > 0, less, np.nan if ignores_nan else 0)
        result = finish(variance)
        return deliver(result if keepdims else shapes.squeeze(result, normalized_axes(axis, x.ndim)), out, "unsafe")

    form_of(numpys)(spread)


for _nan, _var, _std in ((False, np.var, np.std), (True, np.nanvar, np.nanstd)):
    _spread(_var, _nan, lambda variance: variance)
    _spread(_std, _nan, sqrt)


# covariances


@form_of(np.cov)
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DTypeLike = None,
) -> ndarray:
    """Covariances of variables, by default the rows of ``m`` and ``y``, from (possibly weighted) observations."""
    if not any(is_followed(operand(a)) for a in (m, y, fweights, aweights) if a is not None):
        by_numpy(
            np.cov,
            tuple([None if v is None else operand(v).detach() for v in (m, y)]),
            {
                "rowvar": rowvar,
                "bias": bias,
                "ddof": ddof,
                "dtype": dtype,
                "fweights": None if fweights is None else operand(fweights).detach(),
                "aweights": None if aweights is None else operand(aweights).detach(),
            },
        )  # fmt: skip  (its checks of shapes and weights)
    x = _variables(m, rowvar)
    if y is not None:
        x = parts.concatenate([x, _variables(y, rowvar)], 0)
    kind = np.result_type(x.dtype, np.float64) if dtype is None else np.dtype(dtype)  # type: ignore[arg-type]
    x, count = x.astype(kind, copy=False), x.shape[1]
    less = int(not bias) if ddof is None else ddof
    given = [operand(w).astype("float64", copy=False) for w in (fweights, aweights) if w is not None]
    if not given:
        centred = x - average(x, 1, keepdims=True)
        return shapes.squeeze(dot(centred, _conjugate(centred).T) / np.maximum(count - less, 0.0))
    w = given[0] if len(given) == 1 else given[0] * given[1]
    total = sum(w)
    # the degrees of freedom lost, by the formula in the documentation of `numpy.cov`
    lost = total * 0 if less == 0 else less if aweights is None else less * sum(w * given[-1]) / total
    centred = x - shapes.expand_dims(average(x, 1, w), 1)
    return shapes.squeeze(dot(centred, _conjugate(centred * w).T) / (total - lost))


def _variables(a: ArrayLike, rowvar: bool) -> ndarray:
    x = operand(a)
    return x.reshape(1, -1) if x.ndim < 2 else x if rowvar else x.T


def _conjugate(x: ndarray) -> ndarray:
    return x if is_float(x._dtype) else x.conj()


@form_of(np.corrcoef)
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DTypeLike = None) -> ndarray:
    """Correlation coefficients: the covariances divided by the standard deviations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviations = sqrt(shapes.diagonal(c).real)
    return function_of("minimum")(function_of("maximum")(c / deviations.reshape(-1, 1) / deviations, -1), 1)


# sums


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> ndarray:
    """The integral along an axis by the trapezoidal rule, over points ``x`` or with distance ``dx`` between them."""
    rows = shapes.moveaxis(y, axis, -1)
    steps: Any = dx
    if x is not None:
        at = operand(x)
        steps = diff(at) if at.ndim == 1 else shapes.moveaxis(diff(at, axis=axis), axis, -1)
    return sum(steps * (rows[..., 1:] + rows[..., :-1]) / 2.0, -1)


for _name in ("trapezoid", "trapz"):  # newer and older releases of NumPy
    if hasattr(np, _name):
        form_of(getattr(np, _name))(trapezoid)
