"""Rows of text files, read and parsed a piece at a time: memory is bound by the pieces that are kept, not by the files."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..errors import FileAccessError, FormatError, ParameterError, ShapeError
from ..formats.files import file_exists, listed_files, open_file, reading_at
from ..formats.urls import is_url

#: Bytes of text that are parsed at once, and those up to which the parsed pieces of a sequence of files are kept.
PIECE, KEPT = 1 << 20, 64 << 20
ROW = re.compile(r"\brow (\d+)")
LINE_END = re.compile(rb"\r\n|\n|\r")


class Parsed(Protocol):
    """The rows of a piece of text."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take."""
        ...

    def __len__(self) -> int: ...


P = TypeVar("P", bound=Parsed)
Q = TypeVar("Q", bound=Parsed, covariant=True)


class Parser(Protocol[Q]):
    """A format of text."""

    def __call__(self, content: bytes, is_first: bool) -> Q:
        """The rows of whole lines, which may be the first of a file. Raises `FormatError` or `ShapeError`."""
        ...

    def is_row(self, line: bytes) -> bool:
        """Whether a line has a row."""
        ...

    def placeholder(self) -> bytes:
        """A line that replaces one that cannot be parsed."""
        ...


class _Piece(NamedTuple):
    """A piece of a file: from where, and how many bytes."""

    file: int
    start: int
    size: int


