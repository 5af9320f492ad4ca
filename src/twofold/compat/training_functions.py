"""Private functions and classes of MXNet's optimizers, metrics, iterators, samplers and blocks that libraries import."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..device import Device
from ..errors import InvalidValue, ParameterError
from ..imperative.array import Array
from ..metric.composite import _create  # noqa: F401  (libraries make metrics by name with it)
from ..metric.confusion import F1, MCC, _Binary, _binary, _count, _f1, _matthews
from ..ndarray import NDArray, array
from ..symbol.symbol import Symbol
from .array_state import adopt

__all__: list[str] = []


def _flatten_list(nested_list: Iterable[Iterable[Any]]) -> list[Any]:
    """The items of lists, in one list."""
    return [item for part in nested_list for item in part]


def _getdata_by_idx(data: Iterable[tuple[str, NDArray]], idx: Sequence[int] | np.ndarray) -> list[tuple[str, NDArray]]:
    """Rows of named arrays, in the order of their numbers."""
    return [(name, array(x.asnumpy()[idx], x.context).tostype(x.stype)) for name, x in data]


def _gather_type_ctx_info(args: Any) -> tuple[bool, bool, set[Device], Device | None]:
    """What nested inputs of a block hold: whether symbols, whether arrays, the arrays' devices, and the first of these or None."""
    leaves = list(_leaves(args))
    devices = [x.context for x in leaves if isinstance(x, Array)]
    return any(isinstance(x, Symbol) for x in leaves), bool(devices), set(devices), devices[0] if devices else None


def _leaves(args: Any) -> Iterator[object]:
    if isinstance(args, (list, tuple)):
        for part in args:
            yield from _leaves(part)
    else:
        yield args


def _random_helper(
    random: Callable[..., Any], sampler: Callable[..., Any], params: Sequence[Any], shape: Any, dtype: Any, *options: Any
) -> Any:
    """A draw: from ``random`` if the parameters of the distribution are numbers, from ``sampler`` if they are arrays or symbols.

    Parameters
    ----------
    random, sampler
        The operators.
    params
        The distribution's parameters.
    shape, dtype
        Of the result; of the samples for each element of arrays.
    *options
        Of arrays the device and the output; last the operator's other arguments, by name.
    """
    placed, named = options[:-1], options[-1]
    kinds: Any = (NDArray, Symbol) if isinstance(params[0], (NDArray, Symbol)) else (int, float, np.number)
    other = next((p for p in params if not isinstance(p, kinds)), None)
    assert other is None, f"Distribution parameters must all have the same type, but got both {type(params[0])} and {type(other)}."
    given: dict[str, Any] = dict(zip(("ctx", "out"), placed, strict=False))
    if kinds[0] is NDArray:
        given.pop("ctx", None)  # samples are drawn where their parameters are
        return sampler(*params, shape=shape, dtype=dtype, **given, **named)
    return random(*params, shape=shape, dtype=dtype, **given, **named)


class _BinaryClassificationMetrics:
    """Counts of right and wrong predictions of two classes, since they were last reset and in all, and scores computed from them."""

    def __init__(self) -> None:
        self.reset_stats()

    def reset_stats(self) -> None:
        """Forget all predictions."""
        self.local_reset_stats()
        vars(self).update({f"global_{name}": 0 for name in _CELLS})

    def local_reset_stats(self) -> None:
        """Begin to count anew, but for the scores of all predictions."""
        vars(self).update(dict.fromkeys(_CELLS, 0))

    def update_binary_stats(self, label: NDArray, pred: NDArray) -> None:
        """Count predictions: labels (n,) of two classes, and scores (n, 2)."""
        try:
            batch = _count(np.zeros((2, 2)), *_binary(label.asnumpy(), pred.asnumpy()))
        except ParameterError as error:
            what = f"{type(self).__name__} currently only supports binary classification."
            raise InvalidValue(what, error.given, "use mx.metric.PCC") from error
        for name, cell in _CELLS.items():
            for counted in (name, f"global_{name}"):
                setattr(self, counted, getattr(self, counted) + int(batch[cell]))

    def matthewscc(self, use_global: bool = False) -> float:
        """Matthews' correlation; 0 without predictions."""
        matrix = _matrix_of(self, "global_" if use_global else "")
        return _matthews(matrix) if matrix.any() else 0.0


class _CountsOf(_BinaryClassificationMetrics):
    """The counts of a metric, at the time of the look-up: none of a mean over batches, as each batch is counted anew.

    Forgetting them makes the metric forget.
    """

    def __init__(self, metric: _Binary) -> None:
        super().__init__()
        self._metric = metric
        if metric.average == "micro":
            for name, cell in _CELLS.items():
                vars(self)[name], vars(self)[f"global_{name}"] = int(metric._local[cell]), int(metric._global[cell])

    def reset_stats(self) -> None:
        """Forget all predictions."""
        super().reset_stats()
        if "_metric" in vars(self):
            self._metric._global = np.zeros((2, 2))

    def local_reset_stats(self) -> None:
        """Begin to count anew, but for the scores of all predictions."""
        super().local_reset_stats()
        if "_metric" in vars(self):
            self._metric._local = np.zeros((2, 2))


# the counts under the names of MXNet's metrics
adopt(F1, type("Counts", (), {"metrics": property(_CountsOf)}))
adopt(MCC, type("Counts", (), {"_metrics": property(_CountsOf)}))

#: The counts, and their places in a matrix (predicted, true).
_CELLS = {"true_positives": (1, 1), "false_negatives": (0, 1), "false_positives": (1, 0), "true_negatives": (0, 0)}


def _matrix_of(counts: _BinaryClassificationMetrics, prefix: str) -> np.ndarray:
    """The confusion matrix of counts, which libraries may have changed."""
    matrix = np.zeros((2, 2))
    for name, cell in _CELLS.items():
        matrix[cell] = getattr(counts, prefix + name)
    return matrix


def _share(matrix: np.ndarray, of: np.ndarray) -> float:
    """The part of ``of`` that is predicted and true; 0 of nothing."""
    total = float(of.sum())
    return float(matrix[1, 1]) / total if total else 0.0


def _scored(score: Callable[[np.ndarray], Any], prefix: str) -> property:
    return property(lambda self: score(_matrix_of(self, prefix)))


_SCORES: dict[str, Callable[[np.ndarray], Any]] = {
    "precision": lambda matrix: _share(matrix, matrix[1]),
    "recall": lambda matrix: _share(matrix, matrix[:, 1]),
    "fscore": _f1,
    "total_examples": lambda matrix: int(matrix.sum()),
}
for _prefix in ("", "global_"):
    for _name, _score in _SCORES.items():
        setattr(_BinaryClassificationMetrics, _prefix + _name, _scored(_score, _prefix))
