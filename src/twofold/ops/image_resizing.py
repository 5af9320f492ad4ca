"""Images (…, h, w, c) resized as OpenCV does it: a weighted sum of pixels along each axis, in fixed point for bytes.

Sources: the formulas of OpenCV's documentation; Keys, "Cubic convolution interpolation", IEEE ASSP 1981, with a = -0.75; Lanczos
windows of 8 pixels; fixed-point weights have 11 bits.
"""

from ..dtype import FLOATS
from ..errors import DTypeError, ParameterError, ShapeError
from ..opdef import Shape, op

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, EXACT = range(6)
#: Fixed-point weights of bytes: 11 bits, and 8 bits where every result must be rounded correctly.
BITS, EXACT_BITS = 11, 8
DTYPES = ("uint8", *FLOATS)
#: Other dtypes, resized by their nearest pixels. Signed bytes are also interpolated, as if they were bytes without a sign.
COPIED = ("int8", "int32")


def _scale(size, new):
    """Pixels of the old size per pixel of the new one, rounded as in OpenCV: plain division could select a neighbor at a boundary."""
    return 1 / (new / size)


def _nearest(np, size, new):
    return np.minimum((np.arange(new) * _scale(size, new)).astype("int64"), size - 1)[:, None], np.ones((new, 1))


def _centers(np, size, new):
    """The pixel below each new one, and the distance from it: (new,) each."""
    # centers of pixels are at halves; OpenCV, too, rounds the position to float32 before it takes the fraction
    at = ((np.arange(new) + 0.5) * _scale(size, new) - 0.5).astype("float32")
    low = np.floor(at)
    return low.astype("int64"), (at - low).astype("float64")


def _linear(np, size, new):
    low, share = _centers(np, size, new)
    # beyond the centers of the outermost pixels the edge is repeated, since there is no second pixel to interpolate with
    share = np.where((low < 0) | (low >= size - 1), 0, share)
    low = np.clip(low, 0, size - 1)
    return np.stack([low, np.minimum(low + 1, size - 1)], 1), np.stack([1 - share, share], 1)


def _enlarged_area(np, size, new):
    """Enlargement by whole pixels, with a blend where a new pixel covers two."""
    low = np.floor(np.arange(new) * _scale(size, new))
    share = np.arange(1, new + 1) - (low + 1) * (new / size)
    share = np.where(share <= 0, 0, share - np.floor(share))
    share = np.where(low >= size - 1, 0, share)
    low = np.clip(low.astype("int64"), 0, size - 1)
    return np.stack([low, np.minimum(low + 1, size - 1)], 1), np.stack([1 - share, share], 1)


def _window(np, size, low, offsets):
    """Pixels at offsets from the pixel below; the edge replaces pixels outside the image."""
    return np.clip(low[:, None] + np.array(offsets), 0, size - 1)


def _cubic(np, size, new):
    low, x = _centers(np, size, new)
    a, y = -0.75, 1 - x
    # Keys' kernel: a t³ - 5a t² + 8a t - 4a for distances t from 1 to 2, and (a + 2) t³ - (a + 3) t² + 1 below 1
    far = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    near, next_ = (((a + 2) * t - (a + 3)) * t * t + 1 for t in (x, y))
    # the last weight is the rest to 1, as in OpenCV: rounding must not change the brightness
    return _window(np, size, low, range(-1, 3)), np.stack([far, near, next_, 1 - far - near - next_], 1)


def _lanczos(np, size, new):
    low, x = _centers(np, size, new)
    # the distances from the eight pixels; the fourth is the nearest pixel below
    t = x[:, None] + 3 - np.arange(8)
    weight = np.sinc(t) * np.sinc(t / 4)
    return _window(np, size, low, range(-3, 5)), weight / weight.sum(1, keepdims=True)


def _covered(np, size, new):
    """The share of each pixel in the new ones, as far as they cover it."""
    scale = _scale(size, new)
    first, last = np.arange(new) * scale, np.minimum((np.arange(new) + 1) * scale, size)
    # an edge that rounding has put just below the boundary of two pixels belongs to the upper one
    low = np.floor(first + 1e-9).astype("int64")
    pixels = low[:, None] + np.arange(int(np.ceil(scale)) + 1)
    share = np.clip(np.minimum(pixels + 1, last[:, None]) - np.maximum(pixels, first[:, None]), 0, 1)
    share[share < 1e-3] = 0  # OpenCV drops slivers
    return np.minimum(pixels, size - 1), share / share.sum(1, keepdims=True)


_TAPS = {NEAREST: _nearest, LINEAR: _linear, CUBIC: _cubic, LANCZOS: _lanczos, EXACT: _linear}


def _across(np, lines, taps, channels, dtype):
    """Weighted sums of the pixels of lines (…, h, w · c) along each line: (…, h, new · c)."""
    # every channel has its own place and weight: products with (new, 1) weights would run over c elements at a time
    places = (taps[0][:, None] * channels + np.arange(channels)[:, None]).reshape(-1, taps[0].shape[1])
    weights = np.repeat(taps[1].astype(dtype), channels, axis=0)
    return _summed(np, (np.multiply(np.take(lines, at, -1), weight, dtype=dtype) for at, weight in zip(places.T, weights.T, strict=True)))


def _down(np, lines, taps, dtype):
    """Weighted sums of lines (…, h, w · c): (…, new, w · c)."""
    pairs = zip(taps[0].T, taps[1].astype(dtype).T[:, :, None], strict=True)
    return _summed(np, (np.multiply(np.take(lines, at, -2), weight, dtype=dtype) for at, weight in pairs))


def _summed(np, parts):
    total = next(parts)
    for part in parts:
        total += part
    return total


