"""Primitives on two or three broadcast operands: arithmetic, comparison, logic, selection; with ufuncs, C expressions and gradients."""

from functools import partial

from ..opdef.declare import of_ufunc, primitive
from ..opdef.params import DType
from .arithmetic_variants import symbol_names

compare = partial(of_ufunc, result="bool", compares=True, simple=True, differentiable=False)
logic = partial(of_ufunc, result="bool", simple=True, differentiable=False)
bitwise = partial(of_ufunc, differentiable=False)


@of_ufunc(simple=True, c="{0} + {1}", python="add", symbol=symbol_names("add"))
def add(xp, lhs, rhs):
    """Sum of two arrays."""


add.grad(lambda xp, dout: (dout, dout))


@of_ufunc(simple=True, c="{0} - {1}", python="sub", symbol=symbol_names("sub"))
def subtract(xp, lhs, rhs):
    """Difference of two arrays."""


subtract.grad(lambda xp, dout: (dout, -dout))


@of_ufunc(simple=True, c="{0} * {1}", python="mul", symbol=symbol_names("mul"))
def multiply(xp, lhs, rhs):
    """Element-wise product of two arrays."""


multiply.grad(lambda xp, dout, lhs, rhs: (dout * rhs, dout * lhs))


@of_ufunc(
    ufunc="true_divide",
    simple=True,
    c="{0} / {1}",
    python="truediv",
    numpy_names=("divide", "true_divide"),
    symbol=symbol_names("div"),
)
def divide(xp, lhs, rhs):
    """True quotient of two arrays."""


@divide.grad
def _(xp, dout, out, rhs):
    # -lhs / rhs² as -out / rhs: it reuses the result, and rhs² cannot overflow
    return dout / rhs, -(dout * out) / rhs


@of_ufunc(c="tf_floor_divide({0}, {1})", python="floordiv", differentiable=False)
def floor_divide(xp, lhs, rhs):
    """The quotient, rounded down to an integer."""


@of_ufunc(c="tf_remainder({0}, {1})", python="mod", numpy_names=("remainder", "mod"), symbol=symbol_names("mod"))
def remainder(xp, lhs, rhs):
    """Remainder with the divisor's sign, as Python's ``%``."""


@remainder.grad
def _(xp, dout, lhs, rhs):
    # lhs - rhs · floor(lhs / rhs), where floor is constant almost everywhere
    return dout, -dout * xp.floor_divide(lhs, rhs)


@of_ufunc(c="tf_fmod({0}, {1})")
def fmod(xp, lhs, rhs):
    """Remainder with the dividend's sign, as C's ``fmod``."""


fmod.grad(lambda xp, dout, lhs, rhs: (dout, -dout * xp.trunc(lhs / rhs)))


@of_ufunc(c="tf_pow({0}, {1})", python="pow", symbol=symbol_names("power"))
def power(xp, lhs, rhs):
    """``lhs`` raised to the power ``rhs``."""


@power.grad
def _(xp, dout, out, lhs, rhs):
    # where the base and the power are 0, the gradient of the exponent is 0, but log(0) is infinite: 0 · inf would be NaN
    base = xp.where(xp.logical_and(xp.equal(lhs, 0), xp.equal(out, 0)), 1, lhs)
    return dout * rhs * xp.power(lhs, rhs - 1), dout * out * xp.log(base)


@of_ufunc(simple=True, c="tf_max({0}, {1})", symbol=symbol_names("maximum"))
def maximum(xp, lhs, rhs):
    """Element-wise maximum; NaN if either operand is NaN."""


@maximum.grad
def _(xp, dout, lhs, rhs):
    return dout * xp.greater_equal(lhs, rhs), dout * xp.less(lhs, rhs)  # ties go to lhs; with a NaN neither gets a gradient


@of_ufunc(simple=True, c="tf_min({0}, {1})", symbol=symbol_names("minimum"))
def minimum(xp, lhs, rhs):
    """Element-wise minimum; NaN if either operand is NaN."""


minimum.grad(lambda xp, dout, lhs, rhs: (dout * xp.less_equal(lhs, rhs), dout * xp.greater(lhs, rhs)))


@of_ufunc(c="atan2({0}, {1})")
def arctan2(xp, lhs, rhs):
    """Angle of the point (rhs, lhs) in radians, in (-pi, pi]."""


@arctan2.grad
def _(xp, dout, lhs, rhs):
    scaled = dout / (lhs * lhs + rhs * rhs)
    return scaled * rhs, -scaled * lhs


