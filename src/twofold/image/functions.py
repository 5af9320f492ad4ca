"""Functions of images: decoding, resizing, cropping and rotation. Images are arrays (h, w, c) of bytes, red first."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..errors import DTypeError, FormatError, InvalidValue, ParameterError, ShapeError, WrongArgument, WrongType
from ..formats.files import read_file
from ..formats.images import load_image
from ..imperative.array import Array
from ..numpy.array import ndarray
from ..numpy_extension import is_np_array
from ..ops.image_resizing import resized

if TYPE_CHECKING:
    import os

    from ..formats.records import Buffer
    from ..ndarray.array import NDArray

    #: A mean or a deviation of colors: one number, or one for each channel.
    Statistic = NDArray | np.ndarray | Sequence[float] | float | None

#: Width and height.
Size = tuple[int, int]
#: The share of the image that a part covers, or its limits.
Area = float | tuple[float, float]
#: The corner, width and height of a part: x, y, w, h.
Part = tuple[int, int, int, int]


def imdecode(buf: NDArray | np.ndarray | Buffer, flag: int = 1, to_rgb: bool | int = True, out: NDArray | None = None) -> NDArray:
    """Decode an image: JPEG, PNG, WebP, TIFF, GIF, BMP and others that Pillow reads.

    Parameters
    ----------
    buf
        The compressed image, as bytes or an array of bytes.
    flag
        1 for colors, 0 for gray.
    to_rgb
        Whether channels are red, green, blue; otherwise blue, green, red.
    out
        The array to write to.

    Returns
    -------
    NDArray
        The pixels, shape (h, w, 3) or (h, w, 1), dtype uint8.

    Raises
    ------
    FormatError
        If it is not an image or a damaged one.
    MissingDependency
        If Pillow is not installed.

    Examples
    --------
    >>> import numpy as np, twofold as mx
    >>> header, data = mx.recordio.unpack(mx.recordio.pack_img(mx.recordio.IRHeader(0, 1.0, 0, 0), np.zeros((4, 6, 3), "uint8")))
    >>> mx.image.imdecode(data).shape
    (4, 6, 3)
    """
    if not isinstance(buf, (Array, np.ndarray, bytes, bytearray, memoryview)):
        raise WrongArgument(
            "imdecode: the buffer must be bytes or an array of bytes", f"{type(buf).__name__}", "read the file in mode 'rb'"
        )
    data = bytes(buf.asnumpy()) if isinstance(buf, Array) else bytes(buf)
    if not data:
        raise FormatError("imdecode: the buffer is empty", None, "pass a compressed image")
    pixels = decoded(data, flag)
    if pixels.shape[-1] == 3 and not to_rgb:
        pixels = pixels[..., ::-1]
    return written(nd.array(pixels, dtype="uint8"), out)


def decoded(data: bytes, flag: int) -> np.ndarray:
    """The pixels of a compressed image as a NumPy array (h, w, 3), or (h, w, 1) if ``flag`` is 0."""
    record = load_image(data, 3 if flag else 1)
    return np.frombuffer(record.data, np.uint8).reshape(*(record.shape or ())[:2], 3 if flag else 1)


def imread(filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool | int = True, out: NDArray | None = None) -> NDArray:
    """Read and decode a file; see `imdecode`.

    Parameters
    ----------
    filename
        Path or URL of the file.
    flag, to_rgb, out
        As for `imdecode`.

    Raises
    ------
    MissingFileError, FileAccessError
        If the file cannot be read.
    FormatError
        If it is not an image or a damaged one.
    """
    try:
        return imdecode(read_file(filename), flag, to_rgb, out)
    except FormatError as error:
        raise error.at_path(filename) from None


def written(image: NDArray, out: NDArray | None = None) -> Any:
    """An image in ``out``, else as a new array, of `mx.np` if ``npx.set_np`` is in effect."""
    if out is None:
        return image._into_numpy() if is_np_array() else image
    out[:] = image
    return out


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """Resize an image (h', w', c).

    Parameters
    ----------
    src
        The image.
    w, h
        The new width and height.
    interp
        The interpolation: 0 nearest pixel, 1 linear, 2 cubic, 3 areas, 4 Lanczos, 5 linear and correctly rounded; 9 areas if the image
        shrinks, cubic if it grows, linear otherwise; 10 for one of the first five at random.
    out
        The array to write to.

    Returns
    -------
    NDArray
        The resized image, shape (h, w, c), as OpenCV does it; some bytes of linear and cubic interpolation differ by 1.

    Raises
    ------
    ParameterError
        If a size is not positive, or the interpolation unknown.
    """
    if not isinstance(src, (Array, np.ndarray)):
        raise WrongType("imresize: src must be an NDArray", type(src).__name__, "pass mx.nd.array(image)")
    method = method_of(interp, (*src.shape[:2], h, w))
    if isinstance(src, ndarray):
        legacy_out = None if out is None else out.as_nd_ndarray()
        return nd._internal._cvimresize(src.as_nd_ndarray(), w=w, h=h, interp=method, out=legacy_out)._into_numpy()
    return nd._internal._cvimresize(src, w=w, h=h, interp=method, out=out)


def imresize_pixels(pixels: np.ndarray, w: int, h: int, interp: int) -> np.ndarray:
    """`imresize` of a NumPy array."""
    return resized(np, pixels, height=h, width=w, interp=interp)


def method_of(interp: int, sizes: Sequence[int] = ()) -> int:
    """The interpolation from 0 to 5 that a number up to 10 means for a change of (old height, old width, new height, new width)."""
    if interp == 9:
        if not sizes:
            return 2
        old, new = sizes[:2], sizes[2:]
        if all(b > a for a, b in zip(old, new, strict=True)):
            return 2
        return 3 if all(b < a for a, b in zip(old, new, strict=True)) else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(6):
        raise InvalidValue(f"Unknown interp method {interp}", None, "pass 0 to 5, 9 or 10")
    return interp


def copyMakeBorder(src: NDArray, top: int, bot: int, left: int, right: int, *args: Any, **kwargs: Any) -> NDArray:
    """Add a border to an image (h, w, c).

    Parameters
    ----------
    src
        The image.
    top, bot, left, right
        Numbers of pixels.
    *args, **kwargs
        ``type`` (0 a color, 1 the repeated edge, 2 and 4 the mirrored image, 3 the opposite side), ``value`` or ``values`` of the color,
        and ``out``.
    """
    return nd._internal._cvcopyMakeBorder(src, top, bot, left, right, *args, **kwargs)


def scale_down(src_size: Sequence[float], size: Sequence[float]) -> Size:
    """Shrink a size so that it fits into an image, with the same aspect ratio.

    Parameters
    ----------
    src_size
        Width and height of the image.
    size
        The wanted width and height.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.image.scale_down((640, 480), (720, 120))
    (640, 106)
    """
    (w, h), (sw, sh) = size, src_size
    if sh < h:
        w, h = w * sh / h, sh
    if sw < w:
        w, h = sw, h * sw / w
    return int(w), int(h)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """Resize an image (h, w, c) so that its shorter side has a given length; see `imresize` for ``interp``.

    Parameters
    ----------
    src
        The image.
    size
        Length of the shorter side, in pixels.
    interp
        See `imresize`.
    """
    h, w = src.shape[:2]
    return imresize(src, *with_short_side(w, h, size), interp)


def with_short_side(w: int, h: int, size: int) -> Size:
    """Width and height with the same aspect ratio; the shorter side is ``size``."""
    # the longer side is rounded down, as in MXNet
    return (size, size * h // w) if h > w else (size * w // h, size)


def fixed_crop(src: NDArray, x0: int, y0: int, w: int, h: int, size: Size | None = None, interp: int = 2) -> NDArray:
    """Cut a part out of an image (h, w, c), and resize it.

    Parameters
    ----------
    src
        The image.
    x0, y0
        The upper left corner.
    w, h
        Width and height of the part.
    size
        The new width and height; None to keep the part's size.
    interp
        See `imresize`.
    """
    part = src[y0 : y0 + h, x0 : x0 + w]
    return part if size is None or (w, h) == tuple(size) else imresize(part, *size, interp)


def random_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Part]:
    """Cut a part of a size (width, height) out of an image (h, w, c) at a random place.

    If the image is smaller, the part is as large as the aspect ratio allows, and is then enlarged; see `imresize` for ``interp``.

    Parameters
    ----------
    src
        The image.
    size
        Width and height of the part, in pixels.
    interp
        See `imresize`.

    Returns
    -------
    The part, and its corner, width and height in the image.
    """
    h, w = src.shape[:2]
    new_w, new_h = scale_down((w, h), size)
    part = random.randint(0, w - new_w), random.randint(0, h - new_h), new_w, new_h
    return fixed_crop(src, *part, size, interp), part


def center_crop(src: NDArray, size: Size, interp: int = 2) -> tuple[NDArray, Part]:
    """Cut a part of a size (width, height) out of the center of an image (h, w, c); see `random_crop`.

    Parameters
    ----------
    src, size, interp
        As for `random_crop`.
    """
    h, w = src.shape[:2]
    new_w, new_h = scale_down((w, h), size)
    part = (w - new_w) // 2, (h - new_h) // 2, new_w, new_h
    return fixed_crop(src, *part, size, interp), part


def random_size_crop(
    src: NDArray, size: Size, area: Area, ratio: tuple[float, float], interp: int = 2, **kwargs: Area
) -> tuple[NDArray, Part]:
    """Cut a part of a random size and aspect ratio out of an image (h, w, c) at a random place, and resize it.

    Parameters
    ----------
    src
        The image.
    size
        The new width and height.
    area
        Limits of the part's share of the image's area; a single number is the lower one.
    ratio
        Limits of its width over its height.
    interp
        See `imresize`.
    **kwargs
        ``min_area``, an older name of ``area``.

    Returns
    -------
    The part, and its corner, width and height in the image. If ten attempts do not fit, it is the center.
    """
    area = kwargs.pop("min_area", area)
    if kwargs:
        raise ParameterError("random_size_crop: unexpected keyword arguments", ", ".join(kwargs), "omit them")
    found = random_part(src.shape[0], src.shape[1], (area, 1.0) if isinstance(area, (int, float)) else area, ratio)
    return (fixed_crop(src, *found, size, interp), found) if found else center_crop(src, size, interp)


def random_part(h: int, w: int, area: tuple[float, float], ratio: tuple[float, float]) -> Part | None:
    """A random part of an image: corner, width and height; None if ten attempts do not fit."""
    for _ in range(10):
        pixels = random.uniform(*area) * h * w
        # uniform in its logarithm, so that 1/2 and 2 are equally likely
        aspect = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        width, height = round(math.sqrt(pixels * aspect)), round(math.sqrt(pixels / aspect))
        if 0 < width <= w and 0 < height <= h:
            return random.randint(0, w - width), random.randint(0, h - height), width, height
    return None


def color_normalize(src: NDArray, mean: NDArray | float | None, std: NDArray | float | None = None) -> NDArray:
    """Subtract the mean from an image (h, w, c) and divide it by the standard deviation, in place; None skips a step.

    Parameters
    ----------
    src
        The image, of floating-point numbers.
    mean, std
        A number, or an array that broadcasts to the image, such as one number for each channel (c,).
    """
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(src: NDArray, rotation_degrees: NDArray | float, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """Rotate float32 images (c, h, w) or (n, c, h, w) about their centers, with zeros around them.

    Parameters
    ----------
    src
        The images.
    rotation_degrees
        The angle, counterclockwise; for a batch also an array with one for each image.
    zoom_in
        Whether to enlarge them until no zeros are seen.
    zoom_out
        Whether to shrink them until they are seen whole.

    Raises
    ------
    ParameterError
        If both are true, or an array of angles is given for a single image.
    DTypeError
        If the images are not float32, or the angle is neither a number nor an array.
    ShapeError
        If there are not as many angles as images.
    """
    if zoom_in and zoom_out:
        raise ParameterError("`zoom_in` and `zoom_out` cannot be both True", None, "choose one")
    if np.dtype(src.dtype) != np.float32:
        raise DTypeError("Only `float32` images are supported by this function", f"{np.dtype(src.dtype)}", "cast them")
    if src.ndim not in (3, 4):
        raise ShapeError("imrotate: images have 3 or 4 axes", src.shape, "pass (c, h, w) or (n, c, h, w)")
    images = src if src.ndim == 4 else src.expand_dims(0)
    if isinstance(rotation_degrees, Array):
        if src.ndim == 3:
            raise DTypeError("When a single image is passed the rotation angle is required to be a scalar", "an array", "pass a number")
        angles = rotation_degrees.asnumpy()
    elif not isinstance(rotation_degrees, (int, float, np.number)):
        raise DTypeError("imrotate: the rotation angle is neither a number nor an array", type(rotation_degrees).__name__, "pass degrees")
    else:
        angles = np.full(len(images), float(rotation_degrees))
    if len(angles) != len(images):
        given = f"{len(images)} and {len(angles)}"
        raise ShapeError(
            "The number of images must be equal to the number of rotation angles", given, "pass one angle, or one for each image"
        )
    rotated = nd.BilinearSampler(images, nd.array(_grid(images.shape[2:], angles, zoom_in, zoom_out), dtype="float32", ctx=src.context))
    return rotated if src.ndim == 4 else rotated[0]


def _grid(shape: Sequence[int], degrees: np.ndarray, zoom_in: bool, zoom_out: bool) -> np.ndarray:
    """Where to sample rotated images (n, 2, h, w)."""
    h, w = shape
    angle = np.radians(degrees.astype("float64"))[:, None, None]
    cos, sin = np.cos(angle), np.sin(angle)
    # coordinates in pixels from the center, where pixels are square; those of the sampler reach from -1 to 1 along each edge
    rows, columns = np.arange(h)[:, None] - (h - 1) / 2, np.arange(w)[None, :] - (w - 1) / 2
    across, down = columns * cos - rows * sin, columns * sin + rows * cos
    # how much larger than the image its bounds are once it is rotated; an image smaller by as much fits into the rotated one
    bounds = np.maximum(np.abs(cos) + h / w * np.abs(sin), w / h * np.abs(sin) + np.abs(cos))
    scale = bounds if zoom_out else 1 / bounds if zoom_in else 1
    return np.stack([across * scale / max((w - 1) / 2, 0.5), down * scale / max((h - 1) / 2, 0.5)], 1)


def random_rotate(src: NDArray, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """Rotate float32 images (c, h, w) or (n, c, h, w), each by a random angle between two limits; see `imrotate`.

    Parameters
    ----------
    src
        The images.
    angle_limits
        Smallest and largest angle, in degrees.
    zoom_in, zoom_out
        See `imrotate`.
    """
    if src.ndim == 3:
        return imrotate(src, np.random.uniform(*angle_limits), zoom_in, zoom_out)  # noqa: NPY002  (what MXNet draws from)
    angles = np.random.uniform(*angle_limits, size=src.shape[0])  # noqa: NPY002  (what MXNet draws from)
    return imrotate(src, nd.array(angles), zoom_in, zoom_out)
