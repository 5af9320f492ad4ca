"""Kernel operands: CuPy arrays, and constants, which are NumPy arrays with stride 0 and a single value.

A constant belongs to no device, takes no device memory, and is passed to kernels by value.
"""

import cupy
import numpy as np

from twofold.backend.kernel import Array
from twofold.dtype import HALVES, NUMPY, scalar_dtype


def is_constant(x: Array) -> bool:
    """Whether an operand is a constant."""
    return type(x) is np.ndarray


def is_array(x: Array) -> bool:
    """Whether an operand is an array or a constant rather than a Python or NumPy scalar."""
    return isinstance(x, (cupy.ndarray, np.ndarray))


def constant(value: complex | np.generic, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A constant of a shape and dtype."""
    number = np.asarray(value).astype(NUMPY[dtype])
    return np.broadcast_to(number, shape) if shape else number


def scalar_of(x: np.ndarray) -> np.generic:
    """The value of a constant, as a NumPy scalar of its dtype."""
    # an empty constant has no element to ask for, and no kernel will read it
    return x[(0,) * x.ndim] if x.size else x.dtype.type(0)


def reshaped_constant(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same constant in another shape."""
    return np.broadcast_to(scalar_of(x), shape)


def dtype_of(x: Array) -> str:
    """The dtype's name; ``weakf`` and ``weaki`` for Python scalars."""
    return NAMES[x.dtype] if isinstance(x, (cupy.ndarray, np.ndarray, np.generic)) else scalar_dtype(x)


def computed_in(dtype: str) -> str:
    """The dtype in which kernels accumulate elements of a dtype: float32 for 16-bit floats."""
    return "float32" if dtype in HALVES else dtype


NAMES = {dtype: name for name, dtype in NUMPY.items()}
