"""Metrics of the probability assigned to the true class."""

from math import exp
from typing import ClassVar

import numpy as np

from ..errors import WrongShape
from .base import Arrays, EvalMetric, Names, alias, host_pairs, register


class _LogLoss(EvalMetric):
    """Mean of ``−log(probability of the true class + eps)``."""

    def __init__(self, eps: float = 1e-12, name: str | None = None, output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, eps=eps)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels (n,) and probabilities (n, classes)."""
        for label, pred in host_pairs(labels, preds):
            classes = label.ravel().astype("int64")
            if pred.ndim != 2 or len(classes) != len(pred):
                raise WrongShape(
                    f"{type(self).__name__}: one label per row of probabilities is needed",
                    f"labels {label.shape}, probabilities {pred.shape}",
                    "pass labels (n,) and probabilities (n, classes)",
                )
            # the probability of each sample's true class
            right = pred[np.arange(len(classes)), classes]
            self._add(float((-np.log(right + self.eps)).sum()), len(classes))


@alias("ce")
@register
class CrossEntropy(_LogLoss):
    """Mean of ``−log p`` over the probabilities p of the true classes.

    Parameters
    ----------
    eps
        Added to each probability to avoid the logarithm of 0.
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "cross-entropy"


@alias("nll_loss")
@register
class NegativeLogLikelihood(_LogLoss):
    """`CrossEntropy` under another name.

    Parameters
    ----------
    eps
        Added to each probability to avoid the logarithm of 0.
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "nll-loss"


@register
class Perplexity(EvalMetric):
    """``exp`` of the mean of ``−log p`` over the probabilities p of the true classes.

    Parameters
    ----------
    ignore_label
        Label to ignore, such as that of padding; None for none.
    axis
        Class axis of the predictions.
    name, output_names, label_names
        See `EvalMetric`.
    """

    SMALLEST = 1e-10  # MXNet's lower bound of probabilities

    def __init__(
        self, ignore_label: int | None, axis: int = -1, name: str = "perplexity", output_names: Names = None, label_names: Names = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels of any shape, and probabilities with an additional class axis."""
        for label, pred in host_pairs(labels, preds):
            scores = np.moveaxis(pred, self.axis, -1)
            if label.size != scores[..., 0].size:
                raise WrongShape(
                    "Perplexity: one label per distribution is needed", f"{label.shape} vs. {pred.shape}", "check shapes and axis"
                )
            classes = label.reshape(scores.shape[:-1]).astype("int64")
            # Clipped, because ignored labels such as -1 are not valid indices.
            right = np.take_along_axis(scores, np.clip(classes, 0, scores.shape[-1] - 1)[..., None], axis=-1)[..., 0]
            counted = right if self.ignore_label is None else right[classes != self.ignore_label]
            self._add(float(-np.log(np.maximum(counted, self.SMALLEST)).sum()), counted.size)

    def _value(self, total: float, count: float) -> float:
        # The exponential of the mean over all batches: the mean of batches' perplexities would depend on their sizes.
        return exp(total / count)
