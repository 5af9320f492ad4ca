"""Random networks of shared and frozen layers: imperative, hybridized and bound execution agree, up to second-order gradients.

``NETWORK_CASES`` networks; the second order is also compared with finite differences.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.gluon import nn
from twofold.graph.ir import drop_generation

CASES = int(os.environ.get("NETWORK_CASES", "120"))
PARTS = range(4)

pytestmark = pytest.mark.filterwarnings("ignore:.*is not used by any computation")
WIDTH = 3
#: Iterations, as state left by one must not change the next.
STEPS = 3


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
            layer = nn.BatchNorm(in_channels=WIDTH, momentum=0.5, prefix=f"n{k}_") if draw.random() < 0.6 else None
            layer = layer or nn.Dense(WIDTH, in_units=WIDTH, flatten=False, prefix=f"d{k}_", use_bias=draw.random() < 0.5)
            self.register_child(layer)
            self.layers.append(layer)
        moves = ["layer", "layer", "layer", "tanh", "sigmoid", "add", "mul", *(["detach"] if detaches else [])]
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

    def hybrid_forward(self, F: Any, x: Any, y: Any) -> Any:
        found = [x, y]
        for move, first, second, layer in self.moves:
            a, b = found[int(first * len(found))], found[int(second * len(found))]
            if move == "layer":
                a = self.layers[layer](a)
            elif move in ("tanh", "sigmoid"):
                a = getattr(F, move)(a)
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


def imperative(seed: int, hybridized: bool) -> dict[str, np.ndarray]:
    """The output, the gradients and the states after steps of a network with different inputs."""
    net = Network(random.Random(seed))
    net.hybridize(hybridized)
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
    return {"out": out.asnumpy(), "x": arrays[0].grad.asnumpy(), **gradients, **states(params)}


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
@pytest.mark.parametrize("part", PARTS)
def test_a_training_step_is_the_same_imperative_hybridized_and_bound(monkeypatch: pytest.MonkeyPatch, part: int, defer: int) -> None:
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    for seed in range(part, CASES, len(PARTS)):
        want = imperative(seed, hybridized=False)
        for way, found in (("hybridized", imperative(seed, hybridized=True)), ("bound", bound(seed))):
            for name in found.keys() & want.keys():
                np.testing.assert_allclose(found[name], want[name], rtol=1e-9, atol=1e-9, err_msg=f"{way}, seed {seed}, {name}")
        if seed % 10 == 0:
            drop_generation()


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
@pytest.mark.parametrize("part", PARTS)
def test_second_order_gradients_equal_finite_differences(part: int) -> None:
    for seed in range(part, CASES, len(PARTS)):
        x, y = inputs(seed)
        direction = np.random.default_rng(seed + 1).normal(size=x.shape)
        for hybridized in (False, True):
            net = Network(random.Random(seed), detaches=False)  # finite differences see what is blocked
            net.hybridize(hybridized)
            step = 1e-5 * direction
            numeric = (penalty(net, x + step, y)[0] - penalty(net, x - step, y)[0]) / 2e-5
            total, gradient = penalty(net, x, y)
            message = f"seed {seed}, hybridized {hybridized}"
            np.testing.assert_allclose((gradient * direction).sum(), numeric, rtol=1e-5, atol=1e-6 * (1 + abs(total)), err_msg=message)
