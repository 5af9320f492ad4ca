"""Groups of NCCL, with two simulated GPUs as members and NCCL's calls replaced by copies through the host, in the order of streams."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pytest

import twofold as mx
from twofold.backend.loader import backend_for
from twofold.errors import ClusterError
from twofold.kvstore.device_sums import DeviceSums, are_connectable

from tests.cupy.conftest import simulated, two_gpus

pytestmark = [simulated, two_gpus]


class Communicator:
    """NCCL's communicator, whose calls have the arguments of CuPy 14."""

    meeting: ClassVar[threading.Barrier]
    given: ClassVar[dict[int, np.ndarray]] = {}

    def __init__(self, size: int, key: bytes, number: int) -> None:
        assert type(key) is bytes
        assert len(key) == 128
        self.size, self.number = size, number
        Communicator.meeting.wait()

    def _exchange(self, at: int, count: int, code: int, stream: int, combine: Callable[[list[np.ndarray]], np.ndarray], mine: bool) -> None:
        import cupy

        assert code == Nccl.NCCL_FLOAT32
        device = cupy.cuda.Device().id
        memory = cupy.cuda.UnownedMemory(at, 4 * count, self, device)
        array = cupy.ndarray((count,), np.float32, cupy.cuda.MemoryPointer(memory, 0))
        assert stream == cupy.cuda.get_current_stream().ptr
        self.given[self.number] = array.get()
        Communicator.meeting.wait()
        found = combine([self.given[k] for k in range(self.size)])
        Communicator.meeting.wait()
        if mine:
            array.set(found)

    def allReduce(self, send: int, receive: int, count: int, code: int, op: int, stream: int) -> None:
        assert (send, op) == (receive, Nccl.NCCL_SUM)
        self._exchange(send, count, code, stream, sum, True)

    def reduce(self, send: int, receive: int, count: int, code: int, op: int, root: int, stream: int) -> None:
        assert (send, op, root) == (receive, Nccl.NCCL_SUM, 0)
        self._exchange(send, count, code, stream, sum, self.number == root)

    def broadcast(self, send: int, receive: int, count: int, code: int, root: int, stream: int) -> None:
        assert (send, root) == (receive, 0)
        self._exchange(send, count, code, stream, lambda all_: all_[root], True)


class Nccl:
    """The names of CuPy's module that are used."""

    NCCL_SUM, NCCL_FLOAT32, NCCL_FLOAT64 = 0, 7, 8
    NcclCommunicator = Communicator
    NcclError = RuntimeError

    @staticmethod
    def get_unique_id() -> bytes:
        return bytes(range(128))


class Leaders:
    """The first worker of a machine among those of two machines that have the same arrays."""

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        array *= 2


@pytest.fixture
def groups(gpus) -> list[Any]:
    """The group, as both members see it."""
    from twofold_cupy.nccl import NcclPeering

    peering = NcclPeering(Nccl)
    assert peering.dtypes == {"float32", "float64"}
    assert peering.identity(gpus[0]) != peering.identity(gpus[1])
    Communicator.meeting = threading.Barrier(2, timeout=20)
    key = peering.new_key()
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda k: peering.join(gpus[k], key, 2, k), range(2)))


@pytest.mark.parametrize("machines", [1, 2])
def test_devices_sum_what_their_streams_compute(gpus, groups, machines):
    def work(k: int) -> np.ndarray:
        backend = backend_for(gpus[k])
        sums = DeviceSums(gpus[k], frozenset({"float32"}), groups[k], Leaders() if machines == 2 and k == 0 else None, machines)  # type: ignore[arg-type]
        with backend.stream(gpus[k]):
            array = backend.xp.multiply(backend.from_host(np.arange(5, dtype=np.float32), gpus[k]), backend.scalar(k + 1.0, "float32"))
        total = sums.sum(array, backend.record(backend.stream(gpus[k])))
        with backend.stream(gpus[k]):
            return backend.to_host(total).copy()

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(work, range(2)):
            np.testing.assert_array_equal(found, machines * 3 * np.arange(5))


def test_an_error_of_nccl_is_a_cluster_error(gpus, monkeypatch):
    from twofold_cupy.nccl import NcclPeering

    def fail(*given: object) -> None:
        raise RuntimeError("no shared memory")

    monkeypatch.setattr(Nccl, "NcclCommunicator", fail)
    with pytest.raises(ClusterError, match=r"no shared memory.*TWOFOLD_NCCL=0"):
        NcclPeering(Nccl).join(mx.gpu(0), bytes(128), 2, 0)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([[1, 5, 1], [1, 5, 2]], True),
        ([[1, 5, 1], [1, 6, 1]], True),  # of two machines
        ([[1, 5, 1], [1, 5, 1]], False),  # two workers have one device
        ([[1, 5, 1], [0, 5, 0]], False),  # one has none
    ],
)
def test_which_devices_can_be_connected(facts, expected):
    assert are_connectable(np.array(facts)) is expected


def test_without_nccl_nothing_is_connected(gpus):
    assert backend_for(gpus[0]).target.peering() is None
