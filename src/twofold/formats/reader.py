"""A bounds-checked little-endian cursor over bytes, which detects damaged files for all binary formats."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, BinaryIO

from ..errors import FormatError
from .files import reading_at

if TYPE_CHECKING:
    from .records import Buffer

_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_U64 = struct.Struct("<Q")


class Reader:
    """Reads numbers and runs of bytes in sequence. Reading beyond the end raises `FormatError`.

    Parameters
    ----------
    data
        The bytes, which are not copied.
    offset
        Where to start.

    Attributes
    ----------
    offset
        Offset of the next byte to read.
    """

    __slots__ = ("offset", "view")

    def __init__(self, data: Buffer, offset: int = 0) -> None:
        self.view = memoryview(data).cast("B").toreadonly()  # so that no array read as a view can change the file's bytes
        self.offset = offset

    @property
    def remaining(self) -> int:
        """Number of bytes left."""
        return len(self.view) - self.offset

    def error(self, reason: str, given: object = None, todo: str | None = None, *, offset: int | None = None) -> FormatError:
        """Return an error at the current offset or another one."""
        return FormatError(reason, given, todo, offset=self.offset if offset is None else offset)

    def take(self, size: int, what: str) -> memoryview:
        """Return a view of the next ``size`` bytes, called ``what`` in errors, and advance past them."""
        start = self.offset
        self.skip(size, what)
        return self.view[start : self.offset]

    def at(self, start: int, stop: int) -> memoryview:
        """Return the bytes from one place to another, counted from the current one, without advancing."""
        place = self.offset
        self.offset += start
        found = self.take(stop - start, "the elements")
        self.offset = place
        return found

    def skip(self, size: int, what: str) -> None:
        """Advance past ``size`` bytes, called ``what`` in errors."""
        if not 0 <= size <= self.remaining:
            raise self.error(f"the file ends inside {what}", f"{self.remaining} of {size} bytes", "the file is damaged or truncated")
        self.offset += size

    def peek_u32(self, what: str) -> int:
        """Return the next unsigned 32-bit number without advancing."""
        value = self.u32(what)
        self.offset -= 4
        return value

    def u32(self, what: str) -> int:
        """Read an unsigned 32-bit number."""
        return self._number(_U32, what)

    def i32(self, what: str) -> int:
        """Read a signed 32-bit number."""
        return self._number(_I32, what)

    def u64(self, what: str) -> int:
        """Read an unsigned 64-bit number."""
        return self._number(_U64, what)

    def i64s(self, count: int, what: str) -> tuple[int, ...]:
        """Read ``count`` signed 64-bit numbers."""
        return struct.unpack(f"<{count}q", self.take(8 * count, what))

    def u32s(self, count: int, what: str) -> tuple[int, ...]:
        """Read ``count`` unsigned 32-bit numbers."""
        return struct.unpack(f"<{count}I", self.take(4 * count, what))

    def text(self, size: int, what: str) -> str:
        """Read ``size`` bytes of UTF-8."""
        start = self.offset
        data = self.take(size, what)
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise self.error(f"{what} is not UTF-8", bytes(data[:40]), offset=start) from error

    def count(self, smallest: int, what: str) -> int:
        """Read an unsigned 64-bit count of items of at least ``smallest`` bytes each, and check that the file can contain them."""
        start = self.offset
        number = self.u64(what)
        # Python's integers do not overflow: the product is right even for a count near 2**64
        if number * smallest > self.remaining:
            raise self.error(f"{what} is beyond the end of the file", f"{number} with {self.remaining} bytes left", offset=start)
        return number

    def _number(self, layout: struct.Struct, what: str) -> int:
        return layout.unpack(self.take(layout.size, what))[0]


class FileReader(Reader):
    """A `Reader` of a file that reads only the parts that are taken.

    Parameters
    ----------
    file
        The file, open for reading.
    """

    __slots__ = ("_bytes_at", "_size")

    def __init__(self, file: BinaryIO) -> None:
        # the view stays empty: `remaining` and `take` go to the file instead
        super().__init__(b"")
        self._bytes_at = reading_at(file)
        self._size = file.seek(0, os.SEEK_END)

    @property
    def remaining(self) -> int:
        """Number of bytes left."""
        return self._size - self.offset

    def take(self, size: int, what: str) -> memoryview:
        """Return the next ``size`` bytes, called ``what`` in errors, and advance past them."""
        start = self.offset
        self.skip(size, what)
        found = self._bytes_at(size, start)
        if len(found) < size:
            raise self.error(f"the file ends inside {what}", f"{len(found)} of {size} bytes", "the file has changed", offset=start)
        return memoryview(found)
