"""Moving averages, which backward updates: only where a gradient passes, in MXNet's order, and outside the recorded graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.gluon import nn
from twofold.opdef.declare import build
from twofold.opdef.registry import NAMES
from twofold.symbol.compose import apply_op

#: The ways to run a computation.
WAYS = ("imperative", "hybridized", "bound")
#: Means of the inputs. They reveal the order of the updates: each halves the average and adds half of its own mean.
MEANS = (1.0, 10.0, 100.0, 1000.0)


class Shared(mx.gluon.HybridBlock):
    """One BatchNorm layer, applied by a function of (F, the layer, inputs)."""

    def __init__(self, build: Callable[..., Any]) -> None:
        super().__init__()
        self.build = build
        self.norm = nn.BatchNorm(momentum=0.5, in_channels=1)

    def hybrid_forward(self, F: Any, *inputs: Any) -> Any:
        return self.build(F, self.norm, inputs)


def moved_mean(way: str, build: Callable[..., Any], count: int, differentiated: bool) -> float:
    """The moving mean after forward and backward of one layer that is applied to several inputs."""
    inputs = [np.array([[0], [2 * mean]], "float32") for mean in MEANS[:count]]
    names = [f"x{k}" for k in range(count)]
    if way == "bound":
        parameters = [mx.sym.var(name) for name in ("gamma", "beta", "mean", "var")]
        symbol = build(
            mx.sym, lambda x: mx.sym.BatchNorm(x, *parameters, momentum=0.5, fix_gamma=False), [mx.sym.var(name) for name in names]
        )
        requests = "write" if differentiated else {"gamma": "write", "beta": "write"}
        executor = symbol.simple_bind(mx.current_context(), grad_req=requests, **dict.fromkeys(names, (2, 1)))
        executor.copy_params_from(dict(zip(names, map(nd.array, inputs), strict=True)))
        executor.forward(is_train=True)
        executor.backward(nd.ones((2, 1)))
        return executor.aux_dict["mean"].asscalar()
    net = Shared(build)
    net.initialize()
    net.hybridize(way == "hybridized")
    arrays = [nd.array(x) for x in inputs]
    for array in arrays if differentiated else ():
        array.attach_grad()
    with autograd.record():
        out = net(*arrays)
    out.backward()
    return net.norm.running_mean.data().asscalar()


def after(order: Sequence[int]) -> float:
    """The moving mean, first 0, after updates from the inputs in an order."""
    mean = 0.0
    for k in order:
        mean = 0.5 * mean + 0.5 * MEANS[k]
    return mean


#: A computation, its number of inputs, and the order in which MXNet 1.9.1 updates, first if the inputs want gradients, then if not.
ORDERS = [
    (lambda F, f, x: f(x[0]) + f(x[1]), 2, (0, 1), (1, 0)),
    (lambda F, f, x: (lambda a, b: b + a)(f(x[0]), f(x[1])), 2, (1, 0), (0, 1)),
    (lambda F, f, x: f(x[0]) * f(x[1]) + f(x[2]), 3, (0, 2, 1), (2, 1, 0)),
    (lambda F, f, x: f(x[0]) + F.tanh(F.tanh(f(x[1]))), 2, (0, 1), (1, 0)),
    (lambda F, f, x: (f(x[0]) + f(x[1])) * (f(x[2]) + f(x[3])), 4, (0, 3, 2, 1), (3, 2, 1, 0)),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", ORDERS, ids=range(len(ORDERS)))
def test_shared_statistics_are_updated_once_for_each_use_in_the_order_of_backward(way: str, case: Any) -> None:
    build, count, differentiated, alone = case
    assert moved_mean(way, build, count, True) == after(differentiated)
    assert moved_mean(way, build, count, False) == after(alone)


def elsewhere(x: Any) -> Any:
    """An operator of a group of nodes that has a device of its own."""
    with mx.AttrScope(ctx_group="other"):
        return mx.sym.tanh(x)


@pytest.mark.parametrize("differentiated", [True, False])
@pytest.mark.parametrize(
    ("build", "order"),
    [
        (lambda f, x: f(elsewhere(f(x[0])) + x[1]), (1, 0)),
        (lambda f, x: f(elsewhere(f(elsewhere(f(x[0])) + x[1])) + x[2]), (2, 1, 0)),
    ],
)
def test_statistics_shared_by_parts_of_a_graph_are_updated_by_each(
    monkeypatch: pytest.MonkeyPatch, build: Any, order: Any, differentiated: bool
) -> None:
    """With the values of MXNet 1.9.1. What comes from the other device has mean 0 and moves no mean."""
    on_two_devices = partialmethod(mx.sym.Symbol.simple_bind, group2ctx={"other": mx.cpu(1)})
    monkeypatch.setattr(mx.sym.Symbol, "simple_bind", on_two_devices)
    assert moved_mean("bound", lambda F, f, x: build(f, x), len(order), differentiated) == after(order)


def layers(frozen: Sequence[str]) -> Any:
    """Two dense layers with a BatchNorm after each; parameters whose names start with one of these words have no gradient."""
    net = nn.HybridSequential(prefix="")
    net.add(nn.Dense(3, in_units=2, prefix="a_"), nn.BatchNorm(in_channels=3, prefix="p_"))
    net.add(nn.Dense(2, in_units=3, prefix="b_"), nn.BatchNorm(in_channels=2, prefix="q_"))
    mx.random.seed(3)
    net.initialize(mx.init.Xavier())
    for name, parameter in net.collect_params().items():
        if any(name.startswith(word) for word in frozen):
            parameter.grad_req = "null"
    return net


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("frozen", "moved"),
    [
        ((), {"p", "q"}),
        (("a_", "p_"), {"q"}),
        (("a_",), {"p", "q"}),
        (("p_", "q_"), {"p", "q"}),
        (("a_", "p_", "b_"), {"q"}),
    ],
)
def test_statistics_are_updated_only_where_a_gradient_passes(way: str, frozen: Sequence[str], moved: set[str]) -> None:
    net = layers(frozen)
    x = nd.array([[1, 2], [3, 5], [4, -1]])
    if way == "bound":
        params = net.collect_params()
        symbol = net(mx.sym.var("data"))
        requests = {name: params[name].grad_req if name in params else "null" for name in symbol.list_arguments()}
        executor = symbol.simple_bind(mx.current_context(), grad_req=requests, data=x.shape)
        arrays = {name: p.data() for name, p in params.items()}
        executor.copy_params_from(arrays | {"data": x}, arrays, allow_extra_params=True)
        executor.forward(is_train=True)
        executor.backward(nd.ones((3, 2)))
        states = executor.aux_dict
    else:
        net.hybridize(way == "hybridized")
        with autograd.record():
            y = net(x)
        y.backward()
        states = {name: p.data() for name, p in net.collect_params().items()}
    assert {layer for layer in "pq" if (states[f"{layer}_running_var"].asnumpy() != 1).any()} == moved


def test_a_module_with_fixed_parameters_keeps_the_statistics_below_them() -> None:
    symbol = layers(())(mx.sym.var("data"))
    module = mx.mod.Module(symbol, label_names=None, fixed_param_names=["a_weight", "a_bias", "p_gamma", "p_beta"])
    module.bind([("data", (3, 2))])
    module.init_params()
    module.forward(mx.io.DataBatch([nd.array([[1, 2], [3, 5], [4, -1]])]), is_train=True)
    module.backward([nd.ones((3, 2))])
    states = module.get_params()[1]
    assert (states["p_running_var"].asnumpy() == 1).all()
    assert (states["q_running_var"].asnumpy() != 1).any()


@pytest.mark.parametrize("hybridized", [False, True])
def test_second_order_gradients_pass_through_saved_normalized_values(hybridized: bool) -> None:
    """The last operator's gradient reads its own result, which is the network's output."""
    net = nn.HybridSequential()
    net.add(nn.BatchNorm(in_channels=2, scale=True), nn.Activation("tanh"))
    net.initialize()
    net.cast("float64")
    net.hybridize(hybridized)
    weights = nd.array([[1, -2], [0.5, 3], [2, 1]], dtype="float64")
    start = np.array([[0.3, 1.0], [-0.4, 0.2], [1.1, -0.7]])

    def penalty(values: np.ndarray) -> tuple[float, np.ndarray]:
        x = nd.array(values, dtype="float64")
        x.attach_grad()
        with autograd.record():
            (gradient,) = autograd.grad((net(x) * weights).sum(), [x], create_graph=True)
            total = (gradient * gradient).sum()
        total.backward()
        return total.asscalar(), x.grad.asnumpy()

    numeric = np.zeros_like(start)
    for place in np.ndindex(*start.shape):
        step = np.zeros_like(start)
        step[place] = 1e-5
        numeric[place] = (penalty(start + step)[0] - penalty(start - step)[0]) / 2e-5
    np.testing.assert_allclose(penalty(start)[1], numeric, rtol=1e-6)


def _clip_to_peak(xp: Any, data: Any, peak: Any) -> Any:
    return data / peak


@pytest.fixture
def peaked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An operator whose state is the largest value that it was given, updated when backward runs."""
    op = build(_clip_to_peak, ("peaked",), ("peak",), {})

    @op.on_backward
    def _(xp: Any, out: Any, data: Any, peak: Any, **_: Any) -> dict[str, Any]:
        return {"peak": xp.maximum(peak, xp.max(data, keepdims=True))}

    monkeypatch.setitem(NAMES, "peaked", op)
    return op


