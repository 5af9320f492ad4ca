"""Element-wise functions of one array that are composed of primitives: activations, roots, angles, rounding, clipping, identities."""

import math

from ..dtype import FLOATS
from ..opdef.declare import elementwise
from ..opdef.params import Scalar

#: Γ of whole numbers up to here has fewer digits than float64, so rounding makes it exact.
LAST_EXACT_GAMMA = 16


@elementwise("sigmoid", "_sparse_sigmoid", method=True, faithful=True)
def sigmoid(xp, data):
    """Logistic function 1 / (1 + exp(-x)); exp overflows to inf, whose quotient is an exact 0."""
    return 1 / (1 + xp.exp(-data))


@sigmoid.grad
def _(xp, dout, out):
    return dout * out * (1 - out)


@sigmoid.sample
def _(draw):
    return draw(draw.real((3, 4), low=-100, high=100))


@elementwise("hard_sigmoid")
def hard_sigmoid(xp, data, *, alpha: float = 0.2, beta: float = 0.5):
    """The line ``alpha * x + beta`` limited to [0, 1]."""
    return xp.clip(data * alpha + beta, 0, 1)


@hard_sigmoid.grad
def _(xp, dout, out, *, alpha, beta):
    inside = xp.logical_and(xp.greater(out, 0), xp.less(out, 1))  # at the ends the slope is 0
    return dout * alpha * inside


@hard_sigmoid.sample
def _(draw):
    return draw(draw.real((3, 4), low=-1, high=1))


@elementwise("relu", "_sparse_relu", method=True)
def relu(xp, data):
    """The positive part: max(x, 0)."""
    return xp.maximum(data, 0)


@relu.grad
def _(xp, dout, out):
    return dout * xp.greater(out, 0)


@relu.sample
def _(draw):
    return draw(draw.real((3, 4), distinct=True))


@elementwise("softsign")
def softsign(xp, data):
    """Softsign function x / (1 + |x|)."""
    return data / (1 + xp.absolute(data))


@softsign.grad
def _(xp, dout, data):
    scale = 1 + xp.absolute(data)
    return dout / (scale * scale)


@softsign.sample
def _(draw):
    return draw(draw.real((3, 4)))


@elementwise("smooth_l1", "_npx_smooth_l1")
def smooth_l1(xp, data, *, scalar: float = 1.0):
    """(σx)² / 2 where |x| < 1/σ², else |x| - 1/(2σ²), with σ = ``scalar``.

    Source: Girshick, "Fast R-CNN", ICCV 2015.
    """
    squared = scalar * scalar
    size = xp.absolute(data)
    far = size - (0.5 / squared if squared else math.inf)
    return xp.where(xp.less(size * squared, 1), data * data * (0.5 * squared), far)


@smooth_l1.grad
def _(xp, dout, data, *, scalar):
    return dout * xp.clip(data * (scalar * scalar), -1, 1)


@smooth_l1.sample
def _(draw):
    return [draw(draw.real((3, 4)), scalar=sigma) for sigma in (1.0, 2.0)]


@elementwise("reciprocal", method=True, faithful=True)
def reciprocal(xp, data):
    """1 / x."""
    return 1 / data


@reciprocal.grad
def _(xp, dout, out):
    return -dout * out * out


@reciprocal.sample
def _(draw):
    return draw(draw.real((3, 4), low=0.25, high=4))


@elementwise("rsqrt", "_sparse_rsqrt", method=True)
def rsqrt(xp, data):
    """Reciprocal square root 1 / sqrt(x)."""
    return 1 / xp.sqrt(data)


@rsqrt.grad
def _(xp, dout, data, out):
    return dout * -0.5 * out / data


@rsqrt.sample
def _(draw):
    return draw(draw.real((3, 4), low=0.25, high=4))


@elementwise("rcbrt", method=True)
def rcbrt(xp, data):
    """Reciprocal cube root."""
    return 1 / xp.cbrt(data)


@rcbrt.grad
def _(xp, dout, data, out):
    return dout * (-1 / 3) * out / data


@rcbrt.sample
def _(draw):
    return draw(draw.real((3, 4), low=0.25, high=4))


