"""Functions of each element, of one operand, of two and of any number; choices, casts, tests."""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from ....dtype import NAME_OF
from ....symbol.symbol import Symbol
from ..op_reader import reads, reads_rows, unsupported
from ..package import onnx_package
from ..values import Graph, Tensor
from .functions import NP, F, as_dtype, combined

# functions that NumPy has too, by name

_UNARY = {
    "Abs": "absolute", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan", "Atanh": "arctanh",
    "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Exp": "exp", "Floor": "floor", "IsNaN": "isnan", "Log": "log", "Neg": "negative",
    "Not": "logical_not", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
    "BitwiseNot": "bitwise_not", "Reciprocal": "reciprocal", "Round": "around",
}  # fmt: skip
_BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal",
}  # fmt: skip
#: Functions that NumPy lacks, by the names of MXNet's operators.
_OF_MXNET = {"Erf": "erf", "Sigmoid": "sigmoid", "Softsign": "softsign"}
#: Functions of any number of operands, as folds of a function of two.
_FOLDED = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def _folded(name: str, tensors: Sequence[Tensor]) -> Symbol:
    return reduce(getattr(NP, name), [t.np for t in tensors])


reads_rows(_UNARY, lambda name: lambda graph, x: getattr(NP, name)(x.np), "X")
reads_rows(_OF_MXNET, lambda name: lambda graph, x: getattr(F, name)(x.symbol), "X")
reads_rows(_BINARY, lambda name: lambda graph, a, b: combined(name, a, b), "A", "B")
reads_rows(_FOLDED, lambda name: lambda graph, *data: _folded(name, data), variadic=True)


# MXNet's logical functions return floats, and its arrays of bools cannot be added: truth values are combined as integers


def _truth(x: Tensor) -> Symbol:
    """An operand as 0 and 1, which products and sums combine."""
    return as_dtype(x.symbol, "int32")


@reads
def And(graph, a, b):
    """Conjunction."""
    return as_dtype(_truth(a) * _truth(b), "bool")


@reads
def Or(graph, a, b):
    """Disjunction."""
    return as_dtype(_truth(a) + _truth(b), "bool")


@reads
def Xor(graph, a, b):
    """Exclusive disjunction."""
    return NP.not_equal(_truth(a), _truth(b))


@reads
def Div(graph, a, b):
    """A quotient; that of integers is truncated."""
    return combined("true_divide", a, b) if a.is_float else F.broadcast_div(a.symbol, b.symbol)


@reads
def Pow(graph, a, b):
    """A power in the dtype of the base."""
    if b.dtype == a.dtype or (b.array is not None and b.array.size == 1):
        return combined("power", a, b)
    wide = "float64" if "float64" in (a.dtype, b.dtype) or not a.is_float else "float32"
    return as_dtype(NP.power(as_dtype(a.symbol, wide), as_dtype(b.symbol, wide)), str(a.dtype))


@reads
def Mod(graph, a, b, *, fmod=0):
    """The remainder, with the sign of the divisor, or with ``fmod`` that of the dividend."""
    rest = NP.sign(a.np) * NP.mod(NP.absolute(a.np), NP.absolute(b.np)) if fmod else combined("mod", a, b)
    # by 0 MXNet's remainder is 0, ONNX's of floats no number
    return NP.where(NP.equal(b.np, 0), NP.full_like(rest, math.nan), rest) if a.is_float else rest


@reads
def BitShift(graph, x, y, *, direction):
    """A shift of the bits, as a multiplication or division by a power of two; all bits shifted out leave 0, or -1 of a negative number."""
    bits, dtype = 8 * np.dtype(str(x.dtype)).itemsize, str(x.dtype)
    steps = as_dtype(y.symbol, "float64")
    beyond = NP.greater_equal(steps, float(bits)) if not dtype.startswith("int") else _or_below(steps, bits)
    if direction == "LEFT":
        wide = "uint64" if dtype == "uint64" else "int64"  # the product wraps when it is brought back
        factor = as_dtype(NP.power(2.0, NP.minimum(NP.maximum(steps, 0.0), 62.0)), wide)
        return NP.where(beyond, NP.zeros_like(x.np), as_dtype(as_dtype(x.symbol, wide) * factor, dtype))
    factor = as_dtype(NP.power(2.0, NP.minimum(NP.maximum(steps, 0.0), bits - 2.0 if dtype.startswith("int") else bits - 1.0)), dtype)
    rest = NP.mod(x.np, factor)
    out = F.broadcast_div(x.np - rest, factor).as_np_ndarray()
    return NP.where(beyond, as_dtype(NP.less(x.np, 0), dtype) * -1 if dtype.startswith("int") else NP.zeros_like(x.np), out)


def _or_below(steps: Symbol, bits: int) -> Symbol:
    """Whether a shift is by all bits, or by a negative number, which runtimes take for one so large."""
    return as_dtype(as_dtype(NP.greater_equal(steps, float(bits)), "int32") + as_dtype(NP.less(steps, 0.0), "int32"), "bool")


@reads
def Identity(graph, x):
    """The operand."""
    return x


@reads
def IsInf(graph, x, *, detect_negative=1, detect_positive=1):
    """Whether elements are infinite, with the requested signs."""
    tests = {(1, 1): NP.isinf, (1, 0): NP.isneginf, (0, 1): NP.isposinf}
    found = tests.get((detect_negative, detect_positive))
    return found(x.np) if found is not None else as_dtype(NP.zeros_like(x.np), "bool")


