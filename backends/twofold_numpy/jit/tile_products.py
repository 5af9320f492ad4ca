"""Machine code of the products of Winograd's algorithm, with the transforms of kernels and results; ``llvm/tile_product.ll`` has its loops.

The transforms are most of the text, and take most of the time to compile. So the sums, whose text depends on how many tiles and filters are
in registers, are functions of their own, ``llvm/tile_sums.ll``, for all sizes of kernels and layouts.

A piece computes the results of some filters from all channels of the transformed tiles. It transforms their kernels itself: they are
36 numbers for each 9 of a weight with 3x3, which memory and other cores would not give as fast as they are computed. A sum is a chain of
fused multiply-adds over the channels whose kernels are in the cache at once, and these sums are added in their order: bits depend neither
on threads nor on other filters and tiles, and errors grow little with the number of channels.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from twofold.config import ON_CHANGE

from ..blas import blas
from ..tiles import CHANNELS, STEP, WIDE, Images, Matrix, MultiplyTiles, Tiling
from .callables import KEEP_GIL, builtin_of
from .compiler import Code, compiler
from .handoff import LINE, code_of, thread_memory
from .ir import products_added, splat, sums_stored
from .llvm_text import data_addresses, llvm_text, loaded_words
from .products import never, shared_words, slots_of
from .tile_transforms import transform_function
from .transpose import square

#: The numbers of the code after those of all computations in pieces.
SIZES = (
    *("multiply", "filters", "block.tiles"),
    *("channels", "depth", "tiles.number", "blocks", "splits", "slots", "rows", "across", "height", "width"),
)
STEPS = (
    "weight.filter",
    "weight.channel",
    "kernels.apart",
    "tiles.apart",
    "tiles.group",
    "out.image",
    "out.channel",
    "out.row",
    "out.column",
)
SCRATCH = ("scratch.size", "elements.from", "pixels.from", "sums.from")
#: The filters of a piece, if there are enough pieces, or else.
MANY, FEW = WIDE, STEP
#: Pieces that are wanted, and the least tiles of a piece, for which its kernels are transformed.
PIECES, LEAST_TILES = 8, 100
#: Sums that are held in registers, where there are 32 of these or 16.
MOST_SUMS, MOST_SUMS_OF_16 = 28, 12
#: Bytes of transformed kernels that stay in a core's cache.
KEPT = 320 << 10
#: Bytes of a number.
ITEM = 4
#: Nanoseconds of a vector of products, about.
VECTOR = 0.3


def tile_products(of: Tiling, out: Images, of_kernel: Matrix, to_results: Matrix, is_of_data: bool, stride: int) -> MultiplyTiles | None:
    """A function of a weight, transformed tiles and the result, for these sizes and steps; None without a compiler."""
    return None if compiler() is None or blas() is None else _bound(of, out, of_kernel, to_results, is_of_data, stride)


@lru_cache(1024)
def _bound(of: Tiling, out: Images, of_kernel: Matrix, to_results: Matrix, is_of_data: bool, stride: int) -> MultiplyTiles:
    own, library = compiler(), blas()
    assert own is not None  # `tile_products` has asked
    assert library is not None
    lanes = own.machine.vector_bits // 32
    filters = MANY if out.channels % MANY == 0 and out.channels >= PIECES * MANY else FEW
    vectors = filters // lanes
    most = max(1, (MOST_SUMS_OF_16 if own.machine.vector_bits == 256 else MOST_SUMS) // vectors)
    blocks = -(-of.number // most)
    tiles = -(-of.number // blocks)
    groups = out.channels // filters
    splits = max(1, min(-(-PIECES // groups), of.number // LEAST_TILES, blocks))
    positions, kernel = len(of_kernel) ** 2, (stride * len(of_kernel[0])) ** 2 * ITEM
    read = _read(len(of_kernel[0]), stride, is_of_data)
    depth = max(CHANNELS, KEPT // (positions * filters * ITEM) // CHANNELS * CHANNELS)
    apart = (min(depth, of.channels) * filters * ITEM // LINE | 1) * LINE
    parts = [positions * apart, (read + 1) * lanes * lanes * ITEM, 2 * _width(of.results, lanes) * lanes * ITEM]
    offsets = [sum(parts[:k]) for k in range(len(parts) + 1)]
    size = offsets[-1] + positions * -(-blocks // splits) * tiles * filters * ITEM
    pieces = groups * splits
    nanoseconds = VECTOR * positions * of.number * of.channels * out.channels / lanes
    step = stride if is_of_data else 1
    code, multiply = _code(of_kernel, to_results, 0 if out.is_last(step) else step, is_of_data, stride), _sums_code(filters, tiles)
    # from filter to filter and from channel to channel, whichever is the first axis of the weight
    steps = [kernel, out.channels * kernel] if is_of_data else [of.channels // of.stride**2 * kernel, kernel]
    words = shared_words(own, library, pieces, nanoseconds)
    slots = slots_of(words)
    numbers = [*words, multiply.address, filters, tiles, of.channels, depth, of.number, blocks, splits, slots, of.rows, of.across]
    numbers += [*out.size, *steps, apart, of.apart, of.number * CHANNELS * ITEM, *out.strides, size, *offsets[1:]]
    run = builtin_of(code.address, (code.library, multiply.library), numbers, never, KEEP_GIL)

    def products(weight: np.ndarray, tiles: np.ndarray, out: np.ndarray) -> None:
        run(weight, tiles, out, thread_memory(slots, size))

    return products


ON_CHANGE.append(_bound.cache_clear)  # the setting ``threads``


@lru_cache(256)
def _code(of_kernel: Matrix, to_results: Matrix, out_step: int, is_of_data: bool, stride: int) -> Code:
    """The code of a piece, apart from `_sums_code`.

    Results have channels last in memory, if ``out_step`` is 0, or else pixels of a row so many numbers apart. Kernels that move by a stride
    are taken apart into one for each phase of the images; for the gradient of the data, one of these is given.
    """
    own = compiler()
    assert own is not None
    lanes = own.machine.vector_bits // 32
    step, tile, kernel, results = lanes * ITEM, len(of_kernel), len(of_kernel[0]), len(to_results)
    read = _read(kernel, stride, is_of_data)
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words((*SIZES, *STEPS, *SCRATCH)))}
    words["DATA"] = "\n".join(data_addresses(("weight", "tiles", "out", "scratch"), own.machine.head))
    words |= {"LANES": lanes, "CHANNELS": CHANNELS, "STEP": STEP, "ITEM": ITEM}
    words |= {"TILE": tile, "POSITIONS": tile**2, "RESULTS": results, "TILE_BYTES": CHANNELS * ITEM, "VECTOR_BYTES": step}
    words |= {"PIXELS_ROW": results * step, "ELEMENTS": read, "ELEMENTS_ROW": stride * kernel, "STRIDE": stride}
    words |= {"KERNEL_ROW": stride**2 * kernel * step, "KERNEL_COLUMN": stride * step}
    phases = 1 if is_of_data else stride**2
    words |= {"PHASES": phases, "ALL_PHASES": STEP * phases}
    # squares of filters and elements: those of one channel, or of as many channels as there are lanes, one after the other
    squares = (lanes, "%weight.channel", read) if is_of_data else (read, step, lanes)
    words |= dict(zip(("SQUARES", "SQUARE_APART", "SQUARE_ELEMENTS"), squares, strict=True))
    words["PREFETCHES"] = "\n".join(_prefetches(lanes))
    words["SQUARE"], words["OF_SQUARE"] = (
        "\n".join(transposition(lanes, lanes)),
        "\n".join(transposition(lanes, read if is_of_data else lanes)),
    )
    words["STORE"] = "\n".join(_stored_first(lanes, results, out_step) if out_step else _stored_last(lanes, results))
    transforms = ((of_kernel, "whole_kernel"), (to_results, "whole_results"))
    words["TRANSFORMS"] = "\n".join(line for matrix, name in transforms for line in transform_function(name, matrix, lanes))
    return code_of(own, "tile_product", **words, SLOTS=llvm_text("slots"))


@lru_cache(256)
def _sums_code(filters: int, tiles: int) -> Code:
    """The code for so many filters of a piece and tiles at once, whose sums are in registers."""
    own = compiler()
    assert own is not None
    lanes = own.machine.vector_bits // 32
    parts = {name: "\n".join(lines) for name, lines in _multiplied(lanes, filters // lanes, tiles).items()}
    return own.built(llvm_text("tile_sums", FILTERS=filters, CHANNELS=CHANNELS, **parts))


def _read(kernel: int, stride: int, is_of_data: bool) -> int:
    """The elements of a kernel that are read: all phases, or for the gradient of the data those of one from its first to its last."""
    whole = stride * kernel
    return stride * (kernel - 1) * (whole + 1) + 1 if is_of_data else whole**2


def _prefetches(lanes: int) -> Iterator[str]:
    """Fetch what the next channels have of the filters' elements, as much as is transposed now."""
    yield "  %later.0 = getelementptr i8, ptr %from, i64 %chunk.size"
    for k in range(lanes):
        yield f"  %later.{k} = getelementptr i8, ptr %later.{k - 1}, i64 %weight.filter" if k else ""
        yield f"  call void @llvm.prefetch.p0(ptr %later.{k}, i32 0, i32 3, i32 1)"


