"""What kernels take: CuPy's arrays, and NumPy arrays all of whose elements are equal, which stand for that number.

Such constants belong to no device, need no memory there and reach a kernel by value.
"""

from typing import Any

import cupy
import numpy as np

from twofold.dtype import HALVES, NUMPY

Array = Any  # a cupy.ndarray, or a constant


def is_constant(x: Array) -> bool:
    """Whether an operand is a number in the shape of an array."""
    return type(x) is np.ndarray


def is_array(x: Any) -> bool:
    """Whether an operand is an array or a constant, no scalar of Python's or NumPy's."""
    return isinstance(x, (cupy.ndarray, np.ndarray))


def constant(value: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A number in a dtype as an operand of a shape."""
    return np.broadcast_to(np.asarray(value).astype(NUMPY[dtype]), shape)


def number_of(x: np.ndarray) -> Any:
    """The number that a constant stands for, as a NumPy scalar of its dtype."""
    return x[(0,) * x.ndim] if x.size else x.dtype.type(0)


def reshaped_constant(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same number in another shape."""
    return np.broadcast_to(number_of(x), shape)


def dtype_of(x: Any) -> str:
    """The dtype's name; ``weakf`` and ``weaki`` for Python scalars."""
    if isinstance(x, (cupy.ndarray, np.ndarray, np.generic)):
        return NAMES[x.dtype]
    return "bool" if isinstance(x, bool) else "weakf" if isinstance(x, float) else "weaki"


def computed_in(dtype: str) -> str:
    """The dtype in which kernels add up and join elements of a dtype: float32 for 16-bit floats."""
    return "float32" if dtype in HALVES else dtype


NAMES = {dtype: name for name, dtype in NUMPY.items()}
