"""The generic adapter: arrays of any library that follows the array-API standard."""

from .adapter import ArrayApiBackend
from .adapter import ArrayApiBackend as Backend

__all__ = ["ArrayApiBackend", "Backend"]
