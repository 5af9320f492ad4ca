"""Iterators over text files: comma-separated values, and LibSVM's sparse rows."""

import io
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..backend.loader import backend_for
from ..device import CPU
from ..dtype import DTypeLike, dtype_name
from ..errors import FormatError, ParameterError, ShapeError
from ..formats.files import listed_files, read_file
from ..ndarray.array import NDArray
from ..ndarray.sparse import CSRNDArray, csr_matrix
from .file_iterators import MXDataIter, takes_text
from .iterator import DataDesc, register_iterator
from .parts import part_of

__all__ = ["CSVIter", "LibSVMIter"]

#: Dtypes of CSVIter and LibSVMIter.
CSV_DTYPES, SPARSE_DTYPES = ("float32", "int32", "int64"), ("float32",)
#: What separates numbers.
NEWLINE, BLANK, COMMA, COLON = b"\n ,:"
#: The value of parameters that name no file.
NO_FILE = ("", "NULL", None)
Shape = tuple[int, ...]


def _csv_sample(folder: Path) -> "CSVIter":
    """Five rows of which the last batch has one."""
    (folder / "data.csv").write_text("".join(f"{k},{k + 1}\n" for k in range(5)))
    (folder / "label.csv").write_text("".join(f"{k}\n" for k in range(5)))
    return CSVIter(str(folder / "data.csv"), (2,), str(folder / "label.csv"), batch_size=2, round_batch=False)


@register_iterator(sample=_csv_sample, rows=range(5))
class CSVIter(MXDataIter):
    """Iterates over rows of numbers in a file of comma-separated values.

    Parameters
    ----------
    data_csv
        The file of data: a path, or a URL that fsspec opens. It has no header; empty lines are left out. Several with semicolons between,
        or a folder, whose files are taken in the order of their names, are read as one sequence.
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
        Have no effect: rows are in memory, and batches are created on the current device.
    dtype
        Dtype of data and labels: float32 if None, int32 or int64.
    data_name, label_name
        Names of the two arrays.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If a file is empty or has something other than numbers; the message names the line.
    ShapeError
        If rows are not of the given shape, or data and labels differ in number.
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
    ) -> None:
        name = _checked_dtype("CSVIter", dtype, CSV_DTYPES)
        data = _csv_rows(data_csv, _shape(data_shape), name)
        single = () if prod(_shape(label_shape)) == 1 else _shape(label_shape)
        label = np.zeros((len(data), *single), name) if label_csv in NO_FILE else _csv_rows(label_csv, single, name)
        _check_lengths("CSVIter", len(data), len(label))
        super().__init__(data, label, batch_size, data_name, label_name, name, round_batch)
        self.provide_label = [DataDesc(label_name, (batch_size, *single), self._dtype.type)]

    def getlabel(self) -> NDArray:
        """Labels of the current batch."""
        return super().getlabel().astype(self._dtype, copy=False)


def _checked_dtype(title: str, dtype: DTypeLike | None, known: tuple[str, ...]) -> str:
    name = "float32" if dtype in (None, "None") else dtype_name(dtype)
    if name not in known:
        raise ParameterError(f"{title}: the dtype is not supported", name, f"use {' or '.join(known)}")
    return name


def _shape(given: Any) -> Shape:
    """A shape, which MXNet's iterators receive as text."""
    numbers = given.strip("()[] ").split(",") if isinstance(given, str) else given if isinstance(given, (tuple, list)) else [given]
    return tuple(int(n) for n in numbers if str(n).strip())


def _check_lengths(title: str, rows: int, labels: int) -> None:
    if rows != labels:
        raise ShapeError(f"{title}: the numbers of rows and labels differ", f"{rows} and {labels}", "pass matching files")


def _contents(names: str) -> list[tuple[str, bytes]]:
    """The files that a parameter names, without those among several that are empty."""
    contents = ((path, read_file(path)) for path in listed_files(names))
    found = [(path, content) for path, content in contents if content and not content.isspace()]
    if not found:
        raise FormatError("the file is empty", None).at_path(names)
    return found


def _csv_rows(names: str, shape: Shape, dtype: str) -> np.ndarray:
    """The rows of files (n, *shape)."""
    return np.concatenate([_csv_rows_of(path, content, shape, dtype) for path, content in _contents(names)])


def _csv_rows_of(path: str, content: bytes, shape: Shape, dtype: str) -> np.ndarray:
    """The rows of a file (n, *shape)."""
    try:
        rows = _quick_rows(content) if dtype == "float32" else None
        if rows is None:
            rows = np.loadtxt(io.BytesIO(content), dtype, delimiter=",", ndmin=2, comments=None, encoding="utf-8")
    except ValueError as error:
        raise FormatError("not rows of numbers with commas between", str(error)).at_path(path) from None
    if rows.shape[1] != prod(shape):
        raise ShapeError(f"CSVIter: {path} has rows of {rows.shape[1]} numbers", f"shape {shape}", f"which needs {prod(shape)}")
    return rows.reshape(-1, *shape)


