"""Operands of Python's operators that are no arrays of ``twofold.np``: which count as arrays, and what NumPy makes of the others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..calls.host_calls import is_recorded
from ..imperative.cell import Cell
from .fallback import by_numpy

NUMBERS = (bool, int, float)


def is_array_like(value: object) -> bool:
    """Whether operators accept a value as an operand."""
    return isinstance(value, (Cell, *NUMBERS, complex, np.ndarray, np.generic, list, tuple, range)) or _becomes_array(value.__class__)


def _becomes_array(cls: type) -> bool:
    """Whether NumPy's operators convert objects of a class, and do not leave the operation to it."""
    return hasattr(cls, "__array__") and not hasattr(cls, "__array_ufunc__") and getattr(cls, "__array_priority__", 0) <= 0


def _own_method(cls: type, name: str) -> Any:
    """What operators call on objects of a class; not what they call on the class itself, as ``getattr`` would find in its class."""
    return getattr(cls, name) if any(name in vars(base) for base in cls.__mro__) else None


def _is_left_to(other: object) -> bool:
    """Whether an operator is left to an operand."""
    # Python repeats and joins text, and says what else it cannot do; NumPy's arrays leave operators to classes that say so, too
    return isinstance(other, Sequence) or getattr(other.__class__, "__array_ufunc__", True) is None


def object_in_place(numpys: Callable[..., object], x: Any, other: object) -> Any:
    """``x += other`` of an operand that is no array: what NumPy writes into the array, or its error."""
    if _is_left_to(other) or is_recorded((x,)):
        return NotImplemented
    memory = x.asnumpy()
    found = numpys(memory, other)
    if found is not memory:  # the operand has made something else of it, which takes the variable's place
        return found
    x[...] = memory
    return x


def with_object(numpys: Callable[..., object], values: tuple[Any, ...], reverse: bool) -> Any:
    """The result of an operator whose second operand is no array: that of the operand's own method, or NumPy's, element by element."""
    if _is_left_to(values[1]):
        return NotImplemented
    own = None if reverse else _own_method(values[1].__class__, f"__r{numpys.__name__.rstrip('_')}__")
    found = NotImplemented if own is None else own(values[1], values[0])
    return by_numpy(numpys, values[::-1] if reverse else values, {}) if found is NotImplemented else found
