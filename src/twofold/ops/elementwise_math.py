"""Element-wise functions of one array in terms of primitives: activations, roots, angles, rounding, clipping, identities."""

import math

from ..dtype import FLOATS
from ..opdef import Scalar, elementwise
from .storage_rules import zeros_stay

#: Up to this integer Γ(n) is exact in float64, so rounding the computed value to an integer gives it exactly.
LAST_EXACT_GAMMA = 16


@elementwise("sigmoid", "_sparse_sigmoid", npx_name="sigmoid", method=True, faithful=True)
def sigmoid(xp, data):
    """Logistic function 1 / (1 + exp(-x)); where exp overflows to infinity, the quotient is exactly 0."""
    return 1 / (1 + xp.exp(-data))


# in terms of the result: the operand is not kept for backward
sigmoid.grad(lambda xp, dout, out: dout * out * (1 - out))
sigmoid.sample(lambda draw: draw(draw.real((3, 4), low=-100, high=100)))


@elementwise("hard_sigmoid", npx_name="hard_sigmoid")
def hard_sigmoid(xp, data, *, alpha: float = 0.2, beta: float = 0.5):
    """The line ``alpha * x + beta``, clipped to [0, 1]."""
    return xp.clip(data * alpha + beta, 0, 1)


@hard_sigmoid.grad
def _(xp, dout, out, *, alpha, beta):
    inside = xp.logical_and(xp.greater(out, 0), xp.less(out, 1))  # the slope at the ends counts as 0
    return xp.where(inside, dout * alpha, 0)


hard_sigmoid.sample(lambda draw: draw(draw.real((3, 4), low=-1, high=1)))


@elementwise("relu", "_sparse_relu", npx_name="relu", method=True, sparse_rule=zeros_stay)
def relu(xp, data):
    """The positive part: max(x, 0)."""
    return xp.maximum(data, 0)


# where the result is 0 the slope is 0, at x = 0 too, as in MXNet: its sign is 0, 1, or NaN where the result is
relu.grad(lambda xp, dout, out: dout * xp.sign(out))
relu.sample(lambda draw: draw(draw.real((3, 4), distinct=True)))


@elementwise("softsign", npx_name="softsign")
def softsign(xp, data):
    """Softsign function x / (1 + |x|)."""
    return data / (1 + xp.absolute(data))


@softsign.grad
def _(xp, dout, data):
    scale = 1 + xp.absolute(data)
    return dout / (scale * scale)


softsign.sample(lambda draw: draw(draw.real((3, 4))))


@elementwise("smooth_l1", "_npx_smooth_l1")
def smooth_l1(xp, data, *, scalar: float = 1.0):
    """(σx)² / 2 where |x| < 1/σ², else |x| - 1/(2σ²), with σ = ``scalar``.

    Source: Girshick, "Fast R-CNN", ICCV 2015.
    """
    squared = scalar * scalar
    size = xp.absolute(data)
    # with sigma = 0 the parabola is infinitely wide: the line is never selected
    far = size - (0.5 / squared if squared else math.inf)
    return xp.where(xp.less(size * squared, 1), data * data * (0.5 * squared), far)


# the slope σ²x of the parabola reaches ±1 exactly where the lines begin
smooth_l1.grad(lambda xp, dout, data, *, scalar: dout * xp.clip(data * (scalar * scalar), -1, 1))
smooth_l1.sample(lambda draw: [draw(draw.real((3, 4)), scalar=sigma) for sigma in (1.0, 2.0)])


@elementwise("reciprocal", method=True, faithful=True)
def reciprocal(xp, data):
    """1 / x."""
    return 1 / data


reciprocal.grad(lambda xp, dout, out: -dout * out * out)
reciprocal.sample(lambda draw: draw(draw.real((3, 4), low=0.25, high=4)))


@elementwise("rsqrt", "_sparse_rsqrt", method=True)
def rsqrt(xp, data):
    """Reciprocal square root 1 / sqrt(x)."""
    return 1 / xp.sqrt(data)


# x^(-3/2) as out / x: no other power is computed
rsqrt.grad(lambda xp, dout, data, out: dout * -0.5 * out / data)
rsqrt.sample(lambda draw: draw(draw.real((3, 4), low=0.25, high=4)))


@elementwise("rcbrt", method=True)
def rcbrt(xp, data):
    """Reciprocal cube root."""
    return 1 / xp.cbrt(data)


rcbrt.grad(lambda xp, dout, data, out: dout * (-1 / 3) * out / data)
rcbrt.sample(lambda draw: draw(draw.real((3, 4), low=0.25, high=4)))


@elementwise("degrees", "_sparse_degrees", method=True, numpy_names=("degrees", "rad2deg"), sparse_rule=zeros_stay)
def degrees(xp, data):
    """Converts radians to degrees."""
    return data * (180 / math.pi)


