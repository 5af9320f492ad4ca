"""The handlers that every training has: they stop it, update the parameters and metrics, validate, and report progress."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

from ....errors import ParameterError
from ....metric import EvalMetric
from ....metric import Loss as LossMetric
from .events import Batch, BatchBegin, BatchEnd, Counting, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd, metric_list


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd, Counting):
    """Stops after a number of epochs or batches; `Estimator.fit` adds one with its own.

    Parameters
    ----------
    max_epoch, max_batch
        The numbers; None for no limit. ``fit`` replaces them with its own arguments.
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Start counting, with the limits of the estimator."""
        # `CheckpointHandler` may have lowered them, when it resumes
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> bool:
        """Whether this was the last batch."""
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> bool:
        """Whether this was the last epoch."""
        self.current_epoch += 1
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Resets metrics before each epoch and updates them after each batch.

    Parameters
    ----------
    metrics
        A metric or a list of metrics. `metric.Loss` is updated with the losses, others with labels and outputs.
    priority
        See `EventHandler`.

    Raises
    ------
    ParameterError
        If something else is passed.
    """

    def __init__(self, metrics: EvalMetric | Sequence[EvalMetric], priority: float = -1000) -> None:
        self.metrics = metric_list(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Reset the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> None:
        """Update the metrics."""
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                # a mean of losses: the losses are passed as predictions
                metric.update(kwargs["label"], kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd, Counting):
    """Evaluates the model regularly.

    Parameters
    ----------
    val_data
        The data.
    eval_fn
        The function to call with it, such as `Estimator.evaluate`.
    epoch_period, batch_period
        How often, in epochs and in batches; None for never.
    priority
        See `EventHandler`.
    event_handlers
        The handlers that the function is given.
    """

    def __init__(
        self,
        val_data: Iterable[Any],
        eval_fn: Callable[..., object],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: EventHandler | Sequence[EventHandler] | None = None,
    ) -> None:
        self.val_data, self.eval_fn = val_data, eval_fn
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Start counting."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> None:
        """Evaluate if it is time."""
        self.current_batch += 1
        self._evaluate_each(self.batch_period, self.current_batch, estimator)

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Evaluate if it is time."""
        self.current_epoch += 1
        self._evaluate_each(self.epoch_period, self.current_epoch, estimator)

    def _evaluate_each(self, period: int | None, count: int, estimator: Any) -> None:
        if period and count % period == 0:
            self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters after each batch, with gradients divided by the number of losses.

    Parameters
    ----------
    priority
        See `EventHandler`; lower than that of other handlers, which see the updated parameters.
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> None:
        """Update the parameters."""
        loss = kwargs["loss"]
        # a batch processor of the user's may return a single array
        estimator.trainer.step(sum(each.shape[0] for each in (loss if isinstance(loss, list) else [loss])))


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

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
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

    def train_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Write the whole time and the last metrics."""
        seconds = time.perf_counter() - self.train_start
        estimator.logger.info("Train finished using total %ds with %d epochs. %s", seconds, self.current_epoch, self._values())

    def epoch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Write that an epoch, or a validation, begins."""
        self.epoch_start = time.perf_counter()
        # The estimator names its metrics; this handler serves both kinds of epochs.
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Write the epoch's time and metrics."""
        seconds = time.perf_counter() - self.epoch_start
        estimator.logger.info("[Epoch %d] Finished in %.3fs, %s", self.current_epoch, seconds, self._values())
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Take the time."""
        self.batch_start = time.perf_counter()

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> None:
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
