"""Reading and writing at computed places.

The elements of a gather's result form an iteration space over which all operands have strides: the array that is read has some only
along axes that are taken whole, an index array along those of its own shape. Writes are ordered: elements that go to one place
are found by sorting, and are a run then, whose last is taken, or which is added up in its order. Of a run of more than `CHUNK` the last
ones are added up before, `CHUNK` by each of further threads. So the same comes out every time, whatever goes elsewhere.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED
from twofold.backend.strides import Sizes, row_major, spread
from twofold.dtype import NUMPY

from .kernels import coordinates
from .launch import each, filled, function, run
from .memory import Memory
from .operands import computed_in, dtype_of
from .sorting import sorted_places
from .views import strides_of

#: Elements that go to one place and that one thread adds up.
CHUNK = 64


class Selection(NamedTuple):
    """What index arrays select of an array: the result's shape, and what lies where over it.

    Attributes
    ----------
    shape
        Of the result.
    strides
        The array's own over the result, for axes taken whole.
    indexed
        For each index array its strides over the result, the array's stride along the indexed axis, and that axis' size.
    at, axes
        Where in the result the axes of the index arrays are, and how many.
    """

    shape: Sizes
    strides: Sizes
    indexed: tuple[tuple[Sizes, int, int], ...]
    at: int
    axes: int


def selection(shape: Sizes, strides: Sizes, arrays: Sequence[Any], key: Sequence[int | None]) -> Selection:
    """How ``x[key]`` lies; ``key`` has for each axis the number of an index array, or None for the whole axis."""
    used = [axis for axis, place in enumerate(key) if place is not None]
    index = np.broadcast_shapes(*[a.shape for a in arrays])
    whole = [axis for axis in range(len(shape)) if axis not in used]
    adjacent = used == list(range(used[0], used[0] + len(used)))
    at = used[0] if adjacent else 0
    result = (*[shape[a] for a in whole[:at]], *index, *[shape[a] for a in whole[at:]])
    own = (*[strides[a] for a in whole[:at]], *[0] * len(index), *[strides[a] for a in whole[at:]])
    indexed = []
    for axis in used:
        a = arrays[key[axis]]  # type: ignore[index]
        over = spread(a.shape, strides_of(a), index)
        indexed.append(((*[0] * at, *over, *[0] * (len(whole) - at)), strides[axis], shape[axis]))
    return Selection(tuple(result), tuple(own), tuple(indexed), at, len(index))


def gather(x: cupy.ndarray, arrays: Sequence[cupy.ndarray], chosen: Selection, out: cupy.ndarray) -> None:
    """Read what a selection says into memory of its shape; places below 0 count from the end."""
    kinds = tuple(dtype_of(a) for a in arrays)
    bits = f"u{x.dtype.itemsize}"
    source = gather_text(bits, kinds, len(chosen.shape))
    run(function(source, "tf_gather"), out.size, *_arguments(chosen), x, *arrays, out)


def _arguments(chosen: Selection) -> list[Any]:
    """Sizes and strides as kernels take them."""
    numbers = [int(np.prod(chosen.shape, dtype=np.int64)), *chosen.shape[1:], *chosen.strides]
    for over, stride, size in chosen.indexed:
        numbers += [*over, stride, size]
    return [np.int64(n) for n in numbers]


@cache
def gather_text(bits: str, kinds: tuple[str, ...], rank: int) -> str:
    """The text of a gather of elements of so many bytes by index arrays of some dtypes."""
    element = {"u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned int", "u8": "unsigned long long"}[bits]
    arrays = [f"const {STORED[kind]} *index{k}" for k, kind in enumerate(kinds)]
    parameters = [*_declared(rank, len(kinds)), f"const {element} *in", *arrays, f"{element} *out"]
    body = [*coordinates("long long", rank), *_located(rank, len(kinds)), "out[i] = in[from];"]
    return each("tf_gather", parameters, "count", body, [PLACE])


def _declared(rank: int, arrays: int) -> list[str]:
    names = ["count", *[f"size{k}" for k in range(1, rank)], *[f"stride_{k}" for k in range(rank)]]
    for a in range(arrays):
        names += [*[f"over{a}_{k}" for k in range(rank)], f"step{a}", f"limit{a}"]
    return [f"const long long {name}" for name in names]


def _located(rank: int, arrays: int) -> list[str]:
    """Statements that find out ``from``, an element's place."""
    whole = " + ".join(f"c{k} * stride_{k}" for k in range(rank)) or "0"
    lines = [f"long long from = {whole};"]
    for a in range(arrays):
        over = " + ".join(f"c{k} * over{a}_{k}" for k in range(rank)) or "0"
        lines.append(f"from += tf_place((long long)index{a}[{over}], limit{a}) * step{a};")
    return lines


