"""MXNet's NumPy operators on elements, ``_npi_*``: functions of one array, of two arrays, of an array and a scalar, choices.

Their dtypes are MXNet's, not NumPy's: integers stay integers, also under ``sqrt``; a scalar is converted to the array's dtype; of two
dtypes the floating-point one wins, whatever its width; quotients of integers are float32. Where MXNet refuses a combination of dtypes,
the same rules hold.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..dtype import FLOATS, promote
from ..opdef import OPS, Derived, Draw, Index, Op, Operand, Rule, Sample, Scalar, numpy_op
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


class Function(NamedTuple):
    """A function of one array.

    Attributes
    ----------
    name, formula
        MXNet's name, and what is computed.
    aliases
        Other registered names.
    in_floats
        Integers are computed in floating point, and the results truncated.
    keeps_integers
        Integers do not change; bools become floats.
    floats_of_bools
        Bools become floats: array libraries have no negative and no sign of them.
    is_test
        The results are bools.
    of_integers
        Floats are refused.
    has_steps
        There is no gradient to compare with differences.
    """

    name: str
    formula: Rule
    aliases: tuple[str, ...] = ()
    in_floats: bool = False
    keeps_integers: bool = False
    floats_of_bools: bool = False
    is_test: bool = False
    of_integers: bool = False
    has_steps: bool = False


#: Functions that are computed in floating point, integers too.
REAL = (
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2",
    "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
FUNCTIONS = (
    Function("absolute", primitive("absolute"), ("_npi_abs",), floats_of_bools=True),
    Function("bitwise_not", primitive("invert"), of_integers=True),
    *[Function(name, primitive(name), floats_of_bools=True) for name in ("negative", "sign", "square")],
    *[Function(name, primitive(name), in_floats=True) for name in REAL],
    Function("ceil", primitive("ceil"), keeps_integers=True, has_steps=True),
    Function("floor", primitive("floor"), keeps_integers=True, has_steps=True),
    Function("rint", round_half_down, keeps_integers=True, has_steps=True),
    Function("trunc", primitive("trunc"), keeps_integers=True, has_steps=True),
    Function("fix", primitive("trunc"), keeps_integers=True, has_steps=True),
    Function("isfinite", lambda xp, x: xp.isfinite(real(xp, x)), is_test=True),
    Function("isinf", lambda xp, x: xp.isinf(real(xp, x)), is_test=True),
    Function("isnan", lambda xp, x: xp.isnan(real(xp, x)), is_test=True),
    Function("isneginf", lambda xp, x: lowest(xp, real(xp, x)), is_test=True),
    Function("isposinf", lambda xp, x: highest(xp, real(xp, x)), is_test=True),
    Function("logical_not", primitive("logical_not"), is_test=True),
    Function("degrees", lambda xp, x: x * (180 / math.pi), in_floats=True),
    Function("radians", lambda xp, x: x * (math.pi / 180), in_floats=True),
)


def unary(f: Function) -> Op:
    """Declare a function of one array."""

    def rule(xp, x):
        dtype = xp.dtype_of(x)
        if f.keeps_integers and dtype not in FLOATS:
            return xp.contiguous(real(xp, x) if dtype == "bool" else x)
        if f.floats_of_bools and dtype == "bool":
            x = real(xp, x)
        return as_computed(xp, f.formula(xp, real(xp, x)), dtype) if f.in_floats else f.formula(xp, x)

    rule.__name__, rule.__doc__ = f"npi_{f.name}", f"NumPy's ``{f.name}`` of each element, in the array's dtype."
    new = numpy_op(f"_npi_{f.name}", *f.aliases, keeps_shape=True, differentiable=not f.is_test and not f.of_integers)(rule)
    if f.is_test:
        new.dtypes(lambda dtypes: ["bool"])
    new.sample(lambda draw: unary_sample(draw, f))
    return new


def unary_sample(draw: Draw, f: Function) -> Sample:
    """Operands away from the poles and steps of a function."""
    if f.of_integers:
        return draw(draw.integer((2, 3), 0, 9, "int32"), gradient=False)
    return draw(draw.real((2, 3), *RANGES.get(f.name, (0.2, 0.8))), gradient=not f.has_steps and not f.is_test)


UNARY = {f.name: unary(f) for f in FUNCTIONS}


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


class Pair(NamedTuple):
    """A function of two arrays, and of an array and a scalar.

    Attributes
    ----------
    name, formula
        MXNet's name, and what is computed.
    in_floats
        Integers are computed in floating point, and the results truncated.
    dtype_of
        The dtype of the result, in which the operands are combined, for two dtypes.
    is_relation
        The operands are compared in their own dtypes, and the results are bools.
    of_integers, keeps_bools
        Floats are refused; and bools beside a scalar stay bools, where other functions make int64 of them.
    numbered
        MXNet calls the arrays x1 and x2.
    scalar_is_array
        The formula needs an array in place of the scalar: the gradient of `copysign` asks for its dtype.
    with_scalar, with_scalar_first
        There are operators of an array and a scalar, and of a scalar and an array.
    gradients
        The gradient rules of two arrays, of an array and a scalar, and of a scalar and an array, if not those of the formula. The samples
        are not compared with differences then: the function has steps.
    """

    name: str
    formula: Rule
    in_floats: bool = False
    dtype_of: Callable[[str, str], str] = common_dtype
    is_relation: bool = False
    of_integers: bool = False
    keeps_bools: bool = False
    numbered: bool = False
    scalar_is_array: bool = False
    with_scalar: bool = True
    with_scalar_first: bool = False
    gradients: tuple[Rule, Rule, Rule] | None = None

    @property
    def differentiable(self) -> bool:
        """Whether it has a gradient."""
        return not self.is_relation and not self.of_integers

    @property
    def is_smooth(self) -> bool:
        """Whether the gradient is that of differences."""
        return not self.is_relation and self.gradients is None

    def scalar_dtype(self, dtype: MaybeDType) -> MaybeDType | str:
        """The dtype of the function of an array and a scalar, in which it is computed; None if the array's is not known."""
        found = dtype if dtype is None else self.dtype_of(dtype, dtype)
        # as in MXNet, whatever the scalar is: True + 1 and True * 2.5 are int64
        return "int64" if found == "bool" and not self.keeps_bools else found

    def combined(self, xp: Derived, lhs: Operand | float, rhs: Operand | float, dtype: str) -> Operand:
        """The formula on operands of one dtype, in that dtype."""
        # float64 holds the quotients and powers of 32-bit integers, which are truncated at the end
        if self.in_floats and dtype not in FLOATS:
            lhs, rhs = xp.astype(lhs, dtype="float64"), xp.astype(rhs, dtype="float64")
        return xp.cast(self.formula(xp, lhs, rhs), dtype)


