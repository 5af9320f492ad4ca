"""Functions of ``twofold.np`` that average elements along axes: plain and weighted means, without NaN, variances.

``dtype``, ``out`` and ``where`` are those of `reductions`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import HALVES, dtype_name, has_nan, is_float
from ..errors import DTypeError, ParameterError, ZeroWeights
from ..imperative.trace import is_followed
from ..ndarray.types import ArrayLike, Axis, DTypeLike
from ..opdef import Op, distinct_axes
from ..opdef.frontend import named
from ..ops import numpy_reduction
from .array import Out, ndarray
from .creation import broadcast_view, full_like, operands
from .fallback import by_numpy
from .reductions import any, axis_of, count_nonzero, nansum, ready_operand, reducer, sum
from .ufuncs import deliver, function_of

_mean = reducer(numpy_reduction.numpy_mean)


def mean(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True
) -> ndarray:
    """Arithmetic mean along axes (of all elements if ``axis`` is None); integers are averaged in float64."""
    x = ready_operand(a, out=out)
    if where is not True:
        # the elements are counted by the mask, broadcast to the operand
        counted = count_nonzero(broadcast_view(operands(x, where)[1], x.shape), axis, keepdims=keepdims)
        total = sum(x if dtype is not None else x.astype(_wide(x._dtype), copy=False), axis, dtype, keepdims=keepdims, where=where)
        result = function_of("divide")(total, counted).astype(x.dtype if dtype is None and has_nan(x._dtype) else total.dtype, copy=False)
        return deliver(result, out, "unsafe")
    if not _is_real(x, dtype):  # the operator is for real numbers
        return by_numpy(np.mean, (x,), {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims})
    along = axis_of(x, axis, True)
    return deliver(_mean(x, along, bool(keepdims), dtype=_name_of(dtype)), out, "unsafe")


def _wide(dtype: str) -> str:
    """The dtype in which a mean adds elements of a dtype: a sum of many halves would be infinite."""
    return "float32" if dtype in HALVES else dtype if has_nan(dtype) else "float64"


def _name_of(dtype: DTypeLike) -> str | None:
    return None if dtype is None else dtype_name(dtype)


def _is_real(x: ndarray, dtype: DTypeLike) -> bool:
    return not x._dtype.startswith("complex") and (dtype is None or not dtype_name(dtype).startswith("complex"))


def _spread(op: Op, name: str, doc: str) -> Callable[..., ndarray]:
    reduced = reducer(op)

    @named(name, doc)
    def spread(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: Out = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike = True,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> ndarray:
        x = ready_operand(a)
        ddof = ddof if correction is None else correction
        # NumPy computes with integers what is to be computed in them
        if where is not True or mean is not None or not _is_real(x, dtype) or not (dtype is None or is_float(dtype_name(dtype))):
            options = {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof, "keepdims": keepdims, "where": where}
            return by_numpy(getattr(np, name), (x,), options if mean is None else options | {"mean": mean})
        along = axis_of(x, axis, True)
        return deliver(reduced(x, along, bool(keepdims), ddof=float(ddof), dtype=_name_of(dtype)), out, "unsafe")

    return spread


var = _spread(
    numpy_reduction.numpy_var,
    "var",
    "Variance along axes: the sum of squared deviations, divided by the number of elements minus ``ddof`` (``correction``).",
)
std = _spread(numpy_reduction.numpy_std, "std", "Standard deviation along axes: the square root of `var`.")


def average(a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """Weighted mean along axes.

    Parameters
    ----------
    a
        The elements.
    axis
        The axes; all if None.
    weights
        Of the shape of ``a``, or of its sizes along ``axis``, in that order; equal weights if None.
    returned
        Whether to return the sums of the weights too.
    keepdims
        Keep the axes, with size 1.

    Raises
    ------
    ParameterError
        If the weights have the wrong shape.
    ZeroWeights
        If weights add up to 0. This waits for them.
    """
    x = ready_operand(a)
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        return (result, full_like(result, x.size / (result.size or 1))) if returned else result
    w = operands(x, weights)[1]
    if w.shape != x.shape:
        if axis is None:
            raise DTypeError("Axis must be specified when shapes of a and weights differ.", f"{w.shape} for {x.shape}", "pass axis")
        axes = distinct_axes(axis, x.ndim)
        if w.shape != tuple([x.shape[k] for k in axes]):
            raise ParameterError(
                "average: the weights have the wrong shape", f"{w.shape} for {x.shape}, axis {axis}", "pass one for each element"
            )
        in_order = w.transpose(sorted(range(len(axes)), key=axes.__getitem__))
        w = in_order.reshape([n if k in axes else 1 for k, n in enumerate(x.shape)])
    dtype = np.result_type(x.dtype, w.dtype, *([] if has_nan(x._dtype) else [np.float64]))
    scale = sum(w if w.shape == x.shape else broadcast_view(w, x.shape), axis, dtype, keepdims=keepdims)
    if not is_followed(scale) and any(scale.detach() == 0):
        raise ZeroWeights("Weights sum to zero, can't be normalized", None, "leave out what has no weight")
    result = function_of("divide")(sum(x.astype(dtype, copy=False) * w, axis, keepdims=keepdims), scale)
    return (result, scale) if returned else result


def nanmean(
    a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True
) -> ndarray:
    """Arithmetic mean along axes, ignoring NaN."""
    x = ready_operand(a)
    if not has_nan(x._dtype):
        return mean(x, axis, dtype, out, keepdims, where=where)
    counted = sum(~function_of("isnan")(x), axis, keepdims=keepdims, where=where)
    total = nansum(x, axis, dtype, keepdims=keepdims, where=where)
    # 0 / 0, which is NaN, where every element is NaN; halves cannot hold a large count
    return deliver(function_of("divide")(total, counted).astype(total.dtype, copy=False), out, "same_kind")
