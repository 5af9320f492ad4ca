"""`EvalMetric`: accumulates a metric over batches, since the last reset and globally; the registry; transfers to the host."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from .. import registry
from ..dtype import ITEMSIZE, dtype_name, is_float
from ..errors import MXNetError, ParameterError, ShapeError
from ..imperative.array import Array
from ..ndarray.array import NDArray

__all__ = [
    "Arrays",
    "EvalMetric",
    "alias",
    "check_label_shapes",
    "host_pairs",
    "on_host",
    "pairs_of",
    "register",
]

Arrays = Sequence[NDArray | numpy.ndarray]


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
        self.update(_select(label, self.label_names, "label"), _select(pred, self.output_names, "output"))

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with a batch.

        Parameters
        ----------
        labels, preds
            Lists of arrays, one of each per device or output. They may be on different devices.
        """
        raise MXNetError(f"{type(self).__name__} has no update method", None, "define update(self, labels, preds) in it")

    def _add(self, total: float, count: float) -> None:
        """Add a sum over a number of instances to the local and global sums."""
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self) -> None:
        """Reset all sums."""
        self.reset_local()
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Reset the sums since the last reset; global sums stay."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """(name, value since the last reset); NaN if there was no update."""
        return self.name, self._value(self.sum_metric, self.num_inst) if self.num_inst else float("nan")

    def get_global(self) -> tuple[Any, Any]:
        """(name, global value); the value since the last reset for a metric without global sums."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst) if self.global_num_inst else float("nan")

    def _value(self, total: float, count: float) -> float:
        return total / count

    def get_name_value(self) -> list[tuple[str, Any]]:
        """(name, value) pairs since the last reset."""
        return pairs_of(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Global (name, value) pairs."""
        return pairs_of(*self.get_global())


def pairs_of(names: Any, values: Any) -> list[tuple[str, Any]]:
    """The (name, value) pairs of a result of `get`."""
    if not isinstance(names, list):
        return [(names, values)]
    return list(zip(names, values, strict=True))


def _select(arrays: Mapping[str, NDArray], names: Sequence[str] | None, what: str) -> list[NDArray]:
    if names is None:
        return list(arrays.values())
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ParameterError(f"metric: no {what} named {missing[0]!r}", ", ".join(arrays), f"pass {what}_names that exist")
    return [arrays[name] for name in names]


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Check that labels and predictions agree in number or shape, and return them.

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
    label, pred = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if label != pred:
        raise ShapeError(f"metric: Shape of labels {label} does not match shape of predictions {pred}", None, "pass one label each")
    if wrap:
        return (x if isinstance(x, (list, tuple)) else [x] for x in (labels, preds))  # type: ignore[return-value]
    return labels, preds


def on_host(arrays: Any) -> list[numpy.ndarray]:
    """Arrays, or a single one, as NumPy arrays, with one transfer each. 16-bit floats are widened so that sums stay accurate."""
    found = arrays if isinstance(arrays, (list, tuple)) else [arrays]
    return [_widen(a.asnumpy() if isinstance(a, Array) else numpy.asarray(a)) for a in found]


def _widen(array: numpy.ndarray) -> numpy.ndarray:
    dtype = dtype_name(array.dtype)
    return array.astype("float32") if is_float(dtype) and ITEMSIZE[dtype] < 4 else array


def host_pairs(labels: Any, preds: Any) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    """(label, prediction) pairs as NumPy arrays.

    Raises
    ------
    ShapeError
        If labels and predictions differ in number.
    """
    on_left, on_right = on_host(labels), on_host(preds)
    check_label_shapes(on_left, on_right)
    return list(zip(on_left, on_right, strict=True))
