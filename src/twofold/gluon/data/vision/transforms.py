"""Image transformations: blocks for ``Dataset.transform_first``."""

import random
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from .... import ndarray as nd
from ....errors import DTypeError, ParameterError
from ....image.functions import imrotate, method_of, random_part, random_rotate, scale_down
from ...block import Block
from ...hybrid_block import HybridBlock
from ...nn.containers import HybridSequential, Sequential
from ...signatures import DTypeLike, Functions, Operand

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]

Size = int | tuple[int, int]


class Compose(Sequential):
    """Applies transformations one after another. Consecutive hybrid ones are compiled into one graph.

    Parameters
    ----------
    transforms
        The transformations, which are blocks.

    Examples
    --------
    >>> import twofold as mx
    >>> from twofold.gluon.data.vision import transforms
    >>> image = mx.nd.full((4, 4, 3), 255, dtype="uint8")
    >>> float(transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])(image)[0, 0, 0].asscalar())
    2.0
    """

    def __init__(self, transforms: Sequence[Block]) -> None:
        super().__init__()
        # Runs of hybrid blocks become one stack each; the None at the end closes the last one.
        run: list[HybridBlock] = []
        for transform in [*transforms, None]:
            if isinstance(transform, HybridBlock):
                run.append(transform)
                continue
            if len(run) == 1:
                self.add(run[0])
            elif run:
                stack = HybridSequential()
                stack.add(*run)
                stack.hybridize()
                self.add(stack)
            run = []
            if transform is not None:
                self.add(transform)


class Cast(HybridBlock, arrays="nd"):
    """Casts images to a dtype.

    Parameters
    ----------
    dtype
        The dtype.
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape."""
        return F.Cast(x, dtype=self._dtype)


class ToTensor(HybridBlock, arrays="nd"):
    """Converts images (h, w, c) or (n, h, w, c) with values 0 to 255 to float32 (c, h, w) or (n, c, h, w) with values 0 to 1."""

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image with channels first."""
        # Negative axes, so that single images and batches take the same path.
        first = F.swapaxes(F.swapaxes(x, dim1=-1, dim2=-3), dim1=-1, dim2=-2)
        return F.Cast(first, dtype="float32") / 255.0


class Normalize(HybridBlock, arrays="nd"):
    """Computes ``(image − mean) / std`` for each channel of images (…, c, h, w).

    Parameters
    ----------
    mean, std
        One number per channel, or one for all channels.
    """

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape."""
        return F.broadcast_div(F.broadcast_sub(x, _per_channel(F, self._mean)), _per_channel(F, self._std))


def _per_channel(F: Functions, values: float | Sequence[float]) -> Any:
    """The numbers as an array (c, 1, 1)."""
    numbers = [values] if isinstance(values, (int, float)) else list(values)
    return F.concat(*[F.full((1, 1, 1), float(v)) for v in numbers], dim=0)


