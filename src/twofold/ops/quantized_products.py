"""Fully connected layers and convolutions of 8-bit integers, with exact int32 sums."""

import math
from functools import partial

from ..errors import ParameterError
from ..opdef import Index, Quantizes, op
from .convolution import check_operands, convolution, convolution_shapes
from .fully_connected import fully_connected, fully_connected_shapes
from .quantization import HALF_LEVELS, LEVELS, LIMITS, Bias, Limit, assuming, kind_of, largest, vector
from .windows import channels_first, from_channels_first, per_axis


def _without_bias(name, arrays, no_bias):
    """The operands in order, with None for those of an omitted bias; like MXNet's, they may be given without gaps."""
    present = [x for x in arrays if x is not None]
    if len(present) != (6 if no_bias else 9):
        given = f"{len(present)} arrays with no_bias={no_bias}"
        raise ParameterError(f"{name}: the number of arrays is wrong", given, "pass data, weight, bias, and the range of each")
    if not no_bias:
        return present
    data, weight, *limits = present
    return [data, weight, None, *limits, None, None]


#: The largest magnitude of a bias among int32 sums, and the smallest range of a bias that is not taken for zeros.
LARGEST_BIAS, TINY = 2.0**30, 1e-20


def _sums_with_bias(xp, kind, sums, bias, data_bound, weight_bound, bias_bound):
    """int32 sums of products and an int8 bias, which is truncated to their unit; and the range of these int32 numbers, 0-d.

    A bias that is large for ranges of tiny numbers, or of zeros only, would not fit. Then the unit of the results is a larger one.
    """
    # a sum of products counts in units of the data times units of the weight; the bias must be added in the same unit
    products = (LEVELS["int8"] / weight_bound) * (HALF_LEVELS[kind] / data_bound)
    per_one = xp.minimum(products, LARGEST_BIAS / xp.maximum(bias_bound, TINY))
    own = xp.trunc(xp.astype(bias, dtype="float32") * (per_one * (bias_bound / LEVELS["int8"])))
    # 1 unless the unit is a larger one; float64 holds every int32 number
    share = xp.where(per_one < products, per_one / products, xp.ones_like(products))
    scaled = xp.astype(xp.trunc(xp.astype(sums, dtype="float64") * xp.astype(share, dtype="float64")), dtype="int32")
    coarse = LEVELS["int32"] * (HALF_LEVELS[kind] / LEVELS[kind]) / per_one
    return scaled + xp.astype(own, dtype="int32"), xp.where(per_one < products, coarse, _whole(kind, data_bound, weight_bound))


def _operands(xp, name, arrays, no_bias):
    """The data's dtype; data, weight and bias, which may be None; and the largest magnitude that each represents."""
    data, weight, bias, *limits = _without_bias(name, arrays, no_bias)
    kind = kind_of(xp, name, data)
    kind_of(xp, f"{name}: weight", weight, ("int8",))
    bounds = [largest(xp, low, high) if low is not None else None for low, high in zip(limits[::2], limits[1::2], strict=True)]
    return kind, data, weight, bias, *bounds


def _whole(kind, data_bound, weight_bound):
    """The number that the largest int32 number of products represents: their unit times the number of levels."""
    return (data_bound / LEVELS[kind]) * (weight_bound / LEVELS["int8"]) * LEVELS["int32"]


NAMES = ("output", "min_output", "max_output")
#: Declares a layer of products with three results: sums and the ends of the range that they represent.
summed = partial(op, outputs=3, output_names=NAMES, differentiable=False)


@summed("_contrib_quantized_fully_connected", like=fully_connected, quantizes=Quantizes(fully_connected, wide=True, leads=True))
def quantized_fully_connected(
    xp,
    data: Index,
    weight: Index,
    bias: Bias = None,
    min_data: Limit = None,
    max_data: Limit = None,
    min_weight: Limit = None,
    max_weight: Limit = None,
    min_bias: Bias = None,
    max_bias: Bias = None,
    *,
    num_hidden,
    no_bias,
    flatten,
):
    """`FullyConnected` of int8 or uint8 data (n, d…) with an int8 weight (num_hidden, d) and bias (num_hidden,), as int32.

    Each operand comes with the range (1,) that its numbers represent; the results are (sums, minimum, maximum).
    """
    arrays = (data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias)
    kind, data, weight, bias, data_bound, weight_bound, bias_bound = _operands(xp, "quantized_fully_connected", arrays, no_bias)
    lead = data.shape[:1] if flatten else data.shape[:-1]
    rows = xp.reshape(data, shape=(math.prod(lead), math.prod(data.shape[len(lead) :])))
    # integers are added exactly in any order, so the result does not depend on the adapter or on the number of threads
    out = xp.integer_matmul(rows, weight)
    whole = _whole(kind, data_bound, weight_bound)
    if bias is not None:
        out, whole = _sums_with_bias(xp, kind, out, bias, data_bound, weight_bound, bias_bound)
    return xp.reshape(out, shape=(*lead, num_hidden)), vector(xp, -whole), vector(xp, whole)


