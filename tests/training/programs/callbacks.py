"""What callbacks log, and what checkpoints contain."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from typing import Any

from tests.oracle_programs import fails, files_in


class _Log(logging.Handler):
    """Collects log messages, without times and speeds."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(re.sub(r"[\d.]+(inf)? samples/sec", "S samples/sec", record.getMessage().replace("inf samples", "1 samples")))

    def __enter__(self) -> list[str]:
        self.root = logging.getLogger()
        self.level = self.root.level
        self.root.setLevel(logging.INFO)
        self.root.addHandler(self)
        return self.lines

    def __exit__(self, *exc: object) -> None:
        self.root.removeHandler(self)
        self.root.setLevel(self.level)


def _metric(mx: Any) -> Any:
    metric = mx.metric.create(["acc", "mse"])
    metric.update([mx.nd.array([1.0, 0])], [mx.nd.array([1.0, 1.0])])
    return metric


def _params(mx: Any, metric: Any, count: int, epoch: int = 3) -> Any:
    return [mx.model.BatchEndParam(epoch, n, metric, None) for n in range(count)]


def speedometer(mx: Any) -> Any:
    found = []
    for auto_reset in (True, False):
        callback, metric = mx.callback.Speedometer(10, 2, auto_reset), _metric(mx)
        with _Log() as lines:
            for param in _params(mx, metric, 6) + _params(mx, metric, 4, 4):
                callback(param)
        found.append([list(lines), metric.get()])
    callback = mx.callback.Speedometer(10, 2)
    with _Log() as lines:
        for param in _params(mx, None, 6):
            callback(param)
    return [*found, list(lines)]


def progress_bar(mx: Any) -> Any:
    callback = mx.callback.ProgressBar(5, 10)
    with _Log() as lines:
        for param in _params(mx, None, 6):
            callback(param)
    return list(lines)


def log_of_the_metric(mx: Any) -> Any:
    found = []
    for auto_reset in (True, False):
        callback, metric = mx.callback.log_train_metric(2, auto_reset), _metric(mx)
        with _Log() as lines:
            for param in _params(mx, metric, 3) + _params(mx, None, 1):
                callback(param)
        found.append([list(lines), metric.get(), metric.get_global()])
    with _Log() as lines:
        mx.callback.LogValidationMetricsCallback()(_params(mx, _metric(mx), 1)[0])
        mx.callback.LogValidationMetricsCallback()(_params(mx, None, 1)[0])
    return [found, list(lines), list(mx.model.BatchEndParam._fields)]


def checkpoints_every_few_epochs(mx: Any) -> Any:
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    arg, aux = {"fc_weight": mx.nd.ones((2, 2)), "fc_bias": mx.nd.zeros((2,))}, {"mean": mx.nd.ones((1,)) * 3}
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        callback, files = mx.callback.do_checkpoint(prefix, 2), []
        with _Log() as lines:
            for epoch in range(4):
                callback(epoch, symbol, arg, aux)
                files.append(files_in(folder))
        logged = [line.replace(folder, "") for line in lines]
        again, args, auxs = mx.model.load_checkpoint(prefix, 2)
        names = sorted(mx.nd.load(prefix + "-0004.params"))
        failing = [fails(lambda: mx.model.load_params(prefix, 3)), fails(lambda: mx.model.load_checkpoint(prefix + "x", 2))]
        return [files, logged, again.list_arguments(), args, auxs, names, failing]


def checkpoints_without_symbol(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        mx.model.save_checkpoint(prefix, 12345, None, {"a": mx.nd.ones((1,))}, {})
        files = files_in(folder)
        mx.nd.save(prefix + "-0001.params", {"foo": mx.nd.ones((1,)), "arg:a": mx.nd.ones((1,))})
        mx.nd.save(prefix + "-0002.params", [mx.nd.ones((1,))])
        mx.nd.save(prefix + "-0003.params", [])
        failing = [fails(lambda epoch=epoch: mx.model.load_params(prefix, epoch)) for epoch in (1, 2)]
        return [files, mx.model.load_params(prefix, 12345), mx.model.load_params(prefix, 3), failing]


def module_checkpoints(mx: Any) -> Any:
    saved = []

    class Module:
        def save_checkpoint(self, *args: Any) -> None:
            saved.append(args)

    callback = mx.callback.module_checkpoint(Module(), "prefix", 2, True)
    for epoch in range(4):
        callback(epoch, None, None, None)
    return saved


def monitor_gathers_statistics(mx: Any) -> Any:
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    executor = symbol.simple_bind(mx.cpu(), data=(3, 2))
    for array in executor.arg_arrays:
        array[:] = 2
    found = []
    for monitor in (
        mx.mon.Monitor(2, pattern=".*fc.*", sort=True),
        mx.mon.Monitor(1, stat_func=lambda x: [x.max(), x.min()], pattern="fc_output|data"),
    ):
        monitor.install(executor)
        for _ in range(3):
            monitor.tic()
            executor.forward(is_train=True, data=mx.nd.ones((3, 2)))
            found.append(monitor.toc())
    with _Log() as lines:
        monitor.tic()
        executor.forward()
        monitor.toc_print()
    return [found, sorted(lines)]
