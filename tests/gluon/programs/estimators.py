"""`Estimator` and its handlers: order of events, results, log, and files."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import warnings
from functools import partial
from typing import Any

import numpy as np

from tests.oracle_programs import fails, files_in


def _net(mx: Any) -> Any:
    net = mx.gluon.nn.HybridSequential(prefix="a_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(3, in_units=4))
    net.initialize(mx.init.Zero())
    return net


def _loader(mx: Any, batch_size: int = 3) -> Any:
    x = np.random.RandomState(0).rand(8, 4).astype("float32")
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1], "float32")
    return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.array(x), mx.nd.array(y)), batch_size=batch_size)


def _estimator(mx: Any, metrics: Any = None, **options: Any) -> tuple[Any, list[str]]:
    """An estimator, and the lines of its log without times."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: Any) -> None:
            lines.append(re.sub(r"\d+(\.\d+)?s\b|/\S*/", "T", record.getMessage()))

    net = _net(mx)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    metrics = mx.metric.Accuracy() if metrics is None else metrics
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    found = mx.gluon.contrib.estimator.Estimator(net, loss, train_metrics=metrics, trainer=trainer, context=mx.current_context(), **options)
    found.logger.handlers[:] = [Handler()]
    return found, lines


def _results(estimator: Any) -> Any:
    metrics = [[m.get()[0], round(m.get()[1], 6)] for m in [*estimator.train_metrics, *estimator.val_metrics]]
    return [metrics, [p.data() for p in estimator.net.collect_params().values()]]


def training(mx: Any) -> Any:
    found = []
    for options in ({"epochs": 3}, {"batches": 4}, {"epochs": 2, "batch_axis": 0}):
        estimator, lines = _estimator(mx, [mx.metric.Accuracy(), mx.metric.Loss()])
        estimator.fit(_loader(mx), val_data=_loader(mx, 4), **options)
        found.append([lines, _results(estimator)])
    estimator, lines = _estimator(mx)
    estimator.evaluate(_loader(mx))
    return [*found, lines, [m.get()[1] for m in estimator.val_metrics]]


def names_of_metrics(mx: Any) -> Any:
    loss, metric = mx.gluon.loss, mx.metric
    cases = [
        (loss.SoftmaxCrossEntropyLoss(prefix="foo_"), None, None),
        (loss.L2Loss(prefix="l2loss7_"), None, None),
        (loss.L1Loss(prefix="a_"), metric.CompositeEvalMetric([metric.Accuracy(), metric.MSE()]), None),
        (loss.L1Loss(prefix="a_"), [metric.MAE()], metric.Accuracy()),
    ]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each, train, validation in cases:
            made = mx.gluon.contrib.estimator.Estimator(_net(mx), each, train, validation)
            found.append([[m.name for m in made.train_metrics], [m.name for m in made.val_metrics], made.trainer.learning_rate])
    return found


def order_of_events(mx: Any) -> Any:
    events = mx.gluon.contrib.estimator
    seen: list[Any] = []

    class Handler(events.TrainBegin, events.TrainEnd, events.EpochBegin, events.EpochEnd, events.BatchBegin, events.BatchEnd):
        def __init__(self, name: str, priority: float | None = None, last: int = 99) -> None:
            self.name, self.last, self.count = name, last, 0
            if priority is not None:
                self.priority = priority

        def _see(self, event: str, kwargs: Any) -> None:
            updated = float(abs(kwargs["weight"]).sum().asscalar()) > 0 if "weight" in kwargs else None
            seen.append([self.name, event, sorted(set(kwargs) - {"weight"}), updated])

        def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._see("train_begin", kwargs)

        def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._see("train_end", kwargs)

        def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._see("epoch_begin", kwargs)

        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
            self._see("epoch_end", kwargs)

        def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
            self._see("batch_begin", kwargs)

        def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
            weight = next(iter(estimator.net.collect_params().values())).data()
            self._see("batch_end", {**kwargs, "weight": weight})
            self.count += 1
            return self.count == self.last

    estimator, _ = _estimator(mx)
    estimator.fit(_loader(mx), epochs=2, event_handlers=[Handler("plain", last=2), Handler("early", -5000), Handler("late", 5)])

    class Stop(events.EpochEnd):
        def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
            seen.append("stop")
            return True

    estimator.fit(_loader(mx), epochs=5, event_handlers=Stop())
    return seen