class RandomApply(Sequential):
    """Applies transformations with a probability, and leaves other images as they are.

    Parameters
    ----------
    transforms
        A block, or a list of blocks, which are applied together.
    p
        The probability.
    """

    def __init__(self, transforms: Block | Sequence[Block], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms if isinstance(transforms, Block) else Compose(transforms)
        self.p = p

    def forward(self, x: Any) -> Any:
        """The image, transformed or not."""
        return x if self.p < random.random() else self.transforms(x)


class Resize(HybridBlock, arrays="nd"):
    """Resizes images (h, w, c) or (n, h, w, c).

    Parameters
    ----------
    size
        The new width and height; a single number is both.
    keep_ratio
        Whether a single number is the length of the shorter edge, and the other follows.
    interpolation
        0 for the nearest pixel, 1 for bilinear, 2 for cubic, 3 for areas, 4 for Lanczos.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.gluon.data.vision.transforms.Resize((3, 2))(mx.nd.zeros((8, 6, 3))).shape
    (2, 3, 3)
    """

    def __init__(self, size: Size, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._keep = keep_ratio
        self._size = size
        self._interpolation = interpolation

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The resized images."""
        return F.image.resize(x, size=self._size, keep_ratio=self._keep, interp=self._interpolation)


class CropResize(HybridBlock, arrays="nd"):
    """Cuts a part out of images (h, w, c) or (n, h, w, c), and resizes it.

    Parameters
    ----------
    x, y
        The left upper corner of the part.
    width, height
        Its size.
    size
        The new width and height; None for those of the part.
    interpolation
        As for `Resize`; bilinear by default.
    """

    def __init__(self, x: int, y: int, width: int, height: int, size: Size | None = None, interpolation: int | None = None) -> None:
        super().__init__()
        self._part = {"x": x, "y": y, "width": width, "height": height}
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The parts."""
        part = F.image.crop(x, **self._part)
        return F.image.resize(part, size=self._size, interp=self._interpolation) if self._size else part


class RandomFlipLeftRight(HybridBlock, arrays="nd"):
    """Mirrors an image (h, w, c) with a probability of one half."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, turned or not."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock, arrays="nd"):
    """Turns an image (h, w, c) upside down with a probability of one half."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, turned or not."""
        return F.image.random_flip_top_bottom(x)


class RandomBrightness(HybridBlock, arrays="nd"):
    """Multiplies an image (h, w, c) by a random factor.

    Parameters
    ----------
    brightness
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__()
        self._limits = {"min_factor": max(0.0, 1 - brightness), "max_factor": 1 + brightness}

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_brightness(x, **self._limits)


class RandomContrast(HybridBlock, arrays="nd"):
    """Multiplies the differences of an image (h, w, c) from its mean brightness by a random factor.

    Parameters
    ----------
    contrast
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, contrast: float) -> None:
        super().__init__()
        self._limits = {"min_factor": max(0.0, 1 - contrast), "max_factor": 1 + contrast}

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_contrast(x, **self._limits)


class RandomSaturation(HybridBlock, arrays="nd"):
    """Multiplies the differences of the colors of an image (h, w, 3) from gray by a random factor.

    Parameters
    ----------
    saturation
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, saturation: float) -> None:
        super().__init__()
        self._limits = {"min_factor": max(0.0, 1 - saturation), "max_factor": 1 + saturation}

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_saturation(x, **self._limits)


class RandomHue(HybridBlock, arrays="nd"):
    """Turns the hues of an image (h, w, 3) by a random share of the circle of hues: a whole turn, 1, changes nothing.

    Parameters
    ----------
    hue
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, hue: float) -> None:
        super().__init__()
        self._limits = {"min_factor": max(0.0, 1 - hue), "max_factor": 1 + hue}

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_hue(x, **self._limits)


class RandomColorJitter(HybridBlock, arrays="nd"):
    """Changes brightness, contrast, saturation and hue of an image (h, w, c), in random order.

    Parameters
    ----------
    brightness, contrast, saturation
        How far the factor of each may be from 1; see `RandomBrightness`.
    hue
        The largest share of the circle of hues by which they are turned.
    """

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__()
        self._ranges = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_color_jitter(x, **self._ranges)


