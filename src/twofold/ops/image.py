"""Operators on images (h, w, c), for data augmentation: to tensors, cropped, flipped, with other colors, or with a border.

Random ones draw their factors on the image's device. Results of integer images are cut off at the dtype's range and truncated.
"""

from functools import partial

from ..dtype import FLOATS, NUMPY
from ..errors import ParameterError, ShapeError
from ..opdef import Floats, op
from .random_floats import bernoulli, normal, substream, uniform

#: The weights of red, green and blue in the brightness that the eye sees.
GRAY = (0.299, 0.587, 0.114)
#: The principal components of the colors of ImageNet, with their standard deviations.
#: Source: Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", NIPS 2012.
SPREAD = (55.46, 4.794, 1.148)
COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


def _check(name, data, ndim=(3,)):
    if len(data.shape) not in ndim:
        raise ShapeError(f"{name}: needs images", data.shape, "pass (h, w, c)" + (" or (n, h, w, c)" if 4 in ndim else ""))


def _saturated(xp, x, like):
    """Numbers in the dtype of an image."""
    dtype = xp.dtype_of(like)
    if dtype in FLOATS:
        return xp.cast_like(x, like)
    # a cast of a number beyond the range would wrap around: a bright pixel would become dark
    limits = (0, 255) if dtype == "uint8" else (-(2 ** (8 * NUMPY[dtype].itemsize - 1)), 2 ** (8 * NUMPY[dtype].itemsize - 1) - 1)
    return xp.cast_like(xp.clip(x, *limits), like)


def _wide(xp, data):
    return xp.upcast(data) if xp.dtype_of(data) in FLOATS else xp.astype(data, dtype="float32")


# tensors


@op("_image_to_tensor", "_npx__image_to_tensor")
def to_tensor(xp, data):
    """Images (h, w, c) or (n, h, w, c) of numbers up to 255 as float32 tensors (c, h, w) or (n, c, h, w) of numbers up to 1."""
    _check("to_tensor", data, (3, 4))
    return xp.moveaxis(xp.cast(data, "float32"), -1, -3) / 255


to_tensor.dtypes(lambda dtypes: ["float32"])
to_tensor.sample(lambda draw: [draw(draw.integer((2, 3, 3), 0, 256)), draw(draw.integer((2, 2, 3, 1), 0, 256))])


@op("_image_normalize", "_npx__image_normalize")
def normalize(xp, data, *, mean: Floats = (0.0, 0.0, 0.0, 0.0), std: Floats = (1.0, 1.0, 1.0, 1.0)):
    """Tensors (c, h, w) or (n, c, h, w) minus ``mean`` over ``std``, one for each channel or one for all; c is 1 or 3."""
    _check("normalize", data, (3, 4))
    channels = data.shape[-3]
    if channels not in (1, 3):
        raise ShapeError("normalize: tensors have one or three channels", data.shape, "pass the result of to_tensor")
    if any(len(v) != channels and len(set(v)) != 1 for v in (mean, std)):
        raise ParameterError("normalize: needs a mean and a std for each channel", f"mean {mean}, std {std}", f"pass {channels} of each")
    per_channel = [v if len(v) == channels else (v[0],) * channels for v in (mean, std)]
    wide = _wide(xp, data)
    # means and deviations are numbers of the structure; an array of them would have to be filled in every run
    parts = [(xp.take_slice(wide, k, k + 1, -3) - m) / s for k, (m, s) in enumerate(zip(*per_channel, strict=True))]
    return xp.cast_like(xp.concat(*parts, axis=len(data.shape) - 3), data)


normalize.sample(lambda draw: draw(draw.real((3, 2, 2)), mean=(0.5, 0.25, 0.1), std=(0.5, 0.2, 2.0)))
normalize.sample(lambda draw: draw(draw.real((2, 1, 2, 2)), mean=(0.5,), std=(2.0,)))


# places


@op("_image_crop", "_npx__image_crop")
def crop(xp, data, *, x: int, y: int, width: int, height: int):
    """The part of images (h, w, c) or (n, h, w, c) of ``width`` and ``height`` whose left upper corner is at ``x`` and ``y``."""
    _check("crop", data, (3, 4))
    h, w = data.shape[-3:-1]
    if min(x, y) < 0 or min(width, height) < 1 or x + width > w or y + height > h:
        given = f"x {x}, y {y}, width {width}, height {height} of an image of {w} by {h}"
        raise ParameterError("crop: the part is not inside the image", given, "pass a part of the image")
    return xp.take_slice(xp.take_slice(data, y, y + height, -3), x, x + width, -2)


crop.sample(lambda draw: draw(draw.real((4, 5, 3)), x=1, y=2, width=3, height=2))


