"""Operands of Python's operators that are no arrays of ``twofold.np``: which count as arrays, and what NumPy makes of the others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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


def with_object(numpys: Callable[..., object], values: tuple[Any, ...], reverse: bool) -> Any:
    """The result of an operator whose second operand is no array: that of the operand's own method, or NumPy's, element by element."""
    if isinstance(values[1], Sequence):  # Python repeats and joins text, and says what else it cannot do
        return NotImplemented
    if getattr(values[1].__class__, "__array_ufunc__", True) is None:  # NumPy's arrays leave operators to the class, too
        return NotImplemented
    own = None if reverse else _own_method(values[1].__class__, f"__r{numpys.__name__.rstrip('_')}__")
    found = NotImplemented if own is None else own(values[1], values[0])
    return by_numpy(numpys, values[::-1] if reverse else values, {}) if found is NotImplemented else found
