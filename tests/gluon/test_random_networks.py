"""Random networks of shared and frozen layers: all ways of running them agree, up to second-order gradients.

They run imperatively, hybridized as a whole, hybridized and compiled in parts, and bound. ``NETWORK_CASES`` networks; the second order is
also compared with finite differences. Operators with a definition (LayerNorm, log_softmax, ...) occur as layers and between layers, so
that with parts hybridized the same operator stands inside and outside of a graph.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.gluon import nn
from twofold.graph.tables import drop_generation

from tests.cases import later_in_ci

CASES = int(os.environ.get("NETWORK_CASES", "120"))
PARTS = range(4)

pytestmark = pytest.mark.filterwarnings("ignore:.*is not used by any computation")
WIDTH = 3
#: Iterations, as state left by one must not change the next.
STEPS = 3


#: Element-wise functions and normalizations: by name the application to an array or a symbol.
FUNCTIONS = {
    "tanh": lambda F, x: F.tanh(x),
    "sigmoid": lambda F, x: F.sigmoid(x),
    "softsign": lambda F, x: F.softsign(x),
    "gelu": lambda F, x: F.LeakyReLU(x, act_type="gelu"),
    "log_softmax": lambda F, x: F.log_softmax(x),
    "L2Normalization": lambda F, x: F.L2Normalization(x),
}


class Function(mx.gluon.HybridBlock):
    """One of the functions, as a layer."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.function = FUNCTIONS[name]

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.function(F, x)


class CompiledLayer:
    """A layer as a compiled symbol.

    Parameters
    ----------
    layer
        A hybridizable block of one input.
    """

    def __init__(self, layer: Any) -> None:
        self.params = layer.collect_params()
        self.function = mx.compile(layer(mx.sym.var("x")))

    def __call__(self, x: Any) -> Any:
        return self.function(x=x, **{name: p.data() for name, p in self.params.items()})


class Network(mx.gluon.HybridBlock):
    """A random composition of dense layers, BatchNorm and element-wise functions, some of them applied more than once.

    Parameters
    ----------
    draw
        Draws the layers, their order and what is frozen.
    detaches
        Whether gradients may be blocked somewhere.
    """

    def __init__(self, draw: random.Random, detaches: bool = True) -> None:
        super().__init__(prefix="")
        self.layers: list[Any] = []
        for k in range(draw.randint(2, 4)):
            kind = draw.choices(["batch", "layer", "dense", "function"], [4, 2, 3, 2])[0]
            if kind == "batch":
                layer: Any = nn.BatchNorm(in_channels=WIDTH, momentum=0.5, prefix=f"n{k}_")
            elif kind == "layer":
                layer = nn.LayerNorm(in_channels=WIDTH, prefix=f"l{k}_")
            elif kind == "dense":
                layer = nn.Dense(WIDTH, in_units=WIDTH, flatten=False, prefix=f"d{k}_", use_bias=draw.random() < 0.5)
            else:
                layer = Function(draw.choice(list(FUNCTIONS)))
            self.register_child(layer)
            self.layers.append(layer)
        moves = ["layer"] * 4 + ["tanh", "sigmoid", draw.choice(list(FUNCTIONS)), "add", "mul", *(["detach"] if detaches else [])]
        self.moves = [
            (draw.choice(moves), draw.random(), draw.random(), draw.randrange(len(self.layers))) for _ in range(draw.randint(3, 8))
        ]
        self.last = draw.choice(["tanh", "sigmoid", "square"])  # the gradients of the first two read the network's output
        self.initialize(mx.init.Uniform(1))
        self.cast("float64")
        values = np.random.default_rng(draw.randrange(1 << 30))
        for name, parameter in self.collect_params().items():
            if not name.endswith(("running_mean", "running_var")):
                parameter.set_data(nd.array(values.uniform(-1.5, 1.5, parameter.shape), dtype="float64"))
                parameter.grad_req = "null" if draw.random() < 0.3 else "write"

    def hybridize_parts(self, draw: random.Random) -> Counter[str]:
        """Hybridize some layers and compile others. Returns how many layers that are applied run in each way."""
        applied = {layer for move, *_, layer in self.moves if move == "layer"}
        ways: Counter[str] = Counter()
        for k, layer in enumerate(self.layers):
            way = draw.choice(["imperative", "hybridized", "compiled"])
            ways[way] += k in applied
            if way == "compiled":
                self.layers[k] = CompiledLayer(layer)
            else:
                layer.hybridize(way == "hybridized", static_alloc=draw.random() < 0.5)
        return ways

    def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
        found = [x, y]
        for move, first, second, layer in self.moves:
            a, b = found[int(first * len(found))], found[int(second * len(found))]
            if move == "layer":
                a = self.layers[layer](a)
            elif move in FUNCTIONS:
                a = FUNCTIONS[move](F, a)
            elif move == "detach":
                a = F.BlockGrad(a) + b
            else:
                a = a + b if move == "add" else a * b
            found.append(a)
        return getattr(F, self.last)((F.tanh(found[-1]) + found[-2] * 0.5 + found[-1] * 0.25) * F.cos(x))


def inputs(seed: int) -> list[np.ndarray]:
    values = np.random.default_rng(seed)
    return [values.normal(size=(4, WIDTH)), values.normal(size=(4, WIDTH))]


