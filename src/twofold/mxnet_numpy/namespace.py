"""The names of ``mx.np``: functions of the dialect, constants, and names that MXNet takes from NumPy; looked up on first use."""

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from .array_functions import FUNCTIONS, ArrayFunctions
from .front import FRONTS, Front, Unsupported
from .host_names import CONSTANTS, FALLBACKS, of_numpy

PACKAGE = __name__.rpartition(".")[0]
#: Names of the front that the functions are written over; they are not part of the namespace.
_OWN = frozenset(n for n in dir(Front) if not n.startswith("_")) | {"combined"}


def find_attribute(name: str) -> Any:
    """The attribute of a name.

    Raises
    ------
    OperatorError
        If MXNet has no such name (an `AttributeError`).
    """
    if name in CONSTANTS:
        return CONSTANTS[name]
    is_function = not name.startswith("_") and name not in _OWN and hasattr(FUNCTIONS, name)
    found = _function(name) if is_function else of_numpy(name)
    if isinstance(found, FunctionType) and (is_function or found.__module__.startswith(PACKAGE)):
        found.__module__, found.__qualname__ = PACKAGE, name  # pickles look for it there
    vars(sys.modules[PACKAGE])[name] = found
    return found


def _function(name: str) -> Callable[..., Any]:
    """A function of the dialect. If it needs values or shapes and is called with a symbol, the function for symbols is called instead."""
    function = getattr(FUNCTIONS, name)
    if name not in vars(ArrayFunctions):
        return function

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for a in args:
            if a.__class__ in FRONTS:
                return _of_symbols(FRONTS[a.__class__], name, args[0])(*args, **options)
        return function(*args, **options)

    return call


def _of_symbols(front: Front, name: str, given: Any) -> Callable[..., Any]:
    if not hasattr(front, name):
        raise Unsupported(f"{name}: symbols do not have this function", repr(given)[:60], "call it with arrays, without hybridizing")
    return getattr(front, name)


def attribute_names() -> list[str]:
    """The names that `find_attribute` knows."""
    return [*CONSTANTS, *FALLBACKS, *(n for n in dir(FUNCTIONS) if not n.startswith("_") and n not in _OWN)]


array = FUNCTIONS.array