def transposition(lanes: int, width: int) -> Iterator[str]:
    """Transpose ``width`` columns of as many rows as there are lanes, a square after the other; columns beyond them are taken for zeros."""
    yield from (f"  %x.{k} = getelementptr i8, ptr %x.{k - 1}, i64 %step" for k in range(1, lanes))
    for first in range(0, width, lanes):
        inside = [str(first + k < width).lower() for k in range(lanes)]
        mask = f"<{', '.join(f'i1 {one}' for one in inside)}>" if "false" in inside else ""
        yield from square("float", ITEM, lanes, first, "width", mask)


def _multiplied(lanes: int, vectors: int, tiles: int) -> dict[str, list[str]]:
    """The parts of the function that multiplies, by name: sums of tiles and filters are in registers."""
    vector, cells = f"<{lanes} x float>", [f"{t}.{v}" for t, v in product(range(tiles), range(vectors))]
    found: dict[str, list[str]] = {"GROUP_SUMS": [], "CHANNEL_SUMS": []}
    for name in cells:
        found["GROUP_SUMS"].append(f"  %earlier.{name} = phi {vector} [ zeroinitializer, %entry ], [ %next.{name}, %group.done ]")
        found["CHANNEL_SUMS"].append(f"  %sum.{name} = phi {vector} [ %earlier.{name}, %group ], [ %next.{name}, %channel ]")
    found["MULTIPLIED"] = [*products_added(lanes, vectors, "%kernels.c", tiles, "%tiles.c", CHANNELS)]
    found["STORED"] = [*sums_stored(lanes, vectors, tiles)]
    return found


