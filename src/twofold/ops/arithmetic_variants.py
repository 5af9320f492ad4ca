"""MXNet's variants of arithmetic, comparison and logic, as three tables: operands of equal shape, broadcast operands, a scalar.

``elemwise_*`` and ``_*`` take two arrays of equal shape, ``broadcast_*`` two arrays that broadcast, ``_*_scalar`` an array and a scalar.
The sum of many arrays is here too.
"""

from typing import Any

from ..dtype import FLOATS, WEAK
from ..errors import ShapeError
from ..opdef import Draw, Op, Rule, Sample, Scalar, elementwise
from . import storage_rules

#: ``(xp, lhs, rhs) -> result``.
Formula = Rule


def real(xp, x):
    """Integers as float64, floats unchanged: MXNet divides and exponentiates integers in floating point and truncates the result."""
    return x if xp.dtype_of(x) in FLOATS or xp.dtype_of(x) in WEAK else xp.astype(x, dtype="float64")


def modulus(xp, lhs, rhs):
    """Remainder with the divisor's sign; 0 where the divisor is 0."""
    return xp.where(xp.equal(rhs, 0), 0, xp.remainder(lhs, rhs))


def primitive(name: str) -> Formula:
    """The primitive of that name."""
    return lambda xp, *operands: getattr(xp, name)(*operands)


def real_primitive(name: str) -> Formula:
    """The primitive of that name, with integers computed in floating point."""
    return lambda xp, lhs, rhs: getattr(xp, name)(real(xp, lhs), real(xp, rhs))


#: The formulas, by the name that the variants share, and the beginning of their docstrings.
ARITHMETIC: dict[str, tuple[Formula, str]] = {
    "add": (primitive("add"), "Sum"),
    "sub": (primitive("subtract"), "Difference"),
    "mul": (primitive("multiply"), "Product"),
    "div": (primitive("divide"), "Quotient"),
    "mod": (modulus, "Remainder with the divisor's sign (0 for a divisor 0)"),
    "power": (real_primitive("power"), "Power"),
    "maximum": (primitive("maximum"), "Maximum"),
    "minimum": (primitive("minimum"), "Minimum"),
    "hypot": (real_primitive("hypot"), "Length of the hypotenuse"),
}
RELATIONS: dict[str, tuple[Formula, str]] = {
    "equal": (primitive("equal"), "Equality"),
    "not_equal": (primitive("not_equal"), "Inequality"),
    "greater": (primitive("greater"), "Relation >"),
    "greater_equal": (primitive("greater_equal"), "Relation >="),
    "lesser": (primitive("less"), "Relation <"),
    "lesser_equal": (primitive("less_equal"), "Relation <="),
    "logical_and": (primitive("logical_and"), "Conjunction"),
    "logical_or": (primitive("logical_or"), "Disjunction"),
    "logical_xor": (primitive("logical_xor"), "Exclusive disjunction"),
}

#: Operators on two arrays of equal shape that do not have the names of the others, ``_mod`` and ``_Mod``: registered name and aliases.
SAME_SHAPE: dict[str, tuple[str, ...]] = {
    "add": ("elemwise_add", "_Plus", "_add", "_plus", "_sparse_elemwise_add"),
    "sub": ("elemwise_sub", "_Minus", "_minus", "_sparse_elemwise_sub", "_sub"),
    "mul": ("elemwise_mul", "_Mul", "_mul", "_sparse_elemwise_mul"),
    "div": ("elemwise_div", "_Div", "_div", "_sparse_elemwise_div"),
}

#: Aliases of operators on broadcast arrays, besides the registered name ``broadcast_<name>``.
BROADCAST_ALIASES: dict[str, tuple[str, ...]] = {
    "add": ("_sparse_broadcast_add", "_sparse_broadcast_plus", "broadcast_plus"),
    "sub": ("_sparse_broadcast_minus", "_sparse_broadcast_sub", "broadcast_minus"),
    "mul": ("_sparse_broadcast_mul",),
    "div": ("_sparse_broadcast_div",),
    "maximum": ("_npi_maximum",),
    "minimum": ("_npi_minimum",),
}

