"""Iterators over datasets in files."""

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..dtype import NUMPY, DTypeLike, dtype_name
from ..errors import FormatError, MXNetError, ParameterError, ShapeError
from ..formats.datasets import IdxReader
from ..formats.files import open_copy
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import array
from ..opdef.params import Shape
from ..strictness import tolerate
from .iterator import DataDesc, LoadingIter, part_of, register_iterator
from .parameters import takes_text
from .states import checked_state, whole_number


class MXDataIter(LoadingIter):
    """Base class of iterators over rows that are converted, and perhaps read, batch by batch.

    Parameters
    ----------
    data_shape, label_shape
        Shapes of a row's data and label.
    order
        The numbers of the rows, in the order in which they are visited; None for consecutive rows, counted by `_rows_up_to`.
    batch_size
        Number of rows in a batch.
    data_name, label_name
        Names of the two arrays.
    dtype
        Dtype of the data.
    round_batch
        Whether an incomplete last batch is padded with the first rows, with which the next epoch does not begin again; if false, with the
        rows that the batch before had at these places. If None it is dropped.
    """

    def __init__(
        self,
        data_shape: tuple[int, ...],
        label_shape: tuple[int, ...],
        order: np.ndarray | None,
        batch_size: int,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = np.float32,
        round_batch: bool | None = None,
    ) -> None:
        super().__init__(batch_size)
        if batch_size < 1:
            raise ParameterError(f"{type(self).__name__}: a batch needs rows", f"batch_size={batch_size}", "pass 1 or more")
        self._order = order
        self._dtype = NUMPY[dtype_name(dtype)]
        self._round = round_batch
        self._start = 0  # the first row of the epoch
        #: The position of the current batch's first row in the order; negative before the first batch.
        self._at = -batch_size
        self.provide_data = [DataDesc(data_name, (batch_size, *data_shape), self._dtype.type)]
        self.provide_label = [DataDesc(label_name, (batch_size, *label_shape))]

    def __length_hint__(self) -> int:
        # 0 for rows that are counted as they are read
        full, rest = divmod(len(self._order) if self._order is not None else 0, self.batch_size)
        return full + bool(rest and self._round is not None)

    def reset(self) -> None:
        """Start a new epoch."""
        # the next epoch begins after the rows with which this one was padded
        if self._round and (count := self._rows_up_to(self._at + self.batch_size)):
            self._start = self.getpad() % count if self._at >= self._start else 0
        self._at = self._start - self.batch_size

    def _has_batch(self) -> bool:
        return self._at >= self._start

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        start = self._at + self.batch_size
        # at the end the position stays, so that `getdata` still returns the last batch, as in MXNet
        # one row is enough for a batch that will be padded. Asking for no more than that keeps files of text from being read further.
        stop = start + (self.batch_size if self._round is None else 1)
        if stop > self._rows_up_to(stop):
            return False
        self._at = start
        return True

    def _rows_up_to(self, stop: int) -> int:
        """How many rows there are, or ``stop`` if there are more."""
        return min(len(self._order), stop) if self._order is not None else 0

    def getindex(self) -> np.ndarray:
        """Indices of the current batch's rows in the file, uint64."""
        return self._indices().astype(np.uint64)

    def _indices(self) -> np.ndarray:
        """Indices of the current batch's rows, of a dtype that indexes and adds."""
        if self._at < self._start:
            raise MXNetError(f"{type(self).__name__}: there is no current batch", None, "call iter_next() or next() first")
        places = np.arange(self._at, self._at + self.batch_size)
        count = self._rows_up_to(self._at + self.batch_size)
        beyond = places >= count
        # MXNet overwrites its batch in place: without rounding, rows beyond the end keep the last batch's content
        places[beyond] -= count if self._round else self.batch_size
        # The first batch has none before it, and takes row 0 instead. The modulus is for batches that are larger than the data.
        places = np.maximum(places, 0) % count
        return places if self._order is None else self._order[places]

    def getpad(self) -> int:
        """Number of rows at the end of the current batch that are not the epoch's."""
        stop = self._at + self.batch_size
        return stop - self._rows_up_to(stop) if stop > 0 else 0

    def state_dict(self) -> dict[str, object]:
        """As `DataIter.state_dict`: the order of the rows is the same in every epoch."""
        return {"at": self._at, "start": self._start}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As `DataIter.load_state_dict`."""
        title = type(self).__name__
        at = checked_state(title, state, at=whole_number(-self.batch_size))["at"]
        last = max(self._rows_up_to(at + 1) - 1, 0)  # reads no further in a text than the next batch does
        checked_state(title, {"start": 0, **state}, at=whole_number(-self.batch_size, last), start=whole_number(0, last))
        self._at, self._start = at, state.get("start", 0)


def _sample(folder: Path) -> "MNISTIter":
    """Five images of 2 x 3 pixels in the order of seed 0; the last one is dropped."""
    # IDX's magic numbers: 8, for bytes, in the third byte, and the number of axes in the fourth
    (folder / "images").write_bytes(struct.pack(">4I", 2051, 5, 2, 3) + bytes(range(30)))
    (folder / "labels").write_bytes(struct.pack(">2I", 2049, 5) + bytes(range(5)))
    return MNISTIter(str(folder / "images"), str(folder / "labels"), batch_size=2, silent=True)


@register_iterator(sample=_sample, rows=(2, 0, 1, 3))
class MNISTIter(MXDataIter):
    """Iterates over images and labels in IDX files such as MNIST's, plain or compressed with gzip.

    Images are read when their batch is. For this, files that are compressed, or at URLs, are copied to a temporary file.

    Parameters
    ----------
    image, label
        The two files: paths, or URLs that fsspec opens.
    batch_size
        Number of images in a batch. An incomplete last batch is dropped.
    shuffle
        Whether to visit the images in a random order, which is the same in each epoch.
    flat
        Whether images have shape (n, height · width) instead of (n, 1, height, width).
    seed
        Seed of the random order.
    silent
        Whether to suppress the message about what was read.
    num_parts, part_index
        Number of equal parts, and the index of the part to read.
        ``num_parts="workers"`` means one part for each worker that ``twofold launch`` has started.
    prefetch_buffer, ctx
        Have no effect: images are read with their batch, and batches are created on the current device.
    dtype
        Dtype of the data, float32 if None.
    data_name, label_name
        Names of the two arrays.
    input_shape
        Shape of an image in a batch; overrides ``flat``. One of another size has no effect, with a warning.

    Raises
    ------
    FormatError
        If a file is not an IDX file.
    ParameterError
        If ``part_index`` is out of range.
    ShapeError
        If images and labels differ in number.
    """

    @takes_text
    def __init__(
        self,
        image: str = "./train-images-idx3-ubyte",
        label: str = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        silent: bool = False,
        num_parts: int | str = 1,
        part_index: int = 0,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        dtype: DTypeLike | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        input_shape: Shape | None = None,
    ) -> None:
        num_parts, part_index = part_of("MNISTIter", num_parts, part_index)
        images, labels = _opened(image, 3), _labels(label)
        if len(images) != len(labels):
            given = f"{len(images)} and {len(labels)}"
            raise ShapeError("MNISTIter: the numbers of images and labels differ", given, "pass matching files")
        # the lengths of parts differ by one at most, and together the parts have every image
        part = range(len(images) * part_index // num_parts, len(images) * (part_index + 1) // num_parts)
        rows = _IdxRows(image, images, part, _row_shape(images.shape[1:], flat, input_shape))
        order = np.arange(len(rows))
        if shuffle:  # a separate generator: reading a file must not change the program's random numbers
            np.random.RandomState(seed).shuffle(order)
        super().__init__(rows.shape[1:], (), order, batch_size, data_name, label_name, np.float32 if dtype is None else dtype)
        self._data, self._label = rows, labels[part.start : part.stop]
        if not silent:
            print(f"MNISTIter: load {len(rows)} images, shuffle={int(shuffle)}, shape={self.provide_data[0].shape}")

    def getdata(self) -> NDArray:
        """Data of the current batch."""
        return array(self._data[self._indices()] * np.float32(1 / 256), dtype=self._dtype)  # MXNet's scale, not 1 / 255

    def getlabel(self) -> NDArray:
        """Labels of the current batch, float32."""
        return array(self._label[self._indices()])


def _row_shape(shape: tuple[int, ...], flat: bool, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
    if wanted is not None and prod(wanted) == prod(shape):
        return wanted
    if wanted is not None:
        tolerate("MNISTIter: input_shape does not match the image size", f"{wanted} for {shape}", "pass a shape of that size", ShapeError)
    return (prod(shape),) if flat else (1, *shape)


class _IdxRows:
    """Some rows of an IDX file, with a shape of their own."""

    def __init__(self, path: str, file: IdxReader, rows: range, shape: tuple[int, ...]) -> None:
        self._path, self._file, self._start = path, file, rows.start
        self.shape = (len(rows), *shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, numbers: np.ndarray, /) -> np.ndarray:
        try:
            found = self._file.rows((numbers + self._start).tolist())
        except FormatError as error:
            raise error.at_path(self._path) from None
        return np.frombuffer(found, NUMPY[self._file.dtype]).reshape(-1, *self.shape[1:])


def _opened(path: str, ndim: int) -> IdxReader:
    """An IDX file.

    Raises
    ------
    ShapeError
        If it has the wrong number of axes.
    """
    try:
        file = IdxReader(open_copy(path))
    except FormatError as error:
        raise error.at_path(path) from None
    if len(file.shape) != ndim:
        raise ShapeError(f"MNISTIter: {path} has the wrong number of axes", f"shape {file.shape}", f"pass a file with a {ndim}-d array")
    return file


def _labels(path: str) -> np.ndarray:
    file = _opened(path, 1)
    return np.frombuffer(file.rows(range(len(file))), NUMPY[file.dtype])
