"""Executors that predict: what depends only on arrays that do not change is computed once, until one of them changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import twofold as mx
from twofold.executor.predictions import FIRST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twofold.executor.executor import Executor
    from twofold.executor.predictions import Predictions

SHAPE = (2, 3, 6, 6)


@pytest.fixture(autouse=True)
def on_the_cpu() -> Iterator[None]:
    """Only there are arrays taken as fixed."""
    with mx.cpu():
        yield


def bound(**options: str) -> Executor:
    """A network whose normalization depends on parameters alone when it predicts."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="norm", fix_gamma=False), act_type="relu")
    found = mx.sym.FullyConnected(net, num_hidden=3, name="dense").simple_bind(mx.cpu(), data=SHAPE, **options)
    draw = np.random.default_rng(0)
    for name, array in {**found.arg_dict, **found.aux_dict}.items():
        if name != "data":
            array[:] = draw.uniform(0.5, 1.5, array.shape)
    return found


def batch(seed: int) -> mx.nd.NDArray:
    return mx.nd.array(np.random.default_rng(seed).standard_normal(SHAPE), dtype="float32")


def predicted(executor: Executor, seed: int) -> np.ndarray:
    return executor.forward(is_train=False, data=batch(seed))[0].asnumpy()


def expected(executor: Executor, seed: int) -> np.ndarray:
    """What an executor with the same arrays computes at its first prediction."""
    other = bound()
    other.copy_params_from(
        {k: v.copy() for k, v in executor.arg_dict.items() if k != "data"}, {k: v.copy() for k, v in executor.aux_dict.items()}
    )
    return predicted(other, seed)


def state(executor: Executor) -> Predictions:
    found = executor._run._predictions
    assert found is not None
    return found


def warm(**options: str) -> Executor:
    executor = bound(**options)
    for seed in range(FIRST + 2):  # the first one binds, the last one compares
        predicted(executor, seed)
    assert state(executor)._fixed is not None
    return executor


def test_results_are_those_of_the_first_predictions_bit_for_bit() -> None:
    executor = bound()
    found = [predicted(executor, seed) for seed in range(3 * FIRST)]
    assert state(executor)._fixed is not None
    for seed in (0, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST - 1):
        np.testing.assert_array_equal(found[seed], expected(executor, seed))


@pytest.mark.parametrize("name", ["conv_weight", "norm_gamma", "norm_moving_var", "dense_bias"])
def test_a_change_of_any_array_is_seen(name: str) -> None:
    executor = warm()
    before = predicted(executor, 50)
    array = {**executor.arg_dict, **executor.aux_dict}[name]
    array[:] = array * 1.5
    after = predicted(executor, 50)
    assert not np.array_equal(before, after)
    np.testing.assert_array_equal(after, expected(executor, 50))
    array[0:1] = 0.25
    np.testing.assert_array_equal(predicted(executor, 50), expected(executor, 50))


def test_training_between_predictions_writes_in_place_and_is_seen() -> None:
    executor = warm(grad_req="write")
    weight = executor.arg_dict["conv_weight"]
    for seed in range(60, 64):
        executor.forward(is_train=True, data=batch(seed))
        executor.backward(mx.nd.ones((2, 3)))
        assert state(executor)._fixed is None
        memory = weight.__array_interface__["data"] if hasattr(weight, "__array_interface__") else None
        weight -= 0.01 * executor.grad_dict["conv_weight"]
        assert memory is None or weight.__array_interface__["data"] == memory
        np.testing.assert_array_equal(predicted(executor, seed), expected(executor, seed))


def test_data_that_is_not_given_anew_is_not_taken_as_a_parameter() -> None:
    """Predictions of one batch compute it each time, whether it is written again or not."""
    executor = bound()
    executor.arg_dict["data"][:] = batch(1)
    for _ in range(3 * FIRST):
        found = executor.forward(is_train=False)[0].asnumpy()
    assert state(executor)._fixed is None
    np.testing.assert_array_equal(found, expected(executor, 1))
    first = batch(2)
    for _ in range(6 * FIRST):
        found = executor.forward(is_train=False, data=first)[0].asnumpy()
    fixed = state(executor)._fixed
    assert fixed is not None
    assert len(state(executor)._others) == 1
    np.testing.assert_array_equal(found, expected(executor, 2))
    executor.arg_dict["data"][0] = 0
    second = executor.forward(is_train=False)[0].asnumpy()
    np.testing.assert_array_equal(second[1], found[1])
    assert not np.array_equal(second[0], found[0])
    assert state(executor)._fixed is fixed


def test_an_input_that_changes_later_than_another_is_seen() -> None:
    """Then what depends on the other alone was computed once."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = mx.sym.broadcast_add(mx.sym.exp(a), b).simple_bind(mx.cpu(), a=(3,), b=(3,), grad_req="null")
    for k in range(3 * FIRST):
        executor.forward(is_train=False, b=mx.nd.full((3,), k))
    assert state(executor)._fixed is not None
    executor.forward(is_train=False, a=mx.nd.ones((3,)))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.exp(1) + 3 * FIRST - 1, rtol=1e-6)


def test_results_that_were_returned_do_not_change() -> None:
    executor = warm()
    first = executor.forward(is_train=False, data=batch(70))[0]
    kept = first.copy()
    values = kept.asnumpy()
    predicted(executor, 71)
    np.testing.assert_array_equal(kept.asnumpy(), values)
    assert executor.outputs[0] is first  # as always, the array is bound to the new values


def test_monitors_see_the_values_of_a_prediction() -> None:
    executor = warm()
    seen: dict[str, np.ndarray] = {}
    executor.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    found = predicted(executor, 80)
    np.testing.assert_array_equal(seen["dense_output"], found)


def test_a_module_predicts_what_it_did_after_its_parameters_change() -> None:
    net = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.Variable("data")), num_hidden=3, name="dense")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", SHAPE)], for_training=False)
    module.init_params(mx.init.Normal(0.3))
    for seed in range(3 * FIRST):
        module.forward(mx.io.DataBatch([batch(seed)]), is_train=False)
    arg, aux = ({k: v.copy() for k, v in params.items()} for params in module.get_params())
    module.set_params({k: v * 2 for k, v in arg.items()}, aux)
    module.forward(mx.io.DataBatch([batch(1)]), is_train=False)
    wanted = batch(1).asnumpy().reshape(2, -1) @ (2 * arg["dense_weight"].asnumpy()).T + 2 * arg["dense_bias"].asnumpy()
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), wanted, rtol=1e-5, atol=1e-5)
