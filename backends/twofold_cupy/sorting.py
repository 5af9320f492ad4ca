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
    before = "a > b || (a != a && b == b)" if descending else "a < b || (b != b && a == a)"
    parts = {"KIND": C_TYPES[dtype], "STORED": STORED[dtype], "DECODED": read, "BEFORE": before}
    return filled(TEMPLATE, parts)


TEMPLATE = """
TF_FUNCTION bool tf_before(KIND a, KIND b) { return BEFORE; }
TF_FUNCTION KIND tf_key(STORED x) { return DECODED; }

TF_KERNEL tf_number(const long long count, const long long n, long long *out) {
    TF_EACH(long long, i, count) out[i] = i % n;
}

TF_KERNEL tf_merge(
    const long long count, const long long n, const long long width, const STORED *keys, const long long *in, long long *out) {
    TF_EACH(long long, i, count) {
        const long long row = i / n * n, place = i % n, start = place / (2 * width) * (2 * width);
        const long long middle = start + width < n ? start + width : n, end = middle + width < n ? middle + width : n;
        const bool is_left = place < middle;
        const KIND key = tf_key(keys[row + in[i]]);
        long long low = is_left ? middle : start, high = is_left ? end : middle;
        const long long begin = low;
        while (low < high) {  // binary search: elements of the other run before this one; equal ones of the left run come first
            const long long half = low + (high - low) / 2;
            const KIND other = tf_key(keys[row + in[row + half]]);
            const bool first = is_left ? tf_before(other, key) : !tf_before(key, other);
            if (first) low = half + 1; else high = half;
        }
        const long long own = is_left ? place - start : place - middle;
        out[row + start + own + low - begin] = in[i];
    }
}
"""