def _numbers(content: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """The numbers and separators of a text, by the adapter's `NumberReader`; None if it has none, or the text is not so plain."""
    read = backend_for(CPU).target.host_code.number_reader()
    return None if read is None else read(content if content.endswith(b"\n") else content + b"\n")


def _quick_rows(content: bytes) -> np.ndarray | None:
    """Rows of plain numbers (n, columns), float32; None if they are something else."""
    found = _numbers(content)
    if found is None:
        return None
    numbers, separators = found
    columns = int(np.argmax(separators == NEWLINE)) + 1
    if len(numbers) % columns:
        return None
    table = separators.reshape(-1, columns)
    if (table[:, :-1] != COMMA).any() or (table[:, -1] != NEWLINE).any():
        return None
    with np.errstate(over="ignore"):
        return numbers.astype("float32").reshape(-1, columns)


def _svm_sample(folder: Path) -> "LibSVMIter":
    """Four rows of one number each."""
    (folder / "data.svm").write_text("".join(f"{k} {k % 3}:{k + 1}\n" for k in range(4)))
    return LibSVMIter(str(folder / "data.svm"), (3,), batch_size=2)


@register_iterator(sample=_svm_sample, rows=range(4))
class LibSVMIter(MXDataIter):
    """Iterates over the sparse rows of a file in LibSVM's format; batches of data are csr arrays.

    A line is a label and pairs of a column, counted from 0, and a number: ``1 0:0.5 3:1.25``. Queries (``qid:1``) and what follows ``#``
    are ignored.

    Parameters
    ----------
    data_libsvm
        The file of data: a path, or a URL that fsspec opens. Several with semicolons between, or a folder, whose files are taken in the
        order of their names, are read as one sequence.
    data_shape
        Shape (columns,) of a row.
    label_libsvm
        A file of labels, or several, in the same format, whose own labels are ignored; without one, the labels are those in the
        file of data.
    label_shape
        Shape of a label; with a file of labels (columns,), and batches of labels are csr arrays.
    num_parts, part_index
        Number of parts of equal size in bytes, and the index of the part to read. Together the parts have every row once.
        ``num_parts="workers"`` stands for the workers that ``twofold launch`` has started, of which each reads its own part.
    batch_size
        Number of rows in a batch.
    round_batch
        Whether an incomplete last batch is padded with the first rows, with which the next epoch does not begin again. It must be true.
    prefetch_buffer, ctx
        Have no effect: rows are in memory, and batches are created on the current device.
    dtype
        Dtype of data and labels: float32.
    data_name, label_name
        Names of the two arrays.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If a line is something else, or a column is out of range; the message names the line.
    ShapeError
        If a shape does not have one axis, or data and labels differ in number.
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
    ) -> None:
        _checked_dtype("LibSVMIter", dtype, SPARSE_DTYPES)
        if not round_batch:
            raise ParameterError("LibSVMIter: round_batch must be true", "round_batch=False", "omit it")
        num_parts, part_index = part_of("LibSVMIter", num_parts, part_index)
        columns = _columns("data_shape", data_shape)
        contents = _contents(data_libsvm)
        self._rows = _SparseRows(contents, columns)
        self._labels = None if label_libsvm in NO_FILE else _SparseRows(_contents(label_libsvm), _columns("label_shape", label_shape))
        if self._labels is None and _shape(label_shape) != (1,):
            raise ShapeError("LibSVMIter: label_shape is expected to be (1,) without label_libsvm", f"{label_shape}", "omit it")
        count = len(self._rows.labels)
        _check_lengths("LibSVMIter", count, count if self._labels is None else len(self._labels.labels))
        part = np.arange(count) if num_parts == 1 else _part_of([content for _, content in contents], num_parts, part_index)
        super().__init__(part, self._rows.labels[part], batch_size, data_name, label_name, round_batch=True)
        self.provide_data = [DataDesc(data_name, (batch_size, self._rows.columns))]
        if self._labels is not None:
            self.provide_label = [DataDesc(label_name, (batch_size, self._labels.columns))]

    def getdata(self) -> CSRNDArray:  # type: ignore[override]
        """Data of the current batch."""
        return self._rows.batch(self._data[self.getindex()])

    def getlabel(self) -> Any:
        """Labels of the current batch: an NDArray, or a csr array from a file of labels."""
        return super().getlabel() if self._labels is None else self._labels.batch(self._data[self.getindex()])


def _columns(name: str, given: Any) -> int:
    shape = _shape(given)
    if len(shape) != 1:
        raise ShapeError(f"LibSVMIter: {name} has one axis", f"{shape}", "pass (columns,)")
    return shape[0]


class _SparseRows:
    """The rows of files in LibSVM's format: labels (n,), and values and columns of row k from ``starts[k]`` to ``starts[k + 1]``."""

    def __init__(self, contents: Sequence[tuple[str, bytes]], columns: int) -> None:
        self.columns = columns
        found = [_sparse_rows_of(path, content, columns) for path, content in contents]
        labels, values, indices, counts = zip(*found, strict=True)
        self.labels, self.values, self.indices = np.concatenate(labels), np.concatenate(values), np.concatenate(indices)
        self.starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])

    def batch(self, rows: np.ndarray) -> CSRNDArray:
        """Some rows as a csr array."""
        counts = self.starts[rows + 1] - self.starts[rows]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(indptr[-1]) + np.repeat(self.starts[rows] - indptr[:-1], counts)
        return csr_matrix((self.values[places], self.indices[places], indptr), shape=(len(rows), self.columns))


