"""Whole programs on large weights run at once where their results are small, and wait where these are large."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.config import SETTINGS
from twofold.gluon import nn
from twofold.imperative.counters import COUNTERS
from twofold.opdef.facets.execution import WHOLE

from tests.probe import is_pending

#: The layer's weight has four times the elements from which a whole program waits.
UNITS = 64


@pytest.fixture(autouse=True)
def _large_weight(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", UNITS * UNITS // (4 * WHOLE))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(("rows", "waits"), [(2, False), (16, True)])
def test_a_layer_waits_by_the_size_of_its_result(hybrid, rows, waits):
    layer = nn.Dense(UNITS, in_units=UNITS)
    layer.initialize(mx.init.Xavier())
    layer.hybridize(hybrid)
    x = nd.ones((rows, UNITS))
    waits = waits or not x.context.is_host  # GPUs go by the largest array of a program, as its kernels run while the host goes on
    want = layer.weight.data().asnumpy().sum(1) + np.zeros((rows, 1), np.float32)
    for _ in range(3):  # the first runs are interpreted, and those after them compiled
        COUNTERS.reset()
        y = layer(x)
        assert (is_pending(y), COUNTERS.deferred > 0) == (waits, waits)
        np.testing.assert_allclose(y.asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_a_recorded_layer_waits_as_before():
    layer = nn.Dense(UNITS, in_units=UNITS)
    layer.initialize(mx.init.Xavier())
    layer.hybridize()
    with mx.autograd.record():
        y = layer(nd.ones((2, UNITS)))
    assert is_pending(y)
    y.backward()
    assert layer.weight.grad().shape == (UNITS, UNITS)
