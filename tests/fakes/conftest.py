"""The simulation's own tests use the CuPy adapter's devices."""

from tests.cupy.conftest import gpus

__all__ = ["gpus"]
