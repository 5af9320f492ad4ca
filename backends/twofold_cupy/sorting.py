"""A stable merge sort of rows: in each pass every element finds its position in the merge of its run with the neighboring run.

NaN sorts last, as in NumPy. All dtypes are treated alike, and the result does not depend on the scheduling of threads.
"""

from functools import cache

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED

from .launch import filled, function, run
from .memory import Memory
from .operands import dtype_of


def argsort_rows(memory: Memory, x: cupy.ndarray, *, descending: bool) -> cupy.ndarray:
    """The indices (int64) that stably sort each row of (rows, n)."""
    rows, n = x.shape
    places, other = (memory.empty((rows, n), np.dtype(np.int64)) for _ in range(2))
    source = kernel_source(dtype_of(x), descending=descending)
    write_iota(places)
    # runs of one element are sorted; each pass merges pairs of runs
    width = 1
    while width < n:
        run(function(source, "tf_merge"), rows * n, np.int64(rows * n), np.int64(n), np.int64(width), x, places, other)
        places, other = other, places
        width *= 2
    return places


def write_iota(out: cupy.ndarray) -> None:
    """Write 0, 1, 2 … along the last axis of a contiguous int64 array."""
    run(function(kernel_source("int64", descending=False), "tf_number"), out.size, np.int64(out.size), np.int64(max(out.shape[-1], 1)), out)


@cache
def kernel_source(dtype: str, *, descending: bool) -> str:
    """The source of a pass over elements of a dtype."""
    read = "tf_float(x)" if dtype in ENCODED else "x"
    # in descending order NaN comes first: the order is the reverse of the ascending one
    before = "a > b || (a != a && b == b)" if descending else "a < b || (b != b && a == a)"
    parts = {"KIND": C_TYPES[dtype], "STORED": STORED[dtype], "DECODED": read, "BEFORE": before}
    return filled(parts, "sort")
