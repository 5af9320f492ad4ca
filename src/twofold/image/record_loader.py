"""Loads the records that an iterator visits: their pixels, decoded, changed and normalized, and their labels."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property

import numpy as np

from ..errors import FileAccessError, FormatError, ShapeError
from ..formats.image_lists import read_image_list
from ..formats.records import Buffer
from ..io.skipped import SkippedSamples
from ..recordio.labeled import IRHeader, Label, unpack_view
from ..scheduler.observers import LISTENERS, span
from .geometry import UNCHANGED
from .record_augmenter import RecordAugmenter
from .record_files import RecordFiles, RecordKey
from .record_parameters import Reading, RecordNormalizing


class RecordLoader:
    """Loads records as pixels and labels. Threads use it at the same time.

    Attributes
    ----------
    skipped
        The samples that were skipped in the current epoch.
    damage
        Errors for files that cannot be read, for places in them without a whole record, and for wrong lines of the list.
    """

    def __init__(self, title: str, reading: Reading, augmenter: RecordAugmenter, normalizing: RecordNormalizing, dtype: np.dtype) -> None:
        self.title, self.reading, self.augmenter, self.normalizing, self.dtype = title, reading, augmenter, normalizing, dtype
        self.skipped = SkippedSamples(title, reading.on_bad_sample)
        self.damage: list[FormatError | FileAccessError] = []
        damaged = self.damage.append if self.skipped.are_wanted else None
        self.records = RecordFiles(title, reading.path_imgrec, reading.path_imgidx, damaged)
        listed = read_image_list(reading.path_imglist, damaged) if reading.path_imglist else ()
        self.labels = {image.number: image.labels for image in listed}
        #: Subtracted from all pixels: of each channel, or an image that `ImageRecordIter` sets.
        self.mean = normalizing.mean(augmenter.shape[0])

    @cached_property
    def _normal(self) -> tuple[float, ...] | None:
        """The normalization as `PictureWriter` takes it, if it is the same for all images."""
        return None if self.normalizing.varies else self._numbers(np.random.default_rng(0))

    def keys_of(self, part: int, parts: int) -> list[RecordKey]:
        """Keys of a part's records: equally many for each part where an index is named, else those in its share of the bytes."""
        keys, reading = self.records.keys, self.reading
        places = np.arange(len(keys)) if reading.path_imgidx else np.array([self.records.offset_of(key) for key in keys], "int64")
        step = -(-(len(keys) if reading.path_imgidx else self.records.size) // parts)
        if not reading.path_imgidx:
            # records begin at multiples of four bytes, and so do parts
            step = -(-step // 4) * 4
        first = part * step
        return [keys[k] for k in np.flatnonzero((places >= first) & (places < first + step))]

    def label_shape(self) -> tuple[int, ...]:
        """Shape of the label of an image in a batch."""
        return (self.reading.label_width,) if self.reading.label_width > 1 else ()

    def content(self, key: RecordKey) -> tuple[IRHeader, memoryview]:
        """The header and the compressed image of a record."""
        record = self.records.read(key)
        with self.naming(key):
            return unpack_view(memoryview(record))

    def load(self, key: RecordKey, seed: tuple[int, ...], data: np.ndarray, label: np.ndarray) -> int:
        """Write the pixels and the label of a record to their places in a batch; return the number in its header."""
        rng = np.random.default_rng(seed)
        with timed("read record"):
            header, image = self.content(key)
        with self.naming(key):
            self._write(image, rng, data)
        label[...] = self._label(key, header)
        return header.id

    def _write(self, image: Buffer, rng: np.random.Generator, data: np.ndarray) -> None:
        """Write the pixels of a compressed image."""
        with timed("decode"):
            picture, change, method = self.augmenter.placed(image, rng)
        with timed("resize and normalize"):
            # Three ways: Pillow, for changed colors and for maps that the adapter has no code for; the adapter's code with normalization in
            # the same pass; or, for integers and for a mean image, that code without it, and a second pass.
            write = None if self.augmenter.colors else change.writer(change.method_of(method))
            if write is None:
                found = change.applied(picture, method, self.augmenter.fill_value)
                pixels = self.augmenter.colored(found, rng).transpose(2, 0, 1)
                self._finish(pixels[..., ::-1] if self.normalizing.mirrors(rng) else pixels, rng, data)
            elif self.dtype.kind == "f" and self.mean.size == len(data):
                change.write(write, picture, self.normalizing.mirrors(rng), self._normal or self._numbers(rng), data)
            else:
                # signed bytes are written as unsigned ones first; `_finish` then limits them to 127 in the same memory
                target = data if self.dtype.kind == "f" else data.view("uint8")
                change.write(write, picture, self.normalizing.mirrors(rng), UNCHANGED, target)
                self._finish(target, rng, data)

    def _numbers(self, rng: np.random.Generator) -> tuple[float, ...]:
        """The normalization as `PictureWriter` takes it."""
        numbers = np.zeros((3, 4), "float32")
        for row, found in zip(numbers, (self.mean, *self.normalizing.factors(len(self.mean), rng)), strict=True):
            row[: len(found)] = found[:, 0, 0]
        return tuple(numbers.ravel().tolist())

    def _finish(self, pixels: np.ndarray, rng: np.random.Generator, data: np.ndarray) -> None:
        """Write pixels (c, h, w), uint8 or already in their place, as the numbers of a batch."""
        if self.dtype.kind == "f":
            self.normalize(pixels, rng, data)
        else:
            np.minimum(pixels, np.iinfo(self.dtype).max, out=data, casting="unsafe")

    @contextmanager
    def naming(self, key: RecordKey) -> Iterator[None]:
        """Name the record in errors about its content."""
        try:
            yield
        except FormatError as error:
            error.__traceback__ = None  # a cycle from Python 3.12 on, as in `formats.images.decoding`
            raise FormatError(f"record {key}: {error.what}", error.given, error.todo).at_path(self.records.path_of(key)) from None

    def normalize(self, pixels: np.ndarray, rng: np.random.Generator, out: np.ndarray) -> None:
        """Write pixels (c, h, w) with the mean subtracted, divided by the deviation and scaled."""
        factor, shift = self.normalizing.factors(len(pixels), rng)
        if pixels is not out:
            np.copyto(out, pixels)
        out -= self.mean
        # left out where it changes nothing: each of these steps is a pass over all pixels
        if (factor != 1).any():
            out *= factor
        if shift.any():
            out += shift

    def _label(self, key: RecordKey, header: IRHeader) -> Label:
        found = self.labels_of(key, header)
        if np.size(found) != self.reading.label_width:
            given, todo = f"label_width={self.reading.label_width}", "pass the number that the records have"
            raise ShapeError(f"{self.title}: record {key} has {np.size(found)} labels", given, todo)
        return found if self.reading.label_width > 1 else np.ravel(found)[0]

    def labels_of(self, key: RecordKey, header: IRHeader) -> Label:
        """The label of a record: its own, or that in the list."""
        if self.reading.path_imglist:
            if header.id not in self.labels:
                raise FormatError(f"record {key} has a number that the list lacks", f"{header.id}").at_path(self.reading.path_imglist)
            return self.labels[header.id]
        return header.label


def timed(name: str) -> AbstractContextManager[object]:
    """A step that the profiler shows, if it runs."""
    return span(name, "data") if LISTENERS else nullcontext()
