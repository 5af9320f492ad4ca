"""The messages of distributed stores: what is sent arrives, and what is damaged is rejected."""

from __future__ import annotations

import random

import numpy as np
import pytest

from twofold.errors import ClusterTimeout, FormatError, MXNetError, ShapeError
from twofold.kvstore.messages import (
    HEADER_SIZE,
    Flag,
    Message,
    Opcode,
    attach,
    decode,
    decode_header,
    encode,
    encode_header,
    error_in,
    reply,
    reply_error,
)

PUSH = Message(Opcode.PUSH, 7, 1, Flag.ROW_SPARSE | Flag.QUIET, 3, 12, 5, 1 << 40, 2, bytes(range(48)))


@pytest.mark.parametrize(
    "message", [PUSH, Message(Opcode.STOP), Message(Opcode.PULL, 0xFFFF_FFFE, clock=-1), PUSH._replace(payload=bytes(99_999))]
)
def test_a_message_arrives_as_it_was_sent(message):
    data = encode(message)
    assert len(data) == HEADER_SIZE + len(message.payload)
    assert decode(data) == message


def test_the_layout_is_little_endian_and_fixed():
    data = encode_header(PUSH)
    assert data[:8].hex() == "32666c6402000405"
    assert data[8:32].hex() == "07000000" + "01" + "00" + "0300" + "0c000000" + "02000000" + "0500000000000000"
    assert data[32:48].hex() == "0000000000010000" + "3000000000000000"


def test_a_header_can_be_written_into_a_buffer_that_is_kept():
    buffer = bytearray(b"\xff" * HEADER_SIZE)
    assert encode_header(PUSH, buffer) is buffer
    assert bytes(buffer) == bytes(encode_header(PUSH))


def test_the_payload_is_not_copied():
    array = np.arange(8.0)
    data = bytearray(encode(Message(Opcode.PUSH, payload=memoryview(array).cast("B"))))
    found = np.frombuffer(decode(data).payload, np.float64)
    data[HEADER_SIZE:] = bytes(64)
    assert not found.any()


def test_header_and_payload_can_be_received_apart():
    message, size, check = decode_header(encode_header(PUSH))
    assert (size, message.payload) == (48, b"")
    assert attach(message, PUSH.payload, check) == PUSH


@pytest.mark.parametrize("size", [8, 5_000, 70_000, 70_003])
def test_every_changed_byte_is_noticed(size):
    rng = random.Random(size)
    data = bytearray(encode(PUSH._replace(payload=rng.randbytes(size), rows=0, flags=0)))
    for place in [*range(HEADER_SIZE), *(rng.randrange(HEADER_SIZE, len(data)) for _ in range(100)), len(data) - 1]:
        data[place] ^= 1 << rng.randrange(8)
        with pytest.raises(FormatError):
            decode(data)
        data = bytearray(encode(PUSH._replace(payload=data[HEADER_SIZE:], rows=0, flags=0)))


def test_a_payload_above_the_limit_is_rejected_before_it_is_read():
    header = encode_header(PUSH)
    assert decode_header(header, 48)[1] == 48
    with pytest.raises(FormatError, match="48 bytes, 47 announced"):
        decode_header(header, 47)


@pytest.mark.parametrize(
    "wrong",
    [PUSH._replace(op=16), PUSH._replace(flags=32), PUSH._replace(dtype=13), PUSH._replace(rows=7)],
    ids=["op", "flags", "dtype", "rows"],
)
def test_a_field_out_of_range_is_rejected(wrong):
    with pytest.raises(FormatError, match="out of range"):
        decode(encode(wrong))


@pytest.mark.parametrize("change", [lambda d: d[:63], lambda d: d[:-1], lambda d: d + b"\0", lambda d: b""])
def test_a_message_of_the_wrong_size_is_rejected(change):
    with pytest.raises(FormatError):
        decode(change(encode(PUSH)))


@pytest.mark.parametrize("kind", [MXNetError, ShapeError, ClusterTimeout])
def test_an_error_arrives_with_its_class_and_text(kind):
    error = kind("push: wrong shape", "(2, 3)", "pass (3, 2)")
    message = decode(encode(reply_error(PUSH, error)))
    assert (message.op, message.key, message.worker, message.seq) == (Opcode.ERROR, 7, 12, 1 << 40)
    found = error_in(message)
    assert type(found) is kind
    assert str(found) == str(error)


def test_a_reply_names_its_request():
    message = reply(PUSH, b"value", clock=9)
    assert message == Message(Opcode.OK, 7, 1, 0, 3, 12, 9, 1 << 40, 0, b"value")