#: Names of operators on an array and a scalar follow ``_mod_scalar`` and ``_ModScalar``; exceptions, and further aliases, are here.
SCALAR_STEMS = {"add": "plus", "sub": "minus"}
SCALAR_ALIASES = {name: (f"_npi_{name}_scalar",) for name in ("maximum", "minimum", "hypot")}
#: Formulas that also exist with the scalar first: ``_rmod_scalar`` and ``_RModScalar``.
REVERSED = frozenset({"sub", "div", "mod", "power"})


def pair_names(name: str) -> tuple[str, ...]:
    """Registered name and aliases of the operator on two arrays of equal shape."""
    return SAME_SHAPE.get(name, (f"_{name}", f"_{name.title()}"))


def scalar_names(name: str, reversed_: bool) -> tuple[str, ...]:
    """Registered name and aliases of the operator on an array and a scalar."""
    stem = SCALAR_STEMS.get(name, name)
    camel, r = stem.title().replace("_", ""), ("r" if reversed_ else "")
    return f"_{r}{stem}_scalar", f"_{r.upper()}{camel}Scalar", *SCALAR_ALIASES.get(name, ())


def symbol_names(name: str) -> tuple[str, str, str]:
    """The operators of symbols for a formula: on two arrays, on an array and a scalar, on a scalar and an array."""
    swapped = {"greater": "lesser", "lesser": "greater", "greater_equal": "lesser_equal", "lesser_equal": "greater_equal"}.get(name, name)
    return f"broadcast_{name}", scalar_names(name, False)[0], scalar_names(swapped, name in REVERSED)[0]


def check_same_shape(name, *arrays):
    """Check that arrays have the same shape.

    Raises
    ------
    ShapeError
        If they do not.
    """
    shapes = [a.shape for a in arrays]
    if any(shape != shapes[0] for shape in shapes):
        raise ShapeError(f"{name}: the shapes differ", ", ".join(map(str, shapes)), "make them equal, or use a broadcast_* operator")


def declare(rule: Rule, own: str, names: tuple[str, ...], variant: tuple[str, str], doc: str) -> Op:
    """Register a rule generated from a row of a table."""
    rule.__name__, rule.__doc__ = own, doc
    # relations are bool inside; the legacy convention casts them to the operands' dtype, as nd gives 0.0 and 1.0
    facts: dict[str, Any] = {"result": "bool", "differentiable": False} if variant[0] in RELATIONS else {}
    facts["sparse_rule"] = storage_rules.rule_of(*variant)
    return elementwise(*names, variant=variant, equal_shapes=variant[1] == "pair", **facts)(rule)


def declare_pair(name: str, names: tuple[str, ...], broadcasts: bool) -> Op:
    """The operator on two arrays for a row of a table."""
    formula, text = (ARITHMETIC | RELATIONS)[name]

    def rule(xp, lhs, rhs):
        if not broadcasts:
            check_same_shape(names[0], lhs, rhs)
        return formula(xp, lhs, rhs)

    own = f"{'broadcast' if broadcasts else 'elemwise'}_{name}"
    doc = f"{text} of two arrays {'that broadcast' if broadcasts else 'of one shape'}."
    new = declare(rule, own, names, (name, "broadcast" if broadcasts else "pair"), doc)
    if name == "mod":
        new.grad(modulus_grad)
    if name == "mul":
        # MXNet's backward pass of a product is dense, unlike that of a sum, even if both factors are row-sparse
        new.gradient_stypes(lambda stypes, head: ["default", "default"])
    new.sample(lambda draw: pair_sample(draw, name, broadcasts))
    return new