@reads
def Clip(graph, x, min=None, max=None):
    """Elements limited to a range."""
    low, high = (None if t is None or t.array is None else t.number for t in (min, max))
    out = x.np
    if min is not None:
        out = NP.maximum(out, min.np if low is None or not x.is_float else low)
    if max is not None:
        out = NP.minimum(out, max.np if high is None or not x.is_float else high)
    return out if min is not None or max is not None else x


@reads
def Where(graph, condition, x, y):
    """Elements of one operand or the other."""
    return NP.where(condition.np, x.np, y.np)


@reads
def Mean(graph, *data):
    """The mean of several operands."""
    return _folded("add", data) / float(len(data))


# dtypes


def dtype_of_code(graph: Graph, code: int) -> str:
    """The dtype of one of ONNX's numbers for it.

    Raises
    ------
    FormatError
        If Twofold has no such dtype.
    """
    try:
        kind = np.dtype(onnx_package("reading ONNX files").helper.tensor_dtype_to_np_dtype(code))
    except (KeyError, ValueError, TypeError):
        raise unsupported(graph, "unknown dtype", code) from None
    name = NAME_OF.get(kind)
    # 8- and 4-bit floats share NumPy's storage types with integers in older versions of the package
    if name is None or (kind.kind in "iu" and code not in (2, 3, 4, 5, 6, 7, 12, 13)):
        raise unsupported(graph, "arrays of this dtype are not supported", str(kind))
    return name


@reads
def Cast(graph, x, *, to, saturate=1, round_mode="up"):
    """The elements in another dtype."""
    return _as(x, dtype_of_code(graph, to))


@reads
def CastLike(graph, x, like, *, saturate=1, round_mode="up"):
    """The elements in the dtype of another operand."""
    if like.dtype is None:
        raise unsupported(graph, "the dtype of an operand is not known", like.name)
    return _as(x, like.dtype)


def _as(x: Tensor, dtype: str) -> Tensor | Symbol | np.ndarray:
    if x.array is not None and x.array.size <= 1 << 16:
        return x.array.astype(dtype) if dtype != "bfloat16" else as_dtype(x.symbol, dtype)
    return x if x.dtype == dtype else as_dtype(x.symbol, dtype)


# activations


@reads
def Relu(graph, x):
    """max(x, 0)."""
    return F.relu(x.symbol) if x.is_float else NP.maximum(x.np, 0)


@reads
def Softplus(graph, x):
    """log(1 + exp(x))."""
    return F.Activation(x.symbol, act_type="softrelu")


@reads
def LeakyRelu(graph, x, *, alpha=0.01):
    """A rectifier with a slope below zero."""
    return F.LeakyReLU(x.symbol, act_type="leaky", slope=alpha)


@reads
def Elu(graph, x, *, alpha=1.0):
    """Alpha (exp(x) - 1) below zero."""
    return F.LeakyReLU(x.symbol, act_type="elu", slope=alpha)


@reads
def Celu(graph, x, *, alpha=1.0):
    """Alpha (exp(x / alpha) - 1) below zero."""
    return NP.maximum(x.np, 0.0) + NP.minimum(alpha * NP.expm1(x.np / alpha), 0.0)


@reads
def Selu(graph, x, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    """Gamma times elu."""
    above, below = NP.maximum(x.np, 0.0), NP.minimum(x.np, 0.0)
    # `expm1` of the negative part only: of large positive elements it would overflow.
    return gamma * (above + alpha * NP.expm1(below))


@reads
def Gelu(graph, x, *, approximate="none"):
    """X times the normal distribution function, or its approximation by tanh."""
    if approximate == "none":
        return F.LeakyReLU(x.symbol, act_type="gelu")
    inner = math.sqrt(2 / math.pi) * (x.np + 0.044715 * x.np * x.np * x.np)
    return 0.5 * x.np * (1.0 + NP.tanh(inner))


@reads
def PRelu(graph, x, slope):
    """A rectifier with learned slopes, which are broadcast."""
    per_channel = (
        slope.array is not None and x.shape is not None and len(x.shape) > 2 and slope.shape == (slope.size(0), *[1] * (len(x.shape) - 2))
    )
    if per_channel and slope.array is not None and x.sizes[1] in (slope.size(0), None):
        weights = Tensor(graph, slope.name, array=slope.array.reshape(-1))
        return F.LeakyReLU(x.symbol, weights.symbol, act_type="prelu")
    return NP.maximum(x.np, 0.0) + slope.np * NP.minimum(x.np, 0.0)


@reads
def HardSigmoid(graph, x, *, alpha=0.2, beta=0.5):
    """max(0, min(1, alpha x + beta))."""
    return F.hard_sigmoid(x.symbol, alpha=alpha, beta=beta)


@reads
def ThresholdedRelu(graph, x, *, alpha=1.0):
    """X above alpha, else 0."""
    return NP.where(NP.greater(x.np, alpha), x.np, NP.zeros_like(x.np))


@reads
def Shrink(graph, x, *, bias=0.0, lambd=0.5):
    """X moved toward 0 by a bias, 0 within lambda of it."""
    below, above = NP.less(x.np, -lambd), NP.greater(x.np, lambd)
    return NP.where(below, x.np + bias, NP.where(above, x.np - bias, NP.zeros_like(x.np)))
