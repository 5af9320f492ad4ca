"""`FeedForward`."""

from __future__ import annotations

import os
import pickle
import re
import tempfile
from typing import Any

import numpy as np

from .samples import X, Y, batches, params, perceptron
from tests.oracle_programs import fails, files_in
from tests.training.programs.callbacks import _Log as Log


def _model(mx: Any, **kwargs: Any) -> Any:
    options = {"num_epoch": 2, "numpy_batch_size": 5, "learning_rate": 0.5, "momentum": 0.9, "arg_params": params(mx), "aux_params": {}}
    options.update(kwargs)
    return mx.model.FeedForward(perceptron(mx), **options)


def fit_on_an_iterator(mx: Any) -> Any:
    model, told = _model(mx), []

    def hear(*args: Any) -> None:
        told.append([args[0], sorted(args[2])] if len(args) == 4 else [args[0].epoch, args[0].nbatch, args[0].eval_metric.get()])

    with Log() as lines:
        model.fit(
            batches(mx),
            eval_data=batches(mx),
            epoch_end_callback=hear,
            batch_end_callback=[hear],
            eval_batch_end_callback=hear,
            eval_end_callback=[mx.callback.LogValidationMetricsCallback(), hear],
        )
    return [[re.sub(r"cost=[\d.]+", "cost=T", line) for line in lines], told, model.arg_params, model.aux_params]


def fit_on_arrays(mx: Any) -> Any:
    np.random.seed(0)  # noqa: NPY002  (the seed that programs set)
    model = _model(mx, numpy_batch_size=100)
    with Log() as lines:
        model.fit(X, Y.reshape(10, 1), eval_data=(X, Y), logger=None)
    return [[line for line in lines if "Valid" in line], model.arg_params]


def epochs_of_a_given_size(mx: Any) -> Any:
    model, told = _model(mx, epoch_size=2, num_epoch=3), []
    with Log() as lines:
        model.fit(batches(mx), batch_end_callback=lambda param: told.append([param.epoch, param.nbatch]))
    return [told, [line for line in lines if "Reset" in line], model.arg_params]


def epochs_that_begin_at_the_end_of_the_data(mx: Any) -> Any:
    told: list[list[int]] = []
    size = len(list(batches(mx)))
    model = _model(mx, epoch_size=size, num_epoch=3)
    with Log() as lines:
        model.fit(batches(mx), batch_end_callback=lambda param: told.append([param.epoch, param.nbatch]))
    return [told, [line for line in lines if "Reset" in line], model.arg_params]


def fit_on_two_devices(mx: Any) -> Any:
    model = _model(mx, ctx=[mx.cpu(0), mx.cpu(1)])
    model.fit(batches(mx), work_load_list=[1, 3])
    return model.arg_params


def data_that_does_not_fit(mx: Any) -> Any:
    model = _model(mx)
    found = [
        fails(lambda: model.fit(X)),
        fails(lambda: model.fit(X, Y[:3])),
        fails(lambda: model.fit(X, X)),
        fails(lambda: model.fit("x", Y)),
    ]
    found += [
        fails(lambda: mx.model.FeedForward(perceptron(mx), num_epoch=1).predict(X)),
        fails(lambda: _model(mx, num_epoch=None).save("x")),
    ]
    data = mx.sym.Variable("data")
    twice = mx.sym.FullyConnected(data, mx.sym.Variable("data"), num_hidden=3)
    return [*found, fails(lambda: mx.model.FeedForward(twice)), fails(lambda: _model(mx, other=3).fit(X, Y))]


def predictions(mx: Any) -> Any:
    model = _model(mx)
    found = [model.predict(X), model.predict(batches(mx)), model.predict(batches(mx), num_batch=1), model.predict(mx.nd.array(X))]
    return [*found, list(model.predict(batches(mx), return_data=True))]


def scores(mx: Any) -> Any:
    model = _model(mx)
    found = [model.score(batches(mx)), model.score(batches(mx), ["acc", "ce"]), model.score(batches(mx), num_batch=1)]
    return [*found, model.score(X, "ce")]


def parameters_that_are_not_there(mx: Any) -> Any:
    extra = dict(params(mx), x=mx.nd.ones((1,)))
    return [fails(lambda: _model(mx, arg_params=extra).predict(X)), _model(mx, arg_params=extra, allow_extra_params=True).predict(X)]


def files(mx: Any) -> Any:
    model = _model(mx)
    with tempfile.TemporaryDirectory() as folder, Log():
        prefix = os.path.join(folder, "m")
        model.save(prefix)
        model.save(prefix, 7)
        names = files_in(folder)
        again = mx.model.FeedForward.load(prefix, 7, num_epoch=8, learning_rate=0.5)
        state = [again.begin_epoch, again.predict(X)]
        again.fit(batches(mx))
    return [names, state, again.arg_params]


def create(mx: Any) -> Any:
    model = mx.model.FeedForward.create(perceptron(mx), batches(mx), num_epoch=1, initializer=mx.init.One(), learning_rate=0.5)
    again = pickle.loads(pickle.dumps(model))
    return [model.arg_params, again.predict(X), [str(device) for device in again.ctx]]


def an_optimizer_that_is_made_already(mx: Any) -> Any:
    model = mx.model.FeedForward(
        perceptron(mx), num_epoch=1, arg_params=params(mx), aux_params={}, optimizer=mx.optimizer.SGD(learning_rate=0.1)
    )
    model.fit(batches(mx))
    return model.arg_params
