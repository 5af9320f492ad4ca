"""Pooling: the maximum, mean, sum or p-norm of windows in one, two or three dimensions.

Windows are reduced one axis at a time, last axis first, by element-wise operations on shifted slices; the transpose sums slices. The
gradient of a maximum goes to the first maximum of the window in row-major order, which follows from the order of the axes and from ``>=``.
"""

import math
from typing import Literal, NamedTuple

from ..dtype import FLOATS
from ..errors import ParameterError, ShapeError
from ..opdef import Shape, op
from .windows import Layout, channels_first, from_channels_first, padded, per_axis

#: The padding value of a maximum: the lowest finite number, as in MXNet.
LOWEST = {"float16": -65504.0, "bfloat16": -3.3895313892515355e38, "float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308}


class Window(NamedTuple):
    """The windows along an axis of ``size`` elements: ``number`` windows of length ``kernel``; the first begins at ``-before``.

    ``after`` padding elements are needed at the end; a mean counts the first ``counted`` of them.
    """

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    number: int
    counted: int

    @property
    def is_whole(self) -> bool:
        """Whether a single window covers exactly the axis."""
        return (self.kernel, self.before, self.after) == (self.size, 0, 0)


def _window(size, kernel, stride, pad, convention):
    room = size + 2 * pad - kernel
    if convention == "same":
        # as many windows as strides fit, rounded up, however large the kernel is
        count = -(-size // stride)
        total = max(0, (count - 1) * stride + kernel - size)
        # the odd element of padding comes last, as in TensorFlow, which defined this convention
        return Window(size, kernel, stride, total // 2, total - total // 2, count, total - total // 2)
    if room < 0:
        given = f"kernel {kernel}, {size} elements padded to {size + 2 * pad}"
        raise ShapeError("Pooling: the kernel is larger than the padded input", given, "pad the input or give a smaller kernel")
    # rounding up adds a window that reaches beyond the padding
    count = (-(-room // stride) if convention == "full" else room // stride) + 1
    return Window(size, kernel, stride, pad, max(0, (count - 1) * stride + kernel - size - pad), count, pad)


def _windows(shape, kernel, stride, pad, global_pool, convention):
    if len(shape) < 3:
        raise ShapeError("Pooling: the data needs a spatial axis", shape, "give it as (n, c, d…)")
    if global_pool:
        return [Window(n, n, 1, 0, 0, 1, 0) for n in shape[2:]]
    if len(kernel) != len(shape) - 2:
        raise ShapeError(
            "Pooling: kernel needs one size for each spatial axis", f"kernel {kernel} for data {shape}", f"pass {len(shape) - 2}"
        )
    if convention == "same" and any(pad):
        raise ParameterError('Pooling: the convention "same" chooses the padding', f"pad {pad}", "leave pad out")
    stride, pad = per_axis("Pooling", len(shape), stride=stride, pad=pad)
    return [_window(*facts, convention) for facts in zip(shape[2:], kernel, stride, pad, strict=True)]


# reductions of windows, and their transposes


def _parts(xp, x, axis, window):
    """Slices along an axis: element 0 of all windows, then element 1, and so on."""
    last = (window.number - 1) * window.stride + 1
    return [xp.take_slice(x, k, k + last, axis, window.stride) for k in range(window.kernel)]


def _parts_transposed(xp, parts, axis, window):
    """The transpose of `_parts`: the parts summed into an axis of the padded size.

    Element k = q · stride + r of window i is at (i + q) · stride + r. So parts with the same r are shifted by q and summed, and the sums
    for all r are interleaved.
    """
    s, longest = window.stride, window.number + (window.kernel - 1) // window.stride
    # a lane has the elements whose position has the remainder r when divided by the stride
    lanes = []
    for r in range(s):
        shifted = [_shifted(xp, p, axis, q, longest - window.number - q) for q, p in enumerate(parts[r::s])]
        lanes.append(sum(shifted[1:], shifted[0]) if shifted else None)
    # with a stride larger than the kernel some lanes have no parts
    zeros = None if None not in lanes else xp.zeros_like(lanes[0])
    shape = (*parts[0].shape[:axis], longest * s, *parts[0].shape[axis + 1 :])
    whole = lanes[0] if s == 1 else xp.reshape(xp.stack([zeros if lane is None else lane for lane in lanes], axis + 1), shape=shape)
    size = window.before + window.size + window.after
    # elements after the last window have no part in the sums
    if shape[axis] < size:
        return _shifted(xp, whole, axis, 0, size - shape[axis])
    return whole if shape[axis] == size else xp.take_slice(whole, 0, size, axis)


def _shifted(xp, x, axis, before, after):
    if before == after == 0:
        return x
    return xp.pad(x, width=tuple((before, after) if k == axis else (0, 0) for k in range(len(x.shape))))


def _spatial(windows):
    """(axis, window) pairs, from the last axis to the first spatial one."""
    return [(k + 2, w) for k, w in reversed(list(enumerate(windows)))]


def _padded(xp, x, windows, value=0.0):
    return padded(xp, x, [w.before for w in windows], [w.after for w in windows], value)


def _unpadded(xp, x, windows):
    if not any(w.before or w.after for w in windows):
        return x
    whole = (None, None, None)
    return xp.slice(x, key=(whole, whole, *[(w.before, w.before + w.size, None) for w in windows]))


def _sums(xp, x, windows):
    """The sum of each window."""
    # one window: a reduction, which fuses with its neighbors, and has its own kernel on every backend
    if all(w.is_whole for w in windows):
        return xp.sum(x, axis=tuple(range(2, len(x.shape))), keepdims=True)
    x = _padded(xp, x, windows)
    for axis, window in _spatial(windows):
        parts = _parts(xp, x, axis, window)
        x = sum(parts[1:], parts[0])
    return x


def _sums_transposed(xp, dout, windows):
    """The transpose of `_sums`."""
    if all(w.is_whole for w in windows):
        return xp.broadcast_to(dout, shape=(*dout.shape[:2], *[w.size for w in windows]))
    # transposes are applied in the opposite order of the sums
    for axis, window in reversed(_spatial(windows)):
        dout = _parts_transposed(xp, [dout] * window.kernel, axis, window)
    return _unpadded(xp, dout, windows)


def _maxima(xp, x, windows):
    """For each axis the parts of the windows and their running maxima; the last maximum of the last axis is the result."""
    dtype = xp.dtype_of(x)
    x = _padded(xp, x, windows, LOWEST[dtype] if dtype in FLOATS else 0.0)
    stages = []
    for axis, window in _spatial(windows):
        parts = _parts(xp, x, axis, window)
        running = [parts[0]]
        for part in parts[1:]:
            running.append(xp.maximum(running[-1], part))
        stages.append((parts, running))
        x = running[-1]
    return stages


def _maxima_transposed(xp, dout, x, windows):
    for (axis, window), (parts, running) in reversed(list(zip(_spatial(windows), _maxima(xp, x, windows), strict=True))):
        # from the last step of the running maximum to the first: each hands on the gradient or keeps it for its own part
        shares = []
        for part, before in zip(parts[:0:-1], running[-2::-1], strict=True):
            first = xp.greater_equal(before, part)  # >=: of equal elements the earlier one gets the gradient
            shares.append(dout * xp.logical_not(first))
            dout = dout * first
        dout = _parts_transposed(xp, [dout, *reversed(shares)], axis, window)
    return _unpadded(xp, dout, windows)


def _whole_maximum_transposed(xp, dout, x):
    """The gradient of a maximum over all positions, which goes to the first maximum."""
    rows = xp.reshape(x, shape=(*x.shape[:2], math.prod(x.shape[2:])))
    # argmax finds the first of equal maxima, which alone gets the gradient
    first = xp.equal(xp.argmax(rows, axis=2, keepdims=True), xp.iota(size=rows.shape[2], dtype="int64"))
    return xp.reshape(xp.reshape(dout, shape=(*x.shape[:2], 1)) * first, shape=x.shape)


def _counts(xp, windows, count_include_pad, dtype):
    """The divisors of the windows' means: a scalar, or an array that broadcasts over the windows.

    Padding of ``pad`` on both sides counts unless ``count_include_pad`` is false; elements of a window beyond the padding never count.
    """
    # an axis whose windows all count alike gives a number: if all do, the divisor is a scalar of the program
    factors = [_count_along(xp, w, count_include_pad, dtype) for w in windows]
    product = math.prod(f for f in factors if isinstance(f, int))
    for k, f in enumerate(factors):
        if not isinstance(f, int):
            product = xp.reshape(f, shape=(-1, *[1] * (len(windows) - k - 1))) * product
    return product


def _count_along(xp, window, count_include_pad, dtype):
    # the places that count in a mean
    low, high = (-window.before, window.size + window.counted) if count_include_pad else (0, window.size)
    # the first window and the last: all others lie between them
    end = max(window.number - 1, 0) * window.stride - window.before + window.kernel
    if low <= -window.before and end <= high:
        return window.kernel
    begin = xp.iota(size=window.number, dtype="int64") * window.stride - window.before
    inside = xp.minimum(begin + window.kernel, high) - xp.maximum(begin, low)
    return xp.astype(xp.maximum(inside, 1), dtype=dtype)  # a window without elements has the sum 0: avoid 0 / 0


# the operator

_POWERS = {1: lambda xp, x: x, 2: lambda xp, x: x * x, 3: lambda xp, x: x * x * x}
_ROOTS = {1: lambda xp, x: x, 2: lambda xp, x: xp.sqrt(x), 3: lambda xp, x: xp.cbrt(x)}


def _pool(xp, x, windows, pool_type, p_value, count_include_pad):
    if pool_type == "max":
        if all(w.is_whole for w in windows):
            return xp.max(x, axis=tuple(range(2, len(x.shape))), keepdims=True)
        return _maxima(xp, x, windows)[-1][1][-1]
    return xp.downcast(_total(xp, xp.upcast(x), windows, pool_type, p_value, count_include_pad), x)


def _total(xp, x, windows, pool_type, p_value, count_include_pad):
    """The kinds of pooling that are sums."""
    if pool_type == "lp":
        return _ROOTS[p_value](xp, _sums(xp, _POWERS[p_value](xp, x), windows))
    sums = _sums(xp, x, windows)
    return sums / _counts(xp, windows, count_include_pad, xp.dtype_of(x)) if pool_type == "avg" else sums


def _pool_transposed(xp, dout, out, x, windows, pool_type, p_value, count_include_pad):
    if pool_type == "max":
        whole = all(w.is_whole for w in windows)
        return _whole_maximum_transposed(xp, dout, x) if whole else _maxima_transposed(xp, dout, x, windows)
    dout, out, x = (xp.upcast(v) for v in (dout, out, x))
    # the gradient of (Σ x^p)^(1/p) is (x / out)^(p - 1)
    if pool_type == "lp":
        if p_value == 1:
            return _sums_transposed(xp, dout, windows)
        slope = _POWERS[p_value - 1]
        norm = slope(xp, xp.where(xp.equal(out, 0), 1, out))  # where the norm is 0 the gradient is 0, not 0 / 0
        return _sums_transposed(xp, dout / norm, windows) * slope(xp, x)
    if pool_type == "avg":
        dout = dout / _counts(xp, windows, count_include_pad, xp.dtype_of(dout))
    return _sums_transposed(xp, dout, windows)


@op(
    "Pooling",
    "_npx_pooling",
    real=True,
    drawn_as="pooling",
    label="{pool_type|max}, {kernel|global}/{stride|1}",
    output_names=("output",),
    workspaces=("pool_type", "max", "max"),
)
def pooling(
    xp,
    data,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Layout = None,
):
    """Reduction of windows of (n, c, d…) to (n, c, o…).

    o = floor((d + 2 · pad - kernel) / stride) + 1; "full" rounds up instead of down; "same" gives ceil(d / stride), padded as
    needed. The default stride is 1. ``global_pool`` pools over the whole image and ignores kernel, stride and pad. Padding is
    never the maximum; it counts in a mean unless ``count_include_pad`` is False. "lp" is (Σ x^p)^(1/p) for p = 1, 2, 3,
    with signs. ``cudnn_off`` has no effect.
    """
    if pool_type == "lp" and p_value not in _POWERS:
        raise ParameterError("Pooling: p_value is needed for pool_type lp", p_value, "pass 1, 2 or 3")
    x = channels_first(xp, data, layout)
    windows = _windows(x.shape, kernel, stride, pad, global_pool, pooling_convention)
    return from_channels_first(xp, _pool(xp, x, windows, pool_type, p_value, count_include_pad is not False), layout)


@pooling.grad
def _(xp, dout, out, data, *, kernel, pool_type, global_pool, pooling_convention, stride, pad, p_value, count_include_pad, layout, **_):
    x, y, d = (channels_first(xp, a, layout) for a in (data, out, dout))
    windows = _windows(x.shape, kernel, stride, pad, global_pool, pooling_convention)
    grad = _pool_transposed(xp, d, y, x, windows, pool_type, p_value, count_include_pad is not False)
    return from_channels_first(xp, grad, layout)


@pooling.sample
def _(draw):
    image = draw.real((2, 2, 5, 4), distinct=True)
    positive = draw.real((2, 2, 5, 4), low=0.5, high=2)
    return [
        draw(image, kernel=(2, 2), stride=(2, 2)),
        draw(image, kernel=(3, 3), stride=(2, 2), pad=(1, 1)),
        draw(image, kernel=(3, 2), stride=(2, 1), pad=(1, 0), pool_type="avg", pooling_convention="full"),
        draw(image, pool_type="avg", global_pool=True),
        draw(positive, kernel=(2, 2), pool_type="lp", p_value=2),
        draw(draw.real((2, 2, 5)), kernel=(3,), pool_type="sum", pad=(1,)),
    ]