@summed("_contrib_quantized_conv", like=convolution, quantizes=Quantizes(convolution, wide=True, leads=True))
def quantized_conv(
    xp,
    data: Index,
    weight: Index,
    bias: Bias = None,
    min_data: Limit = None,
    max_data: Limit = None,
    min_weight: Limit = None,
    max_weight: Limit = None,
    min_bias: Bias = None,
    max_bias: Bias = None,
    *,
    num_filter,
    num_group,
    no_bias,
    layout,
    **windows,
):
    """`Convolution` of int8 or uint8 data with an int8 weight and bias, as int32: (sums, minimum, maximum).

    Each operand comes with the range (1,) that its numbers represent. ``workspace``, ``cudnn_tune`` and ``cudnn_off`` have no effect.
    """
    arrays = (data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias)
    kind, data, weight, bias, data_bound, weight_bound, bias_bound = _operands(xp, "quantized_conv", arrays, no_bias)
    x, w = channels_first(xp, data, layout), channels_first(xp, weight, layout)
    given = {name: windows[name] for name in ("kernel", "stride", "dilate", "pad")}
    kernel, stride, dilate, pad = per_axis("quantized_conv", len(x.shape), **given)
    check_operands("quantized_conv", x, w, bias, kernel, num_filter, num_group, no_bias)
    out = xp.integer_convolve(x, w, stride=stride, dilate=dilate, pad=pad, groups=num_group)
    whole = _whole(kind, data_bound, weight_bound)
    if bias is not None:
        own = xp.reshape(bias, shape=(num_filter, *[1] * len(kernel)))
        out, whole = _sums_with_bias(xp, kind, out, own, data_bound, weight_bound, bias_bound)
    return from_channels_first(xp, out, layout), vector(xp, -whole), vector(xp, whole)


def _with_ranges(shapes, no_bias):
    """Shapes of data, weight and bias, followed by those of the ranges' ends."""
    data, weight, bias = shapes
    return [data, weight, None, *[(1,)] * 4, None, None] if no_bias else [data, weight, bias, *[(1,)] * 6]


@quantized_fully_connected.infer
def _(shapes, results, *, num_hidden, no_bias, flatten):
    data, weight = fully_connected_shapes(shapes[:2], num_hidden=num_hidden, no_bias=True, flatten=flatten)
    if data is not None:
        lead = data[:1] if flatten else data[:-1]
        results = [(*lead, num_hidden), *results[1:]]
    return _with_ranges([data, weight, (num_hidden,)], no_bias), [results[0], (1,), (1,)]


@quantized_conv.infer
def _(shapes, results, *, no_bias, **params):
    found, out = convolution_shapes([*shapes[:2], *([] if no_bias else [shapes[2]])], results[:1], no_bias=no_bias, **params)
    return _with_ranges([*found, *([None] if no_bias else [])], no_bias), [out[0], (1,), (1,)]


for _op in (quantized_fully_connected, quantized_conv):
    _op.assumes(assuming(data="int8", weight="int8", bias="int8"))
    _op.dtypes(lambda dtypes, **_: ["int32", "float32", "float32"])


def limits_for(draw, count=1):
    """The ends of ranges, for samples."""
    return [x for _ in range(count) for x in (draw.integer((1,), -3, 0), draw.integer((1,), 1, 4))]


def bytes_for(draw, shape, kind="int8"):
    """Integers of all values, for samples."""
    return draw.integer(shape, LIMITS[kind][0], LIMITS[kind][1] + 1, kind)


@quantized_fully_connected.sample
def _(draw):
    weight, bias = bytes_for(draw, (4, 6)), bytes_for(draw, (4,))
    samples = [draw(bytes_for(draw, (2, 6), kind), weight, bias, *limits_for(draw, 3), num_hidden=4) for kind in ("int8", "uint8")]
    bare = draw(bytes_for(draw, (2, 3, 2)), weight, None, *limits_for(draw, 2), None, None, num_hidden=4, no_bias=True)
    long = draw(bytes_for(draw, (2, 1100)), bytes_for(draw, (3, 1100)), None, *limits_for(draw, 2), None, None, num_hidden=3, no_bias=True)
    return [*samples, bare, long]


@quantized_conv.sample
def _(draw):
    weight, bias, params = bytes_for(draw, (4, 3, 2, 2)), bytes_for(draw, (4,)), {"kernel": (2, 2), "num_filter": 4}
    samples = [
        draw(bytes_for(draw, (2, 3, 4, 4), kind), weight, bias, *limits_for(draw, 3), stride=(2, 2), **params) for kind in ("int8", "uint8")
    ]
    grouped = draw(
        bytes_for(draw, (2, 6, 4, 4)), weight, None, *limits_for(draw, 2), None, None, num_group=2, pad=(1, 1), no_bias=True, **params
    )
    wide = [bytes_for(draw, (1, 300, 3, 3)), bytes_for(draw, (4, 300, 2, 2))]
    return [*samples, grouped, draw(*wide, None, *limits_for(draw, 2), None, None, no_bias=True, **params)]
