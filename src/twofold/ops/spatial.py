"""UpSampling: images enlarged by an integer factor, by repetition or by transposed convolution with a bilinear kernel."""

from typing import Literal

from ..errors import ParameterError, ShapeError
from ..opdef import Input, op
from .convolution import deconvolution


def _repeated(xp, image, height, width):
    """An image (n, c, h, w) with every pixel repeated to (n, c, height, width)."""
    n, c, h, w = image.shape
    if height % h or width % w:
        given = f"an input of {h} by {w} for {height} by {width}"
        todo = "pass inputs whose sizes divide scale times the first"
        raise ShapeError("UpSampling: the result is not a multiple of an input", given, todo)
    apart = xp.reshape(image, shape=(n, c, h, 1, w, 1))
    return xp.reshape(xp.broadcast_to(apart, shape=(n, c, h, height // h, w, width // w)), shape=(n, c, height, width))


def bilinear_kernel(scale):
    """Kernel size, stride and padding of the transposed convolution that enlarges by a factor."""
    # Caffe's formula; with these sizes a bilinear kernel interpolates between the two nearest pixels along an axis
    size = 2 * scale - scale % 2
    return {"kernel": (size, size), "stride": (scale, scale), "pad": (scale // 2, scale // 2)}


BILINEAR = "sample_type", "bilinear"
IMAGE = Input("data", optional=True, present=BILINEAR)
KERNEL = Input("weight", optional=True, present=BILINEAR, initial='["bilinear", {}]')


@op("UpSampling", count_param="num_args", alike=True, named_inputs=(IMAGE, KERNEL))
def up_sampling(
    xp,
    *data,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
):
    """Images (n, c, h, w) enlarged to ``scale`` times the first one's size.

    "nearest" repeats pixels; several inputs, each enlarged to the same size, are concatenated along the channels or summed.
    "bilinear" takes one image and a weight (c, 1, k, k), k = 2 · scale - scale % 2, of a transposed convolution per channel, which
    interpolates if it is initialized with `Bilinear`; ``num_filter`` is c. ``workspace`` has no effect.
    """
    if len(data[0].shape) != 4 or scale < 1:
        raise ShapeError("UpSampling: needs images and a positive scale", f"{data[0].shape}, scale {scale}", "pass (n, c, h, w)")
    if sample_type == "bilinear":
        if len(data) != 2:
            raise ParameterError("UpSampling: bilinear takes an image and a weight", f"{len(data)} inputs", "pass both")
        channels = data[0].shape[1]
        # a group per channel: each is interpolated by itself
        return deconvolution(xp, *data, num_filter=num_filter or channels, num_group=channels, **bilinear_kernel(scale))
    height, width = (n * scale for n in data[0].shape[2:])
    images = [_repeated(xp, image, height, width) for image in data]
    if multi_input_mode == "sum":
        return sum(images[1:], images[0])
    return images[0] if len(images) == 1 else xp.concat(*images, axis=1)


@up_sampling.infer
def _(shapes, *, scale, sample_type, **_):
    if sample_type == "nearest":
        return shapes
    channels = None if shapes[0] is None else shapes[0][1]
    return [shapes[0], (channels, 1, *bilinear_kernel(scale)["kernel"])]


@up_sampling.sample
def _(draw):
    image = draw.real((1, 2, 2, 3))
    return [
        draw(image, scale=2, sample_type="nearest"),
        draw(image, draw.real((2, 1, 4, 4)), scale=2, sample_type="bilinear", num_filter=2),
    ]
