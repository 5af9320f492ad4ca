"""Trains by a server, and compares the weights with those of one worker that has the batches of all."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon

FOLDER, BATCH = Path(sys.argv[1]), 6
store = mx.kv.create("dist_sync")
rank, count = store.rank, store.num_workers


def batch(worker: int) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    draw = np.random.RandomState(worker)
    return mx.nd.array(draw.randn(BATCH, 5)), mx.nd.array(draw.randint(0, 3, BATCH))


def trained(kvstore: object, x: mx.nd.NDArray, y: mx.nd.NDArray) -> np.ndarray:
    mx.random.seed(3)
    net = gluon.nn.Dense(3, in_units=5)
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore=kvstore)
    for step in range(6):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
        loss.backward()
        trainer.step(BATCH * count)
        if step == 2:
            trainer.set_learning_rate(0.05)
            trainer.save_states(FOLDER / f"{rank}.states")
            trainer.load_states(FOLDER / f"{rank}.states")
    return np.concatenate([p.data().asnumpy().reshape(-1) for p in net.collect_params().values()])


found = trained(store, *batch(rank))
joined = [mx.nd.concat(*parts, dim=0) for parts in zip(*[batch(worker) for worker in range(count)], strict=True)]
np.testing.assert_allclose(found, trained("local", *joined), atol=1e-6)
print(f"worker {rank} is done")
