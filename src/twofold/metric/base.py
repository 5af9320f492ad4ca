"""`EvalMetric`: accumulates a metric over batches, since the last reset and globally; the registry; transfers to the host."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy

from .. import registry
from ..dtype import dtype_name, is_float
from ..errors import UnboundArgumentError, Undefined, WrongShape
from ..extension_points import shown_in_notebooks
from ..imperative.array import Array
from ..ndarray.array import NDArray

#: The labels or predictions of a batch: a list of arrays, one per device or output, or a single array.
Arrays = Array | numpy.ndarray | Sequence[Array | numpy.ndarray]
#: Names of the outputs or labels that a metric selects; None for all of them.
Names = Sequence[str] | None
#: The result of `EvalMetric.get`: a name and a value, or those of several metrics.
Result = tuple[str, float] | tuple[list[str], list[float]]


class EvalMetric:
    """Base class of metrics: ``sum_metric / num_inst``, both accumulated by `update`, which subclasses define.

    Parameters
    ----------
    name
        Name of the metric.
    output_names, label_names
        The outputs and labels that `update_dict` uses, in this order; all if None.
    kwargs
        Other entries of `get_config`. ``has_global_stats=True`` states that `update` accumulates the global sums too.
    """

    #: The name of metrics that are given none.
    _default_name: ClassVar[str] = "metric"
    #: Whether `update` accumulates the global sums. Metrics written before MXNet 1.5 do not have global sums, so this is opt-in.
    _has_global_stats: bool = False

    def __init__(self, name: str | None = None, output_names: Names = None, label_names: Names = None, **kwargs: object) -> None:
        self.name = str(self._default_name if name is None else name)
        self.output_names = output_names
        self.label_names = label_names
        # MXNet's metrics pass it on as a keyword; it is no part of the configuration
        self._has_global_stats = bool(kwargs.pop("has_global_stats", self._has_global_stats))
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    __repr__ = __str__
    _repr_html_ = shown_in_notebooks("metric")

    def get_config(self) -> dict[str, object]:
        """The configuration of the metric, from which `create` creates an equivalent one."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, NDArray], pred: Mapping[str, NDArray]) -> None:
        """Update the metric with a batch whose labels and outputs are given by name.

        Parameters
        ----------
        label, pred
            Dicts from name to array, in the order of the model.

        Raises
        ------
        ParameterError
            If one of the metric's names is missing.
        """
        # the order of the model's outputs pairs them with the labels
        labels = list(label.values()) if self.label_names is None else _select(label, self.label_names, "label")
        self.update(labels, list(pred.values()) if self.output_names is None else _select(pred, self.output_names, "output"))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with a batch.

        Parameters
        ----------
        labels, preds
            Lists of arrays, one of each per device or output, on any devices; or single arrays.
        """
        raise Undefined(f"{type(self).__name__} has no update method", None, "define update(self, labels, preds) in it")

    num_inst: float
    sum_metric: float
    global_num_inst: float
    global_sum_metric: float

    def _add(self, total: float, count: float) -> None:
        """Add a sum over a number of instances to the local and global sums."""
        local, everywhere = self.sum_metric + total, self.global_sum_metric + total
        instances, all_instances = self.num_inst + count, self.global_num_inst + count
        # in one statement, within which Ctrl-C does nothing: a sum without its instances would be another value
        self.sum_metric, self.num_inst, self.global_sum_metric, self.global_num_inst = local, instances, everywhere, all_instances

    def reset(self) -> None:
        """Reset all sums."""
        self.reset_local()
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Reset the sums since the last reset; global sums stay."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> Result:
        """(name, value since the last reset); NaN if there was no update."""
        return self.name, self._value(self.sum_metric, self.num_inst) if self.num_inst else float("nan")

    def get_global(self) -> Result:
        """(name, global value); the value since the last reset for a metric without global sums."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst) if self.global_num_inst else float("nan")

    def _value(self, total: float, count: float) -> float:
        return total / count

    def get_name_value(self) -> list[tuple[str, float]]:
        """(name, value) pairs since the last reset."""
        return pairs_of(self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Global (name, value) pairs."""
        return pairs_of(self.get_global())


def pairs_of(result: Result) -> list[tuple[str, float]]:
    """The (name, value) pairs of a result of `EvalMetric.get`."""
    match result:
        # a composite metric, or one of a user's that returns several values
        case [list(names), list(values)]:
            return list(zip(names, values, strict=True))
        case [name, value]:
            return [(name, value)]


def _select(arrays: Mapping[str, NDArray], names: Sequence[str], what: str) -> list[NDArray]:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise UnboundArgumentError(f"metric: no {what} named {missing[0]!r}", ", ".join(arrays), f"pass {what}_names that exist")
    return [arrays[name] for name in names]


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")


def check_label_shapes(labels: Arrays, preds: Arrays, wrap: bool = False, shape: bool = False) -> tuple[Arrays, Arrays]:
    """Check that labels and predictions have the same number or shape, and return them.

    Parameters
    ----------
    labels, preds
        Arrays, or lists of them.
    wrap
        Whether to wrap single arrays in lists.
    shape
        Whether to compare shapes instead of lengths.

    Raises
    ------
    ShapeError
        If they differ.
    """
    label, pred = (_shape(labels), _shape(preds)) if shape else (_shape(labels)[0], _shape(preds)[0])
    if label != pred:
        raise WrongShape(
            f"metric: Shape of labels {label} does not match shape of predictions {pred}", None, "pass one label per prediction"
        )
    return (_as_list(labels), _as_list(preds)) if wrap else (labels, preds)


def _shape(arrays: Arrays) -> tuple[int, ...]:
    return arrays.shape if isinstance(arrays, (Array, numpy.ndarray)) else (len(arrays),)


def _as_list(arrays: Arrays) -> Sequence[Array | numpy.ndarray]:
    return [arrays] if isinstance(arrays, (Array, numpy.ndarray)) else arrays


def on_host(arrays: Arrays) -> list[numpy.ndarray]:
    """Arrays, or a single one, as NumPy arrays, with one transfer each. 16-bit floats are widened so that sums stay accurate."""
    found = []
    for a in [arrays] if isinstance(arrays, (Array, numpy.ndarray)) else arrays:
        array = a.asnumpy() if isinstance(a, Array) else numpy.asarray(a)
        # By item size, not by name, so that bfloat16 counts: to NumPy it is a dtype of another package.
        found.append(array.astype("float32") if array.itemsize < 4 and is_float(dtype_name(array.dtype)) else array)
    return found


def host_pairs(labels: Arrays, preds: Arrays) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """(label, prediction) pairs as NumPy arrays.

    Raises
    ------
    ShapeError
        If labels and predictions differ in number.
    """
    host_labels, host_preds = on_host(labels), on_host(preds)
    if len(host_labels) != len(host_preds):
        check_label_shapes(host_labels, host_preds)
    return list(zip(host_labels, host_preds, strict=True))
