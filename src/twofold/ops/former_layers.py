"""Convolution_v1 and Pooling_v1: the layers of MXNet 0.x, which differ from today's in their conventions."""

import math
from typing import Literal

from ..errors import ShapeError
from ..opdef import Shape, op
from .convolution import convolution, convolution_shapes
from .pooling import pooling
from .windows import padded, per_axis


@op("Convolution_v1", like=convolution, without=("layout",), alike=True, drawn_as="layer", label="{kernel}/{stride|1}, {num_filter}")
def convolution_v1(xp, *arrays, layout: Literal["NCDHW", "NCHW", "NDHWC", "NHWC"] | None = None, **params):
    """`Convolution` under its former name, in files of MXNet 0.x."""
    return convolution(xp, *arrays, layout=layout, **params)


convolution_v1.infer(convolution_shapes)


@convolution_v1.sample
def _(draw):
    return draw(draw.real((2, 4, 5, 6)), draw.real((3, 4, 3, 3)), draw.real((3,)), kernel=(3, 3), num_filter=3, pad=(1, 1))


@op("Pooling_v1", real=True, drawn_as="pooling", label="{pool_type|max}, {kernel|global}/{stride|1}")
def pooling_v1(
    xp,
    data,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
):
    """`Pooling` of images (n, c, h, w) as in MXNet 0.x: padding is 0 also for "max", and "avg" divides by the kernel's size everywhere."""
    if len(data.shape) != 4:
        raise ShapeError("Pooling_v1: needs images", data.shape, "pass data (n, c, h, w)")
    if global_pool:
        return pooling(xp, data, pool_type=pool_type, global_pool=True)
    kernel, stride, pad = per_axis("Pooling_v1", 4, kernel=kernel, stride=stride, pad=pad)
    # the padding is made here, of zeros, where `pooling` would leave it out of maxima and means
    kind = "max" if pool_type == "max" else "sum"
    windows = {"kernel": kernel, "stride": stride, "pooling_convention": pooling_convention}
    out = pooling(xp, padded(xp, data, pad, pad), pool_type=kind, **windows)
    return out / math.prod(kernel) if pool_type == "avg" else out


@pooling_v1.sample
def _(draw):
    image = draw.real((2, 2, 5, 4), distinct=True)
    return [
        draw(image, kernel=(2, 2), stride=(2, 2)),
        draw(image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", pooling_convention="full"),
    ]
