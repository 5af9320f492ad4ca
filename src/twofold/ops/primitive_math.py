"""Primitives with one operand: elementary and special functions, rounding, tests; with ufuncs, C expressions and gradients."""

import math
from functools import partial

from ..opdef.declare import primitive

unary = partial(primitive, elementwise=True, result="ufunc")
flat = partial(primitive, elementwise=True, result="ufunc", differentiable=False)
test = partial(primitive, elementwise=True, result="bool", differentiable=False)


@unary(
    "negative",
    "_sparse_negative",
    "_np_negative",
    ufunc="negative",
    simple=True,
    c="-{0}",
    python="neg",
    numpy_names=("negative",),
    method=True,
    symbol_method=False,
)
def negative(xp, data):
    """``-data``."""


negative.grad(lambda xp, dout: -dout)


@unary("abs", "_sparse_abs", ufunc="absolute", simple=True, c="tf_abs({0})", python="abs", numpy_names=("abs", "absolute"), method=True)
def absolute(xp, data):
    """Absolute value."""


absolute.grad(lambda xp, dout, data: dout * xp.sign(data))


@flat("sign", "_sparse_sign", ufunc="sign", simple=True, c="tf_sign({0})", numpy_names=("sign",), method=True)
def sign(xp, data):
    """-1, 0 or 1 according to the sign; NaN for NaN."""


@unary("square", "_sparse_square", ufunc="square", simple=True, c="{0} * {0}", numpy_names=("square",), method=True)
def square(xp, data):
    """``data * data``."""


square.grad(lambda xp, dout, data: dout * 2 * data)


@unary("sqrt", "_sparse_sqrt", ufunc="sqrt", c="sqrt({0})", numpy_names=("sqrt",), method=True)
def sqrt(xp, data):
    """Square root; NaN for negative numbers."""


sqrt.grad(lambda xp, dout, out: dout * 0.5 / out)


@unary("cbrt", "_sparse_cbrt", ufunc="cbrt", c="cbrt({0})", numpy_names=("cbrt",), method=True)
def cbrt(xp, data):
    """Cube root."""


cbrt.grad(lambda xp, dout, out: dout / (3.0 * out * out))


@unary("exp", "_sparse_exp", ufunc="exp", c="exp({0})", numpy_names=("exp",), method=True)
def exp(xp, data):
    """Exponential function."""


exp.grad(lambda xp, dout, out: dout * out)


@unary("expm1", "_sparse_expm1", ufunc="expm1", c="expm1({0})", numpy_names=("expm1",), method=True)
def expm1(xp, data):
    """``exp(data) - 1``, accurate near 0."""


expm1.grad(lambda xp, dout, out: dout * (out + 1))


@unary("log", "_sparse_log", ufunc="log", c="log({0})", numpy_names=("log",), method=True)
def log(xp, data):
    """Natural logarithm."""


log.grad(lambda xp, dout, data: dout / data)


@unary("log2", "_sparse_log2", ufunc="log2", c="log2({0})", numpy_names=("log2",), method=True)
def log2(xp, data):
    """Base-2 logarithm."""


log2.grad(lambda xp, dout, data: dout / (data * math.log(2)))


@unary("log10", "_sparse_log10", ufunc="log10", c="log10({0})", numpy_names=("log10",), method=True)
def log10(xp, data):
    """Base-10 logarithm."""


log10.grad(lambda xp, dout, data: dout / (data * math.log(10)))


@unary("log1p", "_sparse_log1p", ufunc="log1p", c="log1p({0})", numpy_names=("log1p",), method=True)
def log1p(xp, data):
    """``log(1 + data)``, accurate near 0."""


log1p.grad(lambda xp, dout, data: dout / (data + 1))


@unary("sin", "_sparse_sin", ufunc="sin", c="sin({0})", numpy_names=("sin",), method=True)
def sin(xp, data):
    """Sine, of an angle in radians."""


sin.grad(lambda xp, dout, data: dout * xp.cos(data))


@unary("cos", "_sparse_cos", ufunc="cos", c="cos({0})", numpy_names=("cos",), method=True)
def cos(xp, data):
    """Cosine, of an angle in radians."""


cos.grad(lambda xp, dout, data: -dout * xp.sin(data))


@unary("tan", "_sparse_tan", ufunc="tan", c="tan({0})", numpy_names=("tan",), method=True)
def tan(xp, data):
    """Tangent, of an angle in radians."""


# Where a derivative is a function of the result (tan, tanh, exp, sqrt …) the gradient asks for `out`, which saves computing the function
# again, and frees the operand.
tan.grad(lambda xp, dout, out: dout * (out * out + 1))


@unary("arcsin", "_sparse_arcsin", ufunc="arcsin", c="asin({0})", numpy_names=("arcsin",), method=True)
def arcsin(xp, data):
    """Inverse sine, in radians."""


arcsin.grad(lambda xp, dout, data: dout / xp.sqrt(1 - data * data))


