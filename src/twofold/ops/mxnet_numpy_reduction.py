"""MXNet's NumPy operators along axes: sums, extrema, means, tests, places, cumulative sums, norms, percentiles, differences.

Sums and deviations of integers stay integers; means of integers are float32, sums of bools int64.
"""

import math
from typing import Literal

from ..dtype import FLOATS, HALVES
from ..errors import ParameterError
from ..opdef import Axis, Count, Derived, DType, Operand, normalized_axes, normalized_axis, numpy_op
from .mxnet_numpy_arithmetic import MaybeDType
from .numpy_reduction import averaged
from .primitive_reduce import count_of

Interpolation = Literal["linear", "lower", "higher", "midpoint", "nearest"]


def total_dtype(dtype: MaybeDType) -> MaybeDType | str:
    """The dtype of a sum: bools are counted."""
    return "int64" if dtype == "bool" else dtype


def totalled(xp: Derived, a: Operand, dtype: str | None) -> Operand:
    """The operand of a sum or product, in the dtype to compute in."""
    return xp.upcast(xp.cast(a, dtype or total_dtype(xp.dtype_of(a))))


@numpy_op("_np_sum", row="sum(a, axis=None, dtype=None, keepdims=False, initial=None, out=None)")
def np_sum(xp, a, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False, initial: float | None = None):
    """The sum of elements along axes, all if None, plus ``initial``."""
    total = xp.sum(totalled(xp, a, dtype), axis=axis, keepdims=keepdims)
    total = total if initial is None else total + initial
    return xp.cast(total, dtype or total_dtype(xp.dtype_of(a)))


@numpy_op("_np_prod", "_np_product", row="prod, product(a, axis=None, dtype=None, out=None, keepdims=False)")
def np_prod(xp, a, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False, initial: float | None = None):
    """The product of elements along axes, all if None, times ``initial``."""
    total = xp.prod(totalled(xp, a, dtype), axis=axis, keepdims=keepdims)
    total = total if initial is None else total * initial
    return xp.cast(total, dtype or total_dtype(xp.dtype_of(a)))


for _op in (np_sum, np_prod):
    _op.dtypes(lambda dtypes, *, dtype, **_: [dtype or total_dtype(dtypes[0])])


@numpy_op("_np_max", "_np_amax", row="max, amax(a, axis=None, keepdims=False, out=None)")
def np_max(xp, a, *, axis: Axis = None, keepdims: bool = False, initial: float | None = None):
    """The largest element along axes, of all if None; at least ``initial``."""
    found = xp.max(a, axis=axis, keepdims=keepdims)
    return found if initial is None else xp.cast_like(xp.maximum(found, initial), a)


@numpy_op("_np_min", "_np_amin", row="min, amin(a, axis=None, keepdims=False, out=None)")
def np_min(xp, a, *, axis: Axis = None, keepdims: bool = False, initial: float | None = None):
    """The smallest element along axes, of all if None; at most ``initial``."""
    found = xp.min(a, axis=axis, keepdims=keepdims)
    return found if initial is None else xp.cast_like(xp.minimum(found, initial), a)


for _op in (np_sum, np_prod, np_max, np_min):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4), 0.5, 2, distinct=True), axis=(0, 2)))
    _op.sample(lambda draw: draw(draw.real((3, 4), 0.5, 2, distinct=True), keepdims=True, initial=1.5))


