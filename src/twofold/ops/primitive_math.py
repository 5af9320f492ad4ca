"""Primitives with one operand: elementary and special functions, rounding, tests; with ufuncs, C expressions and gradients."""

import math
import operator
from functools import partial

from ..dtype import COMPLEX, FLOATS
from ..opdef import of_ufunc, primitive
from .storage_rules import zeros_stay

flat = partial(of_ufunc, differentiable=False)
test = partial(of_ufunc, result="bool", differentiable=False)


def is_complex(xp, data):
    """Whether an operand holds complex numbers. The derivatives of inverse functions then follow the branch of the result."""
    return xp.dtype_of(data) in COMPLEX


@of_ufunc(
    "negative",
    "_sparse_negative",
    "_np_negative",
    simple=True,
    c="-{0}",
    python="neg",
    fold=operator.neg,
    method=True,
    symbol_method=False,
    sparse_rule=zeros_stay,
    complex_gradient=True,
)
def negative(xp, data):
    """``-data``."""


negative.grad(lambda xp, dout: -dout)


@negative.simplify
def _(xp, node):
    (data,) = node.operands
    fill = xp.fill_of(data)
    if fill and node.dtype in FLOATS:  # a negated zero would be lost: interned parameters compare -0.0 and 0 as equal
        return xp.full(shape=node.shape, value=-fill, dtype=node.dtype)
    return data.operands[0] if xp.applies(data, negative) else None


@of_ufunc(
    "abs",
    "_sparse_abs",
    "NDabs",
    simple=True,
    c="tf_abs({0})",
    python="abs",
    numpy_names=("abs", "absolute"),
    method=True,
    sparse_rule=zeros_stay,
    complex_gradient=True,
)
def absolute(xp, data):
    """Absolute value."""


@absolute.grad
def _(xp, dout, data, out):
    # 0 at 0, where the derivative is any number in [-1, 1]
    if not is_complex(xp, data):
        return dout * xp.sign(data)
    # d|z| = Re(conj(z) · dz) / |z|, in the convention of `graph.gradient`
    return dout / xp.where(xp.equal(out, 0), 1, out) * xp.conjugate(data)


@flat("sign", "_sparse_sign", simple=True, c="tf_sign({0})", method=True, sparse_rule=zeros_stay)
def sign(xp, data):
    """-1, 0 or 1 according to the sign; NaN for NaN."""


