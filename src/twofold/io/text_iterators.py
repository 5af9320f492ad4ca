"""Iterators over text files: comma-separated values, and LibSVM's sparse rows."""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..device import current_device
from ..dtype import DTypeLike, dtype_name
from ..errors import ParameterError, ShapeError
from ..imperative.array import adopted
from ..ndarray.array import NDArray
from ..ndarray.sparse import CSRNDArray, csr_matrix
from ..opdef.params import Shape
from .file_iterators import MXDataIter
from .iterator import DataDesc, part_of, register_iterator
from .parameters import takes_text
from .skipped import SkippedSamples
from .text_parsing import SparseParser, SparseRows, ValueParser
from .text_rows import TextRows, without_options

#: Dtypes of CSVIter and LibSVMIter.
CSV_DTYPES, SPARSE_DTYPES = ("float32", "int32", "int64"), ("float32",)
#: The value of parameters that name no file.
NO_FILE = ("", "NULL", None)
#: Options of MXNet's reader that may follow the name of a file.
VALUE_OPTIONS, SPARSE_OPTIONS = ("format", "label_column", "weight_column", "delimiter"), ("format", "indexing_mode")


class _TextIter(MXDataIter):
    """Base class of iterators over rows of text, whose labels may be in other files.

    Parameters
    ----------
    rows, labels
        The rows, and labels in files of their own or None.
    skipped
        Counts the rows that are skipped.
    before
        How many labels there are before that of the first row.
    options
        As for `MXDataIter`, without the order.
    """

    def __init__(self, rows: TextRows[Any], labels: TextRows[Any] | None, skipped: SkippedSamples, before: int = 0, **options: Any) -> None:
        self._rows, self._labels, self._before, self.skipped = rows, labels, before, skipped
        #: The current batch's place and rows. `getdata` and `getlabel` both read them, and parsing takes most of the time.
        self._current: tuple[int, list[tuple[Any, np.ndarray]]] = -1, []
        # Whether a row is good is known once it is parsed. To leave rows out without gaps in the batches, all are parsed here, once.
        super().__init__(order=self._good_rows() if skipped.are_wanted else None, **options)
        self._check_lengths()
        self._begin_epoch()

    def _good_rows(self) -> np.ndarray:
        """The numbers of the rows that are not to be skipped."""
        bad = {k for k in range(self._rows.count) if k in self._rows.damage}
        if self._labels is not None:
            count = self._labels.count - self._before
            bad |= {k for k in range(count) if k + self._before in self._labels.damage}
        return np.array([k for k in range(self._rows.count) if k not in bad], "int64")

    def _check_lengths(self) -> None:
        """Raise if data or labels have ended before the other. Parts after this one may have more labels."""
        rows, labels = self._rows, self._labels
        if labels is None:
            return
        own = self._before + rows.read
        # as long as neither file has been read to its end, neither number of rows is known
        if (labels.is_read and labels.read < own) or (rows.is_read and rows.is_last and labels.read > own):
            counts = f"{self._before + rows.count} and {labels.count}"
            raise ShapeError(f"{type(self).__name__}: the numbers of rows and labels differ", counts, "pass matching files")

    def _rows_up_to(self, stop: int) -> int:
        if self._order is not None:
            return super()._rows_up_to(stop)
        count = self._rows.up_to(stop)
        if self._labels is not None:
            self._labels.up_to(self._before + stop)
            self._check_lengths()
        return count

    def _begin_epoch(self) -> None:
        # without an order no row is skipped: a bad one raises an error
        self.skipped.begin(any_read=self._order is None or len(self._order) > 0)
        for files in (self._rows, self._labels):
            for reason in files.damage.values() if files is not None else ():
                self.skipped.add(reason, reason)

    def reset(self) -> None:
        """Start a new epoch."""
        super().reset()
        self._begin_epoch()

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        if super().iter_next():
            return True
        self.skipped.report()
        return False

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """As `DataIter.load_state_dict`."""
        super().load_state_dict(state)
        self._current = -1, []

    def _batch(self) -> list[tuple[Any, np.ndarray]]:
        """The current batch's rows, for its data and, where they are in the same files, its labels."""
        index = self._indices()
        if self._current[0] != self._at:
            self._current = self._at, self._rows[index]
        return self._current[1]


