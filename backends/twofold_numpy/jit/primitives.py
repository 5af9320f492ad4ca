"""The primitives of row programs as vector expressions with the semantics of NumPy's ufuncs."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from twofold.backend.kernel import ROW_REDUCTIONS, KernelStep
from twofold.dtype import HALVES, NAME_OF, NUMPY

from . import functions
from .halves import rounded
from .ir import FLOATS, Code, Vector

#: Element types in registers by dtype; complex numbers are not supported.
KINDS = {
    "bool": "i1",
    **dict.fromkeys(HALVES, "float"),
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"i{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


#: Primitives of floats whose results need no rounding.
EXACT = frozenset({"maximum", "minimum", "clip", "absolute", "sign", "copysign", "negative", "floor", "ceil", "trunc", "round_even"})
#: Casts for which NumPy has other instructions than these rules, which gives other numbers out of range.
UNDEFINED = {("bfloat16", "uint32"), *[(name, "uint64") for name, kind in KINDS.items() if kind in FLOATS]}
#: Primitives supported for all of these dtypes.
ANY_DTYPE = frozenset({"astype", "stop_gradient", "where"})


class Unsupported(Exception):
    """A program that cannot be compiled, and stays with blocked ufuncs."""


class Typed(NamedTuple):
    """A value with its dtype, which distinguishes signed from unsigned integers."""

    value: Vector
    dtype: str


Rule = Callable[..., Vector]


def step_value(code: Code, step: KernelStep, operands: list[Typed]) -> Typed:
    """The result of a step.

    Parameters
    ----------
    code
        Receives the instructions.
    step
        The step.
    operands
        The operands; they are cast to the dtypes of NumPy's loop.

    Raises
    ------
    Unsupported
        If the primitive is not supported for these dtypes.
    """
    if step.op in ("astype", "stop_gradient"):
        return _cast(operands[0], step.dtype)
    if step.op == "where":
        condition, *values = [_cast(o, d).value for o, d in zip(operands, ("bool", step.dtype, step.dtype), strict=True)]
        return Typed(condition.choose(values[0], values[1]), step.dtype)
    *wanted, result = _loop(step, [o.dtype for o in operands])
    rule = _power(step) if step.op == "power" else _RULES.get((step.op, wanted[0])) or _RULES.get((step.op, _family(wanted[0])))
    if rule is None or any(d not in KINDS for d in wanted) or len(set(wanted)) > 1:
        raise Unsupported(f"{step.op} of {', '.join(wanted)}")
    value = rule(*[_cast(o, d).value for o, d in zip(operands, wanted, strict=True)])
    if result in HALVES and step.op not in EXACT:
        value = rounded(value, result)
    return _cast(Typed(value, result), step.dtype)


def constant(code: Code, value: float | int | bool, dtype: str) -> Typed:
    """A constant of a program, rounded to a dtype."""
    if dtype not in KINDS:
        raise Unsupported(f"a constant of {dtype}")
    return Typed(code.constant(np.asarray(value).astype(NUMPY[dtype]).item(), KINDS[dtype]), dtype)


def has_rule(op: str, dtypes: Sequence[str]) -> bool:
    """Whether a primitive is supported for operands and a result of these dtypes; for powers, with some exponents only."""
    if any(d not in KINDS for d in dtypes):
        return False
    has_own_rule = (op, _family(dtypes[0])) in _RULES or (op == "power" and _family(dtypes[0]) == "float")
    return op in ANY_DTYPE or op in ROW_REDUCTIONS or has_own_rule


def _power(step: KernelStep) -> Rule | None:
    """The rule for a power of floats: a few constant exponents, and any exponent for float32."""
    exponent = step.args[1]
    if _family(step.dtype) != "float":
        return None
    own = _POWERS.get(float(exponent.value)) if exponent.kind == "const" else None
    if step.dtype in HALVES and own is _root:
        own = None  # these take C's pow
    return own or (functions.power if KINDS[step.dtype] == "float" else None)


def _loop(step: KernelStep, dtypes: list[str]) -> list[str]:
    """The dtypes of NumPy's loop: of the operands, then of the result."""
    if step.ufunc is None:
        return [step.dtype] * (len(dtypes) + 1)
    # from NumPy itself, because its promotion differs between its versions
    loop = getattr(np, step.ufunc).resolve_dtypes((*[NUMPY[d] for d in dtypes], None))
    return [NAME_OF.get(d, str(d)) for d in loop]


def _family(dtype: str) -> str:
    if KINDS.get(dtype) in FLOATS:
        return "float"
    return "bool" if dtype == "bool" else "unsigned" if dtype.startswith("u") else "signed"


