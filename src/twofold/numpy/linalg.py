"""``twofold.np.linalg``: norms and products as operators, with gradients; everything else by NumPy on the host."""

import math
from typing import Any

import numpy as np

from ..dtype import is_float
from .array import ndarray
from .creation import operand
from .fallback import attribute, by_numpy
from .linear import outer, tensordot, vecdot
from .reductions import max, min, sum
from .shapes import matrix_transpose
from .ufuncs import function_of

__all__ = [*np.linalg.__all__]

matmul = function_of("matmul")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Norm of vectors or matrices.

    Parameters
    ----------
    x
        The array.
    ord
        Which norm, as in ``numpy.linalg.norm``: 2 for vectors and Frobenius' for matrices if None.
    axis
        The axis of vectors, or two axes of matrices; None: all of the array.
    keepdims
        Keep the axes, with size 1.

    Notes
    -----
    Norms of vectors and Frobenius' norm have gradients, others (by singular values) have not.
    """
    a = operand(x)
    whole = tuple(range(a.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if a._dtype.startswith("complex") or not (ord is None or (len(whole) == 1 and isinstance(ord, (int, float))) or ord == "fro"):
        return by_numpy(np.linalg.norm, (a,), {"ord": ord, "axis": axis, "keepdims": keepdims})
    a = a if is_float(a._dtype) else a.astype(np.float64)
    return _vector_norm(a, 2 if ord in (None, "fro") else ord, whole, keepdims)


def _vector_norm(a: ndarray, ord: float, axis: tuple[int, ...], keepdims: bool) -> ndarray:
    """The norm of the vectors along axes."""
    if ord == 2:
        return function_of("sqrt")(sum(function_of("square")(a), axis, keepdims=keepdims))
    size = function_of("absolute")(a)
    if math.isinf(ord):
        return (max if ord > 0 else min)(size, axis, keepdims=keepdims)
    if ord == 0:
        return sum((size != 0).astype(a.dtype), axis, keepdims=keepdims)
    return size_sum(size, ord, axis, keepdims)


def size_sum(size: ndarray, ord: float, axis: tuple[int, ...], keepdims: bool) -> ndarray:
    """``(Σ size**ord) ** (1 / ord)`` along axes."""
    if ord == 1:
        return sum(size, axis, keepdims=keepdims)
    return sum(size**ord, axis, keepdims=keepdims) ** (1 / ord)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> ndarray:
    """Norm of vectors along an axis, of the flattened array if it is None, by the array API's name."""
    a = operand(x)
    result = norm(a.reshape(-1) if axis is None else a, ord, None if axis is None else axis)
    return result if not keepdims else result.reshape([1] * a.ndim) if axis is None else norm(a, ord, axis, True)


def __getattr__(name: str) -> Any:
    return attribute(np.linalg, name)


_ = outer, tensordot, vecdot, matrix_transpose
