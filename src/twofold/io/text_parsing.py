"""Parses text: comma-separated values, and LibSVM's sparse rows."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..backend.loader import backend_for
from ..device import CPU
from ..errors import FormatError, ShapeError
from ..strictness import tolerate

#: What separates numbers.
NEWLINE, BLANK, COMMA, COLON = b"\n ,:"
#: The whole part of a number, and a fraction or an exponent after it.
DECIMAL = re.compile(rb"((?:^|,)[ \t]*[+-]?\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?(?=[ \t]*(?:,|$))", re.MULTILINE)
# A number is looked for where its digits begin, and not at each of them: otherwise a long one takes quadratic time.
EXPONENTIAL = re.compile(rb"[+-]?(?<!\d)\d++(?:\.\d*+)?[eE][+-]?\d+")
#: The longest number of a LibSVM file; and the longest that are parsed all at once.
MOST_CHARACTERS, USUAL_CHARACTERS = 1000, 40
Shape = tuple[int, ...]


def _numbers(content: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """The numbers and separators of a text, by the adapter's `NumberReader`; None if it has none, or the text is not so plain."""
    read = backend_for(CPU).target.host_code.number_reader()
    # the reader takes whole lines, and a file's last line may lack its end
    return None if read is None else read(content if content.endswith(b"\n") else content + b"\n")


@dataclass(frozen=True)
class ValueParser:
    """Parses rows of numbers.

    Attributes
    ----------
    title
        Of the iterator, for errors.
    shape, dtype
        Of a row.
    delimiter
        What separates numbers.
    dropped
        Columns to leave out, where rows have them.
    """

    title: str
    shape: Shape
    dtype: str
    delimiter: bytes = b","
    dropped: Sequence[int] = ()

    def __call__(self, content: bytes, is_first: bool) -> np.ndarray:
        """The rows (n, *shape) of a text. If the first ones of a file are of another length, it is the shape that is wrong."""
        if self.delimiter != b",":
            content = content.replace(self.delimiter, b",")
        # the quick reader first; it gives up at the first character that plain numbers do not have
        rows = self._quick(content) if self.dtype == "float32" else None
        if rows is None:
            lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in content else content
            self._warn_of_exponents(lines)
            try:
                rows = self._any(lines)
            except ValueError:
                raise self._wrong_line(lines) from None
        columns = [k for k in set(self.dropped) if 0 <= k < rows.shape[1]]
        if columns:
            rows = np.delete(rows, columns, axis=1)
        if rows.shape[1] != prod(self.shape):
            given = f"shape {self.shape}, which needs {prod(self.shape)}"
            if is_first:
                raise ShapeError(f"{self.title}: rows of length {rows.shape[1]}", given, "pass the shape of a row")
            raise FormatError(f"row 1 is of length {rows.shape[1]}", given, "make all rows equally long")
        return rows.reshape(-1, *self.shape)

    def placeholder(self) -> bytes:
        """A line that replaces one that cannot be parsed."""
        columns = prod(self.shape)
        while columns - sum(0 <= k < columns for k in set(self.dropped)) < prod(self.shape):
            columns += 1
        return self.delimiter.join([b"0"] * columns)

    def is_row(self, line: bytes) -> bool:
        """Whether a line has something; blanks are no numbers."""
        return bool(line)

    def _any(self, content: bytes) -> np.ndarray:
        if self.dtype != "float32" and any(sign in content for sign in (b".", b"e", b"E")):
            content = DECIMAL.sub(rb"\1", content)
        return np.loadtxt(io.BytesIO(content), self.dtype, delimiter=",", ndmin=2, comments=None, encoding="utf-8")

    def _warn_of_exponents(self, content: bytes) -> None:
        """MXNet ignores the exponents of integers, which users cannot intend."""
        if self.dtype != "float32" and (b"e" in content or b"E" in content) and (number := EXPONENTIAL.search(content)) is not None:
            given = number[0].decode()
            tolerate(f"{self.title}: exponents of numbers are ignored in {self.dtype}", given, "pass dtype='float32'")

    def _wrong_line(self, content: bytes) -> FormatError:
        """The error for the first row that is something else, or has another length than the first."""
        columns = None
        for number, line in enumerate(filter(self.is_row, content.split(b"\n")), 1):
            given = line[:100].decode(errors="replace")
            width = self._width(line)
            # numbers after all: one of them is out of the dtype's range
            if not width and replace(self, dtype="float32")._width(line):
                return FormatError(f"row {number} has a number that {self.dtype} cannot hold", given, "pass dtype='float32'")
            if not width:
                return FormatError(f"row {number} is not numbers with commas between", given, "write numbers, and no header")
            columns = columns or width
            if width != columns:
                return FormatError(f"row {number} is of length {width}, and row 1 of length {columns}", given, "rows are of equal length")
        return FormatError("not rows of numbers with commas between", None)

    def _width(self, line: bytes) -> int:
        """How many numbers a line has; 0 if it has something else."""
        try:
            return self._any(line).shape[1] if line.strip() else 0
        except ValueError:
            return 0

    def _quick(self, content: bytes) -> np.ndarray | None:
        """Rows of plain numbers (n, columns), float32; None if they are something else."""
        found = _numbers(content)
        if found is None:
            return None
        numbers, separators = found
        # the first line says how many columns there are; the checks below hold all other lines to it
        columns = int(np.argmax(separators == NEWLINE)) + 1
        if len(numbers) % columns:
            return None
        table = separators.reshape(-1, columns)
        if (table[:, :-1] != COMMA).any() or (table[:, -1] != NEWLINE).any():
            return None
        with np.errstate(over="ignore"):
            return numbers.astype("float32").reshape(-1, columns)


