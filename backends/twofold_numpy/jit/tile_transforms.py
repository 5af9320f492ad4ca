"""Machine code that transforms the tiles of Winograd's algorithm where they lie in an image; ``llvm/tile_transform.ll`` has its loops.

A transform is a small matrix applied along both axes of a tile. Most of its numbers are zero, and each tile's vectors of channels stay in
registers, so reading and writing is what takes time.
"""

import ctypes
import struct
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from ..winograd import Matrix, Transform
from .callables import address_of
from .compiler import Compiler, compiler
from .ir import splat
from .llvm_text import llvm_text, loaded_numbers

#: The numbers that the code reads: sizes, then steps in bytes.
_STEPS = ("image", "row", "column", "i", "j")
NUMBERS = ("images", "rows", "columns", "channels", *(f"from.{name}" for name in _STEPS), *(f"to.{name}" for name in _STEPS))


def tile_transform(matrix: Matrix) -> Transform | None:
    """What applies a matrix along both axes of tiles; None without a compiler."""
    own = compiler()
    return None if own is None else _tile_transform(own, matrix)


@cache
def _tile_transform(own: Compiler, matrix: Matrix) -> Transform:
    address = ctypes.c_void_p
    code = own.function(_text(matrix, own.machine.vector_bits // 32), None, address, address, ctypes.c_char_p)

    def run(to: np.ndarray, to_steps: Sequence[int], source: np.ndarray, steps: Sequence[int], sizes: Sequence[int]) -> None:
        # releases the GIL
        code(address_of(to), address_of(source), struct.pack(f"{len(NUMBERS)}q", *sizes, *steps, *to_steps))

    return run


def _text(matrix: Matrix, lanes: int) -> str:
    words: dict[str, str | int] = {"LOADED": loaded_numbers(NUMBERS), "LANES": lanes}
    words["LANE_NUMBERS"] = ", ".join(f"i64 {k}" for k in range(lanes))
    words["REST"] = "\n".join(f"  {line}" for line in splat("%rest.all", "%rest", "i64", lanes))
    words["FUNCTIONS"] = "\n".join(line for is_part in (False, True) for line in _tile(matrix, lanes, is_part))
    return llvm_text("tile_transform", **words)


def _tile(matrix: Matrix, lanes: int, is_part: bool) -> Iterator[str]:
    """The function that transforms a vector of channels of a tile, or a part of one."""
    vector, mask = f"<{lanes} x float>", f"<{lanes} x i1>"
    before, after = range(len(matrix[0])), range(len(matrix))
    steps = ", ".join(f"i64 %{name}" for name in ("from.i", "from.j", "to.i", "to.j"))
    name, masked = ("part", f", {mask} %mask") if is_part else ("whole", "")
    yield f"define internal void @{name}(ptr %to, ptr %from, {steps}{masked}) noinline nounwind {{\nentry:"
    for side, places in (("from", before), ("to", after)):
        for k in places:
            yield f"  %{side}.row.{k}.offset = mul i64 %{side}.i, {k}\n  %{side}.column.{k} = mul i64 %{side}.j, {k}"
            yield f"  %{side}.row.{k} = getelementptr i8, ptr %{side}, i64 %{side}.row.{k}.offset"
    for j in before:
        for i in before:
            yield f"  %x.{i}.{j}.at = getelementptr i8, ptr %from.row.{i}, i64 %from.column.{j}"
            load = f"call {vector} @llvm.masked.load.v{lanes}f32.p0(ptr %x.{i}.{j}.at, i32 4, {mask} %mask, {vector} zeroinitializer)"
            yield f"  %x.{i}.{j} = {load if is_part else f'load {vector}, ptr %x.{i}.{j}.at, align 4'}"
        for i, row in enumerate(matrix):
            yield from _sum(f"%y.{i}.{j}", row, [f"%x.{k}.{j}" for k in before], lanes)
    for i in after:
        for j, row in enumerate(matrix):
            yield from _sum(f"%z.{i}.{j}", row, [f"%y.{i}.{k}" for k in before], lanes)
            yield f"  %z.{i}.{j}.at = getelementptr i8, ptr %to.row.{i}, i64 %to.column.{j}"
            masked_store = f"call void @llvm.masked.store.v{lanes}f32.p0({vector} %z.{i}.{j}, ptr %z.{i}.{j}.at, i32 4, {mask} %mask)"
            yield f"  {masked_store if is_part else f'store {vector} %z.{i}.{j}, ptr %z.{i}.{j}.at, align 4'}"
    yield "  ret void\n}"


def _sum(name: str, factors: Sequence[float], values: Sequence[str], lanes: int) -> Iterator[str]:
    """Define ``name`` as the sum of values times constant factors, in their order; factors of 0 add nothing."""
    vector = f"<{lanes} x float>"
    terms = [(factor, value) for factor, value in zip(factors, values, strict=True) if factor]
    (factor, value), *rest = terms
    names = [f"{name}.{k}" for k in range(len(rest))] + [name]
    yield f"  {names[0]} = fmul {vector} {value}, {_constant(factor)}"
    for k, (factor, value) in enumerate(rest):
        yield f"  {names[k + 1]} = call {vector} @llvm.fma.v{lanes}f32({vector} {value}, {vector} {_constant(factor)}, {vector} {names[k]})"


def _constant(number: float) -> str:
    # LLVM writes floats in the 64 bits of a double, which must be exact
    bits = struct.unpack("<Q", struct.pack("<d", float(np.float32(number))))[0]
    return f"splat (float 0x{bits:016X})"
