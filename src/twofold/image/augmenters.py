"""Augmenters: callables that change an image (h, w, c) at random, or prepare it for a model. `CreateAugmenter` makes the usual list."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..errors import DTypeError, IndexingError, ParameterError
from ..imperative.array import Array
from .functions import (
    Size,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)

if TYPE_CHECKING:
    from ..ndarray.array import NDArray

#: The brightness of red, green and blue.
BRIGHTNESS = np.array([[[0.299, 0.587, 0.114]]], "float32")
#: Means, deviations and principal components of the colors of ImageNet.
MEAN, DEVIATION = np.array([123.68, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])
VARIANCES = np.array([55.46, 4.794, 1.148])
COMPONENTS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


class Described:
    """What all augmenters have: parameters that `dumps` shows."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """The name in lower case and the parameters, as JSON text."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """Base class of augmenters. Subclasses define ``__call__(self, src)``.

    Parameters
    ----------
    **kwargs
        The parameters, for `dumps`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """Return the changed image; the given one may be overwritten."""
        raise ParameterError(f"{type(self).__name__} has no __call__", None, "define __call__(self, src) in it")


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, Array):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


class SequentialAug(Augmenter):
    """Applies augmenters one after another.

    Parameters
    ----------
    ts
        The augmenters.
    """

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """The name and a list with the results of its augmenters' `dumps`."""
        return [type(self).__name__.lower(), [aug.dumps() for aug in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        """The image after all of them."""
        for aug in self.ts:
            src = aug(src)
        return src


class RandomOrderAug(SequentialAug):
    """Applies augmenters in random order.

    Parameters
    ----------
    ts
        The augmenters.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """The image after all of them."""
        order = list(self.ts)
        random.shuffle(order)
        for aug in order:
            src = aug(src)
        return src


class _Sized(Augmenter):
    """Augmenters that make images of a width and height."""

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp


class ResizeAug(Augmenter):
    """Resizes images so that the shorter side has a given length.

    Parameters
    ----------
    size
        Its length.
    interp
        See `imresize`.
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        """The resized image."""
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """Resizes images, regardless of their aspect ratio.

    Parameters
    ----------
    size
        The new width and height.
    interp
        See `imresize`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """The resized image."""
        return imresize(src, *self.size, self.interp)


class RandomCropAug(_Sized):
    """Cuts out a part at a random place; see `random_crop`.

    Parameters
    ----------
    size
        Width and height.
    interp
        See `imresize`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """The part."""
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Cuts out a part of a random size and aspect ratio; see `random_size_crop`.

    Parameters
    ----------
    size
        The new width and height.
    area, ratio
        Limits of the part's share of the area, and of its width over its height.
    interp
        See `imresize`.
    **kwargs
        ``min_area``, an older name of ``area``.
    """

    def __init__(self, size: Size, area: float | tuple[float, float], ratio: tuple[float, float], interp: int = 2, **kwargs: Any) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.area = kwargs.pop("min_area", area)
        if kwargs:
            raise ParameterError("RandomSizedCropAug: unexpected keyword arguments", ", ".join(kwargs), "omit them")
        self.size, self.ratio, self.interp = size, ratio, interp

    def __call__(self, src: NDArray) -> NDArray:
        """The part, of the new size."""
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_Sized):
    """Cuts out the center; see `center_crop`.

    Parameters
    ----------
    size
        Width and height.
    interp
        See `imresize`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """The center."""
        return center_crop(src, self.size, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Flips images horizontally with a probability.

    Parameters
    ----------
    p
        The probability.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        """The image, flipped or not."""
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Casts images.

    Parameters
    ----------
    typ
        The new dtype.
    """

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        """The image as that dtype."""
        return src.astype(self.typ)


class BrightnessJitterAug(Augmenter):
    """Multiplies floating-point images by a random factor, in place.

    Parameters
    ----------
    brightness
        How far the factor may be from 1.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        src *= 1 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Multiplies the differences of floating-point images from their mean brightness by a random factor, in place.

    Parameters
    ----------
    contrast
        How far the factor may be from 1.
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        factor = 1 + random.uniform(-self.contrast, self.contrast)
        gray = src * nd.array(BRIGHTNESS)
        mean = 3 * (1 - factor) / gray.size * gray.sum()
        src *= factor
        src += mean
        return src


class SaturationJitterAug(Augmenter):
    """Multiplies the differences of the colors of floating-point images from gray by a random factor, in place.

    Parameters
    ----------
    saturation
        How far the factor may be from 1.
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        factor = 1 + random.uniform(-self.saturation, self.saturation)
        gray = (src * nd.array(BRIGHTNESS)).sum(axis=2, keepdims=True) * (1 - factor)
        src *= factor
        src += gray
        return src


class HueJitterAug(Augmenter):
    """Turns the hues of floating-point images by a random angle.

    Parameters
    ----------
    hue
        The largest share of half a turn.

    Notes
    -----
    https://beesbuzz.biz/code/hsv_color_transforms.php: a rotation in the YIQ color space.
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        angle = math.pi * random.uniform(-self.hue, self.hue)
        cos, sin = math.cos(angle), math.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        return nd.dot(src, nd.array((self.ityiq @ turn @ self.tyiq).T))


class ColorJitterAug(RandomOrderAug):
    """Changes brightness, contrast and saturation of floating-point images, in random order.

    Parameters
    ----------
    brightness, contrast, saturation
        How far the factor of each may be from 1; 0 to leave it.
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        kinds = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([kind(limit) for kind, limit in kinds if limit > 0])


class LightingAug(Augmenter):
    """Adds random multiples of principal components of colors to floating-point images, in place.

    Parameters
    ----------
    alphastd
        The standard deviation of the multiples.
    eigval, eigvec
        The variances of the components, and the components as columns.

    Notes
    -----
    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", NIPS 2012.
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        multiples = np.random.normal(0, self.alphastd, size=3)  # noqa: NPY002  (what MXNet draws from)
        src += nd.array(np.dot(self.eigvec * multiples, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """Subtracts the mean from floating-point images and divides them by the standard deviation, in place.

    Parameters
    ----------
    mean, std
        Numbers, or arrays of shape (c,); None skips a step.
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = _array(mean)
        self.std = _array(std)

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        return color_normalize(src, self.mean, self.std)


def _array(value: Any) -> Any:
    return value if value is None or isinstance(value, (Array, int, float)) else nd.array(value)


class RandomGrayAug(Augmenter):
    """Makes floating-point images gray with a probability.

    Parameters
    ----------
    p
        The probability.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        """The image, gray or not."""
        return nd.dot(src, self.mat) if random.random() < self.p else src


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """The usual augmenters, in the usual order.

    Parameters
    ----------
    data_shape
        Shape (c, h, w) of the images in a batch.
    resize
        Length of the shorter side to which images are resized first; 0 to leave them.
    rand_crop
        Whether to cut out a part at a random place, instead of the center.
    rand_resize
        Whether the part has a random size and aspect ratio; needs ``rand_crop``.
    rand_mirror
        Whether to flip images horizontally with a probability of one half.
    mean, std
        To be subtracted from the colors, and to divide them by; True for those of ImageNet.
    brightness, contrast, saturation, hue
        How far these may change; see `ColorJitterAug` and `HueJitterAug`.
    pca_noise
        Standard deviation of the noise along principal components of ImageNet's colors; see `LightingAug`.
    rand_gray
        The probability that an image becomes gray.
    inter_method
        See `imresize`.

    Raises
    ------
    ParameterError
        If ``rand_resize`` is given without ``rand_crop``, or ``mean`` or ``std`` without 1 or 3 numbers.
    IndexingError, DTypeError
        If ``data_shape`` has fewer than three numbers, or is none.

    Examples
    --------
    >>> import twofold as mx
    >>> for aug in mx.image.CreateAugmenter((3, 300, 300), rand_mirror=True):
    ...     print(aug.dumps())
    ["centercropaug", {"size": [300, 300], "interp": 2}]
    ["horizontalflipaug", {"p": 0.5}]
    ["castaug", {"type": "float32"}]
    """
    if rand_resize and not rand_crop:
        raise ParameterError("CreateAugmenter: rand_resize needs rand_crop", "rand_crop=False", "pass rand_crop=True")
    size = size_in("CreateAugmenter", data_shape)
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        augmenters.append(RandomSizedCropAug(size, 0.08, (3 / 4, 4 / 3), inter_method))
    else:
        augmenters.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    mean, std = (None if value is None else nd.array(value) for value in (statistic("mean", mean, MEAN), statistic("std", std, DEVIATION)))
    return augmenters + color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)


def size_in(title: str, data_shape: Sequence[int]) -> Size:
    """Width and height of images of shape (c, h, w)."""
    if not isinstance(data_shape, (tuple, list)):
        raise DTypeError(f"{title}: data_shape is not a shape", f"{data_shape!r}", "pass (c, h, w)")
    if len(data_shape) < 3:
        raise IndexingError(f"{title}: data_shape is (c, h, w)", f"{data_shape}", "name channels, height and width")
    return data_shape[2], data_shape[1]


def color_augmenters(
    brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float, rand_gray: float, mean: Any, std: Any
) -> list[Augmenter]:
    """The last augmenters of `CreateAugmenter`, which change the colors of floating-point images."""
    found: list[Augmenter] = []
    if brightness or contrast or saturation:
        found.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        found.append(HueJitterAug(hue))
    if pca_noise > 0:
        found.append(LightingAug(pca_noise, VARIANCES, COMPONENTS))
    if rand_gray > 0:
        found.append(RandomGrayAug(rand_gray))
    if mean is not None or std is not None:
        found.append(ColorNormalizeAug(mean, std))
    return found


def statistic(name: str, value: Any, known: np.ndarray) -> Any:
    """A parameter ``mean`` or ``std``: None without one, that of ImageNet for True.

    Raises
    ------
    ParameterError
        If it is not 1 or 3 numbers.
    """
    if value is None or value is False:
        return None
    if value is True:
        return known
    if np.shape(value)[:1] not in ((1,), (3,)):
        raise ParameterError(f"{name} has 1 or 3 numbers", f"{value}", "pass as many as the images have channels")
    return value