def _fixed(np, taps, bits):
    index, weight = taps
    # sums of products of bytes, two weights and their rounding stay below 2³¹, even where weights are negative: Lanczos comes to 98 % of it
    return index, np.rint(weight.astype("float32") * 2**bits).astype("int32")


def _bytes(np, lines, rows, columns, channels, kind):
    """Bytes interpolated in fixed point, as OpenCV's code for processors without vector instructions."""
    bits = EXACT_BITS if kind == EXACT else BITS
    rows, wide = _fixed(np, rows, bits), _across(np, lines, _fixed(np, columns, bits), channels, "int32")
    if kind in (LINEAR, AREA):
        # shifted by 4, 16 and 2 bits as in OpenCV: any other rounding would change the last bit of results
        wide >>= 4
        parts = [np.take(wide, at, -2) * weight[:, None] >> 16 for at, weight in zip(rows[0].T, rows[1].T, strict=True)]
        return (parts[0] + parts[1] + 2) >> 2
    # the bits of both axes are shifted out at once, after half of the last place is added to round to the nearest
    return (_down(np, wide, rows, "int32") + (1 << (2 * bits - 1))) >> (2 * bits)


def resized(np, image, *, height, width, interp):
    """Images (…, h, w, c) of another size."""
    *_, h, w, channels = image.shape
    if (h, w) == (height, width):
        return image
    shrinks = h >= height and w >= width
    halved = (h, w) == (2 * height, 2 * width)
    # if both sides are halved, OpenCV replaces linear interpolation by the mean of four pixels, which differs only in rounding
    kind = AREA if interp == LINEAR and halved else interp
    taps = _covered if kind == AREA and shrinks else _enlarged_area if kind == AREA else _TAPS[kind]
    rows, columns = taps(np, h, height), taps(np, w, width)
    if kind == NEAREST:
        return np.take(np.take(image, rows[0][:, 0], -3), columns[0][:, 0], -2)
    if image.dtype == np.int8:
        return resized(np, image.view("uint8"), height=height, width=width, interp=interp).view("int8")
    # a much smaller image reads few lines
    read, place = np.unique(rows[0], return_inverse=True)
    lines, rows = np.take(image, read, -3), (place.reshape(rows[0].shape), rows[1])
    lines = lines.reshape(*lines.shape[:-2], w * channels)
    shape = (*image.shape[:-3], height, width, channels)
    # OpenCV computes the means of areas in floating point, all else of bytes in fixed point
    if image.dtype == np.uint8 and taps is not _covered:
        return np.clip(_bytes(np, lines, rows, columns, channels, kind), 0, 255).astype(image.dtype).reshape(shape)
    wide = "float64" if image.dtype == np.float64 else "float32"
    found = _down(np, _across(np, lines, columns, channels, wide), rows, wide)
    if image.dtype == np.uint8:
        # the mean of four bytes is rounded up, others to the even number
        found = np.clip(np.floor(found + 0.5) if halved else np.rint(found), 0, 255)
    return found.astype(image.dtype).reshape(shape)


def resize_to(xp, name, data, height, width, interp):
    """The images resized, after checks."""
    if len(data.shape) not in (3, 4) or 0 in data.shape:
        raise ShapeError(f"{name}: needs images", data.shape, "pass (h, w, c) or (n, h, w, c)")
    if min(height, width) < 1 or interp not in range(6):
        raise ParameterError(f"{name}: wrong size or interpolation", f"{height} by {width}, interp {interp}", "pass interp from 0 to 5")
    dtype = xp.dtype_of(data)
    if dtype not in DTYPES and not (dtype in COPIED and (dtype == "int8" or interp == NEAREST)):
        raise DTypeError(f"{name}: only {', '.join(DTYPES)} can be resized", dtype, "cast the image")
    shape = (*data.shape[:-3], height, width, data.shape[-1])
    x = xp.upcast(data)
    found = xp.host(resized, x, like=xp.zeros(shape, xp.dtype_of(x)), height=height, width=width, interp=interp)
    return xp.downcast(found, data)


@op("_image_resize", "_npx__image_resize", differentiable=False)
def resize(xp, data, *, size: Shape = (), keep_ratio: bool = False, interp: int = 1):
    """Images (h, w, c) or (n, h, w, c) of another ``size``: (width, height), or one number for both.

    With ``keep_ratio`` one number is the shorter side. ``interp`` is 0 for the nearest pixel, 1 for linear, 2 for cubic and 4 for Lanczos
    interpolation, 3 for the mean of the area that a new pixel covers, 5 for correctly rounded linear interpolation. Results for bytes equal
    OpenCV's; some of linear and cubic interpolation differ by 1. No gradient.
    """
    if len(size) not in (1, 2):
        raise ParameterError("resize: size needs one or two numbers", size, "pass (width, height)")
    width, height = size[0], size[-1]
    if keep_ratio and len(size) == 1:
        h, w = data.shape[-3:-1]
        height, width = (size[0] * h // w, size[0]) if h > w else (size[0], size[0] * w // h)
    return resize_to(xp, "resize", data, height, width, interp)


resize.sample(lambda draw: draw(draw.integer((5, 6, 3), 0, 256, "uint8"), size=(4, 3), interp=2, gradient=False))
resize.sample(lambda draw: draw(draw.real((2, 5, 6, 1)), size=(8, 7), gradient=False))


@op("_cvimresize", "_npi_cvimresize", differentiable=False)
def opencv_resize(xp, src, *, w: int, h: int, interp: int = 1):
    """An image (h', w', c) resized to ``h`` by ``w``; see `resize` for ``interp``."""
    return resize_to(xp, "imresize", src, h, w, interp)


opencv_resize.sample(lambda draw: draw(draw.integer((4, 6, 3), 0, 256, "uint8"), w=3, h=2, gradient=False))
