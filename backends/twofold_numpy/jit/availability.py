"""Whether kernels can be compiled; tested before any other module of this package is imported."""

import sys
from functools import cache
from importlib.util import find_spec


@cache
def is_installed() -> bool:
    """Whether llvmlite is installed; it is not imported."""
    return find_spec("llvmlite") is not None


def is_loaded() -> bool:
    """Whether llvmlite has been imported, so that another kernel costs little."""
    return "llvmlite" in sys.modules
