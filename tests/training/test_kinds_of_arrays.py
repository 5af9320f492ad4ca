"""Optimizers take arrays of every front end."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import twofold as mx
import twofold.np
from twofold import nd

WEIGHT, GRADIENT = [[1.0, 2.0], [-3.0, 0.5]], [[0.5, -1.0], [0.25, 2.0]]
#: Weights after two updates with a rate of 0.1, by MXNet 1.9.1 with `npx.set_np()`.
AFTER_TWO = {
    "sgd": [0.9, 2.2, -3.05, 0.1],
    "nag": [0.9, 2.2, -3.05, 0.1],
    "adam": [0.8, 2.2, -3.2, 0.3],
    "adamax": [0.8, 2.2, -3.2, 0.3],
    "nadam": [0.815986, 2.18401, -3.18401, 0.315986],
    "adagrad": [0.829289, 2.17071, -3.17071, 0.329289],
    "adadelta": [0.979744, 2.02026, -3.02024, 0.47974],
    "rmsprop": [0.454357, 2.54564, -3.54564, -0.0456435],
    "ftrl": [0.270044, 1.09092, -0.63767, 0.214093],
    "ftml": [0.8375, 2.1625, -3.1625, 0.3375],
    "signum": [0.8, 2.2, -3.2, 0.3],
    "lars": [0.999836, 2.00033, -3.00008, 0.499345],
    "groupadagrad": [0.892034, 2.21593, -3.02994, 0.260443],
}
#: The package's own, whatever else earlier tests have registered.
NAMES = [name for name, kind in mx.optimizer.Optimizer.opt_registry.items() if kind.__module__.startswith("twofold.optimizer.")]
front_ends = pytest.mark.parametrize("module", [nd, mx.np, twofold.np], ids=["nd", "mx.np", "twofold.np"])


def array(module: ModuleType, values: Any) -> Any:
    return module.array(values, dtype="float32")


@front_ends
@pytest.mark.parametrize("name", AFTER_TWO)
def test_updaters_take_arrays_of_every_front_end(module, name):
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
    weight, grad = array(module, WEIGHT), array(module, GRADIENT)
    for _ in range(2):
        update(0, grad, weight)
    np.testing.assert_allclose(weight.asnumpy().reshape(-1), AFTER_TWO[name], rtol=1e-4)


@front_ends
@pytest.mark.parametrize("name", NAMES)
def test_update_and_create_state_take_arrays_of_every_front_end(module, name):
    if name == "sgld":
        pytest.skip("draws random numbers")

    def updated(of: ModuleType) -> np.ndarray:
        optimizer = mx.optimizer.create(name, learning_rate=0.1)
        weight = array(of, WEIGHT)
        state = optimizer.create_state(0, weight)
        for _ in range(2):
            optimizer.update(0, weight, array(of, GRADIENT), state)
        return weight.asnumpy()

    np.testing.assert_allclose(updated(module), updated(nd), rtol=1e-6)


@front_ends
@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "rmsprop", "lamb"])
def test_16_bit_weights_of_every_front_end_have_a_master_copy(module, name):
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=1e-5, multi_precision=True))
    weight, grad = module.ones((3,), dtype="float16"), module.ones((3,), dtype="float16")
    for _ in range(100):  # each step is less than half of the last digit of 1
        update(0, grad, weight)
    assert (weight.asnumpy() < 1).all()


@front_ends
@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop"])
def test_one_array_that_is_listed_twice_is_updated_twice(module, name):
    def after(update: Any, indices: list[int]) -> np.ndarray:
        weight, grad = array(module, WEIGHT), array(module, GRADIENT)
        update(indices, [grad] * len(indices), [weight] * len(indices))
        return weight.asnumpy()

    def optimizer() -> Any:
        return mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))

    once, twice = after(optimizer(), [0]), after(optimizer(), [0, 1])
    np.testing.assert_allclose(twice - np.array(WEIGHT), 2 * (once - np.array(WEIGHT)), rtol=1e-4)


@front_ends
@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "rmsprop", "ftrl"])
def test_a_weight_without_axes_is_updated_as_one_element(module, name):
    def after(shape: tuple[int, ...]) -> float:
        update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
        weight, grad = module.ones(shape), module.ones(shape)
        update(0, grad, weight)
        assert weight.shape == shape
        return float(weight.asnumpy().reshape(()))

    assert after(()) == pytest.approx(after((1,)))