class RandomLighting(HybridBlock, arrays="nd"):
    """Adds random multiples of the principal components of the colors of ImageNet to an image (h, w, 3) of numbers up to 255.

    Parameters
    ----------
    alpha
        The standard deviation of the multiples.

    Notes
    -----
    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks", NIPS 2012.
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_lighting(x, alpha_std=self._alpha)


class CenterCrop(Block):
    """Cuts the center out of images (h, w, c) or (n, h, w, c). Of smaller images it is as large as its proportions allow, and enlarged.

    Parameters
    ----------
    size
        Width and height of the part; a single number is both.
    interpolation
        As for `Resize`; also 9 for areas if the part shrinks, cubic if it grows, bilinear otherwise, and 10 for one at random.
    """

    def __init__(self, size: Size, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_both(size), interpolation)

    def forward(self, x: Any) -> Any:
        """The centers."""
        return _center(x, *self._args)


class RandomResizedCrop(Block):
    """Cuts a part of a random size and proportion out of images (h, w, c) or (n, h, w, c), the same of a batch, and resizes it.

    Parameters
    ----------
    size
        The new width and height; a single number is both.
    scale
        Limits of the part's share of the image's area; a single number is the lower one.
    ratio
        Limits of its width over its height.
    interpolation
        As for `CenterCrop`.

    Notes
    -----
    Szegedy and others, "Going deeper with convolutions", CVPR 2015. If ten attempts do not fit, it is the center.
    """

    def __init__(
        self,
        size: Size,
        scale: float | tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._size, self._interpolation = _both(size), interpolation
        self._scale = (scale, 1.0) if isinstance(scale, (int, float)) else scale
        self._ratio = ratio

    def forward(self, x: Any) -> Any:
        """The parts, of the new size."""
        found = random_part(x.shape[-3], x.shape[-2], self._scale, self._ratio)
        if found:
            return _part(x, found, self._size, self._interpolation)
        return _center(x, self._size, self._interpolation)


def _both(size: Size) -> tuple[int, int]:
    if isinstance(size, Number):
        return int(size), int(size)  # type: ignore[arg-type]
    width, height = size  # type: ignore[misc]
    return width, height


def _center(x: Any, size: tuple[int, int], interpolation: int) -> Any:
    h, w = x.shape[-3:-1]
    width, height = scale_down((w, h), size)
    return _part(x, ((w - width) // 2, (h - height) // 2, width, height), size, interpolation)


def _part(x: Any, part: tuple[int, int, int, int], size: tuple[int, int], interpolation: int) -> Any:
    left, top, width, height = part
    found = nd.image.crop(x, x=left, y=top, width=width, height=height)
    if (width, height) == size:
        return found
    return nd.image.resize(found, size=size, interp=method_of(interpolation, (height, width, size[1], size[0])))


class Rotate(Block):
    """Rotates float32 images (c, h, w) or (n, c, h, w) about their centers, with zeros around them.

    Parameters
    ----------
    rotation_degrees
        The angle, counterclockwise.
    zoom_in
        Whether to enlarge them until no zeros are seen.
    zoom_out
        Whether to shrink them until all of them is seen.

    Raises
    ------
    ParameterError
        If both are true.
    DTypeError
        If the images are not float32.
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any) -> Any:
        """The rotated images, with the same shape."""
        if np.dtype(x.dtype) != np.float32:
            raise DTypeError("This transformation only supports float32. Consider calling it after ToTensor", f"{np.dtype(x.dtype)}")
        return imrotate(x, *self._args)


class RandomRotation(Block):
    """Rotates float32 images (c, h, w) or (n, c, h, w), each by an angle of its own, drawn between two.

    Parameters
    ----------
    angle_limits
        The smallest and the largest angle, in degrees.
    zoom_in, zoom_out
        As for `Rotate`.
    rotate_with_proba
        The probability that images are rotated, all of a batch.

    Raises
    ------
    ParameterError
        If the limits are not in order, or the probability is none.
    DTypeError
        If the images are not float32.
    """

    def __init__(
        self, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False, rotate_with_proba: float = 1.0
    ) -> None:
        super().__init__()
        low, high = angle_limits
        if low >= high:
            raise ParameterError("`angle_limits` must be an ordered tuple", f"{angle_limits}", "pass the smaller one first")
        if not 0 <= rotate_with_proba <= 1:
            raise ParameterError("Probability of rotating the image should be between 0 and 1", f"{rotate_with_proba}")
        self._limits, self._zoom, self._probability = (low, high), (zoom_in, zoom_out), rotate_with_proba

    def forward(self, x: Any) -> Any:
        """The rotated images, with the same shape."""
        if np.random.random() > self._probability:  # noqa: NPY002  (what MXNet draws from)
            return x
        if np.dtype(x.dtype) != np.float32:
            raise DTypeError("This transformation only supports float32. Consider calling it after ToTensor", f"{np.dtype(x.dtype)}")
        return random_rotate(x, self._limits, *self._zoom)
