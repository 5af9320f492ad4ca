"""``mx.nd.imdecode``, MXNet's first decoder of images; `mx.image` has its successor."""

from collections.abc import Sequence

import numpy as np

from ..errors import FormatError, ParameterError, ShapeError
from .array import NDArray
from .new_arrays import array


def imdecode(
    str_img: bytes | bytearray | memoryview,
    clip_rect: Sequence[int] = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """Decode an image into floats, channels first. Deprecated: use `mx.image.imdecode`.

    Parameters
    ----------
    str_img
        The compressed image: JPEG, PNG or another format that Pillow knows.
    clip_rect
        The rectangle (x0, y0, x1, y1) of the image to return; four zeros mean the whole image.
    out
        The array to write to, (c, h, w) or (n, c, h, w).
    index
        The number of the image in ``out``, if that has four axes.
    channels
        3 for red, green and blue, 1 for gray.
    mean
        The array to subtract, (c, h, w).

    Returns
    -------
    NDArray
        The pixels (c, h, w), float32; ``out`` if it is given.

    Raises
    ------
    FormatError
        If it is not an image or a damaged one.
    ParameterError
        If ``channels`` is neither 1 nor 3, the rectangle is not inside of the image, or ``index`` not in ``out``.
    ShapeError
        If ``mean`` or ``out`` has another shape than the pixels.
    MissingDependency
        If Pillow is not installed.
    """
    from ..formats.images import load_image  # here, as few programs decode images by this

    if channels not in (1, 3):
        raise ParameterError("imdecode: an image has 1 or 3 channels", f"channels={channels}", "pass 3 for colors, 1 for gray")
    data = bytes(str_img)
    if not data:
        raise FormatError("imdecode: the buffer is empty", None, "pass a compressed image")
    record = load_image(data, channels)
    pixels = np.frombuffer(record.data, np.uint8).reshape(*(record.shape or ())[:2], channels)
    height, width, _ = pixels.shape
    left, top, right, bottom = clip_rect if any(clip_rect) else (0, 0, width, height)
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise ParameterError("imdecode: the rectangle is not inside of the image", f"{tuple(clip_rect)} in {width}x{height}", "cut it")
    found = pixels[top:bottom, left:right].transpose(2, 0, 1).astype(np.float32)
    if mean is not None:
        if mean.shape != found.shape:
            raise ShapeError("imdecode: the mean has another shape than the pixels", f"{mean.shape} for {found.shape}", "pass (c, h, w)")
        found -= mean.asnumpy()
    if out is None:
        return array(found)
    if out.shape[-3:] != found.shape or len(out.shape) not in (3, 4):
        what = "imdecode: out has another shape than the pixels"
        raise ShapeError(what, f"{out.shape} for {found.shape}", "pass (c, h, w) or (n, c, h, w)")
    if len(out.shape) == 4 and not 0 <= index < out.shape[0]:
        raise ParameterError("imdecode: out has no image of this number", f"index={index} for {out.shape}", "pass one that it has")
    out[index if len(out.shape) == 4 else slice(None)] = found
    return out
