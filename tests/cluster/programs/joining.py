"""Trains for four epochs with two workers and a spare, some of which die: in a step, or a spare in a method of its `Pool`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon
from twofold.kvstore.spares import Pool

#: The folder of the results; for each process that dies, its place and the step or method in which it does.
FOLDER, DEATHS = Path(sys.argv[1]), dict(word.split(":") for word in sys.argv[2:])
POINT = DEATHS.get(os.environ["OMPI_COMM_WORLD_RANK"], "")


def die(*_: object) -> None:
    """End this process."""
    os.kill(os.getpid(), signal.SIGKILL)


if POINT in ("wait", "regroup"):
    setattr(Pool, POINT, die)
kv = mx.kv.create("dist_sync")
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(8, in_units=4), gluon.nn.BatchNorm(in_channels=8), gluon.nn.Dense(2, in_units=8))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=kv)
arrays = {name: p.data() for name, p in net._collect_params_with_prefix().items()}
draw = np.random.RandomState(kv.rank)
for epoch in kv.epochs(4, arrays):
    for step in range(3):
        if str(3 * epoch + step) == POINT:
            die()
        x = mx.nd.array(draw.rand(6, 4))
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(6 * kv.num_workers)
    weights = np.concatenate([p.data().asnumpy().ravel() for p in net.collect_params().values() if p.grad_req != "null"])
    np.save(FOLDER / f"{epoch}-{kv.rank}.npy", weights)
    print(f"epoch {epoch}: rank {kv.rank} of {kv.num_workers}, {trainer._optimizer.num_update} updates")
