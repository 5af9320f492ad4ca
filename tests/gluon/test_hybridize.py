"""Hybridized blocks: the same bits as imperative execution, one recorded operation per call, tracing, hooks, mirroring."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.errors import ParameterError, ShapeError
from twofold.gluon import nn
from twofold.graph.tables import drop_generation
from twofold.imperative.counters import COUNTERS
from twofold.imperative.residuals import cache_of
from twofold.program.compile import Program

from tests.probe import tape_entry


class Twice(mx.gluon.HybridBlock):
    """Doubles its input and counts how often it is traced."""

    def __init__(self) -> None:
        super().__init__()
        self.traces = 0

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        self.traces += F is mx.sym
        return x * 2


def step(net: Any, x: nd.NDArray) -> list[np.ndarray]:
    """Output, input gradient, parameter gradients and states of one recorded forward and backward."""
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    params = net.collect_params().values()
    arrays = [y, x.grad, *[p.grad() if p.grad_req != "null" else p.data() for p in params]]
    return [a.asnumpy() for a in arrays]


def equal(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("mirror", [False, True])
def test_outputs_gradients_and_states_are_the_same_bits(convnet: Callable[[], Any], images: nd.NDArray, mirror: bool) -> None:
    plain, compiled = convnet(), convnet()
    compiled.hybridize(mirror=mirror)
    for _ in range(3):
        assert equal(step(plain, images), step(compiled, images))
    assert np.array_equal(plain(images).asnumpy(), compiled(images).asnumpy())


class Composite(mx.gluon.HybridBlock):
    """A layer that applies an operator with a definition of its own."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.function = function

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.function(F, x)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("hybridized", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "layer",
    [
        lambda: nn.LayerNorm(in_channels=3),
        lambda: nn.BatchNorm(in_channels=3),
        lambda: nn.Dense(3, in_units=3),
        lambda: Composite(lambda F, x: F.log_softmax(x)),
        lambda: Composite(lambda F, x: F.L2Normalization(x)),
        lambda: Composite(lambda F, x: F.LeakyReLU(x, act_type="gelu")),
        lambda: Composite(lambda F, x: F.softsign(x)),
    ],
)
def test_an_operator_may_occur_inside_and_outside_of_a_hybridized_block(
    layer: Callable[[], Any], hybridized: tuple[bool, bool], dropped: bool
) -> None:
    """Also if all cached nodes are dropped between forward and backward."""
    values = np.random.default_rng(0).normal(size=(6, 3))

    def gradient(first: bool, second: bool) -> np.ndarray:
        mx.random.seed(0)
        layers = [layer(), layer()]
        for block, active in zip(layers, (first, second), strict=True):
            block.initialize()
            block.cast("float64")
            block.hybridize(active)
        x = nd.array(values, dtype="float64")
        x.attach_grad()
        with autograd.record():
            y = layers[1](layers[0](x) * x)
        if dropped:
            drop_generation()
        y.backward(nd.array(values**2, dtype="float64"))
        return x.grad.asnumpy()

    np.testing.assert_allclose(gradient(*hybridized), gradient(False, False), rtol=1e-10, atol=1e-12)


@pytest.mark.exact
def test_large_arrays_give_the_same_bits() -> None:
    x = nd.array(np.random.default_rng(0).normal(size=(300, 400)))
    plain, compiled = nn.Dense(300, activation="tanh", prefix="d_"), nn.Dense(300, activation="tanh", prefix="d_")
    for net in (plain, compiled):
        net.initialize()
        net(x)
    compiled.weight.set_data(plain.weight.data())
    compiled.hybridize()
    assert np.array_equal(plain(x).asnumpy(), compiled(x).asnumpy())
    assert equal(step(plain, x), step(compiled, x))