@dataclass(frozen=True)
class SparseRows:
    """Sparse rows.

    Attributes
    ----------
    labels
        Shape (n,), float32.
    values, indices
        The numbers of all rows one after another, and their columns.
    starts
        Shape (n + 1,): those of row k are from ``starts[k]`` to ``starts[k + 1]``.
    """

    labels: np.ndarray
    values: np.ndarray
    indices: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take."""
        return self.labels.nbytes + self.values.nbytes + self.indices.nbytes + self.starts.nbytes

    def places(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of numbers in each of some rows, and all their positions."""
        counts = self.starts[rows + 1] - self.starts[rows]
        ends = np.cumsum(counts)
        # Row k's numbers are at starts[k], starts[k] + 1, …. A running index is at ``ends - counts`` when it comes to row k, hence the
        # shift.
        return counts, np.arange(counts.sum()) + np.repeat(self.starts[rows] - ends + counts, counts)


@dataclass
class SparseParser:
    """Parses LibSVM's sparse rows.

    Attributes
    ----------
    columns
        How many columns there are.
    first
        Which number the first column has: 0 or 1; None for 1 unless some column of the first text is 0.
    """

    columns: int
    first: int | None = 0

    def __call__(self, content: bytes, is_first: bool) -> SparseRows:
        """The rows of a text."""
        labels, rest, counts = _quick_libsvm(content) or _slow_libsvm(content)
        # nan and columns beyond 64 bits become some integer, which then differs from the number read
        with np.errstate(invalid="ignore"):
            indices = rest[:, 0].astype("int64")
        if (indices != rest[:, 0]).any():
            raise _wrong_line(_lines(content))
        # decided once, by the first piece: later pieces must count in the same way
        if self.first is None:
            self.first = int(len(indices) > 0 and indices.min() > 0)
        indices -= self.first
        wrong = np.flatnonzero((indices < 0) | (indices >= self.columns))
        if len(wrong):
            # the row of a pair is the first one whose running count of pairs exceeds the pair's place
            row = int(np.searchsorted(np.cumsum(counts), wrong[0], "right")) + 1
            given = f"{indices[wrong[0]] + self.first} of {self.columns}"
            raise FormatError(f"row {row}: a column out of range", given, f"count columns from {self.first}")
        with np.errstate(over="ignore"):
            values = rest[:, 1].astype("float32")
        return SparseRows(labels.astype("float32"), values, indices, np.concatenate([[0], np.cumsum(counts)]))

    def placeholder(self) -> bytes:
        """A line that replaces one that cannot be parsed."""
        return b"0"

    def is_row(self, line: bytes) -> bool:
        """Whether a line is more than a comment."""
        return bool(line.partition(b"#")[0].strip())


def _quick_libsvm(content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Labels (n,), pairs of column and value (m, 2), float64, and the number of pairs of each row; None if rows are not plain numbers."""
    found = _numbers(content)
    if found is None or not len(found[0]):
        return None
    numbers, separators = found
    ends = np.flatnonzero(separators == NEWLINE)
    # labels are the first numbers of lines
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
    lines = _without_weights(_lines(content))
    counts = np.array([line.count(b":") for line in lines], "int64")
    text = b" ".join(lines).replace(b":", b" ").split()
    # a line has its label and two numbers for each colon; another count means that some line is wrong
    ends = np.cumsum(1 + 2 * counts)
    if len(text) != (ends[-1] if len(ends) else 0):
        raise _wrong_line(lines)
    longest = max(map(len, text), default=0)
    if longest > MOST_CHARACTERS:
        raise _long_number(lines)
    try:
        # NumPy's array of texts has the size of the longest for each
        numbers = np.array(text, "S").astype("float64") if longest <= USUAL_CHARACTERS else np.array(list(map(float, text)))
    except ValueError:
        raise _wrong_line(lines) from None
    heads = ends - 1 - 2 * counts
    return numbers[heads], np.delete(numbers, heads).reshape(-1, 2), counts


def _long_number(lines: list[bytes]) -> FormatError:
    """The error for the first row with a number of too many characters."""
    for number, line in enumerate(lines, 1):
        word = max(line.replace(b":", b" ").split(), key=len)
        if len(word) > MOST_CHARACTERS:
            given = f"{word[:40].decode(errors='replace')}…, {len(word)} characters"
            return FormatError(f"row {number} has a number that is too long", given, f"write at most {MOST_CHARACTERS} characters")
    return _wrong_line(lines)


def _without_comments(content: bytes) -> bytes:
    """The text without queries and without comments after ``#``."""
    if b"#" in content:
        content = b"\n".join(line.partition(b"#")[0] for line in content.splitlines())
    if b"qid:" in content:
        content = b"\n".join(b" ".join(word for word in line.split() if not word.startswith(b"qid:")) for line in content.splitlines())
    return content


def _without_weights(lines: list[bytes]) -> list[bytes]:
    """The lines without the weights that labels may have (``1:0.5``), which MXNet reads but ignores."""
    return [_without_weight(line) if b":" in line.split(None, 1)[0] else line for line in lines]


def _without_weight(line: bytes) -> bytes:
    label, *rest = line.split(None, 1)
    name, _, weight = label.partition(b":")
    try:
        given = float(name), float(weight)
    except ValueError:
        given = ()
    return b" ".join([name, *rest]) if given else line


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
            given = line[:100].decode(errors="replace")
            return FormatError(f"row {number} is not in LibSVM's format", given, "write: label column:number …")
    return FormatError("not in LibSVM's format", None)
