"""Products of float32 matrices in machine code that packs both operands itself; ``llvm/packed_product.ll`` has it.

The numbers may be pairs of bfloat16 (`twofold_numpy.bfloat16_products`), where the processor multiplies these: they are copied like floats.

It is for processors with vectors of 512 bits (`twofold_numpy.packing`). OpenBLAS' kernels for them take up to twice as long for operands
with few rows, and a few percent longer for most others. A sum is one chain of fused multiply-adds for each block of the inner axis, and
the blocks' sums are added in their order: bits depend neither on threads nor on other rows and columns.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from twofold.backend import workers

from ..blas import Blas
from ..memory import scratch_memory
from ..packing import LANES, ROWS, rounded
from ..products import InnerProduct, Multiplication, Piece, Product
from .callables import KEEP_GIL, builtin_of
from .compiler import compiler
from .handoff import code_of
from .ir import products_added, splat
from .llvm_text import SHARED_WORDS, data_addresses, loaded_piece, loaded_words
from .panels import COLUMNS, VECTORS, pack_text
from .products import never, shared_words

#: The largest blocks that are packed: rows of the left operand, which fit the L2 cache, columns of the right one, and places of the inner
#: axis.
MOST_ROWS, MOST_COLUMNS, DEPTH = 128, 512, 512
#: Bytes of a number, and of a cache line.
ITEM, LINE = 4, 64
#: Numbers of a product. Steps are in bytes.
STEPS = ("a.row", "a.inner", "b.inner", "b.column", "c.row", "a.step", "b.step", "c.step", "a.apart", "b.apart")
NUMBERS = ("scratch.size", "right.offset", "inner", "depth", "stack", *STEPS)
#: Numbers of a piece: its sizes, its offsets in bytes within the matrices of operands and result, and where its products begin and end.
PIECE = ("rows", "columns", "a.from", "b.from", "c.from", "first", "end")
#: The arrays in the order in which they are given.
ARRAYS = ("a", "b", "c", "scratch")


def packed_product(library: Blas, of: Multiplication | InnerProduct) -> Product | None:
    """A function ``product(a, b, out)`` for arrays of these layouts, which it does not check; None for products that BLAS computes."""
    own = compiler()
    if own is None or own.machine.vector_bits != 32 * LANES or not isinstance(of, Multiplication) or not of.is_packed:
        return None
    if of.pairs and not own.has_bfloat16_products:
        return None
    code = code_of(own, "packed_product", **_words(own.machine.head, of.pairs))
    # a single thread packs nothing twice; the bits are the same
    pieces = of.pieces if workers.count() > 1 else ((0, of.batch, 0, of.rows, 0, of.columns),)
    numbers = shared_words(own, library, len(pieces), of.nanoseconds)
    depth = -(-of.inner // -(-of.inner // DEPTH))
    left, scratch = _scratch(pieces, depth)
    (a_step, *a), (b_step, *b), (out_step, row, item) = of.strides
    numbers += [scratch, left, of.inner, depth, of.stack or of.batch, *a, *b, row, a_step, b_step, out_step, *of.apart]
    for lo, hi, top, bottom, first, last in pieces:
        numbers += [bottom - top, last - first, top * a[0], first * b[1], top * row + first * item, lo, hi]
    run, size = builtin_of(code.address, code.library, numbers, never, KEEP_GIL), len(pieces) * scratch + LINE

    def product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        run(a, b, out, scratch_memory(size))

    return product


def _scratch(pieces: Sequence[Piece], depth: int) -> tuple[int, int]:
    """Bytes of the packed left operand, and of both, of the largest piece; ``depth`` is the length of a block of the inner axis."""
    rows = min(max(bottom - top for _, _, top, bottom, _, _ in pieces), MOST_ROWS)
    columns = min(max(last - first for *_, first, last in pieces), MOST_COLUMNS)
    left = rounded(rounded(rows, ROWS) * depth * ITEM, LINE)
    return left, left + rounded(columns, COLUMNS) * depth * ITEM


def _words(head: int, pairs: bool) -> dict[str, str | int]:
    """What fills in the text."""
    words: dict[str, str | int] = {"LANES": LANES, "ROWS": ROWS, "COLUMNS": COLUMNS, "MOST_ROWS": MOST_ROWS, "MOST_COLUMNS": MOST_COLUMNS}
    table = f"  %table = getelementptr i64, ptr %words, i64 {SHARED_WORDS + len(NUMBERS)}"
    words |= {"WORDS": "\n".join([*loaded_words(NUMBERS), table]), "PIECE": "\n".join(loaded_piece(PIECE)), "DATA": "\n".join(_data(head))}
    words["PACK"] = pack_text(COLUMNS)
    return words | {"TILES": "\n".join(line for vectors in range(1, VECTORS + 1) for line in _tile(vectors, pairs))}


def _data(head: int) -> Iterator[str]:
    """The addresses of the arrays' elements, and where those of this piece begin."""
    yield from data_addresses(ARRAYS, head)
    for name in ARRAYS[:3]:
        yield f"  %{name}.first = getelementptr i8, ptr %{name}.data, i64 %{name}.from"
    yield f"  %scratch.address = ptrtoint ptr %scratch.data to i64\n  %scratch.above = add i64 %scratch.address, {LINE - 1}"
    yield f"  %scratch.aligned = and i64 %scratch.above, {-LINE}\n  %scratch.first = inttoptr i64 %scratch.aligned to ptr"


