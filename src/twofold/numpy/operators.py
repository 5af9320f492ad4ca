"""Python's operators on ``ndarray``, and the short functions of primitives that they and the functions of that name share.

Small arrays in memory take NumPy's own path in one frame (`imperative.fast`), warnings and errors included. Everything else goes
through `general`: operands of other classes, numbers that do not fit, recording, large arrays, other devices.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..dtype import INTEGERS, NAME_OF, NUMPY, WEAK, promote, ufunc_result
from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.array import Array
from ..imperative.cell import HOST, PLAIN, Cell, wrap
from ..imperative.fast import specialise
from ..imperative.invoke import invoke, type_of
from ..imperative.write import look, update_in_place, write
from ..ndarray.operators import ARITHMETIC, COMPARISON, UNARY
from ..op.registry import OPS
from ..op.spec import Op
from .array import ndarray, ndarrayView
from .creation import array, operand

NUMBERS = (bool, int, float)
COMPARISONS = frozenset(COMPARISON.values())


def element_operand(value: Any, like: ndarray | None) -> Any:
    """An operand of an element-wise operation: an array, or a Python number that takes the arrays' dtype.

    Parameters
    ----------
    value
        Anything array-like.
    like
        An array among the operands, on whose device new ones are made; None if there is none.

    Raises
    ------
    DTypeError
        If it is an array of ``mx.nd``, or nothing that NumPy could compute with here.
    """
    if isinstance(value, ndarray) or (like is not None and value.__class__ in NUMBERS):
        return value
    if isinstance(value, Array):
        raise DTypeError("an operand is an array of mx.nd among those of np", repr(value)[:60], "use as_np_ndarray() or as_nd_ndarray()")
    if like is not None and isinstance(value, NUMBERS) and not isinstance(value, np.generic):
        return float(value) if isinstance(value, float) else int(value)  # a number of a class of its own
    if isinstance(value, complex) and like is not None and like._dtype in ("float16", "float32", "complex64"):
        value = np.complex64(value)
    return operand(value, None if like is None else like.context)


def element_operands(values: tuple[Any, ...], compares: bool = False) -> list[Any]:
    """Operands of one operation; whole numbers out of the dtype's range are compared exactly, and are an error otherwise.

    Raises
    ------
    OverflowError
        If a Python integer does not fit the dtype that it would be combined in.
    """
    for v in values:
        if v.__class__ is not ndarray:
            break
    else:
        return list(values)
    like = next((v for v in values if isinstance(v, ndarray)), None)
    out = [element_operand(v, like) for v in values]
    for k, v in enumerate(out):
        if v.__class__ is int:
            dtype = promote(*[a._dtype for a in out if isinstance(a, ndarray)])
            if dtype in INTEGERS and not np.iinfo(dtype).min <= v <= np.iinfo(dtype).max:
                if not compares:
                    raise OverflowError(f"Python integer {v} out of bounds for {dtype}")
                out[k] = operand(v, None if like is None else like.context)
    return out


def applied(op: Op, *values: Any) -> ndarray:
    """An element-wise primitive on anything array-like.

    Raises
    ------
    ParameterError
        For a negative power of whole numbers.
    """
    if op.name == "power" and values[1].__class__ is int and values[1] < 0 and operand(values[0])._dtype in INTEGERS:
        raise ParameterError("Integers to negative integer powers are not allowed.", str(values[1]), "cast the base with astype")
    return wrap(ndarray, invoke(op.sig(), element_operands(values, op.name in COMPARISONS))[0])


@cache
def short(name: str, reverse: bool = False) -> Callable[..., Any]:
    """The function of an element-wise primitive (or of ``matmul``) of one or two operands, of which the first is an `ndarray`.

    It returns NotImplemented if the second is nothing array-like, so that Python asks its class.
    """
    op = OPS[name]
    arity = len(op.inputs)

    def general(*values: Any) -> Any:
        if not all(map(is_array_like, values)):
            return NotImplemented
        return applied(op, *(reversed(values) if reverse else values))

    quick = specialise(name, ndarray, ndarrayView, (ndarray,), legacy=False, arity=arity, reverse=reverse, general=general)
    if op.ufunc is not None:
        return quick

    def of_arrays(self: ndarray, other: Any) -> Any:
        return quick(self, other) if isinstance(other, ndarray) else general(self, other)

    return of_arrays


def is_array_like(value: Any) -> bool:
    """Whether operators take a value as an operand."""
    return isinstance(value, (Cell, *NUMBERS, complex, np.ndarray, np.generic, list, tuple))


def _compared(dunder: str, name: str) -> Callable[..., Any]:
    """The comparison's method: with what is no array, as with None, nothing is equal."""
    run, compare = short(name), getattr(operator, dunder)

    def method(self: ndarray, other: Any) -> Any:
        if (is_array_like(other) and not isinstance(other, np.ndarray)) or (isinstance(other, np.ndarray) and other.dtype in NAME_OF):
            return run(self, other)
        found = compare(self.asnumpy(), other)
        return array(found, device=self.context) if isinstance(found, (np.ndarray, np.generic)) else found

    return method