# the derivative of a remainder with respect to the dividend is 1
_MODULUS_GRADIENTS = (modulus_grad, lambda xp, dout: dout, reversed_modulus_grad)
PAIRS = (
    Pair("add", primitive("add")),
    Pair("subtract", primitive("subtract"), with_scalar_first=True),
    Pair("multiply", primitive("multiply")),
    Pair("true_divide", primitive("divide"), in_floats=True, dtype_of=quotient_dtype, with_scalar_first=True),
    Pair("mod", modulus, with_scalar_first=True, gradients=_MODULUS_GRADIENTS),
    Pair("power", primitive("power"), in_floats=True, with_scalar_first=True),
    Pair("arctan2", primitive("arctan2"), in_floats=True, numbered=True, with_scalar_first=True),
    Pair("hypot", primitive("hypot"), in_floats=True, numbered=True, with_scalar=False),  # MXNet's older operator has the scalar
    Pair("copysign", primitive("copysign"), in_floats=True, scalar_is_array=True, with_scalar_first=True),
    Pair("ldexp", ldexp, in_floats=True, with_scalar_first=True),
    Pair("lcm", lcm, of_integers=True),
    *[Pair(name, primitive(name), of_integers=True, keeps_bools=True) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[Pair(name, primitive(name), is_relation=True) for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")],
)


def declare_pair(f: Pair) -> Op:
    """Declare a function of two arrays."""

    def computed(xp, lhs, rhs):
        if f.is_relation:
            return f.formula(xp, lhs, rhs)
        dtype = f.dtype_of(xp.dtype_of(lhs), xp.dtype_of(rhs))
        return f.combined(xp, xp.cast(lhs, dtype), xp.cast(rhs, dtype), dtype)

    def numbered(xp, x1, x2):
        return computed(xp, x1, x2)

    def sided(xp, lhs, rhs):
        return computed(xp, lhs, rhs)

    rule = numbered if f.numbered else sided
    rule.__name__, rule.__doc__ = f"npi_{f.name}", f"NumPy's ``{f.name}`` of two arrays that broadcast."
    new = numpy_op(f"_npi_{f.name}", differentiable=f.differentiable)(rule)
    new.dtypes(lambda dtypes: ["bool" if f.is_relation else None if None in dtypes else f.dtype_of(*dtypes)])
    if f.gradients is not None:
        new.grad(f.gradients[0])
    new.sample(lambda draw: pair_sample(draw, f))
    return new


def pair_sample(draw: Draw, f: Pair) -> Sample:
    """Operands away from discontinuities and poles; integers where floats are refused."""
    if f.of_integers:
        return draw(draw.integer((2, 3), 1, 9, "int32"), draw.integer((3,), 1, 9, "int32"), gradient=False)
    left, right = draw.real((2, 1, 3), 0.25, 2, distinct=True), draw.real((4, 3), 0.75, 2.1, distinct=True)
    return draw(left, right, gradient=f.is_smooth)


def converted(xp: Derived, scalar: float, dtype: str) -> Operand | float:
    """A scalar converted for arrays of a dtype: truncated and wrapped for integers."""
    return scalar if dtype in FLOATS else xp.astype(scalar, dtype=dtype)


def declare_scalar(f: Pair, *, first: bool = False) -> Op:
    """Declare a function of an array and a scalar; with the scalar ``first``, of a scalar and an array."""

    def rule(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
        dtype = xp.dtype_of(data) if f.is_relation else f.scalar_dtype(xp.dtype_of(data))
        lhs, rhs = xp.cast(data, dtype), xp.astype(scalar, dtype=dtype) if f.scalar_is_array else converted(xp, scalar, dtype)
        lhs, rhs = (rhs, lhs) if first else (lhs, rhs)
        return f.formula(xp, lhs, rhs) if f.is_relation else f.combined(xp, lhs, rhs, dtype)

    title = f"{'r' if first else ''}{f.name}_scalar"
    rule.__name__ = f"npi_{title}"
    rule.__doc__ = f"NumPy's ``{f.name}`` of {'a scalar and an array' if first else 'an array and a scalar'}. ``is_int`` has no effect."
    new = numpy_op(f"_npi_{title}", keeps_shape=True, differentiable=f.differentiable)(rule)
    new.dtypes(lambda dtypes, **_: ["bool" if f.is_relation else f.scalar_dtype(dtypes[0])])
    if f.gradients is not None:
        new.grad(f.gradients[2 if first else 1])
    new.sample(lambda draw: scalar_sample(draw, f))
    return new


def scalar_sample(draw: Draw, f: Pair) -> Sample:
    """The counterpart of `pair_sample`."""
    if f.of_integers:
        return draw(draw.integer((2, 3), 1, 9, "int32"), scalar=6, gradient=False)
    return draw(draw.real((3, 4), 0.25, 2, distinct=True), scalar=1.25, gradient=f.is_smooth)


#: Operators by function: on two arrays, on an array and a scalar, on a scalar and an array (where operands cannot be exchanged).
OF_ARRAYS = {f.name: declare_pair(f) for f in PAIRS}
OF_SCALAR = {f.name: declare_scalar(f) for f in PAIRS if f.with_scalar}
OF_REVERSED = {f.name: declare_scalar(f, first=True) for f in PAIRS if f.with_scalar_first}


# choices


@numpy_op("_npi_where")
def npi_where(xp, condition: Index, x, y):
    """``x`` where the condition is not 0, else ``y``; all three broadcast."""
    dtype = common_dtype(xp.dtype_of(x), xp.dtype_of(y))
    return xp.where(xp.cast(condition, "bool"), xp.cast(x, dtype), xp.cast(y, dtype))


npi_where.dtypes(lambda dtypes: [None if None in dtypes[1:] else common_dtype(*dtypes[1:])])
npi_where.sample(lambda draw: draw(draw.integer((2, 3), 0, 2, "bool"), draw.real((2, 3)), draw.real((3,))))


@numpy_op("_npi_where_lscalar")
def npi_where_lscalar(xp, condition: Index, x, *, scalar: Scalar = 0.0):
    """The scalar where the condition is not 0, else ``x``."""
    return xp.where(xp.cast(condition, "bool"), converted(xp, scalar, xp.dtype_of(x)), x)


@numpy_op("_npi_where_rscalar")
def npi_where_rscalar(xp, condition: Index, y, *, scalar: Scalar = 0.0):
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
