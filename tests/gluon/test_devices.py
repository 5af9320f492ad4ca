"""Models on several devices have the same weights as on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.gluon import nn

from tests.gluon.programs.running import fill

DATA = np.random.default_rng(0).normal(size=(8, 5)).astype("float32")
LABELS = np.arange(8) % 3


def trained(devices: list[mx.Context], hybrid: bool, store: str | None, on_store: bool | None) -> dict[str, np.ndarray]:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(6, activation="relu", in_units=5), nn.Dense(3, in_units=6))
    net.initialize(ctx=devices)
    fill(mx, net)
    net.hybridize(hybrid)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=store, update_on_kvstore=on_store)
    for _ in range(3):
        parts = zip(mx.gluon.utils.split_and_load(DATA, devices), mx.gluon.utils.split_and_load(LABELS, devices), strict=True)
        with autograd.record():
            losses = [loss(net(x), y) for x, y in parts]
        autograd.backward(losses)
        trainer.step(8)
    assert [a.context for a in net[0].weight.list_data()] == devices
    return {name: param._reduce().asnumpy() for name, param in net.collect_params().items()}


STORES: list[tuple[Any, Any]] = [("device", None), ("local", None), ("device", False)]


@pytest.mark.parametrize(("store", "on_store"), STORES)
@pytest.mark.parametrize("hybrid", [False, True])
def test_training_on_two_gpus_equals_training_on_one_cpu(gpus: list[mx.Context], hybrid: bool, store: str, on_store: bool | None) -> None:
    want = trained([mx.cpu(0)], hybrid, None, None)
    for devices in ([gpus[0]], gpus, [mx.cpu(0), mx.cpu(1)]):
        found = trained(devices, hybrid, store, on_store)
        for name, value in want.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


def test_dropout_draws_on_the_device_of_its_input(gpus: list[mx.Context]) -> None:
    net = nn.Dropout(0.5)
    net.hybridize()
    x = nd.ones((100,), ctx=gpus[1])
    with autograd.train_mode():
        y = net(x)
    assert y.context == gpus[1]
    assert set(y.asnumpy().tolist()) == {0.0, 2.0}


def test_a_model_can_be_moved_to_a_gpu(gpus: list[mx.Context]) -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    want = net(nd.ones((1, 3))).asnumpy()
    net.collect_params().reset_ctx(gpus[0])
    found = net(nd.ones((1, 3), ctx=gpus[0]))
    assert found.context == gpus[0]
    assert np.array_equal(found.asnumpy(), want)


def test_a_batch_is_loaded_on_one_device_given_alone():
    (part,) = mx.gluon.utils.split_and_load(mx.nd.ones((4, 2)), mx.cpu(1))
    assert part.context == mx.cpu(1)
    assert part.shape == (4, 2)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("fails_on", [0, 1, 2])
def test_copies_of_a_weight_are_equal_after_an_update_that_did_not_end(error: type[BaseException], fails_on: int) -> None:
    devices = [mx.cpu(k) for k in range(3)]

    class Interrupted(mx.optimizer.SGD):
        stops = False

        def update_multi_precision(self, index, weight, grad, state):
            if self.stops and weight[0].context == devices[fails_on]:
                raise error
            super().update_multi_precision(index, weight, grad, state)

    parameter = mx.gluon.Parameter("w", shape=(2,))
    parameter.initialize(mx.init.One(), ctx=devices)
    optimizer = Interrupted(learning_rate=0.1, momentum=0.5)
    trainer = mx.gluon.Trainer({"w": parameter}, optimizer, update_on_kvstore=False)
    values = [1.0]
    for momentum in (-0.1, -0.15, -0.175, -0.1875):
        values.append(values[-1] + momentum)

    def step() -> None:
        with autograd.record():
            losses = [x.sum() for x in parameter.list_data()]
        autograd.backward(losses)
        trainer.step(3)

    step()
    optimizer.stops = True
    with pytest.raises(error):
        step()
    optimizer.stops = False
    done = 1 if fails_on == 0 else 2
    for count in (done, done + 1):
        found = [x.asnumpy() for x in parameter.list_data()]
        np.testing.assert_allclose(found, np.full((3, 2), values[count]), rtol=1e-5)
        assert {counts[0] for counts in optimizer._all_index_update_counts.values()} == {count}
        step()


@pytest.mark.parametrize("saved", [[0], [0, 1], [1]])
@pytest.mark.parametrize("loaded", [[0], [1], [0, 1], [1, 2]])
@pytest.mark.parametrize("on_store", [(True, False), (False, True), (False, False), (True, True)])
@pytest.mark.parametrize("states_first", [False, True])
def test_states_continue_on_other_devices(
    tmp_path, saved: list[int], loaded: list[int], on_store: tuple[bool, bool], states_first: bool
) -> None:
    def made(devices: list[int], updates: bool) -> tuple[mx.gluon.Parameter, mx.gluon.Trainer]:
        parameter = mx.gluon.Parameter("w", shape=(1,))
        parameter.initialize(mx.init.One(), ctx=[mx.cpu(k) for k in devices])
        settings: dict[str, Any] = {"update_on_kvstore": updates} if len(devices) > 1 else {}
        return parameter, mx.gluon.Trainer({"w": parameter}, "adam", {"learning_rate": 0.1}, **settings)

    def steps(parameter: mx.gluon.Parameter, trainer: mx.gluon.Trainer, numbers: range) -> list[list[float]]:
        for number in numbers:
            with autograd.record():
                losses = [x * number / len(parameter.list_data()) for x in parameter.list_data()]
            autograd.backward(losses)
            trainer.step(1)
        return [x.asnumpy().tolist() for x in parameter.list_data()]

    (want,) = steps(*made([0], updates=False), range(1, 6))
    parameter, trainer = made(saved, on_store[0])
    weight = steps(parameter, trainer, range(1, 4))[0]
    trainer.save_states(tmp_path / "states")
    parameter, trainer = made(loaded, on_store[1])
    parts = [lambda: parameter.set_data(nd.array(weight)), lambda: trainer.load_states(tmp_path / "states")]
    if states_first and on_store[1] and len(loaded) > 1:  # as in MXNet, but not without a word
        parts[1]()
        with pytest.warns(UserWarning, match="the store drops the optimizer's states"):
            parts[0]()
        return
    for part in parts[::-1] if states_first else parts:
        part()
    np.testing.assert_allclose(steps(parameter, trainer, range(4, 6)), [want] * len(loaded), rtol=1e-5)
