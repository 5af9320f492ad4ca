"""`LossScaler`: a factor that keeps the gradients of a loss within float16's range, adapted while training."""

from collections.abc import Sequence
from typing import Any

from ... import ndarray as nd
from ...gluon.parameter import Parameter

__all__ = ["LossScaler"]


class LossScaler:
    """Adapts the factor by which a loss is multiplied before backward.

    The factor halves after a step with gradients that are not finite, and doubles after 2000 finite steps, up to 2^24.

    Notes
    -----
    Source: Micikevicius et al., "Mixed precision training", ICLR 2018.

    Examples
    --------
    >>> LossScaler().loss_scale
    65536.0
    """

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._next_loss_scale = self._loss_scale
        self._max_loss_scale = 2.0**24
        # Steps without overflow after which the factor doubles.
        self._scale_seq_len = 2000
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The factor."""
        return self._loss_scale

    def has_overflow(self, params: Sequence[Parameter]) -> bool:
        """Whether a gradient of some parameter is infinite or NaN, on any device. Adapts the factor of the next step.

        Parameters
        ----------
        params
            The parameters; those without gradients are skipped.
        """
        self._loss_scale = self._next_loss_scale
        by_device: dict[object, list[Any]] = {}
        for param in params:
            for grad in param.list_grad() if param.grad_req != "null" else ():
                by_device.setdefault(grad.context, []).append(grad)
        # one answer per device; all are requested before the first is awaited
        finite = [nd.multi_all_finite(*grads) for grads in by_device.values()]
        overflow = not all(bool(answer.asscalar()) for answer in finite)
        if overflow:
            self._next_loss_scale, self._unskipped = self._loss_scale / 2.0, 0
        else:
            self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._next_loss_scale, self._unskipped = min(self._max_loss_scale, self._loss_scale * 2.0), 0
        return overflow
