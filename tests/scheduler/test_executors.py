"""An asynchronous executor reads its arguments as they were when it was called, and overwrites nothing that others see."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.imperative.counters import COUNTERS
from twofold.scheduler import streams
from twofold.scheduler.queue import seeded_schedule

from tests.devices import fake_gpus

BIG = (300, 300)
MODES = ["window", "tasks"]


def bound(out: mx.sym.Symbol, mode: str, arguments: dict, wanted: tuple = ()) -> mx.executor.Executor:
    """The symbol on cpu(0), or in two parts on two CPU devices."""
    grads = {name: nd.zeros(arguments[name].shape) for name in wanted}
    groups = {"there": mx.cpu(1)} if mode == "tasks" else None
    return out.bind(mx.cpu(), arguments, grads, {name: "write" if name in wanted else "null" for name in arguments}, group2ctx=groups)


def in_two(x: mx.sym.Symbol) -> mx.sym.Symbol:
    """The symbol through a node of the group ``there``."""
    with mx.AttrScope(ctx_group="there"):
        return x * 1.0


@pytest.mark.parametrize("mode", MODES)
def test_a_head_gradient_can_be_written_right_after_the_call(mode: str):
    for seed in range(3):
        with seeded_schedule(seed):
            out = mx.sym.sum(in_two(mx.sym.Variable("a") * 3), axis=1)
            executor = bound(out, mode, {"a": nd.ones(BIG)}, ("a",))
            head = nd.ones((300,)) * 2
            executor.forward(is_train=True)
            executor.backward([head])
            head[:] = 0
            np.testing.assert_array_equal(executor.grad_dict["a"].asnumpy(), np.full(BIG, 6))


def test_a_head_gradient_is_not_overwritten():
    a, b, c = nd.ones((64, 2000)) * 0.001, nd.ones((10, 2000)), nd.ones((64, 10))
    out = mx.sym.exp(mx.sym.FullyConnected(mx.sym.Variable("a"), mx.sym.Variable("b"), num_hidden=10, no_bias=True)) * mx.sym.Variable("c")
    executor = bound(out, "window", {"a": a, "b": b, "c": c}, ("b", "c"))
    head = nd.ones((64, 10))
    executor.forward(is_train=True)
    executor.backward([head])
    executor.grad_dict["b"].wait_to_read()
    np.testing.assert_array_equal(head.asnumpy(), np.ones((64, 10)))


@pytest.mark.parametrize("n", [3, 300, 600])
@pytest.mark.parametrize("mode", MODES)
def test_a_bound_view_can_be_written_right_after_the_call_and_is_not_overwritten(mode: str, n: int):
    w, c = nd.ones((2, n, 10)), nd.ones((2, n, 10))
    out = mx.sym.exp(mx.sym.Variable("c")) * in_two(mx.sym.dot(mx.sym.Variable("x"), mx.sym.Variable("w")))
    for seed in range(3):
        with seeded_schedule(seed):
            w[:] = 1
            c[:] = 1
            executor = bound(out, mode, {"x": nd.ones((n, n)), "w": w[0], "c": c[0]}, ("x",))
            executor.forward(is_train=True)
            w[:] = 0
            executor.backward(nd.ones((n, 10)))
            np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.full((n, 10), n * np.e), rtol=1e-6)
            np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), np.full((n, n), 10 * np.e), rtol=1e-6)
            np.testing.assert_array_equal(c.asnumpy(), np.ones((2, n, 10)))


@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize("mode", MODES)
def test_exported_memory_is_read_when_the_executor_is_called(mode: str, size: int):
    x, w = nd.ones((size, size)), nd.ones((size, size))
    shared = np.from_dlpack(w)
    out = in_two(mx.sym.dot(mx.sym.Variable("x"), mx.sym.Variable("w")))
    with seeded_schedule(0):
        executor = bound(out, mode, {"x": x, "w": w}, ("x",))
        executor.forward(is_train=True)
        w[:] = 0
        assert not shared.any()
        executor.backward(nd.ones((size, size)))
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), np.full((size, size), size))
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full((size, size), size))


def test_memory_can_be_exported_while_a_task_reads_it():
    x = nd.ones((300, 300))
    with seeded_schedule(0):
        variable = mx.sym.Variable("x")
        executor = bound(in_two(mx.sym.dot(variable, variable)), "tasks", {"x": x})
        executor.forward()
        shared = np.from_dlpack(x)
        x[:] = 0
        assert not shared.any()
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), np.full(BIG, 300))


def test_outputs_of_parts_can_be_written_while_others_read_them():
    with mx.AttrScope(ctx_group="here"):
        x = mx.sym.Variable("x")
        h = mx.sym.dot(x, x)
    with mx.AttrScope(ctx_group="there"):
        y = mx.sym.dot(h, h)
    for seed in range(4):
        with seeded_schedule(seed):
            groups = {"here": mx.cpu(0), "there": mx.cpu(1)}
            executor = mx.sym.Group([h, y]).simple_bind(mx.cpu(0), group2ctx=groups, grad_req="null", x=BIG)
            executor.arg_dict["x"][:] = 1
            executor.forward(is_train=False)
            first, second = executor.outputs
            first.wait_to_read()
            first[:] = 0
            np.testing.assert_array_equal(second.asnumpy(), np.full(BIG, 300.0**3))


def test_each_step_has_its_own_window():
    executor = bound(mx.sym.sum(mx.sym.Variable("a") * 3, axis=1), "window", {"a": nd.ones((600, 600))}, ("a",))
    nd.waitall()
    COUNTERS.reset()
    for step in range(4):
        executor.forward(is_train=True)
        assert COUNTERS.windows == step, "the step before has run"
        executor.backward([nd.ones((600,))])


def test_states_and_gradients_stay_on_their_devices():
    with mx.AttrScope(ctx_group="there"):
        out = mx.sym.BatchNorm(mx.sym.Variable("data"), name="norm")
    executor = out.bind(
        mx.cpu(0),
        {"data": nd.ones((4, 3)), "norm_gamma": nd.ones((3,)), "norm_beta": nd.zeros((3,))},
        {"data": nd.zeros((4, 3))},
        aux_states={"norm_moving_mean": nd.zeros((3,)), "norm_moving_var": nd.ones((3,))},
        group2ctx={"there": mx.cpu(1)},
    )
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward([nd.ones((4, 3))])
    assert {a.context for a in executor.aux_arrays} == {mx.cpu(0)}
    assert executor.grad_dict["data"].context == mx.cpu(0)
    np.testing.assert_allclose(executor.aux_dict["norm_moving_mean"].asnumpy(), np.full(3, 1 - 0.9**2), rtol=1e-5)


def test_marks_of_copies_do_not_accumulate():
    with fake_gpus(2) as gpus:
        groups = {"there": gpus[1]}
        executor = in_two(mx.sym.Variable("x") + 1).simple_bind(gpus[0], group2ctx=groups, grad_req="null", x=(4,))
        for _ in range(20):
            executor.forward()
        nd.waitall()
        assert sum(map(len, streams._read_elsewhere.values())) <= 2
