"""The cost of a graph is linear in its size: time per node for 10,000 nodes against that for 1,000, in one process.

Nothing recurses, so that the size is bounded by memory alone.
"""

import copy
import gc
import time

import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.graph.build import G
from twofold.graph.gradient import gradient, ones_head
from twofold.graph.ir import leaf, topological
from twofold.graph.tables import drop_generation
from twofold.imperative.cell import HOST
from twofold.program.compile import Program

from tests.cases import later_in_ci

SMALL, LARGE, HUGE = 1_000, 10_000, 100_000
#: The largest accepted ratio of the cost of a node in the large graph to one in the small.
FACTOR = 2.0
#: Measurements, of which the best counts, since the machine may be busy.
TRIES = 4


def chain(n):
    """One after another."""
    x = leaf("x", (4,), "float32", True)
    y = x
    for k in range(n // 2):
        y = G.tanh(y) + float(k + 3)
    return [y], [x]


def fan(n):
    """Many results from one leaf."""
    x = leaf("x", (4,), "float32", True)
    return [G.tanh(x + float(k + 3)) for k in range(n // 2)], [x]


def product(n):
    """Many leaves."""
    leaves = [leaf(("x", k), (4,), "float32", True) for k in range(n)]
    y = leaves[0]
    for x in leaves[1:]:
        y = y * x
    return [y], leaves


def mirror(n):
    """Long-lived values: the last one made is the first to be read again."""
    x = leaf("x", (4,), "float32", True)
    made = [x]
    for _ in range(n // 3):
        made.append(G.tanh(made[-1]))
    y = made[-1]
    for v in reversed(made):
        y = y * v + v
    return [y], [x]


def layers(n):
    """Matrix products, each with its own weights."""
    x = leaf("x", (8, 8), "float32", True)
    weights = [leaf(("w", k), (8, 8), "float32", True) for k in range(n // 3)]
    y = x
    for w in weights:
        y = G.maximum(G.matmul(y, G.permute_dims(w, axes=(1, 0))), 0.0)
    return [y], [x, *weights]


def sizes(n):
    """Buffers of many different sizes."""
    leaves = [leaf(("x", k), (k + 2,), "float32", True) for k in range(n // 4)]
    total = None
    for x in leaves:
        part = G.sum(G.tanh(x * x), axis=None)
        total = part if total is None else total + part
    return [total], leaves


GRAPHS = (chain, fan, product, mirror, layers, sizes)


def compiled(make):
    """Build a graph and its gradient and compile both, with every node a boundary, as in a window."""

    def work(n):
        outputs, leaves = make(n)
        outputs = [*outputs, *gradient(outputs, [ones_head(o) for o in outputs], leaves)]
        Program(outputs, leaves, HOST, boundaries=topological(outputs)).explain()

    return work


def symbol(n):
    y = mx.sym.var("x")
    for k in range(n):
        y = mx.sym.tanh(y) if k % 2 else y + 1.0
    return y


def bind(n):
    symbol(n).simple_bind(mx.cpu(), x=(4,)).forward()[0].wait_to_read()


def write_and_read(n):
    mx.sym.load_json(copy.deepcopy(symbol(n)).tojson()).infer_shape(x=(4,))


def record(n):
    x = mx.nd.ones(4)
    x.attach_grad()
    with mx.autograd.record():
        y = x
        for _ in range(n):
            y = y + x
    y.backward()
    assert x.grad.asnumpy().tolist() == [n + 1.0] * 4


def force(n):
    made = [mx.nd.ones(SETTINGS.defer_elements)]
    for k in range(n):
        made.append(mx.nd.tanh(made[-1]) if k % 2 else made[-1] + 1.0)
    made[-1].wait_to_read()


def seconds_per_node(work, n):
    drop_generation()
    gc.collect()
    gc.disable()
    start = time.process_time()
    try:
        work(n)
        return (time.process_time() - start) / n
    finally:
        gc.enable()


def assert_linear(work):
    work(SMALL)  # one-time work per process is not part of a node's cost
    ratios = []
    for _ in range(TRIES):
        ratios.append(seconds_per_node(work, LARGE) / seconds_per_node(work, SMALL))
        if ratios[-1] <= FACTOR:
            return
    pytest.fail(f"a node of {LARGE} costs {min(ratios):.1f} times one of {SMALL}")


@pytest.fixture(autouse=True)
def _nothing_verified(monkeypatch):
    """The default settings, except that small arrays are deferred, too."""
    monkeypatch.setattr(SETTINGS, "verify", False)
    monkeypatch.setattr(SETTINGS, "defer_elements", 64)


@pytest.mark.ci
@pytest.mark.parametrize("make", later_in_ci(GRAPHS, 2), ids=lambda make: make.__name__)
def test_compiling_a_graph_with_its_gradient_is_linear(make):
    assert_linear(compiled(make))


@pytest.mark.ci
@pytest.mark.parametrize("work", later_in_ci([bind, write_and_read, record, force]), ids=lambda work: work.__name__)
def test_cost_per_node_does_not_grow_with_the_graph(work):
    assert_linear(work)


@pytest.mark.slow
@pytest.mark.timeout(600)  # also where a shorter limit is given: these take a minute each beside another process
@pytest.mark.parametrize("work", [bind, write_and_read, record, force, compiled(chain), compiled(layers)], ids=range(6))
def test_nothing_fails_with_a_hundred_thousand_nodes(work):
    work(HUGE)