def states(params: Any) -> dict[str, np.ndarray]:
    return {name: p.data().asnumpy() for name, p in params.items() if p.name.endswith(("running_mean", "running_var"))}


def network(seed: int, way: str, detaches: bool = True) -> tuple[Network, Counter[str]]:
    """A network that runs imperatively, hybridized as a whole or in parts; and how many of its layers run in each way."""
    net = Network(random.Random(seed), detaches)
    if way == "parts":
        return net, net.hybridize_parts(random.Random(seed + 1))
    net.hybridize(way == "hybridized")
    return net, Counter()


def recorded(seed: int, way: str) -> tuple[dict[str, np.ndarray], Counter[str]]:
    """The output, the gradients and the states after steps of a network with different inputs; and how many layers ran in each way."""
    net, ways = network(seed, way)
    params = net.collect_params()
    for step in range(STEPS):
        arrays = [nd.array(v, dtype="float64") for v in inputs(seed + step)]
        arrays[0].attach_grad()
        params.zero_grad()
        with autograd.record():
            out = net(*arrays)
        if step == 1 and seed % 5 == 0:  # between forward and backward, too
            drop_generation()
        out.backward()
    gradients = {name: p.grad().asnumpy() for name, p in params.items() if p.grad_req != "null"}
    return {"out": out.asnumpy(), "x": arrays[0].grad.asnumpy(), **gradients, **states(params)}, ways


def bound(seed: int) -> dict[str, np.ndarray]:
    """The same by an executor."""
    net = Network(random.Random(seed))
    params = net.collect_params()
    symbol = net(mx.sym.var("x"), mx.sym.var("y"))
    requests = {name: params[name].grad_req if name in params else "null" for name in symbol.list_arguments()} | {"x": "write"}
    given = dict(zip("xy", inputs(seed), strict=True))
    shapes = {name: value.shape for name, value in given.items() if name in requests}
    requests = {name: request for name, request in requests.items() if name in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.current_context(), grad_req=requests, type_dict=dict.fromkeys(requests, "float64"), **shapes)
    arrays = {name: p.data() for name, p in params.items()}
    executor.copy_params_from(arrays, arrays, allow_extra_params=True)
    for step in range(STEPS):
        given = dict(zip("xy", inputs(seed + step), strict=True))
        (out,) = executor.forward(is_train=True, **{n: nd.array(given[n], dtype="float64") for n in shapes})
        executor.backward(nd.ones(out.shape, dtype="float64"))
    gradients = {name: g.asnumpy() for name, g in executor.grad_dict.items() if g is not None}
    return {"out": out.asnumpy(), **gradients, **{name: a.asnumpy() for name, a in executor.aux_dict.items()}}


@pytest.mark.fuzz
@pytest.mark.parametrize("defer", [1, 1 << 40], ids=["deferred", "at once"])
@pytest.mark.parametrize("part", later_in_ci(reversed(PARTS)))
def test_a_training_step_is_the_same_imperative_hybridized_and_bound(monkeypatch: pytest.MonkeyPatch, part: int, defer: int) -> None:
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    ways: Counter[str] = Counter()
    for seed in range(part, CASES, len(PARTS)):
        want, _ = recorded(seed, "imperative")
        (whole, _), (parts, counted) = recorded(seed, "hybridized"), recorded(seed, "parts")
        ways += counted
        for way, found in (("hybridized", whole), ("hybridized in parts", parts), ("bound", bound(seed))):
            for name in found.keys() & want.keys():
                np.testing.assert_allclose(found[name], want[name], rtol=1e-9, atol=1e-9, err_msg=f"{way}, seed {seed}, {name}")
        if seed % 10 == 0:
            drop_generation()
    print(f"layers of networks hybridized in parts: {dict(ways)}")
    assert min(ways[way] for way in ("imperative", "hybridized", "compiled")) > CASES / len(PARTS) / 8


def penalty(net: Any, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The squared norm of the output's gradient with respect to the first input, and its own gradient."""
    first, second = nd.array(x, dtype="float64"), nd.array(y, dtype="float64")
    first.attach_grad()
    weights = nd.array(np.arange(4 * WIDTH).reshape(4, WIDTH) * 0.1 - 0.5, dtype="float64")
    with autograd.record():
        out = (net(first, second) * weights).sum()
        (gradient,) = autograd.grad(out, [first], create_graph=True)
        total = (gradient * gradient).sum()
    total.backward()
    return total.asscalar(), first.grad.asnumpy()


@pytest.mark.fuzz
@pytest.mark.parametrize("part", later_in_ci(PARTS))
def test_second_order_gradients_equal_finite_differences(part: int) -> None:
    for seed in range(part, CASES, len(PARTS)):
        x, y = inputs(seed)
        direction = np.random.default_rng(seed + 1).normal(size=x.shape)
        for way in ("imperative", "hybridized", "parts"):
            net, _ = network(seed, way, detaches=False)  # finite differences see what is blocked
            step = 1e-5 * direction
            numeric = (penalty(net, x + step, y)[0] - penalty(net, x - step, y)[0]) / 2e-5
            total, gradient = penalty(net, x, y)
            message = f"seed {seed}, {way}"
            np.testing.assert_allclose((gradient * direction).sum(), numeric, rtol=1e-5, atol=1e-6 * (1 + abs(total)), err_msg=message)
