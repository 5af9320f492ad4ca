"""`func.checkpoint` inside hybridized blocks: the same gradients, and less that is kept for backward."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, func, gluon, nd
from twofold.imperative.residuals import cache_of


class Layers(gluon.HybridBlock):
    """Layers one after the other; with ``kept``, backward computes the inner values of each again."""

    def __init__(self, count, kept, width=16):
        super().__init__(prefix="layers_")
        self.kept, self.layers = kept, []
        with self.name_scope():
            for k in range(count):
                layer = gluon.nn.HybridSequential()
                layer.add(gluon.nn.Dense(width, activation="tanh"), gluon.nn.Dropout(0.3))
                layer.add(gluon.nn.Dense(width, activation="sigmoid"), gluon.nn.BatchNorm())
                self.register_child(layer, str(k))
                self.layers.append(layer)

    def hybrid_forward(self, F, x):
        for layer in self.layers:
            x = func.checkpoint(layer)(x) if self.kept else layer(x)
        return x


def trained(kept, count=4):
    """The result, gradients and states of a step, and the number of bytes that forward keeps for backward."""
    mx.random.seed(1)
    net = Layers(count, kept)
    net.initialize(mx.init.Normal(0.3))
    net.hybridize()
    draw = np.random.default_rng(2)
    x, weights = nd.array(draw.normal(size=(32, 16))), nd.array(draw.normal(size=(32, 16)))
    x.attach_grad()
    net(x)  # shapes of parameters
    mx.random.seed(3)
    with autograd.record():
        y = net(x)
        loss = (y * weights).sum()
    graph = y._content.entry.node.operands[0]
    nbytes = sum(n.nbytes for n in cache_of(graph).residuals)
    loss.backward()
    params = list(net.collect_params().values())
    values = [p.grad() if p.grad_req != "null" else p.data() for p in params]
    return [a.asnumpy() for a in (y, x.grad, *values)], nbytes


def test_gradients_and_states_are_the_same():
    (kept, few), (saved, many) = trained(True), trained(False)
    for a, b in zip(kept, saved, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
    # of each layer its result, and the masks of dropout, which are drawn and do not depend on the input
    assert few < many / 3


def test_memory_grows_by_the_results_of_the_layers_only():
    width = 32 * 16 * 4
    growth = trained(True, 6)[1] - trained(True, 4)[1]
    assert growth <= 2 * (width + width // 4 + 32 * 16)


@pytest.mark.parametrize("kept", [True, False])
def test_second_order_gradients(kept):
    class Cubes(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            def inner(v):
                return F.sin(v * v * v)

            return (func.checkpoint(inner) if kept else inner)(x) * x

    net = Cubes()
    net.hybridize()
    x = nd.array([0.3, 0.7])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(net(x), [x], create_graph=True, retain_graph=True)
    slope.backward()
    v = np.array([0.3, 0.7])
    wanted = 12 * v**2 * np.cos(v**3) - 9 * v**5 * np.sin(v**3)
    np.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-4)


def test_exported_symbols_carry_mxnets_mark():
    net = Layers(1, True)
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 16)))
    marks = {n: a for n, a in net._trace.symbol.attr_dict().items() if a.get("__force_mirroring__") == "True"}
    assert len({a["__mirror_stage__"] for a in marks.values()}) == 1
