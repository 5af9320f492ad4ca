"""Reductions with MXNet's conventions: results keep the operand's dtype, ``axis=()`` means all axes, ``exclude`` inverts the choice."""

import math
from typing import Literal

from ..dtype import FLOATS, promote
from ..errors import ParameterError
from ..opdef import Axis, DType, normalized_axes, op, stype_of
from .primitive_reduce import count_of, spread


def chosen_axes(data, axis, exclude):
    """The axes that are reduced, as non-negative numbers."""
    ndim = len(data.shape)
    # MXNet, unlike NumPy, reduces all axes for an empty tuple, whatever exclude says
    if axis is None or axis == ():
        return tuple(range(ndim))
    named = normalized_axes(axis, ndim)
    return tuple(k for k in range(ndim) if k not in named) if exclude else named


@op("sum", "_sparse_sum", "sum_axis", method=True)
def sum_axis(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Sum over axes; integers wrap around."""
    return xp.cast_like(xp.sum(data, axis=chosen_axes(data, axis, exclude), keepdims=keepdims), data)


@op("mean", "_sparse_mean", method=True)
def mean_axis(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Arithmetic mean over axes; for integers the wrapped sum, divided and truncated."""
    axes = chosen_axes(data, axis, exclude)
    if xp.dtype_of(data) in FLOATS:
        return xp.mean(data, axis=axes, keepdims=keepdims)
    # the sum wraps before it is divided, as MXNet's accumulator has the operand's dtype
    total = xp.cast_like(xp.sum(data, axis=axes, keepdims=keepdims), data)
    return xp.cast_like(total / count_of(data.shape, axes), data)


@op("prod", method=True)
def prod_axis(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Product over axes; integers wrap around."""
    return xp.cast_like(xp.prod(data, axis=chosen_axes(data, axis, exclude), keepdims=keepdims), data)


@op("nansum", method=True)
def nansum(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Sum over axes, with NaN counted as 0."""
    return sum_axis(xp, _without_nan(xp, data, 0), axis=axis, keepdims=keepdims, exclude=exclude)


@op("nanprod", method=True)
def nanprod(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Product over axes, with NaN counted as 1."""
    return prod_axis(xp, _without_nan(xp, data, 1), axis=axis, keepdims=keepdims, exclude=exclude)


def _without_nan(xp, data, value):
    return xp.where(xp.isnan(data), value, data) if xp.dtype_of(data) in FLOATS else data


@op("max", "max_axis", method=True)
def max_axis(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Maximum over axes; each of several equal maxima gets the whole gradient."""
    return xp.max(data, axis=chosen_axes(data, axis, exclude), keepdims=keepdims)


@op("min", "min_axis", method=True)
def min_axis(xp, data, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False):
    """Minimum over axes; each of several equal minima gets the whole gradient."""
    return xp.min(data, axis=chosen_axes(data, axis, exclude), keepdims=keepdims)


for _op in (sum_axis, mean_axis, prod_axis, nansum, nanprod, max_axis, min_axis):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4), distinct=True), axis=(0, -1)))
    _op.sample(lambda draw: draw(draw.real((2, 3, 4), distinct=True), axis=1, keepdims=True, exclude=True))


@op("norm", "_sparse_norm", "NDnorm", method=True)
def norm(xp, data, *, ord: int = 2, axis: Axis = None, out_dtype: DType | None = None, keepdims: bool = False):
    """Sum of absolute values (``ord=1``) or root of the sum of squares (``ord=2``) over axes, for matrices too.

    ``out_dtype`` is the dtype of the result, the operand's if None; 16-bit floats are summed in float32. Floats are divided by
    the largest magnitude before they are squared, so that no square overflows or underflows.
    """
    if ord not in (1, 2):
        raise ParameterError("norm: no such order", f"ord={ord}", "use 1 or 2")
    axes = chosen_axes(data, axis, False)
    dtype = out_dtype or xp.dtype_of(data)
    wide = promote(dtype, xp.dtype_of(data))
    x = xp.upcast(xp.cast(data, wide))
    if ord == 1:
        return xp.cast(xp.sum(xp.absolute(x), axis=axes, keepdims=keepdims), dtype)
    if wide not in FLOATS:
        # squares of integers would overflow; in float64, unscaled, perfect squares stay exact. Results wrap to narrow dtypes.
        total = xp.sqrt(xp.sum(xp.square(xp.cast(x, "float64")), axis=axes, keepdims=keepdims))
        return xp.cast(xp.cast(total, "int64"), dtype)
    # an empty array has no maximum to scale by
    if count_of(x.shape, axes) == 0:
        return xp.cast(xp.sqrt(xp.sum(xp.square(x), axis=axes, keepdims=keepdims)), dtype)
    scale = _scale(xp, x, axes)
    total = xp.sqrt(xp.sum(xp.square(x / scale), axis=axes, keepdims=keepdims))
    return xp.cast(total * xp.reshape(scale, shape=total.shape), dtype)


