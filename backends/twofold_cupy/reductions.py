"""Reductions of one block of axes, by a fixed tree: the threads of a row take every so many-th element, then halve.

An array is seen as (outer, n, inner) with n reduced. Long n are cut into parts that are reduced again. Rows (inner = 1) are added up
as `rows` does inside fused kernels, to the same bits.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED, header, literal
from twofold.dtype import FLOATS, NUMPY
from twofold.errors import ParameterError

from .launch import THREADS, function
from .memory import Memory
from .operands import dtype_of

#: Elements that one block reduces at most: longer rows are cut.
PART = 65_536
#: Elements that a thread takes before a row gets more threads.
EACH = 4
#: Threads side by side over columns.
COLUMNS = 32


class Reduction(NamedTuple):
    """How elements are joined, as C texts of ``a`` and ``b``; the start is a number that changes nothing."""

    join: str
    start: Any


def _lowest(dtype: str) -> Any:
    return -math.inf if dtype in FLOATS else dtype != "bool" and int(np.iinfo(dtype).min)


def _highest(dtype: str) -> Any:
    return math.inf if dtype in FLOATS else dtype == "bool" or int(np.iinfo(dtype).max)


def reduction(op: str, dtype: str) -> Reduction:
    """How an operation joins elements that are computed with in a dtype."""
    return {
        "sum": Reduction("a + b", 0),
        "prod": Reduction("a * b", 1),
        "max": Reduction("tf_max(a, b)", _lowest(dtype)),
        "min": Reduction("tf_min(a, b)", _highest(dtype)),
        "any": Reduction("a || b", False),
        "all": Reduction("a && b", True),
    }[op]


def wide(op: str, dtype: str) -> str:
    """The dtype of a reduction's result."""
    if op in ("any", "all"):
        return "bool"
    if op in ("sum", "prod") and dtype not in FLOATS:
        return "uint64" if dtype.startswith("uint") else "int64"
    return dtype


