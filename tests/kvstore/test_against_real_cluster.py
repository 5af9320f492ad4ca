"""500 random programs of pushes and pulls by two workers do what they do on the real MXNet's cluster, which `make_values.py` ran."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.kvstore.optimizer_json import optimizer_to_json

from tests.kvstore.clusters import cluster
from tests.kvstore.random_programs import MODES, PROGRAMS, mode_of, run

#: Without an optimizer all bits agree; the real optimizers compute in another order.
TOLERANCE = {"sum": 0.0, "compressed": 0.0, "adam": 2e-5}


class Store:
    """A client with the interface of `random_programs.run`."""

    def __init__(self, client, mode):
        self.client, self.init = client, client.init
        if "compression" in mode:
            client.set_gradient_compression(mode["compression"])
        if "optimizer" in mode:
            name, kwargs = mode["optimizer"]
            client.set_optimizer(optimizer_to_json(mx.optimizer.create(name, **kwargs)))

    def push(self, name, shape, value):
        """Push an array."""
        self.client.push(name, value)

    def rows(self, name, shape, ids, rows):
        """Push rows."""
        self.client.push_rows(name, np.array(ids), rows)

    def pull(self, name, shape):
        """Pull an array."""
        out = np.empty(shape, np.float32)
        self.client.pull(name, out)
        return out

    def pull_rows(self, name, shape, ids):
        """Pull rows; the others are 0."""
        out = np.zeros(shape, np.float32)
        distinct = np.unique(ids)
        out[distinct] = self.client.pull_rows(name, distinct)
        return out


@pytest.fixture(scope="module")
def real():
    """What the workers of the real cluster pulled, by program and worker."""
    with np.load(Path(__file__).parent / "values.npz") as archive:
        parts = np.split(archive["values"], archive["ends"][:-1])
    assert len(parts) == 2 * PROGRAMS
    return parts


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_programs_agree_with_the_real_cluster(mode, servers, real):
    numbers = [n for n in range(PROGRAMS) if mode_of(n) == mode]

    def program(client):
        store = Store(client, MODES[mode])
        return [np.concatenate([a.reshape(-1) for a in run(store, n, client.rank)]) for n in numbers]

    tolerance = TOLERANCE.get(mode, 2e-6)
    for rank, found in enumerate(cluster(program, servers=servers, bound=4)):
        for number, values in zip(numbers, found, strict=True):
            np.testing.assert_allclose(values, real[2 * number + rank], rtol=tolerance, atol=tolerance / 4, err_msg=f"program {number}")
