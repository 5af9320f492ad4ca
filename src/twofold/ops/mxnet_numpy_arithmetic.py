"""MXNet's NumPy operators on elements, ``_npi_*``: functions of one array, of two arrays, of an array and a scalar, choices.

Their dtypes are MXNet's, not NumPy's: integers stay integers, also under ``sqrt``; a scalar is converted to the array's dtype; of two
dtypes the floating-point one wins, whatever its width; quotients of integers are float32. Where MXNet refuses a combination of dtypes,
the same rules hold.
"""

import math
from typing import TypeVar

from ..dtype import FLOATS, promote
from ..opdef import OPS, Derived, Draw, Op, Operand, Rule, Sample, Scalar, numpy_op
from .arithmetic_variants import modulus, modulus_grad, primitive, reversed_modulus_grad
from .elementwise_math import relu, round_half_down, sigmoid
from .primitive_math import RANGES

#: The name of a dtype, or None where it is not known.
MaybeDType = TypeVar("MaybeDType", bound=str | None)


def common_dtype(first: str, second: str) -> str:
    """The dtype in which two arrays are combined: the wider of two of a kind, the floating-point one of two kinds."""
    if (first in FLOATS) != (second in FLOATS):
        return first if first in FLOATS else second
    return promote(first, second)


def quotient_dtype(first: str, second: str) -> str:
    """The dtype of a quotient: float32 where nothing is a float."""
    found = common_dtype(first, second)
    return found if found in FLOATS else "float32"


def real(xp: Derived, x: Operand) -> Operand:
    """The operand as floating-point numbers: integers as float64, which holds their results, bools as float32."""
    name = xp.dtype_of(x)
    return x if name in FLOATS or name.startswith("complex") else xp.astype(x, dtype="float32" if name == "bool" else "float64")


def as_computed(xp: Derived, result: Operand, dtype: str) -> Operand:
    """The result in the operand's dtype, integers truncated; bools give floats."""
    return result if dtype == "bool" else xp.cast(result, dtype)


# functions of one array


def lowest(xp: Derived, x: Operand) -> Operand:
    """Whether elements are minus infinity."""
    return xp.logical_and(xp.isinf(x), xp.less(x, 0))


def highest(xp: Derived, x: Operand) -> Operand:
    """Whether elements are infinity."""
    return xp.logical_and(xp.isinf(x), xp.greater(x, 0))


