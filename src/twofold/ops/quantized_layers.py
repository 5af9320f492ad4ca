"""Layers on 8-bit integers other than products: sums, pooling, activation, normalization, embedding, joining.

Every operator takes and returns the range (1,) that its integers represent; see `quantization`.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

from ..errors import ParameterError
from ..opdef import Count, Index, Op, Quantizes, Rule, find, op
from . import arithmetic_variants  # noqa: F401  (declares elemwise_add and elemwise_mul)
from .activation import activation
from .batch_norm import along_axis, batch_norm
from .gathering import embedding
from .joining import concat_arrays
from .pooling import pooling
from .quantization import HALF_LEVELS, LEVELS, Limit, assuming, kind_of, largest, per_unit, ranges, to_integers, vector
from .quantized_products import NAMES, bytes_for, limits_for
from .reshaping import flatten


def _as_float(xp, x):
    return xp.astype(x, dtype="float32")


def _real(xp, name, data, low, high):
    """The numbers that 8-bit integers represent, with half a level more than the integers have."""
    return _as_float(xp, data) * (largest(xp, low, high) / HALF_LEVELS[kind_of(xp, name, data)])


def _to_8_bits(name: str, **facts: Any) -> Callable[[Rule], Op]:
    """Declare a layer with three results: integers and the ends of the range that they represent."""
    return op(name, outputs=3, output_names=NAMES, differentiable=False, **facts)


@_to_8_bits("_contrib_quantized_pooling", like=pooling, quantizes=Quantizes(pooling, only=("pool_type", ("max", "avg"))))
def quantized_pooling(xp, data: Index, min_data: Limit, max_data: Limit, **params):
    """`Pooling` of int8 or uint8 data, "max" or "avg", with averages rounded to even. The range stays the same."""
    if params["pool_type"] not in ("max", "avg"):
        raise ParameterError("quantized_pooling: the type has no quantized form", params["pool_type"], "use max or avg")
    kind = kind_of(xp, "quantized_pooling", data)
    # 8-bit integers and their sums over a window are exact in float32
    out = pooling(xp, _as_float(xp, data), **params)
    return to_integers(xp, out, kind), vector(xp, min_data), vector(xp, max_data)


@_to_8_bits("_contrib_quantized_act", quantizes=Quantizes(activation, only=("act_type", ("relu",))))
def quantized_act(
    xp, data: Index, min_data: Limit, max_data: Limit, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]
):
    """max(data, 0) of int8 or uint8 data; only "relu" has a quantized form. The range stays the same."""
    if act_type != "relu":
        raise ParameterError("quantized_act: the activation has no quantized form", act_type, "use relu, or dequantize the data first")
    kind_of(xp, "quantized_act", data)
    return xp.maximum(data, xp.zeros_like(data)), vector(xp, min_data), vector(xp, max_data)


@_to_8_bits("_contrib_quantized_flatten", quantizes=Quantizes(flatten))
def quantized_flatten(xp, data: Index, min_data: Limit, max_data: Limit):
    """`Flatten` of quantized data; the range stays the same."""
    return flatten(xp, data), vector(xp, min_data), vector(xp, max_data)


def _extreme(xp, values, function):
    found = vector(xp, values[0])
    for value in values[1:]:
        found = function(found, vector(xp, value))
    return found


@_to_8_bits("_contrib_quantized_concat", quantizes=Quantizes(concat_arrays))
def quantized_concat(xp, *data, num_args: Count, dim: int = 1):
    """Quantized arrays joined along an axis: ``num_args`` arrays, then the minimum and the maximum of each, (1,).

    The result has the range of them all; it is uint8 if all arrays are, else int8.
    """
    if len(data) != 3 * num_args or num_args < 1:
        raise ParameterError("quantized_concat: the number of arrays is wrong", f"{len(data)} for {num_args}", "pass each with its range")
    arrays, lows, highs = data[:num_args], data[num_args::2], data[num_args + 1 :: 2]
    kinds = [kind_of(xp, "quantized_concat", x) for x in arrays]
    dtype = "uint8" if set(kinds) == {"uint8"} else "int8"
    low, high = _extreme(xp, lows, xp.minimum), _extreme(xp, highs, xp.maximum)
    # the number that 1 means in the result; each array is converted to this unit
    unit = largest(xp, low, high) / HALF_LEVELS[dtype]
    real = [
        _as_float(xp, x) * (largest(xp, *own) / (HALF_LEVELS[kind] * unit))
        for x, kind, *own in zip(arrays, kinds, lows, highs, strict=True)
    ]
    return xp.concat(*[to_integers(xp, x, dtype) for x in real], axis=dim % len(arrays[0].shape)), low, high


@_to_8_bits("_contrib_quantized_elemwise_add", quantizes=Quantizes(find("elemwise_add"), wide=True))
def quantized_elemwise_add(
    xp,
    lhs: Index,
    rhs: Index,
    lhs_min: Limit,
    lhs_max: Limit,
    rhs_min: Limit,
    rhs_max: Limit,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """Sum of quantized arrays of equal shape: 8-bit integers of the calibrated range, else int32 numbers of the sum of the ranges.

    A calibrated sum of two uint8 arrays is uint8, other sums are int8.
    """
    a, b = _real(xp, "quantized_elemwise_add", lhs, lhs_min, lhs_max), _real(xp, "quantized_elemwise_add", rhs, rhs_min, rhs_max)
    if min_calib_range is None or max_calib_range is None:
        bound = largest(xp, lhs_min, lhs_max) + largest(xp, rhs_min, rhs_max)
        # int32 numbers have 31 bits, more than float32 holds
        total = (xp.astype(a, dtype="float64") + b) * (LEVELS["int32"] / xp.astype(bound, dtype="float64"))
        return xp.astype(xp.round_even(total), dtype="int32"), vector(xp, -bound), vector(xp, bound)
    dtype = "uint8" if xp.dtype_of(lhs) == xp.dtype_of(rhs) == "uint8" else "int8"
    bound = max(abs(min_calib_range), abs(max_calib_range))
    return to_integers(xp, (a + b) * per_unit(HALF_LEVELS[dtype], bound), dtype), vector(xp, min_calib_range), vector(xp, max_calib_range)


@op(
    "_contrib_quantized_elemwise_mul",
    like=quantized_elemwise_add,
    quantizes=Quantizes(find("elemwise_mul"), wide=True),
    outputs=lambda enable_float_output, **_: 1 if enable_float_output else 3,
    output_names=NAMES,
    differentiable=False,
)
def quantized_elemwise_mul(xp, *arrays, min_calib_range, max_calib_range, enable_float_output: bool = False):
    """Product of quantized arrays of equal shape: int32 products and their range.

    With a calibrated range int8 numbers of that, truncated; with ``enable_float_output`` one result, the float32 products.
    """
    lhs, rhs, lhs_min, lhs_max, rhs_min, rhs_max = arrays
    kinds = [kind_of(xp, "quantized_elemwise_mul", x) for x in (lhs, rhs)]
    product = xp.astype(lhs, dtype="int32") * xp.astype(rhs, dtype="int32")
    bounds = largest(xp, lhs_min, lhs_max) * largest(xp, rhs_min, rhs_max)
    calibrated = min_calib_range is not None and max_calib_range is not None
    if not enable_float_output and not calibrated:
        # the number that the largest int32 means, in units of the products
        whole = bounds * (LEVELS["int32"] / math.prod(LEVELS[kind] for kind in kinds))
        return product, vector(xp, -whole), vector(xp, whole)
    real = _as_float(xp, product) * (bounds / math.prod(HALF_LEVELS[kind] for kind in kinds))
    if enable_float_output or min_calib_range is None or max_calib_range is None:
        return real
    bound = max(abs(min_calib_range), abs(max_calib_range))
    out = to_integers(xp, xp.trunc(real * per_unit(HALF_LEVELS["int8"], bound)), "int8")
    return out, vector(xp, min_calib_range), vector(xp, max_calib_range)


@_to_8_bits(
    "_contrib_quantized_batch_norm",
    like=batch_norm,
    without=("is_train",),
    aux=("moving_mean", "moving_var"),
    quantizes=Quantizes(batch_norm, places=(0,), calibrated=True, unit=("fix_gamma", 1)),
)
def quantized_batch_norm(
    xp,
    data: Index,
    gamma: Index,
    beta: Index,
    moving_mean: Index,
    moving_var: Index,
    min_data: Limit,
    max_data: Limit,
    *,
    eps,
    axis,
    min_calib_range,
    max_calib_range,
    **_,
):
    """`BatchNorm` of int8 or uint8 data with its moving statistics, as int8 numbers of the calibrated range.

    As in MXNet gamma is used with ``fix_gamma`` too, which quantized models have folded into it. The other parameters have no effect.
    """
    if min_calib_range is None or max_calib_range is None:
        raise ParameterError("quantized_batch_norm: the range of the results is missing", None, "pass min_calib_range and max_calib_range")
    shape = [1] * len(data.shape)
    shape[axis] = data.shape[axis]
    # constant statistics make the layer one multiplication and one addition per channel
    rate = gamma / xp.sqrt(moving_var + eps)
    offset = beta - moving_mean * rate
    rate, offset = (xp.reshape(xp.cast(x, "float32"), shape=tuple(shape)) for x in (rate, offset))
    real = _real(xp, "quantized_batch_norm", data, min_data, max_data) * rate + offset
    bound = max(abs(min_calib_range), abs(max_calib_range))
    return to_integers(xp, real * per_unit(HALF_LEVELS["int8"], bound), "int8"), vector(xp, min_calib_range), vector(xp, max_calib_range)


@_to_8_bits("_contrib_quantized_embedding", like=embedding, quantizes=Quantizes(embedding, places=(1,)))
def quantized_embedding(xp, data: Index, weight: Index, min_weight: Limit, max_weight: Limit, *, input_dim, output_dim, **_):
    """Rows of an int8 weight (input_dim, output_dim), with its range; see `Embedding`. ``dtype`` and ``sparse_grad`` have no effect."""
    kind_of(xp, "quantized_embedding", weight, ("int8",))
    out = embedding(xp, data, weight, input_dim=input_dim, output_dim=output_dim, dtype="float32", sparse_grad=False)
    return out, vector(xp, min_weight), vector(xp, max_weight)


# inference: the shapes of the inputs before the ends of ranges, and the results, which are 8-bit integers or sums with a range


def _shaped(first, result=None):
    """A rule of inference: operands from position ``first`` are (1,), results after the first too; ``result`` gives the first's shape."""

    def rule(shapes, results, **params):
        found = result(shapes, **params) if result is not None and shapes[0] is not None else results[0]
        return ranges(shapes, first), [found, *[(1,)] * (len(results) - 1)]

    return rule


