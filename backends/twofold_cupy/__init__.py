"""The CuPy adapter: arrays on NVIDIA GPUs."""

from .adapter import CupyBackend
from .adapter import CupyBackend as Backend

__all__ = ["Backend", "CupyBackend"]
