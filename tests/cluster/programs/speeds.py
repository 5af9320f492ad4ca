"""Logs the speed of the whole cluster, saves a checkpoint, and reads it again."""

from __future__ import annotations

import logging
import sys
from time import monotonic, sleep

import twofold as mx
from twofold.checkpoint import BatchEndParam

store = mx.kv.create("dist_sync")
figures = store.share_figure(100.5 + store.rank)
end = monotonic() + 10
while store.rank == 0 and len(figures) < store.num_workers and monotonic() < end:
    sleep(0.01)
    figures = store.share_figure(100.5)
assert figures == ([100.5, 101.5] if store.rank == 0 else []), figures
store.barrier()
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
speed = mx.callback.Speedometer(10, 2, kvstore=store)
for batch in range(5):
    speed(BatchEndParam(0, batch, None, {}))
store.barrier()

arrays = {name: mx.nd.full((100,), k) for k, name in enumerate("abc")}
store.init(1, mx.nd.ones((100,)))
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
store.push(1, mx.nd.ones((100,)))
index = mx.kv.save_checkpoint(sys.argv[1], 3, store, arrays, store.save_optimizer_states, own=store.rank)
found = mx.kv.load_checkpoint(sys.argv[1], store)
found.load_states(store.load_optimizer_states)
assert found.own == store.rank
assert all((found.arrays[name].asnumpy() == a.asnumpy()).all() for name, a in arrays.items())
print(f"worker {store.rank} is done")
