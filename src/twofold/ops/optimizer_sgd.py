"""Optimizer updates without second moments: SGD, momentum, Nesterov, sign-based, FTRL; also with float32 master weights.

Each returns the new weight (front ends pass ``out=weight``) and the new values of its states. Learning rates and coefficients are run-time
inputs, so a schedule does not cause recompilation. ``lazy_update`` concerns row-sparse gradients only.
"""

import inspect

from ..opdef import Op, Scalar, op


def prepared(xp, grad, rescale_grad, clip_gradient):
    """The rescaled gradient, clipped to [-clip_gradient, clip_gradient] unless that is negative."""
    scaled = rescaled(grad, rescale_grad)
    return scaled if clip_gradient < 0 else xp.clip(scaled, -clip_gradient, clip_gradient)


def rescaled(grad, scale):
    """The gradient times a scale. The scale is a Python int only if an optimizer knows that it stays 1; then there is no multiplication."""
    return grad if isinstance(scale, int) and scale == 1 else grad * scale


def decayed(weight, grad, wd):
    """The gradient plus weight decay. ``wd`` is a Python int only if an optimizer knows that it stays 0; then the decay is left out."""
    return grad if isinstance(wd, int) and wd == 0 else grad + wd * weight


def like(xp, scalar, array):
    """The result of float64 arithmetic on scalar parameters, cast to an array's dtype so that it does not promote the array."""
    return xp.cast_like(scalar, array)


def average(xp, rate, old, new):
    """The running average: rate · old + (1 - rate) · new."""
    return rate * old + like(xp, 1 - rate, old) * new


def _decayed(xp, weight, grad, wd, rescale_grad, clip_gradient):
    return decayed(weight, prepared(xp, grad, rescale_grad, clip_gradient), wd)


def weight_update(*names, mutates=(), **facts):
    """Declare the update of a weight, whose gradient and states, the ``mutates``, have its dtype and shape."""
    return op(*names, mutates=mutates, differentiable=False, alike=True, keeps_shape=("weight", "grad", *mutates), **facts)


@weight_update("sgd_update", "_sparse_sgd_update", lazy=True)
def sgd_update(
    xp, weight, grad, *, lr: Scalar, wd: Scalar = 0.0, rescale_grad: Scalar = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True
):
    """``weight - lr · (grad + wd · weight)``; the gradient is rescaled and clipped first."""
    return weight - lr * _decayed(xp, weight, grad, wd, rescale_grad, clip_gradient)


@weight_update("sgd_mom_update", "_sparse_sgd_mom_update", mutates=("mom",), lazy=True)
def sgd_mom_update(
    xp,
    weight,
    grad,
    mom,
    *,
    lr: Scalar,
    momentum: Scalar = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
):
    """Momentum: mom ← momentum · mom - lr · (grad + wd · weight); weight + mom."""
    mom = momentum * mom - lr * _decayed(xp, weight, grad, wd, rescale_grad, clip_gradient)
    return weight + mom, {"mom": mom}


@weight_update("nag_mom_update", like=sgd_mom_update, without=("lazy_update",), mutates=("mom",))
def nag_mom_update(xp, weight, grad, mom, *, lr, momentum, **params):
    """Nesterov's momentum: mom ← momentum · mom - lr · (grad + wd · weight); weight + momentum · mom - lr · (grad + wd · weight)."""
    # the new momentum is applied once more: Nesterov's step looks ahead from where momentum leads
    step = lr * _decayed(xp, weight, grad, **params)
    mom = momentum * mom - step
    return weight + (momentum * mom - step), {"mom": mom}


def with_master_weight(update: Op) -> Op:
    """Declare ``mp_<update>``: an update on the float32 copy of a 16-bit weight, the last state; it returns that cast to 16 bits."""

    def rule(xp, weight, grad, *states, **settings):
        *states, weight32 = states
        found = update(xp, weight32, xp.cast_like(grad, weight32), *states, **settings)
        new, moved = found if update.state_names else (found, {})
        return xp.cast_like(new, weight), moved | {"weight32": new}

    # the signature is the update's own, with the master weight after its states; parameter 0 is `xp`
    arrays, settings = 2 + len(update.state_names), list(inspect.signature(update.rule).parameters.values())
    settings.insert(1 + arrays, inspect.Parameter("weight32", inspect.Parameter.POSITIONAL_OR_KEYWORD))
    rule.__name__, rule.__signature__ = f"mp_{update.name}", inspect.Signature(settings)
    rule.__doc__ = f"`{update.name}` on the float32 master weight; returns it cast to the weight's dtype."
    states = *update.state_names, "weight32"
    return op(rule.__name__, mutates=states, differentiable=False, keeps_shape=("weight", "grad", *states))(rule)


