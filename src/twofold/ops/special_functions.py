"""Functions of ``npx`` for networks and distributions: logarithms of sums of exponentials, the logistic function's relatives, digamma."""

from ..opdef import Axis, elementwise, normalized_axes, op
from .activation import softplus as softplus_of


@elementwise("_npx_softplus")
def softplus(xp, data):
    """log(1 + exp(x)) without overflow. Integers give floating-point numbers, as in NumPy's functions."""
    return softplus_of(xp, xp.to_float(data))


# the slope sigmoid(x) is 1 - exp(-softplus(x)): it follows from the result, without another logistic function
softplus.grad(lambda xp, dout, out: dout * -xp.expm1(-out))
softplus.sample(lambda draw: draw(draw.real((3, 4), low=-30, high=30)))


@elementwise("_npx_log_sigmoid")
def log_sigmoid(xp, data):
    """The logarithm of the logistic function, -log(1 + exp(-x)), without overflow."""
    return -softplus_of(xp, -xp.to_float(data))


log_sigmoid.grad(lambda xp, dout, out: dout * -xp.expm1(out))
log_sigmoid.sample(lambda draw: draw(draw.real((3, 4), low=-30, high=30)))


@elementwise("_npx_silu")
def silu(xp, data):
    """``x`` times its logistic function (Hendrycks & Gimpel, "Gaussian error linear units", 2016), also known as swish."""
    x = xp.to_float(data)
    return x / (1 + xp.exp(-x))


@silu.grad
def _(xp, dout, data):
    gate = 1 / (1 + xp.exp(-data))
    return dout * gate * (1 + data * (1 - gate))


silu.sample(lambda draw: draw(draw.real((3, 4), low=-9, high=9)))


@elementwise("_npx_logit")
def logit(xp, data):
    """log(p / (1 - p)), the inverse of the logistic function; infinite at 0 and 1, NaN outside."""
    p = xp.to_float(data)
    return xp.log(p) - xp.log1p(-p)


logit.grad(lambda xp, dout, data: dout / (data * (1 - data)))
logit.sample(lambda draw: draw(draw.real((3, 4), low=0.05, high=0.95)))


@elementwise("_npx_digamma")
def digamma(xp, data):
    """The derivative of `gammaln`; NaN at 0 and negative integers."""
    return xp.polygamma(xp.to_float(data), order=0)


digamma.sample(lambda draw: draw(draw.real((3, 4), low=0.25, high=4)))


@op("_npx_logsumexp")
def logsumexp(xp, data, *, axis: Axis = None, keepdims: bool = False):
    """log(Σ exp(x)) over axes, all if None, without overflow; -inf where all elements are -inf."""
    x = xp.to_float(data)
    axes = normalized_axes(axis, len(x.shape))
    # the maximum, or 0 if it is infinite, is a constant: the result does not depend on it
    top = xp.max(x, axis=axes, keepdims=True)
    top = xp.stop_gradient(xp.where(xp.isfinite(top), top, 0))
    found = xp.log(xp.sum(xp.exp(x - top), axis=axes, keepdims=True)) + top
    return found if keepdims else xp.reshape(found, shape=tuple([n for k, n in enumerate(x.shape) if k not in axes]))


logsumexp.sample(lambda draw: draw(draw.real((2, 3, 4), low=-30, high=30), axis=(0, -1)))
logsumexp.sample(lambda draw: draw(draw.real((3, 4), low=-30, high=30), keepdims=True))
