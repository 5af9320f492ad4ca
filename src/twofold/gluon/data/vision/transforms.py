"""Image transformations: blocks for ``Dataset.transform_first``."""

import random
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

from ....errors import ShapeError, WrongArgument
from ....imperative.array import Array
from ...block import Block
from ...hybrid_block import HybridBlock
from ...nn.containers import HybridSequential, Sequential
from ...signatures import DTypeLike, Functions, Operand
from .places import CenterCrop, RandomCrop, RandomResizedCrop, RandomRotation, Rotate, Size

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "HybridCompose",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomCrop",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]


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
        if callable(transforms):
            given = type(transforms).__name__
            raise WrongArgument("Compose: transforms must be a list", given, f"write Compose([{given}(…)])")
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


class HybridCompose(HybridSequential):
    """Applies transformations one after another, compiled into one graph, which can be exported.

    Parameters
    ----------
    transforms
        The transformations, which are hybrid blocks.

    Raises
    ------
    WrongType
        If one is not.

    Examples
    --------
    >>> import twofold as mx
    >>> from twofold.gluon.data.vision import transforms
    >>> block = transforms.HybridCompose([transforms.Resize(2), transforms.ToTensor()])
    >>> block(mx.nd.ones((4, 4, 3), dtype="uint8")).shape
    (3, 2, 2)

    Notes
    -----
    It is in MXNet 2, not in 1.9.1.
    """

    def __init__(self, transforms: Sequence[HybridBlock]) -> None:
        super().__init__()
        self.add(*transforms)
        self.hybridize()


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
        if isinstance(x, Array) and x.ndim not in (3, 4):
            raise ShapeError("ToTensor: not an image", f"shape {x.shape}", "pass (h, w, c) or (n, h, w, c): add an axis with expand_dims")
        # Negative axes, so that single images and batches take the same path.
        first = F.swapaxes(F.swapaxes(x, dim1=-1, dim2=-3), dim1=-1, dim2=-2)
        return F.Cast(first, dtype="float32") / 255.0


class Normalize(HybridBlock, arrays="nd"):
    """Computes ``(image − mean) / std`` for each channel of images (c, h, w) or (n, c, h, w) with one or three channels.

    Parameters
    ----------
    mean, std
        One number per channel, or one for all channels.
    """

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean = _per_channel(mean)
        self._std = _per_channel(std)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.normalize(x, mean=self._mean, std=self._std)


def _per_channel(values: float | Sequence[float]) -> tuple[float, ...]:
    return (float(values),) if isinstance(values, Number) else tuple(map(float, values))  # type: ignore[arg-type]


class RandomApply(Sequential):
    """Applies transformations with a probability; other images do not change.

    Parameters
    ----------
    transforms
        A block or function, or a list of blocks, which are applied together.
    p
        The probability.
    """

    def __init__(self, transforms: Callable[[Any], Any] | Sequence[Block], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms if callable(transforms) else Compose(transforms)
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
        self._x, self._y, self._width, self._height = x, y, width, height
        self._size, self._interpolation = size, interpolation

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The parts."""
        part = F.image.crop(x, self._x, self._y, self._width, self._height)
        if not self._size:
            return part
        return F.image.resize(part, size=self._size, interp=1 if self._interpolation is None else self._interpolation)


class RandomFlipLeftRight(HybridBlock, arrays="nd"):
    """Mirrors images (h, w, c) or (n, h, w, c), each with a probability of one half."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, flipped or not."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock, arrays="nd"):
    """Turns images (h, w, c) or (n, h, w, c) upside down, each with a probability of one half."""

    def __init__(self) -> None:
        super().__init__()

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, flipped or not."""
        return F.image.random_flip_top_bottom(x)


class RandomBrightness(HybridBlock, arrays="nd"):
    """Multiplies images (h, w, c) or (n, h, w, c), each by a random factor.

    Parameters
    ----------
    brightness
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__()
        self._args = (max(0.0, 1 - brightness), 1 + brightness)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_brightness(x, *self._args)


class RandomContrast(HybridBlock, arrays="nd"):
    """Multiplies the differences of images (h, w, c) or (n, h, w, c) from their mean brightness, each by a random factor.

    Parameters
    ----------
    contrast
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, contrast: float) -> None:
        super().__init__()
        self._args = (max(0.0, 1 - contrast), 1 + contrast)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_contrast(x, *self._args)


class RandomSaturation(HybridBlock, arrays="nd"):
    """Multiplies the differences of the colors of images (h, w, 3) or (n, h, w, 3) from gray, each by a random factor.

    Parameters
    ----------
    saturation
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, saturation: float) -> None:
        super().__init__()
        self._args = (max(0.0, 1 - saturation), 1 + saturation)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_saturation(x, *self._args)


class RandomHue(HybridBlock, arrays="nd"):
    """Turns the hues of images (h, w, 3) or (n, h, w, 3), each by a random share of the circle of hues: a whole turn, 1, changes nothing.

    Parameters
    ----------
    hue
        How far the factor may be from 1; it is not negative.
    """

    def __init__(self, hue: float) -> None:
        super().__init__()
        self._args = (max(0.0, 1 - hue), 1 + hue)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_hue(x, *self._args)


class RandomColorJitter(HybridBlock, arrays="nd"):
    """Changes brightness, contrast, saturation and hue of images (h, w, c) or (n, h, w, c), in random order, the same for a batch.

    Parameters
    ----------
    brightness, contrast, saturation
        How far the factor of each may be from 1; see `RandomBrightness`.
    hue
        The largest share of the circle of hues by which they are turned.
    """

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__()
        self._args = (brightness, contrast, saturation, hue)

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        return F.image.random_color_jitter(x, *self._args)


class RandomGray(HybridBlock, arrays="nd"):
    """Makes images (h, w, 3) or (n, h, w, 3) gray, each with a probability: all channels become the brightness that the eye sees.

    Parameters
    ----------
    p
        The probability.

    Notes
    -----
    It is in MXNet 2, not in 1.9.1, whose `mx.image.RandomGrayAug` takes other weights of the colors and only float32 images.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape and dtype."""
        gray = F.image.random_saturation(x, min_factor=0.0, max_factor=0.0)
        # ones of each image times a factor between 0 and 1: a draw for each image, at all of its pixels
        drawn = F.image.random_brightness(F.Cast(F.ones_like(x), dtype="float32"), min_factor=0.0, max_factor=1.0)
        return F.where(drawn < self.p, gray, x)


class RandomLighting(HybridBlock, arrays="nd"):
    """Adds random multiples of the principal components of the colors of ImageNet to images (h, w, 3) or (n, h, w, 3), up to 255.

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
