"""Augmenters for detection: they change an image (h, w, c) together with the boxes of its objects.

Labels are NumPy arrays (n, 5 or more), a row for each object: its class; left, top, right and bottom as shares of the image's width and
height; and whatever else it has.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..errors import DTypeError, FormatError, InvalidValue, ParameterError, Undefined
from ..origin import warn
from .augmenters import Augmenter, CastAug, Described, Description, ForceResizeAug, ResizeAug
from .functions import copyMakeBorder, fixed_crop
from .usual_augmenters import DEVIATION, MEAN, color_augmenters, size_in, statistic

if TYPE_CHECKING:
    from ..ndarray.array import NDArray
    from .functions import Statistic

#: Smallest area in pixels of an object that counts, and of a part that is cut out.
LEAST_AREA = 2
#: Half a pixel, so that rounding up never exceeds the image.
ALMOST_HALF = 0.4999999
Range = tuple[float, float]


class DetAugmenter(Described):
    """Base class of augmenters for detection. Subclasses define ``__call__(self, src, label)``.

    Parameters
    ----------
    **kwargs
        The parameters, for `dumps`.
    """

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """Return the changed image and label; those given may be overwritten."""
        raise Undefined(f"{type(self).__name__} has no __call__", None, "define __call__(self, src, label) in it")


class DetBorrowAug(DetAugmenter):
    """Applies an augmenter that does not move pixels, and leaves the label.

    Parameters
    ----------
    augmenter
        The augmenter.

    Raises
    ------
    DTypeError
        If it is not an `Augmenter`.
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise DTypeError("Borrowing from invalid Augmenter", type(augmenter).__name__, "pass an mx.image.Augmenter")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Description:
        """The name and the augmenter's own result."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The changed image, and the label."""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """Applies one of several augmenters, chosen at random, or none.

    Parameters
    ----------
    aug_list
        The augmenters; a single one needs no list.
    skip_prob
        The probability of none.

    Raises
    ------
    ParameterError
        If one is not a `DetAugmenter`.
    """

    def __init__(self, aug_list: DetAugmenter | Sequence[DetAugmenter], skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, Sequence) else [aug_list]
        for augmenter in self.aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise InvalidValue("Allow DetAugmenter in list only", type(augmenter).__name__, "wrap it in DetBorrowAug")
        # an empty list has nothing to choose from
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Description:
        """The name and a list with the results of its augmenters' `dumps`."""
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The image and the label, changed or not."""
        if random.random() < self.skip_prob:
            return src, label
        # MXNet also shuffles: programs with the same seed draw the same numbers
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Flips images horizontally with a probability.

    Parameters
    ----------
    p
        The probability.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The image and the label, flipped or not."""
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            # the edges change places too, so that left stays below right
            label[:, [1, 3]] = 1 - label[:, [3, 1]]
        return src, label


class DetRandomCropAug(DetAugmenter):
    """Cuts out a part of a random size and aspect ratio that shows enough of some object.

    Parameters
    ----------
    min_object_covered
        The share of each object in the part that must be exceeded, for the objects that it shows at all.
    aspect_ratio_range
        Limits of the part's width over its height.
    area_range
        Limits of its share of the image's area.
    min_eject_coverage
        The share of an object that the part must show for it to stay in the label.
    max_attempts
        After as many parts that do not fit, the image does not change.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage
        self.aspect_ratio_range, self.area_range, self.max_attempts = aspect_ratio_range, area_range, max_attempts
        self.enabled = _usable(self, area_range[1] > 0 and area_range[0] <= area_range[1])

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The part and the objects that it shows, or the unchanged image."""
        h, w = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = _random_size(h, w, self.aspect_ratio_range, self.area_range, inside=True)
            if size is None or size[0] * size[1] < LEAST_AREA:
                continue
            y, x = random.randint(0, h - size[1]), random.randint(0, w - size[0])
            # as shares of the image, like the boxes in the label
            box = np.array([x / w, y / h, (x + size[0]) / w, (y + size[1]) / h])
            if self._shows_enough(label, box, h * w):
                rest = self._inside(label, box)
                if len(rest):
                    return fixed_crop(src, x, y, *size), rest
        return src, label

    def _shows_enough(self, label: np.ndarray, box: np.ndarray, pixels: int) -> bool:
        # objects of a few pixels cannot be covered by a share, and would refuse every part
        objects = label[:, 1:5][areas(label[:, 1:5]) * pixels > LEAST_AREA]
        shares = areas(cut(objects, box)) / areas(objects)
        shown = shares[shares > 0]
        return len(shown) > 0 and shown.min() > self.min_object_covered

    def _inside(self, label: np.ndarray, box: np.ndarray) -> np.ndarray:
        """The objects that a part shows enough of, with their boxes in the part."""
        found = label.copy()
        inner = cut(label[:, 1:5], box)
        # from shares of the image to shares of the part
        found[:, 1:5] = (inner - np.tile(box[:2], 2)) / np.tile(box[2:] - box[:2], 2)
        # an object without an area has no share; the comparison below leaves it out
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = areas(inner) / areas(label[:, 1:5])
        return found[(inner[:, 2] > inner[:, 0]) & (inner[:, 3] > inner[:, 1]) & (shares > self.min_eject_coverage)]


