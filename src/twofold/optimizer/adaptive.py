"""Optimizers that scale the step of each element by what its gradients have been."""

from math import sqrt
from typing import Any

from .. import ndarray as nd
from ..errors import ParameterError, ShapeError
from ..ndarray.array import NDArray
from .base import Optimizer, register, zeros_like

__all__ = ["FTML", "AdaDelta", "AdaGrad", "Adam", "Adamax", "Ftrl", "GroupAdaGrad", "Nadam", "RMSProp"]


@register
class Adam(Optimizer):
    """Steps along the mean of gradients over the root of the mean of their squares.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        How much of the two means stays at each update.
    epsilon
        Added to the root.
    lazy_update
        Leave rows of the weight alone for which a row-sparse gradient has none; dense gradients have all rows.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Kingma and Ba, Adam: a method for stochastic optimization, 2014.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray]:
        """(mean of the gradients, mean of their squares)."""
        return zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, t = self._begin(index)
        mean, var = state
        nd.adam_update(
            weight,
            grad,
            mean,
            var,
            out=weight,
            lr=lr * sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t),
            wd=wd,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            lazy_update=self.lazy_update,
            **self._scaling(),
        )


@register
class Adamax(Optimizer):
    """`Adam` with the largest gradient so far, slowly forgotten, in place of the root of the mean of squares.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        How much of the mean and of the maximum stays at each update.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Kingma and Ba, Adam: a method for stochastic optimization, 2014, section 7.1.
    """

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray]:
        """(mean of the gradients, maximum of their absolute values)."""
        return zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, t = self._begin(index)
        mean, largest = state
        g = self._clipped(grad * self.rescale_grad + wd * weight)
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * g
        largest[:] = nd.maximum(self.beta2 * largest, nd.abs(g))
        weight[:] = weight - (lr / (1.0 - self.beta1**t)) * mean / largest


@register
class Nadam(Optimizer):
    """`Adam` with Nesterov's momentum.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        How much of the two means stays at each update.
    epsilon
        Added to the root.
    schedule_decay
        How fast the momentum rises to ``beta1``.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Dozat, Incorporating Nesterov momentum into Adam, 2016. The product of the momenta so far is one for all weights, as in MXNet.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray]:
        """(mean of the gradients, mean of their squares)."""
        return zeros_like(weight), zeros_like(weight)

    def _momentum(self, t: int) -> float:
        return self.beta1 * (1.0 - 0.5 * 0.96 ** (t * self.schedule_decay))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, t = self._begin(index)
        mean, var = state
        g = self._clipped(grad * self.rescale_grad + wd * weight)
        now, following = self._momentum(t), self._momentum(t + 1)
        self.m_schedule *= now
        mean[:] = self.beta1 * mean + (1.0 - self.beta1) * g
        var[:] = self.beta2 * var + (1.0 - self.beta2) * g * g
        ahead = ((1.0 - now) / (1.0 - self.m_schedule)) * g + (following / (1.0 - self.m_schedule * following)) * mean
        weight[:] = weight - lr * ahead / (nd.sqrt(var / (1.0 - self.beta2**t)) + self.epsilon)