#: Functions by MXNet's name, where it is not that of the primitive. ``negative`` and others are exact for integers.
RENAMED = {"fix": "trunc", "bitwise_not": "invert"}
#: Functions that are computed in floating point, integers too.
REAL = (
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2",
    "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
#: Functions that leave integers as they are.
ROUNDING = ("ceil", "floor", "rint", "trunc", "fix")
#: Functions that are exact for integers.
EXACT = ("absolute", "bitwise_not", "negative", "sign", "square")
#: Functions with results of bool, by their formulas.
TESTS: dict[str, Rule] = {
    "isfinite": lambda xp, x: xp.isfinite(real(xp, x)),
    "isinf": lambda xp, x: xp.isinf(real(xp, x)),
    "isnan": lambda xp, x: xp.isnan(real(xp, x)),
    "isneginf": lambda xp, x: lowest(xp, real(xp, x)),
    "isposinf": lambda xp, x: highest(xp, real(xp, x)),
    "logical_not": primitive("logical_not"),
}
#: Functions without a primitive.
FORMULAS: dict[str, Rule] = {
    "degrees": lambda xp, x: x * (180 / math.pi),
    "radians": lambda xp, x: x * (math.pi / 180),
    "rint": round_half_down,
}
STEPS = frozenset({*ROUNDING, *TESTS, "bitwise_not"})


def unary(name: str, *aliases: str) -> Op:
    """Declare a function of one array."""
    formula = TESTS.get(name) or FORMULAS.get(name) or primitive(RENAMED.get(name, name))
    in_floats, unchanged = name in REAL or name in ("degrees", "radians"), name in ROUNDING

    def rule(xp, x):
        dtype = xp.dtype_of(x)
        if unchanged and dtype not in FLOATS:
            return xp.contiguous(real(xp, x) if dtype == "bool" else x)
        # array libraries have no negative and no sign of bools
        if dtype == "bool" and name in ("negative", "sign", "square", "absolute"):
            x = real(xp, x)
        return as_computed(xp, formula(xp, real(xp, x)), dtype) if in_floats else formula(xp, x)

    rule.__name__, rule.__doc__ = f"npi_{name}", f"NumPy's ``{name}`` of each element, in the array's dtype."
    new = numpy_op(f"_npi_{name}", *aliases, keeps_shape=True, differentiable=name not in TESTS and name != "bitwise_not")(rule)
    if name in TESTS:
        new.dtypes(lambda dtypes: ["bool"])
    new.sample(lambda draw: unary_sample(draw, name))
    return new


def unary_sample(draw: Draw, name: str) -> Sample:
    """Operands away from the poles and steps of a function."""
    if name == "bitwise_not":
        return draw(draw.integer((2, 3), 0, 9, "int32"), gradient=False)
    return draw(draw.real((2, 3), *RANGES.get(name, (0.2, 0.8))), gradient=name not in STEPS)


UNARY = {name: unary(name, *aliases) for name, aliases in (
    ("absolute", ("_npi_abs",)), *[(n, ()) for n in (*EXACT[1:], *REAL, *ROUNDING, *TESTS, "degrees", "radians")],
)}  # fmt: skip


def primitives_on_floats() -> dict[str, Op]:
    """The functions of one array that are a primitive on floats, with the same dtype, by name."""
    return {name: OPS[name] for name in ("absolute", "negative", "sign", "square", *REAL, "ceil", "floor", "trunc")}


@numpy_op("_npi_around", keeps_shape=True)
def npi_around(xp, x, *, decimals: int = 0):
    """Elements rounded to a number of decimals, halves to even; integers only change for negative numbers of decimals."""
    dtype = xp.dtype_of(x)
    if dtype not in FLOATS and decimals >= 0:
        return xp.contiguous(x)
    # powers of ten with positive exponents are exact; a multiplication by 0.1 would round twice
    scale = 10.0 ** abs(decimals)
    wide = real(xp, x)
    rounded = xp.round_even(wide * scale) / scale if decimals >= 0 else xp.round_even(wide / scale) * scale
    return as_computed(xp, rounded, dtype)


npi_around.grad(lambda xp, dout, x: xp.zeros_like(x))
npi_around.sample(lambda draw: draw(draw.real((2, 3)), decimals=1, gradient=False))


@numpy_op("_npi_nan_to_num", keeps_shape=True)
def npi_nan_to_num(xp, data, *, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None):
    """NaN and infinities replaced: by ``nan``, ``posinf`` and ``neginf``, which are the largest and smallest numbers if None.

    ``copy`` has no effect on an operator: the result is a new array.
    """
    dtype = xp.dtype_of(data)
    if dtype not in FLOATS:
        return xp.contiguous(data)
    # the largest number of the dtype itself: that of float64 would become infinity again in a narrower one
    limit = {"float16": 65504.0, "float32": 3.4028234663852886e38, "bfloat16": 3.3895313892515355e38}.get(dtype, 1.7976931348623157e308)
    high, low = limit if posinf is None else posinf, -limit if neginf is None else neginf
    found = xp.where(highest(xp, data), high, xp.where(lowest(xp, data), low, data))
    return xp.where(xp.isnan(data), nan, found)


npi_nan_to_num.sample(lambda draw: draw(draw.real((2, 3)), nan=1.0))


# functions of two arrays, and of an array and a scalar


def ldexp(xp: Derived, lhs: Operand, rhs: Operand) -> Operand:
    """The first operand times 2 to the power of the second."""
    return lhs * xp.power(2.0, rhs)


def _least_common_multiple(np, lhs, rhs):
    return np.lcm(lhs, rhs)


def lcm(xp: Derived, lhs: Operand, rhs: Operand) -> Operand:
    """The least common multiple of integers, computed on the host."""
    wide = (xp.astype(x, dtype="int64") for x in (lhs, rhs))
    return xp.host(_least_common_multiple, *wide, like=xp.astype(lhs + rhs, dtype="int64"))


#: The formulas of functions of two operands, and whether integers are computed in floating point.
PAIRS: dict[str, tuple[Rule, bool]] = {
    "add": (primitive("add"), False),
    "subtract": (primitive("subtract"), False),
    "multiply": (primitive("multiply"), False),
    "true_divide": (primitive("divide"), True),
    "mod": (modulus, False),
    "power": (primitive("power"), True),
    "arctan2": (primitive("arctan2"), True),
    "hypot": (primitive("hypot"), True),
    "copysign": (primitive("copysign"), True),
    "ldexp": (ldexp, True),
    "lcm": (lcm, False),
    "bitwise_and": (primitive("bitwise_and"), False),
    "bitwise_or": (primitive("bitwise_or"), False),
    "bitwise_xor": (primitive("bitwise_xor"), False),
}
RELATIONS: dict[str, Rule] = {name: primitive(name) for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")}
WITHOUT_GRADIENT = frozenset({"lcm", "bitwise_and", "bitwise_or", "bitwise_xor", *RELATIONS})
#: Functions that also exist with the scalar first.
REVERSED = ("subtract", "true_divide", "mod", "power", "arctan2", "copysign", "ldexp")


def combined(xp: Derived, name: str, lhs: Operand | float, rhs: Operand | float, dtype: str) -> Operand:
    """The formula on operands of one dtype, in that dtype."""
    formula, in_floats = PAIRS[name]
    # float64 holds the quotients and powers of 32-bit integers, which are truncated at the end
    if in_floats and dtype not in FLOATS:
        lhs, rhs = xp.astype(lhs, dtype="float64"), xp.astype(rhs, dtype="float64")
    return xp.cast(formula(xp, lhs, rhs), dtype)


def declare_pair(name: str) -> Op:
    """Declare a function of two arrays."""
    relation = RELATIONS.get(name)
    dtype_of = quotient_dtype if name == "true_divide" else common_dtype

    def computed(xp, lhs, rhs):
        if relation is not None:
            return relation(xp, lhs, rhs)
        dtype = dtype_of(xp.dtype_of(lhs), xp.dtype_of(rhs))
        return combined(xp, name, xp.cast(lhs, dtype), xp.cast(rhs, dtype), dtype)

    def numbered(xp, x1, x2):  # MXNet's names of the inputs
        return computed(xp, x1, x2)

    def sided(xp, lhs, rhs):
        return computed(xp, lhs, rhs)

    rule = numbered if name in ("arctan2", "hypot") else sided

    rule.__name__, rule.__doc__ = f"npi_{name}", f"NumPy's ``{name}`` of two arrays that broadcast."
    new = numpy_op(f"_npi_{name}", differentiable=name not in WITHOUT_GRADIENT)(rule)
    new.dtypes(lambda dtypes: ["bool" if relation is not None else None if None in dtypes else dtype_of(*dtypes)])
    if name == "mod":
        new.grad(modulus_grad)
    new.sample(lambda draw: pair_sample(draw, name))
    return new


def pair_sample(draw: Draw, name: str) -> Sample:
    """Operands away from discontinuities and poles; integers where floats are refused."""
    if name == "lcm" or name.startswith("bitwise"):
        return draw(draw.integer((2, 3), 1, 9, "int32"), draw.integer((3,), 1, 9, "int32"), gradient=False)
    left, right = draw.real((2, 1, 3), 0.25, 2, distinct=True), draw.real((4, 3), 0.75, 2.1, distinct=True)
    return draw(left, right, gradient=name not in RELATIONS and name != "mod")


def converted(xp: Derived, scalar: float, dtype: str) -> Operand | float:
    """A scalar converted for arrays of a dtype: truncated and wrapped for integers."""
    return scalar if dtype in FLOATS else xp.astype(scalar, dtype=dtype)


def declare_scalar(name: str, reverse: bool = False) -> Op:
    """Declare a function of an array and a scalar."""
    relation = RELATIONS.get(name)

    def rule(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
        dtype = xp.dtype_of(data) if relation is not None else scalar_dtype(name, xp.dtype_of(data))
        # the gradient of `copysign` needs an array's dtype
        lhs, rhs = xp.cast(data, dtype), xp.astype(scalar, dtype=dtype) if name == "copysign" else converted(xp, scalar, dtype)
        lhs, rhs = (rhs, lhs) if reverse else (lhs, rhs)
        return relation(xp, lhs, rhs) if relation is not None else combined(xp, name, lhs, rhs, dtype)

    title = f"{'r' if reverse else ''}{name}_scalar"
    rule.__name__ = f"npi_{title}"
    rule.__doc__ = f"NumPy's ``{name}`` of {'a scalar and an array' if reverse else 'an array and a scalar'}. ``is_int`` has no effect."
    new = numpy_op(f"_npi_{title}", keeps_shape=True, differentiable=name not in WITHOUT_GRADIENT)(rule)
    new.dtypes(lambda dtypes, **_: ["bool" if relation is not None else scalar_dtype(name, dtypes[0])])
    if name == "mod":
        # the derivative of a remainder with respect to the dividend is 1
        new.grad(reversed_modulus_grad if reverse else (lambda xp, dout: dout))
    new.sample(lambda draw: scalar_sample(draw, name))
    return new


def scalar_dtype(name: str, dtype: MaybeDType) -> MaybeDType | str:
    """The dtype of a function of an array and a scalar, in which it is computed; None if the array's is not known."""
    if name == "true_divide":
        return dtype if dtype is None or dtype in FLOATS else "float32"
    # as in MXNet, whatever the scalar is: True + 1 and True * 2.5 are int64
    return "int64" if dtype == "bool" and not name.startswith("bitwise") else dtype


def scalar_sample(draw: Draw, name: str) -> Sample:
    """The counterpart of `pair_sample`."""
    if name == "lcm" or name.startswith("bitwise"):
        return draw(draw.integer((2, 3), 1, 9, "int32"), scalar=6, gradient=False)
    return draw(draw.real((3, 4), 0.25, 2, distinct=True), scalar=1.25, gradient=name not in RELATIONS and name != "mod")


#: Operators by function: on two arrays, on an array and a scalar, on a scalar and an array (where operands cannot be exchanged).
OF_ARRAYS = {name: declare_pair(name) for name in (*PAIRS, *RELATIONS)}
OF_SCALAR = {name: declare_scalar(name) for name in (*PAIRS, *RELATIONS) if name != "hypot"}
OF_REVERSED = {name: declare_scalar(name, reverse=True) for name in REVERSED}


# choices


@numpy_op("_npi_where")
def npi_where(xp, condition, x, y):
    """``x`` where the condition is not 0, else ``y``; all three broadcast."""
    dtype = common_dtype(xp.dtype_of(x), xp.dtype_of(y))
    return xp.where(xp.cast(condition, "bool"), xp.cast(x, dtype), xp.cast(y, dtype))


npi_where.dtypes(lambda dtypes: [None if None in dtypes[1:] else common_dtype(*dtypes[1:])])
npi_where.sample(lambda draw: draw(draw.integer((2, 3), 0, 2, "bool"), draw.real((2, 3)), draw.real((3,))))


@numpy_op("_npi_where_lscalar")
def npi_where_lscalar(xp, condition, x, *, scalar: Scalar = 0.0):
    """The scalar where the condition is not 0, else ``x``."""
    return xp.where(xp.cast(condition, "bool"), converted(xp, scalar, xp.dtype_of(x)), x)


@numpy_op("_npi_where_rscalar")
def npi_where_rscalar(xp, condition, y, *, scalar: Scalar = 0.0):
    """``y`` where the condition is not 0, else the scalar."""
    return xp.where(xp.cast(condition, "bool"), y, converted(xp, scalar, xp.dtype_of(y)))


for _op in (npi_where_lscalar, npi_where_rscalar):
    _op.dtypes(lambda dtypes, **_: [dtypes[1]])
    _op.sample(lambda draw: draw(draw.integer((2, 3), 0, 2, "bool"), draw.real((2, 3)), scalar=1.5))


@numpy_op("_npi_where_scalar2", differentiable=False)
def npi_where_scalar2(xp, condition, *, x: Scalar = 0.0, y: Scalar = 0.0):
    """``x`` where the condition is not 0, else ``y``, as float32."""
    return xp.where(xp.cast(condition, "bool"), xp.astype(x, dtype="float32"), xp.astype(y, dtype="float32"))


npi_where_scalar2.dtypes(lambda dtypes, **_: ["float32"])
npi_where_scalar2.sample(lambda draw: draw(draw.integer((2, 3), 0, 2, "bool"), x=1.5, y=0.5))


# activations


@numpy_op("_npx_relu", keeps_shape=True)
def npx_relu(xp, data):
    """The larger of each element and 0."""
    return relu(xp, data)


@numpy_op("_npx_sigmoid", keeps_shape=True)
def npx_sigmoid(xp, data):
    """Logistic function 1 / (1 + exp(-x))."""
    return as_computed(xp, sigmoid(xp, real(xp, data)), xp.dtype_of(data))


for _op in (npx_relu, npx_sigmoid):
    _op.sample(lambda draw: draw(draw.real((3, 4), distinct=True)))
