"""Gathers and scatters: reading and writing at computed indices.

The result of a gather is an iteration space over which every operand has strides: the array that is read steps along the axes that are
taken whole, and an index array along its own axes. Scatters are deterministic: targets are sorted, stably, so that writes to the same
element form a run: its last write wins, or its values are summed in order. In a run of more than `CHUNK` elements, all but the first ones
are summed beforehand by further threads, `CHUNK` at a time from the run's end. Atomic additions would be faster but not reproducible.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED
from twofold.backend.kernel import Array
from twofold.backend.strides import Sizes, broadcast_strides, row_major
from twofold.dtype import NUMPY

from .kernels import coordinates
from .launch import cuda_text, each, filled, function, run
from .memory import Memory
from .operands import computed_in, dtype_of
from .sorting import argsort_rows
from .views import strides_of

#: The most additions to one element that a single thread does.
CHUNK = 64


class Selection(NamedTuple):
    """The selection of index arrays from an array: the result's shape, and all operands' strides over it.

    Attributes
    ----------
    shape
        Shape of the result.
    strides
        The array's strides over the result, for axes taken whole; 0 elsewhere.
    indexed
        For each index array: its strides over the result, the array's stride along the indexed axis, and that axis' size.
    at, axes
        Position and number of the index arrays' axes in the result.
    """

    shape: Sizes
    strides: Sizes
    indexed: tuple[tuple[Sizes, int, int], ...]
    at: int
    axes: int


def selection(shape: Sizes, strides: Sizes, arrays: Sequence[Array], key: Sequence[int | None]) -> Selection:
    """The selection ``x[key]``; ``key`` has the number of an index array for each axis, or None for the whole axis."""
    of_axis = {axis: arrays[k] for axis, k in enumerate(key) if k is not None}
    used = list(of_axis)
    index = np.broadcast_shapes(*[a.shape for a in arrays])
    whole = [axis for axis in range(len(shape)) if axis not in of_axis]
    # as in NumPy, the index arrays' axes replace adjacent indexed axes, and come first otherwise
    adjacent = used == list(range(used[0], used[0] + len(used)))
    at = used[0] if adjacent else 0
    result = (*[shape[a] for a in whole[:at]], *index, *[shape[a] for a in whole[at:]])
    # the array does not step along the index arrays' axes: their selection is added as an offset
    own = (*[strides[a] for a in whole[:at]], *[0] * len(index), *[strides[a] for a in whole[at:]])
    indexed = []
    for axis, a in of_axis.items():
        over = broadcast_strides(a.shape, strides_of(a), index)
        indexed.append(((*[0] * at, *over, *[0] * (len(whole) - at)), strides[axis], shape[axis]))
    return Selection(tuple(result), tuple(own), tuple(indexed), at, len(index))


def gather(x: cupy.ndarray, arrays: Sequence[cupy.ndarray], chosen: Selection, out: cupy.ndarray) -> None:
    """Gather a selection into memory of its shape; negative indices count from the end."""
    kinds = tuple(dtype_of(a) for a in arrays)
    bits = f"u{x.dtype.itemsize}"  # elements are only moved: one kernel serves all dtypes of a size
    source = gather_source(bits, kinds, len(chosen.shape))
    run(function(source, "tf_gather"), out.size, *_arguments(chosen), x, *arrays, out)


def _arguments(chosen: Selection) -> list[Array]:
    """Sizes and strides as kernel arguments, in the order of `_declare_params`."""
    numbers = [int(np.prod(chosen.shape, dtype=np.int64)), *chosen.shape[1:], *chosen.strides]
    for over, stride, size in chosen.indexed:
        numbers += [*over, stride, size]
    return [np.int64(n) for n in numbers]


@cache
def gather_source(bits: str, kinds: tuple[str, ...], rank: int) -> str:
    """The source of a gather of elements of a size by index arrays of some dtypes."""
    element = {"u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int", "u8": "unsigned long long"}[bits]
    arrays = [f"const {STORED[kind]} *index{k}" for k, kind in enumerate(kinds)]
    parameters = [*_declare_params(rank, len(kinds)), f"const {element} *in", *arrays, f"{element} *out"]
    body = [*coordinates("long long", rank), *_locate_lines(rank, len(kinds)), "out[i] = in[from];"]
    return each("tf_gather", parameters, "count", body, [cuda_text("place")])


def _declare_params(rank: int, arrays: int) -> list[str]:
    names = ["count", *[f"size{k}" for k in range(1, rank)], *[f"stride_{k}" for k in range(rank)]]
    for a in range(arrays):
        names += [*[f"over{a}_{k}" for k in range(rank)], f"step{a}", f"limit{a}"]
    return [f"const long long {name}" for name in names]


def _locate_lines(rank: int, arrays: int) -> list[str]:
    """Statements that compute ``from``, the offset of an element."""
    whole = " + ".join(f"c{k} * stride_{k}" for k in range(rank)) or "0"
    lines = [f"long long from = {whole};"]
    for a in range(arrays):
        over = " + ".join(f"c{k} * over{a}_{k}" for k in range(rank)) or "0"
        lines.append(f"from += tf_place((long long)index{a}[{over}], limit{a}) * step{a};")
    return lines


# writes


def scatter(
    memory: Memory, out: cupy.ndarray, value: cupy.ndarray, arrays: Sequence[cupy.ndarray], key: Sequence[int | None], *, adds: bool
) -> None:
    """Add values to a contiguous array at index arrays, or write them (the last write wins); values broadcast to the selection."""
    chosen = selection(out.shape, row_major(out.shape), arrays, key)
    total = int(np.prod(chosen.shape, dtype=np.int64))
    if total == 0 or out.size == 0:
        return
    inner = slice(chosen.at, chosen.at + chosen.axes)
    index = chosen.shape[inner]
    many = int(np.prod(index, dtype=np.int64))
    places = memory.empty((many,), np.dtype(np.int64))
    # the index arrays alone: the places of the targets without the axes that are taken whole
    alone = Selection(index, (0,) * len(index), tuple((over[inner], step, size) for over, step, size in chosen.indexed), 0, len(index))
    kinds = tuple(dtype_of(a) for a in arrays)
    run(function(places_source(kinds, len(index)), "tf_places"), many, *_arguments(alone), *arrays, places)
    # stable, so equal targets keep the order in which they were written
    order = argsort_rows(memory, places.reshape(1, many), descending=False).reshape(many)
    _write(memory, out, value, places, order, chosen, adds=adds)


def _write(
    memory: Memory, out: cupy.ndarray, value: cupy.ndarray, places: cupy.ndarray, order: cupy.ndarray, chosen: Selection, *, adds: bool
) -> None:
    over = broadcast_strides(value.shape, strides_of(value), chosen.shape)
    first, last = chosen.at, chosen.at + chosen.axes
    rest = [*range(first), *range(last, len(chosen.shape))]
    whole, many = [chosen.shape[k] for k in rest], places.size
    numbers = [*chosen.shape[first:last][1:], *over[first:last], *whole, *[over[k] for k in rest], *[chosen.strides[k] for k in rest]]
    source = write_source(dtype_of(out), dtype_of(value), chosen.axes, len(rest), adds=adds)

    def launch(name: str, threads: int, *arrays: cupy.ndarray) -> None:
        run(function(source, name), threads, *[np.int64(n) for n in (threads, *numbers)], order, value, *arrays)

    if not adds:
        launch("tf_put", many * math.prod(whole), places, out)
        return
    ends = memory.empty((many,), np.dtype(np.int64))
    run(function(ENDS, "tf_ends"), many, np.int64(many), places, order, ends)
    sums = memory.empty((many // CHUNK, *whole), NUMPY[computed_in(dtype_of(out))])
    launch("tf_sums", sums.size, ends, sums)
    launch("tf_add", many * math.prod(whole), ends, sums, places, out)


@cache
def places_source(kinds: tuple[str, ...], rank: int) -> str:
    """The source of the kernel that computes the target offset of each index tuple."""
    arrays = [f"const {STORED[kind]} *index{k}" for k, kind in enumerate(kinds)]
    parameters = [*_declare_params(rank, len(kinds)), *arrays, "long long *out"]
    body = [*(coordinates("long long", rank) if rank else []), *_locate_lines(rank, len(kinds)), "out[i] = from;"]
    return each("tf_places", parameters, "count", body, [cuda_text("place")])


@cache
def write_source(dtype: str, given: str, rank: int, rest: int, *, adds: bool) -> str:
    """The source of ordered writes: one thread per index tuple, in sorted order, and element of the axes taken whole.

    Of a run of equal targets only the last thread acts in ``tf_put``, and only the first in ``tf_add``. Before ``tf_add``, ``tf_sums``
    runs one thread per `CHUNK` positions of the order: among those at most one is a multiple of `CHUNK` away from its run's end and
    not the run's first, so that one slot per thread holds all partial sums.
    """
    names = [*[f"size{k}" for k in range(1, rank)], *[f"over{k}" for k in range(rank)]]
    names += [f"{name}{k}" for name in ("whole", "step", "stride") for k in range(rest)]
    where = ["long long left = i, from = 0, to = 0, each = 1;"]
    # the axes taken whole vary fastest among the threads, so that neighboring threads write neighboring elements
    for k in range(rest - 1, -1, -1):
        where += [f"const long long c{k} = left % whole{k};", f"left /= whole{k}; from += c{k} * step{k}; to += c{k} * stride{k};"]
        where += [f"each *= whole{k};"]
    parts = {
        "VALUE_AT": _value_at(rank),
        "SIZES": " ".join(f"const long long {name}," for name in names),
        "WHERE": "\n        ".join(where),
        "AXES": ", ".join(_own_axes(rank)),
        "CHUNK": str(CHUNK),
        "KIND": C_TYPES[dtype],
        "GIVEN": STORED[given],
        "STORED": STORED[dtype],
        "READ": "tf_float" if given in ENCODED else "",
        "OWN": "tf_float" if dtype in ENCODED else "",
        "ENCODED": ENCODED.get(dtype, ""),
    }
    return filled(parts, "scatter_value", "scatter_add" if adds else "scatter_put")


ENDS = each(
    "tf_ends",
    ["const long long count", "const long long *places", "const long long *order", "long long *ends"],
    "count",
    [
        "long long low = i + 1, high = count;  // the end of the run of equal targets lies between them",
        "while (low < high) {",
        "    const long long half = low + (high - low) / 2;",
        "    if (places[order[half]] == places[order[i]]) low = half + 1; else high = half;",
        "}",
        "ends[i] = low;",
    ],
)


def _own_axes(rank: int) -> list[str]:
    return [*[f"size{k}" for k in range(1, rank)], *[f"over{k}" for k in range(rank)]] or ["0"]


def _value_at(rank: int) -> str:
    """The function that computes the offset of an index tuple's value from the tuple's number."""
    names = _own_axes(rank) if rank else ["none"]
    lines = [f"TF_FUNCTION long long tf_value_at(long long k, {', '.join(f'long long {n}' for n in names)}) {{", "    long long at = 0;"]
    lines += [f"    at += k % size{axis} * over{axis}; k /= size{axis};" for axis in range(rank - 1, 0, -1)]
    lines += ["    return at + k * over0;" if rank else "    return at;", "}"]
    return "\n".join(lines)


def as_places(a: Array, cast: Callable[[Array, str], Array]) -> Array:
    """An index array as int64 or int32; bools and other integers are cast to int64."""
    return a if a.dtype in (NUMPY["int64"], NUMPY["int32"]) else cast(a, "int64")