@of_ufunc(c="hypot({0}, {1})")
def hypot(xp, lhs, rhs):
    """The hypotenuse sqrt(lhs² + rhs²), without overflow."""


hypot.grad(lambda xp, dout, out, lhs, rhs: (dout * lhs / out, dout * rhs / out))


@of_ufunc(c="copysign({0}, {1})")
def copysign(xp, lhs, rhs):
    """``lhs`` with the sign of ``rhs``."""


copysign.grad(lambda xp, dout, lhs, rhs: (dout * xp.sign(lhs) * xp.copysign(xp.ones_like(lhs), rhs), None))


@compare(c="{0} == {1}", python="eq", symbol=symbol_names("equal"))
def equal(xp, lhs, rhs):
    """Whether the operands are equal."""


@compare(c="{0} != {1}", python="ne", symbol=symbol_names("not_equal"))
def not_equal(xp, lhs, rhs):
    """Whether the operands differ."""


@compare(c="{0} > {1}", python="gt", symbol=symbol_names("greater"))
def greater(xp, lhs, rhs):
    """Whether ``lhs`` is greater than ``rhs``."""


@compare(c="{0} >= {1}", python="ge", symbol=symbol_names("greater_equal"))
def greater_equal(xp, lhs, rhs):
    """Whether ``lhs`` is greater than or equal to ``rhs``."""


@compare(c="{0} < {1}", python="lt", symbol=symbol_names("lesser"))
def less(xp, lhs, rhs):
    """Whether ``lhs`` is less than ``rhs``."""


@compare(c="{0} <= {1}", python="le", symbol=symbol_names("lesser_equal"))
def less_equal(xp, lhs, rhs):
    """Whether ``lhs`` is less than or equal to ``rhs``."""


@logic(c="({0} != 0) && ({1} != 0)")
def logical_and(xp, lhs, rhs):
    """Whether both operands are nonzero."""


@logic(c="({0} != 0) || ({1} != 0)")
def logical_or(xp, lhs, rhs):
    """Whether at least one operand is nonzero."""


@logic(c="({0} != 0) != ({1} != 0)")
def logical_xor(xp, lhs, rhs):
    """Whether exactly one operand is nonzero."""


@logic("logical_not", c="{0} == 0")
def logical_not(xp, data):
    """Whether the operand is zero."""


@bitwise(c="{0} & {1}", python="and")
def bitwise_and(xp, lhs, rhs):
    """Bits set in both integers."""


@bitwise(c="{0} | {1}", python="or")
def bitwise_or(xp, lhs, rhs):
    """Bits set in either integer."""


@bitwise(c="{0} ^ {1}", python="xor")
def bitwise_xor(xp, lhs, rhs):
    """Bits set in exactly one integer."""


@bitwise(c="tf_invert({0})", python="invert", numpy_names=("invert", "bitwise_not"))
def invert(xp, data):
    """Bitwise complement; negation for bools."""


@bitwise(c="tf_left_shift({0}, {1})", python="lshift")
def left_shift(xp, lhs, rhs):
    """``lhs`` shifted left by ``rhs`` bits."""


@bitwise(c="tf_right_shift({0}, {1})", python="rshift")
def right_shift(xp, lhs, rhs):
    """``lhs`` shifted right by ``rhs`` bits."""


@primitive(elementwise=True, result="tail", simple=True, c="{0} ? {1} : {2}", symbol=("where",))
def where(xp, condition, x, y):
    """``x`` where the condition is nonzero, else ``y``; all three broadcast."""


@where.grad
def _(xp, dout, condition):
    # by selection, not by multiplication with the condition: 0 · inf would be NaN
    return None, xp.where(condition, dout, 0), xp.where(condition, 0, dout)


@primitive(elementwise=True, result="first", simple=True, c="tf_min(tf_max({0}, {1}), {2})")
def clip(xp, data, low, high):
    """``data`` clipped to [low, high], in its own dtype."""


@clip.grad
def _(xp, dout, data, low, high):
    # the gradient of the data passes at the bounds too
    inside = xp.logical_and(xp.greater_equal(data, low), xp.less_equal(data, high))
    return dout * inside, dout * xp.less(data, low), dout * xp.greater(data, high)


@primitive("Cast", "_npi_cast", "_npx_cast", "cast", elementwise=True, result="dtype", simple=True, c="({dtype})({0})")
def astype(xp, data, *, dtype: DType):
    """``data`` cast to a dtype; floats are truncated to integers."""


astype.grad(lambda xp, dout, data: xp.cast_like(dout, data))
