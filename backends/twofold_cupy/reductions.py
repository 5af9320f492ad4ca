"""Reductions over axes by a fixed tree: each thread of a row combines a strided subset; partial results are combined pairwise.

An array is viewed as (outer, n, inner) with n reduced; a long n is cut into parts, whose results are reduced again. Axes that are apart are
reduced one run of adjacent ones after the other (`runs_of`). The order depends on the shape alone, so results are reproducible, and rows
(inner = 1) are summed to the same bits as inside the fused kernels of `rows`. argmax and argmin reduce pairs of a value and its index.
"""

import math
from collections.abc import Callable, Sequence
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

#: Longer rows are cut into parts of this length, unless there are this many results; the second length is that of argmax and argmin, the
#: third that of columns, whose elements are so far apart that many thread blocks must read at once.
PART, SEARCH_PART, COLUMN_PART = 65_536, 4096, 256
#: A row gets one thread for every eight elements.
ITEMS_PER_THREAD = 8
#: Threads that run together.
WARP = 32
#: Threads of a block along the inner axis, so that a warp reads adjacent columns.
COLUMNS = 32


class Reduction(NamedTuple):
    """A binary operation as a C expression of ``a`` and ``b``, and its identity."""

    join: str
    identity: Any


def _lowest(dtype: str) -> Any:
    return -math.inf if dtype in FLOATS else dtype != "bool" and int(np.iinfo(dtype).min)


def _highest(dtype: str) -> Any:
    return math.inf if dtype in FLOATS else dtype == "bool" or int(np.iinfo(dtype).max)


def reduction(op: str, dtype: str) -> Reduction:
    """The operation of a reduction over elements of a dtype."""
    return {
        "sum": Reduction("a + b", 0),
        "prod": Reduction("a * b", 1),
        "max": Reduction("tf_max(a, b)", _lowest(dtype)),
        "min": Reduction("tf_min(a, b)", _highest(dtype)),
        "any": Reduction("a || b", False),
        "all": Reduction("a && b", True),
    }[op]


def result_dtype(op: str, dtype: str) -> str:
    """The dtype of a reduction's result: NumPy's, i.e. 64 bits for sums and products of integers."""
    if op in ("any", "all"):
        return "bool"
    if op in ("sum", "prod") and dtype not in FLOATS:
        return "uint64" if dtype.startswith("uint") else "int64"
    return dtype