@of_ufunc("square", "_sparse_square", simple=True, c="{0} * {0}", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def square(xp, data):
    """``data * data``."""


square.grad(lambda xp, dout, data: dout * 2 * data)


@of_ufunc("sqrt", "_sparse_sqrt", c="sqrt({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def sqrt(xp, data):
    """Square root; NaN for negative numbers."""


sqrt.grad(lambda xp, dout, out: dout * 0.5 / out)


@of_ufunc("cbrt", "_sparse_cbrt", c="cbrt({0})", method=True, sparse_rule=zeros_stay)
def cbrt(xp, data):
    """Cube root."""


cbrt.grad(lambda xp, dout, out: dout / (3.0 * out * out))


@of_ufunc("exp", "_sparse_exp", c="exp({0})", method=True, complex_gradient=True)
def exp(xp, data):
    """Exponential function."""


exp.grad(lambda xp, dout, out: dout * out)
exp.logarithm(lambda xp, node: node.operands[0])


@of_ufunc("expm1", "_sparse_expm1", c="expm1({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def expm1(xp, data):
    """``exp(data) - 1``, accurate near 0."""


expm1.grad(lambda xp, dout, out: dout * (out + 1))


@of_ufunc("log", "_sparse_log", c="log({0})", method=True, complex_gradient=True)
def log(xp, data):
    """Natural logarithm."""


log.grad(lambda xp, dout, data: dout / data)
log.stable(lambda xp, node: xp.log_of(node.operands[0]))


def _stable_log_to(base):
    """The rule of `Op.stable` for a logarithm to a base."""

    def rule(xp, node):
        found = xp.log_of(node.operands[0])
        return None if found is None else found / math.log(base)

    return rule


@of_ufunc("log2", "_sparse_log2", c="log2({0})", method=True, complex_gradient=True)
def log2(xp, data):
    """Base-2 logarithm."""


log2.grad(lambda xp, dout, data: dout / (data * math.log(2)))
log2.stable(_stable_log_to(2))


@of_ufunc("log10", "_sparse_log10", c="log10({0})", method=True, complex_gradient=True)
def log10(xp, data):
    """Base-10 logarithm."""


log10.grad(lambda xp, dout, data: dout / (data * math.log(10)))
log10.stable(_stable_log_to(10))


@of_ufunc("log1p", "_sparse_log1p", c="log1p({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def log1p(xp, data):
    """``log(1 + data)``, accurate near 0."""


log1p.grad(lambda xp, dout, data: dout / (data + 1))


@log1p.stable
def _(xp, node):
    # log1p(exp(u)) = softplus(u), log1p(-sigmoid(u)) = -softplus(u)
    x = xp.definition_of(node.operands[0])
    if xp.applies(x, exp):
        return xp.softplus(x.operands[0])
    logit = xp.logit_of(xp.opposite_of(x))
    return None if logit is None else -xp.softplus(logit)


@of_ufunc("sin", "_sparse_sin", c="sin({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def sin(xp, data):
    """Sine, of an angle in radians."""


sin.grad(lambda xp, dout, data: dout * xp.cos(data))


@of_ufunc("cos", "_sparse_cos", c="cos({0})", method=True, complex_gradient=True)
def cos(xp, data):
    """Cosine, of an angle in radians."""


cos.grad(lambda xp, dout, data: -dout * xp.sin(data))


@of_ufunc("tan", "_sparse_tan", c="tan({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def tan(xp, data):
    """Tangent, of an angle in radians."""


# Where a derivative is a function of the result (tan, tanh, exp, sqrt …) the gradient reads `out`, which saves computing the function again
# and frees the operand.
tan.grad(lambda xp, dout, out: dout * (out * out + 1))


@of_ufunc("arcsin", "_sparse_arcsin", c="asin({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def arcsin(xp, data):
    """Inverse sine, in radians."""


arcsin.grad(lambda xp, dout, data, out: dout / (xp.cos(out) if is_complex(xp, data) else xp.sqrt(1 - data * data)))


@of_ufunc("arccos", "_sparse_arccos", c="acos({0})", method=True, complex_gradient=True)
def arccos(xp, data):
    """Inverse cosine, in radians."""


arccos.grad(lambda xp, dout, data, out: -dout / (xp.sin(out) if is_complex(xp, data) else xp.sqrt(1 - data * data)))


@of_ufunc("arctan", "_sparse_arctan", c="atan({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def arctan(xp, data):
    """Inverse tangent, in radians."""


arctan.grad(lambda xp, dout, data: dout / (data * data + 1))


@of_ufunc("sinh", "_sparse_sinh", c="sinh({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def sinh(xp, data):
    """Hyperbolic sine."""


sinh.grad(lambda xp, dout, data: dout * xp.cosh(data))


@of_ufunc("cosh", "_sparse_cosh", c="cosh({0})", method=True, complex_gradient=True)
def cosh(xp, data):
    """Hyperbolic cosine."""


cosh.grad(lambda xp, dout, data: dout * xp.sinh(data))


@of_ufunc("tanh", "_sparse_tanh", c="tanh({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def tanh(xp, data):
    """Hyperbolic tangent."""


tanh.grad(lambda xp, dout, out: dout * (1 - out * out))


@of_ufunc("arcsinh", "_sparse_arcsinh", c="asinh({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def arcsinh(xp, data):
    """Inverse hyperbolic sine."""


arcsinh.grad(lambda xp, dout, data, out: dout / (xp.cosh(out) if is_complex(xp, data) else xp.sqrt(data * data + 1)))


@of_ufunc("arccosh", "_sparse_arccosh", c="acosh({0})", method=True, complex_gradient=True)
def arccosh(xp, data):
    """Inverse hyperbolic cosine."""


arccosh.grad(lambda xp, dout, data, out: dout / (xp.sinh(out) if is_complex(xp, data) else xp.sqrt(data * data - 1)))


@of_ufunc("arctanh", "_sparse_arctanh", c="atanh({0})", method=True, sparse_rule=zeros_stay, complex_gradient=True)
def arctanh(xp, data):
    """Inverse hyperbolic tangent."""


arctanh.grad(lambda xp, dout, data: dout / (1 - data * data))


@primitive("erf", "_npx_erf", elementwise=True, result="float", c="erf({0})", method=True, symbol_method=False)
def erf(xp, data):
    """Gauss error function 2/sqrt(pi) * integral of exp(-t²) from 0 to data."""


erf.grad(lambda xp, dout, data: dout * (2 / math.sqrt(math.pi)) * xp.exp(-(data * data)))


@erf.cases
def _(make):
    yield from make.of_floats(math.erf, (-3, -0.75, -0.0, 1e-3, 0.5, 2, 7, math.inf, -math.inf, math.nan), (0, 1))


@primitive("erfinv", "_npx_erfinv", elementwise=True, result="float", c="erfinv({0})", c_part="erfinv", method=True, symbol_method=False)
def erfinv(xp, data):
    """Inverse of erf; infinite at -1 and 1, NaN outside."""


# the derivative of an inverse: 1 / erf'(out), in terms of the result
erfinv.grad(lambda xp, dout, out: dout * (math.sqrt(math.pi) / 2) * xp.exp(out * out))


def _erfinv_by_bisection(x):
    """The x in [-6, 6] at which erf has a given value; infinite for -1 and 1, NaN beyond."""
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < x else (low, middle)
    return high


@erfinv.cases
def _(make):
    yield from make.of_floats(_erfinv_by_bisection, (-1, -0.75, 0.03125, 0.5, 0.9375, 1, 2, math.nan), (0, 1))


@primitive(
    "gammaln", "_npx_gammaln", "_sparse_gammaln", elementwise=True, result="float", c="lgamma({0})", method=True, symbol_method=False
)
def gammaln(xp, data):
    """Logarithm of the absolute value of the gamma function."""


# digamma is the logarithmic derivative of the gamma function
gammaln.grad(lambda xp, dout, data: dout * xp.polygamma(data, order=0))


@gammaln.cases
def _(make):
    yield from make.of_floats(math.lgamma, (-2.5, -0.5, 0.25, 1, 1.5, 2, 4.5, 30, math.inf, math.nan), (1, 2))


@primitive(elementwise=True, result="float", c="tf_polygamma({order}, {0})", c_part="polygamma")
def polygamma(xp, data, *, order: int):
    """The derivative of the digamma function of an order; digamma, of order 0, is the derivative of gammaln."""


polygamma.grad(lambda xp, dout, data, *, order: dout * xp.polygamma(data, order=order + 1))


@polygamma.cases
def _(make):
    """At 1/2, 1 and 2: the values of NIST's Digital Library of Mathematical Functions, 5.4 and 5.15."""
    euler, zeta3 = 0.5772156649015329, 1.2020569031595942
    known = (
        (-euler - 2 * math.log(2), -euler, 1 - euler),
        (math.pi**2 / 2, math.pi**2 / 6, math.pi**2 / 6 - 1),
        (-14 * zeta3, -2 * zeta3, 2 - 2 * zeta3),
        (math.pi**4, math.pi**4 / 15, math.pi**4 / 15 - 6),
    )
    for dtype in FLOATS:
        for order, values in enumerate(known):
            result = make.array(values, dtype)
            yield make(make.array([0.5, 1, 2], dtype), order=order, want=lambda x, order, result=result: result)


@flat("floor", "_sparse_floor", c="tf_floor({0})", method=True, sparse_rule=zeros_stay)
def floor(xp, data):
    """Rounds down to an integer."""


@flat("ceil", "_sparse_ceil", c="tf_ceil({0})", method=True, sparse_rule=zeros_stay)
def ceil(xp, data):
    """Rounds up to an integer."""


@flat("trunc", "_sparse_trunc", c="tf_trunc({0})", method=True, sparse_rule=zeros_stay)
def trunc(xp, data):
    """Rounds toward zero to an integer."""


@flat(ufunc="rint", c="rint({0})")
def round_even(xp, data):
    """Rounds to the nearest integer, halves to even (as NumPy and IEEE 754)."""


@test(c="tf_isnan({0})")
def isnan(xp, data):
    """Whether an element is NaN."""


@test(c="tf_isinf({0})")
def isinf(xp, data):
    """Whether an element is infinite."""


@test(c="tf_isfinite({0})")
def isfinite(xp, data):
    """Whether an element is neither infinite nor NaN."""


@primitive(
    "BlockGrad",
    "_sparse_stop_gradient",
    "stop_gradient",
    npx_name="stop_gradient",
    elementwise=True,
    result="first",
    moves=True,
    detaches=True,
    differentiable=False,
    c="{0}",
    sparse_rule=zeros_stay,
)
def stop_gradient(xp, data):
    """``data``, without a gradient."""


stop_gradient.simplify(lambda xp, node: node.operands[0])
stop_gradient.strides(lambda view: view)


@stop_gradient.cases
def _(make):
    for dtype in make.dtypes:
        yield make(make.numbers((2, 4), dtype), want=make.np.copy)


#: The range of a function's samples, if it is not defined and differentiable around 0.
RANGES = {
    **dict.fromkeys(("arccos", "arcsin", "arctanh", "erfinv"), (-0.9, 0.9)),
    "arccosh": (1.1, 3.0),
    **dict.fromkeys(("cbrt", "gammaln", "log", "log10", "log2", "sqrt"), (0.3, 3.0)),
    "log1p": (-0.5, 2.0),
}
for _op in (
    negative, absolute, sign, square, sqrt, cbrt, exp, expm1, log, log2, log10, log1p, sin, cos, tan, arcsin, arccos, arctan, sinh, cosh,
    tanh, arcsinh, arccosh, arctanh, erf, erfinv, gammaln, floor, ceil, trunc, stop_gradient,
):  # fmt: skip
    _op.sample(lambda draw, name=_op.name: draw(draw.real((3, 4), *RANGES.get(name, (-1.2, 1.2)))))