quantized_act.infer(_shaped(1, lambda shapes, **_: shapes[0]))
quantized_flatten.infer(_shaped(1))
quantized_pooling.infer(_shaped(1))
quantized_elemwise_add.infer(_shaped(2, lambda shapes, **_: shapes[0]))
quantized_elemwise_mul.infer(_shaped(2, lambda shapes, **_: shapes[0]))
quantized_embedding.infer(
    lambda shapes, results, *, input_dim, output_dim, **_: (
        [shapes[0], (input_dim, output_dim), (1,), (1,)],
        [None if shapes[0] is None else (*shapes[0], output_dim), (1,), (1,)],
    )
)


quantized_batch_norm.infer(lambda shapes, results, *, axis, **_: ([*along_axis(shapes[:5], axis), (1,), (1,)], [shapes[0], (1,), (1,)]))


def _float_ranges(dtypes, **_):
    return [dtypes[0], "float32", "float32"]


quantized_concat.assumes(lambda names, *, num_args, **_: ["int8" if k < num_args else "float32" for k in range(len(names))])
quantized_batch_norm.assumes(assuming(data="int8"))
quantized_embedding.assumes(assuming(weight="int8"))
for _op in (quantized_elemwise_add, quantized_elemwise_mul):
    _op.assumes(assuming(lhs="int8", rhs="int8"))
