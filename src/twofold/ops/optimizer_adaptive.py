"""Optimizer updates scaled by running second moments: Adam, RMSProp, FTML, group AdaGrad. See `optimizer_sgd` for the conventions."""

from ..opdef import Scalar, op
from .optimizer_sgd import average, decayed, like, prepared, rescaled, weight_update


def _gradient(xp, weight, grad, wd, rescale_grad, clip_gradient):
    """The rescaled gradient plus weight decay, clipped unless ``clip_gradient`` is negative."""
    # unlike SGD, MXNet clips the gradient after the weight decay is added
    whole = decayed(weight, rescaled(grad, rescale_grad), wd)
    return whole if clip_gradient < 0 else xp.clip(whole, -clip_gradient, clip_gradient)


@weight_update("adam_update", "_sparse_adam_update", mutates=("mean", "var"), lazy=True)
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
    mean = average(xp, beta1, mean, gradient)
    var = average(xp, beta2, var, gradient * gradient)
    return weight - lr * mean / (xp.sqrt(var) + epsilon), {"mean": mean, "var": var}


def _bounded(xp, weight, clip_weights):
    return weight if clip_weights < 0 else xp.clip(weight, -clip_weights, clip_weights)


@weight_update("rmspropalex_update", mutates=("n", "g", "delta"))
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
    n = average(xp, gamma1, n, gradient * gradient)
    g = average(xp, gamma1, g, gradient)
    # n - g² is the variance; epsilon is under the root here, which also covers a difference rounded below 0
    delta = gamma2 * delta - lr * gradient / xp.sqrt(n - g * g + epsilon)
    return _bounded(xp, weight + delta, clip_weights), {"n": n, "g": g, "delta": delta}


@weight_update("rmsprop_update", like=rmspropalex_update, without=("gamma2",), mutates=("n",))
def rmsprop_update(xp, weight, grad, n, *, lr, gamma1, epsilon, clip_weights, **params):
    """``weight - lr · grad / sqrt(n + epsilon)``, n being the running average of the squared gradient; optionally clips the weights.

    Source: Tieleman & Hinton, "Lecture 6.5: RMSProp", 2012.
    """
    gradient = _gradient(xp, weight, grad, **params)
    n = average(xp, gamma1, n, gradient * gradient)
    return _bounded(xp, weight - lr * gradient / xp.sqrt(n + epsilon), clip_weights), {"n": n}


@weight_update("ftml_update", mutates=("d", "v", "z"))
def ftml_update(
    xp,
    weight,
    grad,
    d,
    v,
    z,
    *,
    lr: Scalar,
    beta1: Scalar = 0.6,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    t: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_grad: float = -1.0,
):
    """Follow the moving leader: the weight is -z / d, where d is a running measure of the gradients' size at update number ``t``.

    Source: Zheng & Kwok, "Follow the moving leader in deep learning", ICML 2017, algorithm 1.
    """
    gradient = _gradient(xp, weight, grad, wd, rescale_grad, clip_grad)
    v = average(xp, beta2, v, gradient * gradient)
    # averages that begin with 0 are too small by these factors after t updates
    first, second = (like(xp, 1 - xp.power(beta, t), weight) for beta in (beta1, beta2))
    # d of the paper, at t; `size - beta1 * d` is its sigma, which pulls z towards the weight
    size = first / lr * (xp.sqrt(v / second) + epsilon)
    z = average(xp, beta1, z, gradient) - (size - beta1 * d) * weight
    return -z / size, {"d": size, "v": v, "z": z}


@op("_contrib_group_adagrad_update", mutates=("history",), differentiable=False, alike=True, keeps_shape=("weight", "grad"), lazy=True)
def group_adagrad_update(
    xp, weight, grad, history, *, lr: Scalar, rescale_grad: Scalar = 1.0, clip_gradient: float = -1.0, epsilon: Scalar = 1e-5
):
    """AdaGrad with one sum per row: ``weight - lr · grad / sqrt(history + epsilon)``.

    ``history`` (rows, 1) sums the mean squared gradient of each row of the weight (rows, columns…).
    """
    gradient = prepared(xp, grad, rescale_grad, clip_gradient)
    axes = tuple(range(1, len(grad.shape)))
    # one number per row: a table of embeddings has as few states as rows, and rows without a gradient keep theirs
    history = history + xp.mean(gradient * gradient, axis=axes, keepdims=True)
    return weight - lr * gradient / xp.sqrt(history + epsilon), {"history": history}


@weight_update("_sparse_adagrad_update", mutates=("history",), lazy=True)
def adagrad_update(
    xp,
    weight,
    grad,
    history,
    *,
    lr: Scalar,
    epsilon: float = 1e-7,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """AdaGrad: ``history ← history + grad²``, ``weight ← weight - lr · (grad / sqrt(history + epsilon) + wd · weight)``."""
    scaled = rescale_grad * grad
    g = xp.clip(scaled, -clip_gradient, clip_gradient) if clip_gradient > 0 else scaled
    history = history + g * g
    # the decay is no part of the gradient here: it does not enter the history
    return weight - lr * (g / xp.sqrt(history + epsilon) + wd * weight), {"history": history}


adagrad_update.sample(lambda draw: draw(draw.real((3, 4)), draw.real((3, 4)), draw.real((3, 4), 0.1, 2), lr=0.1, wd=0.01, gradient=False))


adam_update.sample(lambda draw: draw(*[draw.real((2, 3))] * 3, draw.real((2, 3), low=0, high=1), lr=0.1, wd=0.01, gradient=False))


@rmsprop_update.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 2, draw.real((2, 3), low=0, high=1), lr=0.1, clip_weights=1.5, gradient=False)


@rmspropalex_update.sample
def _(draw):
    small = draw.real((2, 3), low=-0.5, high=0.5)
    return draw(*[draw.real((2, 3))] * 2, draw.real((2, 3), low=1, high=2), small, small, lr=0.1, gradient=False)


@ftml_update.sample
def _(draw):
    states = [draw.real((2, 3), low=0, high=1)] * 3
    return draw(*[draw.real((2, 3))] * 2, *states, lr=0.1, t=3, wd=0.01, rescale_grad=0.5, clip_grad=1.0, gradient=False)


@group_adagrad_update.sample
def _(draw):
    return draw(*[draw.real((2, 3))] * 2, draw.real((2, 1), low=0, high=1), lr=0.1, clip_gradient=1.0, gradient=False)