def _tile(vectors: int, pairs: bool) -> Iterator[str]:
    """The function that multiplies a panel of the left operand with some vectors of one of the right operand, in registers."""
    vector, mask = f"<{LANES} x float>", f"<{LANES} x i1>"
    cells = [(r, v) for r in range(ROWS) for v in range(vectors)]
    yield f"define internal void @tile_{vectors}(ptr %a, ptr %b, i64 %inner, ptr %c, i64 %c.row, i64 %rows, i64 %columns, i1 %adds)"
    yield "noinline nounwind {\nentry:"
    for r in range(ROWS):
        yield f"  %c.{r}.offset = mul i64 %c.row, {r}\n  %c.{r} = getelementptr i8, ptr %c, i64 %c.{r}.offset"
        yield f"  call void @llvm.prefetch.p0(ptr %c.{r}, i32 1, i32 3, i32 1)"
    yield "  br label %place\nplace:\n  %p = phi i64 [ 0, %entry ], [ %p.next, %place ]"
    yield from (f"  %sum.{r}.{v} = phi {vector} [ zeroinitializer, %entry ], [ %next.{r}.{v}, %place ]" for r, v in cells)
    yield f"  %a.place = getelementptr [{ROWS} x float], ptr %a, i64 %p\n  %b.place = getelementptr [{COLUMNS} x float], ptr %b, i64 %p"
    yield from products_added(LANES, vectors, "%b.place", ROWS, "%a.place", 1, pairs)
    yield "  %p.next = add i64 %p, 1\n  %more = icmp ult i64 %p.next, %inner\n  br i1 %more, label %place, label %store\nstore:"
    yield from (f"  {line}" for line in splat("%adds.all", "%adds", "i1", LANES))
    for v in range(vectors):
        # the lanes inside the result, and of these the ones that already hold a sum
        yield f"  %left.{v} = sub i64 %columns, {v * LANES}"
        yield from (f"  {line}" for line in splat(f"%left.{v}.all", f"%left.{v}", "i64", LANES))
        numbers = ", ".join(f"i64 {k}" for k in range(LANES))
        yield f"  %mask.{v} = icmp slt <{LANES} x i64> <{numbers}>, %left.{v}.all\n  %known.{v} = and {mask} %mask.{v}, %adds.all"
    yield "  br label %row.0"
    for r in range(ROWS):
        yield f"row.{r}:"
        for v in range(vectors):
            yield f"  %to.{r}.{v} = getelementptr float, ptr %c.{r}, i64 {v * LANES}"
            load = f"@llvm.masked.load.v{LANES}f32.p0(ptr %to.{r}.{v}, i32 4, {mask} %known.{v}, {vector} zeroinitializer)"
            yield f"  %before.{r}.{v} = call {vector} {load}\n  %all.{r}.{v} = fadd {vector} %before.{r}.{v}, %next.{r}.{v}"
            yield f"  call void @llvm.masked.store.v{LANES}f32.p0({vector} %all.{r}.{v}, ptr %to.{r}.{v}, i32 4, {mask} %mask.{v})"
        yield f"  %is.more.{r} = icmp ugt i64 %rows, {r + 1}" if r + 1 < ROWS else ""
        yield f"  br i1 %is.more.{r}, label %row.{r + 1}, label %end" if r + 1 < ROWS else "  br label %end"
    yield "end:\n  ret void\n}"