def test_the_naive_engine_gives_the_same_bits(convnet: Callable[[], Any], images: nd.NDArray, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, naive = convnet(), convnet()
    compiled.hybridize()
    naive.hybridize()
    want = step(compiled, images)
    monkeypatch.setattr("twofold.config.SETTINGS.engine", "naive")
    assert equal(want, step(naive, images))


def test_results_do_not_change_if_a_generation_of_nodes_is_dropped(convnet: Callable[[], Any], images: nd.NDArray) -> None:
    net, other = convnet(), convnet()
    net.hybridize()
    other.hybridize()
    images.attach_grad()
    for _ in range(3):
        want = step(net, images)
        drop_generation()
        with autograd.record():
            y = other(images)
        drop_generation()
        y.backward()
        params = other.collect_params().values()
        found = [y, images.grad, *[p.grad() if p.grad_req != "null" else p.data() for p in params]]
        assert equal(want, [a.asnumpy() for a in found])


def test_random_draws_are_the_same() -> None:
    found = []
    for hybrid in (False, True):
        net = nn.HybridSequential()
        net.add(nn.Dropout(0.5), nn.Dropout(0.3))
        net.hybridize(hybrid)
        mx.random.seed(7)
        with autograd.train_mode():
            found.append([net(nd.ones((4, 5))).asnumpy() for _ in range(2)])
    assert equal(*found)
    assert not np.array_equal(*found[0])


def test_a_call_is_one_recorded_operation(convnet: Callable[[], Any], images: nd.NDArray) -> None:
    net = convnet()
    net.hybridize()
    net(images)
    before = COUNTERS.recorded
    with autograd.record():
        net(images)
    assert COUNTERS.recorded == before + 1


def test_nothing_is_compiled_after_the_second_step(convnet: Callable[[], Any], images: nd.NDArray, monkeypatch: pytest.MonkeyPatch) -> None:
    net = convnet()
    net.hybridize()
    for _ in range(3):
        step(net, images)
    made = []
    init = Program.__init__
    monkeypatch.setattr(Program, "__init__", lambda self, *args, **kwargs: (made.append(self), init(self, *args, **kwargs))[1])
    step(net, images)
    assert not made


def test_mirrored_backward_saves_about_the_square_root_of_the_values() -> None:
    kept = []
    for mirror in (False, True):
        net = nn.HybridSequential()
        for _ in range(16):
            net.add(nn.Dense(5, activation="tanh", in_units=5))
        net.initialize()
        net.hybridize(mirror=mirror)
        with autograd.record():
            y = net(nd.ones((3, 5)))
        kept.append([kind for kind, _ in cache_of(tape_entry(y).node).saves or ()].count("res"))
    assert kept == [15, 3]


def test_gradients_of_gradients() -> None:
    found = []
    for hybrid in (False, True):
        net = nn.HybridSequential()
        net.add(nn.Dense(4, activation="tanh", in_units=3), nn.LayerNorm(in_channels=4))
        net.initialize(mx.init.Constant(0.3))
        net[0].weight.set_data(nd.array(np.random.default_rng(1).normal(size=(4, 3))))
        net.hybridize(hybrid)
        x = nd.array(np.random.default_rng(0).normal(size=(2, 3)))
        x.attach_grad()
        with autograd.record():
            y = net(x) * nd.arange(8).reshape((2, 4)).copy()
            g = autograd.grad(y, [x], create_graph=True)[0]
            z = (g * g).sum()
        z.backward()
        found.append([g.asnumpy(), x.grad.asnumpy(), net[0].weight.grad().asnumpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_layer_that_runs_twice_updates_its_averages_twice() -> None:
    found = []
    for hybrid in (False, True):
        norm = nn.BatchNorm(momentum=0.5, in_channels=2)
        net = nn.HybridSequential()
        net.add(norm, nn.HybridLambda(lambda F, x: x * 3 + 1), norm)
        net.initialize()
        net.hybridize(hybrid)
        with autograd.record():
            y = net(nd.array([[1, 2], [3, 5]]))
        y.backward()
        found.append([norm.running_mean.data().asnumpy(), norm.running_var.data().asnumpy()])
    assert equal(*found)
    np.testing.assert_allclose(
        found[0][0], [0.5 * (0.5 * 1) + 0.5 * 2, 0.5 * (0.5 * 1) + 0.5 * 3.5], rtol=1e-5
    )  # backward meets the second first


def test_averages_are_updated_by_backward(convnet: Callable[[], Any], images: nd.NDArray) -> None:
    net = convnet()
    net.hybridize()
    before = net[1].running_mean.data().asnumpy()
    with autograd.record():
        y = net(images)
    assert np.array_equal(net[1].running_mean.data().asnumpy(), before)
    y.backward()
    assert not np.array_equal(net[1].running_mean.data().asnumpy(), before)


def test_formulas_that_overflow_are_rewritten() -> None:
    net = nn.HybridLambda(lambda F, x: F.log(F.softmax(x)))
    x = nd.array([[0, 200]])
    assert net(x).asnumpy()[0, 0] == -np.inf
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), [[-200, 0]])


@pytest.mark.parametrize("hybrid", [False, True])
def test_control_flow_with_gradients(hybrid: bool) -> None:
    def looped(F: Any, x: Any, state: Any) -> Any:
        return F.contrib.foreach(lambda a, s: (a + s, F.tanh(a + s)), x, state)[0]

    class Loop(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:
            return looped(F, x, state)

    block, x = Loop(), nd.array([[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]])
    block.hybridize(hybrid)
    x.attach_grad()
    with autograd.record():
        y = block(x, nd.zeros((2,)))
    y.backward()
    a, b, _ = x.asnumpy()
    first = np.tanh(a)
    second = np.tanh(b + first)
    np.testing.assert_allclose(y.asnumpy(), [a, b + first, x.asnumpy()[2] + second], rtol=1e-6)
    slope = 1 - second**2
    np.testing.assert_allclose(x.grad.asnumpy(), [1 + (1 - first**2) * (1 + slope), 1 + slope, [1, 1]], rtol=1e-5)


def test_a_block_is_traced_once_for_all_shapes() -> None:
    block = Twice()
    block.hybridize()
    for n in (1, 2, 3):
        assert block(nd.ones((n,))).shape == (n,)
    assert block.traces == 1


def test_casting_and_hybridizing_trace_again() -> None:
    block = Twice()
    block.hybridize()
    block(nd.ones((1,)))
    block.cast("float64")
    block(nd.ones((1,), dtype="float64"))
    block.hybridize()
    block(nd.ones((1,)))
    assert block.traces == 3


def test_a_new_child_takes_part_in_the_next_call() -> None:
    net = nn.HybridSequential()
    net.add(Twice())
    net.hybridize()
    x = nd.ones((1,))
    assert net(x).asscalar() == 2
    net.add(Twice())
    assert net(x).asscalar() == 4


def test_an_output_that_is_an_input_is_a_copy() -> None:
    block = nn.HybridLambda(lambda F, x: x)
    block.hybridize()
    x = nd.ones((2,))
    y = block(x)
    x[:] = 5
    assert y.asnumpy().tolist() == [1, 1]


def test_replaced_arrays_of_a_parameter_are_used() -> None:
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(mx.init.One())
    net.hybridize()
    x = nd.ones((1, 1))
    assert net(x).asscalar() == 1
    net.initialize(mx.init.Constant(3), force_reinit=True)
    assert net(x).asscalar() == 3
    net.weight.set_data(nd.array([[4]]))
    assert net(x).asscalar() == 4
    net.collect_params().reset_ctx(mx.cpu(1))
    assert net(x.as_in_context(mx.cpu(1))).asscalar() == 4


def test_a_parameter_that_forward_does_not_take_is_not_passed() -> None:
    class Odd(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.spare = self.params.get("spare", shape=(1,))

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x + 1

    block = Odd()
    block.initialize()
    assert block(nd.zeros((1,))).asscalar() == 1
    block.hybridize()
    with pytest.warns(UserWarning, match="spare is not used"):
        assert block(nd.zeros((1,))).asscalar() == 1


def test_an_unused_input_gives_a_warning() -> None:
    block = nn.HybridLambda(lambda F, x, y: x + 1)
    block.hybridize()
    with pytest.warns(UserWarning, match="1-th input"):
        block(nd.zeros((1,)), nd.zeros((1,)))


def test_an_omitted_argument_is_none() -> None:
    class Optional(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, y: Any = None) -> Any:
            return x if y is None else x + y

    block = Optional()
    block.hybridize()
    x = nd.ones((1,))
    assert block(x, None).asscalar() == 1
    assert block(x).asscalar() == 1
    with pytest.raises(ParameterError, match="argument structure"):
        block(x, x)


def test_mismatched_shapes_name_the_layer() -> None:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=4))
    net.initialize()
    net.hybridize()
    with pytest.raises(ShapeError, match="net_dense0: the input has rows of 5 values instead of 4"):
        net(nd.ones((2, 5)))


def test_shapes_that_only_a_layer_can_infer_are_inferred_by_running_it() -> None:
    net = nn.HybridSequential()
    net.add(mx.gluon.rnn.LSTM(3, bidirectional=True), nn.Dense(2))
    net.initialize()
    net.hybridize()
    assert net(nd.ones((4, 2, 5))).shape == (4, 2)
    assert net[0].l0_i2h_weight.shape == (12, 5)


def test_shapes_that_cannot_be_inferred_raise() -> None:
    class Unknown(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", shape=(0,), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:
            return F.sum(x) + F.sum(w)

    block = Unknown()
    block.initialize()
    with pytest.raises(ParameterError, match="invalid shape"):
        block(nd.ones((2, 3)))


def test_a_hook_receives_inner_values(convnet: Callable[[], Any], images: nd.NDArray) -> None:
    net, seen = convnet(), {}
    net.hybridize()
    want = step(net, images)
    net = convnet()
    net.hybridize()
    net.register_op_hook(lambda name, op, value: seen.update({name: (op, value.shape)}))
    assert equal(want, step(net, images))
    assert seen["net_conv0_fwd_output"] == ("Convolution", (4, 4, 6, 6))
    assert list(seen)[-1] == "net_dense0_fwd_output"


def test_a_hook_receives_the_inputs_of_operators_on_request(images: nd.NDArray) -> None:
    net, seen = nn.Dense(2, prefix="d_"), []
    net.initialize()
    net.hybridize()
    net.register_op_hook(lambda name, op, value: seen.append(name), monitor_all=True)
    net(images)
    assert seen == ["d_fwd_data", "d_fwd_weight", "d_fwd_bias", "d_fwd_output"]
    assert [name.decode() for name in seen] == seen


def test_unknown_backends_are_ignored() -> None:
    net = nn.Dense(2, in_units=2)
    net.initialize()
    x = nd.ones((1, 2))
    net.optimize_for(x, backend="MKLDNN")
    with pytest.warns(UserWarning, match="no such backend"):
        net.optimize_for(x, backend="other")
    with pytest.raises(ParameterError, match="Must specify"):
        net.optimize_for(x)
    with pytest.warns(UserWarning, match="no such backend"):
        net.hybridize(backend="other")


def test_inputs_on_two_gpus_raise(gpus: list[mx.Context]) -> None:
    block = nn.HybridLambda(lambda F, x, y: x + y)
    block.hybridize()
    with pytest.raises(ParameterError, match="multiple contexts"):
        block(nd.ones((1,), ctx=gpus[0]), nd.ones((1,), ctx=gpus[1]))


def test_mixing_symbols_and_arrays_raises() -> None:
    with pytest.raises(ParameterError, match="mixed"):
        nn.HybridLambda(lambda F, x, y: x + y)([nd.ones((1,))], mx.sym.Variable("y"))


@pytest.mark.parametrize("defer", [1, 1 << 40])
def test_mirrored_backward_recomputes_also_within_one_program(monkeypatch: pytest.MonkeyPatch, defer: int) -> None:
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    made: list[Program] = []
    init = Program.__init__
    monkeypatch.setattr(Program, "__init__", lambda self, *args, **kwargs: (made.append(self), init(self, *args, **kwargs))[1])
    products, scratch, gradients = [], [], []
    for mirror in (False, True):
        mx.random.seed(1)
        net = nn.HybridSequential()
        for _ in range(16):
            net.add(nn.Dense(8, activation="tanh", in_units=8, use_bias=False), nn.Dropout(0.2))
        net.initialize(mx.init.Normal(0.5))
        net.hybridize(mirror=mirror)
        x = nd.ones((40, 8))
        for _ in range(3):
            made.clear()
            with autograd.record():
                y = net(x)
            y.backward()
            found = [p.grad().asnumpy().tobytes() for p in net.collect_params().values()]
        gradients.append(found)
        made.clear()
        drop_generation()
        with autograd.record():
            y = net(x)
        y.backward()
        [p.grad().asnumpy() for p in net.collect_params().values()]
        products.append(sum(p.explain().count("matmul") for p in made))
        scratch.append(max(sum(n for n, _ in p.plan.buffers) for p in made))
    assert gradients[0] == gradients[1]
    assert products[1] >= products[0] + 10
    if defer == 1:
        assert scratch[1] < 0.7 * scratch[0]


def test_forward_is_not_recomputed_when_backward_joins_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    made: list[Program] = []
    init = Program.__init__
    monkeypatch.setattr(Program, "__init__", lambda self, *args, **kwargs: (made.append(self), init(self, *args, **kwargs))[1])
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="tanh", in_channels=2), nn.MaxPool2D(), nn.Dense(5, in_units=36))
    net.initialize()
    net.hybridize()
    x = nd.ones((3, 2, 8, 8))
    for _ in range(3):
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        loss.wait_to_read()
    step = max(made, key=lambda p: len(p.steps))
    products = [name for name in step.explain().split() if name == "matmul" or name.startswith("convolve")]
    assert len(products) == 5  # two forward, and three gradients: the input's is not wanted


