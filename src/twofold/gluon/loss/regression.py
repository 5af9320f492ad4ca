"""Regression losses: squared, absolute, Huber, Poisson."""

import math
from typing import Unpack

from ..hybrid_block import Naming
from ..signatures import Functions, Operand
from .base import Loss


class L2Loss(Loss, arrays="nd"):
    """Half the squared error, averaged over each sample: ``mean(½ (label − pred)²)``.

    Parameters
    ----------
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Examples
    --------
    >>> import twofold as mx
    >>> loss = mx.gluon.loss.L2Loss()
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 0], [1, 4]])).asnumpy().tolist()
    [1.0, 1.0]
    """

    _labels_elements = True

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions and labels (n, …), with sample weights that broadcast to them."""
        # Reshaped, not broadcast: labels (n,) of predictions (n, 1) must not make (n, n) errors.
        loss = F.square(F.reshape_like(label, pred) - pred)
        return self._mean(F, self._weighted(F, loss, sample_weight, 0.5))


class L1Loss(Loss, arrays="nd"):
    """The absolute error, averaged over each sample: ``mean(|label − pred|)``.

    Parameters
    ----------
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    _labels_elements = True

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions and labels (n, …), with sample weights that broadcast to them."""
        loss = F.abs(F.reshape_like(label, pred) - pred)
        return self._mean(F, self._weighted(F, loss, sample_weight))


class HuberLoss(Loss, arrays="nd"):
    """Quadratic for errors up to ``rho``, linear beyond: the mean of ``d² / (2 rho)`` or ``d − rho / 2`` for ``d = |label − pred|``.

    Parameters
    ----------
    rho
        The error at which the two parts meet.
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.

    Notes
    -----
    Huber, Robust estimation of a location parameter, Annals of Mathematical Statistics 35 (1964).
    """

    _labels_elements = True

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Functions, pred: Operand, label: Operand, sample_weight: Operand | None = None) -> Operand:
        """The loss (n,) of predictions and labels (n, …), with sample weights that broadcast to them."""
        distance = F.abs(F.reshape_like(label, pred) - pred)
        # the two branches and their slopes meet at rho
        loss = F.where(distance > self._rho, distance - 0.5 * self._rho, (0.5 / self._rho) * F.square(distance))
        return self._mean(F, self._weighted(F, loss, sample_weight))


class PoissonNLLLoss(Loss, arrays="nd"):
    """Negative log likelihood of counts under Poisson distributions with the predicted means, averaged over all elements.

    Parameters
    ----------
    weight
        Factor of the loss; None for 1.
    from_logits
        Whether predictions are logarithms of the means.
    batch_axis
        The batch axis.
    compute_full
        Whether to add Stirling's approximation of ``log(count!)`` for counts above 1.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    _labels_elements = True

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Unpack[Naming],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Functions, pred: Operand, target: Operand, sample_weight: Operand | None = None, epsilon: float = 1e-8
    ) -> Operand:
        """The loss (1,) of predictions and counts of the same size; ``epsilon`` is added to means before taking the logarithm."""
        target = F.reshape_like(target, pred)
        # −log of the density, less log(count!), which does not depend on the prediction
        loss = F.exp(pred) - target * pred if self._from_logits else pred - target * F.log(pred + epsilon)
        if self._compute_full:
            # Bounded first: 0 * log(0) would be NaN, which the mask below does not remove.
            above = F.maximum(target, 1)
            # n log n − n + ½ log(2πn), which is close to log(n!) from n = 2 on; for 0 and 1 log(n!) is 0
            stirling = above * F.log(above) - above + 0.5 * F.log(2 * math.pi * above)
            loss = loss + stirling * (target > 1)
        # Over all elements: unlike its other losses, MXNet's does not keep the batch axis.
        return F.mean(self._weighted(F, loss, sample_weight))
