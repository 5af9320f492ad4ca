"""The bounds-checked cursor."""

from __future__ import annotations

import pytest

from twofold.errors import FormatError
from twofold.formats.reader import Reader


def test_numbers_are_little_endian_and_consecutive():
    reader = Reader(b"\1\0\0\0\xff\xff\xff\xff\2\0\0\0\0\0\0\0\3\0\0\0\4\0\0\0" + b"\xff" * 8)
    assert (reader.u32("a"), reader.i32("b"), reader.u64("c"), reader.u32s(2, "d"), reader.i64s(1, "e")) == (1, -1, 2, (3, 4), (-1,))
    assert reader.remaining == 0


def test_peeking_does_not_move():
    reader = Reader(b"\1\0\0\0")
    assert reader.peek_u32("a") == reader.u32("a")


def test_a_span_is_a_read_only_view():
    data = bytearray(b"abcdef")
    view = Reader(data, 2).take(3, "it")
    assert (bytes(view), view.readonly, view.obj) == (b"cde", True, data)


@pytest.mark.parametrize("size", [5, -1, 2**64])
def test_reading_past_the_end_raises(size: int):
    reader = Reader(b"abcd")
    with pytest.raises(FormatError, match="byte 0: the file ends inside it: given 4 of"):
        reader.take(size, "it")
    assert reader.offset == 0


def test_a_count_must_fit_the_remaining_bytes():
    with pytest.raises(FormatError, match="beyond the end of the file: given 3 with 5 bytes left"):
        Reader(b"\3\0\0\0\0\0\0\0abcde").count(2, "the number")


def test_elements_wider_than_bytes_are_counted_in_bytes():
    assert Reader(memoryview(b"abcdefgh").cast("Q")).remaining == 8