class DetRandomPadAug(DetAugmenter):
    """Puts images at a random place of a larger one of a single color.

    Parameters
    ----------
    aspect_ratio_range
        Limits of the larger image's width over its height.
    area_range
        Limits of its area over the image's; 1 or more.
    max_attempts
        After as many sizes that do not fit, the image does not change.
    pad_val
        The color, a number for each channel.
    """

    def __init__(
        self,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: float | Sequence[float] = (128, 128, 128),
    ) -> None:
        colors = tuple(pad_val) if isinstance(pad_val, Sequence) else (pad_val,)
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts, pad_val=colors)
        self.pad_val = colors
        self.aspect_ratio_range, self.area_range, self.max_attempts = aspect_ratio_range, area_range, max_attempts
        self.enabled = _usable(self, area_range[1] > 1 and area_range[0] <= area_range[1])

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The larger image and the label, or both unchanged."""
        h, w = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = _random_size(h, w, self.aspect_ratio_range, self.area_range, inside=False)
            if size is None or size[0] - w < LEAST_AREA or size[1] - h < LEAST_AREA:
                continue
            width, height = size
            y, x = random.randint(0, height - h), random.randint(0, width - w)
            found = label.copy()
            # corners relative to the image become pixels, move with it, and become relative to the larger image
            found[:, [1, 3]] = (label[:, [1, 3]] * w + x) / width
            found[:, [2, 4]] = (label[:, [2, 4]] * h + y) / height
            colors = self.pad_val * (src.shape[2] if len(self.pad_val) == 1 else 1)
            return copyMakeBorder(src, y, height - y - h, x, width - x - w, type=0, values=colors), found
        return src, label


def split_label(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The head of an image's label, and the objects (n, width) that have a width and a height.

    Raises
    ------
    FormatError
        If it is too short, or its numbers do not match its head.
    """
    # two numbers of the head and five of one object
    if numbers.size < 7 or not np.isfinite(numbers[:2]).all():
        raise FormatError("Label shape is invalid", f"{numbers.shape}", "a label has a head and an object of 5 numbers or more")
    head, width = int(numbers[0]), int(numbers[1])
    if head < 2 or width < 5 or (numbers.size - head) % width:
        given = f"{numbers.size} numbers, {head} in the head and {width} for an object"
        raise FormatError("Label shape is inconsistent", given, "check the records")
    objects = numbers[head:].reshape(-1, width)
    return numbers[:head], objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]


def _range(limits: Range | float) -> Range:
    return limits if isinstance(limits, (list, tuple)) else (limits, limits)  # type: ignore[return-value]


def _usable(augmenter: DetRandomCropAug | DetRandomPadAug, area_is_valid: bool) -> bool:
    """Whether the limits leave anything to do; a warning if they do not."""
    low, high = augmenter.aspect_ratio_range
    wrong = [] if area_is_valid else [f"area_range: {augmenter.area_range}"]
    wrong += [] if 0 < low <= high else [f"aspect_ratio_range: {augmenter.aspect_ratio_range}"]
    if wrong:
        warn(f"Skip {type(augmenter).__name__} due to invalid {', '.join(wrong)}")
    return not wrong


