"""Regression errors, Pearson correlation, and the mean of outputs that are losses."""

from math import nan, sqrt
from typing import ClassVar

import numpy as np

from ..errors import ParameterError, ShapeError
from ..strictness import tolerate
from .base import Arrays, EvalMetric, Names, alias, check_label_shapes, host_pairs, on_host, register


class _Distance(EvalMetric):
    """Mean over batches of an error."""

    _has_global_stats = True

    def __init__(self, name: str | None = None, output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels and predictions of equal shape; (n,) counts as (n, 1)."""
        for label, pred in host_pairs(labels, preds):
            # Without the second axis, labels (n,) minus predictions (n, 1) would broadcast to (n, n).
            expected, predicted = (x.reshape(-1, 1) if x.ndim == 1 else x for x in (label, pred))
            if len(expected) != len(predicted):
                what, given = "metric: labels and predictions differ in shape", f"{expected.shape} and {predicted.shape}"
                if any(m != n and 1 not in (m, n) for m, n in zip(expected.shape[::-1], predicted.shape[::-1], strict=False)):
                    raise ShapeError(what, given, "pass one label per prediction")
                # MXNet computes something for lengths that broadcast, such as one label for all predictions
                tolerate(what, given, "pass one label per prediction", ShapeError)
            # each batch counts once, whatever its size, as in MXNet
            self._add(self._distance(expected - predicted), 1)

    def _distance(self, difference: np.ndarray) -> float:
        """The error of a batch."""
        return float((difference**2.0).mean())


@register
class MAE(_Distance):
    """Mean absolute error: mean over batches of ``mean |label − prediction|``.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "mae"

    def _distance(self, difference: np.ndarray) -> float:
        return float(np.abs(difference).mean())


@register
class MSE(_Distance):
    """Mean squared error: mean over batches of ``mean (label − prediction)²``.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "mse"


@register
class RMSE(_Distance):
    """Root mean squared error: mean over batches of ``sqrt(mean (label − prediction)²)``.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "rmse"

    def _distance(self, difference: np.ndarray) -> float:
        return sqrt(super()._distance(difference))


class _Moments:
    """Count, means and co-moments of pairs of numbers, updated batch by batch without loss of accuracy.

    Notes
    -----
    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances, 1979.
    """

    def __init__(self) -> None:
        self.count = 0
        self.means = np.zeros(2)
        self.products = np.zeros((2, 2))

    def add(self, pairs: np.ndarray) -> None:
        """Add pairs (2, n)."""
        count, means = pairs.shape[1], pairs.mean(axis=1)
        deviations, shift = pairs - means[:, None], means - self.means
        total = self.count + count
        # The shift of the mean adds to the sums of products as if both batches were concentrated at their means.
        self.products += deviations @ deviations.T + np.outer(shift, shift) * self.count * count / total
        self.means += shift * count / total
        self.count = total

    def correlation(self) -> float:
        """Pearson's coefficient; NaN for fewer than two pairs."""
        spread = self.products[0, 0] * self.products[1, 1]
        return float(self.products[0, 1] / sqrt(spread)) if self.count > 1 and spread else nan


@alias("pearsonr")
@register
class PearsonCorrelation(EvalMetric):
    """The Pearson correlation coefficient of labels and predictions.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    average
        ``"macro"``: mean over batches; ``"micro"``: over all pairs.

    Raises
    ------
    ParameterError
        If ``average`` is unknown.
    """

    def __init__(self, name: str = "pearsonr", output_names: Names = None, label_names: Names = None, average: str = "macro") -> None:
        if average not in ("macro", "micro"):
            raise ParameterError("PearsonCorrelation: unknown average", repr(average), "use 'macro' or 'micro'")
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Update the metric with labels and predictions of equal shape."""
        for label, pred in host_pairs(labels, preds):
            # elements are paired, so lengths that agree are not enough
            check_label_shapes(label, pred, shape=True)
            # Products of deviations are summed over all batches, for which single precision is too little.
            pairs = np.stack([label.ravel(), pred.ravel()]).astype("float64")
            if self.average == "macro":
                batch = _Moments()
                batch.add(pairs)
                self._add(batch.correlation(), 1)
            else:
                self._moments.add(pairs)
                self._global_moments.add(pairs)
                # the number of updates: the sum below is multiplied by it, because `get` divides by it
                self.num_inst += 1
                self.global_num_inst += 1
        if self.average == "micro":
            self.sum_metric = self._moments.correlation() * self.num_inst
            self.global_sum_metric = self._global_moments.correlation() * self.global_num_inst

    def reset(self) -> None:
        """Reset all sums."""
        super().reset()
        self._global_moments = _Moments()

    def reset_local(self) -> None:
        """Reset the sums since the last reset."""
        super().reset_local()
        self.reset_micro()

    def reset_micro(self) -> None:
        """Forget the pairs since the last reset. The coefficient is computed from all pairs together."""
        self._moments = _Moments()


@register
class Loss(EvalMetric):
    """Mean of all elements of the outputs, which are losses; labels are ignored.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "loss"
    _has_global_stats = True

    def __init__(self, name: str | None = None, output_names: Names = None, label_names: Names = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, labels: Arrays | None, preds: Arrays) -> None:
        """Update the metric with outputs of any shape."""
        for pred in on_host(preds):
            self._add(float(pred.sum()), pred.size)


@register
class Torch(Loss):
    """`Loss` under the name for outputs of Torch criterions.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "torch"


@register
class Caffe(Loss):
    """`Loss` under the name for outputs of Caffe losses.

    Parameters
    ----------
    name, output_names, label_names
        See `EvalMetric`.
    """

    _default_name: ClassVar[str] = "caffe"
