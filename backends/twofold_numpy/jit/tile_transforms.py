"""Machine code that transforms the tiles of Winograd's algorithm where they lie in an image; ``llvm/tile_transform.ll`` has its loops.

A transform is a small matrix applied along both axes of a tile. Most of its numbers are zero, and each tile's vectors of channels stay in
registers, so reading and writing is what takes time.
"""

import struct
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from types import BuiltinFunctionType

import numpy as np

from twofold.backend import workers
from twofold.config import ON_CHANGE

from ..blas import blas
from ..tiles import Matrix
from ..winograd import Transform
from .callables import KEEP_GIL, builtin_of
from .compiler import Code, compiler
from .handoff import code_of
from .ir import splat
from .llvm_text import data_addresses, loaded_words
from .products import never, shared_words

#: The numbers of a transform after those of all computations in pieces: its sizes, its steps in bytes, and the number of its pieces.
STEPS = ("image", "row", "column", "i", "j")
NUMBERS = ("images", "rows", "columns", "channels", *(f"from.{name}" for name in STEPS), *(f"to.{name}" for name in STEPS), "shares.number")
#: Nanoseconds, about, of reading or writing a number, and of the least piece.
NUMBER, PIECE = 0.07, 10_000


def tile_transform(matrix: Matrix) -> Transform | None:
    """What applies a matrix along both axes of tiles; None without a compiler, or a BLAS that can be limited to one thread meanwhile."""
    return None if compiler() is None or blas() is None else _tile_transform(matrix)


@cache
def _tile_transform(matrix: Matrix) -> Transform:
    def run(to: np.ndarray, to_steps: Sequence[int], source: np.ndarray, steps: Sequence[int], sizes: Sequence[int]) -> None:
        _bound(matrix, (*sizes, *steps, *to_steps))(to, source)

    return run


@lru_cache(1024)
def _bound(matrix: Matrix, numbers: tuple[int, ...]) -> BuiltinFunctionType:
    """The function of the arrays that are written and read, for some sizes and steps; it checks nothing."""
    own, library = compiler(), blas()
    assert own is not None  # `tile_transform` has asked
    assert library is not None
    images, rows, columns, channels = numbers[:4]
    tiles = images * rows * columns
    nanoseconds = NUMBER * tiles * channels * (len(matrix) ** 2 + len(matrix[0]) ** 2)
    pieces = max(1, min(workers.MOST, tiles, int(nanoseconds) // PIECE))
    code = _code(matrix)
    return builtin_of(code.address, code.library, [*shared_words(own, library, pieces, nanoseconds), *numbers, pieces], never, KEEP_GIL)


ON_CHANGE.append(_bound.cache_clear)  # the setting ``threads``


@cache
def _code(matrix: Matrix) -> Code:
    own = compiler()
    assert own is not None
    lanes = own.machine.vector_bits // 32
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words(NUMBERS)), "LANES": lanes}
    words["DATA"] = "\n".join(data_addresses(("to", "from"), own.machine.head))
    words["TILE"] = "\n".join(line for side in ("from", "to") for line in _address(side))
    words["LANE_NUMBERS"] = ", ".join(f"i64 {k}" for k in range(lanes))
    words["REST"] = "\n".join(f"  {line}" for line in splat("%rest.all", "%rest", "i64", lanes))
    functions = ("whole", False), ("part", True)
    words["FUNCTIONS"] = "\n".join(line for name, is_part in functions for line in transform_function(name, matrix, lanes, is_part))
    return code_of(own, "tile_transform", **words)


def _address(side: str) -> Iterator[str]:
    """The address of a tile."""
    before = f"%{side}.data"
    for axis in ("image", "row", "column"):
        after = f"%{side}.t" if axis == "column" else f"%{side}.in.{axis}"
        yield f"  %{side}.{axis}.offset = mul i64 %{axis}, %{side}.{axis}"
        yield f"  {after} = getelementptr i8, ptr {before}, i64 %{side}.{axis}.offset"
        before = after


def transform_function(name: str, matrix: Matrix, lanes: int, is_part: bool = False) -> Iterator[str]:
    """The function that transforms a vector of channels of a tile, or with a mask a part of one."""
    vector, mask = f"<{lanes} x float>", f"<{lanes} x i1>"
    before, after = range(len(matrix[0])), range(len(matrix))
    steps = ", ".join(f"i64 %{name}" for name in ("from.i", "from.j", "to.i", "to.j"))
    masked = f", {mask} %mask" if is_part else ""
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
