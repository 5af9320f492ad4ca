"""Machine code of the gradient of a weight by Winograd's algorithm; ``llvm/tile_weight.ll`` has its loops.

A piece has the sums of some filters and channels for all positions, and makes the elements of their kernels of these when the last tiles
have been added. A sum is a chain of fused multiply-adds over `TILES` tiles, and the sums of these are added in their order.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from twofold.config import ON_CHANGE

from ..blas import blas
from ..tiles import CHANNELS, MOST_PIECES, STEP, WIDE, Matrix, SumTiles, Tiling
from .callables import KEEP_GIL, builtin_of
from .compiler import Code, compiler
from .handoff import LINE, code_of, thread_memory
from .ir import products_added, sums_stored
from .llvm_text import data_addresses, llvm_text, loaded_words
from .products import never, shared_words, slots_of
from .tile_products import ITEM, PIECES, VECTOR, transposition
from .tile_transforms import transform_function

#: The numbers of the code after those of all computations in pieces.
NUMBERS = (
    *("channels", "filters.number", "parts", "tiles.number", "slots", "is.first", "is.last"),
    *("data.apart", "data.group", "results.apart", "results.group", "scratch.size", "elements.from", "sums.apart"),
)
#: Channels of a piece if there are enough, the most filters of a piece, and tiles that are added up before the next filters.
COLUMNS, MOST_FILTERS, TILES = WIDE, CHANNELS, 64


def _filters_at_once(columns: int, bits: int) -> int:
    """Filters whose sums of so many channels are in registers at once: there are fewer of narrow ones."""
    return 8 if bits == 512 else 4 * STEP // columns


def tile_weights(data: Tiling, results: Tiling, to_kernel: Matrix, is_first: bool, is_last: bool) -> SumTiles | None:
    """A function of transformed tiles of data and of results, sums and the weight, for a block of tiles; None without a compiler.

    Sums are only kept in their array if there are several blocks.
    """
    return None if compiler() is None or blas() is None else _bound(data, results, to_kernel, is_first, is_last)


@lru_cache(1024)
def _bound(data: Tiling, results: Tiling, to_kernel: Matrix, is_first: bool, is_last: bool) -> SumTiles:
    own, library = compiler(), blas()
    assert own is not None  # `tile_weights` has asked
    assert library is not None
    lanes = own.machine.vector_bits // 32
    # half as many channels of narrow registers, unless there would be too many pieces
    is_half = own.machine.vector_bits < 512 and data.channels // STEP * (results.channels // STEP) <= MOST_PIECES
    columns = COLUMNS if data.channels % COLUMNS == 0 and not is_half else STEP
    parts = data.channels // columns
    # as many filters as give enough pieces: what a piece reads of the data is read for all of them
    counts = [f for f in (MOST_FILTERS, COLUMNS) if results.channels % f == 0 and results.channels // f * parts >= PIECES]
    filters = counts[0] if counts else STEP
    pieces, positions = results.channels // filters * parts, len(to_kernel[0]) ** 2
    sums, is_kept = positions * filters * columns * ITEM, not (is_first and is_last)
    elements = 0 if is_kept else sums
    size = -(-(elements + 2 * _width(len(to_kernel), lanes) * lanes * ITEM) // LINE) * LINE
    nanoseconds = VECTOR * positions * data.number * data.channels * results.channels / lanes
    words = shared_words(own, library, pieces, nanoseconds)
    slots = slots_of(words)
    numbers = [*words, data.channels, filters, parts, data.number]
    numbers += [slots, is_first, is_last, data.apart, data.number * CHANNELS * ITEM, results.apart, data.number * CHANNELS * ITEM]
    numbers += [size, elements, sums if is_kept else 0]
    code = _code(to_kernel, columns, data.stride)
    run = builtin_of(code.address, code.library, numbers, never, KEEP_GIL)

    def add(data: np.ndarray, results: np.ndarray, sums: np.ndarray, weight: np.ndarray) -> None:
        run(data, results, sums, weight, thread_memory(slots, size))

    return add


ON_CHANGE.append(_bound.cache_clear)  # the setting ``threads``


@lru_cache(16)
def _code(to_kernel: Matrix, columns: int, stride: int) -> Code:
    """The code for so many channels of a piece, and kernels that move by a stride."""
    own = compiler()
    assert own is not None
    lanes, rows = own.machine.vector_bits // 32, _filters_at_once(columns, own.machine.vector_bits)
    vectors, step, kernel, tile = columns // lanes, lanes * ITEM, len(to_kernel), len(to_kernel[0])
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words(NUMBERS))}
    words["DATA"] = "\n".join(data_addresses(("data", "results", "sums", "out", "scratch"), own.machine.head))
    words |= {
        "TILES": TILES,
        "COLUMNS": columns,
        "ROWS": rows,
        "LANES": lanes,
        "VECTORS": vectors,
        "CHANNELS": CHANNELS,
        "POSITIONS": tile**2,
        "STEP": STEP,
    }
    phases = stride**2
    words |= {"PHASES": phases, "STRIDE": stride, "ALL_PHASES": STEP * phases, "PHASE_ROW": stride * kernel}
    words |= {"ELEMENTS": phases * kernel**2, "ELEMENTS_ROW": kernel * step, "VECTOR_BYTES": step}
    words |= {"SUMS_ROW": tile * columns * ITEM, "SUMS_LINE": columns * ITEM}
    words |= {name: "\n".join(lines) for name, lines in _multiplied(lanes, vectors, rows).items()}
    words["STORE"] = "\n".join(_stored(lanes, kernel) if stride == 1 else _stored_apart(lanes, kernel, stride))
    words["SQUARE"] = "\n".join(transposition(lanes, lanes))
    words["TRANSFORM"] = "\n".join(transform_function("whole", to_kernel, lanes))
    return code_of(own, "tile_weight", **words, SLOTS=llvm_text("slots"))


def _multiplied(lanes: int, vectors: int, rows: int) -> dict[str, list[str]]:
    """The parts of the function that multiplies, by name: the sums are in registers."""
    vector, cells = f"<{lanes} x float>", [f"{r}.{v}" for r, v in product(range(rows), range(vectors))]
    found = {"TILE_SUMS": [f"  %sum.{name} = phi {vector} [ zeroinitializer, %entry ], [ %next.{name}, %tile ]" for name in cells]}
    found["MULTIPLIED"] = [*products_added(lanes, vectors, "%data.t", rows, "%results.t", 1)]
    found["STORED"] = [*sums_stored(lanes, vectors, rows)]
    return found


def _stored(lanes: int, kernel: int) -> Iterator[str]:
    """Transpose the elements, which have the channels side by side, and store those of each kernel."""
    vector, size, width = f"<{lanes} x float>", kernel**2, _width(kernel, lanes)
    yield f"  %kernels = getelementptr [{lanes} x float], ptr %elements, i64 {width}"
    for first in range(0, size, lanes):
        yield f"  %rows.{first} = getelementptr [{lanes} x float], ptr %elements, i64 {first}"
        yield f"  %columns.{first} = getelementptr float, ptr %kernels, i64 {first}"
        yield f"  call void @transpose(ptr %rows.{first}, i64 {lanes * ITEM}, ptr %columns.{first}, i64 {width})"
    for k, first in product(range(lanes), range(0, size, lanes)):
        name, inside = f"{k}.{first}", [str(first + j < size).lower() for j in range(lanes)]
        yield f"  %from.{name} = getelementptr float, ptr %kernels, i64 {k * width + first}"
        yield f"  %x.{name} = load {vector}, ptr %from.{name}, align 4"
        yield f"  %to.{name} = getelementptr float, ptr %out, i64 {k * size + first}"
        mask = f"<{lanes} x i1> <{', '.join(f'i1 {one}' for one in inside)}>"
        yield f"  call void @llvm.masked.store.v{lanes}f32.p0({vector} %x.{name}, ptr %to.{name}, i32 4, {mask})"


def _stored_apart(lanes: int, kernel: int, stride: int) -> Iterator[str]:
    """Store the elements of a phase of each kernel, between which there are those of the other phases."""
    side = stride * kernel
    for k, i, j in product(range(lanes), range(kernel), range(kernel)):
        name = f"{k}.{i}.{j}"
        yield f"  %from.{name} = getelementptr float, ptr %elements, i64 {(i * kernel + j) * lanes + k}"
        yield f"  %x.{name} = load float, ptr %from.{name}, align 4"
        yield f"  %to.{name} = getelementptr float, ptr %out, i64 {k * side**2 + stride * (i * side + j)}"
        yield f"  store float %x.{name}, ptr %to.{name}, align 4"


def _width(kernel: int, lanes: int) -> int:
    """The elements of a kernel in whole vectors."""
    return -(-(kernel**2) // lanes) * lanes
