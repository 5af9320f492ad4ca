"""`Loss`: the base of losses, with weighting and means over samples."""

import math
from numbers import Real
from typing import Unpack

from ...errors import InvalidValue
from ..hybrid_block import Mistake, Naming, Shape
from ..layer import Layer
from ..signatures import Functions, Operand


class Loss(Layer):
    """Base class of losses, which map predictions and labels to one value per sample.

    Parameters
    ----------
    weight
        Factor of the loss; None for 1.
    batch_axis
        The batch axis.
    **kwargs
        ``prefix`` and ``params``, see `Block`.
    """

    #: Whether each element of the predictions has a label, in the same number of elements.
    _labels_elements = False

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[Naming]) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _weighted(self, F: Functions, loss: Operand, sample_weight: Operand | None, factor: float = 1.0) -> Operand:
        """Multiply the loss by the sample weights, which broadcast to it, and by the common weight."""
        if not isinstance(self._weight, (Real, type(None))):
            raise InvalidValue("weight must be a number", repr(self._weight), "pass weights of samples in the call")
        return weighted(F, loss, None if self._weight is None else self._weight * factor, sample_weight)

    def _mean(self, F: Functions, loss: Operand) -> Operand:
        """The mean over each sample."""
        # `exclude`: over all axes but the batch axis, however many there are
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def _mistake(self, *shapes: Shape) -> Mistake | None:
        if not self._labels_elements or math.prod(shapes[0]) == math.prod(shapes[1]):
            return None
        return unlike_predictions(shapes[0], shapes[1])


def unlike_predictions(pred: Shape, label: Shape) -> Mistake:
    """What is wrong with labels of another number than the predictions ask for."""
    return "the labels do not match the predictions", f"labels {label} for predictions {pred}", "pass as many labels as predictions"


def weighted(F: Functions, loss: Operand, weight: float | None, sample_weight: Operand | None) -> Operand:
    """A loss times the weights of the samples, which broadcast to it, and times a number; None means ones."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    return loss if weight is None else loss * weight
