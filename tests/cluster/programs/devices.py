"""Sums over the simulated GPUs of several workers."""

from __future__ import annotations

import twofold as mx

store = mx.kv.create("dist_device_sync")
rank, count = store.rank, store.num_workers
devices, shapes, keys = [mx.gpu(0), mx.gpu(1)], [(5,), (600, 700), (3, 4)], [0, 1, 2]
store.init(keys, [mx.nd.zeros(s, ctx=devices[0]) for s in shapes])
values = [[mx.nd.ones(s, ctx=device) * (rank + n) for n, device in enumerate(devices)] for s in shapes]
outs = [[mx.nd.zeros(s, ctx=device) for device in devices] for s in shapes]
total = sum(2 * worker + 1 for worker in range(count))


def all_are(value: float) -> bool:
    return all((out.asnumpy() == value).all() and out.context is d for row in outs for out, d in zip(row, devices, strict=True))


store.push(keys, values)
store.pull(keys, out=outs)
assert all_are(total)
store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
for _ in range(3):
    store.pushpull_list(keys, values, outs)
assert all_are(total - 3 * total)
print(f"worker {rank} is done")
