"""States of weights of another shape or dtype are refused, and the former states stay."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.errors import FormatError
from twofold.optimizer import states

WITH_STATES = ["adam", "nag", "rmsprop", "adagrad", "ftrl", "adadelta", "lamb", "signum", "ftml", "dcasgd", "lars", "nadam", "adamax"]


def trainer_of(units, name, inputs=3, dtype="float32", **settings):
    net = gluon.nn.Dense(units, in_units=inputs, use_bias=False, dtype=dtype)
    net.initialize(mx.init.One())
    options = {"learning_rate": 0.1, **({"momentum": 0.9} if name in ("sgd", "nag", "signum", "lars") else {}), **settings}
    return net, gluon.Trainer(net.collect_params(), name, options)


def step(net, trainer, dtype="float32"):
    with autograd.record():
        loss = (net(nd.ones((1, 3), dtype=dtype)) ** 2).sum()
    loss.backward()
    trainer.step(1)
    return net.weight.data().asnumpy()


@pytest.mark.parametrize("name", WITH_STATES)
def test_a_trainer_refuses_states_that_updates_would_broadcast_and_continues_as_before(name, tmp_path):
    step(*(small := trainer_of(1, name)))
    small[1].save_states(tmp_path / "small.states")
    net, trainer = trainer_of(2, name)
    other, untouched = trainer_of(2, name)
    step(net, trainer), step(other, untouched)
    with pytest.raises(FormatError, match=rf"the state of {net.weight.name} .*given float32 \(1, 3\), expected float32 \(2, 3\)"):
        trainer.load_states(tmp_path / "small.states")
    np.testing.assert_array_equal(step(net, trainer), step(other, untouched))


def test_a_store_that_updates_refuses_them_at_loading(tmp_path):
    for shape in ((1, 3), (2, 3)):
        store = mx.kv.create("local")
        store.init(0, nd.ones(shape))
        store.set_optimizer(mx.optimizer.Adam())
        store.push(0, nd.ones(shape))
        if shape == (1, 3):
            store.save_optimizer_states(tmp_path / "s.states")
    with pytest.raises(FormatError, match=r"the state of 0 .*expected float32 \(2, 3\)"):
        store.load_optimizer_states(tmp_path / "s.states")
    assert store._updater.states[0][0].shape == (2, 3)


def module_of(units, kvstore):
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=units, no_bias=True, name="a"), label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore, "adam")
    module.forward_backward(mx.io.DataBatch([nd.ones((2, 3))]))
    module.update()
    return module


@pytest.mark.parametrize("kvstore", [False, True], ids=["devices", "store"])
def test_a_module_refuses_them_at_loading(kvstore, tmp_path):
    module_of(1, None).save_optimizer_states(tmp_path / "s.states")
    module = module_of(2, mx.kv.create("local") if kvstore else None)
    with pytest.raises(FormatError, match=r"the state of a_weight .*expected float32 \(2, 3\)"):
        module.load_optimizer_states(tmp_path / "s.states")
    module.update()


def test_a_state_of_another_dtype_is_refused_at_the_first_update():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    updater.set_states(states.dump({0: nd.zeros(3, dtype="float64")}))
    weight = nd.ones(3)
    with pytest.raises(FormatError, match=r"given float64 \(3,\), expected float32 \(3,\)"):
        updater(0, nd.ones(3), weight)
    assert weight.asnumpy().tolist() == [1, 1, 1]
    assert updater.optimizer.num_update == 0


@pytest.mark.parametrize("name", [*WITH_STATES, "sgd", "lbsgd", "sgld", "groupadagrad", "adamw"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.filterwarnings("ignore:.*accumulates in float16")
def test_each_optimizers_own_states_fit_after_a_step(name, dtype, tmp_path):
    for multi in (False, True):
        net, trainer = trainer_of(2, name, dtype=dtype, multi_precision=multi)
        step(net, trainer, dtype)
        trainer.save_states(tmp_path / "s.states")
        net, trainer = trainer_of(2, name, dtype=dtype, multi_precision=multi)
        trainer.load_states(tmp_path / "s.states")
        step(net, trainer, dtype)


def test_states_load_before_a_deferred_shape_is_known(tmp_path):
    step(*(first := trainer_of(2, "adam")))
    first[1].save_states(tmp_path / "s.states")
    net, trainer = trainer_of(2, "adam", inputs=0)
    trainer.load_states(tmp_path / "s.states")
    step(net, trainer)
    assert trainer._optimizer.num_update == 2
