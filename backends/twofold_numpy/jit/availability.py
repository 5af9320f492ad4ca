"""Whether kernels can be compiled; tested before any other module of this package is imported."""

import sys
from functools import cache
from importlib.util import find_spec

#: Elements that NumPy adds one by one, where machine code adds vectors, in about the time in which LLVM is loaded.
LOADED_FROM = 1 << 22
#: Those that it has added so far.
_added = [0.0]


@cache
def is_installed() -> bool:
    """Whether llvmlite is installed; it is not imported."""
    return find_spec("llvmlite") is not None


def is_loaded() -> bool:
    """Whether llvmlite has been imported, so that another kernel costs little."""
    return "llvmlite" in sys.modules


def is_worth_loading(elements: float) -> bool:
    """Whether llvmlite has been imported, or is to be, counting elements that NumPy would add one by one now."""
    if is_loaded():
        return True
    _added[0] += elements
    return _added[0] >= LOADED_FROM