PLACE = """
// A place below 0 counts from the end; whoever indexes has checked that it is on the axis, and memory outside is not touched anyway.
TF_FUNCTION long long tf_place(long long at, long long size) {
    at = at < 0 ? at + size : at;
    return at < 0 ? 0 : at < size ? at : size - 1;
}
"""


# writes


def scatter(memory: Memory, out: cupy.ndarray, value: cupy.ndarray, arrays: Sequence[cupy.ndarray], key: Any, *, adds: bool) -> None:
    """Add values to an array in row-major order at index arrays, or put the last of them there; values broadcast to what is selected."""
    chosen = selection(out.shape, row_major(out.shape), arrays, key)
    total = int(np.prod(chosen.shape, dtype=np.int64))
    if total == 0 or out.size == 0:
        return
    inner = slice(chosen.at, chosen.at + chosen.axes)
    index = chosen.shape[inner]
    many = int(np.prod(index, dtype=np.int64))
    places = memory.empty((many,), np.dtype(np.int64))
    alone = Selection(index, (0,) * len(index), tuple((over[inner], step, size) for over, step, size in chosen.indexed), 0, len(index))
    kinds = tuple(dtype_of(a) for a in arrays)
    run(function(places_text(kinds, len(index)), "tf_places"), many, *_arguments(alone), *arrays, places)
    order = sorted_places(memory, places.reshape(1, many), descending=False).reshape(many)
    _write(memory, out, value, places, order, chosen, adds=adds)


def _write(memory: Memory, out: cupy.ndarray, value: cupy.ndarray, places: Any, order: Any, chosen: Selection, *, adds: bool) -> None:
    over = spread(value.shape, strides_of(value), chosen.shape)
    first, last = chosen.at, chosen.at + chosen.axes
    rest = [*range(first), *range(last, len(chosen.shape))]
    whole, many = [chosen.shape[k] for k in rest], places.size
    numbers = [*chosen.shape[first:last][1:], *over[first:last], *whole, *[over[k] for k in rest], *[chosen.strides[k] for k in rest]]
    source = write_text(dtype_of(out), dtype_of(value), chosen.axes, len(rest), adds=adds)

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
def places_text(kinds: tuple[str, ...], rank: int) -> str:
    """The text that finds out where each tuple of indices points."""
    arrays = [f"const {STORED[kind]} *index{k}" for k, kind in enumerate(kinds)]
    parameters = [*_declared(rank, len(kinds)), *arrays, "long long *out"]
    body = [*(coordinates("long long", rank) if rank else []), *_located(rank, len(kinds)), "out[i] = from;"]
    return each("tf_places", parameters, "count", body, [PLACE])


