"""Operators defined by their gradients: straight-through estimators, reversed and regularized gradients."""

from typing import Annotated

from ..opdef import Input, Operand, Scalar, elementwise, op
from .elementwise_math import round_away


@elementwise("_contrib_round_ste", "_sparse__contrib_round_ste")
def round_ste(xp, data):
    """Nearest integer, with halves rounded away from zero; its gradient is that of the identity.

    Source: Bengio et al., "Estimating or propagating gradients through stochastic neurons", 2013.
    """
    return round_away(xp, data)


@elementwise("_contrib_sign_ste", "_sparse__contrib_sign_ste")
def sign_ste(xp, data):
    """-1, 0 or 1; its gradient is that of the identity, as of `round_ste`."""
    return xp.sign(data)


round_ste.grad(lambda xp, dout: dout)
sign_ste.grad(lambda xp, dout: dout)
for _op in (round_ste, sign_ste):
    _op.sample(lambda draw: draw(draw.real((2, 3)), gradient=False))


@elementwise("_contrib_gradientmultiplier")
def gradientmultiplier(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """The array itself; its gradient is multiplied by ``scalar``, which reverses it if negative. ``is_int`` has no effect.

    Source: Ganin & Lempitsky, "Unsupervised domain adaptation by backpropagation", ICML 2015.
    """
    return data + 0 * scalar


gradientmultiplier.grad(lambda xp, dout, *, scalar, **_: dout * scalar)
gradientmultiplier.sample(lambda draw: draw(draw.real((2, 3)), scalar=-0.5, gradient=False))


@elementwise("_contrib_backward_gradientmultiplier")
def backward_gradientmultiplier(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """``data · scalar``: the gradient of `gradientmultiplier` for the head gradient ``data``. ``is_int`` has no effect."""
    return data * scalar


backward_gradientmultiplier.sample(lambda draw: draw(draw.real((2, 3)), scalar=-0.5))


@elementwise("_contrib_quadratic")
def quadratic(xp, data, *, a: Scalar = 0.0, b: Scalar = 0.0, c: Scalar = 0.0):
    """``a · x² + b · x + c``."""
    return a * data * data + b * data + c


quadratic.sample(lambda draw: draw(draw.real((2, 3)), a=0.5, b=-1.5, c=2.0))


def _moved(xp, data, moving_avg, momentum):
    """The running mean activation of each unit, including this batch."""
    return momentum * moving_avg + (1 - momentum) * xp.mean(data, axis=0, keepdims=False)


@op("IdentityAttachKLSparseReg", aux=("moving_avg",), keeps_shape=True, adds_gradient=True)
def identity_attach_kl_sparse_reg(
    xp,
    data,
    moving_avg: Annotated[Operand, Input(initial='["zero", {}]')],
    *,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
):
    """Activations (n, d) themselves; their gradient gains that of a penalty on mean activations that differ from ``sparseness_target``.

    The penalty is the Kullback-Leibler divergence of Bernoulli distributions, with the running means ``moving_avg`` (d,) of the batches.
    Source: Ng, "Sparse autoencoder", CS294A lecture notes, 2011.
    """
    return data + 0


@identity_attach_kl_sparse_reg.grad
def _(xp, dout, data, moving_avg, *, sparseness_target, penalty, momentum):
    mean = _moved(xp, data, moving_avg, momentum)
    # the derivative of ρ ln(ρ / m) + (1 - ρ) ln((1 - ρ) / (1 - m)) with respect to the mean m
    return dout + penalty * ((1 - sparseness_target) / (1 - mean) - sparseness_target / mean), None


@identity_attach_kl_sparse_reg.on_backward
def _(xp, out, data, moving_avg, *, momentum, **_):
    return {"moving_avg": _moved(xp, data, moving_avg, momentum)}


identity_attach_kl_sparse_reg.assumes(lambda names, **_: ["float32"] * len(names))
identity_attach_kl_sparse_reg.infer(lambda shapes, **_: [shapes[0], shapes[1] if shapes[0] is None else shapes[0][1:]])


@identity_attach_kl_sparse_reg.sample
def _(draw):
    return draw(draw.real((3, 2), low=0.1, high=0.9), draw.real((2,), low=0.1, high=0.9), penalty=0.1, gradient=False)