def declare_scalar(name: str, reversed_: bool) -> Op:
    """The operator on an array and a scalar for a row of a table."""
    formula, text = (ARITHMETIC | RELATIONS)[name]
    names = scalar_names(name, reversed_)

    def rule(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
        # MXNet writes is_int=False where the Python scalar was a float: integer arrays are then computed as floats
        data = data if is_int else real(xp, data)
        return formula(xp, scalar, data) if reversed_ else formula(xp, data, scalar)

    doc = f"{text} of a scalar and an array." if reversed_ else f"{text} of an array and a scalar."
    variant = name, "reversed" if reversed_ else "scalar"
    new = declare(rule, names[0].strip("_"), names, variant, f"{doc} With ``is_int=False`` integer arrays are computed in float64.")
    if name == "mod":
        new.grad(reversed_modulus_grad if reversed_ else lambda xp, dout: dout)
    new.sample(lambda draw: scalar_sample(draw, name, reversed_))
    return new


def modulus_grad(xp, dout, lhs, rhs):
    """The gradients of ``lhs mod rhs``."""
    # lhs mod rhs = lhs - rhs · floor(lhs / rhs), where floor is constant between its jumps
    return dout, -dout * xp.floor(lhs / rhs)


def reversed_modulus_grad(xp, dout, data, scalar):
    """The gradient of ``scalar mod data`` with respect to ``data``."""
    return -dout * xp.floor(scalar / data)


def pair_sample(draw: Draw, name: str, broadcasts: bool) -> Sample:
    """Operands away from the discontinuities and poles of all formulas."""
    # a power of a negative number has no real logarithm, which the gradient with respect to the exponent takes
    low = 0.25 if name == "power" else -2
    shapes = ((2, 1, 3), (1, 4, 3)) if broadcasts else ((3, 4), (3, 4))
    right = draw.real(shapes[1], 0.75, 2) if name in ("mod", "div") else draw.real(shapes[1], -1.9, 2.1, distinct=True)
    return draw(draw.real(shapes[0], low, distinct=True), right, gradient=name not in RELATIONS and name != "mod")


def scalar_sample(draw: Draw, name: str, reversed_: bool) -> Sample:
    """The counterpart of `pair_sample`."""
    # powers of negative numbers are NaN, quotients and remainders have a pole at 0
    low = 0.25 if name == "power" or reversed_ else -2
    return draw(draw.real((3, 4), low, distinct=True), scalar=1.25, gradient=name not in RELATIONS and name != "mod")


for _name in (*ARITHMETIC, *RELATIONS):
    declare_pair(_name, pair_names(_name), broadcasts=False)
    declare_pair(_name, (f"broadcast_{_name}", *BROADCAST_ALIASES.get(_name, ())), broadcasts=True)
    for _reversed in (False, True) if _name in REVERSED else (False,):
        declare_scalar(_name, _reversed)


@elementwise("_scatter_plus_scalar", sparse_rule=storage_rules.stored_with_scalar)
def scatter_plus_scalar(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """Sum of an array and a scalar; for a sparse array, of its stored elements and the scalar. ``is_int`` as in `_plus_scalar`."""
    return (data if is_int else real(xp, data)) + scalar


@elementwise("_scatter_minus_scalar", sparse_rule=storage_rules.stored_with_scalar)
def scatter_minus_scalar(xp, data, *, scalar: Scalar = 1.0, is_int: bool = True):
    """Difference of an array and a scalar; for a sparse array, of its stored elements and the scalar. ``is_int`` as in `_minus_scalar`."""
    return (data if is_int else real(xp, data)) - scalar


for _op in (scatter_plus_scalar, scatter_minus_scalar):
    _op.sample(lambda draw: draw(draw.real((3, 4)), scalar=1.25))


@elementwise("_scatter_elemwise_div", equal_shapes=True, sparse_rule=storage_rules.of_stored_rows)
def scatter_elemwise_div(xp, lhs, rhs):
    """Quotient of two arrays of one shape; for row-sparse ``lhs``, only in the rows that it stores."""
    check_same_shape("_scatter_elemwise_div", lhs, rhs)
    return lhs / rhs


scatter_elemwise_div.sample(lambda draw: draw(draw.real((3, 4)), draw.real((3, 4), 0.75, 2)))


@elementwise("_grad_add", equal_shapes=True, sparse_rule=storage_rules.of_pair)
def grad_add(xp, lhs, rhs):
    """The sum of two gradients of one array."""
    check_same_shape("_grad_add", lhs, rhs)
    return lhs + rhs


grad_add.sample(lambda draw: draw(draw.real((3, 4)), draw.real((3, 4))))


@elementwise(
    "add_n",
    "ElementWiseSum",
    "_sparse_ElementWiseSum",
    "_sparse_add_n",
    count_param="num_args",
    equal_shapes=True,
    sparse_rule=storage_rules.of_sum,
)
def add_n(xp, *args):
    """Sum of any number of arrays of equal shape, from left to right."""
    check_same_shape("add_n", *args)
    # a fixed order: the sum must have the same bits in every mode of execution
    total = args[0]
    for a in args[1:]:
        total = total + a
    return total


add_n.sample(lambda draw: [draw(*[draw.real((3, 4))] * n) for n in (1, 3)])
