"""Trains by `Module.fit` or `Estimator.fit`, unchanged from a program of one process, while some processes die."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet import gluon
from mxnet.gluon.contrib.estimator import BatchEnd, Estimator

#: The folder of the results, and how to train; for each process that dies, its place and the number of steps that it has done before.
FOLDER, WAY, DEATHS = Path(sys.argv[1]), sys.argv[2], dict(word.split(":") for word in sys.argv[3:])
EPOCHS, BATCHES, BATCH = 4, 3, 4
left = int(DEATHS.get(os.environ["OMPI_COMM_WORLD_RANK"], -1))
seen: list[int] = []


def count(*_: object) -> None:
    """A batch is done."""
    seen.append(1)
    if len(seen) == left:
        os.kill(os.getpid(), signal.SIGKILL)


def save(rank: int, arrays: dict[str, mx.nd.NDArray], updates: int) -> None:
    np.savez(FOLDER / f"{rank}.npz", **{name: a.asnumpy() for name, a in arrays.items()})
    print(f"rank {rank}: {len(seen)} batches here, {updates} updates")


def data() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.RandomState(0)  # the same on all, so that moving statistics must be, too
    return draw.rand(BATCHES * BATCH, 5).astype("float32"), draw.randint(0, 2, BATCHES * BATCH).astype("float32")


def by_module() -> None:
    rank = mx.kv.create("dist_sync").rank  # by a store of its own, as in many programs
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="a"), name="n", fix_gamma=False)
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="b"), name="softmax")
    module = mx.mod.Module(net)
    batches = mx.io.NDArrayIter(*data(), BATCH)
    options = {"learning_rate": 0.05, "lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.9, base_lr=0.05)}
    module.fit(
        *(batches, None, "acc"),
        kvstore="dist_sync",
        optimizer="adam",
        optimizer_params=options,
        initializer=mx.init.Xavier(),
        batch_end_callback=count,
        epoch_end_callback=lambda epoch, *_: print(f"end of epoch {epoch}"),
        begin_epoch=2,
        num_epoch=2 + EPOCHS,
    )
    params, states = module.get_params()
    save(rank, {**params, **states}, module._optimizer.num_update)


class Counter(BatchEnd):
    """Counts batches after the update."""

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        count()


def by_estimator() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(6), gluon.nn.BatchNorm(), gluon.nn.Dense(2))  # of shapes that the first batch tells
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore="dist_sync")
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    estimator = Estimator(net, loss, mx.metric.Accuracy(), trainer=trainer, context=mx.cpu())
    estimator.logger.setLevel("WARNING")
    batches = gluon.data.DataLoader(gluon.data.ArrayDataset(*map(mx.nd.array, data())), batch_size=BATCH)
    estimator.fit(batches, epochs=EPOCHS, event_handlers=[Counter()])
    save(trainer._kvstore.rank, {name: p.data() for name, p in net._collect_params_with_prefix().items()}, trainer._optimizer.num_update)


{"module": by_module, "estimator": by_estimator}[WAY]()