@register
class AdaGrad(Optimizer):
    """Steps over the root of the sum of squared gradients; the weight decay is not part of the gradient.

    Parameters
    ----------
    eps
        Added to the sum.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization, 2011.
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        """The sum of squared gradients."""
        return zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, _ = self._begin(index)
        g = self._scaled(grad)
        state[:] = state + g * g
        weight[:] = weight - lr * (g / nd.sqrt(state + self.float_stable_eps) + wd * weight)


@register
class GroupAdaGrad(Optimizer):
    """`AdaGrad` with one sum for each row of a weight (rows, columns).

    Parameters
    ----------
    eps
        Added to the sum.
    kwargs
        See `Optimizer`; weight decay must be 0.

    Raises
    ------
    ParameterError
        When a weight would decay.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> NDArray:
        """The sums (rows, 1) of the rows' mean squared gradients."""
        if weight.ndim != 2:
            raise ShapeError("GroupAdaGrad: only weights of two axes have rows", f"shape {weight.shape}", "use AdaGrad for it")
        return nd.zeros((weight.shape[0], 1), ctx=weight.context, dtype=weight._dtype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, _ = self._begin(index)
        if wd:
            raise ParameterError("GroupAdaGrad: Weight decay is not supported", f"wd {wd} of {index!r}", "set wd to 0")
        g = self._scaled(grad)
        state[:] = state + nd.mean(g * g, axis=1, keepdims=True)
        weight[:] = weight - lr * nd.broadcast_div(g, nd.sqrt(state + self.float_stable_eps))


@register
class RMSProp(Optimizer):
    """Steps over the root of the mean of squared gradients.

    Parameters
    ----------
    learning_rate
        The learning rate.
    gamma1
        How much of the mean stays at each update.
    gamma2
        The momentum, if ``centered``.
    epsilon
        Added below the root.
    centered
        Take the gradients' variance in place of their mean square.
    clip_weights
        Bound of the absolute value of weights; None for no bound.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Tieleman and Hinton, Lecture 6.5, 2012; centered: Graves, Generating sequences with recurrent neural networks, 2013, eq. 38–45.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.centered = centered
        self.epsilon = epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, ...]:
        """(mean square,), or if centered (mean square, mean, momentum)."""
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, _ = self._begin(index)
        common = {"lr": lr, "wd": wd, "gamma1": self.gamma1, "epsilon": self.epsilon, **self._scaling()}
        if self.clip_weights:
            common["clip_weights"] = self.clip_weights
        if self.centered:
            nd.rmspropalex_update(weight, grad, *state, out=weight, gamma2=self.gamma2, **common)
        else:
            nd.rmsprop_update(weight, grad, *state, out=weight, **common)


@register
class AdaDelta(Optimizer):
    """Steps of the size that steps have had, over that which gradients have had; no learning rate.

    Parameters
    ----------
    rho
        How much of the two mean squares stays at each update.
    epsilon
        Added to both.
    kwargs
        See `Optimizer`; the learning rate has no effect.

    Notes
    -----
    Zeiler, ADADELTA: an adaptive learning rate method, 2012.
    """

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray]:
        """(mean square of the gradients, mean square of the steps)."""
        return zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        _, wd, _ = self._begin(index)
        of_gradients, of_steps = state
        g = self._scaled(grad)
        of_gradients[:] = self.rho * of_gradients + (1.0 - self.rho) * g * g
        step = nd.sqrt(of_steps + self.epsilon) / nd.sqrt(of_gradients + self.epsilon) * g
        of_steps[:] = self.rho * of_steps + (1.0 - self.rho) * step * step
        weight[:] = weight - step - wd * weight


@register
class Ftrl(Optimizer):
    """Follow the regularized leader: keeps weights at exactly 0 whose gradients stay small.

    Parameters
    ----------
    lamda1
        Strength of the pull to 0.
    learning_rate, beta
        The learning rate and what its root is started from.
    kwargs
        See `Optimizer`.

    Notes
    -----
    McMahan et al., Ad click prediction: a view from the trenches, 2013.
    """

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lamda1 = lamda1
        self.beta = beta
        self.lr = learning_rate

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray]:
        """(z, n) of the paper."""
        return zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, _ = self._begin(index)
        nd.ftrl_update(weight, grad, *state, out=weight, lr=lr, wd=wd, lamda1=self.lamda1, beta=self.beta, **self._scaling())


@register
class FTML(Optimizer):
    """Follow the moving leader.

    Parameters
    ----------
    beta1, beta2
        How much of the means stays at each update.
    epsilon
        Added to the root of the mean square.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Zheng and Kwok, Follow the moving leader in deep learning, 2017, algorithm 1.
    """

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index: Any, weight: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """(d, v, z) of the paper."""
        return zeros_like(weight), zeros_like(weight), zeros_like(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight."""
        lr, wd, t = self._begin(index)
        d, v, z = state
        g = self._clipped(grad * self.rescale_grad + wd * weight)
        v[:] = self.beta2 * v + (1.0 - self.beta2) * g * g
        new_d = ((1.0 - self.beta1**t) / lr) * (nd.sqrt(v / (1.0 - self.beta2**t)) + self.epsilon)
        z[:] = self.beta1 * z + (1.0 - self.beta1) * g - (new_d - self.beta1 * d) * weight
        d[:] = new_d
        weight[:] = -z / new_d