def _cast(operand: Typed, dtype: str) -> Typed:
    """As NumPy's ``astype``; a float outside an integer's range gives what the processor gives, as in NumPy."""
    if operand.dtype == dtype:
        return operand
    if dtype not in KINDS:
        raise Unsupported(f"a cast to {dtype}")
    value, kind = operand.value, KINDS[dtype]
    is_signed = operand.dtype.startswith("int")
    if dtype in HALVES:
        return _to_half(operand, dtype)
    if dtype == "bool":
        result = value.compare("une" if value.kind in FLOATS else "ne", 0)
    elif value.kind in FLOATS:
        if (operand.dtype, dtype) in UNDEFINED:
            raise Unsupported(f"a cast from {operand.dtype} to {dtype}")
        result = _from_float(value, dtype)
    elif kind in FLOATS:
        result = value.convert("sitofp" if is_signed else "uitofp", kind)
    else:
        result = _resized(value, kind, is_signed)
    return Typed(result, dtype)


def _to_half(operand: Typed, dtype: str) -> Typed:
    value = _cast(operand, "float32").value
    # NumPy rounds doubles to float16 at once; other numbers go through float32 there, too
    if operand.dtype == "float64" and dtype == "float16":
        raise Unsupported("a cast from float64 to float16")
    return Typed(value if operand.dtype == "bool" else rounded(value, dtype), dtype)


def _from_float(value: Vector, dtype: str) -> Vector:
    kind = KINDS[dtype]
    if kind in FLOATS:
        return value if kind == value.kind else value.convert("fpext" if kind == "double" else "fptrunc", kind)
    # via a wider signed integer and truncation, as C compilers convert: a direct conversion is undefined out of range
    if dtype in ("int64", "uint32"):
        return _resized(value.convert("fptosi", "i64"), kind, True)
    return _resized(value.convert("fptosi", "i32"), kind, True)


def _resized(value: Vector, kind: str, is_signed: bool) -> Vector:
    order = ("i1", "i8", "i16", "i32", "i64")
    if kind == value.kind:
        return value
    wider = order.index(kind) > order.index(value.kind)
    return value.convert(("sext" if is_signed else "zext") if wider else "trunc", kind)


# rules, by primitive and family of dtypes


def _extreme(condition: str) -> Rule:
    """The first operand if it is NaN or the condition holds, else the second."""
    return lambda a, b: a.compare("uno", a).choose(a, a.compare(condition, b).choose(a, b))


#: NaN if either operand is NaN. Of equal numbers, which may be 0.0 and -0.0, the second one; but for float16 NumPy takes the first.
_maximum, _minimum, _first_maximum, _first_minimum = (_extreme(condition) for condition in ("ogt", "olt", "oge", "ole"))


def extreme(op: Literal["max", "min"], dtype: str) -> Rule:
    """The larger or smaller one of two numbers, as NumPy's ``maximum`` and ``minimum``."""
    return _RULES.get((f"{op}imum", dtype)) or _RULES[f"{op}imum", "float"]


def _clip(low: Rule, high: Rule) -> Rule:
    return lambda x, least, most: high(low(x, least), most)


def _sign(x: Vector) -> Vector:
    # NaN fails all three comparisons, and stays itself
    below = x.compare("olt", 0.0).choose(x.like(-1.0), x.compare("oeq", 0.0).choose(x.like(0.0), x))
    return x.compare("ogt", 0.0).choose(x.like(1.0), below)


def _integer_sign(x: Vector) -> Vector:
    return x.compare("sgt", 0).choose(x.like(1), x.compare("slt", 0).choose(x.like(-1), 0))


def _shift(instruction: str) -> Rule:
    """A shift as in NumPy: a count outside [0, bits), which is poison in LLVM, shifts all bits out."""

    def rule(x: Vector, count: Vector) -> Vector:
        bits = int(x.kind[1:])
        # unsigned, so that a negative count is too large as well
        fits = count.compare("ult", bits)
        shifted = x.binary(instruction, fits.choose(count, x.like(0)))
        return fits.choose(shifted, x.binary("ashr", x.like(bits - 1)) if instruction == "ashr" else x.like(0))

    return rule


def _call(name: str) -> Rule:
    return lambda *operands: operands[0].code.call(name, *operands)


def _compare(condition: str) -> Rule:
    return lambda a, b: a.compare(condition, b)


def _not_zero(x: Vector) -> Vector:
    return x if x.kind == "i1" else x.compare("une" if x.kind in FLOATS else "ne", 0)