def reduced_axes(shape: tuple[int, ...], axis: int | tuple[int, ...] | None, keepdims: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The reduced axes in order, and the result's shape."""
    ndim = len(shape)
    given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes: tuple[int, ...] = tuple(sorted({k % ndim for k in given})) if ndim else ()
    if keepdims:
        return axes, tuple(1 if k in axes else n for k, n in enumerate(shape))
    return axes, tuple(n for k, n in enumerate(shape) if k not in axes)


def runs_of(axes: Sequence[int]) -> list[list[int]]:
    """Sorted axes as runs of adjacent ones; one empty run for none."""
    runs: list[list[int]] = [[]]
    for axis in axes:
        if runs[-1] and axis != runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(axis)
    return runs


def around(shape: tuple[int, ...], run: Sequence[int]) -> tuple[int, int, int]:
    """The sizes (outer, n, inner) before, in and after a run of axes; all of a shape is before an empty run."""
    begin, end = (run[0], run[-1] + 1) if run else (len(shape), len(shape))
    return math.prod(shape[:begin]), math.prod(shape[begin:end]), math.prod(shape[end:])


def threads_of_row(n: int) -> int:
    """The number of threads that reduce a row: a power of two that depends on the length alone, so the rounding does too."""
    wanted = max(1, min(-(-n // ITEMS_PER_THREAD), THREADS))
    return 1 << (wanted - 1).bit_length()


def reduce_middle(memory: Memory, op: str, x: cupy.ndarray, outer: int, n: int, inner: int, out: cupy.ndarray) -> None:
    """Reduce the middle axis of a contiguous (outer, n, inner) array into memory of outer * inner elements.

    Raises
    ------
    ParameterError
        If n is 0 and the operation has no identity.
    """
    if n == 0 and op in ("max", "min") and outer * inner:
        raise ParameterError(f"{op}: an empty axis has no extremum", f"shape {x.shape}", "reduce an axis that has elements")
    # this many results fill the device with one thread block each
    length = PART if inner == 1 else COLUMN_PART
    if n <= length or outer * inner >= PART:
        reduce_parts(op, x, outer, n, inner, n, out)
        return
    parts = -(-n // length)
    between = memory.empty((outer, parts, inner), NUMPY[computed_in(dtype_of(out))])
    reduce_parts(op, x, outer, n, inner, length, between)
    reduce_middle(memory, op, between, outer, parts, inner, out)


def reduce_parts(op: str, x: cupy.ndarray, outer: int, n: int, inner: int, length: int, out: cupy.ndarray) -> None:
    """Reduce each part of ``length`` elements of the middle axis to one, into memory of (outer, parts, inner)."""
    _launch(partial(_reduction_kernel, op, dtype_of(x), dtype_of(out)), x, outer, n, inner, length, out)


def _launch(kernel: Callable[[bool], Kernel], x: cupy.ndarray, outer: int, n: int, inner: int, length: int, out: cupy.ndarray) -> None:
    """Launch the kernel for rows or for columns; a thread block holds all threads of some rows or columns of one part."""
    by_rows, results, parts = inner == 1, outer * inner, -(-n // length) if n else 1
    width = threads_of_row(length) if by_rows else THREADS // COLUMNS
    beside = THREADS // width
    if results:
        # rows: the threads of a row are along x, so that they read adjacent elements; columns: x runs over columns, for the same reason
        numbers = [np.int64(k) for k in (results, n, inner, length, parts)]
        block = (width, beside) if by_rows else (beside, width)
        kernel(by_rows)(grid_of(-(-results // beside) * parts), block, (x, out, *numbers))


def _reduction_kernel(op: str, source: str, target: str, by_rows: bool) -> Kernel:
    return function(kernel_source(op, source, target, rows=by_rows), f"tf_{op}_{'rows' if by_rows else 'columns'}")


@cache
def kernel_source(op: str, source: str, target: str, *, rows: bool) -> str:
    """The source of a reduction from one dtype to another."""
    dtype = "bool" if op in ("any", "all") else target
    kind, (join, identity) = C_TYPES[dtype], reduction(op, dtype)
    element = "tf_float(in[at])" if source in ENCODED else "in[at]"
    element = f"({element} != 0)" if op in ("any", "all") else f"({kind}){element}"
    result, kinds = f"{ENCODED.get(target, '')}(part[first])", (STORED[source], kind, STORED[target])
    parts = {"START": literal(identity, dtype), "ELEMENT": element, "RESULT": result, "KIND": kind, "JOIN": join}
    return _filled(f"tf_{op}", "join", kinds, parts, rows=rows)


def _filled(name: str, join: str, kinds: tuple[str, str, str], parts: dict[str, str], *, rows: bool) -> str:
    """The source of a reduction: its types (read, combined, written), the file with ``tf_join``, and the C expressions that differ."""
    along, inner = ("x", "1") if rows else ("y", "inner")
    own = dict(zip(("READ", "JOINED", "WRITTEN"), kinds, strict=True)) | {"NAME": f"{name}_{'rows' if rows else 'columns'}"}
    sizes = {"ALONG": along, "BESIDE": "y" if rows else "x", "INNER": inner, "COUNT": str(THREADS), "WARP": str(WARP if rows else 0)}
    return filled(own | parts | sizes, "tree", join, "reduce")


# argmax and argmin


def arg_extremum(memory: Memory, op: str, x: cupy.ndarray, outer: int, n: int, inner: int, out: cupy.ndarray) -> None:
    """The index (int64) of the first largest or smallest element along the middle of three axes; a NaN wins, as in NumPy.

    Raises
    ------
    ParameterError
        If the axis is empty.
    """
    if outer * inner == 0:
        return
    if n == 0:
        raise ParameterError(f"{op}: an empty axis has no extremum", f"shape {x.shape}", "search an axis that has elements")
    search, among_found = partial(_search_kernel, op, dtype_of(x)), False
    while n > SEARCH_PART and outer * inner < PART:
        parts = -(-n // SEARCH_PART)
        found = memory.empty((outer, parts, inner, 2), NUMPY["int64"])  # pairs: 16 bytes each
        _launch(partial(search, among_found, True), x, outer, n, inner, SEARCH_PART, found)
        x, n, among_found = found, parts, True
    _launch(partial(search, among_found, False), x, outer, n, inner, n, out)


def _search_kernel(op: str, dtype: str, among_found: bool, finds: bool, by_rows: bool) -> Kernel:
    return function(extremum_source(op, dtype, among_found, finds, rows=by_rows), f"tf_{op}_{'rows' if by_rows else 'columns'}")


@cache
def extremum_source(op: str, dtype: str, among_found: bool, finds: bool, *, rows: bool) -> str:
    """The source of argmax or argmin over elements, or over (value, index) pairs of an earlier pass; writes pairs or indices."""
    kind, read = C_TYPES[dtype], "tf_float(in[at])" if dtype in ENCODED else "in[at]"
    kinds = "tf_found" if among_found else STORED[dtype], "tf_found", "tf_found" if finds else "long long"
    element = "in[at]" if among_found else f"tf_found{{{read}, j}}"
    # place -1 means that nothing has been found yet, whatever the value
    parts = {"START": f"tf_found{{({kind})0, -1}}", "ELEMENT": element, "RESULT": "part[first]" if finds else "part[first].place"}
    parts |= {"KIND": kind, "IS_BEYOND": ">" if op == "argmax" else "<"}
    return _filled(f"tf_{op}", "extremum", kinds, parts, rows=rows)
