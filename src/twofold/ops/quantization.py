"""Floats as 8-bit integers and back: scales from ranges, and thresholds from histograms.

With a the largest absolute value of a range, an int8 number q represents q · a / 127, and a uint8 number q · a / 255. Some operators of
MXNet use 127.5 and 255.5; each constant here is that of the operator. Numbers are rounded to even and limited to the integers' range.
Source: Jacob et al., "Quantization and training of neural networks for efficient integer-arithmetic-only inference", CVPR 2018.
"""

from typing import Annotated, Literal

from ..errors import DTypeError, ParameterError, ShapeError
from ..opdef import ALWAYS, Input, Operand, op

#: The number of levels that the largest absolute value represents.
LEVELS = {"int8": 127.0, "uint8": 255.0, "int32": 2147483647.0}
#: The same, for operators that count half a level more.
HALF_LEVELS = {"int8": 127.5, "uint8": 255.5, "int32": 2147483647.0}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
#: An end of a range, (1,); a bias, or an end of its range.
Limit = Annotated[Operand | None, Input(own_dtype=True, present=ALWAYS)]
Bias = Annotated[Operand | None, Input(own_dtype=True, present=("no_bias", False))]
OutType = Literal["auto", "int8", "uint8"]


def largest(xp, low, high):
    """The largest absolute value of a range, two arrays (1,), as a 0-d array."""
    return xp.reshape(xp.maximum(xp.absolute(low), xp.absolute(high)), shape=())


def vector(xp, number):
    """A 0-d array or a number as a float32 array (1,)."""
    if isinstance(number, (int, float)):
        return xp.full(shape=(1,), value=float(number), dtype="float32")
    return xp.reshape(xp.cast(number, "float32"), shape=(1,))


def to_integers(xp, x, dtype):
    """Floats rounded to even, limited to the dtype's range."""
    low, high = LIMITS[dtype]
    return xp.astype(xp.clip(xp.round_even(x), low, high), dtype=dtype)


def range_of(xp, x):
    """The smallest and the largest element, 0-d."""
    return xp.min(x, axis=None, keepdims=False), xp.max(x, axis=None, keepdims=False)


def kind_of(xp, name, data, allowed=("int8", "uint8")):
    """The dtype of quantized data.

    Raises
    ------
    DTypeError
        If it is not an allowed one.
    """
    dtype = xp.dtype_of(data)
    if dtype not in allowed:
        raise DTypeError(f"{name}: the data must be quantized", dtype, f"pass {' or '.join(allowed)}")
    return dtype


def per_unit(levels, bound):
    """How many levels a difference of 1 is, given the number or 0-d array that all levels represent.

    A calibrated bound is 0 where a layer gave only zeros. All levels mean 0 then, and 0 of them are taken.
    """
    return 0.0 if isinstance(bound, (int, float)) and bound == 0 else levels / bound


def symmetric(xp, x, bound, levels, dtype):
    """Floats quantized so that ``bound`` (0-d) represents ``levels``; with the range of the results."""
    # a single division, and one multiplication per element
    quantized = to_integers(xp, x * per_unit(levels, bound), dtype)
    return quantized, vector(xp, -bound), vector(xp, bound)


@op("_contrib_quantize", outputs=3, differentiable=False)
def quantize(xp, data, min_range: Limit, max_range: Limit, *, out_type: Literal["int8", "uint8"] = "uint8"):
    """Floats as 8-bit integers, with the range that they represent: (integers, minimum (1,), maximum (1,)).

    The given range, arrays (1,), determines the scale; uint8 holds no negative numbers.
    """
    bound = largest(xp, min_range, max_range)
    if out_type == "int8":
        return symmetric(xp, data, bound, LEVELS["int8"], "int8")
    return to_integers(xp, data * (LEVELS["uint8"] / bound), "uint8"), vector(xp, min_range), vector(xp, max_range)


@op("_contrib_quantize_v2", outputs=3, differentiable=False)
def quantize_v2(xp, data, *, out_type: OutType = "int8", min_calib_range: float | None = None, max_calib_range: float | None = None):
    """Floats as 8-bit integers, with the range that they represent: (integers, minimum (1,), maximum (1,)).

    The range is the calibrated one, or that of the data. "auto" is uint8 if the calibrated minimum is not negative. Integers are returned
    as they are.
    """
    calibrated = min_calib_range is not None and max_calib_range is not None
    dtype = xp.dtype_of(data)
    if dtype in LIMITS:
        # the range in which integers mean themselves: `dequantize` divides by the same number
        own = (-HALF_LEVELS["int8"], HALF_LEVELS["int8"]) if dtype == "int8" else (0.0, HALF_LEVELS["uint8"])
        low, high = (min_calib_range, max_calib_range) if calibrated else own
        return data + 0, vector(xp, low), vector(xp, high)
    low, high = (_constants(xp, min_calib_range, max_calib_range)) if calibrated else range_of(xp, data)
    if chosen_type(out_type, min_calib_range if calibrated else None) == "int8":
        return symmetric(xp, data, largest(xp, low, high), HALF_LEVELS["int8"], "int8")
    quantized = to_integers(xp, data * (HALF_LEVELS["uint8"] / largest(xp, low, high)), "uint8")
    return quantized, vector(xp, low), vector(xp, high)