@pytest.mark.parametrize("way", ["hybridized", "bound"])
def test_a_state_update_may_read_a_computed_operand(peaked: Any, way: str) -> None:
    x, peak = mx.sym.var("x"), mx.sym.var("peak", init="ones", shape=(1,))
    symbol = apply_op(peaked, "peaked", [mx.sym.exp(x), peak], {})
    data = nd.array([0, 1, 2])
    if way == "bound":
        executor = symbol.simple_bind(mx.current_context(), x=(3,))
        executor.copy_params_from({"x": data}, {"peak": nd.array([1])})
        executor.forward(is_train=True)
        executor.backward(nd.ones((3,)))
        found = executor.aux_dict["peak"]
    else:
        net = mx.gluon.SymbolBlock(symbol, x)
        net.initialize()
        data.attach_grad()
        with autograd.record():
            y = net(data)
        y.backward()
        found = net.collect_params()["peak"].data()
    np.testing.assert_allclose(found.asnumpy(), [np.exp(2)], rtol=1e-6)


@pytest.mark.parametrize("hybridized", [False, True])
def test_every_step_writes_the_gradients_of_a_normalization_layers_parameters(hybridized: bool) -> None:
    """Writing the states next to them leaves the parameters attached to their gradients."""
    norm = nn.BatchNorm(in_channels=1)
    norm.initialize()
    norm.hybridize(hybridized)
    for head in (1.0, 2.0, 3.0):
        with autograd.record():
            y = norm(nd.array([[1], [5]]))
        y.backward(nd.array([[head], [2 * head]]))
        np.testing.assert_allclose(norm.beta.grad().asnumpy(), [3 * head], rtol=1e-6)
        np.testing.assert_allclose(norm.gamma.grad().asnumpy(), [head], rtol=1e-4)


