"""Record files (RecordIO) to bytes and back: how records follow one another in a file, not what they hold.

A record is a magic number, a word with its kind and length, its content, and zeros up to a multiple of four bytes. A content that has
the magic number itself, at a multiple of four bytes, is divided there into several parts, which leave it out. So the magic number at such a
place is always the start of a part, and a reader that starts anywhere finds the next one.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ..errors import FileAccessError, FormatError, ParameterError
from .files import reading_at
from .records import MAX_BYTES

# dmlc-core's number. Its three highest bits, as the kind in a header's second word, would be above LAST: no header word can equal it.
MAGIC = (0xCED7230A).to_bytes(4, "little")
HEADER = struct.Struct("<4sI")
# a header's second word has the kind in its three highest bits and the length in the others
LENGTH_BITS = 29
LARGEST = 2**LENGTH_BITS - 1
WHOLE, FIRST, MIDDLE, LAST = range(4)
SEARCHED = 1 << 12, 1 << 20  # bytes that are searched for a record at once: at first, and at most
MARKED = 64  # one in so many parts of an unfinished record is remembered, so that other records that lead there end soon
RETURNS = 8  # how often a search may begin inside the record before it, within one stretch of a file
UNCHECKED = 1 << 20  # a length up to this may be allocated before the file is known to be as long


def dump_record(content: bytes) -> bytes:
    """Return the stored form of a record.

    Raises
    ------
    ParameterError
        If it has 2**29 bytes or more.
    """
    if len(content) > LARGEST:
        raise ParameterError("a record is too large", f"{len(content)} bytes", f"store at most {LARGEST} in one")
    parts = _divided(content)
    if len(parts) == 1:
        return b"".join([HEADER.pack(MAGIC, len(content)), content, bytes(-len(content) % 4)])
    chunks = []
    for number, part in enumerate(parts):
        kind = FIRST if number == 0 else LAST if number == len(parts) - 1 else MIDDLE
        chunks += [HEADER.pack(MAGIC, kind << LENGTH_BITS | len(part)), part, bytes(-len(part) % 4)]
    return b"".join(chunks)


def _divided(content: bytes) -> list[bytes]:
    """The parts of a content between the magic numbers at multiples of four bytes."""
    parts, start, found = [], 0, content.find(MAGIC)
    while found >= 0:
        # elsewhere it cannot be taken for a start: readers look at multiples of four only
        if found % 4 == 0:
            parts.append(content[start:found])
            start = found + len(MAGIC)
            found = content.find(MAGIC, start)
        else:
            found = content.find(MAGIC, found + 1)
    return [*parts, content[start:]]


class RecordReader:
    """Reads records from a file, in sequence or from an offset.

    Parameters
    ----------
    file
        The file, open for reading, at its start.

    Attributes
    ----------
    offset
        Where the next record starts, in bytes. It can be set.
    """

    __slots__ = ("_bytes_at", "_file", "_last", "_part", "_returns", "_stretch", "_unfinished", "_unfinished_at", "offset")

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._last = (0, 0)  # start of the last part of the last whole record, and its end
        self._part = 0  # start of the last part that was read
        self._unfinished: set[int] = set()  # offsets of parts after which a record is not finished
        self._unfinished_at = -1  # in a file of this size
        self._stretch, self._returns = 0, 0  # end of the stretch that was searched again, and how often it was
        self._bytes_at = reading_at(file)  # without a position and a buffer records at random take half the time
        self.offset = 0

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._file.seek(0, os.SEEK_END)

    def read(self) -> bytes | None:
        """Return the record at `offset`, and advance to the next one; None at the end of the file.

        Raises
        ------
        FormatError
            If there is no record, or not a whole one.
        """
        begin = self.offset
        start = self._bytes_at(HEADER.size, begin)
        if not start:
            return None
        if begin <= self._last[0]:  # reading began anew
            self._stretch = self._returns = 0
        if self._unfinished:  # the file is damaged, and this record may be one whose parts were seen not to end
            self._pass(self.size())
            self.offset = begin
        kind, content = self._content(start, inside=False)
        if kind == WHOLE:
            self._last = begin, self.offset
            return content
        parts = [content]
        while kind != LAST:
            begin = self.offset
            kind, content = self._content(self._bytes_at(HEADER.size, begin), inside=True)
            parts.append(content)
        self._last = begin, self.offset
        # the writer has split the content at magic numbers and left those out
        return MAGIC.join(parts)

    def offsets(self, damaged: Callable[[FormatError], None] | None = None) -> Iterator[int]:
        """Yield the offset of each record, from the start of the file on. Only the headers of records are read.

        Parameters
        ----------
        damaged
            What to do about a place without a whole record before reading continues after it; None to raise the error.

        Raises
        ------
        FormatError
            See `read`.
        """
        end = self.size()
        self.offset = self._stretch = self._returns = 0
        while self.offset < end:
            start = self.offset
            try:
                self._pass(end)
            except FormatError as error:
                if damaged is None:
                    raise
                damaged(error)
                self.offset = start
                self.skip_damage()
            else:
                self._last = self._part, self.offset
                yield start

    def _pass(self, end: int) -> None:
        """Advance to the end of a record, in a file of ``end`` bytes."""
        if end != self._unfinished_at:
            self._unfinished, self._unfinished_at = set(), end
        kind, count, marks = FIRST, 0, []
        try:
            while kind in (FIRST, MIDDLE):
                if self.offset in self._unfinished and count:
                    raise self._error("a record in several parts lacks some of them", "parts that are not followed by a last one")
                # the contents are not read: their lengths say where the next header is
                kind, length = self._header(self._bytes_at(HEADER.size, self.offset), count > 0)
                following = self.offset + HEADER.size + _padded(length)
                if following > end:
                    raise self._cut(length, end - self.offset - HEADER.size)
                count += 1
                if count % MARKED == 0:
                    marks.append(following)
                self._part, self.offset = self.offset, following
        except FormatError:
            self._unfinished.update(marks)
            raise

    def skip_damage(self) -> None:
        """Advance to the next place where a whole record starts, or else to the end of the file; after `read` raised an error at `offset`.

        The search begins inside the record before `offset`, because the length in that record's header may be damaged. Damage inside
        records inside records is followed to a few levels only, so that the search takes no more than some passes through the file.
        """
        end = self.size()
        start, stop = self._last
        if self.offset > self._stretch:
            self._stretch, self._returns = self.offset, 0
        returns = stop == self.offset and self._returns < RETURNS
        self._returns += returns
        # search from the next byte, so that the same damaged place is not found again
        block = 1 + (start if returns else self.offset)
        size, most = SEARCHED
        while block < end:
            data = self._bytes_at(size, block)
            size = min(2 * size, most)
            if not data:  # the file was cut meanwhile
                break
            found = data.find(MAGIC)
            while found >= 0:
                self.offset = block + found
                # a magic number in damaged bytes is the start of a record only if whole parts follow
                with contextlib.suppress(FormatError):
                    self._pass(end)
                    self.offset = block + found
                    return
                found = data.find(MAGIC, found + 1)
            block += max(len(data) - len(MAGIC) + 1, 1)  # a magic number may cross the end of a block
        self.offset = end

    def _content(self, start: bytes, inside: bool) -> tuple[int, bytes]:
        kind, length = self._header(start, inside)
        # zeros after the content belong to the record, and the next one begins at a multiple of four
        padded = _padded(length)
        place = self.offset + HEADER.size
        # a damaged length must not allocate memory that the file cannot fill
        if padded > UNCHECKED:
            left = self.size() - place
            if padded > left:
                raise self._cut(length, left)
        content = self._bytes_at(padded, place)
        if len(content) < padded:
            raise self._cut(length, len(content))
        self.offset = place + padded
        return kind, content if length == padded else content[:length]

    def _header(self, start: bytes, inside: bool) -> tuple[int, int]:
        """The kind and length of the part that starts with these bytes; ``inside`` says whether it continues a record."""
        if len(start) < HEADER.size:
            raise self._error("the file ends inside a record", f"{len(start)} of {HEADER.size} bytes of a header")
        magic, word = HEADER.unpack(start)
        if magic != MAGIC:
            raise self._error("no record starts here", f"{start!r}")
        kind = word >> LENGTH_BITS
        if kind not in ((MIDDLE, LAST) if inside else (WHOLE, FIRST)):
            raise self._error("a record in several parts lacks some of them", f"a part of kind {kind}")
        return kind, word & LARGEST

    def _cut(self, length: int, left: int) -> FormatError:
        return self._error("the file ends inside a record", f"{max(left, 0)} of {_padded(length)} bytes")

    def _error(self, reason: str, given: str) -> FormatError:
        return FormatError(reason, given, "the file is damaged, or its index belongs to another one", offset=self.offset)


class RecordWriter:
    """Appends records to a file. They are in the file, and not in a buffer of the process, when `write` returns.

    Parameters
    ----------
    file
        The file, open for writing without a buffer, at its start.

    Attributes
    ----------
    offset
        Where the next record starts, in bytes.
    """

    __slots__ = ("_file", "_is_writing", "offset")

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.offset = 0
        self._is_writing = False

    def write(self, content: bytes) -> None:
        """Append a record.

        Raises
        ------
        ParameterError
            If it is too large.
        FileAccessError
            If the disk is full. The file then ends with the record before, if it can be cut off there.
        """
        # in one piece: a crash between header and content would leave a damaged record
        left = memoryview(dump_record(content))
        size = len(left)
        self.drop_unfinished()
        self._is_writing = True
        try:
            while left:  # a file without a buffer may take a part only
                left = left[self._file.write(left) :]
        except OSError as error:
            self._is_writing = len(left) < size
            self.drop_unfinished()
            raise FileAccessError(f"cannot write a record: {error.strerror or str(error)}", None, "check the disk") from error
        self.offset += size
        self._is_writing = False

    def drop_unfinished(self) -> None:
        """Cut off what an interrupted `write` has left: the beginning of a record, or all of it, which no index names."""
        if self._is_writing:
            self._file.seek(self.offset)
            self._file.truncate()
            self._is_writing = False


def _padded(length: int) -> int:
    return (length + 3) & ~3


def load_index(data: bytes) -> list[tuple[str, int]]:
    """Read an index: on each line a key, a tab and the offset of its record.

    Raises
    ------
    FormatError
        If a line is something else.
    """
    entries, place = [], 0
    for line in data.splitlines(keepends=True):
        key, _, offset = line.strip().partition(b"\t")
        # some tools write further columns after the offset
        number = offset.partition(b"\t")[0].strip()
        try:
            entries.append((key.strip().decode(), int(number)))
        except ValueError:
            raise FormatError("not a line of an index", f"{line[:40]!r}", "write a key, a tab and an offset", offset=place) from None
        if not 0 <= entries[-1][1] <= MAX_BYTES:
            kind = "a negative" if entries[-1][1] < 0 else "too large an"
            raise FormatError(f"{kind} offset in the index", f"{line[:40]!r}", "the index is damaged", offset=place)
        place += len(line)
    return entries
