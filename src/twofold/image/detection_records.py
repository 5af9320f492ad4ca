"""`ImageDetRecordIter`: images in a file of records with the boxes of their objects."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import ParameterError
from ..formats.images import Picture
from ..formats.records import Buffer
from ..io.skipped import BAD_SAMPLE
from ..opdef.params import Floats, Shape
from .detection import areas, cut, split_label
from .geometry import Map
from .record_augmenter import shifted
from .record_files import RecordKey
from .record_loader import RecordLoader
from .record_parameters import Batching, Normalizing, Reading
from .records import ImageRecordIter

RESIZE_MODES, EMIT_MODES = ("force", "shrink", "fit"), ("center", "overlap")
#: Numbers before the label in a batch: channels, height and width of the image, and how many numbers its label has.
HEAD = 4


@dataclass(frozen=True)
class DetectionReading(Reading):
    """Which records are read, and in which order; see `ImageDetRecordIter`."""

    path_imgrec: str = "./data/imgrec.rec"
    label_width: int = -1
    label_pad_width: int = 0
    label_pad_value: float = -1


@dataclass(frozen=True)
class DetectionNormalizing(Normalizing):
    """How the pixels of images of the final size are changed; see `ImageDetRecordIter`."""

    std_r: float = 0
    std_g: float = 0
    std_b: float = 0
    std_a: float = 0


@dataclass(frozen=True)
class DetectionAugmenter:
    """Colors, mirrors, pads, crops and resizes images with their objects; see `ImageDetRecordIter`."""

    shape: tuple[int, int, int]
    resize: int = -1
    rand_crop_prob: float = 0
    min_crop_scales: Floats = (0.0,)
    max_crop_scales: Floats = (1.0,)
    min_crop_aspect_ratios: Floats = (1.0,)
    max_crop_aspect_ratios: Floats = (1.0,)
    min_crop_overlaps: Floats = (0.0,)
    max_crop_overlaps: Floats = (1.0,)
    min_crop_sample_coverages: Floats = (0.0,)
    max_crop_sample_coverages: Floats = (1.0,)
    min_crop_object_coverages: Floats = (0.0,)
    max_crop_object_coverages: Floats = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: Shape = (25,)
    rand_pad_prob: float = 0
    max_pad_scale: float = 1
    max_random_hue: int = 0
    random_hue_prob: float = 0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0
    max_random_contrast: float = 0
    random_contrast_prob: float = 0
    rand_mirror_prob: float = 0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: str = "force"

    def __post_init__(self) -> None:
        for name, known in (("resize_mode", RESIZE_MODES), ("crop_emit_mode", EMIT_MODES)):
            if getattr(self, name) not in known:
                raise ParameterError(f"ImageDetRecordIter: {name}", getattr(self, name), f"use {' or '.join(known)}")
        for name, numbers in vars(self).items():
            if numbers == ():
                raise ParameterError(f"ImageDetRecordIter: {name} has no numbers", "()", "pass one for all samplers, or one for each")

    def __call__(self, data: Buffer, objects: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The pixels (h, w, c), uint8, of a compressed image, and the objects (n, width) that it shows."""
        picture = Picture(data, self.shape[0])
        change = Map(picture.width, picture.height)
        if self.resize > 0:
            change.resize_short(self.resize)
        if rng.random() < self.rand_pad_prob and self.max_pad_scale > 1:
            objects = self._pad(change, objects, rng)
        if rng.random() < self.rand_crop_prob:
            objects = self._crop(change, objects, rng)
        change.resize(*self._final(change))
        pixels = change.applied(picture, self.inter_method, self.fill_value)
        if rng.random() < self.rand_mirror_prob:
            pixels, objects = pixels[:, ::-1], objects.copy()
            objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
        return self._colored(pixels, rng), objects

    def _pad(self, change: Map, objects: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        scale = rng.uniform(1, self.max_pad_scale)
        w, h = change.width, change.height
        width, height = int(w * scale), int(h * scale)
        left, top = int(rng.integers(width - w + 1)), int(rng.integers(height - h + 1))
        change.put(left, top, width, height)
        found = objects.copy()
        found[:, [1, 3]] = (objects[:, [1, 3]] * w + left) / width
        found[:, [2, 4]] = (objects[:, [2, 4]] * h + top) / height
        return found

    def _crop(self, change: Map, objects: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Cut out one of the parts that the samplers found; return the objects in it."""
        pixels = np.array([change.width, change.height])
        parts = [part for k in range(self.num_crop_sampler) if (part := self._sampled(k, objects, pixels, rng)) is not None]
        if not parts:
            return objects
        box, rest = parts[int(rng.integers(len(parts)))]
        left, top, right, bottom = np.rint(box * np.tile(pixels, 2)).astype(int).tolist()
        change.crop(left, top, right - left, bottom - top)
        return rest

    def _sampled(self, k: int, objects: np.ndarray, pixels: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
        """The first part of a sampler, of whole pixels, that meets its limits, and the objects in it; None if it finds none."""

        def limits(name: str) -> tuple[float, float]:
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            # where a list is shorter than the number of samplers, its last number is for the rest of them
            return low[min(k, len(low) - 1)], high[min(k, len(high) - 1)]

        for _ in range(self.max_crop_trials[min(k, len(self.max_crop_trials) - 1)]):
            scale = rng.uniform(*limits("crop_scales"))
            low, high = limits("crop_aspect_ratios")
            # The sides are scale · √ratio and scale / √ratio, as in SSD (Liu et al., 2016): a ratio from scale² to 1 / scale² keeps both
            # within the image.
            root = np.sqrt(rng.uniform(max(low, scale**2), min(high, 1 / max(scale, 1e-6) ** 2)))
            size = np.rint(np.minimum([scale * root, scale / root], 1) * pixels)
            corner = np.floor(rng.uniform(0, 1, 2) * (pixels - size + 1))
            box = np.concatenate([corner, corner + size]) / np.tile(pixels, 2)
            if (size > 0).all() and self._meets(objects, box, limits):
                rest = self._emitted(objects, box)
                if len(rest):
                    return box, rest
        return None

    def _meets(self, objects: np.ndarray, box: np.ndarray, limits: Callable[[str], tuple[float, float]]) -> bool:
        """Whether some object overlaps with a part, covers it and is covered within the limits."""
        common, own, part = areas(cut(objects[:, 1:5], box)), areas(objects[:, 1:5]), areas(box[None])[0]
        shares = {
            # Jaccard's index: the common area over that of the union
            "crop_overlaps": common / (own + part - common),
            "crop_sample_coverages": common / part,
            "crop_object_coverages": common / own,
        }
        met = np.ones(len(objects), bool)
        for name, values in shares.items():
            low, high = limits(name)
            met &= (values >= low) & (values <= high)
        return bool(met.any())

    def _emitted(self, objects: np.ndarray, box: np.ndarray) -> np.ndarray:
        """The objects that stay in the label of a part, with their boxes in it."""
        inner = cut(objects[:, 1:5], box)
        if self.crop_emit_mode == "center":
            centers = (objects[:, 1:3] + objects[:, 3:5]) / 2
            stays = ((centers >= box[:2]) & (centers <= box[2:])).all(1)
        else:
            stays = areas(inner) / areas(objects[:, 1:5]) > self.emit_overlap_thresh
        found = objects.copy()
        found[:, 1:5] = (inner - np.tile(box[:2], 2)) / np.tile(box[2:] - box[:2], 2)
        return found[stays]

    def _final(self, change: Map) -> tuple[int, int]:
        """The final width and height."""
        _, h, w = self.shape
        if self.resize_mode == "force":
            return w, h
        scale = min(w / change.width, h / change.height)
        if self.resize_mode == "shrink":
            scale = min(scale, 1)
        return max(int(change.width * scale), 1), max(int(change.height * scale), 1)

    def _colored(self, pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        # in the order of `shifted`: hue, lightness, saturation
        limits = [
            limit if rng.random() < probability else 0
            for limit, probability in (
                (self.max_random_hue, self.random_hue_prob),
                (self.max_random_illumination, self.random_illumination_prob),
                (self.max_random_saturation, self.random_saturation_prob),
            )
        ]
        contrast = self.max_random_contrast if rng.random() < self.random_contrast_prob else 0
        if not any(limits) and not contrast:
            return pixels
        image = shifted(pixels.astype("float32"), limits, rng) * (1 + rng.uniform(-1, 1) * contrast)
        return np.rint(np.clip(image, 0, 255)).astype("uint8")


class DetectionLoader(RecordLoader):
    """Loads records as pixels and padded labels. Threads use it at the same time."""

    reading: DetectionReading
    augmenter: Any
    normalizing: Any

    def label_shape(self) -> tuple[int, ...]:
        """Shape of the label of an image in a batch: for the longest label of all records."""
        sizes = []
        for key in self.records.keys:
            with suppress(*BAD_SAMPLE if self.skipped.are_wanted else ()):
                sizes.append(np.size(self.labels_of(key, self.content(key)[0])))
        longest, reading = max(sizes, default=0), self.reading
        if reading.label_width > 0 and any(size != reading.label_width for size in sizes):
            raise ParameterError(
                f"{self.title}: records have labels of up to {longest} numbers",
                f"label_width={reading.label_width}",
                "leave label_width out",
            )
        if 0 < reading.label_pad_width < longest:
            given, todo = f"{reading.label_pad_width} of {longest}", f"pass {longest} or more, or leave it out"
            raise ParameterError(f"{self.title}: label_pad_width is smaller than the labels", given, todo)
        return (HEAD + max(longest, reading.label_pad_width),)

    def load(self, key: RecordKey, seed: tuple[int, ...], data: np.ndarray, label: np.ndarray) -> int:
        """Write the pixels and the label of a record to their places in a batch; return the number in its header."""
        rng = np.random.default_rng(seed)
        header, image = self.content(key)
        with self.naming(key):
            numbers = np.ravel(self.labels_of(key, header)).astype("float32")
            head, objects = split_label(numbers)
            pixels, objects = self.augmenter(image, objects, rng)
        height, width, channels = pixels.shape
        # an image may be smaller than its place: the rest are black pixels, which are normalized, too
        data[...] = 0
        data[:, :height, :width] = pixels.transpose(2, 0, 1)
        self.normalize(data, rng, data)
        found = np.concatenate([head, objects.ravel()])
        label[...] = self.reading.label_pad_value
        label[:HEAD] = channels, height, width, len(found)
        label[HEAD : HEAD + len(found)] = found
        return header.id


class ImageDetRecordIter(ImageRecordIter):
    """Iterates over the images in a file of records, with the boxes of their objects.

    The label of a record is as for `mx.image.ImageDetIter`. In a batch it is: channels, height and width of the image, the number of its
    numbers, these numbers, and ``label_pad_value`` up to the length of the longest. Objects without width or height are left out.

    Parameters
    ----------
    path_imgrec, data_shape, batch_size, path_imglist, num_parts, part_index, shuffle, seed, shuffle_chunk_size, shuffle_chunk_seed
        As for `ImageRecordIter`.
    round_batch, preprocess_threads, prefetch_buffer, inter_method, mean_img, scale, data_name, label_name, aug_seq, ctx, verbose
        As for `ImageRecordIter`.
    on_bad_sample
        As for `ImageRecordIter`.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a
        Mean that is subtracted from each channel, and standard deviation by which it is then divided, unless 0.
    label_width
        How many numbers each label has; -1 for any.
    label_pad_width, label_pad_value
        The length to which labels are padded, if more than the longest, and with what.
    resize
        Length of the shorter side to which images are resized first; -1 leaves them.
    rand_pad_prob, max_pad_scale, fill_value
        The probability that an image is put at a random place of a larger one, how many times larger that may be, and its pixels' value.
    rand_crop_prob, num_crop_sampler
        The probability that a part is cut out, and the number of samplers. Each sampler proposes one part.
    min_crop_scales, max_crop_scales, min_crop_aspect_ratios, max_crop_aspect_ratios
        Limits of the parts' sides as shares of the image's, and of their aspect ratios: one for all samplers, or that of each.
    min_crop_overlaps, max_crop_overlaps
        Limits that some object must meet: the area that it shares with the part, divided by the area of their union.
    min_crop_sample_coverages, max_crop_sample_coverages, min_crop_object_coverages, max_crop_object_coverages
        The same, divided by the area of the part, and by that of the object.
    max_crop_trials
        The number of parts outside these limits after which a sampler gives up.
    crop_emit_mode, emit_overlap_thresh
        The objects to keep: ``"center"``: those whose center is in the part; ``"overlap"``: those with more than a share of it inside.
    rand_mirror_prob
        The probability that images are flipped horizontally.
    max_random_hue, max_random_saturation, max_random_illumination, max_random_contrast
        Limits of random changes of color. They have no effect without the probabilities.
    random_hue_prob, random_saturation_prob, random_illumination_prob, random_contrast_prob
        The probabilities of these changes, 0 unless given.
    resize_mode
        ``"force"`` to the final size, ``"fit"`` into it, or ``"shrink"`` into it; the rest of the data are black pixels.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If a file is damaged or there are no records; while iterating, if a record is no image or has another label. The message names the
        record.
    ParameterError
        If a parameter is missing or has a value that it cannot have, or there are no records in the part to read.
    """

    _dtypes = ("float32",)
    _channels = (1, 3)
    _groups: ClassVar[tuple[type, ...]] = (DetectionReading, DetectionAugmenter, DetectionNormalizing, Batching)
    _loader_class: ClassVar[type] = DetectionLoader
