"""`Message`: a message between workers and servers, with a 64-byte header and a payload of raw bytes. Nothing in it is code.

A header is, all numbers little-endian::

    offset  size  field
     0      4     magic, the bytes ``2fld``
     4      2     version of this layout
     6      1     op, see `Opcode`
     7      1     flags, see `Flag`
     8      4     key
    12      1     dtype, a code of MXNet
    13      1     0
    14      2     shard: which part of a tensor that is divided among servers
    16      4     worker
    20      4     rows: the number of row ids at the start of the payload; the code of an error in a reply `Opcode.ERROR`;
                  with `Flag.COUNTS`, the number of 64-bit integers at the end of a reply's payload
    24      8     clock, signed
    32      8     seq: a reply has that of its request
    40      8     size of the payload in bytes
    48      4     checksum of the payload
    52      8     0
    60      4     CRC-32 of the 60 bytes before

A receiver reads the header first, checks it, and only then allocates memory for the payload.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple
from zlib import crc32

import numpy as np

from ..dtype import FROM_MXNET_CODE, MXNET_CODES, NUMPY
from ..errors import ClusterError, ClusterTimeout, DTypeError, FormatError, MessageLost, MXNetError, ParameterError, ShapeError

Payload = bytes | bytearray | memoryview

MAGIC = int.from_bytes(b"2fld", "little")
VERSION = 2
LAYOUT = Struct("<IHBBIBxHIIqQQI8xI")
HEADER_SIZE = LAYOUT.size
WORD = Struct("<I")
NO_PAYLOAD = b""
#: The key of a message that concerns no key.
NO_KEY = 0xFFFF_FFFF
#: Bytes from which the checksum adds 64-bit words, which takes a sixth of the time of a CRC.
LARGE = 1 << 16


class Opcode(IntEnum):
    """The request of a message, or the kind of its reply."""

    OK = 0
    ERROR = 1
    INIT = 2
    BCAST = 3
    PUSH = 4
    PULL = 5
    PUSHPULL = 6
    RSP_PULL = 7
    SET_OPTIMIZER = 8
    SET_COMPRESSION = 9
    BARRIER = 10
    STATE = 11
    DONE = 12
    STOP = 13
    HEARTBEAT = 14
    COMMAND = 15


class Flag:
    """Properties of a payload, and of how a request is answered. They are plain integers: those of an enum take 1 µs to combine."""

    #: The payload is ``rows`` row ids of 8 bytes, then these rows.
    ROW_SPARSE = 1
    #: The payload is compressed to two bits per element.
    TWO_BIT = 2
    #: A reply is only sent if the request fails.
    QUIET = 4
    #: In a reply to an announcement: the worker is to send its value.
    SEND_VALUE = 8
    #: In a request for a value: the reply is to say which pushes the value includes, and in such a reply: its payload ends with that.
    COUNTS = 16


OPS = len(Opcode)
FLAGS = Flag.ROW_SPARSE | Flag.TWO_BIT | Flag.QUIET | Flag.SEND_VALUE | Flag.COUNTS


class Message(NamedTuple):
    """A request of a worker, or a server's reply.

    Parameters
    ----------
    op, flags
        See `Opcode` and `Flag`.
    key, shard
        The number of the key, and which part of its tensor is meant; `NO_KEY` if none is.
    dtype
        MXNet's code of the payload's data type.
    worker
        The worker that asks, also in the reply.
    clock
        How many times the worker has pushed the key, this push included.
    seq
        Number of the request; a request that is sent again has the number that it had.
    rows
        Number of row ids in the payload.
    payload
        Bytes, or a contiguous memoryview of format ``B``.
    """

    op: int
    key: int = NO_KEY
    dtype: int = 0
    flags: int = 0
    shard: int = 0
    worker: int = 0
    clock: int = 0
    seq: int = 0
    rows: int = 0
    payload: Payload = NO_PAYLOAD


def encode_header(message: Message, into: bytearray | memoryview | None = None) -> bytearray | memoryview:
    """The 64 bytes of a message's header.

    Parameters
    ----------
    message
        The message.
    into
        Where to write them; a new bytearray if None.
    """
    header = bytearray(HEADER_SIZE) if into is None else into
    op, key, dtype, flags, shard, worker, clock, seq, rows, payload = message
    size = len(payload)
    check = _checksum(payload) if size else 0
    LAYOUT.pack_into(header, 0, MAGIC, VERSION, op, flags, key, dtype, shard, worker, rows, clock, seq, size, check, 0)
    WORD.pack_into(header, 60, crc32(memoryview(header)[:60]))
    return header


def decode_header(header: Payload, limit: int | None = None) -> tuple[Message, int, int]:
    """The message of a header without its payload, and the payload's size in bytes and checksum.

    Parameters
    ----------
    header
        64 bytes.
    limit
        The largest payload that is accepted, in bytes; None if the caller checks it before it allocates memory.

    Raises
    ------
    FormatError
        If the header is damaged, of another version, or announces a larger payload.
    """
    if len(header) != HEADER_SIZE:
        raise FormatError("message: a header has 64 bytes", f"{len(header)} bytes", "send it with encode_header")
    magic, version, op, flags, key, dtype, shard, worker, rows, clock, seq, size, check, crc = LAYOUT.unpack(header)
    if magic != MAGIC or crc != crc32(memoryview(header)[:60]):
        raise FormatError("message: the header is damaged", bytes(header[:8]).hex(" "), "check the network; send it again")
    if version != VERSION:
        raise FormatError("message: the sender has another version", f"{version} for {VERSION}", "install one Twofold on all machines")
    # after the checksum only a faulty or hostile sender gets here, so every field that is used as an index or a size is checked
    if op >= OPS or flags & ~FLAGS or dtype not in FROM_MXNET_CODE or (rows * 8 > size and op != Opcode.ERROR):
        raise FormatError("message: a field is out of range", f"op {op}, flags {flags}, dtype {dtype}, {rows} rows, {size} bytes")
    if limit is not None and size > limit:
        raise FormatError("message: the payload is too large", f"{size} bytes, {limit} announced", "announce the size with INIT")
    return Message(op, key, dtype, flags, shard, worker, clock, seq, rows), size, check


def attach(message: Message, payload: Payload, check: int) -> Message:
    """A message with its payload.

    Parameters
    ----------
    message, check
        Results of `decode_header`.
    payload
        The payload. It is not copied.

    Raises
    ------
    FormatError
        If the payload is not the one that was sent.
    """
    if _checksum(payload) != check:
        raise FormatError("message: the payload is damaged", f"{len(payload)} bytes", "check the network; send it again")
    return Message(*message[:9], payload)


def encode(message: Message) -> bytes:
    """The bytes of a message: its header and payload."""
    return b"".join((encode_header(message), message.payload))


def decode(data: Payload, limit: int | None = None) -> Message:
    """The message in bytes that `encode` made. Its payload is a view of the bytes.

    Raises
    ------
    FormatError
        If the bytes are damaged, too few, too many, or the payload exceeds the limit.

    Examples
    --------
    >>> from twofold.kvstore.messages import Message, Opcode, decode, encode
    >>> found = decode(encode(Message(Opcode.PUSH, key=3, clock=1, payload=b"12345678")))
    >>> found.key, found.clock, bytes(found.payload)
    (3, 1, b'12345678')
    """
    view = memoryview(data)
    message, size, check = decode_header(view[:HEADER_SIZE], limit)
    if len(view) != HEADER_SIZE + size:
        raise FormatError("message: it has the wrong size", f"{len(view)} bytes for {HEADER_SIZE + size}", "send it again")
    return attach(message, view[HEADER_SIZE:], check) if size else message


def _checksum(payload: Payload) -> int:
    size = len(payload)
    if size < LARGE:
        return crc32(payload)
    words = size // 8
    total = int(np.add.reduce(np.frombuffer(payload, np.uint64, words)))
    return crc32(memoryview(payload)[words * 8 :], crc32(total.to_bytes(8, "little")))


# replies

#: Classes of errors, by the code under which they travel.
ERRORS: tuple[type[MXNetError], ...] = (
    MXNetError,
    ClusterError,
    ClusterTimeout,
    MessageLost,
    DTypeError,
    FormatError,
    ParameterError,
    ShapeError,
)
CODES = {kind: code for code, kind in enumerate(ERRORS)}


def reply(request: Message, payload: Payload = NO_PAYLOAD, clock: int | None = None, rows: int = 0) -> Message:
    """The reply to a request that succeeded.

    Parameters
    ----------
    request
        The request.
    payload
        The requested data.
    clock
        The server's clock of the key; the request's if None.
    rows
        The number of row ids at the start of the payload.
    """
    _, key, dtype, _, shard, worker, asked, seq, _, _ = request
    return Message(0, key, dtype, 0, shard, worker, asked if clock is None else clock, seq, rows, payload)


def reply_error(request: Message, error: MXNetError) -> Message:
    """The reply to a request that failed: its payload is the error's text."""
    code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), 0)
    _, key, _, _, shard, worker, clock, seq, _, _ = request
    return Message(Opcode.ERROR, key, 0, 0, shard, worker, clock, seq, code, str(error).encode()[:4096])


def error_in(message: Message) -> MXNetError:
    """The error that a reply `Opcode.ERROR` reports."""
    kind = ERRORS[message.rows] if message.rows < len(ERRORS) else ClusterError
    return kind(bytes(message.payload).decode(errors="replace"))


def dtype_code(dtype: np.dtype) -> int:
    """MXNet's code of a NumPy dtype.

    Raises
    ------
    DTypeError
        If it has none.
    """
    code = CODE_OF.get(dtype)
    if code is None:
        raise DTypeError("message: MXNet has no code for this data type", str(dtype), "cast the array to a real number type")
    return code


def bytes_of(array: np.ndarray) -> memoryview:
    """The memory of a C-contiguous array, as a payload."""
    return array.reshape(-1).view(np.uint8).data


CODE_OF = {NUMPY[name]: code for name, code in MXNET_CODES.items()}
DTYPE_OF = {code: dtype for dtype, code in CODE_OF.items()}
