"""Sums over the simulated GPUs of several workers; with the argument ``connected`` by devices that reach each other, on two machines."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from zlib import crc32

import twofold as mx

CONNECTED = sys.argv[1:] == ["connected"]
calls: list[str] = []

if CONNECTED:
    from mpi4py import MPI

    from twofold.kvstore import cluster
    from twofold_fake.adapter import FakeBackend

    class Group:
        """Sums by MPI, issued to the stream that the thread has entered."""

        def __init__(self, backend, comm):
            self.backend, self.comm = backend, comm

        def issue(self, name, function):
            calls.append(name)
            assert self.backend.current is self.backend.stream(mx.gpu(0), "sum")
            self.backend.issue(function)

        def allreduce(self, array):
            self.issue("allreduce", lambda: self.comm.Allreduce(MPI.IN_PLACE, array))

        def reduce(self, array):
            first = self.comm.rank == 0
            self.issue("reduce", lambda: self.comm.Reduce(MPI.IN_PLACE if first else array, array if first else None))

        def broadcast(self, array):
            self.issue("broadcast", lambda: self.comm.Bcast(array))

    class Peering:
        dtypes = frozenset({"float32"})

        def __init__(self, backend):
            self.backend = backend

        def identity(self, device):
            return str(os.getpid()).encode()

        def new_key(self):
            return os.urandom(128)

        def join(self, device, key, size, number):
            comm = MPI.COMM_WORLD.Split(crc32(key) >> 1, number)
            assert comm.size == size
            return Group(self.backend, comm)

    class Backend(FakeBackend):
        """Simulated devices that can be connected."""

        @property
        def target(self):
            return replace(super().target, peering=lambda: Peering(self))

    FakeBackend.__new__ = lambda kind: object.__new__(Backend)  # type: ignore[method-assign]
    number = int(os.environ["OMPI_COMM_WORLD_RANK"])
    cluster.gethostname = lambda: "first" if number < 2 else "second"

store = mx.kv.create("nccl" if CONNECTED else "dist_device_sync")
rank, count = store.rank, store.num_workers
devices, shapes, keys = [mx.gpu(0), mx.gpu(1)], [(5,), (600, 700), (3, 4)], [0, 1, 2]
store.init(keys, [mx.nd.zeros(s, ctx=devices[0]) for s in shapes])
values = [[mx.nd.ones(s, ctx=device) * (rank + n) for n, device in enumerate(devices)] for s in shapes]
outs = [[mx.nd.zeros(s, ctx=device) for device in devices] for s in shapes]
total = sum(2 * worker + 1 for worker in range(count))


def all_are(value: float) -> bool:
    return all((out.asnumpy() == value).all() and out.context == d for row in outs for out, d in zip(row, devices, strict=True))


store.push(keys, values)
store.pull(keys, out=outs)
assert all_are(total)
store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
for _ in range(3):
    store.pushpull_list(keys, values, outs)
assert all_are(total - 3 * total)
if rank == 1:  # the others have finished: they take part with nothing, and the sum is scaled up
    store._barrier()
    store.pushpull_list(keys, values, outs)
    assert all_are(total - 3 * total - count * 3)
    assert not CONNECTED or calls.count("reduce") == calls.count("broadcast") == 10, calls
elif count > 1:
    store._barrier()
print(f"worker {rank} is done")