def threads_of_row(n: int) -> int:
    """How many threads reduce a row: a power of two that depends on nothing but its length."""
    wanted = max(1, min(-(-n // EACH), THREADS))
    return 1 << (wanted - 1).bit_length()


#: A tree over the threads of a row: they lie side by side in `part`, the first of them at `first`.
TREE = """
#define TF_TREE(width, join) \\
    __syncthreads(); \\
    part[first + lane] = value; \\
    for (int half = width / 2; half; half /= 2) { \\
        __syncthreads(); \\
        if (lane < half) part[first + lane] = join(part[first + lane], part[first + lane + half]); \\
    } \\
    __syncthreads();
"""


def reduced(memory: Memory, op: str, x: cupy.ndarray, outer: int, n: int, inner: int, out: cupy.ndarray) -> None:
    """Reduce the middle of three axes of an array in row-major order into memory of outer * inner elements.

    Raises
    ------
    ParameterError
        If there is no element and the operation has no value for none.
    """
    if n == 0 and op in ("max", "min") and outer * inner:
        raise ParameterError(f"{op}: an empty axis has no extremum", f"shape {x.shape}", "reduce an axis that has elements")
    parts = -(-n // PART)
    if parts <= 1 or outer * inner >= PART:
        _launch(op, x, outer, n, inner, 1, out)
        return
    acc = dtype_of(out) if C_TYPES[dtype_of(out)] != "float" else "float32"
    between = memory.empty((outer, parts, inner), NUMPY[acc])
    _launch(op, x, outer, n, inner, parts, between)
    reduced(memory, op, between, outer, parts, inner, out)


def _launch(op: str, x: cupy.ndarray, outer: int, n: int, inner: int, parts: int, out: cupy.ndarray) -> None:
    if outer * inner == 0:
        return
    length = n if parts == 1 else PART
    source, target = dtype_of(x), dtype_of(out)
    arguments = (x, out, np.int64(outer), np.int64(n), np.int64(inner), np.int64(length))
    if inner == 1:
        width = threads_of_row(length)
        rows = THREADS // width
        grid = (-(-outer // rows), parts)
        function(text(op, source, target, rows=True), f"tf_{op}_rows")(grid, (width, rows), arguments)
        return
    blocks = outer * -(-inner // COLUMNS)
    function(text(op, source, target, rows=False), f"tf_{op}_columns")((blocks, parts), (COLUMNS, THREADS // COLUMNS), arguments)


@cache
def text(op: str, source: str, target: str, *, rows: bool) -> str:
    """The text of a reduction from one dtype to another."""
    dtype = "bool" if op in ("any", "all") else target
    kind, (join, start) = C_TYPES[dtype], reduction(op, dtype)
    element = "tf_float(in[at])" if source in ENCODED else "in[at]"
    element = f"({element} != 0)" if op in ("any", "all") else f"({kind}){element}"
    body = ROWS if rows else COLUMNS_TEXT
    parameters = f"const {STORED[source]} *in, {STORED[target]} *out, long long outer, long long n, long long inner, long long length"
    lines = [
        header("c_prelude.h"),
        TREE,
        f"TF_FUNCTION {kind} tf_join({kind} a, {kind} b) {{ return {join}; }}",
        f"TF_KERNEL tf_{op}_{'rows' if rows else 'columns'}({parameters}) {{",
        f"    __shared__ {kind} part[{THREADS}];",
        f"    {kind} value = {literal(start, dtype)};",
        body.replace("ELEMENT", element).replace("RESULT", f"{ENCODED.get(target, '')}(part[first])"),
        "}",
    ]
    return "\n".join(lines)


ROWS = """
    const int lane = threadIdx.x, width = blockDim.x, first = threadIdx.y * width;
    const long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y, begin = blockIdx.y * length;
    const long long end = begin + length < n ? begin + length : n;
    if (row < outer)
        for (long long j = begin + lane; j < end; j += width) {
            const long long at = row * n + j;
            value = tf_join(value, ELEMENT);
        }
    TF_TREE(width, tf_join)
    if (row < outer && lane == 0) out[row * gridDim.y + blockIdx.y] = RESULT;
"""
COLUMNS_TEXT = """
    const long long across = (inner + blockDim.x - 1) / blockDim.x, row = blockIdx.x / across;
    const long long column = blockIdx.x % across * blockDim.x + threadIdx.x, begin = blockIdx.y * length;
    const long long end = begin + length < n ? begin + length : n;
    const int lane = threadIdx.y, first = threadIdx.x * blockDim.y;
    if (column < inner)
        for (long long j = begin + lane; j < end; j += blockDim.y) {
            const long long at = (row * n + j) * inner + column;
            value = tf_join(value, ELEMENT);
        }
    TF_TREE(blockDim.y, tf_join)
    if (column < inner && lane == 0) out[(row * gridDim.y + blockIdx.y) * inner + column] = RESULT;
"""


# places of extrema


def place_of_extremum(op: str, x: cupy.ndarray, outer: int, n: int, inner: int, out: cupy.ndarray) -> None:
    """The first place (int64) of the largest or smallest element along the middle of three axes; NaN counts as both.

    Raises
    ------
    ParameterError
        If the axis is empty.
    """
    if outer * inner == 0:
        return
    if n == 0:
        raise ParameterError(f"{op}: an empty axis has no extremum", f"shape {x.shape}", "search an axis that has elements")
    name = f"tf_{op}"
    grid = (min(outer * inner, 2**31 - 1),)
    function(extremum_text(op, dtype_of(x)), name)(grid, (threads_of_row(n),), (x, out, np.int64(outer), np.int64(n), np.int64(inner)))


@cache
def extremum_text(op: str, dtype: str) -> str:
    """The text of a search for an extremum's place."""
    kind = C_TYPES[dtype]
    read = "tf_float(in[place])" if dtype in ENCODED else "in[place]"
    parameters = f"const {STORED[dtype]} *in, long long *out, long long outer, long long n, long long inner"
    lines = [
        header("c_prelude.h"),
        TREE,
        EXTREMUM.replace("KIND", kind).replace("IS_BEYOND", ">" if op == "argmax" else "<"),
        f"TF_KERNEL tf_{op}({parameters}) {{",
        EXTREMUM_BODY.replace("KIND", kind).replace("READ", read).replace("COUNT", str(THREADS)),
        "}",
    ]
    return "\n".join(lines)


EXTREMUM = """
struct tf_found { KIND value; long long place; };  // no place: -1
TF_FUNCTION tf_found tf_join(tf_found a, tf_found b) {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    const bool lost = a.value != a.value, lost_too = b.value != b.value;
    if (lost != lost_too) return lost ? a : b;
    if (!lost && a.value != b.value) return b.value IS_BEYOND a.value ? b : a;
    return a.place < b.place ? a : b;
}
"""
EXTREMUM_BODY = """
    __shared__ tf_found part[COUNT];
    const int lane = threadIdx.x, width = blockDim.x, first = 0;
    for (long long row = blockIdx.x; row < outer * inner; row += gridDim.x) {
        tf_found value = {(KIND)0, -1};
        for (long long j = lane; j < n; j += width) {
            const long long place = (row / inner * n + j) * inner + row % inner;
            value = tf_join(value, tf_found{READ, j});
        }
        TF_TREE(width, tf_join)
        if (lane == 0) out[row] = part[0].place;
    }
"""
