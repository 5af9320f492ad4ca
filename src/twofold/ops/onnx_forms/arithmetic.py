"""ONNX forms of the element-wise primitives on one, two or three operands."""

import math

from .. import primitive_arithmetic as arithmetic
from .. import primitive_math as mathematics


def _on_result_type(name):
    """The operator of that name, on operands in the result's dtype."""
    return lambda onnx, node, *inputs: getattr(onnx, name)(*onnx.in_dtype(node.dtype, *inputs))


for _op, _name in (
    (arithmetic.divide, "Div"),
    (arithmetic.power, "Pow"),
    (arithmetic.maximum, "Max"),
    (arithmetic.minimum, "Min"),
    (mathematics.sqrt, "Sqrt"),
    (mathematics.exp, "Exp"),
    (mathematics.log, "Log"),
    (mathematics.sin, "Sin"),
    (mathematics.cos, "Cos"),
    (mathematics.tan, "Tan"),
    (mathematics.arcsin, "Asin"),
    (mathematics.arccos, "Acos"),
    (mathematics.arctan, "Atan"),
    (mathematics.sinh, "Sinh"),
    (mathematics.cosh, "Cosh"),
    (mathematics.tanh, "Tanh"),
    (mathematics.arcsinh, "Asinh"),
    (mathematics.arccosh, "Acosh"),
    (mathematics.arctanh, "Atanh"),
    (mathematics.erf, "Erf"),
    (mathematics.negative, "Neg"),
    (mathematics.absolute, "Abs"),
    (mathematics.sign, "Sign"),
    (mathematics.floor, "Floor"),
    (mathematics.ceil, "Ceil"),
    (mathematics.round_even, "Round"),
):
    _op.onnx(_on_result_type(_name))


def _sum_or_product(name, of_bools):
    """Addition or multiplication, which for bools are a disjunction and a conjunction."""

    def rule(onnx, node, *inputs):
        return getattr(onnx, of_bools if node.dtype == "bool" else name)(*onnx.in_dtype(node.dtype, *inputs))

    return rule


arithmetic.add.onnx(_sum_or_product("Add", "Or"))
arithmetic.multiply.onnx(_sum_or_product("Mul", "And"))
arithmetic.subtract.onnx(_on_result_type("Sub"))


def _compared(name, negated=False):
    def rule(onnx, node, lhs, rhs):
        found = getattr(onnx, name)(*onnx.in_common_dtype(lhs, rhs))
        return onnx.Not(found) if negated else found

    return rule


arithmetic.equal.onnx(_compared("Equal"))
arithmetic.not_equal.onnx(_compared("Equal", negated=True))
arithmetic.greater.onnx(_compared("Greater"))
arithmetic.greater_equal.onnx(_compared("GreaterOrEqual"))
arithmetic.less.onnx(_compared("Less"))
arithmetic.less_equal.onnx(_compared("LessOrEqual"))


def _on_bools(name):
    return lambda onnx, node, *inputs: getattr(onnx, name)(*onnx.in_dtype("bool", *inputs))


arithmetic.logical_and.onnx(_on_bools("And"))
arithmetic.logical_or.onnx(_on_bools("Or"))
arithmetic.logical_xor.onnx(_on_bools("Xor"))
arithmetic.logical_not.onnx(_on_bools("Not"))


def _on_bits(name, of_bools):
    """A bit-wise operator; on integers it came with version 18."""

    def rule(onnx, node, *inputs):
        if node.dtype == "bool":
            return getattr(onnx, of_bools)(*onnx.in_dtype("bool", *inputs))
        onnx.require(18, node)
        return getattr(onnx, name)(*onnx.in_dtype(node.dtype, *inputs))

    return rule


arithmetic.bitwise_and.onnx(_on_bits("BitwiseAnd", "And"))
arithmetic.bitwise_or.onnx(_on_bits("BitwiseOr", "Or"))
arithmetic.bitwise_xor.onnx(_on_bits("BitwiseXor", "Xor"))
arithmetic.invert.onnx(_on_bits("BitwiseNot", "Not"))


@arithmetic.floor_divide.onnx
def _(onnx, node, *inputs):
    lhs, rhs = onnx.in_dtype(node.dtype, *inputs)
    if onnx.is_float(node.dtype):
        return onnx.Floor(onnx.Div(lhs, rhs))
    return onnx.Div(onnx.Sub(lhs, onnx.Mod(lhs, rhs)), rhs)  # ONNX rounds quotients of integers toward zero


@arithmetic.remainder.onnx
def _(onnx, node, *inputs):
    lhs, rhs = onnx.in_dtype(node.dtype, *inputs)
    if not onnx.is_float(node.dtype):
        return onnx.Mod(lhs, rhs)
    # the remainder of floats has the sign of the dividend in ONNX, and of the divisor here
    rest = onnx.Mod(lhs, rhs, fmod=1)
    differs = onnx.Less(onnx.Mul(rest, rhs), onnx.number(0, node.dtype))
    return onnx.Where(differs, onnx.Add(rest, rhs), rest)


arithmetic.fmod.onnx(lambda onnx, node, *inputs: onnx.Mod(*onnx.in_dtype(node.dtype, *inputs), fmod=1))


