"""`EvalMetric`: sums over batches since the last reset and since the start; the registry; arrays on the host."""

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
        return pairs_of(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and figure since the start."""
        return pairs_of(*self.get_global())


def pairs_of(names: Any, values: Any) -> list[tuple[str, Any]]:
    """Pairs of name and figure, of what `get` gave."""
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
    return [_widened(a.asnumpy() if isinstance(a, Array) else numpy.asarray(a)) for a in found]


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