def _stored_last(lanes: int, results: int) -> Iterator[str]:
    """Store the filters' results of a pixel side by side."""
    vector = f"<{lanes} x float>"
    yield "  br label %pixel.0.0"
    places = [*product(range(results), range(results))]
    for n, (i, j) in enumerate(places):
        after = "pixel.{}.{}".format(*places[n + 1]) if n + 1 < len(places) else "done"
        name = f"{i}.{j}"
        yield f"pixel.{name}:\n  %is.row.{name} = icmp sgt i64 %height, {i}\n  %is.column.{name} = icmp sgt i64 %width, {j}"
        yield f"  %is.inside.{name} = and i1 %is.row.{name}, %is.column.{name}"
        yield f"  br i1 %is.inside.{name}, label %inside.{name}, label %{after}\ninside.{name}:"
        yield f"  %from.{name} = getelementptr {vector}, ptr %pixels, i64 {n}\n  %x.{name} = load {vector}, ptr %from.{name}, align 4"
        yield f"  %row.{name} = mul i64 %row, {i}\n  %column.{name} = mul i64 %column, {j}"
        yield f"  %to.{name} = add i64 %row.{name}, %column.{name}"
        yield f"  %at.{name} = getelementptr i8, ptr %out, i64 %to.{name}\n  store {vector} %x.{name}, ptr %at.{name}, align 4"
        yield f"  br label %{after}"
    yield "done:"


