"""Accuracy and top-k accuracy."""

import numpy as np

from ..errors import InvalidValue, ShapeError, WrongShape
from .base import Arrays, EvalMetric, Names, alias, check_label_shapes, host_pairs, register


@alias("acc")
@register
class Accuracy(EvalMetric):
    """Fraction of predictions whose largest score is that of the true class.

    Parameters
    ----------
    axis
        Class axis of predictions (n, …, classes, …). Predictions with the shape of the labels are classes already.
    name, output_names, label_names
        See `EvalMetric`.
    """

    def __init__(self, axis: int = 1, name: str = "accuracy", output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, axis=axis)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels of any shape, and scores with an additional class axis."""
        for label, pred in host_pairs(labels, preds):
            if pred.shape != label.shape:
                if not -pred.ndim <= self.axis < pred.ndim:
                    raise ShapeError(
                        f"Accuracy: axis {self.axis} exceeds the input dimension of {pred.ndim}",
                        f"label {label.shape}, prediction {pred.shape}",
                        "pass scores for each class, or classes with the shape of the labels",
                    )
                # only the shapes distinguish scores from classes, as in MXNet: scores have one more axis
                pred = pred.argmax(axis=self.axis)
            # MXNet compares integers: a prediction that is a class may be a float such as 1.7, which means 1.
            expected, predicted = label.astype("int32").ravel(), pred.astype("int32").ravel()
            # the check builds messages, so only a mismatch pays for it
            if len(expected) != len(predicted):
                check_label_shapes(expected, predicted)
            self._add(int((predicted == expected).sum()), len(expected))


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(EvalMetric):
    """Fraction of predictions (n, classes) with the true class (n,) among the ``top_k`` largest scores.

    Parameters
    ----------
    top_k
        Number of scores; at least 2.
    name, output_names, label_names
        See `EvalMetric`. The number is appended to the name.
    """

    def __init__(self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Names = None, label_names: Names = None) -> None:
        if top_k <= 1:
            raise InvalidValue("TopKAccuracy: Please use Accuracy if top_k is no more than 1", str(top_k), "pass 2 or more")
        super().__init__(f"{name}_{top_k}", output_names, label_names, has_global_stats=True, top_k=top_k)
        self.top_k = top_k

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels (n,) and scores (n, classes), or classes (n,)."""
        for label, pred in host_pairs(labels, preds):
            if pred.ndim > 2:
                raise WrongShape("TopKAccuracy: Predictions should be no more than 2 dims", f"{pred.shape}", "reshape them to (n, classes)")
            scores = pred.reshape(len(pred), -1)
            expected = label.astype("int32").ravel()
            check_label_shapes(expected, scores)
            best = min(self.top_k, scores.shape[1])
            # The order among the best does not matter, so a partition, in linear time, does instead of a sort.
            # a vector holds classes already, one per sample
            classes = scores.astype("int32") if pred.ndim == 1 else np.argpartition(scores.astype("float32"), -best)[:, -best:]
            self._add(int((classes == expected[:, None]).sum()), len(expected))
