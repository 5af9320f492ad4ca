"""Optimizers that divide the gradient by the root of a sum or mean of squared gradients."""

from typing import Unpack

from .. import ndarray as nd
from ..errors import InvalidValue, WrongShape
from ..ndarray.array import NDArray
from .base import Index, Optimizer, register, zeros_like
from .hyperparameters import Options, RateOptions


@register
class AdaGrad(Optimizer):
    """Gradient divided by the root of the sum of all squared gradients. Weight decay is applied outside the quotient.

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

    _state_arrays = 1  # the sum of squared gradients
    takes_rows = True

    def __init__(self, eps: float = 1e-7, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        lr, wd, _ = self._begin(index)
        if grad.stype == "row_sparse":
            nd.sparse.adagrad_update(weight, grad, state, out=weight, epsilon=self.float_stable_eps, **self._common(lr, wd))
            return
        g = self._scaled(grad)
        # eps is under the root, unlike Adam's epsilon
        state[:] = state + g * g
        weight[:] = weight - lr * (g / nd.sqrt(state + self.float_stable_eps) + wd * weight)


@register
class GroupAdaGrad(Optimizer):
    """`AdaGrad` with one sum per row of a weight (rows, columns).

    Parameters
    ----------
    eps
        Added to the sum.
    kwargs
        See `Optimizer`; weight decay must be 0.

    Raises
    ------
    ParameterError
        On update, if a weight has a weight decay.
    """

    takes_rows = True

    def __init__(self, eps: float = 1e-5, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """The sums (rows, 1) of the rows' mean squared gradients."""
        if weight.ndim != 2:
            raise WrongShape("GroupAdaGrad: the weight must have two axes", f"shape {weight.shape}", "use AdaGrad for it")
        # a column, so that it broadcasts over each row's elements
        return nd.zeros((weight.shape[0], 1), ctx=weight.context, dtype=weight._dtype)

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        lr, wd, _ = self._begin(index)
        if wd:
            # MXNet's operator has no term for it
            raise InvalidValue("GroupAdaGrad: Weight decay is not supported", f"wd {wd} of {index!r}", "set wd to 0")
        nd.contrib.group_adagrad_update(weight, grad, state, out=weight, lr=lr, epsilon=self.float_stable_eps, **self._scaling())


@register
class RMSProp(Optimizer):
    """Gradient divided by the root of the running mean of squared gradients.

    Parameters
    ----------
    learning_rate
        The learning rate.
    gamma1
        Decay rate of the running mean.
    gamma2
        The momentum, if ``centered``.
    epsilon
        Added under the root.
    centered
        Use the variance of the gradients instead of their mean square.
    clip_weights
        Clip weights to [-clip_weights, clip_weights]; None for no clipping.
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
        **kwargs: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1, self.gamma2, self.centered, self.epsilon = gamma1, gamma2, centered, epsilon
        self.clip_weights = clip_weights

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, ...]:
        """(mean square,), or if centered (mean square, mean, momentum)."""
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, ...]) -> None:
        lr, wd, _ = self._begin(index)
        common, gamma1, epsilon, bound = self._common(lr, wd), self.gamma1, self.epsilon, self.clip_weights or -1.0
        if self.centered:
            # running means of the squared gradient and of the gradient, and the momentum, under Graves' names
            n, g, delta = state
            nd.rmspropalex_update(
                weight, grad, n, g, delta, out=weight, gamma1=gamma1, gamma2=self.gamma2, epsilon=epsilon, clip_weights=bound, **common
            )
        else:
            nd.rmsprop_update(weight, grad, state[0], out=weight, gamma1=gamma1, epsilon=epsilon, clip_weights=bound, **common)


@register
class AdaDelta(Optimizer):
    """Gradient scaled by the root mean square of past steps over that of past gradients; needs no learning rate.

    Parameters
    ----------
    rho
        Decay rate of the two mean squares.
    epsilon
        Added to both.
    kwargs
        See `Optimizer`; the learning rate has no effect.

    Notes
    -----
    Zeiler, ADADELTA: an adaptive learning rate method, 2012.
    """

    _state_arrays = 2  # mean square of the gradients, mean square of the steps

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        _, wd, _ = self._begin(index)  # the steps have the weight's unit already, so no learning rate
        of_gradients, of_steps = state
        g = self._scaled(grad)
        of_gradients[:] = self.rho * of_gradients + (1.0 - self.rho) * g * g
        # The steps' mean square does not include this step, which is not known yet: the numerator is one update behind.
        step = nd.sqrt(of_steps + self.epsilon) / nd.sqrt(of_gradients + self.epsilon) * g
        of_steps[:] = self.rho * of_steps + (1.0 - self.rho) * step * step
        weight[:] = weight - step - wd * weight
