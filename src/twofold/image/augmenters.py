"""Augmenters: callables that change an image (h, w, c) at random, or prepare it for a model."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import ndarray as nd
from ..errors import ParameterError, Undefined
from ..extension_points import shown_as_text
from ..imperative.array import Array
from .functions import Size, center_crop, color_normalize, imresize, random_crop, random_size_crop, resize_short

if TYPE_CHECKING:
    from ..ndarray.array import NDArray
    from .functions import Area, Statistic

#: The brightness of red, green and blue.
BRIGHTNESS = np.array([[[0.299, 0.587, 0.114]]], "float32")


#: The result of `dumps`: JSON text, or a name and a list of the parts' results.
Description = str | list[object]


class Described:
    """The base of all augmenters: parameters that `dumps` shows."""

    def __init__(self, **kwargs: object) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    __repr__ = shown_as_text("arguments")

    def dumps(self) -> Description:
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
        raise Undefined(f"{type(self).__name__} has no __call__", None, "define __call__(self, src) in it")


def _plain(value: object) -> object:
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

    def dumps(self) -> Description:
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
        # a copy: `ts` keeps the order that the program gave
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

    def __init__(self, size: Size, area: Area, ratio: tuple[float, float], interp: int = 2, **kwargs: Area) -> None:
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
        # MXNet calls the parameter ``typ``, and its description ``type``
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
        self.contrast, self.coef = contrast, nd.array(BRIGHTNESS)

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        factor = 1 + random.uniform(-self.contrast, self.contrast)
        gray = src * self.coef
        # `gray` has the weighted colors of each pixel, three numbers, whose sum is the brightness: hence the factor 3
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
        self.saturation, self.coef = saturation, nd.array(BRIGHTNESS)

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        factor = 1 + random.uniform(-self.saturation, self.saturation)
        # a mean of the image, weighted by the factor, and of its gray version
        gray = (src * self.coef).sum(axis=2, keepdims=True) * (1 - factor)
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
        # brightness, the first of the three numbers, stays; the other two are turned
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        # pixels are rows (…, 3), so they are multiplied by the transposed matrix on the right
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

    def __init__(self, alphastd: float, eigval: np.ndarray, eigvec: np.ndarray) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        multiples = np.random.normal(0, self.alphastd, size=3)  # noqa: NPY002  (what MXNet draws from)
        # the paper's [p1, p2, p3] [α1 λ1, α2 λ2, α3 λ3]ᵀ: the columns are scaled by α, and then summed with the weights λ
        src += nd.array(np.dot(self.eigvec * multiples, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """Subtracts the mean from floating-point images and divides them by the standard deviation, in place.

    Parameters
    ----------
    mean, std
        Numbers, or arrays of shape (c,); None skips a step.
    """

    def __init__(self, mean: Statistic, std: Statistic) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = _array(mean)
        self.std = _array(std)

    def __call__(self, src: NDArray) -> NDArray:
        """The image."""
        return color_normalize(src, self.mean, self.std)


def _array(value: Statistic) -> NDArray | float | None:
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
        # MXNet's own weights, which differ a little from those of `BRIGHTNESS`
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        """The image, gray or not."""
        return nd.dot(src, self.mat) if random.random() < self.p else src