def _stored_first(lanes: int, results: int, step: int) -> Iterator[str]:
    """Transpose the results, and store the pixels of a row of each filter side by side."""
    several = 1 << (results - 1).bit_length()
    spread = f"<{step * several} x float>"
    row, size = f"<{several} x float>", _width(results, lanes)
    # not by masks where that is not needed: with vectors of 256 bits they cost ten times as much
    is_whole = step == 1 and several == results
    yield f"  %is.wide = icmp sge i64 %width, {results}"
    yield f"  %planes = getelementptr float, ptr %pixels, i64 {size * lanes}"
    for k in range(size // lanes):
        yield f"  %from.{k} = getelementptr float, ptr %pixels, i64 {k * lanes * lanes}"
        yield f"  %to.{k} = getelementptr float, ptr %planes, i64 {k * lanes}"
        yield f"  call void @transpose(ptr %from.{k}, i64 {lanes * ITEM}, ptr %to.{k}, i64 {size})"
    yield f"  %some = call i64 @llvm.smin.i64(i64 %width, i64 {results})"
    yield from (f"  {line}" for line in splat("%width.all", "%some", "i64", step * several))
    # between two pixels there is nothing to store
    numbers = ", ".join(f"i64 {k // step if k % step == 0 else 1 << 62}" for k in range(step * several))
    yield f"  %mask = icmp slt <{step * several} x i64> <{numbers}>, %width.all\n  br label %plane"
    yield "plane:\n  %f = phi i64 [ 0, %entry ], [ %f.next, %plane.done ]"
    yield f"  %plane.from = getelementptr [{size} x float], ptr %planes, i64 %f"
    yield "  %plane.offset = mul i64 %f, %channel\n  %plane.to = getelementptr i8, ptr %out, i64 %plane.offset\n  br label %row.0"
    places = ", ".join(f"i32 {k // step}" for k in range(step * several))
    for i in range(results):
        after = f"row.{i + 1}" if i + 1 < results else "plane.done"
        yield f"row.{i}:\n  %is.row.{i} = icmp sgt i64 %height, {i}\n  br i1 %is.row.{i}, label %inside.{i}, label %plane.done\ninside.{i}:"
        yield f"  %from.row.{i} = getelementptr float, ptr %plane.from, i64 {i * results}"
        yield f"  %x.{i} = load {row}, ptr %from.row.{i}, align 4"
        yield f"  %spread.{i} = shufflevector {row} %x.{i}, {row} poison, <{step * several} x i32> <{places}>"
        yield f"  %to.row.{i}.offset = mul i64 %row, {i}\n  %to.row.{i} = getelementptr i8, ptr %plane.to, i64 %to.row.{i}.offset"
        if is_whole:
            yield f"  br i1 %is.wide, label %whole.{i}, label %some.{i}\nwhole.{i}:"
            yield f"  store {row} %x.{i}, ptr %to.row.{i}, align 4\n  br label %{after}\nsome.{i}:"
        masked = f"{spread} %spread.{i}, ptr %to.row.{i}, i32 4, <{step * several} x i1> %mask"
        yield f"  call void @llvm.masked.store.v{step * several}f32.p0({masked})"
        yield f"  br label %{after}"
    yield f"plane.done:\n  %f.next = add i64 %f, 1\n  %more = icmp ult i64 %f.next, {lanes}\n  br i1 %more, label %plane, label %end\nend:"


def _width(results: int, lanes: int) -> int:
    """The pixels of a tile's results in whole vectors, with room for a whole vector after the last row's first pixel."""
    return -(-(results * (results - 1) + (1 << (results - 1).bit_length())) // lanes) * lanes
