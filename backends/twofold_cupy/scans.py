"""Running sums and products of rows: a group of threads walks along a row, scanning a segment at a time and carrying the prefix on.

Long rows are cut into parts. The prefix of each part comes from a scan of the parts' totals, which recurses. The order of additions
depends on a row's length alone.
"""

from functools import cache

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED
from twofold.dtype import NUMPY

from .launch import THREADS, filled, function, grid_of
from .memory import Memory
from .operands import computed_in, dtype_of
from .reductions import reduce_parts

#: Elements that one thread block scans; longer rows are split.
PART = 4096


def scan(memory: Memory, op: str, x: cupy.ndarray, out: cupy.ndarray) -> None:
    """The running ``sum`` or ``prod`` along the rows of (rows, n)."""
    rows, n = x.shape
    if rows * n == 0:
        return
    parts, before = -(-n // PART), np.uint64(0)  # a null pointer: a single part has no prefix
    if parts > 1:
        before = memory.empty((rows, parts), NUMPY[computed_in(dtype_of(out))])
        reduce_parts(op, x, rows, n, 1, PART, before)
        scan(memory, op, before, before)
    # a power of two, as the tree within a segment needs
    width = min(1 << (n - 1).bit_length(), THREADS)
    beside = THREADS // width
    numbers = [np.int64(k) for k in (rows, n, parts, PART)]
    kernel = function(kernel_source(op, dtype_of(x), dtype_of(out)), f"tf_running_{op}")
    kernel(grid_of(-(-rows // beside) * parts), (width, beside), (*numbers, x, before, out))


@cache
def kernel_source(op: str, source: str, target: str) -> str:
    """The source of a scan from one dtype to another."""
    parts = {
        "NAME": f"tf_running_{op}",
        "KIND": C_TYPES[target],
        "SOURCE": STORED[source],
        "TARGET": STORED[target],
        "JOIN": "a * b" if op == "prod" else "a + b",
        "START": "1" if op == "prod" else "0",
        "READ": "tf_float(in[at])" if source in ENCODED else "in[at]",
        "ENCODED": ENCODED.get(target, ""),
        "COUNT": str(THREADS),
    }
    return filled(parts, "scan")