mp_sgd_update, mp_sgd_mom_update, mp_nag_mom_update = map(with_master_weight, (sgd_update, sgd_mom_update, nag_mom_update))


@weight_update("signsgd_update", like=sgd_update, without=("lazy_update",))
def signsgd_update(xp, weight, grad, *, lr, wd, rescale_grad, **_):
    """``weight - lr · (sign(grad) + wd · weight)``; clipping keeps signs: ``clip_gradient`` has no effect.

    Source: Bernstein et al., "signSGD", ICML 2018.
    """
    return weight - lr * (xp.sign(grad * rescale_grad) + wd * weight)


@weight_update("signum_update", like=nag_mom_update, mutates=("mom",))
def signum_update(xp, weight, grad, mom, *, lr, momentum, wd_lh: Scalar = 0.0, **params):
    """Signum: mom ← momentum · mom - (1 - momentum) · (grad + wd · weight); weight + lr · (sign(mom) - wd_lh · weight)."""
    gradient = _decayed(xp, weight, grad, **params)
    # MXNet's signum averages the gradient; SGD's momentum adds it up
    mom = momentum * mom - like(xp, 1 - momentum, mom) * gradient
    return weight + lr * (xp.sign(mom) - wd_lh * weight), {"mom": mom}


@weight_update("ftrl_update", "_sparse_ftrl_update", mutates=("z", "n"), lazy="sparse")
def ftrl_update(
    xp,
    weight,
    grad,
    z,
    n,
    *,
    lr: Scalar,
    lamda1: Scalar = 0.01,
    beta: Scalar = 1.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
):
    """FTRL-proximal, per coordinate (McMahan et al., "Ad click prediction", KDD 2013, algorithm 1)."""
    gradient = prepared(xp, grad, rescale_grad, clip_gradient)
    # n only grows, so that the learning rate of a coordinate only falls
    more = n + gradient * gradient
    # z sums the gradients minus σ · weight, σ being the change of 1 / (learning rate); the weight that minimizes the sum is in closed form
    z = z + gradient - (xp.sqrt(more) - xp.sqrt(n)) * weight / lr
    active = xp.greater(xp.absolute(z), lamda1)  # the L1 term sets the other weights to exactly 0
    return (xp.sign(z) * lamda1 - z) / ((beta + xp.sqrt(more)) / lr + wd) * active, {"z": z, "n": more}


@sgd_update.sample
def _(draw):
    return draw(draw.real((2, 3)), draw.real((2, 3)), lr=0.1, wd=0.01, rescale_grad=0.5, clip_gradient=0.5, gradient=False)


signsgd_update.sample(lambda draw: draw(draw.real((2, 3)), draw.real((2, 3)), lr=0.1, wd=0.01, gradient=False))


for _op in (sgd_mom_update, nag_mom_update, signum_update):
    _op.sample(lambda draw: draw(*[draw.real((2, 3))] * 3, lr=0.1, momentum=0.9, wd=0.01, gradient=False))

for _op in (mp_sgd_mom_update, mp_nag_mom_update):
    _op.sample(lambda draw: draw(*_mixed(draw, 2), lr=0.1, momentum=0.9, wd=0.01, gradient=False))


def _mixed(draw, states):
    return [draw.integer((2, 3), -4, 5, dtype="float16")] * 2 + [draw.integer((2, 3), -4, 5, dtype="float32")] * states


mp_sgd_update.sample(lambda draw: draw(*_mixed(draw, 1), lr=0.1, wd=0.01, gradient=False))


ftrl_update.sample(lambda draw: draw(*[draw.real((2, 3))] * 3, draw.real((2, 3), low=0, high=1), lr=0.1, gradient=False))