def _constants(xp, low, high):
    return tuple(xp.full(shape=(), value=float(x), dtype="float32") for x in (low, high))


def chosen_type(out_type, low):
    """The dtype that "auto" means, given the calibrated minimum or None."""
    if out_type != "auto":
        return out_type
    return "uint8" if low is not None and low >= 0 else "int8"


@op("_contrib_quantize_asym", outputs=3, output_names=("output", "scale", "shift"), differentiable=False)
def quantize_asym(xp, data, *, min_calib_range: float | None = None, max_calib_range: float | None = None):
    """Floats as uint8 numbers q = x · scale + shift that fill the range: (integers, scale (1,), shift (1,)).

    The range is the calibrated one, or that of the data.
    """
    calibrated = min_calib_range is not None and max_calib_range is not None
    low, high = _constants(xp, min_calib_range, max_calib_range) if calibrated else range_of(xp, data)
    # the minimum becomes 0 and the maximum 255; equal numbers keep their unit and become 255
    width = high - low
    scale = LEVELS["uint8"] / xp.where(width > 0, width, xp.full(shape=(), value=LEVELS["uint8"], dtype="float32"))
    shift = LEVELS["uint8"] - high * scale
    return to_integers(xp, data * scale + shift, "uint8"), vector(xp, scale), vector(xp, shift)


@op("_contrib_dequantize", differentiable=False)
def dequantize(xp, data, min_range: Limit, max_range: Limit, *, out_type: Literal["float32"] = "float32"):
    """The float32 numbers that int8, uint8 or int32 numbers represent, given their range, arrays (1,)."""
    dtype = kind_of(xp, "dequantize", data, ("int8", "uint8", "int32"))
    return xp.astype(data, dtype="float32") * (largest(xp, min_range, max_range) / HALF_LEVELS[dtype])


@op("_contrib_requantize", outputs=3, differentiable=False)
def requantize(
    xp,
    data,
    min_range: Limit,
    max_range: Limit,
    *,
    out_type: OutType = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
):
    """int32 numbers of a range as 8-bit integers, with the range that these represent: (integers, minimum (1,), maximum (1,)).

    The new range is the calibrated one, or that of the numbers.
    """
    kind_of(xp, "requantize", data, ("int32",))
    # float64 holds every int32 number
    real = xp.astype(data, dtype="float64") * (xp.cast(largest(xp, min_range, max_range), "float64") / LEVELS["int32"])
    if min_calib_range is None or max_calib_range is None:
        bound = largest(xp, *range_of(xp, real))
        return symmetric(xp, real, bound, LEVELS["int8"], "int8")
    bound = max(abs(min_calib_range), abs(max_calib_range))
    if chosen_type(out_type, min_calib_range) == "int8":
        return symmetric(xp, real, bound, LEVELS["int8"], "int8")
    return to_integers(xp, real * per_unit(LEVELS["uint8"], bound), "uint8"), vector(xp, min_calib_range), vector(xp, max_calib_range)


def _divergences(np, hist, levels):
    """The divergence of the histogram from its form in ``levels`` numbers, per threshold: Migacz, "8-bit inference", 2017."""
    middle, half = len(hist) // 2, levels // 2
    found = np.full(middle + 1 - half, np.inf, np.float32)
    for k in range(half, middle + 1):
        start, stop = middle - k, min(middle + k + 1, len(hist))
        inside = hist[start:stop].copy()
        # the outermost bins are not quantized; in p they also count the elements beyond the threshold
        inside[0] = inside[-1] = 0
        p = inside.copy()
        # elements outside go into the outermost bins
        p[0], p[-1] = hist[: start + 1].sum(), hist[stop - 1 :].sum()
        found[k - half] = _divergence(np, p, _coarse(np, inside, p, levels))
    return found


def _coarse(np, inside, p, levels):
    """The counts merged to ``levels`` numbers, each spread evenly over the bins of it that are not empty."""
    merged = len(inside) // levels
    edges = np.arange(levels) * merged
    totals, filled = (np.add.reduceat(x, edges) for x in (inside, (inside != 0).astype(inside.dtype)))
    each = np.divide(totals, filled, out=np.zeros_like(totals), where=filled > 0)
    return np.where(p != 0, np.repeat(each, np.diff(np.append(edges, len(inside)))), 0)


def _divergence(np, p, q):
    p, q = _smoothed(np, p), _smoothed(np, q)
    if p is None or q is None:
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    return (p * np.log(p / q)).sum()


