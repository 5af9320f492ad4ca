"""Metrics made of others or of a function, and `create`, which makes them of whatever says what is wanted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from .. import registry
from ..errors import DTypeError, ParameterError
from ..ndarray.array import NDArray
from .base import Arrays, EvalMetric, alias, check_label_shapes, on_host, pairs_of, register

__all__ = ["CompositeEvalMetric", "CustomMetric", "create", "np"]

_create = registry.get_create_func(EvalMetric, "metric")


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from its name, a function, a list of these, or a configuration.

    Parameters
    ----------
    metric
        A registered name (``"acc"``), a metric (returned), a class of metrics, a function of label and prediction as NumPy arrays
        (see `CustomMetric`), a list of any of these (`CompositeEvalMetric`), or what `EvalMetric.get_config` gave.
    args, kwargs
        For the constructor.

    Raises
    ------
    ParameterError
        If no metric of that name is registered.
    """
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    return _create(metric, *args, **kwargs)


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one.

    Parameters
    ----------
    metrics
        The metrics, or what `create` makes them from.
    name, output_names, label_names
        See `EvalMetric`; the metrics' own names are what `get` returns.
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Add a metric, or what `create` makes one from."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric of a number.

        Raises
        ------
        ParameterError
            If there is none.
        """
        if not -len(self.metrics) <= index < len(self.metrics):
            raise ParameterError(f"Metric index {index} is out of range 0 and {len(self.metrics)}", None, "add it first")
        return self.metrics[index]

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Take in a batch given by name; each metric selects its own from what the composite selects."""
        if self.label_names is not None:
            label = {name: array for name, array in label.items() if name in self.label_names}
        if self.output_names is not None:
            pred = {name: array for name, array in pred.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Forget everything."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Forget what came in since the last reset."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        """(names, figures) since the last reset."""
        return _joined([metric.get() for metric in self.metrics])

    def get_global(self) -> tuple[list[str], list[Any]]:
        """(names, figures) since the start."""
        return _joined([metric.get_global() for metric in self.metrics])

    def get_config(self) -> dict[str, Any]:
        """The metric as a dict from which `create` makes another of its kind."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


def _joined(results: list[tuple[Any, Any]]) -> tuple[list[str], list[Any]]:
    pairs = [pair for result in results for pair in pairs_of(*result)]
    return [name for name, _ in pairs], [value for _, value in pairs]


@register
class CustomMetric(EvalMetric):
    """A metric made of a function.

    Parameters
    ----------
    feval
        Function of a label and a prediction as NumPy arrays; returns the figure of the batch, or (sum, number of instances).
    name
        What the figure is called; the function's name if None.
    allow_extra_outputs
        Whether there may be more predictions than labels; those are left out.
    output_names, label_names
        See `EvalMetric`.
    """

    def __init__(
        self,
        feval: Callable[[numpy.ndarray, numpy.ndarray], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            name = feval.__name__ if "<" not in feval.__name__ else f"custom({feval.__name__})"
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch."""
        on_left, on_right = on_host(labels), on_host(preds)
        if not self._allow_extra_outputs:
            check_label_shapes(on_left, on_right)
        for label, pred in zip(on_left, on_right, strict=False):
            result = self._feval(label, pred)
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self) -> dict[str, Any]:
        """Not possible: a function cannot be written down.

        Raises
        ------
        DTypeError
            Always.
        """
        raise DTypeError("CustomMetric cannot be serialized", self.name, "register a subclass of EvalMetric instead")


def np(
    numpy_feval: Callable[[numpy.ndarray, numpy.ndarray], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """A metric made of a function of NumPy arrays; see `CustomMetric`.

    Parameters
    ----------
    numpy_feval
        The function of label and prediction.
    name
        What the figure is called; the function's name if None.
    allow_extra_outputs
        Whether there may be more predictions than labels.
    """
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