class TextRows(Generic[P]):
    """The rows of text files, one after another as if they were one. Their number is known when the last of them has been read.

    Parameters
    ----------
    names
        The files; see `listed_files`. Those among several that are empty are left out.
    parser
        The format.
    part
        The number of parts of equal size in bytes, and which of them to read. A part has the rows that begin in its bytes; a row that
        begins at its first byte belongs to the part before.
    mends
        Whether a placeholder stands for each row that cannot be parsed, so that the others keep their numbers, and files among several that
        cannot be read are left out; otherwise an error is raised.

    Attributes
    ----------
    damage
        Why rows, by their numbers, and files, by their names, cannot be read.

    Raises
    ------
    MissingFileError, FileAccessError
        If a file cannot be read.
    FormatError
        If all are empty; also while rows are read, if one is wrong.
    """

    _open: tuple[int, BinaryIO] | None = None  # the file that was read last

    def __init__(self, names: str, parser: Parser[P], part: tuple[int, int] = (1, 0), mends: bool = False) -> None:
        self._parser, self._mends = parser, mends
        self.damage: dict[int | str, str] = {}
        self._paths: list[str] = []
        self._starts = [0]  # where each file begins in all files joined, and the size of all
        self._find(names)
        count, index = part
        # rounded up, so that the last part reaches the end
        step = -(-self._starts[-1] // count)
        # the row that a part's first byte lies in belongs to the part before, so that each row is in one part
        self._at = self._line_after(step * index) if index else 0  # where the next piece begins
        self._end = self._line_after(step * (index + 1))
        self._pieces: list[_Piece] = []
        self._firsts: list[int] = []  # the number of each piece's first row
        self._first_of: dict[int, int] = {}  # the number of the first row of each file that was read
        #: The number of rows that have been read.
        self.read = 0
        self._kept: OrderedDict[int, P] = OrderedDict()
        self.up_to(1)
        if part[0] == 1 and not self.read:
            raise FormatError("the file is empty", None).at_path(names)

    def _find(self, names: str) -> None:
        errors = []
        for path in listed_files(names):
            try:
                with open_file(path, "rb") as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(0)
                    # a larger file that has only blanks counts as not empty: to find out would take reading all of it
                    is_empty = size <= PIECE and not file.read().strip()
            except FileAccessError as error:
                if not self._mends:
                    raise
                errors.append(error)
                self.damage[path] = str(error)
                continue
            if not is_empty:
                self._paths.append(path)
                self._starts.append(self._starts[-1] + size)
        if not self._paths:
            raise errors[0] if errors else FormatError("the file is empty", None).at_path(names)

    def _line_after(self, place: int) -> int:
        """Where the first line begins after a place in all files joined."""
        if place >= self._starts[-1]:
            return self._starts[-1]
        file = bisect_right(self._starts, place) - 1
        end = self._starts[file + 1]
        while place < end:
            content = self._content(file, place - self._starts[file], min(PIECE, end - place))
            # A read may end between \r and \n. What follows then begins with an empty line, which has no row.
            found = LINE_END.search(content)
            if found or not content:
                return place + found.end() if found else end
            place += len(content)
        return end

    def _content(self, file: int, start: int, size: int) -> bytes:
        if self._open is None or self._open[0] != file:
            self.close()
            self._open = file, open_file(self._paths[file], "rb")
        return reading_at(self._open[1])(size, start)

    def close(self) -> None:
        """Close the file that is open, if any; it is opened again when it is needed."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    __del__ = close

    def up_to(self, stop: float) -> int:
        """How many rows there are, or ``stop`` if there are more; reads up to there."""
        while self.read < stop and self._at < self._end:
            self._read_next()
        return min(self.read, int(stop)) if stop != np.inf else self.read

    @property
    def is_last(self) -> bool:
        """Whether no part comes after this one."""
        return self._end == self._starts[-1]

    @property
    def count(self) -> int:
        """The number of rows. Counting reads all rows once."""
        return self.up_to(np.inf)

    @property
    def is_read(self) -> bool:
        """Whether all rows have been read."""
        return self._at >= self._end

    def _read_next(self) -> None:
        """Read the next piece: as many lines of one file as fit, or a single longer line."""
        file = bisect_right(self._starts, self._at) - 1
        start = self._at - self._starts[file]
        most = min(self._starts[file + 1], self._end) - self._at
        size, end, content = min(PIECE, most), 0, b""
        while not end:
            content = self._content(file, start, size)
            if len(content) < size:
                raise self._changed(file)
            # up to the last whole line; if there is none, the next round reads twice as much
            end = size if size == most else max(content.rfind(b"\n"), content.rfind(b"\r")) + 1
            size = min(2 * size, most)
        content = content[:end]
        # A piece without rows is not listed: two pieces with the same first row would mislead the search for a row's piece.
        if content.strip(b"\r\n"):
            self._first_of.setdefault(file, self.read)
            self._keep(len(self._pieces), self._rows_of(content, file, self.read))
            self._pieces.append(_Piece(file, start, len(content)))
            self._firsts.append(self.read)
            self.read += len(self._kept[len(self._pieces) - 1])
        self._at += len(content)

    def _changed(self, file: int) -> FormatError:
        return FormatError("the file is not what it was", None, "do not change it while it is read").at_path(self._paths[file])

    def _rows_of(self, content: bytes, file: int, row: int) -> P:
        """The rows in a piece, given the number of the first. Errors name rows of the file, or of the part of it that is read."""
        before = row - self._first_of[file]
        try:
            return self._parser(content, before == 0)
        except (FormatError, ShapeError) as error:
            if self._mends:
                return self._parser(self._mended(content, file, row, before), False)
            if isinstance(error, FormatError):
                what = ROW.sub(lambda found: f"row {int(found[1]) + before}", error.what)
                raise FormatError(what, error.given, error.todo).at_path(self._paths[file]) from None
            raise ShapeError(f"{self._paths[file]}: {error.what}", error.given, error.todo) from None

    def _mended(self, content: bytes, file: int, row: int, before: int) -> bytes:
        """The lines of a piece, with a placeholder for each that cannot be parsed."""
        lines = []
        for line in filter(self._parser.is_row, LINE_END.split(content)):
            try:
                self._parser(line, False)
                lines.append(line)
            except (FormatError, ShapeError) as error:
                reason = ROW.sub(f"row {before + len(lines) + 1}", str(error))
                self.damage[row + len(lines)] = f"{self._paths[file]}: {reason}"
                # a row all the same, so that the numbers of later rows, and of their labels, stay right
                lines.append(self._parser.placeholder())
        return b"\n".join(lines)

    def _keep(self, number: int, rows: P) -> None:
        """Keep the rows of a piece, and drop those that were used longest ago beyond the limit."""
        self._kept[number] = rows
        # two pieces always stay, because a batch may reach from one into the next
        while len(self._kept) > 2 and sum(rows.nbytes for rows in self._kept.values()) > KEPT:
            self._kept.popitem(last=False)

    def _piece(self, number: int) -> P:
        if number not in self._kept:
            piece = self._pieces[number]
            first, end = self._range(number)
            content = self._content(*piece)
            rows = self._rows_of(content, piece.file, first) if len(content) == piece.size else None
            # a piece that was dropped is parsed again, and its rows have been counted before
            if rows is None or len(rows) != end - first:
                raise self._changed(piece.file)
            self._keep(number, rows)
        self._kept.move_to_end(number)
        return self._kept[number]

    def _range(self, number: int) -> tuple[int, int]:
        """The first row of a piece, and the one after its last."""
        return self._firsts[number], self._firsts[number + 1] if number + 1 < len(self._firsts) else self.read

    def __getitem__(self, numbers: np.ndarray) -> list[tuple[P, np.ndarray]]:
        """Some rows that exist, by their numbers: pieces, and which rows of each."""
        self.up_to(int(numbers.max()) + 1)
        found, at = [], 0
        while at < len(numbers):
            piece = bisect_right(self._firsts, numbers[at]) - 1
            first, end = self._range(piece)
            # runs of rows in one piece, not all rows of a piece at once: the batch must have the rows in the given order
            beyond = np.flatnonzero((numbers[at:] < first) | (numbers[at:] >= end))
            stop = at + int(beyond[0]) if len(beyond) else len(numbers)
            found.append((self._piece(piece), numbers[at:stop] - first))
            at = stop
        return found


def without_options(title: str, names: str, known: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The name of a file and the options after it, as MXNet's reader has them: ``data.csv?delimiter=;&label_column=0#cache``.

    The text after ``#`` names a cache, which is not used.

    Raises
    ------
    ParameterError
        If there is no such option.
    """
    given = os.fspath(names)
    # a file whose own name has these characters goes first
    if not {"?", "#"} & set(given) or file_exists(given):
        return given, {}
    name, _, query = given.partition("#")[0].partition("?")
    options = {key: value for key, sign, value in (each.partition("=") for each in query.split("&")) if sign}
    if query and len(options) < len(query.split("&")):  # a regular expression
        return given, {}
    unknown = [key for key in options if key not in known]
    # the query of a URL is for its server
    if unknown and is_url(given):
        return given, {}
    if unknown:
        raise ParameterError(f"{title}: no such option after the name of a file", _listed(unknown), f"it has {_listed(known)}")
    return name, options


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
