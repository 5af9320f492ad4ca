"""A handler that reports progress."""

import time
from collections.abc import Sequence
from typing import Any

from ....errors import ParameterError
from ....metric import EvalMetric
from .events import BatchBegin, BatchEnd, Counting, EpochBegin, EpochEnd, TrainBegin, TrainEnd, metric_list


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd, Counting):
    """Writes metrics and times to the estimator's logger.

    Parameters
    ----------
    log_interval
        ``"epoch"``, or a number n: a line is then also written after every n batches.
    metrics
        A metric or a list of metrics.
    priority
        See `EventHandler`; last of all by default.

    Raises
    ------
    ParameterError
        If the interval is neither, or something else is among the metrics.
    """

    def __init__(
        self,
        log_interval: int | str = "epoch",
        metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        priority: float = float("inf"),
    ) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ParameterError("log_interval must be either an integer or string 'epoch'", repr(log_interval), "pass one of them")
        self.metrics = metric_list(metrics)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.priority = priority
        self.log_interval = log_interval
        self.log_interval_time = 0.0

    def _values(self) -> str:
        return ", ".join(f"{name}: {value:.4f}" for name, value in (metric.get() for metric in self.metrics))

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Write the optimizer, the learning rate and the length of training."""
        self.train_start = time.perf_counter()
        trainer = estimator.trainer
        optimizer = type(trainer.optimizer).__name__
        rate = trainer.learning_rate
        estimator.logger.info("Training begin: using optimizer %s with current learning rate %.4f ", optimizer, rate)
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.current_epoch = self.batch_index = self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Write the whole time and the last metrics."""
        seconds = time.perf_counter() - self.train_start
        estimator.logger.info("Train finished using total %ds with %d epochs. %s", seconds, self.current_epoch, self._values())

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Write that an epoch, or a validation, begins."""
        self.epoch_start = time.perf_counter()
        # The estimator names its metrics; this handler serves both kinds of epochs.
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Write the epoch's time and metrics."""
        seconds = time.perf_counter() - self.epoch_start
        estimator.logger.info("[Epoch %d] Finished in %.3fs, %s", self.current_epoch, seconds, self._values())
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Take the time."""
        self.batch_start = time.perf_counter()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Write a line if it is time."""
        if not isinstance(self.log_interval, int):
            return
        self.log_interval_time += time.perf_counter() - self.batch_start
        self.processed_samples += kwargs["batch"][0].shape[estimator.batch_axis]
        if self.batch_index % self.log_interval == 0:
            where = (self.current_epoch, self.batch_index, self.processed_samples)
            line = "[Epoch %d][Batch %d][Samples %s] time/interval: %.3fs %s"
            estimator.logger.info(line, *where, self.log_interval_time, self._values())
            self.log_interval_time = 0.0
        self.batch_index += 1
