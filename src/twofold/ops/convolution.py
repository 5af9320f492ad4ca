"""Convolution and Deconvolution in one, two and three dimensions: the primitive and its transpose, with a bias."""

from typing import Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Bias, Shape, first_known, op, size_at, with_size
from .windows import Layout, channels_first, from_channels_first, is_channels_last, padded, per_axis

Tuning = Literal["fastest", "limited_workspace", "off"] | None


def _check(name, data, weight, bias, wanted, num_filter, no_bias):
    if weight.shape != wanted:
        given = f"weight {weight.shape} for data {data.shape}"
        raise ShapeError(f"{name}: the weight has the wrong shape", given, f"pass a weight of shape {wanted}")
    if (bias is None) != no_bias or (bias is not None and bias.shape != (num_filter,)):
        given = "no bias" if bias is None else f"bias {bias.shape}, no_bias={no_bias}"
        raise ShapeError(f"{name}: the bias has the wrong shape", given, f"pass one of shape {(num_filter,)}, or none with no_bias=True")


def _check_groups(name, channels, num_filter, num_group):
    if num_group < 1 or channels % num_group or num_filter % num_group:
        given = f"num_group {num_group}, {channels} channels, num_filter {num_filter}"
        raise ParameterError(f"{name}: the groups do not divide the channels", given, "pass a divisor of both")


