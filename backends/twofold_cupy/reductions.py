"""Reductions of one block of axes, by a fixed tree: the threads of a row take every so many-th element, then halve.

An array is seen as (outer, n, inner) with n reduced. Long n are cut into parts that are reduced again. Rows (inner = 1) are added up
as `rows` does inside fused kernels, to the same bits. A search for an extremum's place reduces pairs of a value and its place.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED, literal
from twofold.dtype import FLOATS, NUMPY
from twofold.errors import ParameterError

from .launch import THREADS, Kernel, filled, function, grid_of
from .memory import Memory
from .operands import computed_in, dtype_of

#: Elements that one block reduces at most, unless there are as many rows: longer rows are cut. A search cuts shorter ones too.
PART, SEARCHED = 65_536, 4096
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
    if n <= PART or outer * inner >= PART:
        reduced_parts(op, x, outer, n, inner, n, out)
        return
    parts = -(-n // PART)
    between = memory.empty((outer, parts, inner), NUMPY[computed_in(dtype_of(out))])
    reduced_parts(op, x, outer, n, inner, PART, between)
    reduced(memory, op, between, outer, parts, inner, out)


def reduced_parts(op: str, x: cupy.ndarray, outer: int, n: int, inner: int, length: int, out: cupy.ndarray) -> None:
    """Reduce each part of so many elements of the middle axis to one, into memory of (outer, parts, inner)."""
    _launch(partial(_reducing, op, dtype_of(x), dtype_of(out)), x, outer, n, inner, length, out)


def _launch(kernel: Callable[[bool], Kernel], x: cupy.ndarray, outer: int, n: int, inner: int, length: int, out: cupy.ndarray) -> None:
    """Launch the kernel for rows or for columns; a block has all threads of some rows or columns of one part."""
    by_rows, results, parts = inner == 1, outer * inner, -(-n // length) if n else 1
    width = threads_of_row(length) if by_rows else THREADS // COLUMNS
    beside = THREADS // width
    if results:
        numbers = [np.int64(k) for k in (results, n, inner, length, parts)]
        block = (width, beside) if by_rows else (beside, width)
        kernel(by_rows)(grid_of(-(-results // beside) * parts), block, (x, out, *numbers))


def _reducing(op: str, source: str, target: str, by_rows: bool) -> Kernel:
    return function(text(op, source, target, rows=by_rows), f"tf_{op}_{'rows' if by_rows else 'columns'}")


@cache
def text(op: str, source: str, target: str, *, rows: bool) -> str:
    """The text of a reduction from one dtype to another."""
    dtype = "bool" if op in ("any", "all") else target
    kind, (join, start) = C_TYPES[dtype], reduction(op, dtype)
    element = "tf_float(in[at])" if source in ENCODED else "in[at]"
    element = f"({element} != 0)" if op in ("any", "all") else f"({kind}){element}"
    join = f"TF_FUNCTION {kind} tf_join({kind} a, {kind} b) {{ return {join}; }}"
    result = f"{ENCODED.get(target, '')}(part[first])"
    return _text(f"tf_{op}", join, (STORED[source], kind, STORED[target]), literal(start, dtype), element, result, rows=rows)


def _text(name: str, join: str, kinds: tuple[str, str, str], start: str, element: str, result: str, *, rows: bool) -> str:
    """The text of a kernel that reduces: in which types it reads, joins and writes, and which C texts are its own."""
    along, inner = ("x", "1") if rows else ("y", "inner")
    parts = dict(zip(("READ", "JOINED", "WRITTEN"), kinds, strict=True))
    parts |= {"NAME": f"{name}_{'rows' if rows else 'columns'}", "START": start, "ELEMENT": element, "RESULT": result}
    parts |= {"ALONG": along, "BESIDE": "y" if rows else "x", "INNER": inner, "COUNT": str(THREADS)}
    return filled(TREE + join + TEXT, parts)


TEXT = """

TF_KERNEL NAME(
    const READ *in, WRITTEN *out, const long long results, const long long n, const long long inner, const long long length,
    const long long parts) {
    __shared__ JOINED part[COUNT];
    const int lane = threadIdx.ALONG, width = blockDim.ALONG, first = threadIdx.BESIDE * width;
    const long long groups = (results + blockDim.BESIDE - 1) / blockDim.BESIDE;
    for (long long work = blockIdx.x; work < groups * parts; work += gridDim.x) {
        const long long cut = work / groups, own = work % groups * blockDim.BESIDE + threadIdx.BESIDE;
        const long long row = own / INNER, column = own % INNER, begin = cut * length;
        const long long end = begin + length < n ? begin + length : n;
        JOINED value = START;
        if (own < results)
            for (long long j = begin + lane; j < end; j += width) {
                const long long at = (row * n + j) * INNER + column;
                value = tf_join(value, ELEMENT);
            }
        TF_TREE(width, tf_join)
        if (own < results && lane == 0) out[(row * parts + cut) * INNER + column] = RESULT;
    }
}
"""


# places of extrema


def place_of_extremum(memory: Memory, op: str, x: cupy.ndarray, outer: int, n: int, inner: int, out: cupy.ndarray) -> None:
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
    search, among_found = partial(_searching, op, dtype_of(x)), False
    while n > SEARCHED and outer * inner < PART:
        parts = -(-n // SEARCHED)
        found = memory.empty((outer, parts, inner, 2), NUMPY["int64"])  # pairs: 16 bytes each
        _launch(partial(search, among_found, True), x, outer, n, inner, SEARCHED, found)
        x, n, among_found = found, parts, True
    _launch(partial(search, among_found, False), x, outer, n, inner, n, out)


def _searching(op: str, dtype: str, among_found: bool, finds: bool, by_rows: bool) -> Kernel:
    return function(extremum_text(op, dtype, among_found, finds, rows=by_rows), f"tf_{op}_{'rows' if by_rows else 'columns'}")


@cache
def extremum_text(op: str, dtype: str, among_found: bool, finds: bool, *, rows: bool) -> str:
    """The text of a search for an extremum's place, among elements or among pairs that were found; it writes pairs or places."""
    kind, read = C_TYPES[dtype], "tf_float(in[at])" if dtype in ENCODED else "in[at]"
    join = EXTREMUM.replace("KIND", kind).replace("IS_BEYOND", ">" if op == "argmax" else "<")
    kinds = "tf_found" if among_found else STORED[dtype], "tf_found", "tf_found" if finds else "long long"
    element = "in[at]" if among_found else f"tf_found{{{read}, j}}"
    start = f"tf_found{{({kind})0, -1}}"
    return _text(f"tf_{op}", join, kinds, start, element, "part[first]" if finds else "part[first].place", rows=rows)


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