def _sparse_rows_of(path: str, content: bytes, columns: int) -> tuple[np.ndarray, ...]:
    """Labels, values, columns and numbers of values of a file's rows."""
    try:
        labels, values, indices, counts = _parse_libsvm(content)
        wrong = np.flatnonzero((indices < 0) | (indices >= columns))
        if len(wrong):
            row = int(np.searchsorted(np.cumsum(counts), wrong[0], "right")) + 1
            raise FormatError(f"row {row}: a column out of range", f"{indices[wrong[0]]} of {columns}", "count columns from 0")
    except FormatError as error:
        raise error.at_path(path) from None
    return labels, values, indices, counts


def _parse_libsvm(content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, values, columns, and the number of values of each row."""
    labels, rest, counts = _quick_libsvm(content) or _slow_libsvm(content)
    with np.errstate(invalid="ignore"):
        columns = rest[:, 0].astype("int64")
    if (columns != rest[:, 0]).any():
        raise _wrong_line(_lines(content))
    with np.errstate(over="ignore"):
        return labels.astype("float32"), rest[:, 1].astype("float32"), columns, counts


def _quick_libsvm(content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Labels (n,), pairs of column and value (m, 2), float64, and the number of pairs of each row; None if rows are not plain numbers."""
    found = _numbers(content)
    if found is None or not len(found[0]):
        return None
    numbers, separators = found
    ends = np.flatnonzero(separators == NEWLINE)
    heads = np.concatenate([[0], ends[:-1] + 1])
    is_pair = np.ones(len(numbers), bool)
    is_pair[heads] = False
    between = separators[is_pair]
    # after a label comes a column or the next row, after a column its value, and after that no second value
    wrong = len(between) % 2 or (between[::2] != COLON).any() or not np.isin(between[1::2], (BLANK, NEWLINE)).all()
    if wrong or not np.isin(separators[heads], (BLANK, NEWLINE)).all():
        return None
    return numbers[heads], numbers[is_pair].reshape(-1, 2), (ends - heads) // 2


def _lines(content: bytes) -> list[bytes]:
    return [line for line in _without_comments(content).splitlines() if line.strip()]


def _slow_libsvm(content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_quick_libsvm`, for every text. All numbers are read by one call of NumPy's parser."""
    lines = _lines(content)
    if not lines:
        raise FormatError("the file is empty", None)
    counts = np.array([line.count(b":") for line in lines])
    text = b" ".join(lines).replace(b":", b" ").split()
    ends = np.cumsum(1 + 2 * counts)
    if len(text) != ends[-1]:
        raise _wrong_line(lines)
    try:
        numbers = np.array(text, "S").astype("float64")
    except ValueError:
        raise _wrong_line(lines) from None
    heads = ends - 1 - 2 * counts
    return numbers[heads], np.delete(numbers, heads).reshape(-1, 2), counts


def _part_of(contents: list[bytes], count: int, index: int) -> np.ndarray:
    """The rows of one of several parts: those that begin in its share of the bytes. The part before has one that begins where it does."""
    lines = [line for content in contents for line in content.splitlines(keepends=True)]
    starts = np.cumsum([0, *map(len, lines)])[:-1]
    starts = starts[[bool(line.partition(b"#")[0].strip()) for line in lines]]
    parts = np.maximum(-(-starts // -(-sum(map(len, lines)) // count)) - 1, 0)
    return np.flatnonzero(parts == index)


def _without_comments(content: bytes) -> bytes:
    """The text without queries and without what follows ``#``."""
    if b"#" in content:
        content = b"\n".join(line.partition(b"#")[0] for line in content.splitlines())
    if b"qid:" in content:
        content = b"\n".join(b" ".join(word for word in line.split() if not word.startswith(b"qid:")) for line in content.splitlines())
    return content


def _wrong_line(lines: list[bytes]) -> FormatError:
    """The error for the first row that is not in the format."""
    for number, line in enumerate(lines, 1):
        label, *pairs = line.split()
        try:
            float(label)
            for pair in pairs:
                column, _, value = pair.partition(b":")
                int(column)
                float(value)
        except ValueError:
            return FormatError(
                f"row {number} is not in LibSVM's format", line[:100].decode(errors="replace"), "write: label column:number …"
            )
    return FormatError("not in LibSVM's format", None)