def check_operands(name, data, weight, bias, kernel, num_filter, num_group, no_bias):
    """Check the operands of a convolution, channels first.

    Raises
    ------
    ParameterError, ShapeError
        If the groups do not divide the channels, or weight or bias do not fit.
    """
    channels = data.shape[1]
    _check_groups(name, channels, num_filter, num_group)
    _check(name, data, weight, bias, (num_filter, channels // num_group, *kernel), num_filter, no_bias)


def _with_bias(xp, out, bias):
    """``out`` (n, c, …) plus a bias (c,)."""
    return out if bias is None else out + xp.reshape(bias, shape=(-1, *[1] * (len(out.shape) - 2)))


@op("Convolution", "_npx_convolution", alike=True, drawn_as="layer", label="{kernel}/{stride|1}, {num_filter}")
def convolution(
    xp,
    data,
    weight,
    bias: Bias = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Tuning = None,
    cudnn_off: bool = False,
    layout: Layout = None,
):
    """Cross-correlation of data (n, c, d…) with a weight (num_filter, c / num_group, kernel…), plus a bias (num_filter,).

    The result is (n, num_filter, o…) with o = floor((d + 2 · pad - dilate · (kernel - 1) - 1) / stride) + 1. In layouts with the
    channels last the weight is (num_filter, kernel…, c / num_group). ``workspace``, ``cudnn_tune`` and ``cudnn_off`` have no effect.
    """
    x, w = channels_first(xp, data, layout), channels_first(xp, weight, layout)
    kernel, stride, dilate, pad = per_axis("Convolution", len(x.shape), kernel=kernel, stride=stride, dilate=dilate, pad=pad)
    check_operands("Convolution", x, w, bias, kernel, num_filter, num_group, no_bias)
    y = xp.convolve(x, w, stride=stride, dilate=dilate, pad=pad, groups=num_group)
    return from_channels_first(xp, _with_bias(xp, y, bias), layout)


@convolution.infer
def convolution_shapes(shapes, results, *, kernel, num_filter, num_group, no_bias, layout, **params):
    """The shapes of the operands and of the result, completed."""
    at = -1 if is_channels_last(layout) else 1
    channels, given = size_at(shapes[0], at), size_at(shapes[1], at)
    # the weight's channels tell the data's if these are unknown
    channels = given * num_group if channels is None and given is not None else channels
    depth = None if channels is None else channels // num_group
    weight = (num_filter, *kernel, depth) if is_channels_last(layout) else (num_filter, depth, *kernel)
    data = _data_of(with_size(shapes[0], at, channels), results[0], layout, kernel=kernel, **params)
    return [data, weight, *([] if no_bias else [(num_filter,)])], results


def _data_of(data, result, layout, *, kernel, stride, dilate, pad, **_):
    """The data's shape, with the sizes that follow from the result: the batch size, and axes with stride 1."""
    if data is None or result is None or not len(data) == len(result) == len(kernel) + 2:
        return data
    first = 1 if is_channels_last(layout) else 2
    given = per_axis("Convolution", len(data), kernel=kernel, stride=stride, dilate=dilate, pad=pad)
    for k, (size, step, spread, edge) in enumerate(zip(*given, strict=True), first):
        # with a larger stride several sizes of the data give the same result
        if step == 1 and result[k] is not None:
            data = with_size(data, k, result[k] + spread * (size - 1) - 2 * edge)
    return with_size(data, 0, result[0])


@convolution.sample
def _(draw):
    image = draw.real((2, 4, 5, 6))
    return [
        draw(image, draw.real((3, 4, 3, 3)), draw.real((3,)), kernel=(3, 3), num_filter=3, pad=(1, 1)),
        draw(image, draw.real((4, 2, 2, 2)), None, kernel=(2, 2), num_filter=4, num_group=2, stride=(2, 1), no_bias=True),
        draw(draw.real((2, 2, 7)), draw.real((2, 2, 3)), draw.real((2,)), kernel=(3,), num_filter=2, dilate=(2,)),
    ]


@op("Deconvolution", "_npx_deconvolution", alike=True, drawn_as="layer", label="{kernel}/{stride|1}, {num_filter}")
def deconvolution(
    xp,
    data,
    weight,
    bias: Bias = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    adj: Shape = (),
    target_shape: Shape = (),
    num_filter: int,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Tuning = None,
    cudnn_off: bool = False,
    layout: Layout = None,
):
    """The transpose of a convolution: data (n, c, d…), weight (c, num_filter / num_group, kernel…), result (n, num_filter, o…).

    o = stride · (d - 1) + dilate · (kernel - 1) + 1 - 2 · pad + adj, unless ``target_shape`` gives it: ``pad`` and ``adj``
    follow from it then. ``workspace``, ``cudnn_tune`` and ``cudnn_off`` have no effect.
    """
    x, w = channels_first(xp, data, layout), channels_first(xp, weight, layout)
    given = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "adj": adj}
    kernel, stride, dilate, pad, adj = per_axis("Deconvolution", len(x.shape), **given)
    channels, *sizes = x.shape[1:]
    _check_groups("Deconvolution", channels, num_filter, num_group)
    _check("Deconvolution", x, w, bias, (channels, num_filter // num_group, *kernel), num_filter, no_bias)
    # the size that all windows cover together, before anything is cut off
    full = tuple(s * (d - 1) + e * (k - 1) + 1 for s, d, e, k in zip(stride, sizes, dilate, kernel, strict=True))
    out, before = _output_place(full, stride, pad, adj, target_shape)
    steps = {"stride": stride, "dilate": dilate, "groups": num_group}
    # a convolution maps images of these sizes to the given windows; other sizes are computed in full and cropped
    if all(f <= o + 2 * b < f + s for f, s, o, b in zip(full, stride, out, before, strict=True)):
        y = xp.convolve_data(x, w, size=out, pad=before, **steps)
    else:
        y = _cropped(xp, xp.convolve_data(x, w, size=full, pad=(0,) * len(full), **steps), before, out)
    return from_channels_first(xp, _with_bias(xp, y, bias), layout)


def _output_place(full, stride, pad, adj, target_shape):
    """The result's sizes, and the number of elements to cut off at the start of each axis, from the size ``full`` of the summed windows."""
    if not any(target_shape):
        if any(a >= s for a, s in zip(adj, stride, strict=True)):
            raise ParameterError("Deconvolution: adj must be smaller than stride", f"adj {adj}, stride {stride}", "pass a smaller adj")
        return tuple(f - 2 * p + a for f, p, a in zip(full, pad, adj, strict=True)), pad
    if len(target_shape) != len(full):
        raise ShapeError("Deconvolution: target_shape needs one size for each spatial axis", target_shape, f"pass {len(full)} sizes")
    excess = [f - t for f, t in zip(full, target_shape, strict=True)]
    if min(excess) < 0:
        raise ShapeError("Deconvolution: target_shape is too large", f"{target_shape}, at most {full}", "pass smaller sizes")
    # MXNet cuts off the odd element in front
    return tuple(target_shape), tuple((e + 1) // 2 for e in excess)


def _cropped(xp, y, before, out):
    """``y`` (n, c, …) cropped to sizes ``out`` from ``before`` on, with zeros beyond its end."""
    beyond = tuple(max(0, b + o - s) for b, o, s in zip(before, out, y.shape[2:], strict=True))
    y = padded(xp, y, (0,) * len(out), beyond)
    if y.shape[2:] == out:
        return y
    return xp.slice(y, key=((None, None, None), (None, None, None), *[(b, b + o, None) for b, o in zip(before, out, strict=True)]))


@deconvolution.infer
def _(shapes, *, kernel, num_filter, num_group, no_bias, layout, **_):
    at = -1 if is_channels_last(layout) else 1
    channels = first_known(size_at(shapes[0], at), size_at(shapes[1], 0))
    data, depth = with_size(shapes[0], at, channels), num_filter // num_group
    weight = (channels, *kernel, depth) if is_channels_last(layout) else (channels, depth, *kernel)
    return [data, weight, *([] if no_bias else [(num_filter,)])]


@deconvolution.sample
def _(draw):
    image = draw.real((2, 4, 3, 4))
    return [
        draw(image, draw.real((4, 3, 3, 3)), None, kernel=(3, 3), num_filter=3, stride=(2, 2), pad=(1, 1), adj=(1, 1)),
        draw(image, draw.real((4, 1, 2, 2)), draw.real((2,)), kernel=(2, 2), num_filter=2, num_group=2, no_bias=False),
        draw(draw.real((2, 2, 3)), draw.real((2, 2, 3)), None, kernel=(3,), num_filter=2, stride=(2,), target_shape=(6,)),
    ]
