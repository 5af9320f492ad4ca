"""Mistakes of one worker, which all workers are told of."""

from __future__ import annotations

import os
import sys
import time

MISTAKE = sys.argv[1]
if MISTAKE == "versions" and os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    os.environ["TWOFOLD_KV_CHECKSUM"] = "7"

import twofold as mx  # noqa: E402  reads its settings

store = mx.kv.create("dist_sync")
rank = store.rank
if MISTAKE == "shapes":
    store.init("w", mx.nd.zeros((2, 3 + rank)))
store.init(["a", "b", "c"], [mx.nd.zeros(2) for _ in range(3)])
if MISTAKE == "skipped":
    for step in range(3):
        keys = ["a", "b", "c"] if rank == 0 or step == 0 else ["a", "c"]
        store.push(keys, [mx.nd.ones(2) for _ in keys])
elif MISTAKE == "drift":
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1 + 0.1 * rank))
    for _ in range(3):
        store.push(["a", "b"], [mx.nd.ones(2), mx.nd.ones(2)])
elif MISTAKE == "absent":
    store.push("a", mx.nd.ones(2))
    if rank == 1:
        mx.nd.waitall()
        time.sleep(30)
    store.push("a", mx.nd.ones(2))
elif MISTAKE == "raises":
    if rank == 1:
        raise ValueError("a mistake of worker 1")
    store.push("a", mx.nd.ones(2))
elif MISTAKE == "async":
    mx.kv.create("dist_async")
