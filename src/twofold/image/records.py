"""`ImageRecordIter` and its variants: threads decode and change the images of a file of records, and assemble batches in place."""

import os
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import ndarray as nd
from ..backend.loader import backend_for
from ..dtype import dtype_name
from ..errors import FormatError, MXNetError, ParameterError, ShapeError
from ..formats.files import file_exists
from ..imperative.array import adopted
from ..io.iterator import DataDesc, LoadingIter, part_of, register_iterator
from ..io.skipped import BAD_SAMPLE
from ..io.states import checked_state, whole_number
from ..ndarray.array import NDArray
from ..recordio.files import MXIndexedRecordIO
from ..recordio.labeled import IRHeader, pack_img
from .geometry import HOST
from .record_augmenter import RecordAugmenter
from .record_batches import InFlight, Row, load_rows
from .record_loader import RecordLoader, timed
from .record_parameters import Batching, Reading, RecordNormalizing, groups_of, image_shape


def _write_sample(folder: Path) -> str:
    path = str(folder / "images.rec")
    file = MXIndexedRecordIO(str(folder / "images.idx"), path, "w")
    for k in range(5):
        file.write_idx(k, pack_img(IRHeader(0, float(k), k, 0), np.full((2, 2, 3), k, "uint8"), img_fmt=".png"))
    file.close()
    return path


