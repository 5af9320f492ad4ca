"""Dataset files to records: IDX, the format of MNIST (http://yann.lecun.com/exdb/mnist), plain or compressed with gzip."""

from __future__ import annotations

import io
import math
import operator
import os
import sys
import weakref
import zlib
from array import array
from collections.abc import Sequence
from typing import BinaryIO, cast

from ..errors import FormatError
from .files import reading_at
from .reader import Reader
from .records import ITEM_SIZES, ArrayRecord, Buffer, shape_fault

ELEMENT_TYPES = {8: "uint8", 9: "int8", 11: "int16", 12: "int32", 13: "float32", 14: "float64"}
SWAP_FORMATS = {2: "h", 4: "i", 8: "q"}
GZIP_MAGIC = b"\x1f\x8b"
LARGEST_HEADER = 4 + 4 * 255
CHUNK = 1 << 20  # bytes that are read or unpacked at once
LARGEST_RATIO = 1032  # the limit of deflate: a header that promises more is damaged


def load_idx(data: Buffer) -> ArrayRecord:
    """Read an IDX file: two zero bytes, a type code, the number of axes, their sizes and the elements, all big-endian.

    Returns
    -------
    The array, little-endian like all records; for an uncompressed file of bytes a view into ``data``.

    Raises
    ------
    FormatError
        If it is not an IDX file, or its length contradicts the header.
    """
    view = memoryview(data).cast("B").toreadonly()
    if view[: len(GZIP_MAGIC)] == GZIP_MAGIC:
        whole = io.BytesIO()
        _unpack(io.BytesIO(data), whole)
        view = memoryview(whole.getvalue())
    reader = Reader(view)
    dtype, shape = _parsed_header(reader)
    _check_size(len(view), reader.offset, math.prod(shape) * ITEM_SIZES[dtype])
    return ArrayRecord(dtype, shape, _little_endian(view[reader.offset :], ITEM_SIZES[dtype]))


class IdxReader:
    """Reads rows of the array in an IDX file, which is not loaded as a whole.

    Parameters
    ----------
    file
        The file, plain or compressed with gzip; one that is compressed is unpacked into a temporary file.

    Attributes
    ----------
    dtype, shape
        Those of the array.

    Raises
    ------
    FormatError
        If it is not an IDX file, or its length contradicts the header.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = _unpacked(file)
        # no `__del__`: in a cycle of garbage Python may find the file first, and warn that it is open
        weakref.finalize(self, self._file.close)
        self._bytes_at = reading_at(self._file)
        reader = Reader(self._bytes_at(LARGEST_HEADER, 0))
        self.dtype, self.shape = _parsed_header(reader)
        self._start = reader.offset
        self._row = math.prod(self.shape[1:]) * ITEM_SIZES[self.dtype]
        _check_size(self._file.seek(0, os.SEEK_END), self._start, len(self) * self._row)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    def rows(self, numbers: Sequence[int]) -> Buffer:
        """The elements of some rows, little-endian.

        Raises
        ------
        FormatError
            If the file has become shorter.
        """
        # consecutive rows are one read; others, such as shuffled ones, one read each
        if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1 and all(map(operator.lt, numbers, numbers[1:])):
            found = self._bytes_at(len(numbers) * self._row, self._start + numbers[0] * self._row)
        else:
            found = b"".join([self._bytes_at(self._row, self._start + number * self._row) for number in numbers])
        if len(found) != len(numbers) * self._row:
            raise FormatError("the file ends inside a row", f"{len(found)} of {len(numbers) * self._row} bytes", "it has changed")
        return _little_endian(found, ITEM_SIZES[self.dtype])


def _parsed_header(reader: Reader) -> tuple[str, tuple[int, ...]]:
    """The element type and the shape."""
    zeros, code, ndim = bytes(reader.take(2, "the magic number")), *reader.take(2, "the type")
    if zeros != b"\0\0" or code not in ELEMENT_TYPES:
        raise reader.error("not an IDX file", f"data that start with {bytes(reader.view[:4])!r}", offset=0)
    dtype = ELEMENT_TYPES[code]
    sizes = reader.take(4 * ndim, "the shape")
    shape = tuple(int.from_bytes(sizes[start : start + 4], "big") for start in range(0, 4 * ndim, 4))
    fault = shape_fault(shape, ITEM_SIZES[dtype])
    if fault:
        raise reader.error(f"a shape with {fault}", shape, offset=4)
    return dtype, shape


def _unpacked(file: BinaryIO) -> BinaryIO:
    """A file itself, or a temporary file with its uncompressed content."""
    start = file.read(len(GZIP_MAGIC))
    file.seek(0)
    if start != GZIP_MAGIC:
        return file
    import tempfile  # here, as few files are compressed, and it takes longer to load than this package

    whole = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115  the reader closes it
    with file:
        try:
            _unpack(file, whole)
        except FormatError:
            whole.close()
            raise
    whole.flush()
    return whole


def _unpack(file: BinaryIO, whole: BinaryIO) -> None:
    """Write the uncompressed content of a file to another file.

    Unpacking stops soon after the size that the header gives, since a small file may expand without bound.
    """
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        head = unpacker.decompress(file.read(CHUNK), LARGEST_HEADER)
        reader = Reader(head)
        dtype, shape = _parsed_header(reader)
        # the header of an unpacked file comes first: it limits how much may be unpacked
        expected = math.prod(shape) * ITEM_SIZES[dtype]
        size = reader.offset + expected
        packed = file.seek(0, os.SEEK_END)
        if size > LARGEST_HEADER + LARGEST_RATIO * packed:
            raise _wrong_size("fewer", expected, reader.offset)
        file.seek(min(CHUNK, packed))
        # one read beyond the expected size shows that the file has more
        while head and whole.tell() <= size:
            whole.write(head)
            # compressed bytes that the last round had no room for come before new ones
            head = unpacker.decompress(unpacker.unconsumed_tail or file.read(CHUNK), CHUNK)
    except zlib.error as error:
        raise FormatError(f"the gzip data is damaged: {error}", offset=0) from None
    if whole.tell() != size:
        raise _wrong_size("fewer" if whole.tell() < size else "more", expected, reader.offset)


def _check_size(found: int, start: int, expected: int) -> None:
    """Raise if the elements that begin at an offset are not as many bytes as the header declares."""
    if found != start + expected:
        raise _wrong_size(f"{found - start}", expected, start)


def _wrong_size(found: str, expected: int, start: int) -> FormatError:
    return FormatError(f"the header declares {expected} bytes of elements", f"{found} bytes", "the file is damaged", offset=start)


def _little_endian(elements: Buffer, itemsize: int) -> Buffer:
    if itemsize == 1:
        return elements
    # The standard library's array: this package does not import NumPy.
    swapped = array(SWAP_FORMATS[itemsize])
    swapped.frombytes(elements)
    if sys.byteorder == "little":
        swapped.byteswap()
    return memoryview(swapped).cast("B")