for _op in (quantized_pooling, quantized_act, quantized_flatten):
    _op.assumes(assuming(data="int8"))
    _op.dtypes(_float_ranges)
quantized_embedding.dtypes(lambda dtypes, **_: [dtypes[1] or "int8", "float32", "float32"])
quantized_batch_norm.dtypes(lambda dtypes, **_: ["int8", "float32", "float32"])


@quantized_concat.dtypes
def _(dtypes, *, num_args, **_):
    kinds = set(dtypes[:num_args])
    return [None if None in kinds else "uint8" if kinds == {"uint8"} else "int8", "float32", "float32"]


@quantized_elemwise_add.dtypes
def _(dtypes, *, min_calib_range, max_calib_range):
    if min_calib_range is None or max_calib_range is None:
        return ["int32", "float32", "float32"]
    return [None if None in dtypes[:2] else "uint8" if dtypes[0] == dtypes[1] == "uint8" else "int8", "float32", "float32"]


@quantized_elemwise_mul.dtypes
def _(dtypes, *, min_calib_range, max_calib_range, enable_float_output):
    if enable_float_output:
        return ["float32"]
    return ["int32" if min_calib_range is None or max_calib_range is None else "int8", "float32", "float32"]


CALIBRATED = {"min_calib_range": -2.0, "max_calib_range": 2.5}


