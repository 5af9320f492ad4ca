"""`CreateAugmenter`: the usual list of augmenters for training, and the part that it shares with the list for detection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import ndarray as nd
from ..errors import DTypeError, IndexingError, InvalidValue
from .augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomSizedCropAug,
    ResizeAug,
)

if TYPE_CHECKING:
    from .functions import Size, Statistic

#: Means, deviations and principal components of the colors of ImageNet.
MEAN, DEVIATION = np.array([123.68, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])
#: For colors from 0 to 255; for colors from 0 to 1 they are known as 0.2175, 0.0188 and 0.0045.
VARIANCES = np.array([55.46, 4.794, 1.148])
COMPONENTS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Statistic | bool = None,
    std: Statistic | bool = None,
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
    InvalidValue
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
        raise InvalidValue("CreateAugmenter: rand_resize needs rand_crop", "rand_crop=False", "pass rand_crop=True")
    size = size_in("CreateAugmenter", data_shape)
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        # the limits of Szegedy et al., "Going deeper with convolutions", CVPR 2015
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
    brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float, rand_gray: float, mean: Statistic, std: Statistic
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


def statistic(name: str, value: Statistic | bool, known: np.ndarray) -> Statistic:
    """A parameter ``mean`` or ``std``: None without one, that of ImageNet for True.

    Raises
    ------
    InvalidValue
        If it is not 1 or 3 numbers.
    """
    if value is None or value is False:
        return None
    if value is True:
        return known
    if np.shape(value)[:1] not in ((1,), (3,)):
        raise InvalidValue(f"{name} has 1 or 3 numbers", f"{value}", "pass as many as the images have channels")
    return value
