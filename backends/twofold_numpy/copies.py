"""Copies into another memory order: NumPy's, and a faster one for arrays that are transposed, such as images with channels first."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from twofold.backend import workers
from twofold.backend.workers import run_all

from .jit.availability import is_worth_loading
from .memory import POOL

#: Called with a result (outer, columns, rows) and its source, the sizes outer, rows and columns, the source's distances between arrays and
#: between rows, and the result's between arrays and between columns, in elements.
Transpose = Callable[[np.ndarray, np.ndarray, tuple[int, ...]], None]
#: Functions from the adapter that return what transposes elements of a size in bytes in machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[int], Transpose | None]] = []
#: Bytes from which machine code pays, and from which several threads copy.
LEAST, SHARED = 1 << 17, 1 << 21
#: The work to copy an element, see `is_worth_loading`.
COPIED = 1 / 16
#: Rows and columns of a tile, by the bytes of an element: a row of a tile is one or two cache lines.
TILES = {1: (8, 16), 2: (8, 16), 4: (8, 16), 8: (4, 8)}


def copy_into(out: np.ndarray, x: np.ndarray) -> None:
    """Copy ``x`` into ``out``, which is contiguous and has the same shape; helpers take part if ``x`` is large and otherwise laid out."""
    if x.flags.c_contiguous or out.nbytes < SHARED or len(out) == 1 or workers.count() == 1:
        copy_alone(out, x)
    else:
        half = len(out) // 2
        run_all([partial(copy_alone, out[:half], x[:half]), partial(copy_alone, out[half:], x[half:])])


def packed(x: np.ndarray, dtype: np.dtype[np.generic] | None = None) -> np.ndarray:
    """``np.ascontiguousarray``: the array itself if it is contiguous and of the dtype."""
    if x.nbytes < LEAST or x.flags.c_contiguous or (dtype is not None and dtype != x.dtype):
        return np.ascontiguousarray(x, dtype)
    out = POOL.empty(x.shape, x.dtype)
    copy_into(out, x)
    return out


def copy_alone(out: np.ndarray, x: np.ndarray) -> None:
    """Copy ``x`` into ``out``, which has the same shape and any memory order, in this thread."""
    is_plain = x.flags.c_contiguous or out.nbytes < LEAST or x.dtype != out.dtype
    sizes = None if is_plain else _transposed(out, x)
    is_code = sizes is not None and is_worth_loading(COPIED * out.size)
    run = next(filter(None, (make(x.itemsize) for make in IN_MACHINE_CODE)), None) if is_code else None
    if run is None or sizes is None:
        np.copyto(out, x)
    else:
        run(out, x, sizes)


def _transposed(out: np.ndarray, x: np.ndarray) -> tuple[int, ...] | None:
    """The numbers of `Transpose` where the last axis is the densest of the result, and the last but one that of the source; else None."""
    item = x.itemsize
    rows, columns = TILES.get(item, (math.inf, math.inf))
    sizes, steps = [1], [(0, 0)]
    for n, step, to in zip(x.shape, x.strides, out.strides, strict=True):
        if n == 1:
            continue
        if len(sizes) > 1 and steps[-1] == (n * step, n * to):  # two axes in a row are one
            sizes[-1] *= n
            steps[-1] = step, to
        else:
            sizes.append(n)
            steps.append((step, to))
    if len(sizes) not in (3, 4) or steps[-2][0] != item or steps[-1][1] != item or sizes[-2] < columns or sizes[-1] < rows:
        return None
    if x.dtype.hasobject or not x.flags.aligned or not out.flags.aligned or any(step % item for pair in steps for step in pair):
        return None
    (outer, to_outer), (_, to_column), (row, _) = [(step // item, to // item) for step, to in steps[-3:]]
    return sizes[-3], sizes[-1], sizes[-2], outer, row, to_outer, to_column