degrees.sample(lambda draw: draw(draw.real((3, 4))))


@elementwise("radians", "_sparse_radians", method=True, numpy_names=("radians", "deg2rad"), sparse_rule=zeros_stay)
def radians(xp, data):
    """Converts degrees to radians."""
    return data * (math.pi / 180)


radians.sample(lambda draw: draw(draw.real((3, 4), low=-180, high=180)))


@elementwise("gamma", "_npx_gamma", "_sparse_gamma")
def gamma(xp, data):
    """Gamma function Γ(x), NaN at negative integers; Γ(n) = (n - 1)! is exact for small integers n.

    Computed in float64 as exp(ln |Γ|), with the sign from Euler's reflection formula.
    """
    x = xp.cast(data, "float64")
    floor = xp.floor(x)
    whole = xp.equal(x, floor)
    size = xp.exp(xp.gammaln(x))
    # exp(ln Γ) is off by a few ulp, which a factorial must not be
    size = xp.where(xp.logical_and(whole, xp.less_equal(x, LAST_EXACT_GAMMA)), xp.round_even(size), size)
    # between poles the sign alternates: it is negative where floor(x) is odd
    negative = xp.logical_and(xp.less(x, 0), xp.equal(xp.remainder(floor, 2), 1))
    pole = xp.logical_and(xp.less(x, 0), whole)
    value = xp.where(pole, math.nan, xp.where(negative, -size, size))
    value = xp.where(xp.equal(x, 0), 1 / x, value)  # at ±0 the infinity has the sign of the zero
    return xp.cast_like(value, data) if xp.dtype_of(data) in FLOATS else value


# Γ' = Γ · ψ
gamma.grad(lambda xp, dout, data, out: dout * out * xp.polygamma(data, order=0))
gamma.sample(lambda draw: draw(draw.real((3, 4), low=0.5, high=5)))


@elementwise("round", "_sparse_round", method=True, differentiable=False, sparse_rule=zeros_stay)
def round_away(xp, data):
    """Nearest integer, with halves rounded away from zero."""
    inner = xp.trunc(data)
    # not floor(x + 0.5): that sum rounds 0.49999997 up to 1
    return inner + xp.sign(data) * xp.greater_equal(xp.absolute(data - inner), 0.5)


@elementwise("rint", "_sparse_rint", method=True, differentiable=False, sparse_rule=zeros_stay)
def round_half_down(xp, data):
    """Nearest integer, with halves rounded toward minus infinity (NumPy's ``rint`` rounds them to even)."""
    floor = xp.floor(data)
    nearest = floor + xp.greater(data - floor, 0.5)
    return xp.where(xp.equal(nearest, 0), data * 0, nearest)  # -0.2 rounds to -0.0


@elementwise("fix", "_sparse_fix", method=True, differentiable=False, sparse_rule=zeros_stay)
def fix(xp, data):
    """Nearest integer toward zero."""
    return xp.trunc(data)


for _op in (round_away, round_half_down, fix):
    _op.sample(lambda draw: draw(draw.real((3, 4)), gradient=False))


@elementwise("clip", "_npi_clip", "_sparse_clip", method=True, limits=True)
def clip_range(xp, data, *, a_min: Scalar, a_max: Scalar):
    """``data`` clipped to [a_min, a_max]; the gradient is 1 at the bounds too."""
    return xp.clip(data, a_min, a_max)


@clip_range.grad
def _(xp, dout, data, a_min, a_max):
    # not from the result, in which an element at a bound looks like one beyond it
    outside = xp.logical_or(xp.less(data, a_min), xp.greater(data, a_max))
    return xp.where(outside, 0, dout)


# zeros that are not stored stay 0 only if 0 is within the bounds
clip_range.sparse(lambda xp, dense, data, *, a_min, a_max: data.with_values(dense(data.values)) if a_min <= 0 <= a_max else None)
# as MXNet's backward pass of it
clip_range.gradient_stypes(lambda stypes, head, **_: ["default"])
clip_range.sample(lambda draw: draw(draw.real((3, 4), distinct=True), a_min=-1.0, a_max=0.6))


@elementwise("_copy", "identity", result="first", sparse_rule=zeros_stay)
def copy(xp, data):
    """A copy."""
    return data


@elementwise("_copyto", "_npi_copyto", result="first")
def copyto(xp, data):
    """A copy, for front ends that write it into another array."""
    return data


@elementwise("make_loss", "_sparse_make_loss", result="first", ignores_head=True, output_names=("loss",), sparse_rule=zeros_stay)
def make_loss(xp, data):
    """``data`` as a loss: its gradient is 1, regardless of the head gradient."""
    return data


make_loss.grad(lambda xp, data: xp.ones_like(data))


for _op in (copy, copyto):
    _op.sample(lambda draw: draw(draw.real((3, 4))))
make_loss.sample(lambda draw: draw(draw.real((3, 4)), gradient=False))
