"""Whether kernels can be compiled; tested before any other module of this package is imported."""

import sys
from functools import cache
from importlib.util import find_spec

#: The work from which LLVM is loaded, in elements that NumPy adds one by one: by then machine code would have spared as much time as it
#: takes to load.
LOADED_FROM = 1 << 22
#: The work so far.
_done = [0.0]


@cache
def is_installed() -> bool:
    """Whether llvmlite is installed; it is not imported."""
    return find_spec("llvmlite") is not None


def is_loaded() -> bool:
    """Whether llvmlite has been imported, so that another kernel costs little."""
    return "llvmlite" in sys.modules


def is_worth_loading(work: float) -> bool:
    """Whether llvmlite has been imported, or is to be; counts the work that NumPy would do now."""
    if is_loaded():
        return True
    _done[0] += work
    return _done[0] >= LOADED_FROM