@numpy_op("_np_any", "_np_sometrue", differentiable=False, row="any, sometrue(a, axis=None, keepdims=False, out=None)")
def np_any(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Whether any element along axes is not 0."""
    return xp.any(xp.cast(data, "bool"), axis=axis, keepdims=keepdims)


@numpy_op("_np_all", differentiable=False, row="all(a, axis=None, keepdims=False, out=None)")
def np_all(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """Whether all elements along axes are not 0."""
    return xp.all(xp.cast(data, "bool"), axis=axis, keepdims=keepdims)


@numpy_op("_npi_argmax", differentiable=False, row="argmax(a, axis=None, out=None, keepdims=False)", writes="axis keepdims")
def npi_argmax(xp, data, *, axis: int | None = None, keepdims: bool = False):
    """The index of the first largest element along an axis, in the flattened array if None."""
    return xp.argmax(data, axis=axis, keepdims=keepdims)


@numpy_op("_npi_argmin", differentiable=False, row="argmin(a, axis=None, out=None, keepdims=False)", writes="axis keepdims")
def npi_argmin(xp, data, *, axis: int | None = None, keepdims: bool = False):
    """The index of the first smallest element along an axis, in the flattened array if None."""
    return xp.argmin(data, axis=axis, keepdims=keepdims)


for _op, _dtype in ((np_any, "bool"), (np_all, "bool"), (npi_argmax, "int64"), (npi_argmin, "int64")):
    _op.dtypes(lambda dtypes, *, _given=_dtype, **_: [_given])
    _op.sample(lambda draw: [draw(draw.real((2, 3), distinct=True), axis=1, gradient=False), draw(draw.real((2, 3), distinct=True))])


def _checked(np, found, *, msg):
    if not found:
        raise ParameterError(msg)
    return found


@numpy_op("_npx_constraint_check", differentiable=False)
def npx_constraint_check(xp, input, *, msg: str = "Constraint violated."):
    """True if no element is 0; else computing it raises an error with the message."""
    found = xp.all(xp.cast(input, "bool"), axis=None, keepdims=False)
    return xp.host(_checked, found, like=found, msg=msg)


npx_constraint_check.dtypes(lambda dtypes, **_: ["bool"])
npx_constraint_check.sample(lambda draw: draw(draw.integer((2, 3), 1, 2, "bool"), gradient=False))


# means


def mean_dtype(dtype: str | None) -> str | None:
    """The dtype of a mean: float32 for integers."""
    return dtype if dtype is None or dtype in FLOATS or dtype.startswith("complex") else "float32"


@numpy_op("_npi_mean", row="mean(a, axis=None, dtype=None, out=None, keepdims=False)", writes="axis keepdims")
def npi_mean(xp, a, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False, initial: float | None = None):
    """The arithmetic mean along axes, of all elements if None. A mean has no initial value: ``initial`` must be None."""
    if initial is not None:
        raise ParameterError("_npi_mean: initial is not supported", f"initial={initial}", "leave initial out")
    result = dtype or mean_dtype(xp.dtype_of(a))
    x = a if xp.dtype_of(a) in FLOATS else xp.astype(a, dtype="float64")
    return xp.cast(averaged(xp, xp.upcast(xp.cast(x, result) if result in FLOATS else x), axis, keepdims), result)


npi_mean.dtypes(lambda dtypes, *, dtype, **_: [dtype or mean_dtype(dtypes[0])])


def deviation(xp: Derived, a: Operand, axis: Axis, dtype: str | None, ddof: int, keepdims: bool) -> Operand:
    """The variance, in the dtype that it is computed in: integers are averaged as integers, as in MXNet."""
    x = xp.cast(a, dtype or xp.dtype_of(a))
    x = xp.upcast(x if xp.dtype_of(x) != "bool" else xp.astype(x, dtype="float32"))
    centered = x - averaged(xp, x, axis, True)
    return averaged(xp, centered * centered, axis, keepdims, float(ddof))


@numpy_op(
    "_npi_var",
    output_names=("var",),
    row="var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False)",
    writes="axis ddof keepdims",
    workspaces=1,
)
def npi_var(xp, a, *, axis: Axis = None, dtype: DType | None = None, ddof: int = 0, keepdims: bool = False):
    """The variance along axes: the sum of squared deviations, divided by the number of elements minus ``ddof``."""
    return xp.cast(deviation(xp, a, axis, dtype, ddof, keepdims), deviation_dtype(xp.dtype_of(a), dtype))


@numpy_op(
    "_npi_std",
    output_names=("std",),
    row="std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False)",
    writes="axis ddof keepdims",
    workspaces=1,
)
def npi_std(xp, a, *, axis: Axis = None, dtype: DType | None = None, ddof: int = 0, keepdims: bool = False):
    """The standard deviation along axes: the square root of the variance."""
    variance = deviation(xp, a, axis, dtype, ddof, keepdims)
    # the root of the integer variance; the result is truncated too
    wide = variance if xp.dtype_of(variance) in FLOATS else xp.astype(variance, dtype="float64")
    return xp.cast(xp.sqrt(wide), deviation_dtype(xp.dtype_of(a), dtype))


def deviation_dtype(given: str | None, dtype: str | None) -> str | None:
    """The dtype of a variance."""
    return dtype or ("float32" if given == "bool" else given)


for _op in (npi_var, npi_std):
    _op.dtypes(lambda dtypes, *, dtype, **_: [deviation_dtype(dtypes[0], dtype)])
for _op in (npi_mean, npi_var, npi_std):
    _op.sample(lambda draw: draw(draw.real((2, 3, 4)), axis=(0, 2)))
    _op.sample(lambda draw: draw(draw.real((3, 4)), keepdims=True, dtype="float64"))


def average_outputs(*, returned: bool, **_: object) -> int:
    """The number of results of an average."""
    return 2 if returned else 1


@numpy_op("_npi_average", outputs=average_outputs, output_names=("output0", "output1"), workspaces=("returned", "False", "False"))
def npi_average(xp, a, weights=None, *, axis: Axis = None, returned: bool = False, weighted: bool = True):
    """The weighted mean along axes; with ``returned`` the sums of the weights too. Without weights it is the mean, of integers too.

    MXNet writes ``weighted`` to files. It has no effect here, since the inputs show whether there are weights.
    """
    dtype = xp.dtype_of(a)
    if weights is None:
        mean = xp.cast(averaged(xp, xp.upcast(a), axis, False), dtype)
        count = xp.full(shape=mean.shape, value=count_of(a.shape, axis), dtype=dtype)
        return (mean, count) if returned else mean
    if weights.shape != a.shape:
        # weights (n,) of one axis
        (at,) = normalized_axes(axis, len(a.shape))
        weights = xp.reshape(weights, shape=tuple(n if k == at else 1 for k, n in enumerate(a.shape)))
    # weights of one axis are the same for all others, so their sum is one number
    total = xp.sum(weights, axis=axis if weights.shape == a.shape else None, keepdims=False)
    mean = xp.cast(xp.divide(xp.sum(a * weights, axis=axis, keepdims=False), total), dtype)
    return (mean, total) if returned else mean


npi_average.sample(lambda draw: [draw(draw.real((2, 3)), axis=1), draw(draw.real((2, 3)), draw.real((3,), 0.5, 2), axis=1)])
npi_average.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 3), 0.5, 2), returned=True))


# norms


def vector_norm(xp: Derived, x: Operand, order: float, axis: Axis, keepdims: bool) -> Operand:
    """The norm of vectors: the number of elements that are not 0 (order 0), the extreme magnitude (±inf), or sum(abs(x)**p)**(1/p)."""
    size = xp.absolute(x)
    if math.isinf(order):
        return (xp.max if order > 0 else xp.min)(size, axis=axis, keepdims=keepdims)
    if order == 0:
        return xp.sum(xp.cast_like(xp.not_equal(x, 0), x), axis=axis, keepdims=keepdims)
    if order == 1:
        return xp.sum(size, axis=axis, keepdims=keepdims)
    if order == 2:
        return xp.sqrt(xp.sum(x * x, axis=axis, keepdims=keepdims))
    return xp.power(xp.sum(xp.power(size, order), axis=axis, keepdims=keepdims), 1 / order)


def matrix_norm(xp: Derived, x: Operand, order: float, is_nuclear: bool, axes: tuple[int, int], keepdims: bool) -> Operand:
    """The norm of matrices: the extreme sum of magnitudes of columns (±1) or rows (±inf), of singular values (±2), or their sum."""
    rows, columns = axes
    if not is_nuclear and (order in (1, -1) or math.isinf(order)):
        along, rest = (rows, columns) if order in (1, -1) else (columns, rows)
        totals = xp.sum(xp.absolute(x), axis=along, keepdims=True)
        found = (xp.max if order > 0 else xp.min)(totals, axis=rest, keepdims=True)
    elif is_nuclear or order in (2, -2):
        others = [k for k in range(len(x.shape)) if k not in axes]
        values = xp.svd(xp.permute_dims(x, axes=(*others, rows, columns)))[1]
        found = (
            xp.sum(values, axis=-1, keepdims=False) if is_nuclear else (xp.max if order > 0 else xp.min)(values, axis=-1, keepdims=False)
        )
        # `svd` took the matrices' axes to the end; here they return as axes of size 1
        found = xp.reshape(found, shape=tuple(1 if k in axes else n for k, n in enumerate(x.shape)))
    else:
        raise ParameterError("norm: invalid order for matrices", order, "use 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'")
    return found if keepdims else xp.squeeze(found, axes)


#: MXNet's attribute ``flag`` of each norm: of a vector (or by the order), of singular values, Frobenius's, nuclear, of all elements.
BY_ORDER, SPECTRAL, FROBENIUS, NUCLEAR, FLAT = -1, 0, 1, 2, -2


@numpy_op("_npi_norm")
def npi_norm(xp, data, *, ord: float = 2.0, axis: Axis = None, flag: int = FLAT, keepdims: bool = False):
    """The norm of vectors or matrices along axes; of integers in their dtype."""
    dtype = xp.dtype_of(data)
    x = xp.upcast(data if dtype in FLOATS else xp.astype(data, dtype="float64"))
    axes = normalized_axes(axis, len(x.shape))
    # Frobenius's norm of a matrix is the norm of the vector of its elements
    if flag in (FLAT, FROBENIUS) or len(axes) == 1:
        found = vector_norm(xp, x, ord if flag in (BY_ORDER, SPECTRAL) else 2.0, tuple(axes), keepdims)
    elif len(axes) == 2:
        found = matrix_norm(xp, x, ord, flag == NUCLEAR, (axes[0], axes[1]), keepdims)
    else:
        raise ParameterError("norm: the order needs one or two axes", f"ord={ord} for shape {data.shape}", "name the axes")
    return xp.cast(found, dtype)


npi_norm.sample(lambda draw: [draw(draw.real((2, 3), 0.5, 2), axis=1, flag=-1, ord=3.0), draw(draw.real((2, 3), 0.5, 2), keepdims=True)])
npi_norm.sample(lambda draw: draw(draw.real((2, 3), 0.5, 2, distinct=True), axis=(0, 1), flag=-1, ord=1.0))


# percentiles


def weights_of(xp: Derived, q: Operand, size: int, interpolation: Interpolation) -> tuple[Operand, Operand, Operand]:
    """For percentages: the sorted places below and above, and the weight of the upper one."""
    # 0 is the first of the sorted elements, 100 the last
    place = q * ((size - 1) / 100.0)
    low = xp.floor(place)
    if interpolation == "lower":
        weight = xp.zeros_like(place)
    elif interpolation == "higher":
        weight = xp.cast_like(xp.greater(place, low), place)
    elif interpolation == "nearest":
        weight = xp.round_even(place) - low
    elif interpolation == "midpoint":
        weight = 0.5 * xp.cast_like(xp.greater(place, low), place)
    else:
        weight = place - low
    below = xp.astype(low, dtype="int64")
    return below, xp.clip(below + 1, 0, size - 1), weight


def percentile_dtype(dtype: str | None) -> str | None:
    """The dtype of percentiles: those of 16-bit floats are float32, as those of integers are."""
    return "float32" if dtype in HALVES else mean_dtype(dtype)


@numpy_op("_npi_percentile")
def npi_percentile(
    xp,
    a,
    q=None,
    *,
    axis: Axis = None,
    interpolation: Interpolation = "linear",
    keepdims: bool = False,
    q_scalar: float | None = None,
):
    """The percentiles ``q`` (an array, or a scalar ``q_scalar``) along axes, of all elements if None; in float32, of float64 in float64.

    ``interpolation`` decides the result between two elements. The axes of ``q`` come first.
    """
    dtype = percentile_dtype(xp.dtype_of(a))
    axes = normalized_axes(axis, len(a.shape))
    rest = [k for k in range(len(a.shape)) if k not in axes]
    size = math.prod([a.shape[k] for k in axes])
    if size == 0:
        raise ParameterError("percentile: there are no elements", str(a.shape), "pass at least one element")
    # all reduced axes become one, along which the elements are sorted
    x = xp.reshape(xp.permute_dims(a, axes=(*axes, *rest)), shape=(size, *[a.shape[k] for k in rest]))
    x = xp.cast(xp.sort(x, axis=0, descending=False), dtype)
    wanted = xp.full(shape=(), value=q_scalar, dtype="float64") if q is None else xp.astype(q, dtype="float64")
    below, above, weight = weights_of(xp, wanted, size, interpolation)
    weight = xp.reshape(xp.cast(weight, dtype), shape=(*wanted.shape, *[1] * len(rest)))
    low, high = xp.take(x, below, axis=0), xp.take(x, above, axis=0)
    found = low + (high - low) * weight
    kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape)) if keepdims else tuple(a.shape[k] for k in rest)
    return xp.reshape(found, shape=(*wanted.shape, *kept))


npi_percentile.dtypes(lambda dtypes, **_: [percentile_dtype(dtypes[0])])
npi_percentile.sample(lambda draw: draw(draw.real((4, 3), distinct=True), q_scalar=30.0, axis=0))
npi_percentile.sample(lambda draw: draw(draw.real((4, 3), distinct=True), draw.real((2,), 10, 90), gradient=False))


# differences


@numpy_op("_npi_diff")
def npi_diff(xp, a, *, n: Count = 1, axis: int = -1):
    """The ``n``-th differences of neighbors along an axis."""
    if n < 0:
        raise ParameterError("diff: the order is negative", f"n={n}", "pass 0 or more")
    at = normalized_axis(axis, len(a.shape), "diff: axis")
    for _ in range(n):
        # the second slice of an empty axis must not end at -1
        a = xp.take_slice(a, 1, None, at) - xp.take_slice(a, 0, max(a.shape[at] - 1, 0), at)
    return a


npi_diff.sample(lambda draw: [draw(draw.real((2, 4)), n=2), draw(draw.real((3, 2)), axis=0)])


def ediff_inputs(given: Operand | None, scalar: float | None, like: Operand, xp: Derived) -> list[Operand]:
    """The vectors to join before or after the differences: from a scalar or an array, or none."""
    if scalar is not None:
        return [xp.full(shape=(1,), value=scalar, dtype=xp.dtype_of(like))]
    return [] if given is None else [xp.reshape(xp.cast_like(given, like), shape=(math.prod(given.shape),))]


@numpy_op("_npi_ediff1d")
def npi_ediff1d(
    xp,
    input1,
    input2=None,
    input3=None,
    *,
    to_begin_arr_given: bool = False,
    to_end_arr_given: bool = False,
    to_begin_scalar: float | None = None,
    to_end_scalar: float | None = None,
):
    """The differences of neighbors in the flattened array, with given scalars or arrays before and after them."""
    flat = xp.reshape(input1, shape=(math.prod(input1.shape),))
    begin = input2 if to_begin_arr_given else None
    end = (input3 if to_begin_arr_given else input2) if to_end_arr_given else None
    parts = [*ediff_inputs(begin, to_begin_scalar, flat, xp), npi_diff(xp, flat), *ediff_inputs(end, to_end_scalar, flat, xp)]
    return xp.concat(*parts, axis=0) if len(parts) > 1 else parts[0]


npi_ediff1d.sample(
    lambda draw: [draw(draw.real((2, 3))), draw(draw.real((5,)), draw.real((2,)), to_begin_arr_given=True, to_end_scalar=2.0)]
)
