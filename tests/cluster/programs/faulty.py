"""Trains for two epochs, and kills or stops one of its processes at a point of the training, one of `WORKER` or of `SERVER`."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Where a worker is met: at lines of the program below, or in the first call to other processes that it makes in one of them.
WORKER = (
    "before it connects",
    "when it is connected",
    "in the first init",
    "in the last init",
    "in set_optimizer",
    "after set_optimizer",
    "in the first push",
    "between push and pull",
    "in a pull",
    "in an update",
    "before a barrier",
    "in a barrier",
    "after a barrier",
    "in pushpull",
    "while it writes a checkpoint",
    "when it has written its part of a checkpoint",
    "at the end of an epoch",
    "in the second epoch",
    "in the last step",
    "at exit",
)
#: Where a server is met: before or after it has handled the nth message of a kind, or elsewhere.
SERVER: dict[str, tuple[str, int, bool] | None] = {
    "before it connects": None,
    "when it is connected": None,
    "before the first init": ("INIT", 1, False),
    "after the first init": ("INIT", 1, True),
    "before the first value": ("BCAST", 1, False),
    "after the last value": ("BCAST", 3, True),
    "in set_optimizer": ("SET_OPTIMIZER", 1, False),
    "after set_optimizer": ("SET_OPTIMIZER", 1, True),
    "in the first push": ("PUSH", 1, False),
    "between two workers' pushes": ("PUSH", 1, True),
    "in a pull": ("PULL", 1, False),
    "before it answers a pull": ("PULL", 2, True),
    "in an update": None,
    "in a barrier": ("BARRIER", 3, False),
    "when a barrier is full": ("BARRIER", 4, True),
    "in pushpull": ("PUSHPULL", 1, False),
    "before it gives its states": ("STATE", 1, False),
    "when it has given its states": ("STATE", 2, True),
    "in the second epoch": ("PUSHPULL", 40, False),
    "when a worker leaves": ("STOP", 1, False),
}


def meet() -> None:
    """Kill or stop this process, and note when."""
    (FOLDER / "when").write_text(str(time.time()))
    os.kill(os.getpid(), SIGNAL)


def at(point: str) -> None:
    """The program is at a point."""
    if IS_VICTIM and point == POINT:
        meet()


def within(point: str) -> Callable[[], object]:
    """From now on the next call to other processes is the point; the result ends that, and is the point if there was no such call."""
    place.append(point)

    def end() -> None:
        at(place.pop())

    return end


def intercept(kind: type, name: str, is_met: Callable[..., bool], after: bool = False) -> None:
    """Meet the process in the first call of a method that a condition selects."""
    function = getattr(kind, name)

    def call(*args: Any, **options: Any) -> Any:
        met = is_met(*args)
        if met and not after:
            meet()
        found = function(*args, **options)
        if met and after:
            meet()
        return found

    setattr(kind, name, call)


def prepare() -> None:
    """Set the trap, if this is the process."""
    from twofold import optimizer
    from twofold.kvstore.messages import Opcode
    from twofold.kvstore.server_core import ServerCore
    from twofold.kvstore.transports.mpi import MpiGroup
    from twofold.kvstore.transports.mpi_messages import MpiTransport

    if POINT == "in an update":
        intercept(optimizer.SGD, "update_multi_precision", lambda *_: True)
        intercept(MpiTransport, "receive", lambda *_: "in pushpull" in place)  # a worker waits while a server updates
    if not IS_SERVER:
        for kind, names in ((MpiGroup, ("allreduce", "broadcast", "barrier", "gather")), (MpiTransport, ("send",))):
            for name in names:
                intercept(kind, name, lambda *_: POINT in place)
        return
    chosen = SERVER[POINT]
    if chosen is not None:
        op, number, after = chosen
        seen: list[Any] = []

        def is_it(core: Any, source: int, message: Any) -> bool:
            seen.extend([message] * (message.op == Opcode[op]))
            return message.op == Opcode[op] and len(seen) == number

        intercept(ServerCore, "handle", is_it, after)
    if POINT == "when it is connected":
        intercept(ServerCore, "tick", lambda *_: True)


def train(kind: str) -> None:
    """Two epochs of three pushes and pulls and three steps, with a checkpoint after each."""
    import twofold as mx

    at("before it connects")
    store = mx.kv.create(kind)
    at("when it is connected")
    weights = [mx.nd.ones(5), mx.nd.ones((200, 100)), mx.nd.ones(3)]
    keys = ["a", "b", "c"]
    for k, (key, weight) in enumerate(zip(keys, weights, strict=True)):
        end = within(("in the first init", "", "in the last init")[k])
        store.init(key, weight)
        end()
    end = within("in set_optimizer")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    end()
    at("after set_optimizer")
    gradients = [mx.nd.ones(w.shape) for w in weights]
    for epoch in store.epochs(2, dict(zip(keys, weights, strict=True))):
        for _ in range(3):
            end = within("in the first push")
            store.push(keys, gradients)
            mx.nd.waitall()
            end()
            at("between push and pull")
            end = within("in a pull")
            store.pull(keys, out=weights)
            mx.nd.waitall()
            end()
        at("before a barrier")
        end = within("in a barrier")
        store.barrier()
        end()
        at("after a barrier")
        for step in range(6):
            end = within("in pushpull" if epoch == 0 else "in the last step" if step == 5 else "in the second epoch")
            for key, gradient, weight in zip(keys, gradients, weights, strict=True):
                store.pushpull(key, gradient, out=weight)
            mx.nd.waitall()
            end()

        def save(name: str) -> None:
            at("while it writes a checkpoint")
            store.save_optimizer_states(name)
            at("when it has written its part of a checkpoint")

        mx.kv.save_checkpoint(FOLDER / "run", epoch + 1, store, dict(zip(keys, weights, strict=True)), save)
        at("at the end of an epoch")
    if POINT == "at exit" and IS_VICTIM:
        atexit.register(meet)  # runs before the worker takes leave of the others
    print("trained")


if __name__ == "__main__":
    KIND, VICTIM, SIGNAL, POINT, FOLDER = sys.argv[1], int(sys.argv[2]), signal.Signals[sys.argv[3]], sys.argv[4], Path(sys.argv[5])
    RANK, IS_SERVER = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_RANK"]) >= int(os.environ["TWOFOLD_WORKERS"])
    IS_VICTIM = RANK == VICTIM
    place: list[str] = []
    if IS_VICTIM:
        prepare()
    train(KIND)
