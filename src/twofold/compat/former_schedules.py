"""``mxnet.misc``: learning rates as functions of the iteration, from before `twofold.lr_scheduler`."""

import logging
import math

from ..errors import InvalidValue, Undefined

__all__ = ["FactorScheduler", "LearningRateScheduler"]


class LearningRateScheduler:
    """Base class of learning rates as functions of the iteration, called with its number."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        """The learning rate of an iteration; for subclasses to define."""
        raise Undefined("must override this", type(self).__name__, "define __call__(self, iteration) in it")


class FactorScheduler(LearningRateScheduler):
    """Multiplies the learning rate by a factor every ``step`` iterations: ``base_lr · factor^floor(iteration / step)``.

    Parameters
    ----------
    step
        Number of iterations between changes.
    factor
        The factor, below 1.

    Raises
    ------
    ParameterError
        If ``step`` is below 1, or ``factor`` is not below 1 (both are ValueErrors).
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise InvalidValue("Schedule step must be greater or equal than 1 round", f"step={step}", "pass a positive number")
        if factor >= 1.0:
            raise InvalidValue("Factor must be less than 1 to make lr reduce", f"factor={factor}", "pass a smaller factor")
        self.step, self.factor = step, factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        """The learning rate of an iteration."""
        if not self.init:
            self.init, self.old_lr = True, self.base_lr
        rate = self.base_lr * math.pow(self.factor, int(iteration / self.step))
        if rate != self.old_lr:
            self.old_lr = rate
            logging.info("At Iteration [%d]: Swith to new learning rate %.5f", iteration, rate)
        return rate
