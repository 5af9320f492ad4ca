"""Follow-the-leader optimizers: each step solves for the best weight given all gradients so far."""

from typing import Unpack

from .. import ndarray as nd
from ..ndarray.array import NDArray
from .base import Index, Optimizer, register
from .hyperparameters import Options, RateOptions


@register
class Ftrl(Optimizer):
    """Follow the regularized leader: weights whose gradients stay small are exactly 0.

    Parameters
    ----------
    lamda1
        Strength of the L1 regularization.
    learning_rate, beta
        α and β of the paper's learning rate ``α / (β + sqrt(n))``.
    kwargs
        See `Optimizer`.

    Notes
    -----
    McMahan et al., Ad click prediction: a view from the trenches, 2013.
    """

    _state_arrays = 2  # z and n of the paper
    takes_rows = True

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Unpack[Options]) -> None:
        super().__init__(**kwargs)
        # Not through the base class, as in MXNet: a scheduler keeps its own rate.
        self.lamda1, self.beta, self.lr = lamda1, beta, learning_rate

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        lr, wd, _ = self._begin(index)
        nd.ftrl_update(weight, grad, *state, out=weight, lamda1=self.lamda1, beta=self.beta, **self._common(lr, wd))


@register
class FTML(Optimizer):
    """Follow the moving leader.

    Parameters
    ----------
    beta1, beta2
        Decay rates of the running means.
    epsilon
        Added to the root of the mean square.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Zheng and Kwok, Follow the moving leader in deep learning, 2017, algorithm 1.
    """

    _state_arrays = 3  # d, v and z of the paper

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Unpack[RateOptions]) -> None:
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray, NDArray]) -> None:
        lr, wd, t = self._begin(index)
        nd.ftml_update(
            weight, grad, *state, out=weight, lr=lr, wd=wd, beta1=self.beta1, beta2=self.beta2, epsilon=self.epsilon, t=float(t),
            rescale_grad=self.rescale_grad, clip_grad=self.clip_gradient or -1.0,
        )  # fmt: skip
