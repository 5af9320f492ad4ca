"""Metrics of the probability that a model gives to the right class."""

from collections.abc import Sequence
from math import exp
from typing import Any

import numpy as np

from ..errors import ShapeError
from .base import EvalMetric, alias, host_pairs, register

__all__ = ["CrossEntropy", "NegativeLogLikelihood", "Perplexity"]


class _LogLoss(EvalMetric):
    """Mean of ``−log(probability of the right class + eps)``."""

    def __init__(self, eps: float, name: str, output_names: Sequence[str] | None = None, label_names: Sequence[str] | None = None) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, eps=eps)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        """Take in labels (n,) and probabilities (n, classes)."""
        for label, pred in host_pairs(labels, preds):
            classes = label.ravel().astype("int64")
            if pred.ndim != 2 or len(classes) != len(pred):
                raise ShapeError(
                    f"{type(self).__name__}: one label for each row of probabilities is needed",
                    f"labels {label.shape}, probabilities {pred.shape}",
                    "give labels (n,) and probabilities (n, classes)",
                )
            right = pred[np.arange(len(classes)), classes]
            self._add(float((-np.log(right + self.eps)).sum()), len(classes))


@alias("ce")
@register
class CrossEntropy(_LogLoss):
    """Mean of ``−log p`` over the probabilities p of the right classes.

    Parameters
    ----------
    eps
        Added to each probability, so that 0 has a logarithm.
    name, output_names, label_names
        See `EvalMetric`.
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@alias("nll_loss")
@register
class NegativeLogLikelihood(_LogLoss):
    """Mean of ``−log p`` over the probabilities p of the right classes: `CrossEntropy` by its other name.

    Parameters
    ----------
    eps
        Added to each probability, so that 0 has a logarithm.
    name, output_names, label_names
        See `EvalMetric`.
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(EvalMetric):
    """``exp`` of the mean of ``−log p`` over the probabilities p of the right classes: among how many classes a model wavers.

    Parameters
    ----------
    ignore_label
        Label that does not count, such as that of padding; None for none.
    axis
        Axis of the classes in the predictions.
    name, output_names, label_names
        See `EvalMetric`.
    """

    SMALLEST = 1e-10  # probabilities below it count as this

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Take in labels of any shape, and probabilities with the axis of the classes besides."""
        for label, pred in host_pairs(labels, preds):
            scores = np.moveaxis(pred, self.axis, -1)
            if label.size != scores[..., 0].size:
                raise ShapeError(
                    "Perplexity: one label for each distribution is needed", f"{label.shape} vs. {pred.shape}", "check shapes and axis"
                )
            classes = label.reshape(scores.shape[:-1]).astype("int64")
            right = np.take_along_axis(scores, np.clip(classes, 0, scores.shape[-1] - 1)[..., None], axis=-1)[..., 0]
            counted = right if self.ignore_label is None else right[classes != self.ignore_label]
            self._add(float(-np.log(np.maximum(counted, self.SMALLEST)).sum()), counted.size)

    def _value(self, total: float, count: float) -> float:
        return exp(total / count)
