"""Machine code that transforms tiles of images for Winograd's algorithm; ``llvm/image_tiles.ll`` has its loops.

It reads images as they are, with channels first or last, so they are not copied with channels last and a border of zeros before.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from twofold.backend import workers
from twofold.backend.strides import Sizes
from twofold.config import ON_CHANGE

from ..blas import blas
from ..memory import scratch_memory
from ..tiles import CHANNELS, STEP, Images, Matrix, Tiling, TransformTiles
from .callables import KEEP_GIL, builtin_of
from .compiler import Code, compiler
from .handoff import code_of
from .ir import splat
from .llvm_text import data_addresses, loaded_words
from .products import never, shared_words
from .tile_transforms import NUMBER, PIECE, transform_function
from .transpose import square

#: The numbers of the code after those of all computations in pieces.
SIZES = ("images", "groups", "row.first", "rows", "across", "height", "width", "pad.top", "pad.left")
STEPS = ("in.image", "in.channel", "in.row", "in.column", "tiles.apart", "tiles.group", "scratch.size", "shares")
ITEM, LINE = 4, 64


def image_tiles(of: Tiling, images: Images, pad: Sizes, matrix: Matrix) -> TransformTiles | None:
    """A function of images and the transformed tiles, for these sizes and steps; None without a compiler."""
    return None if compiler() is None or blas() is None else _bound(of, images, pad, matrix)


@lru_cache(1024)
def _bound(of: Tiling, images: Images, pad: Sizes, matrix: Matrix) -> TransformTiles:
    own, library = compiler(), blas()
    assert own is not None  # `image_tiles` has asked
    assert library is not None
    lanes = own.machine.vector_bits // 32
    groups, tiles = images.channels // lanes, of.number
    nanoseconds = NUMBER * 2 * tiles * images.channels * len(matrix) ** 2
    pieces = max(1, min(workers.MOST, of.images * of.rows * groups, int(nanoseconds) // PIECE))
    # lines are copied in vectors, of which the last one may reach beyond the line
    pixels = len(matrix[0])
    size = -(-(pixels * (of.results * of.across + pixels - of.results) + lanes) * lanes * ITEM // LINE) * LINE
    code = _code(matrix, of.results, of.stride, images.is_last(of.stride))
    numbers = [*shared_words(own, library, pieces, nanoseconds), of.images, groups, of.first, of.rows, of.across, *images.size, *pad]
    numbers += [*images.strides, of.apart, tiles * CHANNELS * ITEM, size, pieces]
    run = builtin_of(code.address, code.library, numbers, never, KEEP_GIL)

    def transform(images: np.ndarray, tiles: np.ndarray) -> None:
        run(images, tiles, scratch_memory(pieces * size + LINE))

    return transform


ON_CHANGE.append(_bound.cache_clear)  # the setting ``threads``


@lru_cache(16)
def _code(matrix: Matrix, results: int, stride: int, is_last: bool) -> Code:
    """The code for images with channels last in memory; or else with pixels of a row ``stride`` numbers apart."""
    own = compiler()
    assert own is not None
    lanes = own.machine.vector_bits // 32
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words((*SIZES, *STEPS)))}
    words["DATA"] = "\n".join(data_addresses(("in", "tiles", "scratch"), own.machine.head))
    words |= {"LANES": lanes, "VECTOR_BYTES": lanes * ITEM, "CHANNELS": CHANNELS, "TILE_BYTES": CHANNELS * ITEM}
    words |= {"STEP": STEP, "ALL_PHASES": STEP * stride**2}
    words |= {"TILE": len(matrix), "RESULTS": results, "PIXELS": len(matrix[0]), "OVERLAP": len(matrix[0]) - results}
    words["COPY"] = "\n".join(_channels_last(lanes) if is_last else _channels_first(lanes, stride))
    words["TRANSFORM"] = "\n".join(transform_function("whole", matrix, lanes))
    return code_of(own, "image_tiles", **words)


def _channels_last(lanes: int) -> Iterator[str]:
    """Copy the channels of a pixel after the other."""
    yield "entry:\n  br label %pixel\npixel:\n  %x = phi i64 [ 0, %entry ], [ %x.next, %pixel ]"
    yield "  %x.offset = mul i64 %x, %column\n  %at = getelementptr i8, ptr %from, i64 %x.offset"
    yield f"  %some = load <{lanes} x float>, ptr %at, align 4"
    yield f"  %to.x = getelementptr [{lanes} x float], ptr %to, i64 %x\n  store <{lanes} x float> %some, ptr %to.x, align 4"
    yield "  %x.next = add i64 %x, 1\n  %more = icmp ult i64 %x.next, %width\n  br i1 %more, label %pixel, label %end\nend:\n  ret void"


def _channels_first(lanes: int, step: int) -> Iterator[str]:
    """Transpose squares of channels and pixels; what would be beyond the line is zero."""
    yield "entry:"
    if step > 1:
        yield f"  %rows = alloca [{lanes} x <{lanes} x float>], align {LINE}"
    yield "  br label %square"
    yield "square:\n  %x = phi i64 [ 0, %entry ], [ %x.next, %square ]"
    yield f"  %x.first = mul i64 %x, {step}\n  %from.x = getelementptr float, ptr %from, i64 %x.first"
    yield f"  %tile.to = getelementptr [{lanes} x float], ptr %to, i64 %x\n  %left = sub i64 %width, %x"
    yield from (f"  {line}" for line in splat("%left.all", "%left", "i64", lanes))
    yield f"  %side = add i64 0, {lanes}"
    yield from _copied_together(lanes, step) if step > 1 else _in_place(lanes)
    yield from square("float", ITEM, lanes, 0, "side", "" if step > 1 else "%mask")
    yield f"  %x.next = add i64 %x, {lanes}\n  %more = icmp ult i64 %x.next, %width"
    yield "  br i1 %more, label %square, label %end\nend:\n  ret void"


def _in_place(lanes: int) -> Iterator[str]:
    """Where the pixels of each channel are, ``%x.…``, and which of them are in the line."""
    yield "  %x.0 = getelementptr i8, ptr %from.x, i64 0"
    yield from (f"  %x.{k} = getelementptr i8, ptr %x.{k - 1}, i64 %channel" for k in range(1, lanes))
    yield f"  %mask = icmp slt <{lanes} x i64> <{', '.join(f'i64 {k}' for k in range(lanes))}>, %left.all"


def _copied_together(lanes: int, step: int) -> Iterator[str]:
    """Copy the pixels of each channel, which are apart in memory, side by side: ``%x.…`` are where."""
    vector, mask = f"<{lanes} x float>", f"<{lanes} x i1>"
    for part in range(step):
        # which pixel an element of a vector is; there is none between two
        pixels = [divmod(part * lanes + k, step) for k in range(lanes)]
        numbers = ", ".join(f"i64 {pixel if not rest else 1 << 62}" for pixel, rest in pixels)
        yield f"  %mask.{part} = icmp slt <{lanes} x i64> <{numbers}>, %left.all"
    places = ", ".join(f"i32 {k * step}" for k in range(lanes))
    for k in range(lanes):
        before = f"ptr %row.{k - 1}, i64 %channel" if k else "ptr %from.x, i64 0"
        yield f"  %row.{k} = getelementptr i8, {before}"
        for part in range(step):
            yield f"  %some.{k}.{part}.at = getelementptr float, ptr %row.{k}, i64 {part * lanes}"
            load = f"@llvm.masked.load.v{lanes}f32.p0(ptr %some.{k}.{part}.at, i32 {ITEM}, {mask} %mask.{part}, {vector} zeroinitializer)"
            yield f"  %some.{k}.{part} = call {vector} {load}"
        yield f"  %row.{k}.all = shufflevector {vector} %some.{k}.0, {vector} %some.{k}.1, <{lanes} x i32> <{places}>"
        yield f"  %x.{k} = getelementptr <{lanes} x float>, ptr %rows, i64 {k}\n  store {vector} %row.{k}.all, ptr %x.{k}, align 4"
