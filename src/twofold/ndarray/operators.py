"""Python's operators on `NDArray`: a table of primitives, with generated fast paths for the most common ones."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..assembly import attach_method
from ..calls.arithmetic import comparison, in_place_by_legacy
from ..calls.specialise import method_of, specialise
from ..dtype import NUMPY, is_float
from ..errors import DTypeError, ShapeError
from ..imperative.array import adopted
from ..imperative.cell import HOST, Cell
from ..imperative.concurrent_writes import writes_in_place
from ..imperative.guards import is_owned
from ..imperative.invoke import type_of
from ..imperative.storage import applied, dense_array
from ..imperative.write import update_in_place
from ..opdef import NAMES, OPS, BoundOp, Op
from ..opdef.conventions import legacy_scalar
from .array import NDArray

NUMBERS = (bool, int, float)
NUMPYS = (np.ndarray, np.generic)


class _OperandType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Cell) and not (isinstance(value, NDArray) and not value._legacy)


class _Operand(metaclass=_OperandType):
    """Matches the arrays that `NDArray`'s operators accept: not arrays of MXNet's NumPy, though these are subclasses."""


OPERAND = (*NUMBERS, _Operand)
#: Python's operators, by the names of their special methods.
_PYTHON = {op.python: op for op in OPS.values() if op.python}
ARITHMETIC = {name: op for name, op in _PYTHON.items() if len(op.inputs) == 2 and not op.algebra.compares}
COMPARISON = {name: op for name, op in _PYTHON.items() if op.algebra.compares}
UNARY = {name: op for name, op in _PYTHON.items() if len(op.inputs) == 1}


def _sig(op: Op) -> BoundOp:
    """The operation of a Python operator: the primitive, or MXNet's operator where its arithmetic differs."""
    return (NAMES[op.symbolic.symbol[0]] if op.front.legacy_differs and op.symbolic.symbol else op).bind(True)


def _general(op: Op, reverse: bool) -> Callable[..., Any]:
    bound_op = _sig(op)

    def method(self: NDArray, other: object) -> NDArray:
        if isinstance(other, NUMPYS):
            self, other = operands((self, other))
        elif not isinstance(other, OPERAND):
            return NotImplemented
        pair = (other, self) if reverse else (self, other)
        return applied(bound_op, pair)

    return method


def operands(values: Sequence[Any]) -> list[Any]:
    """The operands of an operation with at least one `NDArray`: NumPy arrays are converted to `NDArray`, NumPy scalars to Python's.

    A NumPy array is cast to the `NDArray`'s dtype if that is of the same kind or a higher one, as Python scalars are. Otherwise all
    operands are cast to the dtype that NumPy promotes to.
    """
    own = next(v for v in values if isinstance(v, NDArray))
    target = NUMPY[own._dtype]
    for v in values:
        # float64 beside float32 is of the same kind and is cast down; a float beside integers is not, and widens all
        if isinstance(v, np.ndarray) and not np.can_cast(v.dtype, target, "same_kind"):
            target = np.promote_types(target, v.dtype)
    out: list[Any] = []
    for v in values:
        if isinstance(v, NDArray):
            out.append(v if v._dtype == own._dtype and target == NUMPY[own._dtype] else v.astype(target, copy=False))
        elif isinstance(v, np.ndarray):
            out.append(adopted(NDArray, v.astype(target, order="C"), own.context))
        else:
            out.append(v.item() if isinstance(v, np.generic) else v)
    return out


def _binary(op: Op, reverse: bool) -> Callable[..., Any]:
    if not op.front.short_path:
        return _general(op, reverse)
    return specialise(op, NDArray, OPERAND, legacy=True, arity=2, reverse=reverse, bound_op=_sig(op))


def _comparison(op: Op) -> Callable[..., Any]:
    name, compare = op.name, _general(op, False)

    def general(self: NDArray, other: object) -> NDArray:
        result = compare(self, other)
        if result is NotImplemented:  # Python would fall back to comparing identities and hide the mistake
            raise DTypeError(f"{name}: type {type(other)} not supported", repr(other)[:60], "compare with an array or a number")
        return result

    return method_of(comparison, op, (NDArray, None), {"fn": getattr(HOST.xp, name), "general": general})


