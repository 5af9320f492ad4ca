"""Python's operators on `NDArray`, as a table of primitives; the commonest are generated fast paths."""

from collections.abc import Callable
from typing import Any

from ..imperative.cell import PLAIN, Cell, Value, wrap
from ..imperative.cell import HOST
from ..imperative.fast import specialise
from ..imperative.invoke import invoke
from ..dtype import is_float
from ..imperative.write import update_in_place
from ..op.conventions import legacy_scalar
from ..op.registry import OPS
from .array import NDArray, NDArrayView

NUMBERS = (bool, int, float)
ARITHMETIC = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "mod": "remainder", "pow": "power"}
COMPARISON = {"gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal"}
FAST = {"add", "subtract", "multiply", "divide"}


def _general(name: str, reverse: bool) -> Callable[..., Any]:
    sig = OPS[name].sig(True)

    def method(self: NDArray, other: Any) -> Any:
        if not isinstance(other, (Cell, *NUMBERS)):
            other = _number(other)
            if other is None:
                return NotImplemented
        return wrap(NDArray, invoke(sig, (other, self) if reverse else (self, other))[0])

    return method


def _number(other: Any) -> Any:
    """NumPy scalars as Python numbers; None for what an NDArray does not combine with."""
    import numpy as np

    return other.item() if isinstance(other, np.generic) else None


def _in_place(name: str) -> Callable[..., Any]:
    sig = OPS[name].sig(True)
    fn, run, scalar = getattr(HOST.xp, name), HOST.quick, HOST.scalar
    safe = name in ("add", "subtract", "multiply")  # NumPy's own on integers too

    def method(self: NDArray, other: Any) -> Any:
        whole = self.__class__ is NDArray
        a = self._v if whole else None
        if a.__class__ is PLAIN and a.dtype.kind == "f":
            b = other._v if isinstance(other, NDArray) else scalar(other, a.dtype.name) if isinstance(other, NUMBERS) else None
            if b.__class__ is PLAIN and b.dtype is a.dtype:
                try:
                    run(fn, a, b, a)
                    return self
                except (RuntimeError, ValueError):
                    pass
        if not isinstance(other, (Cell, *NUMBERS)):
            other = _number(other)
            if other is None:
                return NotImplemented
        root, chain = (self, ()) if whole else (self._base, self._chain)  # type: ignore[attr-defined]
        if not ((safe or is_float(self._dtype)) and update_in_place(root, chain, fn, _own_scalar(self, other))):
            self._rebind(_checked(self, invoke(sig, (self, other))[0], name))
        return self

    return method


def _own_scalar(array: NDArray, other: Any) -> Any:
    return legacy_scalar(other, array._dtype) if isinstance(other, NUMBERS) else other


def _checked(target: NDArray, new: Any, name: str) -> Any:
    shape = new.type[0] if new.__class__ is Value else new.shape
    if shape != target.shape:
        from ..errors import ShapeError

        raise ShapeError(f"in-place {name}: the result has another shape", f"{shape} into {target.shape}", "write the result to a new array")
    return new


def attach() -> None:
    """Attach the operators to `NDArray`."""
    operand = (Cell, *NUMBERS)
    for dunder, name in ARITHMETIC.items():
        fast = name in FAST
        forward = specialise(name, NDArray, NDArrayView, operand, legacy=True, arity=2) if fast else _general(name, False)
        setattr(NDArray, f"__{dunder}__", _renamed(forward, f"__{dunder}__"))
        setattr(NDArray, f"__r{dunder}__", _renamed(_general(name, True), f"__r{dunder}__"))
        setattr(NDArray, f"__i{dunder}__", _renamed(_in_place(name), f"__i{dunder}__"))
    for dunder, name in COMPARISON.items():
        setattr(NDArray, f"__{dunder}__", _renamed(_general(name, False), f"__{dunder}__"))
    for dunder, name in {"neg": "negative", "abs": "absolute"}.items():
        setattr(NDArray, f"__{dunder}__", _renamed(specialise(name, NDArray, NDArrayView, operand, legacy=True, arity=1), f"__{dunder}__"))
    for name in ("exp", "log", "tanh", "sqrt", "square"):
        setattr(NDArray, name, specialise(name, NDArray, NDArrayView, operand, legacy=True, arity=1))


def _renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = name
    function.__qualname__ = f"NDArray.{name}"
    return function


attach()