@cache
def write_text(dtype: str, given: str, rank: int, rest: int, *, adds: bool) -> str:
    """The text of ordered writes: a thread for each index tuple, in order, and element of the axes taken whole.

    Of a run only the last acts in ``tf_put``, only the first in ``tf_add``. Before that ``tf_sums`` has a thread for each `CHUNK` of
    the order: in such a part at most one element is a multiple of `CHUNK` away from its run's end and not the run's first.
    """
    names = [*[f"size{k}" for k in range(1, rank)], *[f"over{k}" for k in range(rank)]]
    names += [f"{name}{k}" for name in ("whole", "step", "stride") for k in range(rest)]
    where = ["long long left = i, from = 0, to = 0, each = 1;"]
    for k in range(rest - 1, -1, -1):
        where += [f"const long long c{k} = left % whole{k};", f"left /= whole{k}; from += c{k} * step{k}; to += c{k} * stride{k};"]
        where += [f"each *= whole{k};"]
    parts = {
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
    return filled(_value_at(rank) + VALUE + (SUMS + ADD if adds else PUT), parts)


ENDS = each(
    "tf_ends",
    ["const long long count", "const long long *places", "const long long *order", "long long *ends"],
    "count",
    [
        "long long low = i + 1, high = count;  // between them the run of equal places ends",
        "while (low < high) {",
        "    const long long half = low + (high - low) / 2;",
        "    if (places[order[half]] == places[order[i]]) low = half + 1; else high = half;",
        "}",
        "ends[i] = low;",
    ],
)
VALUE = """
#define TF_VALUE(k) ((KIND)READ(value[from + tf_value_at(order[k], AXES)]))
"""
PUT = """
TF_KERNEL tf_put(const long long threads, SIZES const long long *order, const GIVEN *value, const long long *places, STORED *out) {
    TF_EACH(long long, i, threads) {
        WHERE
        const long long place = places[order[left]];
        if (left + 1 < threads / each && places[order[left + 1]] == place) return;
        out[place + to] = ENCODED(TF_VALUE(left));
    }
}
"""
SUMS = """
TF_KERNEL tf_sums(const long long threads, SIZES const long long *order, const GIVEN *value, const long long *ends, KIND *sums) {
    TF_EACH(long long, i, threads) {
        WHERE
        const long long last = left * CHUNK + CHUNK - 1, end = ends[last], begin = end - (end - last + CHUNK - 1) / CHUNK * CHUNK;
        if (begin <= 0 || ends[begin - 1] != end) return;
        KIND sum = TF_VALUE(begin);
        for (long long k = begin + 1; k < begin + CHUNK; ++k) sum = (KIND)(sum + TF_VALUE(k));
        sums[i] = sum;
    }
}
"""
ADD = """
TF_KERNEL tf_add(
    const long long threads, SIZES const long long *order, const GIVEN *value, const long long *ends, const KIND *sums,
    const long long *places, STORED *out) {
    TF_EACH(long long, i, threads) {
        WHERE
        const long long end = ends[left];
        if (left > 0 && ends[left - 1] == end) return;
        const long long place = places[order[left]] + to, later = end - (end - left - 1) / CHUNK * CHUNK;
        KIND sum = OWN(out[place]);
        for (long long k = left; k < later; ++k) sum = (KIND)(sum + TF_VALUE(k));
        for (long long k = later; k < end; k += CHUNK) sum = (KIND)(sum + sums[k / CHUNK * each + i % each]);
        out[place] = ENCODED(sum);
    }
}
"""


def _own_axes(rank: int) -> list[str]:
    return [*[f"size{k}" for k in range(1, rank)], *[f"over{k}" for k in range(rank)]] or ["0"]


def _value_at(rank: int) -> str:
    """The function that finds an index tuple's value from its number."""
    names = _own_axes(rank) if rank else ["none"]
    lines = [f"TF_FUNCTION long long tf_value_at(long long k, {', '.join(f'long long {n}' for n in names)}) {{", "    long long at = 0;"]
    lines += [f"    at += k % size{axis} * over{axis}; k /= size{axis};" for axis in range(rank - 1, 0, -1)]
    lines += ["    return at + k * over0;" if rank else "    return at;", "}", ""]
    return "\n".join(lines)


def as_places(a: Any, contiguous: Any) -> Any:
    """An index array as 64-bit or 32-bit places; bools and small integers are widened."""
    return a if a.dtype in (NUMPY["int64"], NUMPY["int32"]) else contiguous(a, "int64")
