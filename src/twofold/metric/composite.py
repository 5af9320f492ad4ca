"""Metrics composed of other metrics or defined by a function, and `create`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NoReturn, TypeAlias

import numpy

from .. import registry
from ..errors import NotSupported, ParameterError
from ..ndarray.array import NDArray
from .base import Arrays, EvalMetric, Names, Result, alias, check_label_shapes, on_host, pairs_of, register

_create = registry.get_create_func(EvalMetric, "metric")

#: A function of a label and a prediction; it returns the value for the batch, or (sum, number of instances).
Feval = Callable[[numpy.ndarray, numpy.ndarray], float | tuple[float, float]]
#: What `create` accepts.
MetricLike: TypeAlias = "str | EvalMetric | type[EvalMetric] | Feval | Mapping[str, object] | Sequence[MetricLike]"


def create(metric: MetricLike, *args: object, **kwargs: object) -> EvalMetric:
    """Create a metric from its name, a function, a list of these, or a configuration.

    Parameters
    ----------
    metric
        A registered name (``"acc"``), a metric (returned), a class of metrics, a function of label and prediction as NumPy arrays
        (see `CustomMetric`), a list of any of these (`CompositeEvalMetric`), or a result of `EvalMetric.get_config`.
    args, kwargs
        Arguments of the constructor.

    Raises
    ------
    ParameterError
        If no metric of that name is registered.
    """
    if isinstance(metric, list):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    return _constructor(metric)(*args, **kwargs)


def _constructor(metric: MetricLike) -> Callable[..., EvalMetric]:
    # Before functions, as classes are callable too.
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric
    return partial(CustomMetric, metric) if callable(metric) else partial(_create, metric)


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one.

    Parameters
    ----------
    metrics
        The metrics, or anything that `create` accepts.
    name, output_names, label_names
        See `EvalMetric`. `get` returns the names of the individual metrics.
    """

    def __init__(
        self, metrics: Sequence[MetricLike] | None = None, name: str = "composite", output_names: Names = None, label_names: Names = None
    ) -> None:
        # First, as the base's constructor resets the metrics.
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: MetricLike) -> None:
        """Add a metric, or anything that `create` accepts."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at an index.

        Raises
        ------
        ParameterError
            If the index is out of range.
        """
        if not -len(self.metrics) <= index < len(self.metrics):
            raise ParameterError(f"Metric index {index} is out of range 0 and {len(self.metrics)}", None, "add it first")
        return self.metrics[index]

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Update the metrics with a batch given by name. Each metric selects its arrays from those the composite selects."""
        if self.label_names is not None:
            label = {name: array for name, array in label.items() if name in self.label_names}
        if self.output_names is not None:
            pred = {name: array for name, array in pred.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metrics with a batch."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Reset all sums."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Reset the sums since the last reset."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[float]]:
        """(names, values) since the last reset."""
        return _join([metric.get() for metric in self.metrics])

    def get_global(self) -> tuple[list[str], list[float]]:
        """(names, global values)."""
        return _join([metric.get_global() for metric in self.metrics])

    def get_config(self) -> dict[str, object]:
        """The configuration of the metric, from which `create` creates an equivalent one."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _join(results: list[Result]) -> tuple[list[str], list[float]]:
    pairs = [pair for result in results for pair in pairs_of(result)]
    return [name for name, _ in pairs], [value for _, value in pairs]


@register
class CustomMetric(EvalMetric):
    """A metric defined by a function.

    Parameters
    ----------
    feval
        Function of a label and a prediction as NumPy arrays. It returns the value for the batch, or (sum, number of instances).
    name
        Name of the metric; the function's name if None.
    allow_extra_outputs
        Whether there may be more predictions than labels; the extra ones are ignored.
    output_names, label_names
        See `EvalMetric`.
    """

    def __init__(
        self,
        feval: Feval,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        if name is None:
            # MXNet's names: a lambda's "<lambda>" would be an odd name for a column of a log.
            name = feval.__name__ if "<" not in feval.__name__ else f"custom({feval.__name__})"
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with a batch."""
        host_labels, host_preds = on_host(labels), on_host(preds)
        if not self._allow_extra_outputs:
            check_label_shapes(host_labels, host_preds)
        for label, pred in zip(host_labels, host_preds, strict=False):
            result = self._feval(label, pred)
            total, count = result if isinstance(result, tuple) else (result, 1)
            # sums of NumPy's float32 numbers would stay in single precision
            self._add(total.item() if isinstance(total, numpy.floating) else total, count)

    def get_config(self) -> NoReturn:
        """Not supported: a function cannot be serialized.

        Raises
        ------
        DTypeError
            Always.
        """
        raise NotSupported("CustomMetric cannot be serialized", self.name, "register a subclass of EvalMetric instead")


def np(numpy_feval: Feval, name: str | None = None, allow_extra_outputs: bool = False) -> CustomMetric:
    """Create a metric from a function of NumPy arrays; see `CustomMetric`.

    Parameters
    ----------
    numpy_feval
        The function of label and prediction.
    name
        Name of the metric; the function's name if None.
    allow_extra_outputs
        Whether there may be more predictions than labels.
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
