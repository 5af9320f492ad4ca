"""Metric learning losses: of pairs, triplets and whole batches of embeddings."""

from typing import Unpack

from ..hybrid_block import Naming
from ..signatures import Functions, Operand
from .base import Loss
from .classification import KLDivLoss


class TripletLoss(Loss, arrays="nd"):
    """``max(0, Σ (pred − positive)² − Σ (pred − negative)² + margin)`` for each sample.

    Parameters
    ----------
    margin
        How much farther away the negative must be than the positive.
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Schroff, Kalenichenko and Philbin, FaceNet, CVPR 2015.
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Functions, pred: Operand, positive: Operand, negative: Operand) -> Operand:
        """The loss (n,) of embeddings (n, …)."""
        # squared distances are summed, not averaged: the margin is in their unit
        near, far = (F.square(F.reshape_like(x, pred) - pred) for x in (positive, negative))
        loss = F.sum(near - far, axis=self._batch_axis, exclude=True)
        return self._weighted(F, F.relu(loss + self._margin), None)


class CosineEmbeddingLoss(Loss, arrays="nd"):
    """``1 − cos(input1, input2)`` for pairs labeled 1, ``max(0, cos(input1, input2) − margin)`` for pairs labeled −1.

    Parameters
    ----------
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    margin
        The largest cosine of a pair labeled −1 that is not penalized.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Functions, input1: Operand, input2: Operand, label: Operand, sample_weight: Operand | None = None
    ) -> Operand:
        """The loss (n, 1) of vectors (n, d) and labels (n,)."""
        first = F.reshape_like(input1, input2)
        cosine = self._cosine_similarity(F, first, input2)
        # as the cosines are columns: (n,) would broadcast with (n, 1) to (n, n)
        label = F.reshape(label, shape=(-1, 1))
        loss = F.where(label == 1, 1 - cosine, F.relu(cosine - self._margin))
        return self._weighted(F, loss, sample_weight)

    def _cosine_similarity(self, F: Functions, x: Operand, y: Operand, axis: int = -1) -> Operand:
        """Cosines (n, 1) along the last axis. The product of the norms is bounded below by 1e-12, so zero vectors have cosine 0."""
        lengths = F.reshape(F.norm(x, axis=axis), shape=(-1, 1)) * F.reshape(F.norm(y, axis=axis), shape=(-1, 1))
        product = F.reshape(F.sum(x * y, axis=axis), shape=(-1, 1))
        return product / F.maximum(lengths, 1e-12)


class SDMLLoss(Loss, arrays="nd"):
    """Smoothed deep metric learning: pulls the pairs (x1[k], x2[k]) of a batch closer together than to its other rows.

    A softmax turns the negative distances from each row of x1 to all rows of x2 into probabilities. The loss is their divergence
    from smoothed labels.

    Parameters
    ----------
    smoothing_parameter
        The total probability that the labels assign to other rows.
    weight
        Has no effect, as in MXNet.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Bonadiman, Kumar and Mittal, Large scale question paraphrase retrieval with smoothed deep metric learning, W-NUT 2019.
    """

    def __init__(self, smoothing_parameter: float = 0.3, weight: float = 1.0, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        # A public attribute, as in MXNet; unweighted, which is why `weight` has no effect.
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Functions, x1: Operand, x2: Operand) -> Operand:
        """The loss (n,) of embeddings (n, d)."""
        rows = F.contrib.arange_like(x1, axis=0)
        # the identity matrix, without a batch size in the graph
        is_pair = F.broadcast_equal(F.expand_dims(rows, axis=0), F.expand_dims(rows, axis=1))
        # Counted by an operator, because a symbol's batch size is unknown. The divisor is at least 1, for batches of one row.
        count = F.sum(F.ones_like(rows))
        others = F.broadcast_div((1 - is_pair) * self.smoothing_parameter, F.maximum(count - 1, 1))
        labels = is_pair * (1 - self.smoothing_parameter) + others
        # (n, n, d): each row of x1 against each row of x2
        distances = F.broadcast_sub(F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0))
        log_probabilities = F.log_softmax(-F.sum(F.square(distances), axis=2), axis=1)
        return self.kl_loss(log_probabilities, labels)
