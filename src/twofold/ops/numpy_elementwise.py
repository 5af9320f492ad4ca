"""Element-wise functions of NumPy that ``mx.nd`` lacks."""

import math

from ..dtype import COMPLEX, is_float
from ..opdef import elementwise
from .elementwise_math import sigmoid


@elementwise("_npi_exp2", numpy_names=("exp2",))
def exp2(xp, data):
    """2 raised to the power of the operand."""
    return xp.power(2.0, xp.to_float(data))


exp2.grad(lambda xp, dout, out: dout * out * math.log(2))


@elementwise("_npi_fabs", numpy_names=("fabs",))
def fabs(xp, data):
    """Absolute value as a float."""
    return xp.absolute(xp.to_float(data))


@elementwise("_npi_positive", numpy_names=("positive",))
def positive(xp, data):
    """The operand itself."""
    return xp.contiguous(data)


@elementwise("_npi_reciprocal", numpy_names=("reciprocal",))
def reciprocal_number(xp, x):
    """1 / x; truncated for integers."""
    name = xp.dtype_of(x)
    # NumPy's reciprocal of an integer is 0 or ±1, unlike its true division
    return 1 / x if is_float(name) or name in COMPLEX else xp.astype(xp.trunc(1 / x), dtype=name)


for _op in (exp2, fabs, positive, reciprocal_number):
    _op.sample(lambda draw: draw(draw.real((2, 3), low=0.5, high=2.0)))


@elementwise("_npi_float_power", numpy_names=("float_power",))
def float_power(xp, lhs, rhs):
    """``lhs`` raised to the power ``rhs``, computed in float64, or in complex128 for complex operands."""
    is_complex = any(xp.dtype_of(x).startswith("complex") for x in (lhs, rhs))
    return xp.power(xp.astype(lhs, dtype="complex128" if is_complex else "float64"), rhs)


@elementwise("_npi_fmax", numpy_names=("fmax",))
def fmax(xp, lhs, rhs):
    """Element-wise maximum; NaN only if both operands are NaN."""
    # the primitive's maximum is NaN if either operand is, so both are tested
    return xp.where(xp.isnan(lhs), rhs, xp.where(xp.isnan(rhs), lhs, xp.maximum(lhs, rhs)))


@elementwise("_npi_fmin", numpy_names=("fmin",))
def fmin(xp, lhs, rhs):
    """Element-wise minimum; NaN only if both operands are NaN."""
    return xp.where(xp.isnan(lhs), rhs, xp.where(xp.isnan(rhs), lhs, xp.minimum(lhs, rhs)))


def ordered(xp, lhs, rhs):
    """The larger operand, and the (negative) difference of the smaller one; 0 for equal infinities, whose difference is NaN."""
    low, high = xp.to_float(xp.minimum(lhs, rhs)), xp.to_float(xp.maximum(lhs, rhs))
    return high, xp.where(xp.equal(low, high), 0.0, low - high)


@elementwise("_npi_logaddexp", numpy_names=("logaddexp",))
def logaddexp(xp, lhs, rhs):
    """log(exp(lhs) + exp(rhs)) without overflow."""
    high, apart = ordered(xp, lhs, rhs)
    return high + xp.log1p(xp.exp(apart))


# the shares of both powers in the sum: 1 and 0 where one of them is infinite
logaddexp.grad(lambda xp, dout, lhs, rhs: (dout * sigmoid(xp, lhs - rhs), dout * sigmoid(xp, rhs - lhs)))


@elementwise("_npi_logaddexp2", numpy_names=("logaddexp2",))
def logaddexp2(xp, lhs, rhs):
    """log2(2**lhs + 2**rhs) without overflow."""
    high, apart = ordered(xp, lhs, rhs)
    return high + xp.log1p(xp.power(2.0, apart)) * (1 / math.log(2))


@logaddexp2.grad
def _(xp, dout, lhs, rhs):
    difference = (lhs - rhs) * math.log(2)
    return dout * sigmoid(xp, difference), dout * sigmoid(xp, -difference)


for _op in (float_power, fmax, fmin, logaddexp, logaddexp2):
    _op.sample(lambda draw: draw(draw.real((2, 3), low=0.5, high=2.0, distinct=True), draw.real((3,), low=0.6, high=2.1, distinct=True)))


@elementwise("_npi_heaviside", numpy_names=("heaviside",))
def heaviside(xp, lhs, rhs):
    """Heaviside step function: 0 below 0, ``rhs`` at 0, 1 above."""
    step = xp.where(xp.greater(lhs, 0), 1.0, xp.where(xp.isnan(lhs), lhs, 0.0))
    return xp.where(xp.equal(lhs, 0), rhs, step)


heaviside.sample(lambda draw: draw(draw.real((3, 4)), draw.real((4,)), gradient=False))
