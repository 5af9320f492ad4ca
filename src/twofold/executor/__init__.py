"""Executors: typed graphs bound to arrays and devices, run forward and backward."""

from .executor import Executor

__all__ = ["Executor"]