def _csv_sample(folder: Path) -> "CSVIter":
    """Five rows; the last batch has one of them."""
    (folder / "data.csv").write_text("".join(f"{k},{k + 1}\n" for k in range(5)))
    (folder / "label.csv").write_text("".join(f"{k}\n" for k in range(5)))
    return CSVIter(str(folder / "data.csv"), (2,), str(folder / "label.csv"), batch_size=2, round_batch=False)


@register_iterator(sample=_csv_sample, rows=range(5))
class CSVIter(_TextIter):
    """Iterates over rows of numbers in a file of comma-separated values, with a few megabytes of it in memory at a time.

    Parameters
    ----------
    data_csv
        The file of data: a path, or a URL that fsspec opens. It has no header; empty lines are left out. Several with semicolons between,
        a folder, or a regular expression for the paths of files in a folder, whose files are taken in the order of their names, are read as
        one sequence. After the name may be options: ``data.csv?delimiter=;&label_column=0``. The columns ``label_column`` and
        ``weight_column`` are left out.
    data_shape
        Shape of a row in a batch.
    label_csv
        The file of labels, or several; zeros without one.
    label_shape
        Shape of a label in a batch; that of a single number is ().
    batch_size
        Number of rows in a batch.
    round_batch
        Whether an incomplete last batch is padded with the first rows, with which the next epoch does not begin again; otherwise with the
        rows that the batch before had at these places.
    prefetch_buffer, ctx
        Have no effect: rows are parsed when they are asked for, and batches are created on the current device.
    dtype
        Dtype of data and labels: float32 if None, int32 or int64. Integers are the part before a point or an exponent, as in MXNet:
        -1.9 is -1, and 1e3 is 1, with a warning.
    data_name, label_name
        Names of the two arrays.
    on_bad_sample
        What to do about a row that is not the right number of numbers: ``"raise"`` an error, or ``"skip"`` it, as if the
        files did not have it and its label; so is a whole file that cannot be read, among several that can. The epoch then ends with a
        warning that says how many were skipped and names the first of them. To find them, all rows are read once before.

    Attributes
    ----------
    skipped
        The rows that were skipped in this epoch: ``skipped.count`` and ``skipped.first``.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If a file is empty; when it is read, if a row has something other than numbers, or more or fewer than the others. The message names
        the row.
    ShapeError
        If rows are not of the given shape; when one of them ends, if data and labels differ in number.
    DTypeError, ParameterError
        If the dtype is another one.
    """

    @takes_text
    def __init__(
        self,
        data_csv: str,
        data_shape: Shape,
        label_csv: str | None = "NULL",
        label_shape: Shape = (1,),
        batch_size: int = 1,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        dtype: DTypeLike | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        on_bad_sample: str = "raise",
    ) -> None:
        name = _checked_dtype("CSVIter", dtype, CSV_DTYPES)
        skipped = SkippedSamples("CSVIter", on_bad_sample)
        # as in MXNet, batches of labels of one number have shape (n,)
        single = () if prod(label_shape) == 1 else label_shape
        rows = _value_rows(data_csv, data_shape, name, skipped)
        labels = None if label_csv in NO_FILE else _value_rows(label_csv, single, name, skipped)
        given = {"batch_size": batch_size, "data_name": data_name, "label_name": label_name, "dtype": name, "round_batch": round_batch}
        super().__init__(rows, labels, skipped, data_shape=data_shape, label_shape=single, **given)
        # of the dtype of the data, while the base class describes labels as float32
        self.provide_label = [DataDesc(label_name, (batch_size, *single), self._dtype.type)]

    def getdata(self) -> NDArray:
        """Data of the current batch."""
        return _joined(self._batch())

    def getlabel(self) -> NDArray:
        """Labels of the current batch."""
        index = self._indices()
        if self._labels is None:
            shape = self.provide_label[0].shape
            return adopted(NDArray, np.zeros(shape, self._dtype), current_device())
        return _joined(self._labels[index])


