"""`Loss`: what all losses share, weights and means over samples."""

from typing import Any

from ..hybrid_block import HybridBlock

__all__ = ["Loss"]


class Loss(HybridBlock):
    """The base of losses: blocks that map predictions and labels to one number for each sample.

    Parameters
    ----------
    weight
        What the loss is multiplied by; None for nothing.
    batch_axis
        The samples' axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _weighted(self, F: Any, loss: Any, sample_weight: Any, factor: float = 1.0) -> Any:
        """The loss times the weights of samples, which broadcast to it, and times the common weight."""
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        return loss if self._weight is None else loss * (self._weight * factor)

    def _mean(self, F: Any, loss: Any) -> Any:
        """The mean of each sample."""
        return F.mean(loss, axis=self._batch_axis, exclude=True)
