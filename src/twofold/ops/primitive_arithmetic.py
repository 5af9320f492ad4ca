"""Primitives on two or three broadcast operands: arithmetic, comparison, logic, selection; with ufuncs, C expressions and gradients."""

import math
import operator
from functools import partial

from ..dtype import FLOATS
from ..opdef import DType, of_ufunc, primitive
from .arithmetic_variants import symbol_names
from .storage_rules import OPERATORS

arithmetic = partial(of_ufunc, simple=True, wraps=True, short_path=True, complex_gradient=True)
compare = partial(of_ufunc, result="bool", compares=True, simple=True, differentiable=False)
logic = partial(of_ufunc, result="bool", simple=True, differentiable=False)
bitwise = partial(of_ufunc, simple=True, differentiable=False)


@arithmetic(c="{0} + {1}", python="add", fold=operator.add, symbol=symbol_names("add"), sparse_rule=OPERATORS["add"])
def add(xp, lhs, rhs):
    """Sum of two arrays."""


add.grad(lambda xp, dout: (dout, dout))


@add.rows
def _(xp, row_form, node):
    # a sum has the parts of both terms; a broadcast term has no rows
    lhs, rhs = (row_form(x) if x.shape == node.shape else None for x in node.operands)
    return None if lhs is None or rhs is None else [*lhs, *rhs]


@add.logarithm
def _(xp, node):
    # log(1 + exp(u)) = softplus(u)
    power = xp.exponent_beside_one(node)
    return None if power is None else xp.softplus(power)


@arithmetic(c="{0} - {1}", python="sub", fold=operator.sub, symbol=symbol_names("sub"), sparse_rule=OPERATORS["sub"])
def subtract(xp, lhs, rhs):
    """Difference of two arrays."""


subtract.grad(lambda xp, dout: (dout, -dout))


@subtract.logarithm
def _(xp, node):
    # log(1 - sigmoid(u)) = -softplus(u)
    one, other = node.operands
    logit = xp.logit_of(other) if xp.is_const(xp.definition_of(one), 1) else None
    return None if logit is None or logit.shape != node.shape else -xp.softplus(logit)


@arithmetic(c="{0} * {1}", python="mul", fold=operator.mul, symbol=symbol_names("mul"), sparse_rule=OPERATORS["mul"])
def multiply(xp, lhs, rhs):
    """Element-wise product of two arrays."""


multiply.grad(lambda xp, dout, lhs, rhs: (dout * rhs, dout * lhs))


@multiply.rows
def _(xp, row_form, node):
    lhs, rhs = node.operands
    for data, other in ((lhs, rhs), (rhs, lhs)):
        # a product is 0 where one factor is: the rows of that factor, times the same
        # rows of the other; parts of a csr product have no rows yet
        form = row_form(data) if data.shape[:1] == node.shape[:1] and len(data.shape) == len(node.shape) else None
        if form is not None and all(kind != "csr" for kind, _ in form):
            return [(kind, (rows * _rows_of(xp, other, node, kind, at), *at)) for kind, (rows, *at) in form]
    return None


def _rows_of(xp, factor, node, kind, at):
    """The rows of a factor of a product at the places of a row form."""
    if len(factor.shape) < len(node.shape):
        return factor
    if factor.shape[0] != node.shape[0]:
        return xp.reshape(factor, shape=factor.shape[1:])
    return xp.take(factor, *at, axis=0) if kind == "rows" else xp.stored_rows(factor, *at)


@multiply.simplify
def _(xp, node):
    lhs, rhs = node.operands
    if xp.is_const(rhs, 1) and xp.same_type(lhs, node):
        return lhs
    if xp.is_const(lhs, 1) and xp.same_type(rhs, node):
        return rhs
    for x, y in ((lhs, rhs), (rhs, lhs)):
        sign, number = xp.fill_of(x), xp.scalar_of(y)
        # a product of -1 and a zero is not folded: interned parameters compare -0.0 and 0 as equal
        if sign in (1, -1) and node.dtype in FLOATS and number is not None and (sign == 1 or number):
            return xp.full(shape=node.shape, value=int(sign) * number, dtype=node.dtype)
        if xp.is_const(x, -1) and xp.same_type(y, node):
            return xp.simplified(-y)
    return None


# log(a · b) = log a + log b; a factor that is a condition selects instead, because of log 0
multiply.logarithm(lambda xp, node: xp.combined(node, lambda a, b: a + b, masks=True))


def _quotient(lhs, rhs):
    """The quotient of Python scalars; None for a division by zero, which only arrays define."""
    return lhs / rhs if rhs else None


@of_ufunc(
    ufunc="true_divide",
    simple=True,
    c="{0} / {1}",
    python="truediv",
    fold=_quotient,
    short_path=True,
    complex_gradient=True,
    numpy_names=("divide", "true_divide"),
    symbol=symbol_names("div"),
    sparse_rule=OPERATORS["div"],
)
def divide(xp, lhs, rhs):
    """True quotient of two arrays."""