def test_bind_returns_an_executor_that_can_be_drawn() -> None:
    net = nn.Dense(3, activation="relu")
    net.initialize()
    executor = net.bind(nd.ones((4, 5)))
    assert set(executor.arg_dict) >= {net.weight.name, net.bias.name}
    assert "<svg" in mx.viz.plot_memory(executor)._repr_svg_()
    with pytest.raises(ParameterError, match="call explain"):
        net.explain()


def test_a_block_explains_what_its_graph_becomes() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(300, activation="tanh"), nn.Dense(4))
    text = net.explain(nd.ones((400, 5)))
    assert f"forward on {mx.current_context()}: " in text
    assert f"backward on {mx.current_context()}" in text
    assert "add + tanh" in text


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["copied", "pickled"])
@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True}])
def test_a_hybridized_block_can_be_copied(copied, flags, tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=3), nn.BatchNorm(in_channels=2))
    net.initialize()
    net.hybridize(**flags)
    x = nd.ones((1, 3))
    wanted = net(x).asnumpy()
    again = copied(net)
    np.testing.assert_array_equal(again(x).asnumpy(), wanted)
    again[0].bias.set_data(nd.ones(2))
    assert (again(x).asnumpy() != wanted).all()
    np.testing.assert_array_equal(net(x).asnumpy(), wanted)
    net.export(str(tmp_path / "net"))
    loaded = mx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"), ctx=x.context)
    np.testing.assert_array_equal(copied(loaded)(x).asnumpy(), wanted)
