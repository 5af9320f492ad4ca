"""Machine code that transposes arrays tile by tile; ``llvm/transpose.ll`` has it."""

import ctypes
import struct
from collections.abc import Generator, Iterator, Sequence
from functools import cache

import numpy as np

from ..copies import TILES, Transpose
from .callables import address_of
from .compiler import Compiler, compiler
from .llvm_text import llvm_text, loaded_numbers

#: The numbers that the code reads: sizes, and distances in elements.
NUMBERS = ("outer", "rows", "columns", "from.outer", "from.row", "to.outer", "to.column")


def transpose(itemsize: int) -> Transpose | None:
    """What transposes elements of a size in bytes; None without a compiler."""
    own = compiler()
    return None if own is None else _transpose(own, itemsize)


@cache
def _transpose(own: Compiler, item: int) -> Transpose:
    (rows, columns), kind = TILES[item], f"i{8 * item}"
    words: dict[str, str | int] = {"LOADED": loaded_numbers(NUMBERS), "TYPE": kind, "ITEM": item, "ROWS": rows, "COLUMNS": columns}
    # the rows of a tile, one after the other
    words["POINTERS"] = "\n".join(f"  %x.{k} = getelementptr {kind}, ptr %x.{k - 1}, i64 %from.row" for k in range(1, rows))
    words["TILE"] = "\n".join(line for first in range(0, columns, rows) for line in square(kind, item, rows, first, "to.column"))
    code = own.function(llvm_text("transpose", **words), None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)

    def run(out: np.ndarray, x: np.ndarray, sizes: tuple[int, ...]) -> None:
        code(address_of(out), address_of(x), struct.pack(f"{len(NUMBERS)}q", *sizes))  # releases the GIL

    return run


def square(kind: str, item: int, n: int, first: int, step: str, mask: str = "") -> Iterator[str]:
    """Load ``n`` rows of ``n`` elements from column ``first`` of a tile on, interleave them until they are columns, and store these.

    ``step`` names the number of elements from one column of the result to the next. Of floats, a mask may name those that are loaded; the
    others are zero.
    """
    vector = f"<{n} x {kind}>"
    names = [f"%s{first}.{k}" for k in range(n)]
    for k, name in enumerate(names):
        yield f"  {name}.at = getelementptr {kind}, ptr %x.{k}, i64 {first}"
        masked = f"call {vector} @llvm.masked.load.v{n}f32.p0(ptr {name}.at, i32 {item}, <{n} x i1> {mask}, {vector} zeroinitializer)"
        yield f"  {name} = {masked if mask else f'load {vector}, ptr {name}.at, align {item}'}"
    names = yield from interleaved(names, vector, f"%t{first}")
    for k, name in enumerate(names):
        yield f"  %to{first + k}.row = mul i64 {first + k}, %{step}"
        yield f"  %to{first + k} = getelementptr {kind}, ptr %tile.to, i64 %to{first + k}.row"
        yield f"  store {vector} {name}, ptr %to{first + k}, align {item}"


def interleaved(names: Sequence[str], vector: str, label: str) -> Generator[str, None, list[str]]:
    """Interleave vectors, as many as each has elements, until they are their columns; returns the names of these."""
    n, found = len(names), list(names)
    low, high = (", ".join(f"i32 {k // 2 + start + n * (k % 2)}" for k in range(n)) for start in (0, n // 2))
    # each round pairs a vector with the one half of them further on; after log2(n) rounds every element is in its place
    for turn in range(n.bit_length() - 1):
        made = [f"{label}.{turn}.{k}" for k in range(n)]
        for k in range(n // 2):
            for name, places in ((made[2 * k], low), (made[2 * k + 1], high)):
                yield f"  {name} = shufflevector {vector} {found[k]}, {vector} {found[k + n // 2]}, <{n} x i32> <{places}>"
        found = made
    return found
