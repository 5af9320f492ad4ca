"""Transformations that choose the part of an image that is seen: crops and rotations."""

import random
from collections.abc import Iterable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from .... import ndarray as nd
from ....errors import DTypeError, ParameterError
from ....image.functions import imrotate, method_of, random_part, random_rotate, scale_down
from ...block import Block
from ...numpy_arrays import through_legacy

Size = int | tuple[int, int]


class CenterCrop(Block):
    """Cuts the center out of images (h, w, c) or (n, h, w, c). Of a smaller image, the largest part of that shape is cut and enlarged.

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


class RandomCrop(Block):
    """Cuts a part at a random place out of images (h, w, c) or (n, h, w, c), at the same place in all images of a batch.

    Of a smaller image, the largest part of that aspect ratio is cut and enlarged.

    Parameters
    ----------
    size
        Width and height of the part; a single number is both.
    pad
        Pixels by which the image is first extended on each side; or pairs, before and after, for each axis or one for all.
    pad_value
        The value of those pixels.
    interpolation
        As for `CenterCrop`.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.gluon.data.vision.transforms.RandomCrop(32, pad=4)(mx.nd.ones((32, 32, 3))).shape
    (32, 32, 3)

    Notes
    -----
    It is in MXNet 2, not in 1.9.1, whose `mx.image.random_crop` draws the same places.
    """

    def __init__(
        self, size: Size, pad: int | Sequence[tuple[int, int]] | None = None, pad_value: float = 0, interpolation: int = 1
    ) -> None:
        super().__init__()
        self._size, self._interpolation = _both(size), interpolation
        self._pad, self._value = _widths(pad), pad_value

    def forward(self, x: Any) -> Any:
        """The parts, of the given size."""
        padded = _extended(x, self._pad, self._value) if self._pad else x
        h, w = padded.shape[-3:-1]
        width, height = scale_down((w, h), self._size)
        left, top = random.randint(0, w - width), random.randint(0, h - height)
        return _part(padded, (left, top, width, height), self._size, self._interpolation)


class RandomResizedCrop(Block):
    """Cuts a part of random size and aspect ratio out of images (h, w, c) or (n, h, w, c), one per batch, and resizes it.

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
    Szegedy and others, "Going deeper with convolutions", CVPR 2015. If ten attempts do not fit, the center is cut out.
    """

    def __init__(
        self,
        size: Size,
        scale: float | tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = (_both(size), (scale, 1.0) if isinstance(scale, (int, float)) else scale, ratio, interpolation)

    def forward(self, x: Any) -> Any:
        """The parts, of the new size."""
        size, scale, ratio, interpolation = self._args
        found = random_part(x.shape[-3], x.shape[-2], scale, ratio)
        return _part(x, found, size, interpolation) if found else _center(x, size, interpolation)


def _both(size: Size) -> tuple[int, int]:
    if isinstance(size, Number):
        return int(size), int(size)  # type: ignore[arg-type]
    numbers = tuple(size) if isinstance(size, Iterable) else ()
    if len(numbers) != 2 or not all(isinstance(n, Number) for n in numbers):
        raise ParameterError("the size of a part", repr(size), "pass a number, or width and height")
    return numbers


def _widths(pad: int | Sequence[tuple[int, int]] | None) -> tuple[tuple[int, int], ...]:
    """Pixels before and after, along the axes of an image (h, w, c)."""
    if not pad:
        return ()
    given = ((pad, pad), (pad, pad), (0, 0)) if isinstance(pad, (int, np.integer)) else pad
    try:
        pairs = tuple((int(before), int(after)) for before, after in given)
    except (TypeError, ValueError):
        pairs = ()
    if len(pairs) not in (1, 3) or min(min(pair) for pair in pairs) < 0:
        todo = "pass a number, three pairs ((before, after), …) of at least 0 for height, width and channels, or one for all"
        raise ParameterError("RandomCrop: pad", f"{pad!r}", todo)
    return pairs * 3 if len(pairs) == 1 else pairs


@through_legacy
def _extended(x: Any, widths: tuple[tuple[int, int], ...], value: float) -> Any:
    """Images with a border of a value."""
    before, inside = [(0, 0)] * (x.ndim - 3), [slice(None)] * (x.ndim - 3)
    sizes = [n + sum(pair) for n, pair in zip(x.shape, [*before, *widths], strict=True)]
    found = nd.full(sizes, value, dtype=x.dtype, ctx=x.context)
    found[(*inside, *(slice(low, low + n) for n, (low, _) in zip(x.shape[-3:], widths, strict=True)))] = x
    return found


def _center(x: Any, size: tuple[int, int], interpolation: int) -> Any:
    h, w = x.shape[-3:-1]
    width, height = scale_down((w, h), size)
    return _part(x, ((w - width) // 2, (h - height) // 2, width, height), size, interpolation)


@through_legacy
def _part(x: Any, part: tuple[int, int, int, int], size: tuple[int, int], interpolation: int) -> Any:
    if isinstance(x, np.ndarray):  # MXNet cuts parts out of NumPy's arrays too
        return _part(nd.array(x, dtype=x.dtype), part, size, interpolation).asnumpy()
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
        Whether to shrink them until they are seen whole.

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
        _check_float32(x)
        return through_legacy(imrotate)(x, *self._args)


def _check_float32(x: Any) -> None:
    if np.dtype(x.dtype) != np.float32:
        raise DTypeError("This transformation only supports float32. Consider calling it after ToTensor", f"{np.dtype(x.dtype)}")


class RandomRotation(Block):
    """Rotates float32 images (c, h, w) or (n, c, h, w), each by a random angle between two limits.

    Parameters
    ----------
    angle_limits
        The smallest and the largest angle, in degrees.
    zoom_in, zoom_out
        As for `Rotate`.
    rotate_with_proba
        The probability that images are rotated; one draw decides for a whole batch.

    Raises
    ------
    ParameterError
        If the limits are not in order, or the probability is not between 0 and 1.
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
            raise ParameterError(
                "Probability of rotating the image should be between 0 and 1", f"{rotate_with_proba}", "pass 1 to rotate always"
            )
        self._args, self._rotate_with_proba = ((low, high), zoom_in, zoom_out), rotate_with_proba

    def forward(self, x: Any) -> Any:
        """The rotated images, with the same shape."""
        if np.random.random() > self._rotate_with_proba:  # noqa: NPY002  (what MXNet draws from)
            return x
        _check_float32(x)
        return through_legacy(random_rotate)(x, *self._args)
