"""Python's operators on symbols, and ``maximum``, ``minimum``, ``hypot``, ``power``: tables of what they stand for."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import DTypeError
from ..opdef.registry import find
from .compose import apply_op
from .symbol import Symbol

NUMBERS = (int, float, np.generic)


class Target(NamedTuple):
    """A registered operator, and what its nodes' automatic names start with."""

    op: str
    hint: str


class Binary(NamedTuple):
    """What a binary operation is on two symbols, on a symbol and a number, on a number and a symbol."""

    symbols: Target
    number: Target
    reverse: Target


def _row(symbols: str, hint: str, number: str, reverse: str | None = None) -> Binary:
    """A row whose scalar operators name their nodes without the last underscore, as MXNet's do."""
    right = Target(number, number.replace("_scalar", "scalar"))
    return Binary(Target(symbols, hint), right, right if reverse is None else Target(reverse, reverse.replace("_scalar", "scalar")))


ARITHMETIC = {
    "add": _row("elemwise_add", "_plus", "_plus_scalar"),
    "sub": _row("elemwise_sub", "_minus", "_minus_scalar", "_rminus_scalar"),
    "mul": _row("elemwise_mul", "_mul", "_mul_scalar"),
    "truediv": _row("elemwise_div", "_div", "_div_scalar", "_rdiv_scalar"),
    "mod": _row("_mod", "_mod", "_mod_scalar", "_rmod_scalar"),
    "pow": _row("_power", "_power", "_power_scalar", "_rpower_scalar")._replace(reverse=Target("_rpower_scalar", "_rpower_scalar")),
}
COMPARISON = {"eq": "_equal", "ne": "_not_equal", "gt": "_greater", "ge": "_greater_equal", "lt": "_lesser", "le": "_lesser_equal"}
FUNCTIONS = {
    "maximum": _row("_maximum", "_maximum", "_maximum_scalar"),
    "minimum": _row("_minimum", "_minimum", "_minimum_scalar"),
    "hypot": _row("_hypot", "_hypot", "_hypot_scalar"),
    "power": _row("_power", "_power", "_power_scalar", "_rpower_scalar"),
}
ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {"maximum": max, "minimum": min, "hypot": math.hypot, "power": pow}


def _applied(target: Target, *arrays: Symbol, **params: Any) -> Symbol:
    return apply_op(find(target.op), target.hint, arrays, params)


def _scalar(number: Any) -> Any:
    """A number as it is spelt in attributes; a bool as the integer it is."""
    return int(number) if isinstance(number, (bool, np.bool_)) else number


def combined(row: Binary, left: Any, right: Any) -> Symbol:
    """A binary operation on two symbols, or a symbol and a number.

    Raises
    ------
    DTypeError
        If an operand is neither.
    """
    for operand in (left, right):
        if not isinstance(operand, (Symbol, *NUMBERS)):
            raise DTypeError(f"type {type(operand)} not supported", f"{left!r} and {right!r}", "combine symbols with symbols or numbers")
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return _applied(row.symbols, left, right)
    if isinstance(left, Symbol):
        return _applied(row.number, left, scalar=_scalar(right))
    return _applied(row.reverse, right, scalar=_scalar(left))


def _function(name: str) -> Callable[[Any, Any], Any]:
    """The function of that name in ``FUNCTIONS``, for symbols and numbers in any order."""
    row = FUNCTIONS[name]

    def combine(left: Any, right: Any) -> Any:
        if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
            return ON_NUMBERS[name](left, right)
        return combined(row, left, right)

    combine.__name__ = combine.__qualname__ = name
    combine.__doc__ = f"``{name}`` of two symbols, a symbol and a number, or two numbers."
    return combine


def _method(row: Binary, reverse: bool = False) -> Callable[[Symbol, Any], Symbol]:
    if reverse:
        return lambda self, other: combined(row, other, self)
    return lambda self, other: combined(row, self, other)


maximum, minimum, hypot, power = (_function(name) for name in FUNCTIONS)


def attach() -> None:
    """Attach the operators to `Symbol`."""
    for name, row in ARITHMETIC.items():
        setattr(Symbol, f"__{name}__", _method(row))
        setattr(Symbol, f"__r{name}__", _method(row, reverse=True))
    for name, op in COMPARISON.items():
        scalar = Target(f"{op}_scalar", f"{op}_scalar")
        setattr(Symbol, f"__{name}__", _method(Binary(Target(op, op), scalar, scalar)))
    Symbol.__neg__ = lambda self: _applied(ARITHMETIC["mul"].number, self, scalar=-1.0)  # type: ignore[attr-defined]
    Symbol.__abs__ = lambda self: _applied(Target("abs", "abs"), self)  # type: ignore[attr-defined]
    Symbol.__hash__ = None  # type: ignore[assignment]


attach()