@op("_image_flip_left_right", "_npx__image_flip_left_right", keeps_shape=True)
def flip_left_right(xp, data):
    """Images (h, w, c) or (n, h, w, c) mirrored, left and right exchanged."""
    _check("flip_left_right", data, (3, 4))
    return xp.flip(data, axis=len(data.shape) - 2)


@op("_image_flip_top_bottom", "_npx__image_flip_top_bottom", keeps_shape=True)
def flip_top_bottom(xp, data):
    """Images (h, w, c) or (n, h, w, c) upside down."""
    _check("flip_top_bottom", data, (3, 4))
    return xp.flip(data, axis=len(data.shape) - 3)


flip_left_right.sample(lambda draw: draw(draw.real((2, 3, 3))))
flip_top_bottom.sample(lambda draw: draw(draw.real((2, 3, 3))))


def _each(data):
    """The shape of one number for each image: 0-d for a single one."""
    return (data.shape[0], 1, 1, 1) if len(data.shape) == 4 else ()


def _flipped_at_random(xp, data, rng, axis):
    return xp.where(bernoulli(xp, rng, _each(data), 0.5), xp.flip(data, axis=len(data.shape) + axis), data)


@op("_image_random_flip_left_right", "_npx__image_random_flip_left_right", keeps_shape=True)
def random_flip_left_right(xp, data, rng):
    """Images (h, w, c) or (n, h, w, c), each mirrored with a probability of one half."""
    _check("random_flip_left_right", data, (3, 4))
    return _flipped_at_random(xp, data, rng, -2)


@op("_image_random_flip_top_bottom", "_npx__image_random_flip_top_bottom", keeps_shape=True)
def random_flip_top_bottom(xp, data, rng):
    """Images (h, w, c) or (n, h, w, c), each upside down with a probability of one half."""
    _check("random_flip_top_bottom", data, (3, 4))
    return _flipped_at_random(xp, data, rng, -3)


for _op in (random_flip_left_right, random_flip_top_bottom):
    _op.sample(lambda draw: [draw(draw.real(shape), gradient=False) for shape in ((2, 3, 3), (2, 2, 3, 3))])


def _bordered(np, image, *, top, bot, left, right, type, value, values):
    width = [(top, bot), (left, right), (0, 0)]
    if type:
        return np.pad(image, width, mode={1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}[type])
    out = np.empty((image.shape[0] + top + bot, image.shape[1] + left + right, image.shape[2]), image.dtype)
    # `resize` repeats a single value for all channels
    color = np.resize(np.array(values or (value,), "float64"), image.shape[2])
    # OpenCV rounds a color and cuts it off at the dtype's range
    whole = image.dtype.kind in "iu"
    out[...] = np.clip(np.rint(color), np.iinfo(image.dtype).min, np.iinfo(image.dtype).max) if whole else color
    out[top : top + image.shape[0], left : left + image.shape[1]] = image
    return out


@op("_cvcopyMakeBorder", differentiable=False)
def copy_make_border(xp, src, *, top: int, bot: int, left: int, right: int, type: int = 0, value: float = 0.0, values: Floats = ()):
    """An image (h, w, c) with a border of as many pixels at each side.

    ``type`` 0 is a color, ``value`` or ``values`` for each channel; 1 repeats the edge; 2 and 4 mirror the image, 4 without repeating the
    edge; 3 continues it at the opposite side. No gradient.
    """
    _check("copyMakeBorder", src)
    if min(top, bot, left, right) < 0 or type not in range(5) or (type and 0 in src.shape):
        given = f"borders {top}, {bot}, {left}, {right}, type {type}"
        raise ParameterError("copyMakeBorder: wrong border", given, "pass non-negative widths and a type from 0 to 4")
    if values and len(values) < src.shape[2]:
        raise ParameterError("copyMakeBorder: needs a value for each channel", values, f"pass {src.shape[2]}")
    shape = (src.shape[0] + top + bot, src.shape[1] + left + right, src.shape[2])
    given = {"top": top, "bot": bot, "left": left, "right": right, "type": type, "value": value, "values": tuple(values)}
    return xp.host(_bordered, src, like=xp.zeros(shape, xp.dtype_of(src)), **given)


@copy_make_border.sample
def _(draw):
    image = draw.integer((3, 3, 3), 0, 256, "uint8")
    return [draw(image, top=1, bot=0, left=2, right=1, type=k, values=(1.0, 2.0, 3.0), gradient=False) for k in (0, 4)]


# colors


def _factor(xp, rng, data, low, high):
    """A number for each image."""
    return low + (high - low) * uniform(xp, rng, _each(data), "float32")


def _gray(xp, x):
    """The brightness of each pixel (…, h, w, 1)."""
    return sum(xp.take_slice(x, k, k + 1, -1) * weight for k, weight in enumerate(GRAY))