def _in_place(op: Op) -> Callable[..., Any]:
    name, bound_op, own = op.name, _sig(op), not op.front.legacy_differs
    fn, everywhere = getattr(HOST.xp, name), op.front.wraps

    def general(self: NDArray, other: object) -> NDArray:
        if isinstance(other, NUMPYS):
            other = _cast(self, other, name)
        elif not isinstance(other, OPERAND):
            return NotImplemented
        root, chain = (self, ()) if self._held is not None else (self._base, self._chain)
        # NumPy's function may write to the memory if its result is MXNet's; otherwise a new content takes the place of the old one
        fits = own and (everywhere or is_float(self._dtype))
        # the check of shape and dtype comes before the write, so that a failed operator leaves the array as it was
        if not (fits and update_in_place(root, chain, fn, _own_scalar(self, other))):
            self._rebind(_check_result(self, dense_array(applied(bound_op, (self, other)))._content, name))
        return self

    names = {"fn": fn, "general": general, "owned": is_owned}
    return writes_in_place(method_of(in_place_by_legacy, op, (NDArray, None), names)) if own else general


def _own_scalar(array: NDArray, other: Any) -> Any:
    """A Python number as MXNet converts it for an operation with the array."""
    return legacy_scalar(other, array._dtype) if isinstance(other, NUMBERS) else other


def _cast(target: NDArray, other: Any, name: str) -> Any:
    """A NumPy operand of an in-place operator, cast to the array's dtype if that is of the same kind or a higher one."""
    if isinstance(other, np.generic):
        return other.item()
    dtype = NUMPY[target._dtype]
    if not np.can_cast(other.dtype, dtype, "same_kind"):
        raise DTypeError(f"in-place {name}: the operand's dtype cannot be cast", f"{other.dtype} into {dtype}", "cast it with astype")
    return adopted(NDArray, other.astype(dtype, order="C"), target.context)


def _check_result(target: NDArray, new: Any, name: str) -> Any:
    shape, dtype = type_of(new)
    if shape != target.shape:
        raise ShapeError(f"in-place {name}: the result's shape differs", f"{shape} into {target.shape}", "assign the result to a new array")
    if dtype != target._dtype:
        raise DTypeError(
            f"in-place {name}: the result's dtype differs", f"{dtype} into {target._dtype}", "assign the result to a new array"
        )
    return new


def _divmod(self: NDArray, other: NDArray | float) -> tuple[NDArray, NDArray]:
    return self // other, self % other


@cache
def _unary(op: Op) -> Callable[[Any], Any]:
    return specialise(op, NDArray, OPERAND, legacy=True, arity=1)


def _minus(op: Op) -> Callable[[Any], Any]:
    bound_op = op.bind(True)

    def general(self: NDArray) -> NDArray:
        # MXNet's operator multiplies by -1, which makes integers of bools; its function `negative` refuses them
        return self * -1 if self._dtype == "bool" else applied(bound_op, (self,))

    return specialise(op, NDArray, OPERAND, legacy=True, arity=1, general=general)


def with_fast_path(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The function of an operator, with a fast path if the operator is a unary ufunc without parameters."""
    # other functions have the short path of generated functions (`Fast`), which takes a few more frames than this one
    if not (op.primitive and op.ufunc is not None and op.result == "ufunc" and len(op.inputs) == 1 and not op.params):
        return general
    quick = _unary(op)

    def function(data: Any = None, out: Any = None, name: Any = None, **other: Any) -> Any:
        if out is None and not other and isinstance(data, NDArray) and data._legacy:
            return quick(data)
        return general(data, out, name, **other)

    function.__name__, function.__qualname__ = general.__name__, general.__qualname__
    function.__doc__, function.__module__ = general.__doc__, general.__module__
    return function


def attach() -> None:
    """Attach the operators to `NDArray`."""
    for dunder, op in ARITHMETIC.items():
        for spelled, reverse in ((f"__{dunder}__", False), (f"__r{dunder}__", True)):
            attach_method(NDArray, spelled, _binary(op, reverse))
        if op.elementwise and dunder != "pow":  # as in MXNet, a **= b gives a new array
            attach_method(NDArray, f"__i{dunder}__", _in_place(op))
    for dunder, op in COMPARISON.items():
        attach_method(NDArray, f"__{dunder}__", _comparison(op))
    for dunder, op in UNARY.items():
        attach_method(NDArray, f"__{dunder}__", _minus(op) if dunder == "neg" else _unary(op))
    attach_method(NDArray, "__divmod__", _divmod)
    NDArray.__pos__ = NDArray.copy  # type: ignore[attr-defined]


attach()
