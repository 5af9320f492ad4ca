"""`ImageIter`: batches of images from records, lists or files, changed by augmenters written in Python."""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import ndarray as nd
from ..errors import FormatError, InvalidValue, MXNetError, ParameterError, ShapeError
from ..formats.files import join_path, read_file
from ..formats.image_lists import listed_images, read_image_list
from ..io.iterator import DataBatch, DataIter, part_of
from ..io.skipped import BAD_SAMPLE, SkippedSamples
from ..io.states import checked_state, is_flag, whole_number
from ..recordio.files import MXIndexedRecordIO, MXRecordIO
from ..recordio.labeled import IRHeader, unpack
from .functions import imdecode, written
from .usual_augmenters import CreateAugmenter

if TYPE_CHECKING:
    from ..ndarray.array import NDArray
    from ..recordio.files import Key
    from ..recordio.labeled import Label
    from .augmenters import Augmenter

DTYPES = ("int32", "float32", "int64", "float64")
LAST_BATCHES = ("pad", "discard", "roll_over")


class ImageIter(DataIter):
    """Iterates over images in a file of records, a list or a folder, with augmenters.

    `ImageRecordIter` is faster: its workers decode and change whole batches at once.

    Parameters
    ----------
    batch_size
        Number of images in a batch.
    data_shape
        Shape (3, h, w) of an image in a batch.
    label_width
        Number of labels of an image.
    path_imgrec
        A file of records.
    path_imglist
        A list of images: lines with an index, labels and a file name, with tabs between. With ``path_imgrec`` it has the labels.
    path_root
        The folder of the names in the list, which may not lead outside it; without one, or with ``"."``, they are paths.
    path_imgidx
        The index of the records, which ``shuffle`` and ``num_parts`` need.
    shuffle
        Whether to visit the images in a random order, a new one in each epoch.
    part_index, num_parts
        Which of how many equal parts to read.
        ``num_parts="workers"`` means one part for each worker that ``twofold launch`` has started.
    aug_list
        The augmenters; those of `CreateAugmenter` with ``**kwargs`` if None.
    imglist
        A list of images instead of the file: [label, …, file name], where a label may be a list.
    data_name, label_name
        Names of the two arrays.
    dtype
        Dtype of the labels: ``"int32"``, ``"float32"``, ``"int64"`` or ``"float64"``.
    last_batch_handle
        What to do with an incomplete last batch: ``"pad"`` it with the first images, ``"discard"`` it, or let it ``"roll_over"`` to the
        next epoch.
    on_bad_sample
        What to do about an image that is damaged or cannot be read, or has a wrong label: ``"raise"`` an error, or ``"skip"`` it, as if
        it were not there. The epoch then ends with a warning that says how many were skipped and names the first of them.
    **kwargs
        Parameters of `CreateAugmenter`.

    Attributes
    ----------
    skipped
        The images that were skipped in this epoch: ``skipped.count`` and ``skipped.first``.

    Raises
    ------
    ParameterError
        If no images are named, a parameter has another value than the above, or an index is needed.
    MissingFileError, FileAccessError, FormatError
        If a file cannot be read, or has the wrong format. The message names the record.
    ShapeError
        While iterating, if an image has neither one label nor ``label_width``.
    """

    #: Whether `check_valid_image` gets each image in a list.
    _checks_lists: ClassVar[bool] = False
    _shown = ("num_image", "shuffle", "last_batch_handle")

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int | str = 1,
        aug_list: Sequence[Augmenter] | None = None,
        imglist: list[Sequence[Any]] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        on_bad_sample: str = "raise",
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        title = type(self).__name__
        self.skipped = SkippedSamples(title, on_bad_sample)
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise InvalidValue(f"{title}: no images", None, "pass path_imgrec, path_imglist or imglist")
        if dtype not in DTYPES:
            raise ParameterError(f"{title}: labels cannot have this dtype", dtype, f"use one of {', '.join(DTYPES)}")
        if last_batch_handle not in LAST_BATCHES:
            raise ParameterError(f"{title}: last_batch_handle", last_batch_handle, f"use one of {', '.join(LAST_BATCHES)}")
        self.check_data_shape(data_shape)
        self.imgrec: MXRecordIO | None = None
        self.imgidx: list[Key] | None = None
        if path_imgrec and path_imgidx:
            self.imgrec = indexed = MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            self.imgidx = list(indexed.keys)
        elif path_imgrec:
            self.imgrec = MXRecordIO(path_imgrec, "r")
        #: Errors for wrong lines of the list. They are found once, and belong to the count of every epoch.
        self._damage: list[FormatError] = []
        folder = None if path_imgrec else path_root or ""  # with records no image is read by its name
        self.imglist = _labels(path_imglist, imglist, dtype, self._damage.append if self.skipped.are_wanted else None, folder)
        self.path_root = path_root
        self.data_shape, self.label_width, self.shuffle = tuple(data_shape), label_width, shuffle
        self.dtype, self.last_batch_handle = dtype, last_batch_handle
        self.seq = self._order(*part_of(title, num_parts, part_index))
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist = list(CreateAugmenter(data_shape, **kwargs)) if aug_list is None else list(aug_list)
        # pairs, not descriptions, as in MXNet
        self.provide_data = [(data_name, (batch_size, *data_shape))]
        self.provide_label = [(label_name, (batch_size, label_width) if label_width > 1 else (batch_size,))]
        self.cur = 0
        #: Whether the epoch is over although padding has gone back to the beginning of the data and moved `cur`.
        self._at_end = False
        #: An incomplete last batch that is left for the next epoch: its arrays, and the number of rows that are filled.
        self._rolled: tuple[NDArray, NDArray, int] | None = None
        self.reset()

    def _order(self, num_parts: int, part_index: int) -> list[Key] | None:
        """The keys of the images to visit; None for all records in the order of the file."""
        if self.imgrec is None:
            keys = list(self.imglist or ())
        elif self.imgidx is not None:
            keys = self.imgidx
        elif self.shuffle or num_parts > 1:
            raise ParameterError(f"{type(self).__name__}: shuffle and num_parts need an index", None, "pass path_imgidx")
        else:
            return None
        # equal parts, as in MXNet: the remaining images belong to no part
        size = len(keys) // num_parts
        return keys[part_index * size : (part_index + 1) * size] if num_parts > 1 else keys

    def reset(self) -> None:
        """Start a new epoch, with the images that the last one left for it."""
        self._shuffle()
        if self.last_batch_handle != "roll_over" or self._rolled is None:
            self._to_start()

    def hard_reset(self) -> None:
        """Start a new epoch, without the images that the last one left for it."""
        self._shuffle()
        self._rolled = None
        self._to_start()

    def _shuffle(self) -> None:
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)

    def _to_start(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._at_end = False
        self.skipped.begin()
        for error in self._damage:
            self.skipped.add(error.what, error)

    def next_sample(self) -> tuple[Label, bytes]:
        """The label and the compressed image of the next sample.

        Raises
        ------
        StopIteration
            At the end of the data.
        """
        if self._at_end:
            raise StopIteration
        if self.seq is None:
            assert self.imgrec is not None
            record = self._next_record(self.imgrec)
            if record is None:
                # padding and rolling over go on with the first samples; after a discarded batch the end must stay the end
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                    self.cur = 0
                raise StopIteration
            self.cur += 1
            header, image = self._unpacked(record)
            return header.label, image
        if self.cur == len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if isinstance(self.imgrec, MXIndexedRecordIO):
            header, image = self._unpacked(self.imgrec.read_idx(key))
            return (header.label if self.imglist is None else self._listed(key)[0]), image
        label, name = self._listed(key)
        return label, self.read_image(name)

    def _unpacked(self, record: bytes) -> tuple[IRHeader, bytes]:
        try:
            return unpack(record)
        except FormatError as error:
            raise self._placed(error) from None

    def _next_record(self, records: MXRecordIO) -> bytes | None:
        """The next record of a file without an index; after damaged places if these are skipped."""
        while True:
            try:
                return records.read()
            except FormatError as error:
                if not self.skipped.are_wanted:
                    raise
                self.skipped.add(f"byte {error.offset}", error)
                records.skip_damage()

    def _listed(self, key: Key) -> tuple[NDArray, str]:
        assert self.imglist is not None
        if key not in self.imglist:
            raise FormatError(f"{type(self).__name__}: the list lacks a record", f"{key}", "make the list and the records together")
        return self.imglist[key]

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the data.
        """
        try:
            batch = self._next_batch()
        except StopIteration:
            self.skipped.report()
            raise
        self.skipped.any_read = True
        return batch

    def _next_batch(self) -> DataBatch:
        if self._rolled is not None:
            data, label, count = self._rolled
        else:
            data, label, count = *self._empty_batch(), 0
        # cleared before samples are loaded: if one raises an error, the next call does not use these rows twice
        rolled, self._rolled = count, None
        count = self._batchify(data, label, count)
        pad = self.batch_size - count
        if pad and self.last_batch_handle == "discard":
            raise StopIteration
        if pad and self.last_batch_handle == "roll_over" and not rolled:
            self._rolled = data, label, count
            raise StopIteration
        if pad:
            self._batchify(data, label, count)
            # padding has gone back to the beginning of the data, so only this flag still says that the epoch is over
            self._at_end = self.last_batch_handle == "pad"
        # of a batch that rolled over, the images of this epoch count as padding, as in MXNet
        return DataBatch([data], [label], self.batch_size - rolled if rolled else pad)

    def _empty_batch(self) -> tuple[NDArray, NDArray]:
        # a subclass may describe other data, which it makes of these batches
        return written(nd.zeros((self.batch_size, *self.data_shape))), written(nd.zeros(self.provide_label[0][1]))

    def _batchify(self, batch_data: NDArray, batch_label: NDArray, start: int = 0) -> int:
        """Fill a batch from a row on; return the number of its rows."""
        count = start
        while count < self.batch_size:
            try:
                # a sample that was skipped leaves its row to the next one
                if not self._load(batch_data, batch_label, count):
                    continue
            except StopIteration:
                if not count:
                    raise
                break
            count += 1
        return count

    def _load(self, batch_data: NDArray, batch_label: NDArray, row: int) -> bool:
        """Load the next sample into a row of a batch; return whether it could be read."""
        try:
            label, compressed = self.next_sample()
            image = self.imdecode(compressed)
            if not self._is_valid(image):
                return False
            self._write(batch_data, batch_label, row, image, label)
        except BAD_SAMPLE as error:
            if not self.skipped.are_wanted:
                raise
            place = self._place()
            self.skipped.add(place, error if place in str(error) else f"{place}: {error}")
            return False
        return True

    def _is_valid(self, image: NDArray) -> bool:
        """Whether `check_valid_image`, which a subclass may override, lets an image pass; others are left out."""
        try:
            self.check_valid_image([image] if self._checks_lists else image)
        except RuntimeError:
            return False
        return True

    def _write(self, batch_data: NDArray, batch_label: NDArray, row: int, image: NDArray, label: Label) -> None:
        """Write a sample to a row of a batch."""
        if np.size(label) not in (1, self.label_width):  # as in MXNet, one number is repeated as often as needed
            file = "" if self.imgrec is None else f"{self.imgrec.uri}: "
            what = f"{type(self).__name__}: {file}{self._place()} has {np.size(label)} labels"
            raise ShapeError(what, f"label_width={self.label_width}", "pass the number that the samples have")
        batch_data[row] = self.postprocess_data(self.augmentation_transform(image))
        batch_label[row] = label

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise an error if the shape of an image is not (3, h, w)."""
        if len(data_shape) != 3:
            raise InvalidValue("data_shape should have length 3, with dimensions CxHxW", f"{tuple(data_shape)}", "pass (3, h, w)")
        if data_shape[0] != 3:
            raise InvalidValue("This iterator expects inputs to have 3 channels.", f"{tuple(data_shape)}", "pass (3, h, w)")

    def check_valid_image(self, data: NDArray | Sequence[NDArray]) -> None:
        """Raise an error if an image has no axes. Images for which it raises a `RuntimeError` are left out."""
        if not data[0].shape:
            raise MXNetError("Data shape is wrong", None, "pass images (c, h, w)")

    def imdecode(self, s: bytes) -> NDArray:
        """Decode an image; an error names where it is."""
        try:
            return imdecode(s)
        except FormatError as error:
            raise self._placed(error) from None

    def _placed(self, error: FormatError) -> FormatError:
        """An error that names where the last sample is."""
        placed = FormatError(f"{self._place()}: {error.what}", error.given, error.todo)
        return placed if self.imgrec is None else placed.at_path(self.imgrec.uri)

    def _place(self) -> str:
        """Where the last sample is, in words."""
        if self.seq is None:
            return f"record {self.cur - 1}"
        key = self.seq[self.cur - 1]
        return f"record {key}" if self.imgrec is not None else f"file {self._listed(key)[1]}"

    def read_image(self, fname: str) -> bytes:
        """The content of a file in the list."""
        return read_file(join_path(self.path_root or "", fname))

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """The image in the axis order of batches: (c, h, w)."""
        return datum.transpose((2, 0, 1))

    def state_dict(self) -> dict[str, object]:
        """As `DataIter.state_dict`, with the images that rolled over from the last epoch, as text of base 64."""
        seq = None if self.seq is None else list(self.seq)  # which `reset` shuffles in place
        rolled = None
        if self._rolled is not None:
            data, label, count = self._rolled
            rolled = [count, *(b64encode(a[:count].asnumpy().tobytes()).decode() for a in (data, label))]
        return {"cur": self.cur, "seq": seq, "at_end": self._at_end, "rolled": rolled}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As `DataIter.load_state_dict`."""
        title, count = type(self).__name__, inf if self.seq is None else len(self.seq)
        checked_state(title, state, cur=whole_number(0, count), seq=self._is_order, at_end=is_flag, rolled=self._is_rolled)
        before = self.cur
        # a file without an index has to be read up to the position to know whether there is one
        if not self._go_to(state["cur"]):
            self._go_to(before)
            raise ParameterError(f"{title}: the state of another iterator: its cur is beyond the end", state["cur"], "pass the same file")
        self._rolled = None if state["rolled"] is None else self._unrolled(*state["rolled"])
        self.seq, self._at_end = None if state["seq"] is None else list(state["seq"]), state["at_end"]

    def _go_to(self, cur: int) -> bool:
        """Go to a position in the epoch; return whether there is one."""
        self._to_start()
        if self.seq is None and self.imgrec is not None:
            for _ in range(cur):
                if self._next_record(self.imgrec) is None:
                    return False
        self.cur = cur
        return True

    def _is_order(self, value: object) -> bool:
        if self.seq is None or not isinstance(value, (list, tuple)):
            return value is self.seq is None
        # by their texts, because keys may be of types that do not compare
        return sorted(map(repr, value)) == sorted(map(repr, self.seq))

    def _is_rolled(self, value: object) -> bool:
        if not isinstance(value, (list, tuple)):
            return value is None
        try:
            self._unrolled(*value)
        except (TypeError, ValueError):
            return False
        return 0 < value[0] < self.batch_size

    def _unrolled(self, count: int, *texts: str) -> tuple[NDArray, NDArray, int]:
        """The images that rolled over from the last epoch, from their text."""
        data, label = self._empty_batch()
        for array, text in zip((data, label), texts, strict=True):
            array[:count] = np.frombuffer(b64decode(text), array.dtype).reshape(count, *array.shape[1:])
        return data, label, count


def _labels(
    path: str | None, given: list[Sequence[Any]] | None, dtype: str, damaged: Callable[[FormatError], None] | None, root: str | None
) -> dict[Key, tuple[NDArray, str]] | None:
    """The labels and names in a list, by index; None without one."""
    if path:
        return {k: (nd.array(labels, dtype=dtype), name) for k, labels, name in read_image_list(path, damaged, root)}
    if given is None:
        return None
    # MXNet's keys of a list's images are texts
    return {str(k): (nd.array(labels, dtype=dtype), name) for k, labels, name in listed_images(given)}
