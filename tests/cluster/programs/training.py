"""Trains networks on this worker's part of each batch, and saves the weights."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import twofold as mx
from twofold import autograd, gluon

FOLDER = Path(sys.argv[1])
BATCH, CLASSES = 12, 3
draw = np.random.RandomState(1)
X, Y = draw.randn(4, BATCH, 10).astype("float32"), draw.randint(0, CLASSES, (4, BATCH)).astype("float32")
store = mx.kv.create("dist_sync")
rank, count = store.rank, store.num_workers


def part(batch: np.ndarray) -> np.ndarray:
    size = BATCH // count
    return batch[rank * size : (rank + 1) * size]


def by_trainer(on_store: bool, way: str) -> dict[str, mx.nd.NDArray]:
    mx.random.seed(3)
    kind = mx.kv.create("dist_sync")
    net = gluon.nn.HybridSequential(prefix=f"{way}{on_store}_")
    with net.name_scope():
        net.add(gluon.nn.Dense(300, activation="relu"), gluon.nn.Dense(300, activation="relu"), gluon.nn.Dense(CLASSES))
    unused = gluon.nn.Dense(2, in_units=2)
    for block in (net, unused):
        block.initialize(mx.init.Xavier())
    net[1].bias.grad_req = "null"
    if way == "hybridized":
        net.hybridize()
    if way == "accumulated":
        net.collect_params().setattr("grad_req", "add")
    params = {**net.collect_params(), **unused.collect_params()}
    options = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(params, "sgd", options, kvstore=kind, update_on_kvstore=on_store)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(8):
        with autograd.record():
            error = loss(net(mx.nd.array(part(X[step % 4]))), mx.nd.array(part(Y[step % 4])))
        error.backward()
        if way != "accumulated" or step % 2:
            trainer.step(BATCH, ignore_stale_grad=True)
            if way == "accumulated":
                net.collect_params().zero_grad()
    return {name: p.data() for name, p in net.collect_params().items()}


def by_module() -> dict[str, mx.nd.NDArray]:
    mx.random.seed(3)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=300, name="a")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=CLASSES, name="b")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    batches = mx.io.NDArrayIter(np.concatenate([part(x) for x in X]), np.concatenate([part(y) for y in Y]), BATCH // count)
    options = {"learning_rate": 0.1, "momentum": 0.9}
    module.fit(batches, num_epoch=2, kvstore="dist_sync", optimizer_params=options, initializer=mx.init.Xavier())
    return module.get_params()[0]


found = {f"trainer {on_store} {way} {name}": value.asnumpy() for on_store in (True, False) for way in ("plain", "hybridized", "accumulated")
         for name, value in by_trainer(on_store, way).items()}  # fmt: skip
found |= {f"module {name}": value.asnumpy() for name, value in by_module().items()}
np.savez(FOLDER / f"{count}-{rank}.npz", **found)
