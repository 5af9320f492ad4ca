"""Trains by servers, one of which is killed when it has been given some messages, and prints the weights."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import numpy as np

import twofold as mx
from twofold.kvstore.server_core import ServerCore

KIND, VICTIM, POINT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
handled = 0
handle = ServerCore.handle


def mortal(*args: Any) -> Any:
    global handled
    handled += 1
    if handled == POINT:
        os.kill(os.getpid(), signal.SIGKILL)
    return handle(*args)


if int(os.environ["OMPI_COMM_WORLD_RANK"]) == VICTIM:
    ServerCore.handle = mortal
store = mx.kv.create(KIND)
shapes = {"a": (5,), "b": (3, 4), "c": (300, 100), "d": (7,)}
for key, shape in shapes.items():
    store.init(key, mx.nd.ones(shape) + store.rank)  # that of worker 0 wins
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.125))
draw = np.random.RandomState(store.rank)
outs = [mx.nd.zeros(shape) for shape in shapes.values()]
for _ in range(8):
    grads = [mx.nd.array(draw.randint(-8, 8, shape)) for shape in shapes.values()]
    if KIND == "dist_sync":
        store.pushpull(list(shapes), grads, out=outs)
    else:
        for key, grad, out in zip(shapes, grads, outs, strict=True):
            store.pushpull(key, grad, out=out)
store.barrier()
store.pull(list(shapes), out=outs)
print(f"worker {store.rank}: {' '.join(str(float((out * out).sum().asscalar())) for out in outs)}")
