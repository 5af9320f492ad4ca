"""The generic adapter: arrays of any library that keeps the array-API standard."""

from .adapter import ArrayApiBackend

__all__ = ["ArrayApiBackend"]
