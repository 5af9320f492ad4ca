"""Primitives with one operand: elementary and special functions, rounding, tests; with ufuncs, C expressions and gradients."""

import math
from functools import partial

from ..opdef.declare import of_ufunc, primitive

flat = partial(of_ufunc, differentiable=False)
test = partial(of_ufunc, result="bool", differentiable=False)


@of_ufunc("negative", "_sparse_negative", "_np_negative", simple=True, c="-{0}", python="neg", method=True, symbol_method=False)
def negative(xp, data):
    """``-data``."""


negative.grad(lambda xp, dout: -dout)


@of_ufunc("abs", "_sparse_abs", simple=True, c="tf_abs({0})", python="abs", numpy_names=("abs", "absolute"), method=True)
def absolute(xp, data):
    """Absolute value."""


absolute.grad(lambda xp, dout, data: dout * xp.sign(data))


@flat("sign", "_sparse_sign", simple=True, c="tf_sign({0})", method=True)
def sign(xp, data):
    """-1, 0 or 1 according to the sign; NaN for NaN."""


@of_ufunc("square", "_sparse_square", simple=True, c="{0} * {0}", method=True)
def square(xp, data):
    """``data * data``."""


square.grad(lambda xp, dout, data: dout * 2 * data)


@of_ufunc("sqrt", "_sparse_sqrt", c="sqrt({0})", method=True)
def sqrt(xp, data):
    """Square root; NaN for negative numbers."""


sqrt.grad(lambda xp, dout, out: dout * 0.5 / out)


@of_ufunc("cbrt", "_sparse_cbrt", c="cbrt({0})", method=True)
def cbrt(xp, data):
    """Cube root."""


cbrt.grad(lambda xp, dout, out: dout / (3.0 * out * out))


@of_ufunc("exp", "_sparse_exp", c="exp({0})", method=True)
def exp(xp, data):
    """Exponential function."""


exp.grad(lambda xp, dout, out: dout * out)


@of_ufunc("expm1", "_sparse_expm1", c="expm1({0})", method=True)
def expm1(xp, data):
    """``exp(data) - 1``, accurate near 0."""


expm1.grad(lambda xp, dout, out: dout * (out + 1))


@of_ufunc("log", "_sparse_log", c="log({0})", method=True)
def log(xp, data):
    """Natural logarithm."""


log.grad(lambda xp, dout, data: dout / data)


@of_ufunc("log2", "_sparse_log2", c="log2({0})", method=True)
def log2(xp, data):
    """Base-2 logarithm."""


log2.grad(lambda xp, dout, data: dout / (data * math.log(2)))


@of_ufunc("log10", "_sparse_log10", c="log10({0})", method=True)
def log10(xp, data):
    """Base-10 logarithm."""


log10.grad(lambda xp, dout, data: dout / (data * math.log(10)))


@of_ufunc("log1p", "_sparse_log1p", c="log1p({0})", method=True)
def log1p(xp, data):
    """``log(1 + data)``, accurate near 0."""


log1p.grad(lambda xp, dout, data: dout / (data + 1))


@of_ufunc("sin", "_sparse_sin", c="sin({0})", method=True)
def sin(xp, data):
    """Sine, of an angle in radians."""


sin.grad(lambda xp, dout, data: dout * xp.cos(data))


@of_ufunc("cos", "_sparse_cos", c="cos({0})", method=True)
def cos(xp, data):
    """Cosine, of an angle in radians."""


cos.grad(lambda xp, dout, data: -dout * xp.sin(data))


@of_ufunc("tan", "_sparse_tan", c="tan({0})", method=True)
def tan(xp, data):
    """Tangent, of an angle in radians."""


# Where a derivative is a function of the result (tan, tanh, exp, sqrt …) the gradient asks for `out`, which saves computing the function
# again, and frees the operand.
tan.grad(lambda xp, dout, out: dout * (out * out + 1))


@of_ufunc("arcsin", "_sparse_arcsin", c="asin({0})", method=True)
def arcsin(xp, data):
    """Inverse sine, in radians."""


arcsin.grad(lambda xp, dout, data: dout / xp.sqrt(1 - data * data))


@of_ufunc("arccos", "_sparse_arccos", c="acos({0})", method=True)
def arccos(xp, data):
    """Inverse cosine, in radians."""


arccos.grad(lambda xp, dout, data: -dout / xp.sqrt(1 - data * data))


@of_ufunc("arctan", "_sparse_arctan", c="atan({0})", method=True)
def arctan(xp, data):
    """Inverse tangent, in radians."""


arctan.grad(lambda xp, dout, data: dout / (data * data + 1))


@of_ufunc("sinh", "_sparse_sinh", c="sinh({0})", method=True)
def sinh(xp, data):
    """Hyperbolic sine."""


sinh.grad(lambda xp, dout, data: dout * xp.cosh(data))


@of_ufunc("cosh", "_sparse_cosh", c="cosh({0})", method=True)
def cosh(xp, data):
    """Hyperbolic cosine."""


cosh.grad(lambda xp, dout, data: dout * xp.sinh(data))


@of_ufunc("tanh", "_sparse_tanh", c="tanh({0})", method=True)
def tanh(xp, data):
    """Hyperbolic tangent."""


tanh.grad(lambda xp, dout, out: dout * (1 - out * out))


@of_ufunc("arcsinh", "_sparse_arcsinh", c="asinh({0})", method=True)
def arcsinh(xp, data):
    """Inverse hyperbolic sine."""


arcsinh.grad(lambda xp, dout, data: dout / xp.sqrt(data * data + 1))


@of_ufunc("arccosh", "_sparse_arccosh", c="acosh({0})", method=True)
def arccosh(xp, data):
    """Inverse hyperbolic cosine."""


arccosh.grad(lambda xp, dout, data: dout / xp.sqrt(data * data - 1))


@of_ufunc("arctanh", "_sparse_arctanh", c="atanh({0})", method=True)
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


@flat("floor", "_sparse_floor", c="tf_floor({0})", method=True)
def floor(xp, data):
    """Rounds down to an integer."""


@flat("ceil", "_sparse_ceil", c="tf_ceil({0})", method=True)
def ceil(xp, data):
    """Rounds up to an integer."""


@flat("trunc", "_sparse_trunc", c="tf_trunc({0})", method=True)
def trunc(xp, data):
    """Rounds towards zero to an integer."""


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
    differentiable=False,
    c="{0}",
)
def stop_gradient(xp, data):
    """``data``, without a gradient."""