def _value_rows(names: str, shape: Shape, dtype: str, skipped: SkippedSamples) -> TextRows[np.ndarray]:
    names, options = without_options("CSVIter", names, VALUE_OPTIONS)
    _check_format("CSVIter", options, "csv")
    dropped = [_number("CSVIter", options, key) for key in ("label_column", "weight_column")]
    parser = ValueParser("CSVIter", shape, dtype, options.get("delimiter", ",").encode(), dropped)
    return TextRows(names, parser, mends=skipped.are_wanted)


def _joined(pieces: list[tuple[np.ndarray, np.ndarray]]) -> NDArray:
    """Some rows of each of several pieces as an array."""
    found = [rows.take(numbers, axis=0) for rows, numbers in pieces]
    return adopted(NDArray, found[0] if len(found) == 1 else np.concatenate(found), current_device())


def _svm_sample(folder: Path) -> "LibSVMIter":
    """Four rows of one number each."""
    (folder / "data.svm").write_text("".join(f"{k} {k % 3}:{k + 1}\n" for k in range(4)))
    return LibSVMIter(str(folder / "data.svm"), (3,), batch_size=2)


@register_iterator(sample=_svm_sample, rows=range(4))
class LibSVMIter(_TextIter):
    """Iterates over the sparse rows of a file in LibSVM's format, with a few megabytes of it in memory at a time.

    A line is a label and pairs of a column, counted from 0, and a number: ``1 0:0.5 3:1.25``. A label's weight (``1:0.5``), queries
    (``qid:1``) and text after ``#`` are ignored. Batches of data are csr arrays.

    Parameters
    ----------
    data_libsvm
        The file of data: a path, or a URL that fsspec opens. Several with semicolons between, a folder, or a regular expression for the
        paths of files in a folder, whose files are taken in the order of their names, are read as one sequence. Columns are counted from 1
        with ``data.svm?indexing_mode=1``, and with ``-1`` if no row in the first megabyte has a column 0.
    data_shape
        Shape (columns,) of a row.
    label_libsvm
        A file of labels, or several, in the same format, whose own labels are ignored; without one, the labels are those in the
        file of data.
    label_shape
        Shape of a label; with a file of labels (columns,), and batches of labels are csr arrays.
    num_parts, part_index
        Number of parts of equal size in bytes, and the index of the part to read. Together the parts have every row once.
        ``num_parts="workers"`` means one part for each worker that ``twofold launch`` has started.
    batch_size
        Number of rows in a batch.
    round_batch
        Whether an incomplete last batch is padded with the first rows, with which the next epoch does not begin again. It must be true.
    prefetch_buffer, ctx
        Have no effect: rows are parsed when they are asked for, and batches are created on the current device.
    dtype
        Dtype of data and labels: float32.
    data_name, label_name
        Names of the two arrays.
    on_bad_sample
        What to do about a row that is something else: ``"raise"`` an error, or ``"skip"`` it; see `CSVIter`.

    Attributes
    ----------
    skipped
        The rows that were skipped in this epoch: ``skipped.count`` and ``skipped.first``.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If a file is empty; when it is read, if a row is something else, or a column is out of range. The message names the row.
    ShapeError
        If a shape does not have one axis; when one of them ends, if data and labels differ in number.
    ParameterError
        If the dtype is another one, ``part_index`` is out of range, or ``round_batch`` is false.
    """

    @takes_text
    def __init__(
        self,
        data_libsvm: str,
        data_shape: Shape,
        label_libsvm: str | None = "NULL",
        label_shape: Shape = (1,),
        num_parts: int | str = 1,
        part_index: int = 0,
        batch_size: int = 1,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: str = "gpu",
        dtype: DTypeLike | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        on_bad_sample: str = "raise",
    ) -> None:
        _checked_dtype("LibSVMIter", dtype, SPARSE_DTYPES)
        if not round_batch:
            raise ParameterError("LibSVMIter: round_batch must be true", "round_batch=False", "omit it")
        parts, part = part_of("LibSVMIter", num_parts, part_index)
        skipped = SkippedSamples("LibSVMIter", on_bad_sample)
        columns, label_columns, before = _columns("data_shape", data_shape), 1, 0
        rows = _sparse_rows(data_libsvm, columns, skipped, (parts, part))
        labels = None
        if label_libsvm not in NO_FILE:
            label_columns = _columns("label_shape", label_shape)
            labels = _sparse_rows(label_libsvm, label_columns, skipped)
            # labels are found by their number, so the rows of the parts before this one have to be counted
            before = sum(_sparse_rows(data_libsvm, columns, skipped, (parts, k)).count for k in range(part))
        elif label_shape != (1,):
            raise ShapeError("LibSVMIter: label_shape is expected to be (1,) without label_libsvm", f"{label_shape}", "omit it")
        shapes = {"data_shape": (columns,), "label_shape": () if labels is None else (label_columns,)}
        given = {"batch_size": batch_size, "data_name": data_name, "label_name": label_name, "round_batch": True}
        super().__init__(rows, labels, skipped, before, **shapes, **given)

    def getdata(self) -> CSRNDArray:  # type: ignore[override]
        """Data of the current batch."""
        return _csr(self._batch(), self.provide_data[0].shape)

    def getlabel(self) -> NDArray | CSRNDArray:
        """Labels of the current batch: an NDArray, or a csr array from a file of labels."""
        if self._labels is None:
            return _joined([(rows.labels, numbers) for rows, numbers in self._batch()])
        return _csr(self._labels[self._indices() + self._before], self.provide_label[0].shape)


