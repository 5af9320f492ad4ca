"""Whether kernels can be compiled; asked before any other module of this package is imported."""

from functools import cache
from importlib.util import find_spec


@cache
def is_installed() -> bool:
    """Whether llvmlite is installed; it is not imported."""
    return find_spec("llvmlite") is not None