@elementwise("degrees", "_sparse_degrees", method=True, numpy_names=("degrees", "rad2deg"))
def degrees(xp, data):
    """Radians as degrees."""
    return data * (180 / math.pi)


@degrees.sample
def _(draw):
    return draw(draw.real((3, 4)))


@elementwise("radians", "_sparse_radians", method=True, numpy_names=("radians", "deg2rad"))
def radians(xp, data):
    """Degrees as radians."""
    return data * (math.pi / 180)


@radians.sample
def _(draw):
    return draw(draw.real((3, 4), low=-180, high=180))


@elementwise("gamma", "_npx_gamma", "_sparse_gamma")
def gamma(xp, data):
    """Gamma function Γ(x), NaN at the negative whole numbers; Γ(n) = (n - 1)! is exact for small whole n.

    Computed in float64 as the exponential of ln |Γ| with the sign that Euler's reflection formula gives.
    """
    x = xp.cast(data, "float64")
    floor = xp.floor(x)
    whole = xp.equal(x, floor)
    size = xp.exp(xp.gammaln(x))
    size = xp.where(xp.logical_and(whole, xp.less_equal(x, LAST_EXACT_GAMMA)), xp.round_even(size), size)
    negative = xp.logical_and(xp.less(x, 0), xp.equal(xp.remainder(floor, 2), 1))
    pole = xp.logical_and(xp.less(x, 0), whole)
    value = xp.where(pole, math.nan, xp.where(negative, -size, size))
    value = xp.where(xp.equal(x, 0), 1 / x, value)  # the infinity of the zero's sign
    return xp.cast_like(value, data) if xp.dtype_of(data) in FLOATS else value


@gamma.grad
def _(xp, dout, data, out):
    return dout * out * xp.polygamma(data, order=0)


@gamma.sample
def _(draw):
    return draw(draw.real((3, 4), low=0.5, high=5))


@elementwise("round", "_sparse_round", method=True, differentiable=False)
def round_away(xp, data):
    """Nearest whole number, halves away from zero."""
    inner = xp.trunc(data)
    return inner + xp.sign(data) * xp.greater_equal(xp.absolute(data - inner), 0.5)


@elementwise("rint", "_sparse_rint", method=True, differentiable=False)
def round_half_down(xp, data):
    """Nearest whole number, halves towards minus infinity (not to the even one, as NumPy's ``rint`` goes)."""
    floor = xp.floor(data)
    nearest = floor + xp.greater(data - floor, 0.5)
    return xp.where(xp.equal(nearest, 0), data * 0, nearest)  # zeros keep the sign


@elementwise("fix", "_sparse_fix", method=True, differentiable=False)
def fix(xp, data):
    """Nearest whole number towards zero."""
    return xp.trunc(data)


for _op in (round_away, round_half_down, fix):
    _op.sample(lambda draw: draw(draw.real((3, 4)), gradient=False))


@elementwise("clip", "_npi_clip", "_sparse_clip", method=True, limits=True)
def clip_range(xp, data, *, a_min: Scalar, a_max: Scalar):
    """``data`` limited to [a_min, a_max]; its gradient passes at the bounds too."""
    return xp.clip(data, a_min, a_max)


@clip_range.grad
def _(xp, dout, data, a_min, a_max):
    outside = xp.logical_or(xp.less(data, a_min), xp.greater(data, a_max))
    return dout * xp.logical_not(outside)


@clip_range.sample
def _(draw):
    return draw(draw.real((3, 4), distinct=True), a_min=-1.0, a_max=0.6)


@elementwise("_copy", "identity", result="first")
def copy(xp, data):
    """A copy."""
    return data


@elementwise("_copyto", "_npi_copyto", result="first")
def copyto(xp, data):
    """A copy, for a front end that writes it into another array."""
    return data


@elementwise("make_loss", "_sparse_make_loss", result="first", ignores_head=True, output_names=("loss",))
def make_loss(xp, data):
    """``data`` as a loss: its gradient is 1 whatever the head gradient is."""
    return data


@make_loss.grad
def _(xp, data):
    return xp.ones_like(data)


for _op in (copy, copyto):
    _op.sample(lambda draw: draw(draw.real((3, 4))))
make_loss.sample(lambda draw: draw(draw.real((3, 4)), gradient=False))
