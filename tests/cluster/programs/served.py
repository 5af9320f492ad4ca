"""What servers hold after pushes of several workers: synchronous, asynchronous, and of bounded staleness."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError

KIND = sys.argv[1]
os.chdir(tempfile.gettempdir())  # servers write profiles below their folder only
store = mx.kv.create(KIND, staleness=float(sys.argv[2]) if len(sys.argv) > 2 else None)
rank, count = store.rank, store.num_workers
assert rank < count  # a server does not come here


def pulled(key: object, shape: tuple[int, ...]) -> np.ndarray:
    out = mx.nd.zeros(shape)
    store.pull(key, out=out)
    return out.asnumpy()


def refuses(call: Callable[[], object], text: str) -> None:
    with pytest.raises(MXNetError) as caught:
        call()
    assert text in str(caught.value), caught.value


class Unknown(mx.optimizer.Optimizer):
    """An optimizer that no server knows."""


store.init("w", mx.nd.ones(3) * (rank + 5))
assert pulled("w", (3,)).tolist() == [5, 5, 5]
refuses(lambda: store.push("x", mx.nd.ones(3)), "has not been inited")
refuses(lambda: store.push("w", mx.nd.ones(4)), "does not fit key 'w'")
refuses(lambda: store.set_updater(print), "servers update the arrays")
if KIND == "dist_sync":
    store.push("w", [mx.nd.ones(3) * (rank + 1), mx.nd.ones(3)])
    assert pulled("w", (3,)).tolist() == [count * (count + 1) / 2 + count] * 3
    store.init("s", mx.nd.zeros((6, 2)).tostype("row_sparse"))
    store.push("s", mx.nd.sparse.row_sparse_array((np.ones((2, 2)), [rank, 4]), shape=(6, 2)))
    out = mx.nd.sparse.zeros("row_sparse", (6, 2))
    store.row_sparse_pull("s", out=out, row_ids=mx.nd.array([4, 0, 5, 4]))
    assert out.asnumpy()[:, 0].tolist() == [1, 0, 0, 0, count, 0]
elif len(sys.argv) == 2:
    store.push("w", mx.nd.ones(3))
    refuses(lambda: pulled("w", (3,)), "Updater needs to be set")
if rank == 0:
    refuses(lambda: store.set_optimizer(Unknown()), "is not allowed")
store.barrier()
optimizer = mx.optimizer.SGD(learning_rate=0.5, rescale_grad=1 / count)
store.set_optimizer(optimizer)
# large enough to be divided among servers, with the bound that the test sets
store.init("v", mx.nd.zeros((400, 100)))
clocks = []
for _ in range(6):
    store.push("v", mx.nd.ones((400, 100)))
    value = pulled("v", (400, 100))
    assert (value == value[0, 0]).all() or KIND != "dist_sync"
    clocks.append(round(-value[0, 0] * 2 * count))
    if len(sys.argv) > 2 and rank == 1:
        time.sleep(0.02)  # the other worker may not run away
if KIND == "dist_sync":
    assert clocks == [count * (k + 1) for k in range(6)], clocks
elif len(sys.argv) > 2:
    # a worker that has made k pushes sees all but `staleness` of those that each other one has made
    assert all(seen >= k + 1 + (count - 1) * (k + 1 - float(sys.argv[2])) for k, seen in enumerate(clocks)), clocks
store.barrier()
assert round(-pulled("v", (400, 100))[0, 0] * 2 * count) == 6 * count
before = pulled("v", (400, 100))[0, 0]
store.barrier()
optimizer.set_learning_rate(1.0)  # as a trainer does: the servers follow
for worker in range(count):
    if worker == rank:
        store.push("v", mx.nd.ones((400, 100)))
    store.barrier()
np.testing.assert_allclose(pulled("v", (400, 100)), before - 1, rtol=1e-6)
store.barrier()
assert store.get_num_dead_node() == 0
store.send_command_to_servers(1, "hello")

# workers control the profiler of the servers
with tempfile.TemporaryDirectory() as folder:
    if rank == 0:
        mx.profiler.set_kvstore_handle(store.handle)
        mx.profiler.set_config(filename=f"{folder}/trace.json", profile_process="server")
        mx.profiler.set_state("run", profile_process="server")
    store.barrier()
    store.push("v", mx.nd.ones((400, 100)))
    pulled("v", (400, 100))
    store.barrier()
    if rank == 0:
        mx.profiler.pause(profile_process="server")
        mx.profiler.resume(profile_process="server")
        mx.profiler.dump(profile_process="server")
        mx.profiler.set_state("stop", profile_process="server")
        for server in range(int(os.environ["TWOFOLD_SERVERS"])):
            with open(f"{folder}/rank{server}_trace.json", encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            assert any(event["name"].startswith("sgd_update") for event in events), events
        assert mx.profiler.state() == "stop"
        refuses(lambda: mx.profiler.set_config(filename="/profile.json", profile_process="server"), "below the server's folder")
        refuses(lambda: store.send_command_to_servers(-1, '["remove", {}]'), "not a command of the profiler")

# a second store shares the connection: only one has keys on the servers, which have one optimizer
other = mx.kv.create("dist_sync")
assert (other.rank, other.num_workers) == (rank, count)
other.barrier()
refuses(lambda: other.init("z", mx.nd.ones(1)), "another store has its keys")
assert pulled("v", (400, 100)) is not None
print(f"worker {rank} of {count} is done")
