"""Trains for four epochs with workers and spares, some of which die: in a step, in a method, or in the agreement on an epoch's end."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import twofold as mx
from twofold import autograd, gluon
from twofold.errors import ProcessGone
from twofold.kvstore.collectives import Collectives
from twofold.kvstore.spares import SparePool
from twofold.kvstore.transports.mpi import MpiGroup

#: The folder of the results; for each process that dies, its place and where it does: the number of the step, a method of `SparePool` or of
#: `Collectives`, or "agree", in which all agree on the end of an epoch. For "late", another one's death is reported when that is done.
FOLDER, DEATHS = Path(sys.argv[1]), dict(word.split(":") for word in sys.argv[2:])
POINT = DEATHS.get(os.environ["OMPI_COMM_WORLD_RANK"], "")


def die(*_: object) -> None:
    """End this process."""
    os.kill(os.getpid(), signal.SIGKILL)


def in_agreement() -> None:
    """Die, or hear of another one's death, when the next agreement on the end of an epoch has been summed here."""
    admit, allreduce = Collectives.admit, MpiGroup.allreduce

    def admitting(self: Collectives, *args: Any) -> bool:
        Collectives.admit, MpiGroup.allreduce = admit, summing
        return admit(self, *args)

    def summing(self: MpiGroup, *arrays: np.ndarray) -> None:
        MpiGroup.allreduce = allreduce
        try:
            allreduce(self, *arrays)
        finally:  # MPI may still report the first death
            if POINT == "agree":
                die()
        time.sleep(0.5)  # the others have the sum, too
        raise ProcessGone("a process has died", "in a test", "go on")

    Collectives.admit = admitting


if POINT in ("wait", "regroup", "release"):
    setattr(SparePool, POINT, die)
elif POINT == "handed_over":
    Collectives.handed_over = die
elif POINT in ("agree", "late"):
    in_agreement()
kv = mx.kv.create("dist_sync")
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(8, in_units=4), gluon.nn.BatchNorm(in_channels=8), gluon.nn.Dense(2, in_units=8))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=kv)
arrays = {name: p.data() for name, p in net._collect_params_with_prefix().items()}
for epoch in kv.epochs(4, arrays):
    for step in range(3):
        if str(3 * epoch + step) == POINT:
            die()
        x = mx.nd.array(np.random.RandomState(3 * epoch + step).rand(6, 4))  # the same, so that moving statistics must be
        with autograd.record():
            loss = (kv.rank + 1) * (net(x) ** 2).sum()
        loss.backward()
        trainer.step(6 * kv.num_workers)
    weights = np.concatenate([p.data().asnumpy().ravel() for p in net.collect_params().values()])
    np.save(FOLDER / f"{epoch}-{kv.rank}.npy", weights)
    print(f"epoch {epoch}: rank {kv.rank} of {kv.num_workers}, {trainer._optimizer.num_update} updates")