@arithmetic.hypot.onnx
def _(onnx, node, *inputs):
    lhs, rhs = onnx.in_dtype(node.dtype, *inputs)
    return onnx.Sqrt(onnx.Add(onnx.Mul(lhs, lhs), onnx.Mul(rhs, rhs)))


@arithmetic.copysign.onnx
def _(onnx, node, *inputs):
    lhs, rhs = onnx.in_dtype(node.dtype, *inputs)
    size, zero = onnx.Abs(lhs), onnx.number(0, node.dtype)
    # a negative zero is recognized by its reciprocal
    below = onnx.Less(onnx.Where(onnx.Equal(rhs, zero), onnx.Reciprocal(rhs), rhs), zero)
    return onnx.Where(below, onnx.Neg(size), size)


@arithmetic.arctan2.onnx
def _(onnx, node, *inputs):
    y, x = onnx.in_dtype(node.dtype, *inputs)
    zero, half_turn = onnx.number(0, node.dtype), onnx.number(math.pi, node.dtype)
    # atan(y / x) covers the right half plane only: half a turn is added on the left, and on the axis x = 0 it is a quarter
    quarter = onnx.Mul(onnx.Sign(y), onnx.number(math.pi / 2, node.dtype))
    on_axis = onnx.Equal(x, zero)
    angle = onnx.Atan(onnx.Div(y, onnx.Where(on_axis, onnx.number(1, node.dtype), x)))
    behind = onnx.Where(onnx.Less(y, zero), onnx.Neg(half_turn), half_turn)
    return onnx.Where(on_axis, quarter, onnx.Where(onnx.Less(x, zero), onnx.Add(angle, behind), angle))


@arithmetic.where.onnx
def _(onnx, node, condition, x, y):
    (chosen,) = onnx.in_dtype("bool", condition)
    return onnx.Where(chosen, *onnx.in_dtype(node.dtype, x, y))


@arithmetic.clip.onnx
def _(onnx, node, *inputs):
    data, low, high = onnx.in_dtype(node.dtype, *inputs)
    return onnx.Min(onnx.Max(data, low), high)


arithmetic.astype.onnx(lambda onnx, node, data: onnx.in_dtype(node.dtype, data)[0])


mathematics.square.onnx(lambda onnx, node, data: onnx.Mul(data, data))


@mathematics.cbrt.onnx
def _(onnx, node, *inputs):
    (data,) = onnx.in_dtype(node.dtype, *inputs)
    return onnx.Mul(onnx.Sign(data), onnx.Pow(onnx.Abs(data), onnx.number(1 / 3, node.dtype)))


@mathematics.expm1.onnx
def _(onnx, node, *inputs):
    # exp(x) - 1 = 2 exp(x / 2) sinh(x / 2), without the cancellation near 0; below -100 it is -1: there the factors are 0 and infinite
    (data,) = onnx.in_dtype(node.dtype, *inputs)
    half = onnx.Mul(onnx.Max(data, onnx.number(-100, node.dtype)), onnx.number(0.5, node.dtype))
    return onnx.Mul(onnx.Mul(onnx.number(2, node.dtype), onnx.Exp(half)), onnx.Sinh(half))


@mathematics.log1p.onnx
def _(onnx, node, *inputs):
    # near 0 the sum 1 + x loses digits of x, which its logarithm divided by (1 + x) - 1 gives back (Kahan)
    (data,) = onnx.in_dtype(node.dtype, *inputs)
    one = onnx.number(1, node.dtype)
    total = onnx.Add(one, data)
    kept = onnx.Sub(total, one)
    tiny = onnx.Equal(kept, onnx.number(0, node.dtype))
    huge = onnx.Equal(kept, data)  # nothing was lost, infinity included
    ratio = onnx.Div(data, onnx.Where(tiny, one, kept))
    return onnx.Where(tiny, data, onnx.Where(huge, onnx.Log(total), onnx.Mul(onnx.Log(total), ratio)))


def _logarithm(base):
    def rule(onnx, node, *inputs):
        (data,) = onnx.in_dtype(node.dtype, *inputs)
        return onnx.Mul(onnx.Log(data), onnx.number(1 / math.log(base), node.dtype))

    return rule


mathematics.log2.onnx(_logarithm(2))
mathematics.log10.onnx(_logarithm(10))


@mathematics.trunc.onnx
def _(onnx, node, *inputs):
    (data,) = onnx.in_dtype(node.dtype, *inputs)
    return onnx.Mul(onnx.Sign(data), onnx.Floor(onnx.Abs(data))) if onnx.is_float(node.dtype) else data


@mathematics.isnan.onnx
def _(onnx, node, data):
    # x - x is 0 for every integer: False in the data's shape, which may be open
    return onnx.IsNaN(data) if onnx.is_float(data.dtype) else onnx.in_dtype("bool", onnx.Sub(data, data))[0]


@mathematics.isinf.onnx
def _(onnx, node, data):
    return onnx.IsInf(data) if onnx.is_float(data.dtype) else onnx.in_dtype("bool", onnx.Sub(data, data))[0]


@mathematics.isfinite.onnx
def _(onnx, node, data):
    if not onnx.is_float(data.dtype):
        return onnx.Equal(data, data)
    return onnx.Not(onnx.Or(onnx.IsNaN(data), onnx.IsInf(data)))


mathematics.stop_gradient.onnx(lambda onnx, node, data: data)
