"""Trains by an asynchronous server; one of three workers dies, and the others go on."""

from __future__ import annotations

import os
import signal
import sys

import twofold as mx

POINT = int(sys.argv[1])
store = mx.kv.create("dist_async", staleness=2)
store.init("w", mx.nd.zeros(4))
store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
out = mx.nd.zeros(4)
for step in range(12):
    if store.rank == 1 and step == POINT:
        os.kill(os.getpid(), signal.SIGKILL)
    store.pushpull("w", mx.nd.ones(4), out=out)
store.barrier()
store.pull("w", out=out)
print(f"worker {store.rank}: {-out.asnumpy()[0]:g} pushes, {store.get_num_dead_node()} dead")
