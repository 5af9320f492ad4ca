"""Messages between `DataLoader` and its worker processes: pickles through a pipe, the elements of their arrays through shared memory.

Each message has its own memory file without a name: it is freed with the arrays that use it, even if processes are killed. A mapped file
keeps a file descriptor, of which a process has some hundreds, so batches of a program that keeps many are copied to ordinary memory.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import pickle
import socket
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ...imperative.array import Array, adopted
from ...imperative.invoke import host_of
from ...ndarray.sparse_array import BaseSparseNDArray

if TYPE_CHECKING:
    from multiprocessing import connection as pipes

#: Alignment of arrays in shared memory, and the size up to which a message without arrays goes through the pipe; in bytes.
ALIGNMENT, SMALL = 64, 4096
#: Messages that may be mapped at a time.
MOST_MAPPED = 128


class _Pickler(pickle.Pickler):
    """Pickles messages; elements of arrays stay outside."""

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, Array) and not isinstance(obj, BaseSparseNDArray) and obj.context.is_host:
            # as a NumPy array: pickle's protocol 5 passes its elements as a buffer, without a copy
            return _wrapped, (obj._kind, np.ascontiguousarray(host_of(obj)))
        return NotImplemented


def _wrapped(cls: type[Array], array: np.ndarray) -> Array:
    return adopted(cls, array)


#: A pickle, and the memory of the arrays in it.
Pickled = tuple[bytes, list[pickle.PickleBuffer]]
#: The same as it was received.
Received = tuple[bytes | memoryview, list[memoryview]]


def pickled(message: object) -> Pickled:
    """A message to send."""
    buffers: list[pickle.PickleBuffer] = []
    body = io.BytesIO()
    # protocol 5 hands large buffers to the callback instead of copying them into the pickle
    _Pickler(body, 5, buffer_callback=buffers.append).dump(message)
    return body.getvalue(), buffers


def send_pickled(pipe: pipes.Connection, body: bytes, buffers: list[pickle.PickleBuffer]) -> None:
    """Send a message. Its arrays and other large parts go through a memory file."""
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    ends, end = [], 0
    for part in parts:
        # rounded up, so that arrays lie on cache lines in the shared memory
        start = -(-end // ALIGNMENT) * ALIGNMENT
        end = start + part.nbytes
        ends.append((start, end))
    small = not buffers and end <= SMALL
    pipe.send_bytes(pickle.dumps((ends, body if small else None)))
    if small:
        return
    file = _memory_file(end)
    try:
        with mmap.mmap(file, end) as memory:
            for part, (start, stop) in zip(parts, ends, strict=True):
                memory[start:stop] = part
        # not by `multiprocessing.reduction`, which from Python 3.14 on waits for an answer between the messages of the other direction
        with socket.fromfd(pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as end_of_pipe:
            socket.send_fds(end_of_pipe, [b"f"], [file])
    finally:
        # the receiver has its own descriptor, and the memory lives as long as it is mapped
        os.close(file)


def received_from(pipe: pipes.Connection) -> Received:
    """A message. Its arrays are in the shared memory, which is freed with the last of them.

    Raises
    ------
    EOFError
        If the other process has ended.
    OSError
        If no file descriptor is free; the rest of the message is lost then.
    """
    ends, body = pickle.loads(pipe.recv_bytes())
    if body is not None:
        return body, []
    with socket.fromfd(pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as end_of_pipe:
        _, files, flags, _ = socket.recv_fds(end_of_pipe, 1, 1)
    if not files:
        if flags & socket.MSG_CTRUNC:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        raise EOFError
    (file,) = files
    try:
        memory = _contents(file, ends[-1][1])
    finally:
        os.close(file)
    (start, stop), *buffers = ends
    return memory[start:stop], [memory[a:b] for a, b in buffers]


#: The messages that are mapped.
_mapped: WeakSet[mmap.mmap] = WeakSet()


def _contents(file: int, size: int) -> memoryview:
    """The contents of a memory file: mapped, or a copy if many messages are in use."""
    if len(_mapped) < MOST_MAPPED:
        mapping = mmap.mmap(file, size)  # has its own duplicate of the descriptor
        _mapped.add(mapping)
        return memoryview(mapping)
    copy = np.empty(size, "uint8").data
    with open(file, "rb", closefd=False) as source:
        source.readinto(copy)
    return copy


def unpickled(message: Received) -> Any:
    """A message that was received."""
    body, buffers = message
    return pickle.loads(body, buffers=buffers)


def _memory_file(size: int) -> int:
    """A file of zeros in memory, without a name."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("DataLoader", os.MFD_CLOEXEC)
    else:
        import tempfile  # here, because it takes long to load and Linux does not need it

        with tempfile.TemporaryFile() as named:
            # the duplicate stays open when the temporary file is closed
            file = os.dup(named.fileno())
    os.truncate(file, size)
    return file
