"""Adam and its variants: the running mean of the gradients, divided by a running measure of their size."""

from collections.abc import Sequence
from math import sqrt
from typing import Unpack

from .. import ndarray as nd
from ..ndarray.array import NDArray
from ..ops import optimizer_adaptive
from .attempt import Attempt
from .base import Index, Indices, Optimizer, State, Weights, each, register
from .hyperparameters import Options
from .multi_tensor import are_independent, update_weights


@register
class Adam(Optimizer):
    """Running mean of the gradients, divided by the root of the running mean of their squares.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        Decay rates of the two running means.
    epsilon
        Added to the root, so that the quotient stays finite.
    lazy_update
        Update only the rows present in a row-sparse gradient. A dense gradient has every row.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Kingma and Ba, Adam: a method for stochastic optimization, 2014.
    """

    _state_arrays = 2  # mean of the gradients, mean of their squares

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update

    def _aggregates_all(self) -> bool:
        # a subclass that overrides `update` expects one weight at a time, as in MXNet; one that sets the number, no more than that
        if self.aggregate_num != Adam.aggregate_num:
            return False
        own = type(self)
        # the rates of one weight, which MXNet's Adam asks for
        if own._get_lr is not Optimizer._get_lr or own._get_wd is not Optimizer._get_wd:
            return False
        return own.update is Adam.update and own.update_multi_precision is Optimizer.update_multi_precision

    def update(self, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
        """Update one weight or a list of weights."""
        items = list(each(index, weight, grad, state))
        # one by one if weights may share memory: the second update must read the first one's result
        for group in [items] if are_independent([w for _, w, _, _ in items]) else [[item] for item in items]:
            operands = [(w, g, *means) for _, w, g, means in group]
            indices = [i for i, _, _, _ in group]
            with Attempt(self, indices):
                self._apply(operands, [self._scalars(*step) for step in self._begin_all(indices)])

    def _scalars(self, lr: float, wd: float, t: int) -> tuple[float, ...]:
        # bias correction is folded into the rate, as the paper suggests: the operator has no step count
        rate = lr * sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        return tuple(map(float, (rate, self.beta1, self.beta2, self.epsilon, wd, self.rescale_grad)))

    def _apply(self, operands: Sequence[Sequence[NDArray]], scalars: list[tuple[float, ...]]) -> None:
        # here 0 means no bound, but the operator would take it as a bound: leave the parameter out
        params = {"clip_gradient": self.clip_gradient} if self.clip_gradient else {}
        update_weights(optimizer_adaptive.adam_update, operands, scalars, lazy_update=self.lazy_update, **params)


@register
class Adamax(Optimizer):
    """`Adam` with a decaying maximum of the absolute gradients in place of the root of the mean square.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        Decay rates of the mean and of the maximum.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Kingma and Ba, Adam: a method for stochastic optimization, 2014, section 7.1.
    """

    _state_arrays = 2  # mean of the gradients, maximum of their absolute values

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Unpack[Options]) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2 = beta1, beta2

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        lr, wd, t = self._begin(index)
        mean, largest = state
        g = self._clipped(grad * self.rescale_grad + wd * weight)
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * g
        # u of the paper. It needs no correction for its start at 0, as a maximum is not drawn towards it
        largest[:] = nd.maximum(self.beta2 * largest, nd.abs(g))
        # no epsilon, as in MXNet: where all gradients have been 0 the result is NaN
        weight[:] = weight - (lr / (1.0 - self.beta1**t)) * mean / largest


@register
class Nadam(Optimizer):
    """`Adam` with Nesterov momentum.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        Decay rates of the two running means.
    epsilon
        Added to the root, so that the quotient stays finite.
    schedule_decay
        How fast the momentum rises to ``beta1``.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Dozat, Incorporating Nesterov momentum into Adam, 2016. As in MXNet, all weights share one running product of momenta.
    """

    _state_arrays = 2  # mean of the gradients, mean of their squares
    progress_attributes = (*Optimizer.progress_attributes, "m_schedule")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.schedule_decay = beta1, beta2, epsilon, schedule_decay
        self.m_schedule = 1.0

    def _momentum(self, t: int) -> float:
        # μ of the paper: it rises from beta1 / 2 to beta1
        return self.beta1 * (1.0 - 0.5 * 0.96 ** (t * self.schedule_decay))

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        lr, wd, t = self._begin(index)
        mean, var = state
        g = self._clipped(grad * self.rescale_grad + wd * weight)
        now, following = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= now  # one product for all weights: with n weights it falls n times as fast as in the paper
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * g
        var[:] = self.beta2 * var + (1.0 - self.beta2) * g * g
        # m̄ of the paper: the gradient is corrected by the product of μ up to this step, the mean by that up to the next one
        ahead = ((1.0 - now) / (1.0 - self.m_schedule)) * g + (following / (1.0 - self.m_schedule * following)) * mean
        weight[:] = weight - lr * ahead / (nd.sqrt(var / (1.0 - self.beta2**t)) + self.epsilon)