def _smoothed(np, counts, epsilon=1e-4):
    """The counts with empty bins filled from the others; None if all are empty or the others hold too little."""
    empty = counts == 0
    full = counts.size - empty.sum()
    if not full or epsilon * empty.sum() / full >= 1:
        return None
    return np.where(empty, epsilon, counts - epsilon * empty.sum() / full)


def _calibrated(np, hist, edges, *, levels):
    found = _divergences(np, hist.astype(np.float64), levels)
    best = int(found.argmin())
    # the right edge of the last bin inside: thresholds begin at `levels` // 2 bins from the middle
    stop = len(hist) // 2 + levels // 2 + best + 1
    return edges[min(stop, len(edges) - 1)].reshape(1), found[best].reshape(1)


@op("_contrib_calibrate_entropy", outputs=2, output_names=("threshold", "divergence"), differentiable=False)
def calibrate_entropy(xp, hist, hist_edges, *, num_quantized_bins: int = 255):
    """The threshold (1,) beyond which activations should be cut off before quantization, and the divergence (1,) that remains.

    The threshold minimizes the Kullback-Leibler divergence of the histogram from the quantized one: Migacz, "8-bit inference with
    TensorRT", 2017. It is computed on the host.
    """
    if len(hist.shape) != 1 or hist_edges.shape != (hist.shape[0] + 1,) or hist.shape[0] < num_quantized_bins:
        given = f"hist {hist.shape}, edges {hist_edges.shape}, {num_quantized_bins} numbers"
        raise ShapeError("calibrate_entropy: the histogram does not fit", given, "pass n bins, n + 1 edges, and not more numbers than bins")
    if num_quantized_bins < 3:
        raise ParameterError("calibrate_entropy: too few numbers", num_quantized_bins, "pass 3 or more")
    like = [xp.full(shape=(1,), value=0.0, dtype="float32")] * 2
    return xp.host(_calibrated, xp.cast(hist, "float32"), xp.cast(hist_edges, "float32"), like=like, levels=num_quantized_bins)


def ranges(shapes, first):
    """The shapes of all operands, with (1,) for those from position ``first`` on, which are the ends of ranges."""
    return [*shapes[:first], *[(1,)] * (len(shapes) - first)]


def assuming(**dtypes):
    """A rule of `Op.assumes`: dtypes by name, float32 for all others."""
    return lambda names, **_: [dtypes.get(name, "float32") for name in names]


dequantize.assumes(assuming(data="int8"))
requantize.assumes(assuming(data="int32"))
for _op in (quantize, dequantize, requantize):
    _op.infer(lambda shapes, **_: ranges(shapes, 1))


quantize.dtypes(lambda dtypes, *, out_type: [out_type, "float32", "float32"])


@quantize_v2.dtypes
@requantize.dtypes
def _(dtypes, *, out_type, min_calib_range, **_):
    own = dtypes[0] if dtypes[0] in LIMITS else None
    return [own or chosen_type(out_type, min_calib_range), "float32", "float32"]


quantize_asym.dtypes(lambda dtypes, **_: ["uint8", "float32", "float32"])
dequantize.dtypes(lambda dtypes, **_: ["float32"])
calibrate_entropy.dtypes(lambda dtypes, **_: ["float32", "float32"])


def _range(draw):
    return draw.integer((1,), -3, -1), draw.integer((1,), 1, 4)


quantize.sample(lambda draw: [draw(draw.integer((2, 3), -4, 5), *_range(draw), out_type=t, gradient=False) for t in ("int8", "uint8")])


@quantize_v2.sample
def _(draw):
    data = draw.integer((2, 3), -4, 5)
    calibrated = [draw(data, out_type=t, min_calib_range=0.0, max_calib_range=3.0, gradient=False) for t in ("int8", "uint8", "auto")]
    return [draw(data, gradient=False), draw(draw.integer((2, 3), -9, 9, "int8"), gradient=False), *calibrated]


@quantize_asym.sample
def _(draw):
    data = draw.integer((2, 3), -4, 5)
    return [draw(data, gradient=False), draw(data, min_calib_range=-2.0, max_calib_range=3.0, gradient=False)]


@dequantize.sample
def _(draw):
    return [draw(draw.integer((2, 3), 0, 100, dtype), *_range(draw), gradient=False) for dtype in ("int8", "uint8", "int32")]


@requantize.sample
def _(draw):
    data, limits = draw.integer((2, 3), -(2**31), 2**31, "int32"), _range(draw)
    return [draw(data, *limits, gradient=False), draw(data, *limits, min_calib_range=-1.0, max_calib_range=1.5, gradient=False)]


@calibrate_entropy.sample
def _(draw):
    edges = draw.real((22,), then=lambda np, x: (np.arange(22) - 11).astype(x.dtype), dtype="float32")
    return draw(draw.integer((21,), 0, 9), edges, num_quantized_bins=7, gradient=False)