def _size(x: Vector) -> Vector:
    return x.code.call("fabs", x)


def _root(x: Vector, exponent: Vector) -> Vector:
    # as NumPy, so that -0.0 gives -0.0 and -inf NaN, unlike C's pow
    return x.code.call("sqrt", x)


_POWERS: dict[float, Rule] = {
    -1.0: lambda x, _: 1.0 / x,
    0.5: _root,
    1.0: lambda x, _: x,
    2.0: lambda x, _: x * x,
    3.0: lambda x, _: x * x * x,
}
_ANY: dict[str, Rule] = {
    "logical_and": lambda a, b: _not_zero(a) & _not_zero(b),
    "logical_or": lambda a, b: _not_zero(a) | _not_zero(b),
    "logical_xor": lambda a, b: _not_zero(a) ^ _not_zero(b),
    "logical_not": lambda x: _not_zero(x) ^ True,
}
_NUMBER: dict[str, Rule] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "square": lambda x: x * x,
    "negative": lambda x: -x,
}
_BITWISE: dict[str, Rule] = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
}
_FLOAT: dict[str, Rule] = {
    **_NUMBER,
    "divide": lambda a, b: a / b,
    "maximum": _maximum,
    "minimum": _minimum,
    "clip": _clip(_maximum, _minimum),
    "absolute": _size,
    "sign": _sign,
    "copysign": _call("copysign"),
    "sqrt": _call("sqrt"),
    "floor": _call("floor"),
    "ceil": _call("ceil"),
    "trunc": _call("trunc"),
    "round_even": _call("rint"),
    "isnan": lambda x: x.compare("uno", x),
    "isinf": lambda x: _size(x).compare("oeq", math.inf),
    "isfinite": lambda x: _size(x).compare("olt", math.inf),
    "exp": functions.exp,
    "expm1": functions.expm1,
    "log": functions.log,
    "log1p": functions.log1p,
    "tanh": functions.tanh,
    "erf": functions.erf,
    "sin": functions.sin,
    "cos": functions.cos,
    **{
        name: _compare(condition)
        for name, condition in (
            ("equal", "oeq"),
            ("not_equal", "une"),
            ("greater", "ogt"),
            ("greater_equal", "oge"),
            ("less", "olt"),
            ("less_equal", "ole"),
        )
    },
}

#: Primitives whose machine code may differ from NumPy in the last bits.
APPROXIMATE = frozenset(name for name, rule in _FLOAT.items() if getattr(rule, "__module__", "") == functions.__name__)


def _orders(sign: str) -> dict[str, Rule]:
    """Comparisons of signed (``"s"``) or unsigned (``"u"``) integers."""
    orders = ("greater", "gt"), ("greater_equal", "ge"), ("less", "lt"), ("less_equal", "le")
    equal = {"equal": _compare("eq"), "not_equal": _compare("ne")}
    return equal | {name: _compare(sign + condition) for name, condition in orders}


def _integer(sign: str) -> dict[str, Rule]:
    """Rules for integers; they wrap around."""
    least, largest = _call(f"{sign}min"), _call(f"{sign}max")
    return {
        **_NUMBER,
        **_BITWISE,
        **_orders(sign),
        "invert": lambda x: x ^ -1,
        "left_shift": _shift("shl"),
        "right_shift": _shift("ashr" if sign == "s" else "lshr"),
        "maximum": largest,
        "minimum": least,
        "clip": _clip(largest, least),
    }


_BY_FAMILY: dict[str, dict[str, Rule]] = {
    "float": _FLOAT,
    "signed": {**_integer("s"), "sign": _integer_sign, "absolute": _call("abs")},
    "unsigned": {**_integer("u"), "absolute": lambda x: x},
    "bool": {
        **_BITWISE,
        **_orders("u"),
        "invert": lambda x: x ^ True,
        "add": lambda a, b: a | b,
        "multiply": lambda a, b: a & b,
        "maximum": lambda a, b: a | b,
        "minimum": lambda a, b: a & b,
        "absolute": lambda x: x,
    },
}
_RULES: dict[tuple[str, str], Rule] = {
    (op, family): rule for family, rules in _BY_FAMILY.items() for op, rule in ({**_ANY, **rules}).items()
}
_RULES |= {("maximum", "float16"): _first_maximum, ("minimum", "float16"): _first_minimum}
_RULES["clip", "float16"] = _clip(_first_maximum, _first_minimum)
# the sign of -0.0 is 0.0 in NumPy, -0.0 in ml_dtypes
_RULES["sign", "bfloat16"] = lambda x: x.code.call("copysign", _sign(x), x)
