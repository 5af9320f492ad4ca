"""Trains for some steps, from a checkpoint if there is one, and saves one after each step; worker 1 may be killed after some."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon

FOLDER, STEPS, KILLED = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
kv = mx.kv.create("dist_sync")
mx.random.seed(5 + kv.rank)
np.random.seed(7 + kv.rank)  # noqa: NPY002
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(8, in_units=4, activation="relu"), gluon.nn.Dropout(0.5), gluon.nn.Dense(2, in_units=8))
net.initialize(mx.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=kv)
params = net._collect_params_with_prefix()
start = 0
if any(FOLDER.glob("step-*.json")):
    found = mx.kv.load_checkpoint(FOLDER, kv)
    for name, p in params.items():
        p.set_data(found.arrays[name])
    found.load_states(trainer.load_states)
    start = found.step
for step in range(start, STEPS):
    x = mx.nd.array(np.random.rand(6, 4)) + mx.nd.random.uniform(shape=(6, 4))  # noqa: NPY002
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(6 * kv.num_workers)
    mx.kv.save_checkpoint(FOLDER, step + 1, kv, {name: p.data() for name, p in params.items()}, trainer.save_states)
    if step + 1 == KILLED and kv.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
if kv.rank == 0:
    np.savez(FOLDER / f"after-{start}.npz", **{name: p.data().asnumpy() for name, p in params.items()})
