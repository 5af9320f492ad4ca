"""Pooling: the maximum, mean, sum or p-norm of windows in one, two or three dimensions.

Maxima and sums of windows are primitives (`primitive_windows`). Data with channels last stay so.
"""

import math
from typing import Literal, NamedTuple

from ..dtype import FLOATS
from ..errors import ParameterError, ShapeError
from ..opdef import Shape, op
from .primitive_windows import largest, largest_transposed
from .windows import Layout, is_channels_last, per_axis

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
    kernel, stride, pad = per_axis("Pooling", len(shape), kernel=kernel, stride=stride, pad=pad)
    return [_window(*facts, convention) for facts in zip(shape[2:], kernel, stride, pad, strict=True)]


def _channels_first(shape, layout):
    """A shape with its channels as axis 1."""
    return (shape[0], shape[-1], *shape[1:-1]) if is_channels_last(layout) and len(shape) > 2 else shape


# reductions of windows, and their transposes


def _first_axis(layout):
    """The first spatial axis."""
    return 1 if is_channels_last(layout) else 2


def _spatial(windows, layout):
    """The spatial axes."""
    return tuple(range(_first_axis(layout), _first_axis(layout) + len(windows)))


def _params(windows, layout):
    """The parameters of the primitives."""
    names = ("kernel", "stride", "before", "number")
    return {name: tuple(getattr(w, name) for w in windows) for name in names} | {"channels_last": is_channels_last(layout)}


def _sums(xp, x, windows, layout):
    """The sum of each window."""
    # one window: a reduction, which fuses with its neighbors, and has its own kernel on every backend
    if all(w.is_whole for w in windows):
        return xp.sum(x, axis=_spatial(windows, layout), keepdims=True)
    return xp.window_sum(x, **_params(windows, layout))


def _sums_transposed(xp, dout, windows, layout):
    """The transpose of `_sums`."""
    size = tuple(w.size for w in windows)
    if all(w.is_whole for w in windows):
        axes = _spatial(windows, layout)
        shape = [size[k - axes[0]] if k in axes else n for k, n in enumerate(dout.shape)]
        return xp.broadcast_to(dout, shape=tuple(shape))
    return xp.window_sum_transposed(dout, size=size, **_params(windows, layout))


def _maxima(xp, x, windows, layout):
    """The maximum of each window."""
    if all(w.is_whole for w in windows):
        return xp.max(x, axis=_spatial(windows, layout), keepdims=True)
    dtype = xp.dtype_of(x)
    if dtype not in FLOATS:
        return largest(xp, x, lowest=0.0, **_params(windows, layout))
    # exact: a maximum is one of the numbers
    return xp.downcast(xp.window_max(xp.upcast(x), lowest=LOWEST[dtype], **_params(windows, layout)), x)


def _maxima_transposed(xp, dout, x, windows, layout):
    """The gradient of a maximum, which goes to the first one of the window."""
    if all(w.is_whole for w in windows):
        return _whole_maximum_transposed(xp, dout, x, windows, layout)
    dtype = xp.dtype_of(x)
    if dtype not in FLOATS:
        return largest_transposed(xp, dout, x, lowest=0.0, **_params(windows, layout))
    return xp.downcast(xp.window_max_transposed(xp.upcast(dout), xp.upcast(x), lowest=LOWEST[dtype], **_params(windows, layout)), x)


def _whole_maximum_transposed(xp, dout, x, windows, layout):
    """The gradient of a maximum over all positions."""
    axes = _spatial(windows, layout)
    count = math.prod(w.size for w in windows)
    shape = (*x.shape[: axes[0]], count, *x.shape[axes[-1] + 1 :])
    rows = xp.reshape(x, shape=shape)
    # argmax finds the first of equal maxima, which alone gets the gradient
    places = xp.reshape(xp.iota(size=count, dtype="int64"), shape=(count, *[1] * (len(shape) - axes[0] - 1)))
    first = xp.equal(xp.argmax(rows, axis=axes[0], keepdims=True), places)
    dout = xp.reshape(dout, shape=tuple(1 if k == axes[0] else n for k, n in enumerate(shape)))
    return xp.reshape(xp.where(first, dout, 0), shape=x.shape)


def _counts(xp, windows, count_include_pad, dtype, layout):
    """The divisors of the windows' means: a scalar, or an array that broadcasts over the windows.

    Padding of ``pad`` on both sides counts unless ``count_include_pad`` is false; elements of a window beyond the padding never count.
    """
    # an axis whose windows all count alike gives a number: if all do, the divisor is a scalar of the program
    factors = [_count_along(xp, w, count_include_pad, dtype) for w in windows]
    product = math.prod(f for f in factors if isinstance(f, int))
    for k, f in enumerate(factors):
        if not isinstance(f, int):
            product = xp.reshape(f, shape=(-1, *[1] * (len(windows) - k - 1 + is_channels_last(layout)))) * product
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


def _pool(xp, x, windows, pool_type, p_value, count_include_pad, layout=None):
    if pool_type == "max":
        return _maxima(xp, x, windows, layout)
    return xp.downcast(_total(xp, xp.upcast(x), windows, pool_type, p_value, count_include_pad, layout), x)


def _total(xp, x, windows, pool_type, p_value, count_include_pad, layout):
    """The kinds of pooling that are sums."""
    if pool_type == "lp":
        return _ROOTS[p_value](xp, _sums(xp, _POWERS[p_value](xp, x), windows, layout))
    sums = _sums(xp, x, windows, layout)
    return sums / _counts(xp, windows, count_include_pad, xp.dtype_of(x), layout) if pool_type == "avg" else sums


def _pool_transposed(xp, dout, out, x, windows, pool_type, p_value, count_include_pad, layout=None):
    if pool_type == "max":
        return _maxima_transposed(xp, dout, x, windows, layout)
    dout, out, x = (xp.upcast(v) for v in (dout, out, x))
    # the gradient of (Σ x^p)^(1/p) is (x / out)^(p - 1)
    if pool_type == "lp":
        if p_value == 1:
            return _sums_transposed(xp, dout, windows, layout)
        slope = _POWERS[p_value - 1]
        norm = slope(xp, xp.where(xp.equal(out, 0), 1, out))  # where the norm is 0 the gradient is 0, not 0 / 0
        return _sums_transposed(xp, dout / norm, windows, layout) * slope(xp, x)
    if pool_type == "avg":
        dout = dout / _counts(xp, windows, count_include_pad, xp.dtype_of(dout), layout)
    return _sums_transposed(xp, dout, windows, layout)


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
    windows = _windows(_channels_first(data.shape, layout), kernel, stride, pad, global_pool, pooling_convention)
    return _pool(xp, data, windows, pool_type, p_value, count_include_pad is not False, layout)


@pooling.grad
def _(xp, dout, out, data, *, kernel, pool_type, global_pool, pooling_convention, stride, pad, p_value, count_include_pad, layout, **_):
    windows = _windows(_channels_first(data.shape, layout), kernel, stride, pad, global_pool, pooling_convention)
    return _pool_transposed(xp, dout, out, data, windows, pool_type, p_value, count_include_pad is not False, layout)


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
