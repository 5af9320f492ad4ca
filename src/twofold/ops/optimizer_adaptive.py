"""Optimizer updates scaled by running second moments: Adam and RMSProp. See `optimizer_sgd` for the conventions."""

from ..opdef.declare import op
from ..opdef.params import Scalar
from .optimizer_sgd import decayed, like, rescaled


def _gradient(xp, weight, grad, wd, rescale_grad, clip_gradient):
    """The rescaled gradient plus weight decay, clipped unless ``clip_gradient`` is negative."""
    # unlike SGD, MXNet clips the gradient after the weight decay is added
    whole = decayed(weight, rescaled(grad, rescale_grad), wd)
    return whole if clip_gradient < 0 else xp.clip(whole, -clip_gradient, clip_gradient)


def _average(xp, rate, old, new):
    """The running average: rate · old + (1 - rate) · new."""
    return rate * old + like(xp, 1 - rate, old) * new


@op("adam_update", "_sparse_adam_update", mutates=("mean", "var"), differentiable=False, alike=True, keeps_shape=True)
def adam_update(
    xp,
    weight,
    grad,
    mean,
    var,
    *,
    lr: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
):
    """``weight - lr · mean / (sqrt(var) + epsilon)``, with running averages of the gradient and of its square.

    The caller includes the bias correction in ``lr``. ``lazy_update`` concerns row-sparse gradients only.
    Source: Kingma & Ba, "Adam", ICLR 2015.
    """
    gradient = _gradient(xp, weight, grad, wd, rescale_grad, clip_gradient)
    mean = _average(xp, beta1, mean, gradient)
    var = _average(xp, beta2, var, gradient * gradient)
    return weight - lr * mean / (xp.sqrt(var) + epsilon), {"mean": mean, "var": var}


def _bounded(xp, weight, clip_weights):
    return weight if clip_weights <= 0 else xp.clip(weight, -clip_weights, clip_weights)


@op("rmsprop_update", mutates=("n",), differentiable=False, alike=True, keeps_shape=True)
def rmsprop_update(
    xp,
    weight,
    grad,
    n,
    *,
    lr: Scalar,
    gamma1: Scalar = 0.95,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
):
    """``weight - lr · grad / sqrt(n + epsilon)``, n being the running average of the squared gradient; optionally clips the weights.

    Source: Tieleman & Hinton, "Lecture 6.5: RMSProp", 2012.
    """
    gradient = _gradient(xp, weight, grad, wd, rescale_grad, clip_gradient)
    n = _average(xp, gamma1, n, gradient * gradient)
    return _bounded(xp, weight - lr * gradient / xp.sqrt(n + epsilon), clip_weights), {"n": n}


@op("rmspropalex_update", mutates=("n", "g", "delta"), differentiable=False, alike=True, keeps_shape=True)
def rmspropalex_update(
    xp,
    weight,
    grad,
    n,
    g,
    delta,
    *,
    lr: Scalar,
    gamma1: Scalar = 0.95,
    gamma2: Scalar = 0.9,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
):
    """RMSProp by the gradient's running variance n - g², with momentum (Graves, "Generating sequences", 2013, eq. 38 to 45)."""
    gradient = _gradient(xp, weight, grad, wd, rescale_grad, clip_gradient)
    n = _average(xp, gamma1, n, gradient * gradient)
    g = _average(xp, gamma1, g, gradient)
    # n - g² is the variance; epsilon is under the root here, which also covers a difference rounded below 0
    delta = gamma2 * delta - lr * gradient / xp.sqrt(n - g * g + epsilon)
    return _bounded(xp, weight + delta, clip_weights), {"n": n, "g": g, "delta": delta}


@adam_update.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 3, draw.real((2, 3), low=0, high=1), lr=0.1, wd=0.01, gradient=False)


@rmsprop_update.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 2, draw.real((2, 3), low=0, high=1), lr=0.1, clip_weights=1.5, gradient=False)


@rmspropalex_update.sample
def _(draw):
    small = draw.real((2, 3), low=-0.5, high=0.5)
    return draw(*[draw.real((2, 3))] * 2, draw.real((2, 3), low=1, high=2), small, small, lr=0.1, gradient=False)