@divide.grad
def _(xp, dout, out, rhs):
    # -lhs / rhs² as -out / rhs: it reuses the result, and rhs² cannot overflow
    return dout / rhs, -(dout * out) / rhs


@divide.simplify
def _(xp, node):
    lhs, rhs = node.operands
    return lhs if xp.is_const(rhs, 1) and xp.same_type(lhs, node) else None


@divide.logarithm
def _(xp, node):
    # log(sigmoid(u)) = -softplus(-u)
    logit = xp.logit_of(node)
    return xp.combined(node, lambda a, b: a - b) if logit is None else -xp.softplus(xp.negated(logit))


@divide.stable
def _(xp, node):
    # a logistic function or a softmax that is written out
    logit = xp.logit_of(node)
    return xp.softmax_of(node) if logit is None else xp.logistic(logit)


@of_ufunc(least_right=1, c="tf_floor_divide({0}, {1})", python="floordiv", differentiable=False)
def floor_divide(xp, lhs, rhs):
    """The quotient, rounded down to an integer."""


@of_ufunc(
    least_right=1,
    c="tf_remainder({0}, {1})",
    python="mod",
    legacy_differs=True,
    numpy_names=("remainder", "mod"),
    symbol=symbol_names("mod"),
)
def remainder(xp, lhs, rhs):
    """Remainder with the divisor's sign, as Python's ``%``."""


@remainder.grad
def _(xp, dout, lhs, rhs):
    # lhs - rhs · floor(lhs / rhs), where floor is constant almost everywhere
    return dout, -dout * xp.floor_divide(lhs, rhs)


@of_ufunc(least_right=1, c="tf_fmod({0}, {1})")
def fmod(xp, lhs, rhs):
    """Remainder with the dividend's sign, as C's ``fmod``."""


# lhs - rhs · trunc(lhs / rhs), where trunc is constant between its jumps
fmod.grad(lambda xp, dout, lhs, rhs: (dout, -dout * xp.trunc(lhs / rhs)))


@of_ufunc(
    least_right=0,
    c="tf_pow({0}, {1})",
    python="pow",
    legacy_differs=True,
    short_path=True,
    symbol=symbol_names("power"),
    complex_gradient=True,
)
def power(xp, lhs, rhs):
    """``lhs`` raised to the power ``rhs``."""


@power.grad
def _(xp, dout, out, lhs, rhs):
    # at a base of 0 the gradient of the base is 0 for the exponent 0, and that of the exponent for the power 0; powers of 0 and logarithms
    # are infinite there: 0 · inf would be NaN
    is_zero = xp.equal(lhs, 0)
    of_base, of_exponent = (xp.where(xp.logical_and(is_zero, xp.equal(factor, 0)), 1, lhs) for factor in (rhs, out))
    return dout * rhs * xp.power(of_base, rhs - 1), dout * out * xp.log(of_exponent)


@power.simplify
def _(xp, node):
    lhs, rhs = node.operands
    return xp.square(lhs) if xp.is_const(rhs, 2) and xp.same_type(lhs, node) and node.dtype in FLOATS else None


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
    # d atan2(y, x) = (x dy - y dx) / (x² + y²)
    scaled = dout / (lhs * lhs + rhs * rhs)
    return scaled * rhs, -scaled * lhs


@of_ufunc(c="hypot({0}, {1})")
def hypot(xp, lhs, rhs):
    """The hypotenuse sqrt(lhs² + rhs²), without overflow."""


# by the result, which hypot computes without overflow, not by the sum of squares
hypot.grad(lambda xp, dout, out, lhs, rhs: (dout * lhs / out, dout * rhs / out))


@of_ufunc(c="copysign({0}, {1})")
def copysign(xp, lhs, rhs):
    """``lhs`` with the sign of ``rhs``."""


# ±|lhs|: the slope of the absolute value times the sign that is put on it; nothing changes with the size of rhs
copysign.grad(lambda xp, dout, lhs, rhs: (dout * xp.sign(xp.to_float(lhs)) * xp.copysign(xp.ones_like(dout), rhs), None))


@compare(c="{0} == {1}", python="eq", symbol=symbol_names("equal"), sparse_rule=OPERATORS["equal"])
def equal(xp, lhs, rhs):
    """Whether the operands are equal."""


@compare(c="{0} != {1}", python="ne", symbol=symbol_names("not_equal"), sparse_rule=OPERATORS["not_equal"])
def not_equal(xp, lhs, rhs):
    """Whether the operands differ."""


@compare(c="{0} > {1}", python="gt", symbol=symbol_names("greater"), sparse_rule=OPERATORS["greater"])
def greater(xp, lhs, rhs):
    """Whether ``lhs`` is greater than ``rhs``."""


@compare(c="{0} >= {1}", python="ge", symbol=symbol_names("greater_equal"), sparse_rule=OPERATORS["greater_equal"])
def greater_equal(xp, lhs, rhs):
    """Whether ``lhs`` is greater than or equal to ``rhs``."""


@compare(c="{0} < {1}", python="lt", symbol=symbol_names("lesser"), sparse_rule=OPERATORS["lesser"])
def less(xp, lhs, rhs):
    """Whether ``lhs`` is less than ``rhs``."""


