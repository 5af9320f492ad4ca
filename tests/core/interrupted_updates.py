"""Paths of `tests.core.interrupted_paths` through updates on several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import twofold as mx
from twofold import autograd, gluon

from tests.core.interrupted_paths import after_momentum, near_one_of, path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@path
def updates_of_several_devices(n: int) -> Iterator[Callable[[], object]]:
    parameters = {name: gluon.Parameter(name, shape=(n,)) for name in "vw"}
    for parameter in parameters.values():
        parameter.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": 0.1, "momentum": 0.5}, update_on_kvstore=False)

    def backward() -> None:
        with autograd.record():
            losses = [(x * 3).sum() for p in parameters.values() for x in p.list_data()]
        autograd.backward(losses)
        trainer.allreduce_grads()

    backward()
    trainer.update(2)
    backward()
    yield lambda: trainer.update(2)
    for steps in (1, 2):
        for first, second in [[x.asnumpy() for x in p.list_data()] for p in parameters.values()]:
            np.testing.assert_array_equal(first, second)
            near_one_of(first, *[np.full(n, after_momentum(k)) for k in (steps, steps + 1)])
        backward()
        trainer.update(2)
