"""Trains with three workers, of which one dies at some sum; the others go on, and save their weights."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import twofold as mx
from twofold.kvstore.transports.mpi import MpiGroup

FOLDER, SIGNAL, POINT = Path(sys.argv[1]), signal.Signals[sys.argv[2]], int(sys.argv[3])
calls = 0


def dying(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        global calls
        calls += 1
        if calls == POINT:
            os.kill(os.getpid(), SIGNAL)
        return function(*args, **options)

    return call


store = mx.kv.create("dist_sync")
if store.rank == 1:
    MpiGroup.allreduce = dying(MpiGroup.allreduce)
weights = [mx.nd.ones(5), mx.nd.ones((600, 1000)), mx.nd.ones(3)]
keys = ["a", "b", "c"]
store.init(keys, weights)
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.125, rescale_grad=1 / store.num_workers))
for _ in range(10):
    store.pushpull_list(keys, [mx.nd.ones(w.shape) for w in weights], weights)
np.savez(FOLDER / f"{store.rank}.npz", *[w.asnumpy() for w in weights])
print(f"worker {store.rank} misses {store.get_num_dead_node(timeout=5)}")