class ImageRecordIter(LoadingIter):
    """Iterates over the images in a file of records.

    Threads decode the images, change them and write them to their places in batches, some batches ahead. Parameters are passed by name;
    numbers may be text.

    Parameters
    ----------
    path_imgrec
        The file of records: a path, or a URL that fsspec opens. Several with semicolons between, a folder, or a regular expression for
        the paths of files in a folder (``data/train-.*[.]rec``), whose files are taken in the order of their names, are read as one
        sequence.
    data_shape
        Shape (c, h, w) of an image in a batch: 3 channels for colors, 1 for gray, 4 for colors and opacity, which images must have then.
    batch_size
        Number of images in a batch.
    path_imglist
        A list of images (`im2rec`) whose labels replace those of the records with the same numbers.
    path_imgidx
        The index of the records; without one, the file next to it with the extension ``.idx``, or the headers of all records are read. For
        several files one index for each, with semicolons between, or one with the offsets in all files joined.
    label_width
        Number of labels of an image.
    num_parts, part_index
        Number of parts of the file, and the index of the part to read. Together the parts have every record once. They are of equal size in
        bytes, or, where ``path_imgidx`` is given, in records.
        ``num_parts="workers"`` means one part for each worker that ``twofold launch`` has started.
    shuffle, seed
        Whether to visit the records in a random order, a new one in each epoch, and its seed.
    shuffle_chunk_size, shuffle_chunk_seed
        If positive, records that follow one another, in chunks of as many megabytes, stay together: chunks are shuffled, and the records
        in them. For files that are slow to read at random.
    seed_aug
        Seed of the augmentation; that of the order if None.
    on_bad_sample
        What to do about a record that is damaged, is no image, or has another number of labels: ``"raise"`` an error, or ``"skip"`` it,
        as if the file did not have it; so is a whole file that cannot be read, among several that can. The epoch then ends with a warning
        that says how many were skipped and names the first of them.
    round_batch
        Whether an incomplete last batch is padded with the first images of the next epoch, which begins after these. If false, it is padded
        with zeros. `DataBatch.pad` tells how many.
    preprocess_threads, prefetch_buffer
        Number of threads, and of batches that they are ahead.
    dtype
        float32; uint8 and int8 do not change the numbers, as `ImageRecordUInt8Iter` and `ImageRecordInt8Iter`.
    resize
        Length of the shorter side to which images are resized first; -1 leaves them.
    rand_crop
        Whether to crop images at a random place instead of the center.
    random_resized_crop
        Whether the crop has a random share of the area, from ``min_random_area`` to ``max_random_area``, and a random aspect ratio, from
        ``min_aspect_ratio`` to ``max_aspect_ratio``.
    max_crop_size, min_crop_size
        Limits of the side of a random square crop, which is then resized; -1 to crop to the final size.
    rotate, max_rotate_angle
        An angle in degrees, or the largest random one if ``rotate`` is -1.
    max_shear_ratio, min_random_scale, max_random_scale, max_aspect_ratio, min_aspect_ratio
        Limits of a random shear, scale and aspect ratio. Aspect ratios are around 1 if ``min_aspect_ratio`` is None.
    min_img_size, max_img_size
        Limits of width and height after that.
    pad, fill_value
        Pixels to add at each side, and their value, which is also that of what lies outside a rotated image; their opacity is 0.
    inter_method
        0 nearest pixel, 1 linear, 2 cubic, 3 areas, 4 Lanczos, 9 automatic, 10 random; 0 and 1 are the fast ones. Linearly interpolated
        bytes are those of `mx.image.imresize` with the extra ``jit``. Without it, and where images are rotated or padded, Pillow's: up to 1
        less.
    brightness, contrast, saturation
        How far random factors of these may be from 1. No change of color changes opacity.
    pca_noise
        Standard deviation of the noise along principal components of ImageNet's colors.
    random_h, random_s, random_l
        Limits of random numbers added to hue (of 180), saturation and lightness (of 255).
    mirror, rand_mirror
        Whether to flip images horizontally: always, or with a probability of one half.
    mean_r, mean_g, mean_b, mean_a, std_r, std_g, std_b, std_a
        Mean that is subtracted from each channel, and standard deviation by which it is then divided.
    mean_img
        A file with the mean of all images, which is subtracted instead. Where it does not exist it is computed and written.
    scale
        A factor of the normalized values.
    max_random_contrast, max_random_illumination
        How far a random factor of the differences from the mean may be from 1, and a random number that is added to them, from 0.
    data_name, label_name
        Names of the two arrays.
    aug_seq, ctx, device_id, verbose
        Have no effect.

    Attributes
    ----------
    skipped
        The records that were skipped in this epoch: ``skipped.count`` and ``skipped.first``.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If a file is damaged or there are no records; while iterating, if a record is no image, or if all records were skipped. The message
        names the record.
    ParameterError
        If a parameter is missing or has a value that it cannot have, or there are no records in the part to read.
    ShapeError
        While iterating, if a record does not have as many labels as ``label_width``.

    Examples
    --------
    >>> import tempfile, numpy as np, twofold as mx
    >>> path = tempfile.mkdtemp() + "/a.rec"
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> for k in range(4):
    ...     file.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, k, k, 0), np.zeros((40, 50, 3), "uint8")))
    >>> file.close()
    >>> for batch in mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 32, 32), batch_size=2, rand_crop=True):
    ...     print(batch.data[0].shape, batch.label[0].asnumpy())
    (2, 3, 32, 32) [0. 1.]
    (2, 3, 32, 32) [2. 3.]
    """

    #: Dtypes of the data; the first is the default.
    _dtypes: ClassVar[tuple[str, ...]] = ("float32", "uint8", "int8")
    #: Numbers of channels that images may have.
    _channels: ClassVar[tuple[int, ...]] = (1, 3, 4)
    #: The classes of parameters, and the classes that read records by them.
    _groups: ClassVar[tuple[type, ...]] = (Reading, RecordAugmenter, RecordNormalizing, Batching)
    _loader_class: ClassVar[type] = RecordLoader

    def __init__(self, **kwargs: object) -> None:
        title = type(self).__name__
        shape = image_shape(title, kwargs.get("data_shape"), self._channels)
        reading, augmenter, normalizing, self._batching = groups_of(title, kwargs, shape, *self._groups)
        super().__init__(self._batching.batch_size)
        if self.batch_size < 1 or reading.label_width in (0, None):
            given = f"{self.batch_size} and {reading.label_width}"
            raise ParameterError(f"{title}: batch_size and label_width are positive", given, "pass 1 or more")
        parts, part = part_of(title, reading.num_parts, reading.part_index)
        name = self._dtypes[0] if self._batching.dtype == "None" else dtype_name(self._batching.dtype)
        if name not in self._dtypes:
            raise ParameterError(f"{title}: the dtype is not supported", name, f"use {' or '.join(self._dtypes)}")
        self._loader = self._loader_class(title, reading, augmenter, normalizing, np.dtype(name))
        self._keys = self._loader.keys_of(part, parts)
        if not self._keys and not self._loader.damage:
            raise self._nothing_to_read(part, parts)
        self._labels = self._loader.label_shape()
        self.provide_data = [DataDesc(self._batching.data_name, (self.batch_size, *shape), np.dtype(name).type)]
        self.provide_label = [DataDesc(self._batching.label_name, (self.batch_size, *self._labels))]
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._in_flight: deque[InFlight] = deque()
        self._bad: dict[int, str] = {}  # why images cannot be read, by their positions in the epoch
        self._loaded: dict[int, tuple[np.ndarray, np.ndarray, int]] = {}  # images that have lost their places in batches
        self.skipped = self._loader.skipped
        self._restart(epoch=0, start=0)  # the epoch of the next batch, and the position at which that epoch begins
        self._orders: dict[int, np.ndarray] = {}
        if normalizing.mean_img:
            self._loader.mean = self._mean_image(normalizing.mean_img)

    def _nothing_to_read(self, part: int, parts: int) -> MXNetError:
        title, path, count = type(self).__name__, self._loader.reading.path_imgrec, len(self._loader.records.keys)
        if not count:
            return FormatError(f"{title}: there are no records", None, "name a file that has some").at_path(path)
        given = f"part_index={part} of num_parts={parts} with {count} records in all"
        todo = "pass a smaller num_parts, or path_imgidx for parts of equal size"
        return ParameterError(f"{title}: a part of {path} has no records", given, todo)

    def reset(self) -> None:
        """Start a new epoch, after the images that the last one was padded with."""
        # if no batch of an epoch was read, the epoch begins again, in the same order
        begun = self._at > self._start
        # how many images of later epochs the last batch was padded with; they may be more than one epoch has
        overflow = self._at - len(self._keys)
        passed, start = divmod(overflow, len(self._keys)) if begun and overflow > 0 and self._batching.round_batch else (0, 0)
        self._restart(self._epoch + begun + passed, start)

    def _restart(self, epoch: int, start: int, at: int | None = None) -> None:
        # parts that threads have begun already are written to their batch's arrays, which nothing reads any more
        for batch in self._in_flight:
            for part in batch.parts:
                part.cancel()
        self._in_flight.clear()
        self._bad.clear()
        self._loaded.clear()
        self._current = None
        self.skipped.begin(any_read=start > 0)
        for error in self._loader.damage:
            self.skipped.add(str(error), error)
        self._epoch, self._start = epoch, start
        # the position after the current batch
        self._at = start if at is None else at

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        while True:
            # one more than the buffer: the first of them is returned below
            while len(self._in_flight) <= max(self._batching.prefetch_buffer, 1) and self._ahead < len(self._keys):
                self._in_flight.append(self._begin(self._ahead))
            if not self._in_flight:
                self.skipped.report()
                return False
            batch = self._in_flight[0]
            try:
                with timed("wait for images"):
                    numbers = batch.numbers()
                if not any(isinstance(number, str) for number in numbers):
                    break
                self._begin_again()
            except Exception:  # not Ctrl-C, after which the next call returns this batch
                self._in_flight.popleft()
                raise
        for position in batch.skipped:
            self.skipped.add(position, self._bad[position])
        if batch.rows:
            self._current, self.skipped.any_read = batch, True
            self._ids = np.zeros(self.batch_size, "uint64")
            self._ids[: len(numbers)] = numbers
        self._at = batch.end
        self._in_flight.popleft()
        # without rows all images that the epoch has left are bad: the next round reports them and ends the epoch
        return bool(batch.rows) or self.iter_next()

    @property
    def _ahead(self) -> int:
        """The position after the last batch that threads were given."""
        return self._in_flight[-1].end if self._in_flight else self._at

    def _begin_again(self) -> None:
        """Let the batches in flight begin again without the images that turned out to be bad. No other is loaded twice."""
        for batch in self._in_flight:
            # all threads must have ended before: they write into the arrays whose rows are copied here
            for row, number in zip(batch.rows, batch.numbers(), strict=True):
                if isinstance(number, str):
                    self._bad[row.position] = number
                else:
                    self._loaded[row.position] = batch.data[row.place], batch.label[row.place], number
        self._in_flight.clear()

    def _begin(self, at: int) -> InFlight:
        """Give the threads a batch. It has no rows if all images that the epoch has left are bad."""
        rows: list[Row] = []
        skipped, position, count = [], at, len(self._keys)
        while len(rows) < self.batch_size and (position < count or (self._batching.round_batch and rows)):
            epoch, number = divmod(position, count)
            if position not in self._bad:
                key, seed = self._keys[self._order(self._epoch + epoch)[number]], self._seed(self._epoch + epoch, number)
                rows.append(Row(len(rows), position, key, seed, self._loaded.pop(position, None)))
            elif not epoch:
                skipped.append(position)
            position += 1
        shape = self.provide_data[0].shape
        backend = backend_for(HOST)
        data = backend.to_host(backend.empty(shape, self._loader.dtype.name))  # from its pool: new memory costs as much as filling it
        data[len(rows) :] = 0
        label = np.zeros(self.provide_label[0].shape, "float32")
        size = max(-(-len(rows) // max(self._batching.preprocess_threads, 1)), 1)
        pool = self._running_pool()
        parts = [pool.submit(load_rows, self._loader, rows[k : k + size], data, label) for k in range(0, len(rows), size)]
        return InFlight(rows, data, label, self.batch_size - sum(row.position < count for row in rows), position, skipped, parts)

    def _running_pool(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():  # a forked child has none of the threads
            self._process = os.getpid()
            self._pool = ThreadPoolExecutor(max(self._batching.preprocess_threads, 1), type(self).__name__)
        return self._pool

    def _seed(self, epoch: int, number: int) -> tuple[int, ...]:
        reading = self._loader.reading
        # by epoch and image, not by thread: an image changes the same way whichever thread loads it
        return abs(reading.seed if reading.seed_aug is None else reading.seed_aug), epoch, number

    def _order(self, epoch: int) -> np.ndarray:
        """The order of the images in an epoch."""
        if epoch not in self._orders:
            # past epochs are dropped; a batch may be padded with images of several later ones
            self._orders = {e: order for e, order in self._orders.items() if e >= self._epoch}
            self._orders[epoch] = self._new_order(epoch)
        return self._orders[epoch]

    def _new_order(self, epoch: int) -> np.ndarray:
        reading, count = self._loader.reading, len(self._keys)
        if not reading.shuffle:
            return np.arange(count)
        # of seed and epoch alone: an order can be made again without the orders before it, as `load_state_dict` needs
        rng = np.random.default_rng((abs(reading.seed), epoch))
        if reading.shuffle_chunk_size <= 0:
            return rng.permutation(count)
        offsets = np.array([self._loader.records.offset_of(key) for key in self._keys])
        # a chunk ends where an offset passes a multiple of the chunk's size
        # a shift by 20 bits: the size is in megabytes
        chunks = np.split(np.arange(count), np.flatnonzero(np.diff((offsets - offsets[0]) // (reading.shuffle_chunk_size << 20))) + 1)
        order = np.random.default_rng((abs(reading.shuffle_chunk_seed), epoch)).permutation(len(chunks))
        return np.concatenate([rng.permutation(chunks[k]) for k in order])

    def _has_batch(self) -> bool:
        return self._current is not None

    def _batch(self) -> InFlight:
        if self._current is None:
            raise MXNetError(f"{type(self).__name__}: there is no current batch", None, "call iter_next() or next() first")
        return self._current

    def getdata(self) -> NDArray:
        """Data of the current batch."""
        return adopted(NDArray, self._batch().data)

    def getlabel(self) -> NDArray:
        """Labels of the current batch, float32."""
        return adopted(NDArray, self._batch().label)

    def getpad(self) -> int:
        """Number of images at the end of the current batch that are not the epoch's."""
        return self._batch().pad

    def getindex(self) -> np.ndarray:
        """Numbers of the current batch's images, from the headers of their records; 0 for rows of zeros."""
        self._batch()
        return self._ids

    def state_dict(self) -> dict[str, object]:
        """As `DataIter.state_dict`."""
        return {"epoch": self._epoch, "start": self._start, "at": self._at}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As `DataIter.load_state_dict`."""
        title, count = type(self).__name__, len(self._keys)
        start = checked_state(title, state, epoch=whole_number(), start=whole_number(0, max(count - 1, 0)))["start"]
        # the last batch may go on with the next epochs' images, and of each of them only one may be good
        passes = self.batch_size * (count if self.skipped.are_wanted else 1) if self._batching.round_batch else 0
        checked_state(title, state, at=whole_number(start, count + passes))
        self._restart(state["epoch"], start, state["at"])

    def _mean_image(self, path: str) -> np.ndarray:
        """The mean of all images, from a file or computed and written to it."""
        if not file_exists(path):
            total, count = np.zeros(self.provide_data[0].shape[1:], "float64"), 0
            self._loader.mean = np.zeros_like(self._loader.mean)
            for k, key in enumerate(self._keys):
                with suppress(*BAD_SAMPLE if self.skipped.are_wanted else ()):
                    pixels = self._loader.augmenter(self._loader.content(key)[1], np.random.default_rng(k))
                    total += pixels.transpose(2, 0, 1)
                    count += 1
            # saved and loaded even where it was computed: all runs see the same rounded numbers
            nd.save(path, {"mean_img": nd.array(total / max(count, 1), dtype="float32")})
        mean = next(iter(dict(nd.load(path)).values())).asnumpy()
        if mean.shape != self.provide_data[0].shape[1:]:
            raise ShapeError(f"{type(self).__name__}: the mean image has another shape", f"{mean.shape}", f"remove {path}")
        return mean

    def __del__(self) -> None:
        # missing if the constructor has raised an error
        pool = self.__dict__.get("_pool")
        if pool is not None and self._process == os.getpid():
            pool.shutdown(wait=False, cancel_futures=True)


register_iterator(
    sample=lambda folder: ImageRecordIter(path_imgrec=_write_sample(folder), data_shape=(3, 2, 2), batch_size=2, round_batch=False),
    rows=range(5),
)(ImageRecordIter)


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` whose images are bytes, without normalization."""

    _dtypes = ("uint8",)


class ImageRecordInt8Iter(ImageRecordIter):
    """`ImageRecordIter` whose images are 8-bit integers with a sign, without normalization; bytes above 127 become 127."""

    _dtypes = ("int8",)


class ImageRecordIter_v1(ImageRecordIter):
    """`ImageRecordIter` under an older name."""

    _dtypes = ("float32",)


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """`ImageRecordUInt8Iter` under an older name."""
