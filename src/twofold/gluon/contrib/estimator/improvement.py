"""Whether a metric has improved, and a handler that stops training when it has not."""

import math
import operator
from collections.abc import Callable
from typing import Any

from ....errors import ParameterError
from ....metric import EvalMetric
from ....origin import warn
from .events import Counting, EpochEnd, TrainBegin, TrainEnd


def comparison(monitor: EvalMetric | None, mode: str) -> Callable[[float, float], bool]:
    """The comparison that tells whether a value is better than another: `operator.gt` or `operator.lt`.

    Raises
    ------
    ParameterError
        If there is no metric.
    """
    if not isinstance(monitor, EvalMetric):
        what = "Please provide one of the metric objects from estimator.train_metrics and estimator.val_metrics as monitor."
        raise ParameterError(what, repr(monitor), "pass the metric itself, not its name")
    if mode not in ("auto", "min", "max"):
        warn(f"mode {mode!r} is unknown, fallback to auto mode.", RuntimeWarning)
        mode = "auto"
    if mode == "auto":
        warn(
            f"`greater` operator will be used to determine if {monitor.get()[0]} has improved. Please specify `mode='min'` to use the "
            "`less` operator. Specify `mode='max' to disable this warning.`"
        )
    return operator.lt if mode == "min" else operator.gt


def worst(is_better: Callable[[float, float], bool]) -> float:
    """The worst value: every other value improves on it."""
    return math.inf if is_better is operator.lt else -math.inf


def value_of(monitor: EvalMetric, what: str) -> tuple[str, float]:
    """Name and value of a metric; a warning if it has no value."""
    # of a composite metric the first part decides
    (name, value), *_ = monitor.get_name_value()
    if math.isnan(value):
        warn(
            f"{what}{name} is not updated, make sure you pass one of the metric objects from estimator.train_metrics and "
            "estimator.val_metrics as monitor.",
            RuntimeWarning,
        )
    return name, value


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd, Counting):
    """Stops training when a metric does not improve any more.

    Parameters
    ----------
    monitor
        One of the estimator's metrics.
    min_delta
        Smaller changes do not count as improvements.
    patience
        Number of epochs without improvement after which training stops.
    mode
        ``"max"`` or ``"min"``: whether larger or smaller values are better. ``"auto"`` is ``"max"`` and issues a warning, as in MXNet.
    baseline
        The value to improve first; None for any.

    Raises
    ------
    ParameterError
        If the monitor is not a metric.
    """

    def __init__(
        self, monitor: EvalMetric, min_delta: float = 0, patience: int = 0, mode: str = "auto", baseline: float | None = None
    ) -> None:
        self.monitor_op = comparison(monitor, mode)
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        # subtracted from a value, it makes the comparison harder in either direction
        self.min_delta = -min_delta if self.monitor_op is operator.lt else min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Start counting."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = worst(self.monitor_op) if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> bool:
        """Whether to stop."""
        _, value = value_of(self.monitor, "")
        # a metric without a value says nothing about progress; `value_of` has warned about it
        if not math.isnan(value):
            if self.monitor_op(value - self.min_delta, self.best):
                self.best, self.wait = value, 0
            else:
                self.wait += 1
                if self.wait >= self.patience:
                    self.stopped_epoch = self.current_epoch
                    self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Write that training was stopped."""
        if self.stop_training:
            name = self.monitor.get()[0]
            estimator.logger.info("[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving", self.stopped_epoch, name)
