"""Trains by servers: a trainer and a module; prints whether the weights are those of a store without servers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon

FOLDER = Path(sys.argv[1])
store = mx.kv.create("dist_sync")
rank, count = store.rank, store.num_workers
draw = np.random.RandomState(rank)
x, y = mx.nd.array(draw.randn(6, 5)), mx.nd.array(draw.randint(0, 3, 6))
mx.random.seed(3)
net = gluon.nn.Dense(3, in_units=5)
net.initialize(mx.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore=store)
for step in range(6):
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
    loss.backward()
    trainer.step(6 * count)
    if step == 2:
        trainer.set_learning_rate(0.05)
        trainer.save_states(FOLDER / f"{rank}.states")
        trainer.load_states(FOLDER / f"{rank}.states")
np.save(FOLDER / f"{sys.argv[2]}-{rank}.npy", np.concatenate([p.data().asnumpy().reshape(-1) for p in net.collect_params().values()]))