@compare(c="{0} <= {1}", python="le", symbol=symbol_names("lesser_equal"), sparse_rule=OPERATORS["lesser_equal"])
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


logical_not.sample(lambda draw: draw(draw.integer((3, 4), 0, 2)))


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


@bitwise(least_right=0, c="tf_left_shift({0}, {1})", python="lshift")
def left_shift(xp, lhs, rhs):
    """``lhs`` shifted left by ``rhs`` bits."""


@bitwise(least_right=0, c="tf_right_shift({0}, {1})", python="rshift")
def right_shift(xp, lhs, rhs):
    """``lhs`` shifted right by ``rhs`` bits."""


# an adapter may write a part of the result before it has read all operands
@primitive(
    elementwise=True,
    result="tail",
    simple=True,
    may_overwrite=False,
    c="{0} ? {1} : {2}",
    symbol=("where",),
    reference=lambda np, condition, x, y: np.where(condition, x, y),
    complex_gradient=True,
)
def where(xp, condition, x, y):
    """``x`` where the condition is nonzero, else ``y``; all three broadcast."""


@where.grad
def _(xp, dout, condition):
    # by selection, not by multiplication with the condition: 0 · inf would be NaN
    return None, xp.where(condition, dout, 0), xp.where(condition, 0, dout)


where.logarithm(lambda xp, node: xp.combined(node, lambda a, b: xp.where(node.operands[0], a, b), zero=True))


@where.cases
def _(make):
    def want(condition, x, y):
        return make.np.where(condition != 0, x, y)

    mask = make.array([True, False, True, False], "bool")
    for dtype in make.dtypes:
        yield make(mask, make.numbers((2, 4), dtype), make.numbers((2, 1), dtype), want=want)
        yield make(make.numbers((4,), dtype), make.numbers((4,), "float32"), make.numbers((), "float32"), want=want)
    yield make(mask, make.numbers((4,), "int32"), make.numbers((4,), "float32"), want=want)
    yield make(make.array(False, "bool"), make.numbers((), "float32"), make.numbers((0, 2), "float32"), want=want)
    for scalar in (0, 0.5):
        yield make(mask, make.numbers((4,), "float32"), scalar, want=want)


# the bounds do not promote: clipping an int8 array at 1000 keeps int8
@primitive(elementwise=True, result="first", simple=True, c="tf_min(tf_max({0}, {1}), {2})")
def clip(xp, data, low, high):
    """``data`` clipped to [low, high], in its own dtype."""


@clip.grad
def _(xp, dout, data, low, high):
    # the gradient of the data passes at the bounds too
    inside = xp.logical_and(xp.greater_equal(data, low), xp.less_equal(data, high))
    # not by products: zeros times an infinite gradient would be NaN
    return xp.where(inside, dout, 0), xp.where(xp.less(data, low), dout, 0), xp.where(xp.greater(data, high), dout, 0)


@clip.cases
def _(make):
    want = make.np.clip
    for dtype in make.dtypes:
        if dtype not in ("bool", "bfloat16"):  # NumPy has none of bools, and makes float32 of bfloat16
            yield make(make.numbers((2, 4), dtype), make.array(1, dtype), make.array(2, dtype), want=want)
    extremes = [make.array(values, "float32") for values in ([math.nan, 3, -3], [-1, -2, -4], 2)]
    yield make(*extremes, want=want)
    yield make(make.numbers((2, 4), "float32"), -1, 1.5, want=want)
    yield make(make.numbers((2, 4), "int32"), 0, 2, want=want)
    yield make(make.numbers((0, 4), "float32"), 0.0, 2.0, want=want)


@primitive("Cast", "_npi_cast", "_npx_cast", "cast", elementwise=True, result="dtype", simple=True, c="{0}", complex_gradient=True)
def astype(xp, data, *, dtype: DType):
    """``data`` cast to a dtype; floats are truncated to integers."""


astype.grad(lambda xp, dout: dout)  # cast to the dtype of the operand, as every gradient
astype.simplify(lambda xp, node: node.operands[0] if xp.same_type(node.operands[0], node) else None)
astype.rows(lambda xp, row_form, node: row_form(node.operands[0]))
astype.sample(lambda draw: [draw(draw.real((3, 4)), dtype="float64"), draw(draw.real((3, 4), -9, 9), dtype="int32")])


@astype.logarithm
def _(xp, node):
    found = xp.log_of(node.operands[0])
    return None if found is None else xp.cast(found, node.dtype)


@astype.cases
def _(make):
    def want(x, dtype):
        return x.astype(make.kind(dtype))

    for source in make.dtypes:
        for target in make.dtypes:
            yield make(make.array([0, 1, 2.75, 100], source), dtype=target, want=want)
    yield make(make.array([math.nan, math.inf, -2.75], "float32"), dtype="bool", want=want)
    yield make(make.array([-2.75, 2.75], "float32"), dtype="int32", want=want)
    yield make(make.array(2.75, "float32"), dtype="float64", want=want)
    yield make(make.array([], "float32").reshape(0, 2), dtype="int8", want=want)
