"""The functions that opt_einsum calls: NumPy's, except that products are computed by `products`."""

import math
from collections.abc import Sequence

import numpy as np

from .products import is_small, multiply

einsum, transpose = np.einsum, np.transpose


def tensordot(a: np.ndarray, b: np.ndarray, axes: tuple[Sequence[int], Sequence[int]]) -> np.ndarray:
    """``np.tensordot``: the sum of products over pairs of axes, as a product of matrices."""
    summed, also = ([k % x.ndim for k in given] for x, given in zip((a, b), axes, strict=True))
    rows, columns = [k for k in range(a.ndim) if k not in summed], [k for k in range(b.ndim) if k not in also]
    shape = [*[a.shape[k] for k in rows], *[b.shape[k] for k in columns]]
    inner = math.prod(a.shape[k] for k in summed)
    first = a.transpose([*rows, *summed]).reshape(math.prod(a.shape[k] for k in rows), inner)
    second = b.transpose([*also, *columns]).reshape(inner, math.prod(b.shape[k] for k in columns))
    if a.dtype != b.dtype or is_small(first.shape, second.shape):
        return np.dot(first, second).reshape(shape)
    return multiply(first, second).reshape(shape)
