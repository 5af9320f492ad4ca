"""A module's training step (forward, backward and the optimizer's update) is one planned program, with the results of its parts."""

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.imperative.counters import COUNTERS
from twofold.opdef.facets.execution import WHOLE


@pytest.fixture(autouse=True)
def _large_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", 75_000 // WHOLE)  # the largest array of the network below


def network(hidden: int = 300) -> mx.sym.Symbol:
    out = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="one"), "tanh")
    out = mx.sym.BatchNorm(out, fix_gamma=False, name="norm")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(out, num_hidden=10, name="two"), name="softmax")


def batch(seed: int = 0) -> mx.io.DataBatch:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((20, 250)).astype(np.float32), rng.integers(0, 10, 20).astype(np.float32)
    return mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)])


def module(optimizer: str = "sgd", **params) -> mx.mod.Module:
    made = mx.mod.Module(network())
    made.bind([("data", (20, 250))], [("softmax_label", (20,))])
    mx.random.seed(1)
    made.init_params(mx.init.Xavier())
    made.init_optimizer(kvstore=None, optimizer=optimizer, optimizer_params=params or {"learning_rate": 0.1, "momentum": 0.9})
    return made


def step(m: mx.mod.Module, seed: int = 0) -> None:
    m.forward_backward(batch(seed))
    m.update()


def weights(m: mx.mod.Module) -> list[np.ndarray]:
    return [v.asnumpy() for d in m.get_params() for _, v in sorted(d.items())]


def test_a_step_is_one_window():
    m = module()
    for k in range(3):
        step(m, k)
        m.get_outputs()[0].wait_to_read()
    COUNTERS.reset()
    step(m, 3)
    assert COUNTERS.windows == 0, "nothing has run yet"
    m.get_outputs()[0].wait_to_read()
    assert COUNTERS.windows == 1
    assert COUNTERS.donated >= 4, "weights and momenta are written over"


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop"])
def test_a_step_is_bitwise_equal_to_running_operation_by_operation(optimizer: str, monkeypatch: pytest.MonkeyPatch):
    def trained(engine: str, reads: bool) -> list[np.ndarray]:
        monkeypatch.setattr(SETTINGS, "engine", engine)
        m = module(optimizer, learning_rate=0.01)
        for k in range(4):
            m.forward(batch(k), is_train=True)
            if reads:
                m.get_outputs()[0].asnumpy()
            m.backward()
            m.update()
        return weights(m)

    naive = trained("naive", False)
    for reads in (False, True):
        for one, other in zip(naive, trained("window", reads), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_step_does_not_see_writes_between_forward_and_backward():
    m = module()
    step(m)
    executor = m._exec_group.execs[0]
    m.forward(batch(1), is_train=True)
    m.backward()
    expected = executor.grad_dict["one_weight"].asnumpy()
    m.forward(batch(1), is_train=True)
    executor.arg_dict["two_weight"][:] = 0
    m.backward()
    np.testing.assert_array_equal(executor.grad_dict["one_weight"].asnumpy(), expected)


def test_outputs_and_gradients_of_a_step_are_not_changed_by_the_next():
    m = module()
    step(m)
    first = m.get_outputs()[0].copy()
    kept = m.get_outputs()[0].asnumpy()
    step(m, 5)
    np.testing.assert_array_equal(first.asnumpy(), kept)
    assert not np.array_equal(m.get_outputs()[0].asnumpy(), kept)


def test_with_grad_req_add_steps_accumulate():
    m = mx.mod.Module(network())
    m.bind([("data", (20, 250))], [("softmax_label", (20,))], grad_req="add")
    m.init_params(mx.init.Xavier())
    executor = m._exec_group.execs[0]
    m.forward_backward(batch())
    once = executor.grad_dict["one_weight"].asnumpy()
    COUNTERS.reset()
    m.forward_backward(batch())
    assert COUNTERS.windows == 0, "adding is deferred, too"
    np.testing.assert_allclose(executor.grad_dict["one_weight"].asnumpy(), 2 * once, rtol=1e-5, atol=1e-6)
