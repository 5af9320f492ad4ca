"""Optimizers that shrink weights by a share of the rate, apart from the gradient: AdamW, Lion, Adafactor, Muon; and rectified Adam."""

from math import sqrt
from typing import Unpack

from .. import ndarray as nd
from ..ndarray.array import NDArray
from .base import Index, Optimizer, State, register, zeros_like
from .hyperparameters import Options, UndecayedOptions


@register
class AdamW(Optimizer):
    """`Adam` whose weight decay shrinks the weight by ``learning_rate · wd`` instead of being part of the gradient.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        Decay rates of the two running means.
    wd
        Weight decay.
    epsilon
        Added to the root, so that the quotient stays finite.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Loshchilov and Hutter, Decoupled weight decay regularization, ICLR 2019.

    Examples
    --------
    >>> import twofold as mx
    >>> w = mx.nd.array([1.0, -1.0])
    >>> rule = mx.optimizer.AdamW(learning_rate=0.1, wd=0.5)
    >>> rule.update("w_weight", w, mx.nd.array([1.0, 1.0]), rule.create_state("w_weight", w))
    >>> w.asnumpy().round(3).tolist()
    [0.8500000238418579, -1.0499999523162842]
    """

    _state_arrays = 2  # the two running means

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        wd: float = 0.01,
        epsilon: float = 1e-8,
        **kwargs: Unpack[UndecayedOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, wd=wd, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        _step(self, index, weight, grad, state)


def _step(rule: "AdamW | Muon", index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
    """The update of `AdamW`."""
    lr, wd, t = rule._begin(index)
    mean, var = state
    g = rule._scaled(grad)
    mean[:] = rule.beta1 * mean + (1 - rule.beta1) * g
    var[:] = rule.beta2 * var + (1 - rule.beta2) * g * g
    # both means start at 0: they are divided by what they would be if all gradients were 1
    root = nd.sqrt(var) / sqrt(1 - rule.beta2**t) + rule.epsilon
    weight[:] = (1 - lr * wd) * weight - lr / (1 - rule.beta1**t) * mean / root


@register
class RAdam(Optimizer):
    """`Adam` that waits with the division until the mean of the squares is known well enough: a warm-up by itself.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        Decay rates of the two running means.
    epsilon
        Added to the root, so that the quotient stays finite.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Liu et al., On the variance of the adaptive learning rate and beyond, ICLR 2020.

    Examples
    --------
    >>> import twofold as mx
    >>> optimizer = mx.optimizer.RAdam(learning_rate=0.1)
    >>> weight, gradient = mx.nd.ones(2), mx.nd.array([1, -1])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, gradient, state)
    >>> weight.asnumpy()
    array([0.9, 1.1], dtype=float32)
    """

    _state_arrays = 2  # mean of the gradients, mean of their squares

    def __init__(
        self, learning_rate: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Unpack[Options]
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: tuple[NDArray, NDArray]) -> None:
        lr, wd, t = self._begin(index)
        mean, var = state
        g = self._clipped(grad * self.rescale_grad + wd * weight)
        mean[:] = self.beta1 * mean + (1 - self.beta1) * g
        var[:] = self.beta2 * var + (1 - self.beta2) * g * g
        step = lr / (1 - self.beta1**t) * mean
        # ρ of the paper: the length of the mean of the squares, as that of a simple average
        longest = 2 / (1 - self.beta2) - 1
        length = longest - 2 * t * self.beta2**t / (1 - self.beta2**t)
        if length > 5:
            factor = sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
            step = step * (factor * sqrt(1 - self.beta2**t)) / (nd.sqrt(var) + self.epsilon)
        weight[:] = weight - step


@register
class Lion(Optimizer):
    """The sign of a mean of the gradients. It has one state where `AdamW` has two; its rate is three to ten times smaller.

    Parameters
    ----------
    learning_rate
        The learning rate.
    beta1, beta2
        The share of the running mean in the step, and its decay rate.
    wd
        Weight decay, apart from the gradient.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Chen et al., Symbolic discovery of optimization algorithms, NeurIPS 2023.

    Examples
    --------
    >>> import twofold as mx
    >>> optimizer = mx.optimizer.Lion(learning_rate=0.1)
    >>> weight, gradient = mx.nd.ones(2), mx.nd.array([1, -1])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, gradient, state)
    >>> weight.asnumpy()
    array([0.9, 1.1], dtype=float32)
    """

    _state_arrays = 1  # mean of the gradients

    def __init__(
        self, learning_rate: float = 1e-4, beta1: float = 0.9, beta2: float = 0.99, wd: float = 0.0, **kwargs: Unpack[UndecayedOptions]
    ) -> None:
        super().__init__(learning_rate=learning_rate, wd=wd, **kwargs)
        self.beta1, self.beta2 = beta1, beta2

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
        lr, wd, _ = self._begin(index)
        g = self._scaled(grad)
        # the step looks further back than the state, whose mean is longer: the present gradient counts more in it
        weight[:] = (1 - lr * wd) * weight - lr * nd.sign(self.beta1 * state + (1 - self.beta1) * g)
        state[:] = self.beta2 * state + (1 - self.beta2) * g


@register
class Adafactor(Optimizer):
    """Gradient divided by the root of a running mean of its squares, of which only the means of rows and columns are kept.

    Parameters
    ----------
    learning_rate
        The largest relative step: a weight changes by that share of its size.
    beta2_decay
        Exponent of the number of updates, by which the mean gets slower.
    epsilon
        The smallest size of a weight that counts.
    threshold
        The largest root mean square of a step, relative to the learning rate.
    wd
        Weight decay, apart from the gradient.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Shazeer and Stern, Adafactor: adaptive learning rates with sublinear memory cost, ICML 2018.

    Examples
    --------
    >>> import twofold as mx
    >>> optimizer = mx.optimizer.Adafactor(learning_rate=0.1)
    >>> weight, gradient = mx.nd.ones(2), mx.nd.array([1, -1])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, gradient, state)
    >>> weight.asnumpy()
    array([0.9, 1.1], dtype=float32)
    """

    #: Added to squares.
    _tiny = 1.1920929e-07

    def __init__(
        self,
        learning_rate: float = 0.01,
        beta2_decay: float = -0.8,
        epsilon: float = 1e-3,
        threshold: float = 1.0,
        wd: float = 0.0,
        **kwargs: Unpack[UndecayedOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, wd=wd, **kwargs)
        self.beta2_decay, self.epsilon, self.threshold = beta2_decay, epsilon, threshold

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The means over the last axis and over the one before it; of a vector the mean of each element."""
        if weight.ndim < 2:
            return zeros_like(weight)
        *lead, rows, columns = weight.shape
        return tuple(nd.zeros(shape, ctx=weight.context, dtype=weight._dtype) for shape in ((*lead, rows, 1), (*lead, 1, columns)))

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | tuple[NDArray, NDArray]) -> None:
        lr, wd, t = self._begin(index)
        g = self._scaled(grad)
        share = t**self.beta2_decay
        if isinstance(state, tuple):
            for mean, axis in zip(state, (-1, -2), strict=True):
                mean[:] = (1 - share) * mean + share * nd.mean(g * g, axis=axis, keepdims=True)
            # the best product of a column and a row has the means of the rows and columns, over the mean of all
            rows, columns = state
            size = nd.mean(rows, axis=-2, keepdims=True)
            var = nd.broadcast_mul(nd.broadcast_div(rows, nd.maximum(size, self._tiny)), columns)
        else:
            state[:] = (1 - share) * state + share * g * g
            var = state
        step = g / nd.sqrt(nd.maximum(var, self._tiny**2))
        # on the device: reading these sizes would wait for the gradient
        size = nd.maximum(nd.sqrt(nd.mean(weight * weight)), self.epsilon)
        factor = size / nd.maximum(nd.sqrt(nd.mean(step * step)) / self.threshold, 1.0)
        weight[:] = (1 - lr * wd) * weight - min(lr, 1 / sqrt(t)) * nd.broadcast_mul(step, factor.reshape((1,) * weight.ndim))


@register
class Muon(Optimizer):
    """Momentum made orthogonal, for weights of two or more axes; other weights are updated as by `AdamW`.

    Parameters
    ----------
    learning_rate
        The learning rate; steps are scaled so that it is about that of `AdamW`.
    momentum
        Decay rate of the running mean of the gradients.
    nesterov
        Whether the step looks ahead.
    steps
        Number of iterations that make a matrix orthogonal.
    wd
        Weight decay, apart from the gradient.
    beta1, beta2, epsilon
        For the other weights, see `AdamW`.
    kwargs
        See `Optimizer`.

    Notes
    -----
    Jordan et al., Muon: an optimizer for hidden layers in neural networks, 2024; the scale is that of Liu et al.,
    arXiv:2502.16982. Axes after the first count as columns. Tables of embeddings are better trained by another optimizer.

    Examples
    --------
    >>> import twofold as mx
    >>> optimizer = mx.optimizer.Muon(learning_rate=0.1)
    >>> weight, gradient = mx.nd.zeros((2, 2)), mx.nd.array([[1, 0], [0, 0.1]])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, gradient, state)
    >>> weight.asnumpy().round(2)
    array([[-0.02,  0.  ],
           [ 0.  , -0.02]], dtype=float32)
    """

    #: Of the odd polynomial that moves singular values towards 1.
    _coefficients = (3.4445, -4.775, 2.0315)

    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.95,
        nesterov: bool = True,
        steps: int = 5,
        wd: float = 0.1,
        beta1: float = 0.9,
        beta2: float = 0.95,
        epsilon: float = 1e-8,
        **kwargs: Unpack[UndecayedOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, wd=wd, **kwargs)
        self.momentum, self.nesterov, self.steps = momentum, nesterov, steps
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The mean of the gradients; of a vector that of their squares, too."""
        return zeros_like(weight) if weight.ndim >= 2 else (zeros_like(weight), zeros_like(weight))

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: NDArray | tuple[NDArray, NDArray]) -> None:
        if isinstance(state, tuple):
            _step(self, index, weight, grad, state)
            return
        lr, wd, _ = self._begin(index)
        g = self._scaled(grad)
        state[:] = self.momentum * state + (1 - self.momentum) * g
        step = self.momentum * state + (1 - self.momentum) * g if self.nesterov else state
        rows = weight.shape[0]
        matrix = self._orthogonal(step.reshape((rows, -1)))
        # AdamW's steps have a root mean square of about 0.2
        rate = lr * 0.2 * sqrt(max(rows, weight.size // rows))
        weight[:] = (1 - lr * wd) * weight - rate * matrix.reshape(weight.shape)

    def _orthogonal(self, matrix: NDArray) -> NDArray:
        """A matrix of about the same singular vectors, whose singular values are about 1."""
        a, b, c = self._coefficients
        is_tall = matrix.shape[0] > matrix.shape[1]
        # the products are of the smaller size
        x = matrix.T if is_tall else matrix
        x = nd.broadcast_div(x, nd.maximum(nd.sqrt(nd.sum(x * x)), 1e-7).reshape((1, 1)))
        # an odd polynomial of a matrix acts on its singular values, which the norm has brought into [0, 1]
        for _ in range(self.steps):
            square = nd.dot(x, x, transpose_b=True)
            x = a * x + nd.dot(b * square + c * nd.dot(square, square), x)
        return x.T if is_tall else x
