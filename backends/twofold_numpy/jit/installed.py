"""Whether kernels can be compiled at all: asked before anything of this package is loaded."""

from functools import cache
from importlib.util import find_spec


@cache
def is_installed() -> bool:
    """Whether llvmlite is there; it is not imported."""
    return find_spec("llvmlite") is not None
