"""Python's operators of `FoldingArray`, and NumPy's protocols for functions."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..opdef.frontend import attach_method
from . import error_state
from .array import NDARRAY, FoldingArray
from .calls import Given, method_now, now, ufunc_now
from .pending import IN_PLACE, NUMBERS, OPTIONS, in_place, operation
from .sites import Site, site

BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide, "mod": np.remainder,
    "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
    "rshift": np.right_shift, "matmul": np.matmul, "divmod": np.divmod,
}  # fmt: skip
COMPARED = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}
UNARY = {"neg": np.negative, "abs": np.absolute, "invert": np.invert, "pos": np.positive}
#: What NumPy computes for an array to the power of a number.
POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


def applied(ufunc: np.ufunc, operands: tuple[Any, ...], where: Site) -> Any:
    """A ufunc of operands: pending where it may be, else at once."""
    found = operation(ufunc, operands, where)
    if not isinstance(found, str):
        return found
    where.count(found)
    return ufunc_now(ufunc, operands, {}, where)


def _is_operand(value: Any) -> bool:
    t = type(value)
    return t is FoldingArray or t in NUMBERS or t is NDARRAY or issubclass(t, np.generic) or t is complex


def _by_numpy(x: FoldingArray, y: Any, dunder: str) -> Any:
    """An operator with an operand that NumPy, or the operand's own class, has to judge."""
    given = Given(False)
    found = getattr(NDARRAY, dunder)(given.plain(x), y)
    return found if found is NotImplemented else given.folded(found, site())


def _binary(ufunc: np.ufunc, dunder: str, reverse: bool) -> Callable[..., Any]:
    def method(self: FoldingArray, other: Any) -> Any:
        if _is_operand(other):
            return applied(ufunc, (other, self) if reverse else (self, other), site())
        return _by_numpy(self, other, dunder)

    return method


def _power(self: FoldingArray, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        return NotImplemented
    if type(other) in (int, float):
        special = POWERS.get(other)
        kind = self.dtype.kind
        if special is not None and (kind == "f" or (kind in "iu" and special is np.square and type(other) is int)):
            return applied(special, (self,), site())
    if _is_operand(other):
        # not the ufunc: the operator has special cases of its own
        given = Given(True)
        return given.folded(operator.pow(given.plain(self), given.plain(other)), site())
    return _by_numpy(self, other, "__pow__")


def _unary(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self: FoldingArray) -> Any:
        return applied(ufunc, (self,), site())

    return method


def _in_place(ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    numpys = getattr(operator, f"__i{name}__")

    def method(self: FoldingArray, other: Any) -> Any:
        where = site()
        if in_place(ufunc, self, other, where):
            return self
        where.count(IN_PLACE)
        target = self.shown()
        error_state.call(numpys, (target, Given(_is_operand(other)).plain(other)), {}, where)
        return self

    return method


def _array_ufunc(self: FoldingArray, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    where = site()
    if method != "__call__":
        return method_now(ufunc, method, inputs, options, where)
    if not options:
        return applied(ufunc, inputs, where)
    where.count(OPTIONS)
    return ufunc_now(ufunc, inputs, options, where)


def _array_function(self: FoldingArray, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    where = site()
    if not options and len(args) == 3 and (function is np.where or function is np.clip):
        found = operation(function, args, where)
        if not isinstance(found, str):
            return found
        where.count(found)
    return now(function, args, options, where)


def attach() -> None:
    """Attach the operators to `FoldingArray`."""
    for name, ufunc in BINARY.items():
        attach_method(FoldingArray, f"__{name}__", _binary(ufunc, f"__{name}__", False))
        attach_method(FoldingArray, f"__r{name}__", _binary(ufunc, f"__r{name}__", True))
        if name != "divmod":
            attach_method(FoldingArray, f"__i{name}__", _in_place(ufunc, name))
    attach_method(FoldingArray, "__pow__", _power)
    for name, ufunc in COMPARED.items():
        attach_method(FoldingArray, f"__{name}__", _binary(ufunc, f"__{name}__", False))
    for name, ufunc in UNARY.items():
        attach_method(FoldingArray, f"__{name}__", _unary(ufunc))
    attach_method(FoldingArray, "__array_ufunc__", _array_ufunc)
    attach_method(FoldingArray, "__array_function__", _array_function)


attach()
