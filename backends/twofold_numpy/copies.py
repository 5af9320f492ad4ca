"""Copies into the usual memory order: NumPy's, and a faster one for arrays that are transposed, such as images with channels first."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from twofold.backend import workers
from twofold.backend.workers import run_all

from .jit.availability import is_loaded
from .memory import POOL

#: Called with a contiguous result (outer, columns, rows) and its source, the sizes outer, rows and columns, and the source's distances
#: between arrays and between rows, in elements.
Transpose = Callable[[np.ndarray, np.ndarray, tuple[int, int, int, int, int]], None]
#: Functions from the adapter that return what transposes elements of a size in bytes in machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[int], Transpose | None]] = []
#: Bytes from which machine code pays; from which it is worth loading the compiler; and from which several threads copy.
LEAST, LOADING, SHARED = 1 << 17, 1 << 20, 1 << 21
#: Rows and columns of a tile, by the bytes of an element: a row of a tile is one or two cache lines.
TILES = {1: (8, 16), 2: (8, 16), 4: (8, 16), 8: (4, 8)}


def copy_into(out: np.ndarray, x: np.ndarray) -> None:
    """Copy ``x`` into ``out``, which is contiguous and has the same shape; helpers take part if ``x`` is large and otherwise laid out."""
    if x.flags.c_contiguous or out.nbytes < LEAST:
        np.copyto(out, x)
    elif out.nbytes < SHARED or len(out) == 1 or workers.count() == 1:
        _copy(out, x)
    else:
        half = len(out) // 2
        run_all([partial(_copy, out[:half], x[:half]), partial(_copy, out[half:], x[half:])])


def packed(x: np.ndarray, dtype: np.dtype[np.generic] | None = None) -> np.ndarray:
    """``np.ascontiguousarray``: the array itself if it is contiguous and of the dtype."""
    if x.nbytes < LEAST or x.flags.c_contiguous or (dtype is not None and dtype != x.dtype):
        return np.ascontiguousarray(x, dtype)
    out = POOL.empty(x.shape, x.dtype)
    copy_into(out, x)
    return out


def _copy(out: np.ndarray, x: np.ndarray) -> None:
    sizes = _transposed(x) if x.dtype == out.dtype and (is_loaded() or out.nbytes >= LOADING) else None
    run = None if sizes is None else next(filter(None, (make(x.itemsize) for make in IN_MACHINE_CODE)), None)
    if run is None or sizes is None:
        np.copyto(out, x)
    else:
        run(out, x, sizes)


def _transposed(x: np.ndarray) -> tuple[int, int, int, int, int] | None:
    """The numbers of `Transpose` for an array of which the last but one axis is the densest; None for any other."""
    item = x.itemsize
    rows, columns = TILES.get(item, (math.inf, math.inf))
    sizes, steps = [1], [0]
    for n, step in zip(x.shape, x.strides, strict=True):
        if n == 1:
            continue
        if len(sizes) > 1 and steps[-1] == n * step:  # two axes in a row are one
            sizes[-1] *= n
            steps[-1] = step
        else:
            sizes.append(n)
            steps.append(step)
    if len(sizes) not in (3, 4) or steps[-2] != item or sizes[-2] < columns or sizes[-1] < rows or x.dtype.hasobject:
        return None
    if not x.flags.aligned or any(step % item for step in steps):
        return None
    return sizes[-3], sizes[-1], sizes[-2], steps[-3] // item, steps[-1] // item