class Two(mx.gluon.HybridBlock):
    """Two BatchNorm layers, each with an output of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.BatchNorm(momentum=0.5, in_channels=1), nn.BatchNorm(momentum=0.5, in_channels=1)

    def hybrid_forward(self, F, x):
        return self.first(x), self.second(x)


@pytest.mark.parametrize(("hybridized", "second"), [(False, 0), (True, 1)])
def test_behind_an_unused_output_only_a_hybridized_block_moves_its_averages(hybridized, second):
    # MXNet does so with hybridize(static_alloc=True), see docs/reference/compatibility.md
    block = Two()
    block.initialize()
    if hybridized:
        block.hybridize()
    with autograd.record():
        used, _ = block(nd.array([[1], [3]]))
    used.backward()
    assert [layer.running_mean.data().asscalar() for layer in (block.first, block.second)] == [1, second]


def test_a_layer_that_ran_outside_training_is_differentiated_as_it_ran() -> None:
    # gamma = 1 and a moving variance of 3 with epsilon 1: the layer divides by 2; MXNet subtracts batch statistics in addition
    layer = nn.BatchNorm(in_channels=2, epsilon=1.0)
    layer.initialize()
    layer.running_var.set_data(nd.array([3, 3]))
    x = nd.array([[1, 2], [5, 7]])
    x.attach_grad()
    with autograd.record(train_mode=False):
        y = layer(x)
    y.backward(nd.array([[1, 2], [3, 4]]), train_mode=True)
    np.testing.assert_array_equal(x.grad.asnumpy(), [[0.5, 1], [1.5, 2]])