@unary("arccos", "_sparse_arccos", ufunc="arccos", c="acos({0})", numpy_names=("arccos",), method=True)
def arccos(xp, data):
    """Inverse cosine, in radians."""


arccos.grad(lambda xp, dout, data: -dout / xp.sqrt(1 - data * data))


@unary("arctan", "_sparse_arctan", ufunc="arctan", c="atan({0})", numpy_names=("arctan",), method=True)
def arctan(xp, data):
    """Inverse tangent, in radians."""


arctan.grad(lambda xp, dout, data: dout / (data * data + 1))


@unary("sinh", "_sparse_sinh", ufunc="sinh", c="sinh({0})", numpy_names=("sinh",), method=True)
def sinh(xp, data):
    """Hyperbolic sine."""


sinh.grad(lambda xp, dout, data: dout * xp.cosh(data))


@unary("cosh", "_sparse_cosh", ufunc="cosh", c="cosh({0})", numpy_names=("cosh",), method=True)
def cosh(xp, data):
    """Hyperbolic cosine."""


cosh.grad(lambda xp, dout, data: dout * xp.sinh(data))


@unary("tanh", "_sparse_tanh", ufunc="tanh", c="tanh({0})", numpy_names=("tanh",), method=True)
def tanh(xp, data):
    """Hyperbolic tangent."""


tanh.grad(lambda xp, dout, out: dout * (1 - out * out))


@unary("arcsinh", "_sparse_arcsinh", ufunc="arcsinh", c="asinh({0})", numpy_names=("arcsinh",), method=True)
def arcsinh(xp, data):
    """Inverse hyperbolic sine."""


arcsinh.grad(lambda xp, dout, data: dout / xp.sqrt(data * data + 1))


@unary("arccosh", "_sparse_arccosh", ufunc="arccosh", c="acosh({0})", numpy_names=("arccosh",), method=True)
def arccosh(xp, data):
    """Inverse hyperbolic cosine."""


arccosh.grad(lambda xp, dout, data: dout / xp.sqrt(data * data - 1))


@unary("arctanh", "_sparse_arctanh", ufunc="arctanh", c="atanh({0})", numpy_names=("arctanh",), method=True)
def arctanh(xp, data):
    """Inverse hyperbolic tangent."""


arctanh.grad(lambda xp, dout, data: dout / (1 - data * data))


@primitive("erf", "_npx_erf", elementwise=True, result="float", c="erf({0})", method=True, symbol_method=False)
def erf(xp, data):
    """Gauss error function 2/sqrt(pi) * integral of exp(-t²) from 0 to data."""


erf.grad(lambda xp, dout, data: dout * (2 / math.sqrt(math.pi)) * xp.exp(-(data * data)))


@primitive("erfinv", "_npx_erfinv", elementwise=True, result="float", c="erfinv({0})", method=True, symbol_method=False)
def erfinv(xp, data):
    """Inverse of erf; infinite at -1 and 1, NaN outside."""


erfinv.grad(lambda xp, dout, out: dout * (math.sqrt(math.pi) / 2) * xp.exp(out * out))


@primitive(
    "gammaln", "_npx_gammaln", "_sparse_gammaln", elementwise=True, result="float", c="lgamma({0})", method=True, symbol_method=False
)
def gammaln(xp, data):
    """Logarithm of the absolute value of the gamma function."""


gammaln.grad(lambda xp, dout, data: dout * xp.polygamma(data, order=0))


@primitive(elementwise=True, result="float", c="tf_polygamma({order}, {0})")
def polygamma(xp, data, *, order: int):
    """The derivative of the digamma function of an order; digamma, of order 0, is the derivative of gammaln."""


polygamma.grad(lambda xp, dout, data, *, order: dout * xp.polygamma(data, order=order + 1))


@flat("floor", "_sparse_floor", ufunc="floor", c="tf_floor({0})", numpy_names=("floor",), method=True)
def floor(xp, data):
    """Rounds down to an integer."""


@flat("ceil", "_sparse_ceil", ufunc="ceil", c="tf_ceil({0})", numpy_names=("ceil",), method=True)
def ceil(xp, data):
    """Rounds up to an integer."""


@flat("trunc", "_sparse_trunc", ufunc="trunc", c="tf_trunc({0})", numpy_names=("trunc",), method=True)
def trunc(xp, data):
    """Rounds towards zero to an integer."""


@flat(ufunc="rint", c="rint({0})", numpy_names=("rint",))
def round_even(xp, data):
    """Rounds to the nearest integer, halves to even (as NumPy and IEEE 754)."""


@test(ufunc="isnan", c="tf_isnan({0})", numpy_names=("isnan",))
def isnan(xp, data):
    """Whether an element is NaN."""


@test(ufunc="isinf", c="tf_isinf({0})", numpy_names=("isinf",))
def isinf(xp, data):
    """Whether an element is infinite."""


@test(ufunc="isfinite", c="tf_isfinite({0})", numpy_names=("isfinite",))
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
    differentiable=False,
    c="{0}",
)
def stop_gradient(xp, data):
    """``data``, without a gradient."""
