"""The names of ``mx.np``: functions of the dialect, constants, and what MXNet takes from NumPy; looked up on first use."""

import sys
from typing import Any

from .array_functions import FUNCTIONS
from .front import Front
from .host_names import CONSTANTS, FALLBACKS, of_numpy

__all__ = ["array", "attribute_names", "find_attribute"]

PACKAGE = __name__.rpartition(".")[0]
#: What the functions are written over is not part of the namespace.
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
    found = vars(sys.modules[PACKAGE])[name] = getattr(FUNCTIONS, name) if is_function else of_numpy(name)
    return found


def attribute_names() -> list[str]:
    """The names that `find_attribute` knows."""
    return [*CONSTANTS, *FALLBACKS, *(n for n in dir(FUNCTIONS) if not n.startswith("_") and n not in _OWN)]


array = FUNCTIONS.array
