"""Monitors of executors: the gradients that they see, in which graphs, and when anything is computed for them."""

from __future__ import annotations

from typing import Any

import pytest

import twofold as mx
from twofold import nd, sym


def gradients_seen(executor: Any, *heads: nd.NDArray) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    executor.forward(is_train=True)
    executor.set_monitor_callback(lambda name, value: seen.update({str(name): value.asnumpy().tolist()}))
    executor.backward(list(heads))
    return seen


def test_gradients_are_those_of_the_forward_that_drew_random_numbers():
    x = sym.var("x")
    executor = sym.square(sym.Dropout(x, p=0.5, name="drop"), name="power").simple_bind(mx.cpu(), x=(50,))
    executor.arg_dict["x"][:] = 1
    seen = gradients_seen(executor, nd.ones((50,)))
    assert list(seen) == ["_head_grad_0_id_output", "power_backward_output", "drop_backward_output"]
    assert seen["drop_backward_output"] == executor.grad_dict["x"].asnumpy().tolist()
    assert set(seen["drop_backward_output"]) == {0, 8}


def test_a_value_with_several_readers_has_a_sum():
    x = sym.var("x")
    executor = (sym.exp(x, name="power") + sym.elemwise_mul(x, x, name="square")).simple_bind(mx.cpu(), x=(1,))
    seen = gradients_seen(executor, nd.array([2]))
    assert seen["sum_grad_output"] == executor.grad_dict["x"].asnumpy().tolist() == [2]
    assert [seen[f"square_backward_output{k}"] for k in range(2)] == [[0], [0]]
    assert seen["power_backward_output"] == [2]


def test_a_gradient_that_nobody_wants_is_not_followed():
    x = sym.FullyConnected(sym.exp(sym.var("x"), name="power"), num_hidden=1, name="fc")
    executor = x.simple_bind(mx.cpu(), x=(1, 2), grad_req={"x": "null", "fc_weight": "write", "fc_bias": "null"})
    executor.arg_dict["fc_weight"][:] = 3
    seen = gradients_seen(executor, nd.ones((1, 1)))
    assert list(seen) == ["_head_grad_0_id_output", *[f"fc_backward_output{k}" for k in range(3)]]
    assert seen["fc_backward_output0"] == [[3, 3]]  # MXNet shows memory that nothing has written


def test_a_user_object_keeps_its_state_while_gradients_are_monitored():
    class Counted(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            aux[0][:] += 1
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 2 * out_grad[0])

    class Property(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["count"]

        def infer_shape(self, in_shape):
            return in_shape, in_shape, [(1,)]

        def create_operator(self, ctx, shapes, dtypes):
            return Counted()

    mx.operator.register("counted_by_monitors")(Property)
    executor = sym.Custom(sym.var("x"), op_type="counted_by_monitors", name="own").simple_bind(mx.cpu(), x=(2,))
    seen = gradients_seen(executor, nd.ones((2,)))
    assert seen["own_output"] == [2, 2]
    assert executor.aux_dict["own_count"].asnumpy().tolist() == [1]


@pytest.mark.parametrize("kind", ["devices", "shapes of values"])
def test_graphs_in_several_programs_show_no_gradients(kind):
    x = sym.var("x")
    if kind == "devices":
        with mx.AttrScope(ctx_group="second"):
            out = sym.exp(x * 2, name="power")
        executor = (out + x).simple_bind(mx.cpu(), x=(2,), group2ctx={"second": mx.cpu(1)})
    else:
        executor = sym.contrib.boolean_mask(x, sym.var("mask"), name="chosen").simple_bind(mx.cpu(), x=(2, 2), mask=(2,))
        executor.arg_dict["mask"][:] = 1
    assert gradients_seen(executor, nd.ones(executor.outputs[0].shape) if kind == "devices" else nd.ones((2, 2))) == {}


def test_between_its_batches_a_monitor_costs_nothing(monkeypatch):
    executor = sym.exp(sym.var("x"), name="power").simple_bind(mx.cpu(), x=(1,))
    monitor, runs = mx.mon.Monitor(2), []
    monitor.install(executor)
    for name in ("internals", "gradients"):
        method = getattr(executor._run, name)
        monkeypatch.setattr(executor._run, name, lambda *args, name=name, method=method: runs.append(name) or method(*args))
    for step in range(4):
        monitor.tic()
        executor.forward(is_train=True)
        executor.backward(nd.ones((1,)))
        seen = [name for _, name, _ in monitor.toc()]
        assert seen == ([] if step % 2 else ["power_output", "_head_grad_0_id_output", "power_backward_output", "x"])
    assert runs == ["internals", "gradients"] * 2


def test_a_monitor_that_records_in_its_own_way_is_always_called():
    class Own(mx.mon.Monitor):
        def stat_helper(self, name, array):
            names.append(str(name))

    names: list[str] = []
    executor = sym.exp(sym.var("x"), name="power").simple_bind(mx.cpu(), x=(1,))
    Own(1).install(executor)
    executor.forward()
    assert names == ["power_output"]
