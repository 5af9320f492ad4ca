"""Training on one device, step by step and by `fit`."""

from __future__ import annotations

import re
from typing import Any

from .samples import batches, bound, normalized, params, perceptron
from tests.oracle_programs import fails
from tests.training.programs.callbacks import _Log as Log


def _plain(lines: list[str]) -> list[str]:
    return [re.sub(r"cost=[\d.]+", "cost=T", line) for line in lines]


def momentum(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    options = {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01}
    module.fit(batches(mx), num_epoch=3, arg_params=params(mx), aux_params={}, optimizer_params=options)
    return [module.get_params(), module.score(batches(mx), ["acc", "ce"])]


def steps_by_hand(mx: Any) -> Any:
    module, metric = bound(mx), mx.metric.create("ce")
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.5)
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.5, "lr_scheduler": schedule})
    for batch in batches(mx):
        module.forward(batch, is_train=True)
        module.update_metric(metric, batch.label)
        module.backward()
        module.update()
    return [module.get_params()[0], metric.get()]


def sums_of_gradients(mx: Any) -> Any:
    module = bound(mx, grad_req="add")
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    for number, batch in enumerate(batches(mx)):
        module.forward_backward(batch)
        if number % 2:
            module.update()
            for grads in module._exec_group.grad_arrays:
                grads[0][:] = 0
    return module.get_params()[0]


def moving_statistics(mx: Any) -> Any:
    module = mx.mod.Module(normalized(mx))
    module.fit(batches(mx), num_epoch=2, initializer=mx.init.One(), optimizer_params={"learning_rate": 0.1})
    return [module.get_params(), module.predict(batches(mx))]


def fit_from_the_next_epoch(mx: Any) -> Any:
    module, told = mx.mod.Module(perceptron(mx)), []

    def at_epoch_end(epoch: int, symbol: Any, arg_params: Any, aux_params: Any) -> None:
        told.append([epoch, symbol.list_outputs(), {k: v.copy() for k, v in arg_params.items()}, aux_params])

    module.fit(batches(mx), begin_epoch=2, num_epoch=4, arg_params=params(mx), aux_params={}, epoch_end_callback=at_epoch_end)
    module.fit(batches(mx), begin_epoch=4, num_epoch=4)
    return [told, fails(lambda: module.fit(batches(mx)))]


def what_fit_logs_and_tells(mx: Any) -> Any:
    module, told = mx.mod.Module(perceptron(mx)), []

    def hear(name: str) -> Any:
        def callback(param: Any) -> None:
            told.append([name, param.epoch, param.nbatch, param.eval_metric.get(), "self" in param.locals, "data_batch" in param.locals])

        return callback

    with Log() as lines:
        module.fit(
            batches(mx),
            eval_data=batches(mx, 5),
            eval_metric=["acc", "ce"],
            validation_metric=mx.metric.Accuracy(),
            num_epoch=2,
            arg_params=params(mx),
            aux_params={},
            batch_end_callback=[hear("batch"), mx.callback.Speedometer(4, 1)],
            eval_batch_end_callback=hear("evaluation batch"),
            eval_end_callback=[hear("evaluation")],
            optimizer_params={"learning_rate": 0.5},
        )
    return [_plain(lines), told]


def monitor(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    with Log() as lines:
        module.fit(batches(mx), num_epoch=1, arg_params=params(mx), aux_params={}, monitor=mx.mon.Monitor(2, pattern="fc2_out|fc1_w"))
    return sorted(re.sub(r"\d\.\d+", lambda m: m.group()[:6], line) for line in lines if "Batch:" in line)


def metric_forgotten_by_a_callback(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    with Log() as lines:
        module.fit(batches(mx), num_epoch=1, arg_params=params(mx), aux_params={}, batch_end_callback=lambda p: p.eval_metric.reset())
    return _plain(lines)


def training_goes_on(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    module.fit(batches(mx), num_epoch=1, arg_params=params(mx), aux_params={}, optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    module.fit(batches(mx), num_epoch=1)  # parameters and optimizer are kept
    return module.get_params()[0]
