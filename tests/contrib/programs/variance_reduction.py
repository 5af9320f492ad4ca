"""Stochastic variance-reduced gradients, with one snapshot: at the next, MXNet adds a part of the last gradient of all data."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from tests.oracle_programs import fails

X = np.random.RandomState(0).uniform(-1, 1, (12, 3))
Y = X.dot([1.0, 2.0, -1.0])


def _module(mx: Any, update_freq: Any = 2, **kwargs: Any) -> Any:
    line = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(line, mx.sym.Variable("lin_label"), name="lin")
    return mx.contrib.svrg_optimization.svrg_module.SVRGModule(net, ["data"], ["lin_label"], update_freq=update_freq, **kwargs)


def _data(mx: Any, batch_size: int = 4) -> Any:
    return mx.io.NDArrayIter(X, Y, batch_size, label_name="lin_label")


def _start(mx: Any) -> Any:
    return {"fc_weight": mx.nd.array([[0.1, 0.2, 0.3]]), "fc_bias": mx.nd.array([0.05])}


def _steps(mx: Any, optimizer: str = "sgd", batch_size: int = 4, **params: Any) -> Any:
    module, data = _module(mx), _data(mx, batch_size)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(arg_params=_start(mx))
    module.init_optimizer(optimizer=optimizer, optimizer_params={"learning_rate": 0.1, **params})
    found = []
    module.update_full_grads(data)
    for _ in range(4):
        data.reset()
        for batch in data:
            module.forward_backward(data_batch=batch)
            module.update()
        found.append({name: value.copy() for name, value in module.get_params()[0].items()})
    return [found, module._param_dict[0]]


def steps_by_hand(mx):
    return [_steps(mx), _steps(mx, "sgd", momentum=0.9, wd=0.01), _steps(mx, "adam")]


def padded_batches(mx):
    return _steps(mx, batch_size=5)


def fitting(mx):
    module, data, found = _module(mx), _data(mx), []
    module.logger = logging.getLogger("silent")
    module.fit(
        data,
        eval_data=data,
        eval_metric="mse",
        num_epoch=2,
        arg_params=_start(mx),
        initializer=None,
        optimizer_params={"learning_rate": 0.1},
        batch_end_callback=lambda param: found.append([param.epoch, param.nbatch, param.eval_metric.get()[1]]),
        epoch_end_callback=lambda epoch, symbol, arg, aux: found.append([epoch, arg["fc_weight"].copy()]),
    )
    return [found, module.score(data, "mse")]


def wrong_frequencies_are_errors(mx):
    return [fails(lambda value=value: _module(mx, value)) for value in (None, 0, -1, 2.5, "2")]


def optimizers_by_name(mx):
    assert mx.contrib.svrg_optimization  # registers them
    weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])
    assigning = mx.optimizer.create("_AssignmentOptimizer", learning_rate=0.1)
    assigning.update(0, weight, grad, assigning.create_state(0, weight))
    names = {0: "w_weight", 1: "w_weight_full"}
    options = {"learning_rate": 0.1, "momentum": 0.9, "param_idx2name": names, "rescale_grad": 0.5, "wd": 0.01}
    svrg = mx.optimizer.create("_SVRGOptimizer", default_optimizer="sgd", **options)
    states = [svrg.create_state(k, weight) for k in names]
    other = mx.nd.zeros((2,))
    for _ in range(2):
        svrg.update(0, weight, grad, states[0])
        svrg.update(1, other, grad, states[1])
    return [weight, states[0], states[1], other, svrg.wd, svrg.rescale_grad, fails(lambda: svrg.update(5, other, grad, None))]
