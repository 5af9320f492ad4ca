"""Matrices to be multiplied, and the ways in which they may lie in memory."""

import numpy as np


def operands(batch, m, k, n, dtype="float32", seed=0):
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=(batch, m, k)), draw.normal(size=(batch, k, n))
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * draw.normal(size=a.shape), b - 1j * draw.normal(size=b.shape)
    a, b = a.astype(dtype), b.astype(dtype)
    return (a[0], b[0]) if batch == 1 else (a, b)


def layouts(x):
    """A matrix, or a stack of them, in several memory layouts."""
    wide = np.repeat(x, 2, -1)[..., ::2]  # every second element: BLAS cannot read it in place
    padded = np.concatenate([x, x], -1)[..., : x.shape[-1]]
    return [x, np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2), padded, wide, x[::-1].copy()[::-1]]