def _brightened(xp, x, factor):
    return x * factor


def _contrasted(xp, x, factor):
    of = _gray(xp, x) if x.shape[-1] == 3 else x
    # of an image its own mean, not that of the batch
    mean = xp.mean(of, axis=None) if len(x.shape) == 3 else xp.mean(of, axis=(1, 2, 3), keepdims=True)
    return x * factor + mean * (1 - factor)


def _saturation_changed(xp, x, factor):
    return x * factor + _gray(xp, x) * (1 - factor) if x.shape[-1] == 3 else x


def _hue_changed(xp, x, factor):
    """The colors turned by a share of the circle of hues, with the same lightness and saturation."""
    if x.shape[-1] != 3:
        return x
    red, green, blue = (xp.take_slice(x, k, k + 1, -1) / 255 for k in range(3))
    top, low = xp.maximum(xp.maximum(red, green), blue), xp.minimum(xp.minimum(red, green), blue)
    extent, both = top - low, top + low
    colored = xp.greater(extent, 0)
    divisor = xp.where(colored, extent, 1)
    # the hue in sixths of the circle: 0 is red, 2 green and 4 blue
    by_blue = (red - green) / divisor + 4
    hue = xp.where(xp.equal(top, red), (green - blue) / divisor, xp.where(xp.equal(top, green), (blue - red) / divisor + 2, by_blue))
    hue = xp.remainder(hue + factor * 6, 6)
    # the smallest and the largest part do not change with the hue; see Smith, "Color gamut transform pairs", 1978
    light = both / 2
    parts = []
    for turn in (2, 0, 4):  # a channel is the largest if the hue is less than 1 from that channel's, and the smallest beyond 2
        away = xp.remainder(hue + turn, 6)
        ramp = xp.clip(xp.minimum(away, 4 - away), 0, 1)
        parts.append(xp.where(colored, low + extent * ramp, light))
    return xp.concat(*parts, axis=len(x.shape) - 1) * 255


def _recolored(xp, name, data, change, rng, low, high):
    _check(name, data, (3, 4))
    if not (low >= 0 and high >= 0):
        raise ParameterError(f"{name}: factors must not be negative", f"{low} to {high}", "pass min_factor and max_factor of at least 0")
    return _saturated(xp, change(xp, _wide(xp, data), _factor(xp, rng, data, low, high)), data)


@op("_image_random_brightness", "_npx__image_random_brightness", keeps_shape=True)
def random_brightness(xp, data, rng, *, min_factor: float, max_factor: float):
    """Images (h, w, c) or (n, h, w, c), each times a factor, drawn between the two."""
    return _recolored(xp, "random_brightness", data, _brightened, rng, min_factor, max_factor)


@op("_image_random_contrast", "_npx__image_random_contrast", keeps_shape=True)
def random_contrast(xp, data, rng, *, min_factor: float, max_factor: float):
    """Images (h, w, c) or (n, h, w, c) with their differences from their mean brightness times a factor of each, drawn between the two."""
    return _recolored(xp, "random_contrast", data, _contrasted, rng, min_factor, max_factor)


@op("_image_random_saturation", "_npx__image_random_saturation", keeps_shape=True)
def random_saturation(xp, data, rng, *, min_factor: float, max_factor: float):
    """Images (h, w, 3) or (n, h, w, 3) with their differences from gray times a factor of each, drawn between the two.

    Other images are unchanged.
    """
    return _recolored(xp, "random_saturation", data, _saturation_changed, rng, min_factor, max_factor)


@op("_image_random_hue", "_npx__image_random_hue", keeps_shape=True)
def random_hue(xp, data, rng, *, min_factor: float, max_factor: float):
    """Images (h, w, 3) or (n, h, w, 3) of numbers up to 255, the hues of each turned by a share of the circle, drawn between the two.

    Other images are unchanged.
    """
    return _recolored(xp, "random_hue", data, _hue_changed, rng, min_factor, max_factor)


for _op in (random_brightness, random_contrast, random_saturation, random_hue):
    _op.sample(
        lambda draw: [
            draw(draw.integer(shape, 0, 256), min_factor=0.5, max_factor=1.5, gradient=False) for shape in ((3, 4, 3), (2, 3, 4, 3))
        ]
    )