@norm.sparse
def _(xp, dense, data, *, axis, ord, keepdims, **_):
    # only a norm of the whole array needs the stored elements alone; along an axis their positions would matter
    whole = ord == 2 and not keepdims and chosen_axes(data, axis, False) == tuple(range(len(data.shape)))
    return dense(xp.reshape(data.values, shape=(-1,))) if whole and axis is None else None


def _sums_of_csr(xp, data, axis, keepdims, exclude):
    """Sums over one axis of a csr matrix; None over others."""
    if stype_of(data) != "csr" or exclude or axis not in (0, 1, (0,), (1,)):
        return None
    at = axis if isinstance(axis, int) else axis[0]
    sums = xp.csr_sum(data, at)
    return xp.expand_dims(sums, at) if keepdims else sums


sum_axis.sparse(lambda xp, dense, data, *, axis, keepdims, exclude: _sums_of_csr(xp, data, axis, keepdims, exclude))


@mean_axis.sparse
def _(xp, dense, data, *, axis, keepdims, exclude):
    if xp.dtype_of(data.values) not in FLOATS:
        return None
    sums = _sums_of_csr(xp, data, axis, keepdims, exclude)
    return None if sums is None else sums / data.shape[axis if isinstance(axis, int) else axis[0]]


def _scale(xp, x, axes):
    """The largest absolute value over axes, or 1 where one cannot divide by it; constant for the gradient."""
    largest = xp.stop_gradient(xp.max(xp.absolute(x), axis=axes, keepdims=True))
    return xp.where(xp.logical_and(largest > 0, largest < math.inf), largest, 1)


norm.dtypes(lambda dtypes, *, out_dtype, **_: [out_dtype or dtypes[0]])


@norm.grad
def _(xp, dout, data, out, *, ord, axis, keepdims):
    axes = chosen_axes(data, axis, False)
    if ord == 1:
        return spread(xp, dout, data, axes, keepdims) * xp.sign(data)
    # d|x| = x / |x|: the quotient is at most 1, while dividing the whole product could overflow
    return spread(xp, dout, data, axes, keepdims) * (data / spread(xp, out, data, axes, keepdims))


norm.sample(lambda draw: [draw(draw.real((2, 3, 4), 0.25, 2), ord=order, axis=axis) for order in (1, 2) for axis in (None, 1, (0, 2))])


@op("moments", outputs=2)
def moments(xp, data, *, axes: Axis = None, keepdims: bool = False):
    """Mean and biased variance over axes."""
    if axes is None or axes == ():
        raise ParameterError("moments: no axes", f"axes={axes}", "name the axes, all of them for the moments of the whole array")
    wide = xp.upcast(data)
    mean = mean_axis(xp, wide, axis=axes, keepdims=True)
    centered = wide - mean
    # two passes: E[x²] - E[x]² would cancel where the mean is large
    variance = mean_axis(xp, centered * centered, axis=axes, keepdims=True)
    found = [xp.downcast(v, data) for v in (mean, variance)]
    return tuple(found if keepdims else [xp.squeeze(v, axes) for v in found])


moments.sample(lambda draw: draw(draw.real((2, 3, 4)), axes=(0, 2)))


def _place(which: Literal["argmax", "argmin"]):
    """The rule of an arg-reduction."""

    def rule(xp, data, *, axis: int | None = None, keepdims: bool = False):
        place, dtype = getattr(xp, which)(data, axis=axis, keepdims=keepdims), xp.dtype_of(data)
        return xp.cast(place, "float32" if dtype == "bool" else dtype)  # an index is no bool

    rule.__name__ = f"{which}_axis"
    size = "largest" if which == "argmax" else "smallest"
    rule.__doc__ = f"Index of the first {size} element along an axis (flattened if None), in the dtype of ``data``; float32 for bools."
    return rule


argmax_axis = op("argmax", method=True, differentiable=False)(_place("argmax"))
argmin_axis = op("argmin", method=True, differentiable=False)(_place("argmin"))


@op("argmax_channel", method=True, differentiable=False)
def argmax_channel(xp, data):
    """Index of the first maximum along axis 1, in the dtype of ``data``; float32 for bools."""
    return argmax_axis(xp, data, axis=1)


for _op in (argmax_axis, argmin_axis, argmax_channel):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4), distinct=True), gradient=False))
for _op in (argmax_axis, argmin_axis):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4), distinct=True), axis=-1, keepdims=True, gradient=False))
