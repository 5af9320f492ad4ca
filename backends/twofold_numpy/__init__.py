"""The NumPy adapter: arrays on the CPU."""

from .adapter import NumpyBackend
from .adapter import NumpyBackend as Backend

__all__ = ["Backend", "NumpyBackend"]
