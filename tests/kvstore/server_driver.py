"""Workers of a `ServerCore`, whose messages a test writes by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from twofold.kvstore.messages import CODE_OF, DTYPE_OF, Flag, Message, Opcode, bytes_of, error_in
from twofold.kvstore.server_core import Replies, ServerCore

from tests import probe

Answers = list[tuple[int, Any]]


class Server:
    """A core with its keys numbered from 0, and requests that take and return arrays."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.core = ServerCore(*args, **kwargs)
        self.seq = 0
        self.clocks: dict[tuple[int, int], int] = {}

    def send(self, worker: int, op: int, key: int = 0, array: Any = None, **fields: Any) -> Answers:
        """Send a request; the answers as (worker, array or None or error)."""
        self.seq += 1
        payload = b"" if array is None else array if isinstance(array, bytes) else bytes_of(np.ascontiguousarray(array))
        dtype = CODE_OF[array.dtype] if isinstance(array, np.ndarray) else 0
        return self.answers(
            self.core.handle(worker, Message(op, key, **{"dtype": dtype, "worker": worker, "seq": self.seq, **fields}, payload=payload))
        )

    def answers(self, replies: Replies) -> Answers:
        """What replies say; contents are copied, as a network would."""
        return [(dest, probe.content(self)(message)) for dest, message in replies]

    def _content(self, message: Message) -> Any:
        if message.op == Opcode.ERROR:
            return error_in(message)
        return np.frombuffer(bytes(message.payload), DTYPE_OF[message.dtype]) if message.payload else None

    def init(self, key: int, value: np.ndarray, workers: int | None = None, **more: Any) -> None:
        """Initialize a key on all workers."""
        about = {"name": key, "shape": value.shape, "dtype": value.dtype.name, **more}
        for w in self.core.live if workers is None else range(workers):
            self.send(w, Opcode.INIT, key, json.dumps(about).encode())
        self.send(self.core.live[0], Opcode.BCAST, key, value)

    def push(self, worker: int, key: int, array: np.ndarray, op: int = Opcode.PUSH, **fields: Any) -> Answers:
        """Push an array at the worker's next clock."""
        clock = self.clocks[worker, key] = self.clocks.get((worker, key), 0) + 1
        return self.send(worker, op, key, array, **{"clock": clock, "flags": Flag.QUIET if op == Opcode.PUSH else 0, **fields})

    def push_rows(self, worker: int, key: int, ids: list[int], rows: np.ndarray, op: int = Opcode.PUSH) -> Answers:
        """Push rows at the worker's next clock."""
        payload = np.array(ids, np.int64).tobytes() + rows.tobytes()
        flags = Flag.ROW_SPARSE | (Flag.QUIET if op == Opcode.PUSH else 0)
        clock = self.clocks[worker, key] = self.clocks.get((worker, key), 0) + 1
        return self.send(worker, op, key, payload, clock=clock, flags=flags, rows=len(ids), dtype=CODE_OF[rows.dtype])

    def pull(self, worker: int, key: int) -> Answers:
        """Pull at the worker's clock."""
        return self.send(worker, Opcode.PULL, key, clock=self.clocks.get((worker, key), 0))


def floats(*numbers: float) -> np.ndarray:
    """Numbers as float32."""
    return np.array(numbers, np.float32)