def periods(mx: Any) -> Any:
    events = mx.gluon.contrib.estimator
    estimator, lines = _estimator(mx)
    validation = events.ValidationHandler(_loader(mx), estimator.evaluate, epoch_period=2, batch_period=2)
    log = events.LoggingHandler(log_interval=2, metrics=estimator.train_metrics)
    estimator.fit(_loader(mx), val_data=_loader(mx), epochs=2, event_handlers=[validation, log])
    return lines


def early_stopping(mx: Any) -> Any:
    make = mx.gluon.contrib.estimator.EarlyStoppingHandler
    found = []
    for options in (
        {"mode": "max", "patience": 1},
        {"mode": "max", "baseline": 0.99},
        {"mode": "min", "patience": 2, "min_delta": 0.4},
        {"mode": "min", "patience": 1, "min_delta": 0.01, "baseline": 3},
    ):
        estimator, _ = _estimator(mx, mx.metric.Loss() if options["mode"] == "min" else None)
        handler = make(estimator.train_metrics[0], **options)
        estimator.fit(_loader(mx), epochs=6, event_handlers=[handler])
        state = [handler.stopped_epoch, handler.wait, handler.stop_training, handler.current_epoch, float(handler.min_delta)]
        found.append([state, round(float(handler.best), 4), _results(estimator)])
    return found


def checkpoints(mx: Any) -> Any:
    """The files and results of runs that save, and of runs that resume."""
    make = mx.gluon.contrib.estimator.CheckpointHandler
    found = []
    for length, options in (
        ({"epochs": 5}, {"epoch_period": 2, "max_checkpoints": 1}),
        ({"epochs": 2}, {}),
        ({"batches": 7}, {"epoch_period": None, "batch_period": 2, "model_prefix": "m", "max_checkpoints": 2}),
    ):
        with tempfile.TemporaryDirectory() as folder:
            estimator, _ = _estimator(mx)
            estimator.fit(_loader(mx), **length, event_handlers=[make(folder, **options)])
            files = [files_in(folder)]
            estimator, lines = _estimator(mx)
            longer = {unit: number + 3 for unit, number in length.items()}
            handler = make(folder, **options, resume_from_checkpoint=True, verbose=0)
            estimator.net.hybridize()
            estimator.fit(_loader(mx), **longer, event_handlers=[handler])
            files.append(files_in(folder))
            found.append([files, handler.trained_epoch, handler.trained_batch, [line.rstrip() for line in lines[:4]], _results(estimator)])
            again = make(folder, **options, resume_from_checkpoint=True)
            found.append(fails(partial(estimator.fit, _loader(mx), **length, event_handlers=[again])))
    return found


def best_checkpoint(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        estimator, _ = _estimator(mx, [mx.metric.Accuracy(), mx.metric.Loss()])
        handler = mx.gluon.contrib.estimator.CheckpointHandler(folder, monitor=estimator.train_metrics[1], save_best=True, mode="min")
        estimator.fit(_loader(mx), epochs=4, event_handlers=[handler])
        best = mx.nd.load(os.path.join(folder, "model-best.params"))
        return [files_in(folder), round(float(handler.best), 5), best["0.weight"]]


def refusals(mx: Any) -> Any:
    events, loss = mx.gluon.contrib.estimator, mx.gluon.loss.SoftmaxCrossEntropyLoss()
    estimator, _ = _estimator(mx)
    net, loader = estimator.net, _loader(mx)
    actions = [
        lambda: estimator.fit(loader),
        lambda: estimator.fit(loader, epochs=1, batches=1),
        lambda: estimator.fit([1, 2], epochs=1),
        lambda: estimator.evaluate([1]),
        lambda: estimator.fit(loader, epochs=1, event_handlers=[1]),
        lambda: events.Estimator(net, "l2"),
        lambda: events.Estimator(net, loss, train_metrics="acc"),
        lambda: events.Estimator(net, loss, trainer="sgd"),
        lambda: events.Estimator(net, loss, context="cpu"),
        lambda: events.Estimator(net, loss, batch_processor="a"),
        lambda: events.Estimator(net, loss, val_loss="x"),
        lambda: events.LoggingHandler(log_interval="x"),
        lambda: events.MetricHandler("a"),
        lambda: events.CheckpointHandler("folder", save_best=True),
        lambda: events.EarlyStoppingHandler("a"),
    ]
    return [fails(action) for action in actions]
