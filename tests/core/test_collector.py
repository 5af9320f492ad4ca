"""The garbage collector rests while graphs are built, and what was built then is not searched through."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from twofold.collector import MANY, RESTING


def made(number=2 * MANY):
    """Objects that the collector tracks."""
    return [[] for _ in range(number)]


class Node:
    """What may refer to itself."""


@pytest.fixture
def swept(monkeypatch):
    """A collector that has nothing to do. Objects of earlier tests stay frozen until the first rest."""
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    gc.collect()
    yield
    gc.freeze()


@pytest.mark.usefixtures("swept")
def test_objects_made_in_a_rest_are_old_at_its_end():
    with RESTING:
        kept = made()
        assert gc.get_count()[0] >= MANY
    assert gc.get_count()[0] < MANY // 10
    assert gc.isenabled()
    oldest = {id(x) for x in gc.get_objects(generation=2)}
    assert id(kept[0]) in oldest
    assert id(kept[-1]) in oldest


@pytest.mark.usefixtures("swept")
def test_a_short_rest_moves_nothing():
    with RESTING:
        kept = made(100)
    assert id(kept[0]) not in {id(x) for x in gc.get_objects(generation=2)}


@pytest.mark.usefixtures("swept")
def test_what_was_dropped_is_found_after_many_rests(monkeypatch):
    """Moved objects do not count for the collector, so it is told to look."""
    monkeypatch.setattr(RESTING, "_left", 5 * MANY)
    with RESTING:
        node = Node()
        node.itself = node
        kept = made()
    dropped = weakref.ref(node)
    del node
    with RESTING:
        kept += made()
    assert dropped() is not None
    with RESTING:
        kept += made()
    assert dropped() is None


@pytest.mark.usefixtures("swept")
def test_a_collector_that_is_off_stays_off_and_moves_nothing():
    gc.disable()
    try:
        with RESTING:
            kept = made()
        assert not gc.isenabled()
        assert gc.get_count()[0] >= len(kept)
    finally:
        gc.enable()


FROZEN = """
import gc
from twofold.collector import RESTING
gc.freeze()
count = gc.get_freeze_count()
with RESTING:
    kept = [[] for _ in range(20_000)]
assert gc.get_freeze_count() == count > 0
"""


def test_what_a_program_has_frozen_stays_frozen():
    subprocess.run([sys.executable, "-c", FROZEN], check=True)


PROGRAM = """
import gc
import twofold as mx
from twofold import autograd, gluon

seen = []
gc.callbacks.append(lambda phase, info: phase == "start" and info["generation"] == 2 and seen.append(info))
cell = gluon.rnn.LSTMCell(8)
cell.initialize()
cell.hybridize()

class Net(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.cell = cell

    def hybrid_forward(self, F, x):
        return self.cell.unroll(40, x, merge_outputs=True)[0]

net = Net()
net.hybridize()
x = mx.nd.ones((2, 40, 4))
for _ in range(3):
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
print(loss.asscalar() > 0, len(seen))
"""


def test_the_first_steps_of_a_long_graph_need_no_full_collection():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "0"


DROPPED = """
import twofold as mx
from twofold import autograd, gluon
import weakref

def used(k):
    net = gluon.nn.HybridSequential()
    for _ in range(60):
        net.add(gluon.nn.Dense(8 + k, in_units=8 + k), gluon.nn.BatchNorm())
    net.initialize()
    net.hybridize()
    with autograd.record():
        loss = net(mx.nd.ones((2, 8 + k))).sum()
    loss.backward()
    return weakref.ref(net)

nets = [used(k) for k in range(40)]
print(sum(net() is not None for net in nets))
"""


def test_networks_that_were_dropped_do_not_add_up():
    """They are in cycles, and only some of the last ones may be left."""
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 15
