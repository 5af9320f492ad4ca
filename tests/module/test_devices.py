"""Modules on GPUs and on groups of devices: the same results as on one CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError

from tests.module.programs.samples import X, batch, batches, bound, normalized, params, perceptron

EXPECTED = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))
SGD = {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01}


def fitted(context: Any, kvstore: Any = "local") -> mx.mod.Module:
    module = mx.mod.Module(perceptron(mx), context=context)
    module.fit(batches(mx), num_epoch=3, arg_params=params(mx), aux_params={}, kvstore=kvstore, optimizer_params=SGD)
    return module


def assert_equal_params(module: mx.mod.Module, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        np.testing.assert_allclose(module.get_params()[0][name].asnumpy(), value["values"], atol=1e-4)


def test_one_gpu_trains_as_mxnet_does(gpus: list[mx.Context]) -> None:
    module = fitted(gpus[0])
    assert_equal_params(module, EXPECTED["training.momentum"][0][0])
    assert module.get_outputs()[0].context == gpus[0]


@pytest.mark.parametrize("kvstore", ["local", "device"])
def test_two_gpus_train_as_mxnet_does_with_any_store(gpus: list[mx.Context], kvstore: str) -> None:
    module = fitted(gpus, kvstore)
    assert_equal_params(module, EXPECTED["training.momentum"][0][0])


def test_two_gpus_without_a_store_train_separately_as_in_mxnet(gpus: list[mx.Context]) -> None:
    assert_equal_params(fitted(gpus, None), EXPECTED["several_devices.fit"][2][0])


def test_outputs_of_two_gpus_are_concatenated_on_the_first(gpus: list[mx.Context]) -> None:
    module = bound(mx, size=5, context=gpus, inputs_need_grad=True)
    module.forward_backward(batch(mx, 0, 5))
    one = bound(mx, size=5, inputs_need_grad=True)
    one.forward_backward(batch(mx, 0, 5))
    for found, expected in ((module.get_outputs(), one.get_outputs()), (module.get_input_grads(), one.get_input_grads())):
        assert found[0].context == gpus[0]
        np.testing.assert_allclose(found[0].asnumpy(), expected[0].asnumpy(), rtol=1e-5, atol=1e-6)
    assert [part.context for part in module.get_outputs(merge_multi_context=False)[0]] == gpus


def test_an_input_without_a_gradient_has_none_on_several_devices_as_on_one():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    for count in (1, 2):
        loss = mx.sym.MakeLoss(mx.sym.sum(a * b))
        module = mx.mod.Module(loss, data_names=["a", "b"], label_names=None, context=[mx.cpu(i) for i in range(count)])
        module.bind([("a", (4, 2)), ("b", (4, 2))], inputs_need_grad=True, grad_req={"a": "write", "b": "null"})
        module.init_params()
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2)), mx.nd.full((4, 2), 3.0)]))
        gradient, none = module.get_input_grads()
        np.testing.assert_array_equal(gradient.asnumpy(), np.full((4, 2), 3.0))
        assert none is None


def test_get_params_returns_parameters_on_the_cpu(gpus: list[mx.Context]) -> None:
    assert {value.context for value in fitted(gpus).get_params()[0].values()} == {mx.cpu()}


def test_moving_statistics_of_gpus_are_averaged(gpus: list[mx.Context]) -> None:
    module = mx.mod.Module(normalized(mx), context=gpus)
    module.fit(batches(mx), num_epoch=2, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1})
    expected = EXPECTED["several_devices.moving_statistics_agree_after_epochs"][0][1]
    for name, value in module.get_params()[1].items():
        np.testing.assert_allclose(value.asnumpy(), expected[name]["values"], rtol=1e-4)


@pytest.mark.parametrize("form", [dict, list])
def test_ctx_groups_run_on_their_devices(gpus: list[mx.Context], form: type) -> None:
    with mx.AttrScope(ctx_group="front"):
        hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1")
    with mx.AttrScope(ctx_group="back"):
        out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.tanh(hidden), num_hidden=3, name="fc2"), name="softmax")
    groups: Any = {"front": gpus[0], "back": gpus[1]} if form is dict else [{"front": gpus[0], "back": gpus[1]}]
    module = mx.mod.Module(out, context=gpus[0], group2ctxs=groups)
    module.fit(batches(mx), num_epoch=3, arg_params=params(mx), aux_params={}, optimizer_params=SGD)
    assert module._exec_group.execs[0].arg_dict["fc2_weight"].context == gpus[1]
    assert_equal_params(module, EXPECTED["training.momentum"][0][0])


def with_optimizer(count: int, kvstore: str | None = "local", **kwargs: Any) -> mx.mod.Module:
    module = bound(mx, context=[mx.cpu(k) for k in range(count)])
    module.init_optimizer(kvstore=kvstore, optimizer_params={**SGD, **kwargs})
    return module


def step(module: mx.mod.Module) -> None:
    module.forward_backward(batch(mx))
    module.update()


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 2), (1, 1)])
def test_optimizer_states_can_be_loaded_with_another_number_of_devices(tmp_path: Path, before: int, after: int) -> None:
    first, second, whole = with_optimizer(before), with_optimizer(after), with_optimizer(1)
    step(first)
    step(whole)
    first.save_optimizer_states(tmp_path / "s")
    second.set_params(*first.get_params())
    second.load_optimizer_states(tmp_path / "s")
    step(second)
    step(whole)
    for name, value in whole.get_params()[0].items():
        np.testing.assert_allclose(second.get_params()[0][name].asnumpy(), value.asnumpy(), atol=1e-5)


@pytest.mark.parametrize(("before", "kvstore"), [(1, "local"), (2, "local"), (2, None)])
def test_optimizer_states_without_a_store_belong_to_every_device(tmp_path: Path, before: int, kvstore: str | None) -> None:
    first, second = with_optimizer(before, kvstore), with_optimizer(2, None)
    step(first)
    first.save_optimizer_states(tmp_path / "s")
    second.load_optimizer_states(tmp_path / "s")
    assert sorted(second._updater.states) == list(range(8))
    assert len({id(state) for state in second._updater.states.values()}) == 8


def test_optimizer_states_of_other_parameters_are_rejected(tmp_path: Path) -> None:
    store, module = mx.kv.create("local"), with_optimizer(1)
    store.init("other_weight", mx.nd.ones((2,)))
    store.set_optimizer(mx.optimizer.SGD(momentum=0.9))
    store.push("other_weight", mx.nd.ones((2,)))
    store.save_optimizer_states(tmp_path / "s")
    with pytest.raises(ParameterError, match="other_weight"):
        module.load_optimizer_states(tmp_path / "s")


@pytest.mark.parametrize("count", [1, 2])
def test_the_store_does_not_undo_parameters_set_during_training(count: int) -> None:
    module = with_optimizer(count, learning_rate=0.0)
    step(module)
    module.set_params({"fc1_bias": mx.nd.ones((5,)) * 7}, {}, allow_missing=True)
    step(module)
    assert module.get_params()[0]["fc1_bias"].asnumpy().tolist() == [7] * 5
    np.testing.assert_allclose(module.get_params()[0]["fc2_weight"].asnumpy(), params(mx)["fc2_weight"].asnumpy())


def test_a_gpu_predicts_batches_of_any_size(gpus: list[mx.Context]) -> None:
    module, one = bound(mx, context=gpus), bound(mx)
    for rows in (4, 10, 3, 4):
        np.testing.assert_allclose(module.predict(X[:rows]).asnumpy(), one.predict(X[:rows]).asnumpy(), rtol=1e-5)
