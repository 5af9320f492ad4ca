"""Assignment of an array's part to another part of it: the values are read before any of them is written."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import twofold as mx
from twofold import mxnet_numpy

MAKERS = {"np": mx.np.array, "nd": mx.nd.array, "dialect": mxnet_numpy.array}
SLICES = [slice(*parts) for parts in product((None, 1, 5, -2), (None, 4, 7, -1), (None, 1, 2, 3, -1, -2))]
ROOTS = {"array": lambda x: x, "view": lambda x: x[2:14]}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("kind", MAKERS)
def test_steps_of_any_two_sizes(kind, root):
    host, wrong, checked = np.arange(16, dtype="float32"), [], 0
    before = ROOTS[root](host)
    for to, source in product(SLICES, SLICES):
        if before[to].shape != before[source].shape:
            continue
        x = ROOTS[root](MAKERS[kind](host))
        x[to] = x[source]
        expected = before.copy()
        expected[to] = before.copy()[source]
        checked += 1
        if x.asnumpy().tolist() != expected.tolist():
            wrong.append((to, source))
    assert checked > 500
    assert wrong == []


@pytest.mark.parametrize("kind", MAKERS)
def test_large_arrays(kind):
    host = np.arange(200_000, dtype="float32")
    x = MAKERS[kind](host)
    x[::2] = x[:100_000]
    assert np.array_equal(x.asnumpy()[::2], host[:100_000])


def test_rows_and_columns():
    host = np.arange(16.0).reshape(4, 4)
    x = mx.np.array(host)
    x[:, 0] = x[0]
    assert x[:, 0].asnumpy().tolist() == host[0].tolist()
    x[:] = x.T
    assert x[0].asnumpy().tolist() == host[0].tolist()
