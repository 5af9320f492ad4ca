"""``mx.lr_scheduler``: the learning rate as a function of the number of updates, with an optional warm-up."""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from math import cos, pi
from numbers import Real

from .errors import InvalidValue, ParameterError, Undefined
from .extension_points import shown_as_text

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]

#: Up to this many changes of a `FactorScheduler` in one call are made one by one, each rounded. A limit, because 2**60 changes would
#: keep a server busy forever.
MOST_CHANGES = 100_000


class LRScheduler:
    """Base class of schedulers. Subclasses return the learning rate from ``__call__``.

    Parameters
    ----------
    base_lr
        Learning rate at the end of the warm-up. An optimizer's ``learning_rate``, if given, replaces it.
    warmup_steps
        Length of the warm-up in updates.
    warmup_begin_lr
        Learning rate at the start of the warm-up.
    warmup_mode
        ``"linear"``: rises from ``warmup_begin_lr`` to ``base_lr`` in equal steps; ``"constant"``: stays at ``warmup_begin_lr``.

    Raises
    ------
    ParameterError
        If the warm-up starts above ``base_lr``, or its length is negative or its mode unknown.
    """

    __repr__ = shown_as_text("settings")

    def __init__(self, base_lr: float = 0.01, warmup_steps: int = 0, warmup_begin_lr: float = 0, warmup_mode: str = "linear") -> None:
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode
        self._check_warmup()
        if warmup_begin_lr > base_lr:
            raise ParameterError(
                "LRScheduler: Base lr has to be higher than warmup_begin_lr", f"{base_lr} and {warmup_begin_lr}", "raise base_lr"
            )

    def _check_warmup(self) -> None:
        if not isinstance(self.warmup_steps, int) or self.warmup_steps < 0:
            given = repr(self.warmup_steps)
            raise InvalidValue("LRScheduler: Warmup steps has to be positive or 0", given, "pass a whole number of updates")
        if self.warmup_mode not in ("linear", "constant"):
            raise ParameterError("LRScheduler: unknown warmup_mode", repr(self.warmup_mode), "use 'linear' or 'constant'")

    def check(self) -> None:
        """Check values that were set without the constructor, as restoring a scheduler does. Subclasses may extend it.

        Raises
        ------
        ParameterError
            If the constructor would have refused a value.
        """

    def get_warmup_lr(self, num_update: int) -> float:
        """The learning rate of an update during the warm-up.

        Raises
        ------
        InvalidValue
            If the warm-up is over.
        """
        if num_update < 0:
            raise InvalidValue("LRScheduler: the number of an update is negative", f"{num_update}", "count from 0")
        if num_update >= self.warmup_steps:
            raise InvalidValue("LRScheduler: the warm-up is over", f"update {num_update} of {self.warmup_steps}", "call the scheduler")
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        """The learning rate of an update; for subclasses to define.

        Parameters
        ----------
        num_update
            The highest update count of any weight.
        """
        raise Undefined(f"{type(self).__name__} returns no learning rate", None, "define __call__(self, num_update) in it")


class FactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor every ``step`` updates: ``base_lr · factor^floor(num_update / step)``.

    Parameters
    ----------
    step
        Number of updates between changes.
    factor
        The factor, at most 1.
    stop_factor_lr
        Lower bound of the learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Raises
    ------
    ParameterError
        If ``step`` is below 1 or ``factor`` above 1.

    Examples
    --------
    >>> import twofold as mx
    >>> rate = mx.lr_scheduler.FactorScheduler(step=10, factor=0.5, base_lr=0.1)
    >>> [rate(update) for update in (1, 11, 21)]
    [0.1, 0.05, 0.025]
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0
        self.check()

    def check(self) -> None:
        """Check the step, the factor, the count and the warm-up; see `LRScheduler.check`."""
        self._check_warmup()
        _check_steps([self.step])
        _check_factor(self.factor)
        _check_count(self.count)

    def __call__(self, num_update: int) -> float:
        """The learning rate of an update."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        changes = -int((self.count - num_update) // self.step) - 1  # a step may be a fraction
        for _ in range(min(changes, MOST_CHANGES)):
            before = self.base_lr
            self._multiply(self.factor, num_update)
            if self.base_lr == before:  # nor will it change later
                break
        else:
            if changes > MOST_CHANGES:
                self._multiply(self.factor ** (changes - MOST_CHANGES), num_update)
        if changes > 0:  # 0 times an infinite step is no number
            self.count += changes * self.step
        return self.base_lr

    def _multiply(self, factor: float, num_update: int) -> None:
        self.base_lr *= factor
        if self.base_lr < self.stop_factor_lr:
            self.base_lr = self.stop_factor_lr
            logging.info("Update[%d]: now learning rate arrived at %0.5e, will not change in the future", num_update, self.base_lr)
        else:
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)


class MultiFactorScheduler(LRScheduler):
    """Multiplies the learning rate by a factor at each of a list of update counts.

    Parameters
    ----------
    step
        The update counts, in increasing order.
    factor
        The factor, at most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Raises
    ------
    ParameterError
        If the counts do not increase or start below 1, or ``factor`` is above 1.

    Examples
    --------
    >>> import twofold as mx
    >>> rate = mx.lr_scheduler.MultiFactorScheduler(step=[10, 15], factor=0.1, base_lr=1.0)
    >>> [round(rate(update), 4) for update in (1, 11, 16)]
    [1.0, 0.1, 0.01]
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _check_steps(step)
        self.step = list(step)
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0
        self.check()

    def check(self) -> None:
        """Check the steps, the factor, the counts and the warm-up; see `LRScheduler.check`."""
        self._check_warmup()
        _check_steps(self.step)
        _check_factor(self.factor)
        _check_count(self.count)
        _check_count(self.cur_step_ind)
        if not isinstance(self.cur_step_ind, int):
            raise ParameterError(
                "MultiFactorScheduler: the number of the next step must be an integer", repr(self.cur_step_ind), "pass one"
            )

    def __call__(self, num_update: int) -> float:
        """The learning rate of an update."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: Change learning rate to %0.5e", num_update, self.base_lr)
        return self.base_lr


class _Descent(LRScheduler, ABC):
    """Decays from ``base_lr`` at the end of the warm-up to ``final_lr`` at ``max_update``, along a curve from 1 to 0."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.max_update = max_update
        self.check()
        self.base_lr_orig = self.base_lr
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def check(self) -> None:
        """Check the number of updates and the warm-up; see `LRScheduler.check`."""
        self._check_warmup()
        if not isinstance(self.max_update, int) or self.max_update < 1:
            raise InvalidValue(
                f"{type(self).__name__}: maximum number of updates must be strictly positive", repr(self.max_update), "pass a whole number"
            )

    def __call__(self, num_update: int) -> float:
        """The learning rate of an update."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            progress = (num_update - self.warmup_steps) / self.max_steps if self.max_steps else 1.0
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * self._remainder(progress)
        return self.base_lr

    @abstractmethod
    def _remainder(self, progress: float) -> float:
        """The curve: 1 at progress 0, 0 at progress 1."""


class PolyScheduler(_Descent):
    """Polynomial decay: ``final_lr + (base_lr − final_lr) · (1 − progress)^pwr``.

    Parameters
    ----------
    max_update
        Update count at which the decay ends.
    base_lr
        Learning rate at the end of the warm-up.
    pwr
        The power.
    final_lr
        Learning rate at the end of the decay.
    warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Examples
    --------
    >>> import twofold as mx
    >>> rate = mx.lr_scheduler.PolyScheduler(max_update=100, base_lr=0.1, pwr=2)
    >>> [round(rate(update), 4) for update in (0, 50, 100)]
    [0.1, 0.025, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _remainder(self, progress: float) -> float:
        return (1 - progress) ** self.power


class CosineScheduler(_Descent):
    """Cosine decay: ``final_lr + (base_lr − final_lr) · (1 + cos(π · progress)) / 2``.

    Parameters
    ----------
    max_update
        Update count at which the decay ends.
    base_lr
        Learning rate at the end of the warm-up.
    final_lr
        Learning rate at the end of the decay.
    warmup_steps, warmup_begin_lr, warmup_mode
        See `LRScheduler`.

    Notes
    -----
    Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, 2016 (without the restarts).

    Examples
    --------
    >>> import twofold as mx
    >>> rate = mx.lr_scheduler.CosineScheduler(max_update=100, base_lr=0.1)
    >>> [round(rate(update), 4) for update in (0, 50, 100)]
    [0.1, 0.05, 0.0]
    """

    def _remainder(self, progress: float) -> float:
        return (1 + cos(pi * progress)) / 2


def _check_steps(step: Sequence[int]) -> None:
    if (
        not isinstance(step, list)
        or not step
        or not all(isinstance(s, Real) and s >= 1 for s in step)
        or any(b <= a for a, b in pairwise(step))
    ):
        raise InvalidValue(
            "LRScheduler: Schedule step must be an increasing integer list, each greater or equal than 1", repr(step), "pass such a list"
        )


def _check_count(count: float) -> None:
    if not isinstance(count, Real) or not 0 <= count < math.inf:  # not `< 0`, which NaN would pass
        raise ParameterError("LRScheduler: a count of updates must be 0 or more", repr(count), "start counting at 0")


def _check_factor(factor: float) -> None:
    if factor > 1:
        raise ParameterError("LRScheduler: Factor must be no more than 1 to make lr reduce", str(factor), "pass one between 0 and 1")