@quantized_pooling.sample
def _(draw):
    data, window = bytes_for(draw, (2, 3, 4, 4)), {"kernel": (2, 2), "stride": (2, 2)}
    return [draw(data, *limits_for(draw), pool_type=kind, gradient=False, **window) for kind in ("max", "avg")]


quantized_act.sample(lambda draw: draw(bytes_for(draw, (2, 3)), *limits_for(draw), act_type="relu", gradient=False))
quantized_flatten.sample(lambda draw: draw(bytes_for(draw, (2, 3, 2)), *limits_for(draw), gradient=False))


@quantized_concat.sample
def _(draw):
    pairs = [[bytes_for(draw, (2, n), kind) for n, kind in ((2, first), (3, "uint8"))] for first in ("int8", "uint8")]
    return [draw(*arrays, *limits_for(draw, 2), num_args=2, gradient=False) for arrays in pairs]


@quantized_elemwise_add.sample
def _(draw):
    arrays = bytes_for(draw, (2, 3)), bytes_for(draw, (2, 3))
    return [draw(*arrays, *limits_for(draw, 2), gradient=False, **more) for more in ({}, CALIBRATED)]


@quantized_elemwise_mul.sample
def _(draw):
    arrays = bytes_for(draw, (2, 3)), bytes_for(draw, (2, 3))
    ways = {}, CALIBRATED, {"enable_float_output": True}
    return [draw(*arrays, *limits_for(draw, 2), gradient=False, **more) for more in ways]


@quantized_batch_norm.sample
def _(draw):
    channels = [draw.integer((3,), 1, 4)] * 4
    return draw(bytes_for(draw, (2, 3, 4)), *channels, *limits_for(draw), gradient=False, **CALIBRATED)


@quantized_embedding.sample
def _(draw):
    return draw(draw.integer((2, 2), 0, 4), bytes_for(draw, (4, 3)), *limits_for(draw), input_dim=4, output_dim=3, gradient=False)
