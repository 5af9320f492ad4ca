"""The functions on symbols that readings compose: MXNet's, and those of its NumPy dialect; and operands for them."""

from typing import Any

from .... import symbol
from ....symbol import numpy_symbol
from ....symbol.symbol import Symbol
from ..values import Tensor

#: The results of a node that has several.
Symbols = tuple[Symbol, ...]
#: MXNet's operators.
F: Any = symbol
#: Those of its NumPy dialect, whose results may have no axes, and bool elements.
NP: Any = numpy_symbol.NP
NPX: Any = numpy_symbol.NPX


def operand(tensor: Tensor, beside: Tensor) -> Symbol | float:
    """An operand of a function of two: a number, if it is a constant that cannot change the type of the result."""
    found, ndim = tensor.array, 0 if beside.shape is None else len(beside.shape)
    if found is not None and beside.array is None and found.size == 1 and found.ndim <= ndim and found.dtype.kind in "fi":
        return found.item()
    return tensor.np


def combined(name: str, lhs: Tensor, rhs: Tensor) -> Symbol:
    """A function of two operands, which are broadcast."""
    return getattr(NP, name)(operand(lhs, rhs), operand(rhs, lhs) if operand(lhs, rhs) is lhs.np or lhs.array is None else rhs.np)


def sliced(symbol: Symbol, axis: int, begin: int, end: int) -> Symbol:
    """The range of a symbol along an axis."""
    return F.slice_axis(symbol, axis=axis, begin=begin, end=end).as_np_ndarray()


def slice_at(symbol: Symbol, axis: int, k: int) -> Symbol:
    """The slice of a symbol at a place of an axis, without that axis."""
    return NP.squeeze(sliced(symbol, axis, k, k + 1), axis)


def as_dtype(symbol: Any, dtype: str) -> Symbol:
    """A symbol in a dtype."""
    return symbol.as_np_ndarray().astype(dtype)