def in_place(name: str) -> Callable[..., Any]:
    """The method of an in-place operator."""
    op = OPS[name]
    fn, is_ufunc = getattr(HOST.xp, name), op.ufunc is not None

    def method(self: ndarray, other: Any) -> Any:
        whole = self.__class__ is ndarray
        a: Any = self._v if whole else self._base._v
        if is_ufunc and a.__class__ is PLAIN and (a.ndim or not whole):
            b = other._v if isinstance(other, ndarray) else other
            kind = b.__class__
            if kind is PLAIN or kind is float or kind is int:
                target = a if whole else look(HOST, a, self._chain)
                fn(target, b, target)
                return self
        if whole and not self.shape and getattr(self, "_g", None) is None:
            return NotImplemented  # what NumPy has a scalar for: the result is a new one
        if not is_array_like(other):
            return NotImplemented
        _update(op, fn if is_ufunc else None, self, *element_operands((self, other))[1:])
        return self

    return method


def _update(op: Op, fn: Any, target: ndarray, other: Any) -> None:
    """``target = op(target, other)`` in the target's memory, cast to its dtype within its kind.

    Raises
    ------
    DTypeError
        If the result's dtype is of a higher kind.
    ShapeError
        If the result has another shape.
    """
    dtype = target._dtype
    weak = "weakf" if isinstance(other, float) else "bool" if isinstance(other, bool) else "weaki"
    given = other._dtype if isinstance(other, ndarray) else weak
    result = ufunc_result(op.ufunc, dtype, given) if op.ufunc is not None else promote(dtype, given)
    if not np.can_cast(NUMPY[result], NUMPY[dtype], "same_kind"):
        what = f"Cannot cast ufunc '{op.name}' output from {NUMPY[result]} to {NUMPY[dtype]} with casting rule 'same_kind'"
        raise DTypeError(what, None, "write the result to a new array")
    root, chain = (target, ()) if target.__class__ is ndarray else (target._base, target._chain)
    alike = result == dtype and (given == dtype or given in WEAK)
    if fn is not None and alike and update_in_place(root, chain, fn, other):
        return
    new = invoke(op.sig(), (target, other))[0]
    shape = type_of(new)[0]
    if shape != target.shape:
        raise ShapeError(f"in-place {op.name}: the result has another shape", f"{shape} into {target.shape}", "write it to a new array")
    if result != dtype:
        new = invoke(OPS["astype"].sig(dtype=dtype), (wrap(ndarray, new),))[0]
    if chain:
        write(root, chain, None, wrap(ndarray, new))
    else:
        target._rebind(new)


def _divmod(self: ndarray, other: Any) -> Any:
    return (self // other, self % other) if is_array_like(other) else NotImplemented


def _rdivmod(self: ndarray, other: Any) -> Any:
    return (other // self, other % self) if is_array_like(other) else NotImplemented


def attach() -> None:
    """Attach the operators to `ndarray`."""
    for dunder, name in ARITHMETIC.items():
        _attach(f"__{dunder}__", short(name))
        _attach(f"__r{dunder}__", short(name, True))
        _attach(f"__i{dunder}__", in_place(name))
    for dunder, name in COMPARISON.items():
        _attach(f"__{dunder}__", _compared(dunder, name))
    for dunder, name in UNARY.items():
        _attach(f"__{dunder}__", short(name))
    _attach("__divmod__", _divmod)
    _attach("__rdivmod__", _rdivmod)
    _attach("__pos__", lambda self: self.copy())


def _attach(name: str, function: Callable[..., Any]) -> None:
    function.__name__, function.__qualname__ = name, f"ndarray.{name}"
    setattr(ndarray, name, function)


attach()
