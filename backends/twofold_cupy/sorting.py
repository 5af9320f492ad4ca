"""A stable sort of rows by merging: in each pass every element finds its place in the merge of its run with the neighbour.

NaN comes after all numbers, as in NumPy. All dtypes are alike, and nothing depends on how threads are scheduled.
"""

from functools import cache

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED

from .launch import filled, function, run
from .memory import Memory
from .operands import dtype_of


def sorted_places(memory: Memory, x: cupy.ndarray, *, descending: bool) -> cupy.ndarray:
    """The places (int64) of the elements of (rows, n) in order, each row by itself; equal elements stay in their order."""
    rows, n = x.shape
    places, other = (memory.empty((rows, n), np.dtype(np.int64)) for _ in range(2))
    source = text(dtype_of(x), descending=descending)
    number(places)
    width = 1
    while width < n:
        run(function(source, "tf_merge"), rows * n, np.int64(rows * n), np.int64(n), np.int64(width), x, places, other)
        places, other = other, places
        width *= 2
    return places


def number(out: cupy.ndarray) -> None:
    """Write 0, 1, 2 … along the last axis of int64 memory in row-major order."""
    run(function(text("int64", descending=False), "tf_number"), out.size, np.int64(out.size), np.int64(max(out.shape[-1], 1)), out)


@cache
def text(dtype: str, *, descending: bool) -> str:
    """The text of a pass over elements of a dtype."""
    read = "tf_float(x)" if dtype in ENCODED else "x"
    before = "a > b || (a != a && b == b)" if descending else "a < b || (b != b && a == a)"
    parts = {"KIND": C_TYPES[dtype], "STORED": STORED[dtype], "DECODED": read, "BEFORE": before}
    return filled(TEXT, parts)


TEXT = """
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
        while (low < high) {  // how many of the other run come before this one: of the left run the equal ones do
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
