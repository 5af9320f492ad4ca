"""`EvalMetric`: sums over batches since the last reset and since the start; the registry; metrics made of others or of a function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from .. import registry
from ..dtype import ITEMSIZE, dtype_name, is_float
from ..errors import DTypeError, MXNetError, ParameterError, ShapeError
from ..ndarray.array import NDArray

__all__ = [
    "CompositeEvalMetric",
    "CustomMetric",
    "EvalMetric",
    "alias",
    "check_label_shapes",
    "create",
    "host_pairs",
    "np",
    "on_host",
    "register",
]

Arrays = Sequence[NDArray | numpy.ndarray]


class EvalMetric:
    """The base of all metrics: ``sum_metric / num_inst``, both gathered by `update`, which a subclass defines.

    Parameters
    ----------
    name
        What the figure is called.
    output_names, label_names
        Which outputs and labels `update_dict` takes, in this order; all if None.
    kwargs
        What `get_config` writes down besides. ``has_global_stats=True`` says that `update` keeps the global sums too.
    """

    def __init__(
        self, name: str, output_names: Sequence[str] | None = None, label_names: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    __repr__ = __str__

    def get_config(self) -> dict[str, Any]:
        """The metric as a dict from which `create` makes another of its kind."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Take in a batch whose labels and outputs are given by name.

        Parameters
        ----------
        label, pred
            Dicts of name to array, in the order of the model.

        Raises
        ------
        ParameterError
            If one of the metric's names is not there.
        """
        self.update(_selected(label, self.label_names, "label"), _selected(pred, self.output_names, "output"))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Take in a batch.

        Parameters
        ----------
        labels, preds
            Lists of arrays, one of each for every device or output; they may lie on different devices.
        """
        raise MXNetError(f"{type(self).__name__} does not take in batches", None, "define update(self, labels, preds) in it")

    def _add(self, total: float, count: float) -> None:
        """Add a sum over a number of instances, here and globally."""
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self) -> None:
        """Forget everything."""
        self.reset_local()
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Forget what came in since the last reset; the global figures stay."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """(name, figure since the last reset), nan if nothing came in."""
        return self.name, self._value(self.sum_metric, self.num_inst) if self.num_inst else float("nan")

    def get_global(self) -> tuple[Any, Any]:
        """(name, figure since the start), or since the last reset for a metric that keeps no global sums."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst) if self.global_num_inst else float("nan")

    def _value(self, total: float, count: float) -> float:
        return total / count

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and figure since the last reset."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and figure since the start."""
        return _pairs(*self.get_global())


def _pairs(names: Any, values: Any) -> list[tuple[str, Any]]:
    if not isinstance(names, list):
        return [(names, values)]
    return list(zip(names, values, strict=True))


def _selected(arrays: Mapping[str, NDArray], names: Sequence[str] | None, what: str) -> list[NDArray]:
    if names is None:
        return list(arrays.values())
    absent = [name for name in names if name not in arrays]
    if absent:
        raise ParameterError(f"metric: no {what} of the name {absent[0]!r}", ", ".join(arrays), f"give {what}_names that are there")
    return [arrays[name] for name in names]


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
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


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Labels and predictions, after a check that there are as many of the ones as of the others.

    Parameters
    ----------
    labels, preds
        Arrays, or lists of them.
    wrap
        Make lists of single arrays.
    shape
        Compare shapes, not lengths.

    Raises
    ------
    ShapeError
        If they differ.
    """
    label, pred = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if label != pred:
        raise ShapeError(f"metric: Shape of labels {label} does not match shape of predictions {pred}", None, "give one label each")
    if wrap:
        return (x if isinstance(x, (list, tuple)) else [x] for x in (labels, preds))  # type: ignore[return-value]
    return labels, preds


def on_host(arrays: Any) -> list[numpy.ndarray]:
    """Arrays, or a single one, as NumPy arrays: one transfer each; floats of 16 bits are widened, so that sums are exact enough."""
    found = arrays if isinstance(arrays, (list, tuple)) else [arrays]
    return [_widened(a.asnumpy() if isinstance(a, NDArray) else numpy.asarray(a)) for a in found]


def _widened(array: numpy.ndarray) -> numpy.ndarray:
    dtype = dtype_name(array.dtype)
    return array.astype("float32") if is_float(dtype) and ITEMSIZE[dtype] < 4 else array


def host_pairs(labels: Any, preds: Any) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """Pairs of label and prediction as NumPy arrays.

    Raises
    ------
    ShapeError
        If there are not as many of the ones as of the others.
    """
    on_left, on_right = on_host(labels), on_host(preds)
    check_label_shapes(on_left, on_right)
    return list(zip(on_left, on_right, strict=True))


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
    pairs = [pair for result in results for pair in _pairs(*result)]
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
    return CustomMetric(numpy_feval, numpy_feval.__name__ if name is None else name, allow_extra_outputs)
