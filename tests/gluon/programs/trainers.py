"""Training: weights after steps, over devices, stores, states in files, errors; and `gluon.utils`."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _net(mx: Any, devices: Any = None) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    net.initialize(mx.init.Constant(0.5), ctx=devices)
    return net


def _backward(mx: Any, net: Any, *devices: Any) -> None:
    for k, device in enumerate(devices or [mx.current_context()]):
        with mx.autograd.record():
            out = (net(mx.nd.array([[1, 2], [3, k]], ctx=device)) ** 2).sum()
        out.backward()


def _weights(net: Any) -> list[Any]:
    return [a.copy() for p in net.collect_params().values() for a in p.list_data()]


def steps(mx: Any) -> Any:
    found = []
    for name, options in (("sgd", {"momentum": 0.9, "wd": 0.1}), ("adam", {}), ("rmsprop", {}), ("nag", {"momentum": 0.9})):
        net = _net(mx)
        trainer = mx.gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.01, **options})
        for _ in range(3):
            _backward(mx, net)
            trainer.step(2)
        found.append([_weights(net), trainer.learning_rate])
    return found


def multipliers(mx: Any) -> Any:
    net = _net(mx)
    net[0].weight.lr_mult = 0.0
    net[1].weight.wd_mult = 3.0
    net[1].bias.grad_req = "null"
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "wd": 0.1})
    _backward(mx, net)
    trainer.step(2)
    return _weights(net)


def stores(mx: Any) -> Any:
    found = []
    devices = [mx.cpu(0), mx.cpu(1)]
    for store, on_store in (("device", None), ("local", None), (None, None), ("device", False), ("local", True)):
        net = _net(mx, devices)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9}, store, None, on_store)
        for _ in range(2):
            _backward(mx, net, *devices)
            trainer.step(4)
        found.append(
            [_weights(net), fails(trainer.allreduce_grads), fails(lambda trainer=trainer: trainer.update(2, ignore_stale_grad=True))]
        )
    return found


def allreduce_and_update(mx: Any) -> Any:
    devices = [mx.cpu(0), mx.cpu(1)]
    net = _net(mx, devices)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, update_on_kvstore=False)
    _backward(mx, net, *devices)
    trainer.allreduce_grads()
    grads = [g.copy() for p in net.collect_params().values() for g in p.list_grad()]
    trainer.update(4)
    return [grads, _weights(net)]


def setting_data_between_steps(mx: Any) -> Any:
    devices = [mx.cpu(0), mx.cpu(1)]
    net = _net(mx, devices)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    _backward(mx, net, *devices)
    trainer.step(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net[0].weight.set_data(mx.nd.ones((3, 2)) * 2)
    _backward(mx, net, *devices)
    trainer.step(4)
    return _weights(net)


def stale_gradients(mx: Any) -> Any:
    net = _net(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    found = [fails(lambda: trainer.step(1)), fails(lambda: trainer.step(1, ignore_stale_grad=True))]
    _backward(mx, net)
    found += [fails(lambda: trainer.step(1)), fails(lambda: trainer.step(1))]
    with mx.autograd.record():
        out = net[0](mx.nd.ones((1, 2))).sum()
    out.backward()
    found.append(fails(lambda: trainer.step(1, ignore_stale_grad=True)))
    return [found, _weights(net)]


def states_in_a_file(mx: Any) -> Any:
    path = os.path.join(tempfile.mkdtemp(), "t.states")
    found = []
    for devices in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
        net = _net(mx, devices)
        trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        for _ in range(2):
            _backward(mx, net, *devices)
            trainer.step(2)
        trainer.save_states(path)
        other = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.5})
        other.load_states(path)
        rate = other.learning_rate
        _backward(mx, net, *devices)
        other.step(2)
        found.append([rate, _weights(net)])
    return found


def learning_rates(mx: Any) -> Any:
    net = _net(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    trainer.set_learning_rate(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule = {"learning_rate": 0.1, "lr_scheduler": mx.lr_scheduler.FactorScheduler(1, 0.5)}
        other = mx.gluon.Trainer(net.collect_params(), "sgd", schedule)
    for _ in range(3):
        _backward(mx, net)
        other.step(1)
    return [trainer.learning_rate, trainer.optimizer.lr, other.learning_rate, fails(lambda: other.set_learning_rate(0.1))]


def invalid_calls(mx: Any) -> Any:
    net, Trainer = _net(mx), mx.gluon.Trainer
    params = net.collect_params()
    apart = _net(mx)
    apart[1].initialize(mx.init.One(), ctx=mx.cpu(1), force_reinit=True)
    return [
        fails(lambda: Trainer(3, "sgd")),
        fails(lambda: Trainer([3], "sgd")),
        fails(lambda: Trainer({"a": 3}, "sgd")),
        fails(lambda: Trainer(params, "nothing")),
        fails(lambda: Trainer(params, 3)),
        fails(lambda: Trainer(params, mx.optimizer.SGD(), {"wd": 1})),
        fails(lambda: Trainer(apart.collect_params(), "sgd")),
        fails(lambda: Trainer(mx.gluon.nn.Dense(2).collect_params(), "sgd")),
        fails(lambda: Trainer(params, "sgd", update_on_kvstore=True).step(1)),
        Trainer(params, "sgd")._param2idx,
    ]


def splitting(mx: Any) -> Any:
    utils, x = mx.gluon.utils, mx.nd.array(np.arange(14).reshape(7, 2))
    return [
        utils.split_data(x[:6], 3),
        utils.split_data(x, 3, even_split=False),
        utils.split_data(x, 2, batch_axis=1),
        fails(lambda: utils.split_data(x, 3)),
        utils.split_and_load(np.ones((4, 2)), [mx.cpu(0), mx.cpu(1)]),
        [str(p.context) for p in utils.split_and_load(np.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])],
        [p.shape for p in utils.split_data(np.ones((4, 2)), 2)],
    ]


def clipping(mx: Any) -> Any:
    utils = mx.gluon.utils
    found = []
    for bound, check in ((6.5, True), (100, True), (6.5, False)):
        arrays = [mx.nd.array([3.0, 4.0]), mx.nd.array([12.0])]
        found.append([utils.clip_global_norm(arrays, bound, check_isfinite=check), arrays])
    return [found, fails(lambda: utils.clip_global_norm([], 1.0))]
