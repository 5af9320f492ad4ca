"""Running sums and products of rows: a block of threads goes along a row, a piece at a time, and carries the total on."""

from functools import cache

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED

from .launch import THREADS, filled, function
from .operands import dtype_of


def scan(op: str, x: cupy.ndarray, out: cupy.ndarray) -> None:
    """The running ``sum`` or ``prod`` along the rows of (rows, n)."""
    rows, n = x.shape
    if rows * n:
        kernel = function(text(op, dtype_of(x), dtype_of(out)), f"tf_running_{op}")
        kernel((min(rows, 2**31 - 1),), (THREADS,), (np.int64(rows), np.int64(n), x, out))


@cache
def text(op: str, source: str, target: str) -> str:
    """The text of a scan from one dtype to another."""
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
    return filled(TEXT, parts)


TEXT = """
TF_FUNCTION KIND tf_join(KIND a, KIND b) { return JOIN; }

TF_KERNEL NAME(const long long rows, const long long n, const SOURCE *in, TARGET *out) {
    __shared__ KIND part[2][COUNT];
    const int lane = threadIdx.x;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        KIND carried = START;
        for (long long begin = 0; begin < n; begin += COUNT) {
            const long long at = row * n + begin + lane;
            const bool live = begin + lane < n;
            int now = 0;
            part[now][lane] = live ? (KIND)READ : (KIND)START;
            __syncthreads();
            for (int step = 1; step < COUNT; step *= 2) {
                part[1 - now][lane] = lane < step ? part[now][lane] : tf_join(part[now][lane - step], part[now][lane]);
                now = 1 - now;
                __syncthreads();
            }
            if (live) out[at] = ENCODED(tf_join(carried, part[now][lane]));
            carried = tf_join(carried, part[now][COUNT - 1]);
            __syncthreads();
        }
    }
}
"""
