"""Private functions of the estimator's modules that handlers of libraries call."""

from collections.abc import Sequence

from ..errors import ParameterError
from ..gluon.contrib.estimator.estimator import _handler_list as _check_event_handlers  # noqa: F401
from ..gluon.contrib.estimator.events import EventHandler
from ..gluon.contrib.estimator.events import metric_list as _check_metrics  # noqa: F401
from ..gluon.loss import Loss, SoftmaxCrossEntropyLoss
from ..metric import Accuracy, EvalMetric
from ..metric import Loss as metric_loss  # noqa: F401

__all__: list[str] = []

gluon_loss = Loss


def _check_metric_known(handler: EventHandler, metric: object, known_metrics: Sequence[object]) -> None:
    """Raise an error if a handler refers to a metric that is not among the known ones."""
    if metric not in known_metrics:
        text = f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the known training and "
        todo = "use the metrics from estimator.train_metrics and estimator.val_metrics instead"
        raise ParameterError(f"{text}validation metrics. Please {todo}.", None, todo)


def _check_handler_metric_ref(handler: EventHandler, known_metrics: Sequence[object]) -> None:
    """Check the metrics in the attributes of a handler whose names have the word metric."""
    # by name: handlers of users keep their metrics in attributes of any name
    found = [value for name in dir(handler) if "metric" in name and (value := getattr(handler, name))]
    for value in found:
        for metric in value if isinstance(value, list) else [value]:
            _check_metric_known(handler, metric, known_metrics)


def _suggest_metric_for_loss(loss: Loss) -> EvalMetric | None:
    """The metric of a loss that takes scores of classes; None for others."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
