"""Fixtures of Gluon's tests: fake GPUs, and networks with fixed parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import twofold as mx

from tests.devices import fake_gpus
from tests.gluon.programs.running import fill


@pytest.fixture
def gpus() -> Iterator[list[mx.Context]]:
    """Two fake GPUs as ``mx.gpu(0)`` and ``mx.gpu(1)``."""
    with fake_gpus(2, "issue") as devices:
        yield devices


@pytest.fixture
def convnet() -> Callable[[], mx.gluon.nn.HybridSequential]:
    """Makes networks of convolution, batch norm, pooling and dense layers with equal parameters, for images (n, 2, 6, 6)."""

    def make() -> mx.gluon.nn.HybridSequential:
        nn = mx.gluon.nn
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(3))
        net.initialize()
        net(mx.nd.zeros((1, 2, 6, 6)))
        fill(mx, net)
        return net

    return make


@pytest.fixture
def images() -> mx.nd.NDArray:
    """Images (4, 2, 6, 6)."""
    return mx.nd.array(np.random.default_rng(0).normal(size=(4, 2, 6, 6)))
