"""Sums over axes before the last one: NumPy calls a loop for each run of elements beside each other, which is slow if they are few."""

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from twofold.backend.strides import Sizes
from twofold.config import ON_CHANGE

from .scatter import is_worth_machine_code

#: Called with an array (outer, n, inner) and memory for the sums (outer, inner), contiguous.
SumColumns = Callable[[np.ndarray, np.ndarray], object]
#: Functions from the adapter that return what sums elements of a dtype in machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[np.dtype[np.generic]], SumColumns | None]] = []
#: Elements of an array, and of a run, from which and up to which machine code is faster than NumPy.
LEAST, LONGEST = 1 << 10, 1 << 11


def positions(axis: int | Sizes, ndim: int) -> list[int]:
    """Axes counted from the front. One out of range stays so: NumPy refuses it, where a remainder would be another axis."""
    return [k + ndim if k < 0 else k for k in (axis if isinstance(axis, tuple) else (axis,))]


@lru_cache(512)
def split(shape: Sizes, axis: int | Sizes | None) -> Sizes | None:
    """The sizes before, of, and behind axes that are summed, if they are beside each other and machine code is faster than NumPy."""
    if axis is None or math.prod(shape) < LEAST:
        return None
    axes = sorted(positions(axis, len(shape)))
    if not axes or axes[0] < 0 or axes[-1] >= len(shape):
        return None
    first, end = axes[0], axes[-1] + 1
    inner = math.prod(shape[end:])
    if end - first != len(axes) or not 1 < inner <= LONGEST:
        return None
    return math.prod(shape[:first]), math.prod(shape[first:end]), inner


def column_sums(a: np.ndarray, sizes: Sizes, axis: int | Sizes, keepdims: bool, out: np.ndarray | None) -> np.ndarray | None:
    """The sums of a contiguous array over axes, in the order in which NumPy adds; None without machine code for it.

    ``sizes`` is what `split` returns for its shape and these axes.
    """
    outer, _, inner = sizes
    # beginning a run is as much work as adding an element elsewhere
    run = _code(a.dtype) if is_worth_machine_code(a.dtype, a.size / inner) else None
    if run is None:
        return None
    total = np.empty((outer, inner), a.dtype)
    run(a.reshape(sizes), total)
    if out is not None:
        out[...] = total.reshape(out.shape)
        return out
    axes = positions(axis, a.ndim)
    return total.reshape([1 if k in axes else n for k, n in enumerate(a.shape) if keepdims or k not in axes])


@cache
def _code(dtype: np.dtype[np.generic]) -> SumColumns | None:
    return next(filter(None, (make(dtype) for make in IN_MACHINE_CODE)), None)


ON_CHANGE.append(_code.cache_clear)  # the setting ``jit``
