"""Primitives on two or three broadcast operands: arithmetic, comparison, logic, selection; with ufuncs, C expressions and gradients."""

from functools import partial

from ..opdef.declare import primitive
from ..opdef.params import DType

binary = partial(primitive, elementwise=True, result="ufunc")
compare = partial(primitive, elementwise=True, result="bool", compares=True, simple=True, differentiable=False)
logic = partial(primitive, elementwise=True, result="bool", simple=True, differentiable=False)
bitwise = partial(primitive, elementwise=True, result="ufunc", differentiable=False)


@binary(
    ufunc="add", simple=True, c="{0} + {1}", python="add", numpy_names=("add",), symbol=("broadcast_add", "_plus_scalar", "_plus_scalar")
)
def add(xp, lhs, rhs):
    """Sum of two arrays."""


add.grad(lambda xp, dout: (dout, dout))


@binary(
    ufunc="subtract",
    simple=True,
    c="{0} - {1}",
    python="sub",
    numpy_names=("subtract",),
    symbol=("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
)
def subtract(xp, lhs, rhs):
    """Difference of two arrays."""


subtract.grad(lambda xp, dout: (dout, -dout))


@binary(
    ufunc="multiply",
    simple=True,
    c="{0} * {1}",
    python="mul",
    numpy_names=("multiply",),
    symbol=("broadcast_mul", "_mul_scalar", "_mul_scalar"),
)
def multiply(xp, lhs, rhs):
    """Element-wise product of two arrays."""


multiply.grad(lambda xp, dout, lhs, rhs: (dout * rhs, dout * lhs))


@binary(
    ufunc="true_divide",
    simple=True,
    c="{0} / {1}",
    python="truediv",
    numpy_names=("divide", "true_divide"),
    symbol=("broadcast_div", "_div_scalar", "_rdiv_scalar"),
)
def divide(xp, lhs, rhs):
    """True quotient of two arrays."""


@divide.grad
def _(xp, dout, out, rhs):
    # -lhs / rhs² as -out / rhs: it reuses the result, and rhs² cannot overflow
    return dout / rhs, -(dout * out) / rhs


@binary(ufunc="floor_divide", c="tf_floor_divide({0}, {1})", python="floordiv", numpy_names=("floor_divide",), differentiable=False)
def floor_divide(xp, lhs, rhs):
    """The quotient, rounded down to an integer."""


@binary(
    ufunc="remainder",
    c="tf_remainder({0}, {1})",
    python="mod",
    numpy_names=("remainder", "mod"),
    symbol=("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
)
def remainder(xp, lhs, rhs):
    """Remainder with the divisor's sign, as Python's ``%``."""


@remainder.grad
def _(xp, dout, lhs, rhs):
    # lhs - rhs · floor(lhs / rhs), where floor is constant almost everywhere
    return dout, -dout * xp.floor_divide(lhs, rhs)


@binary(ufunc="fmod", c="tf_fmod({0}, {1})", numpy_names=("fmod",))
def fmod(xp, lhs, rhs):
    """Remainder with the dividend's sign, as C's ``fmod``."""


fmod.grad(lambda xp, dout, lhs, rhs: (dout, -dout * xp.trunc(lhs / rhs)))


@binary(
    ufunc="power", c="tf_pow({0}, {1})", python="pow", numpy_names=("power",), symbol=("broadcast_power", "_power_scalar", "_rpower_scalar")
)
def power(xp, lhs, rhs):
    """``lhs`` raised to the power ``rhs``."""


@power.grad
def _(xp, dout, out, lhs, rhs):
    # where the base and the power are 0, the gradient of the exponent is 0, but log(0) is infinite: 0 · inf would be NaN
    base = xp.where(xp.logical_and(xp.equal(lhs, 0), xp.equal(out, 0)), 1, lhs)
    return dout * rhs * xp.power(lhs, rhs - 1), dout * out * xp.log(base)


@binary(
    ufunc="maximum",
    simple=True,
    c="tf_max({0}, {1})",
    numpy_names=("maximum",),
    symbol=("broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
)
def maximum(xp, lhs, rhs):
    """Element-wise maximum; NaN if either operand is NaN."""


@maximum.grad
def _(xp, dout, lhs, rhs):
    return dout * xp.greater_equal(lhs, rhs), dout * xp.less(lhs, rhs)  # ties go to lhs; with a NaN neither gets a gradient


@binary(
    ufunc="minimum",
    simple=True,
    c="tf_min({0}, {1})",
    numpy_names=("minimum",),
    symbol=("broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
)
def minimum(xp, lhs, rhs):
    """Element-wise minimum; NaN if either operand is NaN."""


minimum.grad(lambda xp, dout, lhs, rhs: (dout * xp.less_equal(lhs, rhs), dout * xp.greater(lhs, rhs)))


@binary(ufunc="arctan2", c="atan2({0}, {1})", numpy_names=("arctan2",))
def arctan2(xp, lhs, rhs):
    """Angle of the point (rhs, lhs) in radians, in (-pi, pi]."""


@arctan2.grad
def _(xp, dout, lhs, rhs):
    scaled = dout / (lhs * lhs + rhs * rhs)
    return scaled * rhs, -scaled * lhs


@binary(ufunc="hypot", c="hypot({0}, {1})", numpy_names=("hypot",))
def hypot(xp, lhs, rhs):
    """The hypotenuse sqrt(lhs² + rhs²), without overflow."""


hypot.grad(lambda xp, dout, out, lhs, rhs: (dout * lhs / out, dout * rhs / out))


@binary(ufunc="copysign", c="copysign({0}, {1})", numpy_names=("copysign",))
def copysign(xp, lhs, rhs):
    """``lhs`` with the sign of ``rhs``."""


copysign.grad(lambda xp, dout, lhs, rhs: (dout * xp.sign(lhs) * xp.copysign(xp.ones_like(lhs), rhs), None))


@compare(ufunc="equal", c="{0} == {1}", python="eq", numpy_names=("equal",), symbol=("broadcast_equal", "_equal_scalar", "_equal_scalar"))
def equal(xp, lhs, rhs):
    """Whether the operands are equal."""


@compare(
    ufunc="not_equal",
    c="{0} != {1}",
    python="ne",
    numpy_names=("not_equal",),
    symbol=("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
)
def not_equal(xp, lhs, rhs):
    """Whether the operands differ."""


@compare(
    ufunc="greater", c="{0} > {1}", python="gt", numpy_names=("greater",), symbol=("broadcast_greater", "_greater_scalar", "_lesser_scalar")
)
def greater(xp, lhs, rhs):
    """Whether ``lhs`` is greater than ``rhs``."""


@compare(
    ufunc="greater_equal",
    c="{0} >= {1}",
    python="ge",
    numpy_names=("greater_equal",),
    symbol=("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
)
def greater_equal(xp, lhs, rhs):
    """Whether ``lhs`` is greater than or equal to ``rhs``."""


@compare(ufunc="less", c="{0} < {1}", python="lt", numpy_names=("less",), symbol=("broadcast_lesser", "_lesser_scalar", "_greater_scalar"))
def less(xp, lhs, rhs):
    """Whether ``lhs`` is less than ``rhs``."""


@compare(
    ufunc="less_equal",
    c="{0} <= {1}",
    python="le",
    numpy_names=("less_equal",),
    symbol=("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
)
def less_equal(xp, lhs, rhs):
    """Whether ``lhs`` is less than or equal to ``rhs``."""


@logic(ufunc="logical_and", c="({0} != 0) && ({1} != 0)", numpy_names=("logical_and",))
def logical_and(xp, lhs, rhs):
    """Whether both operands are nonzero."""


@logic(ufunc="logical_or", c="({0} != 0) || ({1} != 0)", numpy_names=("logical_or",))
def logical_or(xp, lhs, rhs):
    """Whether at least one operand is nonzero."""


@logic(ufunc="logical_xor", c="({0} != 0) != ({1} != 0)", numpy_names=("logical_xor",))
def logical_xor(xp, lhs, rhs):
    """Whether exactly one operand is nonzero."""


@logic("logical_not", ufunc="logical_not", c="{0} == 0", numpy_names=("logical_not",))
def logical_not(xp, data):
    """Whether the operand is zero."""


@bitwise(ufunc="bitwise_and", c="{0} & {1}", python="and", numpy_names=("bitwise_and",))
def bitwise_and(xp, lhs, rhs):
    """Bits set in both integers."""


@bitwise(ufunc="bitwise_or", c="{0} | {1}", python="or", numpy_names=("bitwise_or",))
def bitwise_or(xp, lhs, rhs):
    """Bits set in either integer."""


@bitwise(ufunc="bitwise_xor", c="{0} ^ {1}", python="xor", numpy_names=("bitwise_xor",))
def bitwise_xor(xp, lhs, rhs):
    """Bits set in exactly one integer."""


@bitwise(ufunc="invert", c="tf_invert({0})", python="invert", numpy_names=("invert", "bitwise_not"))
def invert(xp, data):
    """Bitwise complement; negation for bools."""


@bitwise(ufunc="left_shift", c="tf_left_shift({0}, {1})", python="lshift", numpy_names=("left_shift",))
def left_shift(xp, lhs, rhs):
    """``lhs`` shifted left by ``rhs`` bits."""


@bitwise(ufunc="right_shift", c="tf_right_shift({0}, {1})", python="rshift", numpy_names=("right_shift",))
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
