"""The events of training, as classes that handlers derive from."""

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

from ....errors import ParameterError
from ....imperative.array import Array
from ....metric import CompositeEvalMetric, EvalMetric

#: One array per device.
Parts = list[Array]


class Batch(TypedDict):
    """The arguments of `batch_end`: the batch as the loader returns it, and its outputs, labels and losses by device."""

    batch: Sequence[Any]
    pred: Parts
    label: Parts
    loss: Parts


class EventHandler:
    """Base class of handlers.

    The handlers of an event are called in ascending order of their attribute ``priority``, 0 if they have none, and in the order in which
    they are passed.
    """


class TrainBegin(EventHandler):
    """Handles the event `train_begin`."""

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Called once before the first epoch."""


class TrainEnd(EventHandler):
    """Handles the event `train_end`."""

    def train_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Called once after the last epoch."""


class EpochBegin(EventHandler):
    """Handles the event `epoch_begin`."""

    def epoch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Called before each epoch."""


class EpochEnd(EventHandler):
    """Handles the event `epoch_end`."""

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> bool | None:
        """Called after each epoch; training ends if a handler returns True."""
        return False


class Counting(EventHandler):
    """A handler that counts epochs, and perhaps batches."""

    current_epoch = current_batch = 0

    def go_on(self, epochs: int, batches: int) -> None:
        """Count from these numbers, in a process that joins a training."""
        self.current_epoch, self.current_batch = epochs, batches


class BatchBegin(EventHandler):
    """Handles the event `batch_begin`."""

    def batch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Called before each batch, with the argument ``batch``."""


class BatchEnd(EventHandler):
    """Handles the event `batch_end`."""

    def batch_end(self, estimator: Any, *args: object, **kwargs: Unpack[Batch]) -> bool | None:
        """Called after each batch, with ``batch``, ``pred``, ``label`` and ``loss``; the epoch ends if a handler returns True."""
        return False


def by_priority(handlers: Iterable[EventHandler]) -> list[EventHandler]:
    """Handlers in the order in which they are called."""
    # a stable sort: handlers of one priority stay in the order in which they were passed
    return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))


def metric_list(metrics: EvalMetric | Sequence[EvalMetric] | None) -> list[EvalMetric]:
    """Metrics as a list, with the parts of composite ones.

    Raises
    ------
    ParameterError
        If something else is among them.
    """
    if isinstance(metrics, CompositeEvalMetric):
        return metric_list(metrics.metrics)
    given = [metrics] if isinstance(metrics, EvalMetric) else list(metrics or [])
    if not all(isinstance(metric, EvalMetric) for metric in given):
        what = f"metrics must be a Metric or a list of Metric, refer to mxnet.metric.EvalMetric: {metrics}"
        raise ParameterError(what, None, 'pass mx.metric.create("acc"), for example')
    return given
