"""Python's operators on symbols, and ``maximum``, ``minimum``, ``hypot``, ``power``: tables of the operators they apply."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..assembly import attach_method
from ..errors import DTypeError
from ..opdef import OPS, Op
from ..opdef.frontend import named
from ..ops.primitive_math import absolute
from .compose import apply_op
from .symbol import Symbol

#: The numbers that combine with symbols: Python's, and NumPy's scalars, which become attributes in the same spelling.
NUMBERS = (int, float, np.generic)


class HintedOp(NamedTuple):
    """An operator, and the prefix of its nodes' automatic names."""

    op: Op
    hint: str


class Binary(NamedTuple):
    """The operators of a binary operation on two symbols, on a symbol and a number, and on a number and a symbol."""

    symbols: HintedOp
    number: HintedOp
    reverse: HintedOp


_VARIANTS = {op.front.variant: op for op in OPS.values() if op.front.variant is not None}


def _row(formula: str) -> Binary:
    """The operators of a formula; nodes are named after the second registered name, ``_Plus`` or ``_PlusScalar``, as MXNet's are."""
    pair, number = _VARIANTS[formula, "pair"], _VARIANTS[formula, "scalar"]
    operators = pair, number, _VARIANTS.get((formula, "reversed"), number)
    return Binary(*[HintedOp(op, op.names[1].lower()) for op in operators])


def _relation(formula: str) -> Binary:
    """The operators of a comparison, which has no reversed form: Python calls the opposite method of the other operand."""
    pair, number = [HintedOp(op, op.title) for op in (_VARIANTS[formula, "pair"], _VARIANTS[formula, "scalar"])]
    return Binary(pair, number, number)


#: Python's operators to MXNet's formulas.
ARITHMETIC = {name: _row(name) for name in ("add", "sub", "mul", "mod")} | {"truediv": _row("div"), "pow": _row("power")}
_RAISED = ARITHMETIC["pow"].reverse.op
# the only automatic name that MXNet takes from the first registered name: 2 ** x is `_rpower_scalar0`, not `_rpowerscalar0`
ARITHMETIC["pow"] = ARITHMETIC["pow"]._replace(reverse=HintedOp(_RAISED, _RAISED.title))
COMPARISON = {"eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal", "lt": "lesser", "le": "lesser_equal"}
FUNCTIONS = {name: _row(name) for name in ("maximum", "minimum", "hypot", "power")}
ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {"maximum": max, "minimum": min, "hypot": math.hypot, "power": pow}


def _applied(target: HintedOp, *arrays: Symbol, **params: object) -> Symbol:
    return apply_op(target.op, target.hint, arrays, params)


def _scalar(number: object) -> object:
    """A number as spelled in attributes; a bool as the integer it is."""
    return int(number) if isinstance(number, (bool, np.bool_)) else number


def combined(row: Binary, left: object, right: object) -> Symbol:
    """Apply a binary operation to two symbols, or a symbol and a number.

    Raises
    ------
    DTypeError
        If an operand is neither.
    """
    for operand in (left, right):
        if not isinstance(operand, (Symbol, *NUMBERS)):
            what = f"a Symbol cannot be combined with {type(operand).__name__}: type {type(operand)} not supported"
            arrays = "bind arrays to variables, and declare those of a block by self.params.get_constant"
            raise DTypeError(what, None, f"combine symbols with symbols or numbers; {arrays}")
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return _applied(row.symbols, left, right)
    if isinstance(left, Symbol):
        return _applied(row.number, left, scalar=_scalar(right))
    assert isinstance(right, Symbol)
    return _applied(row.reverse, right, scalar=_scalar(left))


#: The docstring of a function of two operands.
OF_TWO = """``{}`` of two symbols, a symbol and a number, or two numbers.

Parameters
----------
left, right
    The operands: symbols, or numbers. Two numbers give a number.
"""


def _function(name: str) -> Callable[[Any, Any], Any]:
    """The function of that name in ``FUNCTIONS``, for symbols and numbers in any order."""
    row = FUNCTIONS[name]

    @named(name, OF_TWO.format(name))
    def combine(left: object, right: object) -> object:
        if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
            return ON_NUMBERS[name](left, right)
        return combined(row, left, right)

    return combine


def _method(row: Binary, reverse: bool = False) -> Callable[[Symbol, object], Symbol]:
    if reverse:
        return lambda self, other: combined(row, other, self)
    return lambda self, other: combined(row, self, other)


maximum, minimum, hypot, _power = (_function(name) for name in FUNCTIONS)


def power(base: object, exp: object) -> object:
    """``power`` of two symbols, a symbol and a number, or two numbers.

    Parameters
    ----------
    base, exp
        Symbols or numbers.
    """
    return _power(base, exp)


def attach() -> None:
    """Attach the operators to `Symbol`."""
    for name, row in ARITHMETIC.items():
        setattr(Symbol, f"__{name}__", _method(row))
        setattr(Symbol, f"__r{name}__", _method(row, reverse=True))
    for name, formula in COMPARISON.items():
        setattr(Symbol, f"__{name}__", _method(_relation(formula)))
    attach_method(Symbol, "__neg__", lambda self: _applied(ARITHMETIC["mul"].number, self, scalar=-1.0))
    attach_method(Symbol, "__abs__", lambda self: _applied(HintedOp(absolute, absolute.title), self))


attach()