def _random_size(h: int, w: int, ratios: Range, areas: Range, inside: bool) -> tuple[int, int] | None:
    """A random width and height within limits of aspect ratio and area, inside an image or around it; None if there are none."""
    ratio = random.uniform(*ratios)
    low, high = (area * h * w for area in areas)
    # the ratio is width over height, so an area is ratio · height²
    least, most = (round(math.sqrt(area / ratio)) for area in (low, high))  # heights
    if inside:
        # the greatest height whose width still rounds to the image's at most
        most = min(most if round(most * ratio) <= w else int((w + ALMOST_HALF) / ratio), h)
    else:
        least = max(least if round(least * ratio) >= w else int((w + ALMOST_HALF) / ratio), h)
    height = random.randint(least, most) if least < most else most
    if not inside:
        return round(height * ratio), height
    height += height * round(height * ratio) < low  # rounding may have left the limits
    height -= height * round(height * ratio) > high
    width = round(height * ratio)
    return (width, height) if low <= height * width <= high and height <= h and width <= w else None


def cut(boxes: np.ndarray, box: np.ndarray) -> np.ndarray:
    """What of boxes (n, 4) lies in a box."""
    # both corners of a box outside are clipped to one edge, which leaves it without an area
    return np.concatenate([np.clip(boxes[:, :2], box[:2], box[2:]), np.clip(boxes[:, 2:4], box[:2], box[2:])], 1)


def areas(boxes: np.ndarray) -> np.ndarray:
    """The areas of boxes (n, 4)."""
    return np.prod(np.maximum(boxes[:, 2:4] - boxes[:, :2], 0), 1)


def CreateMultiRandCropAugmenter(
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: Range | list[Range] = (0.75, 1.33),
    area_range: Range | list[Range] = (0.05, 1.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """One of several `DetRandomCropAug`, chosen at random.

    Parameters
    ----------
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        Their parameters: each is the same for all, or a list with that of each.
    skip_prob
        The probability of none.

    Raises
    ------
    ParameterError
        If lists differ in length.
    """
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    lists: list[list[Any]] = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, lists))
    if any(len(values) not in (1, count) for values in lists):
        raise ParameterError("CreateMultiRandCropAugmenter: lists differ in length", f"{[len(v) for v in lists]}", "make them equal")
    rows = zip(*(values * count if len(values) == 1 else values for values in lists), strict=True)
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Statistic | bool = None,
    std: Statistic | bool = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: Any = 50,
    pad_val: float | Sequence[float] = (127, 127, 127),
) -> list[DetAugmenter]:
    """The usual augmenters for detection, in the usual order.

    Parameters
    ----------
    data_shape
        Shape (c, h, w) of the images in a batch.
    resize
        Length of the shorter side to which images are resized first; 0 to leave them.
    rand_crop, rand_pad
        The probabilities of `DetRandomCropAug` and of `DetRandomPadAug`.
    rand_mirror, mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray, inter_method
        As for `CreateAugmenter`.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As for `CreateMultiRandCropAugmenter`; padding takes the first two limits and ``max_attempts`` too.
    pad_val
        The color of the padding.

    Raises
    ------
    ParameterError
        If ``mean`` or ``std`` is not 1 or 3 numbers, or lists differ in length.
    IndexingError, DTypeError
        If ``data_shape`` has fewer than three numbers, or is none.
    """
    augmenters: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        limits = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
        augmenters.append(CreateMultiRandCropAugmenter(*limits, skip_prob=1 - rand_crop))
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        # padding only enlarges: shares below 1 are for the crops
        padding = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        augmenters.append(DetRandomSelectAug([padding], 1 - rand_pad))
    augmenters.append(DetBorrowAug(ForceResizeAug(size_in("CreateDetAugmenter", data_shape), inter_method)))
    # colors come last: their augmenters need floating-point numbers, and work on the final, often smaller size
    augmenters.append(DetBorrowAug(CastAug()))
    mean, std = statistic("mean", mean, MEAN), statistic("std", std, DEVIATION)
    colors = color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return augmenters + [DetBorrowAug(augmenter) for augmenter in colors]
