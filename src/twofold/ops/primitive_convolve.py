"""The three primitives of convolution: itself, and its transposes in the data and in the weight.

Each is linear in both of its operands, and the gradients of each are the two others: so derivatives of any order are again these
three, which a backend computes by whatever algorithm it likes.
"""

from ..dtype import promote
from ..errors import ShapeError
from ..op.declare import primitive
from ..op.params import Shape
from ..op.shapes import window_size


@primitive()
def convolve(xp, data, weight, *, stride: Shape, dilate: Shape, pad: Shape, groups: int):
    """Cross-correlation of data (n, c, d…) with a weight (f, c / groups, kernel…): (n, f, o…); ``pad`` zeros on both sides."""
    return xp.convolve(data, weight, stride=stride, dilate=dilate, pad=pad, groups=groups)


@convolve.type
def _(data, weight, *, stride, dilate, pad, groups):
    _check_channels(data.shape[1], weight.shape, groups)
    return (data.shape[0], weight.shape[0], *_windows(data.shape[2:], weight.shape[2:], stride, dilate, pad)), _common(data, weight)


@convolve.grad
def _(xp, dout, data, weight, **params):
    return (
        xp.convolve_data(dout, weight, size=data.shape[2:], **params),
        xp.convolve_weight(data, dout, kernel=weight.shape[2:], **params),
    )


@primitive()
def convolve_data(xp, result, weight, *, size: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: int):
    """The transpose of `convolve` in the data: result (n, f, o…), weight (f, c / groups, kernel…), to (n, c, *size)."""
    return xp.convolve_data(result, weight, size=size, stride=stride, dilate=dilate, pad=pad, groups=groups)


@convolve_data.type
def _(result, weight, *, size, stride, dilate, pad, groups):
    _check_windows(result.shape, weight.shape[0], _windows(size, weight.shape[2:], stride, dilate, pad))
    return (result.shape[0], weight.shape[1] * groups, *size), _common(result, weight)


@convolve_data.grad
def _(xp, dout, result, weight, *, size, **params):
    return xp.convolve(dout, weight, **params), xp.convolve_weight(dout, result, kernel=weight.shape[2:], **params)


@primitive()
def convolve_weight(xp, data, result, *, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape, groups: int):
    """The transpose of `convolve` in the weight: data (n, c, d…), result (n, f, o…), to (f, c / groups, *kernel)."""
    return xp.convolve_weight(data, result, kernel=kernel, stride=stride, dilate=dilate, pad=pad, groups=groups)


@convolve_weight.type
def _(data, result, *, kernel, stride, dilate, pad, groups):
    _check_windows(result.shape, result.shape[1], _windows(data.shape[2:], kernel, stride, dilate, pad))
    return (result.shape[1], data.shape[1] // groups, *kernel), _common(data, result)


@convolve_weight.grad
def _(xp, dout, data, result, *, kernel, **params):
    return xp.convolve_data(result, dout, size=data.shape[2:], **params), xp.convolve(data, dout, **params)


def _common(a, b):
    return a.dtype if a.dtype == b.dtype else promote(a.dtype, b.dtype)


def _windows(size, kernel, stride, dilate, pad):
    """How many windows each axis has."""
    out = tuple(window_size(n, k, s, d, p, p) for n, k, s, d, p in zip(size, kernel, stride, dilate, pad, strict=True))
    if min(out, default=1) < 1:
        raise ShapeError(
            "window: the kernel is larger than the padded input",
            f"kernel {kernel}, dilate {dilate}, input {size} padded by {pad} on both sides",
            "pad the input",
        )
    return out


def _check_channels(channels, weight, groups):
    if weight[1] * groups != channels or weight[0] % groups:
        given = f"weight {weight} for {channels} channels in {groups} groups"
        raise ShapeError("convolve: the weight does not fit", given, "give one of (f, channels / groups, kernel…), groups dividing f")


def _check_windows(result, filters, out):
    if result[1:] != (filters, *out):
        given = f"{result} for {filters} filters and windows {out}"
        raise ShapeError("convolve: the result's shape does not fit its transpose's operands", given, "give (n, filters, windows…)")
