"""Additions at the places that an index names, several to one place if it names it more than once: NumPy's ``add.at``, and faster rows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .jit.availability import is_worth_loading

#: Called with an array (outer, size, inner), values (outer, n, inner) and an index (n,), all contiguous; whether all rows exist, otherwise
#: it has added nothing.
AddRows = Callable[[np.ndarray, np.ndarray, np.ndarray], bool]
#: Functions from the adapter that return what adds rows of a dtype in machine code, or None if kernels are not compiled.
IN_MACHINE_CODE: list[Callable[[np.dtype[np.generic]], AddRows | None]] = []
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_ALL = slice(None)


def add_at(out: np.ndarray, key: tuple[Any, ...], value: np.ndarray) -> None:
    """Add a value to the places ``out[key]``, one element after the other, so that the bits do not depend on the way."""
    if not _add_rows(out, key, value):
        np.add.at(out, key, value)


def is_worth_machine_code(dtype: np.dtype[np.generic], elements: float) -> bool:
    """Whether machine code adds rows of a dtype, and the compiler is loaded or worth it for so many elements."""
    return dtype in DTYPES and is_worth_loading(elements)


def _add_rows(out: np.ndarray, key: tuple[Any, ...], value: np.ndarray) -> bool:
    """Add rows along one axis in machine code; False if these are not such rows, or one of them does not exist."""
    axes = [axis for axis, part in enumerate(key) if not (type(part) is slice and part == _ALL)]
    if len(axes) != 1 or value.dtype != out.dtype or not is_worth_machine_code(out.dtype, value.size):
        return False
    [axis], index = axes, key[axes[0]]
    outer, size, inner = math.prod(out.shape[:axis]), out.shape[axis], math.prod(out.shape[axis + 1 :])
    # of single elements NumPy's own loop is as fast
    if out.ndim == 1 or index.ndim == 0 or index.dtype.kind not in "iu":
        return False
    if value.shape != (*out.shape[:axis], *index.shape, *out.shape[axis + 1 :]):
        return False
    if not out.flags.c_contiguous or np.may_share_memory(out, value):
        return False
    add = next(filter(None, (make(out.dtype) for make in IN_MACHINE_CODE)), None)
    if add is None:
        return False
    rows = np.ascontiguousarray(value).reshape(outer, index.size, inner)
    return add(out.reshape(outer, size, inner), rows, np.ascontiguousarray(index, np.int64).reshape(-1))