@op("_image_random_color_jitter", "_npx__image_random_color_jitter", keeps_shape=True)
def random_color_jitter(xp, data, rng, *, brightness: float, contrast: float, saturation: float, hue: float):
    """Images (h, w, c) or (n, h, w, c) with another brightness, contrast, saturation and hue, in random order, the same for a batch.

    The factors of each image are drawn up to the parameter away from 1, that of the hue away from 0.
    """
    _check("random_color_jitter", data, (3, 4))
    if min(brightness, contrast, saturation, hue) < 0:
        given = f"brightness {brightness}, contrast {contrast}, saturation {saturation}, hue {hue}"
        raise ParameterError("random_color_jitter: ranges must not be negative", given, "pass numbers of at least 0")
    ranges = ((_brightened, brightness, 1), (_contrasted, contrast, 1), (_saturation_changed, saturation, 1), (_hue_changed, hue, 0))
    changes = []
    for change, extent, center in ranges:
        if extent > 0:
            # factors around 1 stop at 0: a negative brightness has no meaning
            low = max(0, center - extent) if center else -extent
            factor = _factor(xp, substream(xp, rng, len(changes)), data, low, center + extent)
            changes.append(partial(_changed, xp, change=change, factor=factor, like=data))
    if len(changes) < 2:
        return changes[0](data) if changes else data
    # the changes draw their factors from the streams before this one
    return _in_order(xp, data, changes, uniform(xp, substream(xp, rng, len(changes)), (len(changes),), "float32"))


def _changed(xp, x, *, change, factor, like):
    return _saturated(xp, change(xp, _wide(xp, x), factor), like)


def _in_order(xp, data, changes, draws):
    """An image after all changes, in the order of the numbers that were drawn for them."""
    # the order is drawn on the device, so it is not known when the program is made: each turn computes the changes that it may have to
    # make. The last one, that of the hue, takes longer than all others: it is computed once, between the turns before it and those after
    *others, last = changes
    order = xp.argsort(draws, axis=0)
    place = xp.take_slice(xp.argsort(order, axis=0), len(others), len(changes), 0)

    def turn(x, number, is_made):
        chosen, found = xp.take_slice(order, number, number + 1, 0), x
        for k, change in enumerate(others):
            now = xp.logical_and(xp.equal(chosen, k), is_made)
            found = xp.where(xp.reshape(now, shape=()), change(x), found)
        return found

    x = data
    for number in range(len(others)):
        x = turn(x, number, xp.greater(place, number))
    x = last(x)
    for number in range(1, len(changes)):
        x = turn(x, number, xp.less(place, number))
    return x


@random_color_jitter.sample
def _(draw):
    image = draw.integer((3, 4, 3), 0, 256)
    return [
        draw(image, brightness=0.2, contrast=0.3, saturation=0.4, hue=0.1, gradient=False),
        draw(image, brightness=0.0, contrast=0.0, saturation=0.0, hue=0.1, gradient=False),
        draw(draw.integer((2, 3, 4, 3), 0, 256), brightness=0.2, contrast=0.3, saturation=0.4, hue=0.1, gradient=False),
    ]


def _lit(xp, data, alpha):
    """Images plus multiples of the principal components of colors; ``alpha`` are three numbers, or arrays of one for each image."""
    if data.shape[-1] != 3:
        return data
    x = _wide(xp, data)
    # the rows of the matrix are red, green and blue, its columns the components
    shifts = [sum(c * s * a for c, s, a in zip(row, SPREAD, alpha, strict=True)) for row in COMPONENTS]
    parts = [xp.take_slice(x, k, k + 1, -1) + shift for k, shift in enumerate(shifts)]
    return _saturated(xp, xp.concat(*parts, axis=len(data.shape) - 1), data)


@op("_image_adjust_lighting", "_npx__image_adjust_lighting", keeps_shape=True)
def adjust_lighting(xp, data, *, alpha: Floats):
    """An image (h, w, 3) plus ``alpha`` times the three principal components of the colors of ImageNet; other images are unchanged."""
    _check("adjust_lighting", data)
    if len(alpha) != 3:
        raise ParameterError("adjust_lighting: needs three factors", alpha, "pass one for each component")
    return _lit(xp, data, alpha)


@op("_image_random_lighting", "_npx__image_random_lighting", keeps_shape=True)
def random_lighting(xp, data, rng, *, alpha_std: float = 0.05):
    """`adjust_lighting` by normally distributed factors of a standard deviation, others for each image of (n, h, w, 3)."""
    _check("random_lighting", data, (3, 4))
    factors = normal(xp, rng, (3, *_each(data)), "float32") * alpha_std
    return _lit(xp, data, [xp.reshape(xp.take_slice(factors, k, k + 1, 0), shape=_each(data)) for k in range(3)])


adjust_lighting.sample(lambda draw: draw(draw.integer((3, 4, 3), 0, 256), alpha=(0.1, -0.2, 0.3)))
random_lighting.sample(lambda draw: [draw(draw.integer(shape, 0, 256), gradient=False) for shape in ((3, 4, 3), (2, 3, 4, 3))])
