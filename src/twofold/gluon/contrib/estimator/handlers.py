"""The handlers that every training needs: they stop it, update the parameters and metrics, and validate."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ....metric import EvalMetric
from ....metric import Loss as LossMetric
from .events import BatchEnd, Counting, EpochBegin, EpochEnd, EventHandler, TrainBegin, metric_list


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

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Start counting, with the limits of the estimator."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
        """Whether this was the last batch."""
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> bool:
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

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Reset the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Update the metrics."""
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
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

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Start counting."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Evaluate if it is time."""
        self.current_batch += 1
        self._evaluate_each(self.batch_period, self.current_batch, estimator)

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
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

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Update the parameters."""
        loss = kwargs["loss"]
        estimator.trainer.step(sum(each.shape[0] for each in (loss if isinstance(loss, list) else [loss])))
