"""Metrics computed from the confusion matrix: F1 score, Matthews and multi-class correlation."""

from collections.abc import Callable
from math import nan, sqrt
from typing import ClassVar

import numpy as np

from ..errors import ParameterError, ShapeError
from .base import Arrays, EvalMetric, Names, check_label_shapes, host_pairs, register


def _count(matrix: np.ndarray, right: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Add predictions to a confusion matrix (predicted, true), which grows with the number of classes."""
    # classes may appear for the first time in any batch
    classes = max(len(matrix), int(right.max(initial=0)) + 1, int(predicted.max(initial=0)) + 1)
    grown = np.zeros((classes, classes))
    grown[: len(matrix), : len(matrix)] = matrix
    np.add.at(grown, (predicted, right), 1)  # grown[predicted, right] += 1 would count a repeated pair once
    return grown


def _f1(matrix: np.ndarray) -> float:
    """The harmonic mean of precision and recall of class 1; 0 if one of them is undefined."""
    # 2 TP / (predicted + true positives of class 1), the same as 2PR / (P + R)
    hits = matrix[1, 1]
    return float(2 * hits / (matrix[1].sum() + matrix[:, 1].sum())) if hits else 0.0


def _matthews(matrix: np.ndarray) -> float:
    """The Matthews correlation coefficient; zero sums count as 1 in its denominator."""
    sums = np.concatenate([matrix.sum(axis=0), matrix.sum(axis=1)])
    # With a sum of zero the numerator is zero too; MXNet counts the sum as 1, so that the result is 0 instead of NaN.
    return float((matrix[1, 1] * matrix[0, 0] - matrix[1, 0] * matrix[0, 1]) / sqrt(np.where(sums, sums, 1.0).prod()))


def _correlation(matrix: np.ndarray) -> float:
    """The correlation of predicted and true classes; NaN if all are of one class."""
    total = matrix.sum()
    predicted, right = matrix.sum(axis=1), matrix.sum(axis=0)
    # covariances of the one-hot classes, times total²: Gorodkin's R_K = cov(X, Y) / sqrt(cov(X, X) cov(Y, Y))
    spread = (predicted * (total - predicted)).sum() * (right * (total - right)).sum()
    return float((matrix.diagonal() * total - predicted * right).sum() / sqrt(spread)) if spread else nan


def _binary(label: np.ndarray, pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The true and predicted classes, 0 or 1, from labels (n,) and scores (n, 2).

    Raises
    ------
    ShapeError
        If labels and scores differ in number, or there are no scores of two classes.
    ParameterError
        If there are more than two classes.
    """
    if pred.ndim < 2:
        raise ShapeError("F1, MCC: scores of two classes are needed", f"shape {pred.shape}", "pass predictions (n, 2)")
    right, predicted = label.astype("int32").ravel(), pred.argmax(axis=1).ravel()
    check_label_shapes(right, predicted)
    if len(np.unique(right)) > 2:
        raise ParameterError("F1, MCC: only binary classification is supported", f"labels {np.unique(right)}", "use PCC")
    return (right == 1).astype(int), (predicted == 1).astype(int)


class _Confusion(EvalMetric):
    """A metric with confusion matrices of the predictions since the last reset and of all predictions."""

    def reset(self) -> None:
        """Reset all sums."""
        super().reset()
        self._global = np.zeros((2, 2))

    def reset_local(self) -> None:
        """Reset the sums since the last reset."""
        super().reset_local()
        self._local = np.zeros((2, 2))


class _Binary(_Confusion):
    """A score of a two-class confusion matrix, averaged over batches (macro) or computed over all predictions (micro)."""

    _score: Callable[[np.ndarray], float]

    def __init__(self, name: str | None = None, output_names: Names = None, label_names: Names = None, average: str = "macro") -> None:
        if average not in ("macro", "micro"):
            raise ParameterError(f"{type(self).__name__}: unknown average", repr(average), "use 'macro' or 'micro'")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels (n,) of two classes, where 1 is the positive one, and scores (n, 2)."""
        # All arrays of an update make one batch, as MXNet averages over calls, not over devices.
        batch = np.zeros((2, 2))
        for label, pred in host_pairs(labels, preds):
            batch = _count(batch, *_binary(label, pred))
        score = self._score
        self._local += batch
        self._global += batch
        if self.average == "macro":
            self._add(score(batch), 1)
        else:
            # `get` divides by the number of instances, so the sum is the score times that number
            self.num_inst, self.global_num_inst = int(self._local.sum()), int(self._global.sum())
            self.sum_metric, self.global_sum_metric = score(self._local) * self.num_inst, score(self._global) * self.global_num_inst


@register
class F1(_Binary):
    """The F1 score ``2 · precision · recall / (precision + recall)`` of binary classification.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    average
        ``"macro"``: mean over batches; ``"micro"``: over all predictions.

    Raises
    ------
    ParameterError
        If ``average`` is unknown.
    """

    _default_name: ClassVar[str] = "f1"
    _score = staticmethod(_f1)


@register
class MCC(_Binary):
    """The Matthews correlation coefficient, −1 to 1, of binary classification.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    average
        ``"macro"``: mean over batches; ``"micro"``: over all predictions.

    Raises
    ------
    ParameterError
        If ``average`` is unknown.

    Notes
    -----
    Matthews, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, 1975.
    """

    _default_name: ClassVar[str] = "mcc"
    _score = staticmethod(_matthews)


@register
class PCC(_Confusion):
    """The correlation of predicted and true classes: a generalization of `MCC` to any number of classes.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    has_global_stats
        Whether `get_global` returns the global value instead of that since the last reset.

    Notes
    -----
    Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient, 2004.
    """

    def __init__(self, name: str = "pcc", output_names: Names = None, label_names: Names = None, has_global_stats: bool = True) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels (n,) and scores (n, classes), or classes (n,)."""
        for label, pred in host_pairs(labels, preds):
            classes = pred if pred.shape == label.shape else pred.argmax(axis=1)
            right, predicted = label.astype("int32").ravel(), classes.astype("int32").ravel()
            check_label_shapes(right, predicted)
            self._local = _count(self._local, right, predicted)
            self._global = _count(self._global, right, predicted)
            self.num_inst += 1
            self.global_num_inst += 1
        # `get` divides by the number of updates; the value is that of all predictions together
        self.sum_metric = _correlation(self._local) * self.num_inst
        self.global_sum_metric = _correlation(self._global) * self.global_num_inst