def _sparse_rows(names: str, columns: int, skipped: SkippedSamples, part: tuple[int, int] = (1, 0)) -> TextRows[SparseRows]:
    names, options = without_options("LibSVMIter", names, SPARSE_OPTIONS)
    _check_format("LibSVMIter", options, "libsvm")
    mode = _number("LibSVMIter", options, "indexing_mode", 0)
    parser = SparseParser(columns, None if mode < 0 else min(mode, 1))
    return TextRows(names, parser, part, mends=skipped.are_wanted)


def _csr(pieces: list[tuple[SparseRows, np.ndarray]], shape: Shape) -> CSRNDArray:
    """Some rows of each of several pieces as a csr array."""
    counts, places = zip(*(rows.places(numbers) for rows, numbers in pieces), strict=True)
    values, indices = (
        np.concatenate([getattr(rows, name)[at] for (rows, _), at in zip(pieces, places, strict=True)]) for name in ("values", "indices")
    )
    # the last array says where each row begins among the values: a running sum of the rows' lengths
    return csr_matrix((values, indices, np.concatenate([[0], np.cumsum(np.concatenate(counts))])), shape=shape)


def _checked_dtype(title: str, dtype: DTypeLike | None, known: tuple[str, ...]) -> str:
    name = "float32" if dtype in (None, "None") else dtype_name(dtype)
    if name not in known:
        raise ParameterError(f"{title}: the dtype is not supported", name, f"use {' or '.join(known)}")
    return name


def _columns(name: str, shape: Shape) -> int:
    if len(shape) != 1:
        raise ShapeError(f"LibSVMIter: {name} has one axis", f"{shape}", "pass (columns,)")
    return shape[0]


def _check_format(title: str, options: Mapping[str, str], own: str) -> None:
    if options.get("format", own) != own:
        raise ParameterError(f"{title}: format", options["format"], f"it reads {own}")


def _number(title: str, options: Mapping[str, str], key: str, default: int = -1) -> int:
    """An option that is an integer."""
    try:
        return int(options.get(key, default))
    except ValueError:
        raise ParameterError(f"{title}: {key} after the name of a file is no integer", options[key], f"write ?{key}=0") from None
