"""Trains, and stops or kills one of its processes at some point: a number of messages or sums after the start."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import twofold as mx
from twofold.kvstore.server_core import ServerCore
from twofold.kvstore.transports.mpi import MpiGroup, MpiTransport

KIND, VICTIM, SIGNAL, POINT, FOLDER = sys.argv[1], int(sys.argv[2]), signal.Signals[sys.argv[3]], int(sys.argv[4]), sys.argv[5]
RANK = int(os.environ["OMPI_COMM_WORLD_RANK"])
calls = 0


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        global calls
        calls += 1
        if calls == POINT:
            with open(os.path.join(FOLDER, "when"), "w") as file:
                file.write(str(time.time()))
            os.kill(os.getpid(), SIGNAL)
        return function(*args, **options)

    return call


if RANK == VICTIM:
    if POINT == 0:
        os.kill(os.getpid(), SIGNAL)
    for kind, name in ((MpiGroup, "allreduce"), (MpiGroup, "broadcast"), (MpiTransport, "send"), (ServerCore, "handle")):
        setattr(kind, name, counted(getattr(kind, name)))

store = mx.kv.create(KIND)
weights = [mx.nd.ones(5), mx.nd.ones((200, 100)), mx.nd.ones(3)]
keys = ["a", "b", "c"]
store.init(keys, weights)
store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1))
for step in range(30):
    store.pushpull(keys, [mx.nd.ones(w.shape) for w in weights], out=weights)
    if store.rank == 0 and step % 4 == 0:
        mx.nd.save(os.path.join(FOLDER, "weights.params"), dict(zip(keys, weights, strict=True)))
print("trained")
