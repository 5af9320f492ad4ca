"""Mistakes of one worker. All workers are told of the first ones, and could go on; the last one of them ends all."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import pytest

MISTAKE = sys.argv[1]
if MISTAKE == "versions" and os.environ["OMPI_COMM_WORLD_RANK"] == "1":
    os.environ["TWOFOLD_KV_CHECKSUM"] = "7"

import twofold as mx  # noqa: E402  reads its settings
from twofold.errors import MXNetError  # noqa: E402

store = mx.kv.create("dist_sync")
rank = store.rank
KEYS = ["a", "b", "c"]


def told(call: Callable[[], object], text: str) -> None:
    with pytest.raises(MXNetError, match=text):
        call()


def drifting() -> None:
    """Let the optimizers differ after the workers have agreed on them."""
    optimizer = mx.optimizer.SGD(learning_rate=0.1)
    store.set_optimizer(optimizer)
    optimizer.set_learning_rate(0.1 + 0.1 * rank)


def drifted() -> None:
    drifting()
    for _ in range(3):
        store.push(KEYS, [mx.nd.ones(2) for _ in KEYS])


def drifted_one_by_one() -> None:
    drifting()
    for _ in range(3):
        for key in KEYS:
            store.push(key, mx.nd.ones(2))


def drifted_outside() -> None:
    net = mx.gluon.nn.Dense(1, in_units=2)
    net.initialize(mx.init.One())
    params = net.collect_params()
    trainer = mx.gluon.Trainer(
        params, "sgd", {"learning_rate": 0.1 + 0.1 * rank}, kvstore=mx.kv.create("dist_sync"), update_on_kvstore=False
    )
    for _ in range(5):
        with mx.autograd.record():
            loss = net(mx.nd.ones((3, 2))).sum()
        loss.backward()
        trainer.step(3)


store.init(KEYS, [mx.nd.zeros(2) for _ in KEYS])
if MISTAKE == "told":
    shapes = r"init of key 'w': the workers do not do the same: given worker 0: .*\(2, 3\).*; worker 1: .*\(2, 4\)"
    told(lambda: store.init("w", mx.nd.zeros((2, 3 + rank))), shapes)
    store.push(KEYS, [mx.nd.ones(2) for _ in KEYS])
    keys = KEYS if rank == 0 else ["a", "c"]
    told(lambda: store.push(keys, [mx.nd.ones(2) for _ in keys]), r"push of keys .*: the workers do not do the same.*worker 1: .*'c'")
    for key in KEYS:
        store.push(key, mx.nd.ones(2))  # alike: what the workers agreed on once says nothing of the next push
    told(lambda: store.push(KEYS[rank], mx.nd.ones(2)), r"push of key '[ab]': the workers do not do the same.*worker 1: .*'b'")
    told(lambda: store.pushpull(KEYS[rank], mx.nd.ones(2)), r"push of key '[ab]': the workers do not do the same")
    half = mx.nd.ones(2, dtype="float16" if rank else "float32")
    told(lambda: store.push("a", half), r"push of key 'a': the workers do not do the same.*'float32'.*; worker 1: .*'float16'")
    rows = mx.nd.ones((2, 1)).tostype("row_sparse") if rank else mx.nd.ones((2, 1))
    store.init("rows", mx.nd.zeros((2, 1)))
    told(lambda: store.push("rows", rows), r"push of key 'rows': the workers do not do the same.*'row_sparse'")
    for others in (store.barrier, lambda: mx.kv.save_checkpoint(sys.argv[2], 1, store, {})):
        told(others if rank else lambda: store.push("a", mx.nd.ones(2)), r"do not do the same.*'a'.*; worker 1: .*'barrier'")
    told(lambda: mx.kv.create("dist_async"), "asynchronous updates need a server")
    others = r"set_optimizer: the workers do not do the same: given worker 0: .*'learning_rate', 0.1.*worker 1: .*'learning_rate', 0.2"
    told(lambda: store.set_optimizer(mx.optimizer.AdaGrad(learning_rate=0.1 + 0.1 * rank)), others.replace("learning_rate", "lr"))
    for drift in (drifted, drifted_one_by_one):
        told(drift, "weights of keys 'a', 'b', 'c': the weights differ between workers")
    told(drifted_outside, "weights of keys 0, 1: the weights differ between workers")
    print(f"worker {rank} was told")
elif MISTAKE == "absent":
    store.push("a", mx.nd.ones(2))
    if rank == 1:
        mx.nd.waitall()
        time.sleep(30)
    store.push("a", mx.nd.ones(2))
elif MISTAKE == "raises":
    if rank == 1:
        raise ValueError("a mistake of worker 1")
    store.push("a", mx.nd.ones(2))
