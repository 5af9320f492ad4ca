"""Products of a few rows of float32 and a large matrix whose columns are contiguous, in machine code; ``llvm/row_product.ll`` has it.

A layer with the weight (outputs, inputs) and a small batch is such a product. The matrix is read from memory once, and nothing is copied.
An element is a sum in lanes over each block of the inner axis, and the blocks' sums are added in their order: bits depend neither on
threads nor on other rows and columns.
"""

from collections.abc import Iterator

from ..blas import Blas
from ..packing import LANES
from ..products import FEW, InnerProduct, Multiplication, Product
from .callables import KEEP_GIL, builtin_of
from .compiler import compiler
from .handoff import code_of
from .ir import added_lanes, product_added, splat
from .llvm_text import SHARED_WORDS, data_addresses, loaded_piece, loaded_words
from .products import never, shared_words

#: Places of the inner axis in a block: those of all rows take half of the first cache.
DEPTH = 512
#: Numbers of a product, with steps in bytes; those of a piece: its columns, and its offsets in the matrix and the result in bytes.
NUMBERS = ("rows", "inner", "a.row", "b.column", "c.row")
PIECE = ("columns", "b.from", "c.from")
#: The columns that are multiplied at once.
COLUMNS = 2


def row_product(library: Blas, of: Multiplication | InnerProduct) -> Product | None:
    """A function ``product(a, b, out)`` for arrays of these layouts, which it does not check; None for any other product."""
    own = compiler()
    if own is None or own.machine.vector_bits != 32 * LANES or not isinstance(of, Multiplication) or not of.is_few_rows:
        return None
    if of.pairs and not own.has_bfloat16_products:
        return None
    code = code_of(own, "row_product", **_words(own.machine.head, of.pairs))
    (_, a_row, _), (_, _, b_column), (_, c_row, item) = of.strides
    numbers = [*shared_words(own, library, len(of.pieces), of.nanoseconds), of.rows, of.inner, a_row, b_column, c_row]
    for *_, first, last in of.pieces:
        numbers += [last - first, first * b_column, first * item]
    return builtin_of(code.address, code.library, numbers, never, KEEP_GIL)


def _words(head: int, pairs: bool) -> dict[str, str | int]:
    """What fills in the text."""
    table = f"  %table = getelementptr i64, ptr %words, i64 {SHARED_WORDS + len(NUMBERS)}"
    words: dict[str, str | int] = {"LANES": LANES, "ROWS": FEW, "DEPTH": DEPTH, "PIECE_SIZE": len(PIECE)}
    words |= {"WORDS": "\n".join([*loaded_words(NUMBERS), table]), "PIECE": "\n".join(loaded_piece(PIECE)), "DATA": "\n".join(_data(head))}
    return words | {"ROW_ADDRESSES": "\n".join(_rows()), "PLACE": "\n".join(_place(pairs)), "END": "\n".join(_end(pairs))}


def _data(head: int) -> Iterator[str]:
    yield from data_addresses(("a", "b", "c"), head)
    yield "  %a.first = getelementptr i8, ptr %a.data, i64 0"
    yield from (f"  %{name}.first = getelementptr i8, ptr %{name}.data, i64 %{name}.from" for name in "bc")


def _rows() -> Iterator[str]:
    for r in range(FEW):
        yield f"  %row.{r} = call i64 @llvm.umin.i64(i64 {r}, i64 %last)\n  %a.{r}.offset = mul i64 %row.{r}, %a.row"
        yield f"  %a.{r} = getelementptr i8, ptr %a, i64 %a.{r}.offset"


_CELLS = [(r, v) for r in range(FEW) for v in range(COLUMNS)]
_VECTOR, _MASK = f"<{LANES} x float>", f"<{LANES} x i1>"


def _place(pairs: bool) -> Iterator[str]:
    """Add the products of a vector of places."""
    yield from (f"  %sum.{r}.{v} = phi {_VECTOR} [ zeroinitializer, %entry ], [ %next.{r}.{v}, %place ]" for r, v in _CELLS)
    yield from _products("place", "%p", "sum", "next", "", pairs)


def _products(label: str, place: str, before: str, after: str, mask: str, pairs: bool) -> Iterator[str]:
    def load(name: str, address: str) -> Iterator[str]:
        yield f"  %{label}.{name}.at = getelementptr float, ptr {address}, i64 {place}"
        masked = (
            f"call {_VECTOR} @llvm.masked.load.v{LANES}f32.p0(ptr %{label}.{name}.at, i32 4, {_MASK} {mask}, {_VECTOR} zeroinitializer)"
        )
        yield f"  %{label}.{name} = {masked if mask else f'load {_VECTOR}, ptr %{label}.{name}.at, align 4'}"

    for v in range(COLUMNS):
        yield from load(f"y{v}", f"%b.{v}")
        if not mask:  # the same column's next block
            yield f"  %ahead.{v} = getelementptr float, ptr %{label}.y{v}.at, i64 {DEPTH}"
            yield f"  call void @llvm.prefetch.p0(ptr %ahead.{v}, i32 0, i32 2, i32 1)"
    for r in range(FEW):
        yield from load(f"x{r}", f"%a.{r}")
        for v in range(COLUMNS):
            yield product_added(f"%{after}.{r}.{v}", f"%{label}.x{r}", f"%{label}.y{v}", f"%{before}.{r}.{v}", LANES, pairs)


def _end(pairs: bool) -> Iterator[str]:
    """Add the places that fill no vector, and the lanes; store the sums."""
    yield from (f"  %so.far.{r}.{v} = phi {_VECTOR} [ zeroinitializer, %entry ], [ %next.{r}.{v}, %place ]" for r, v in _CELLS)
    yield from (f"  {line}" for line in splat("%rest.all", "%rest", "i64", LANES))
    yield f"  %mask = icmp slt <{LANES} x i64> <{', '.join(f'i64 {k}' for k in range(LANES))}>, %rest.all"
    yield from _products("end", "%whole", "so.far", "all", "%mask", pairs)
    yield "  br label %store.0"
    for r in range(FEW):
        yield f"store.{r}:"
        for v in range(COLUMNS):
            yield f"  %to.{r}.{v}.offset = mul i64 %c.row, {r}\n  %to.{r}.{v} = getelementptr i8, ptr %c.{v}, i64 %to.{r}.{v}.offset"
            yield f"  %before.{r}.{v} = load float, ptr %to.{r}.{v}, align 4"
            yield f"  %base.{r}.{v} = select i1 %adds, float %before.{r}.{v}, float 0.0"
            yield from added_lanes(f"%all.{r}.{v}", LANES, f"%lanes.{r}.{v}")
            yield f"  %total.{r}.{v} = fadd float %base.{r}.{v}, %lanes.{r}.{v}.sum"
        yield from (f"  store float %total.{r}.{v}, ptr %to.{r}.{v}, align 4" for v in range(COLUMNS))
        if r + 1 < FEW:
            yield f"  %is.more.{r} = icmp ugt i64 %rows, {r + 1}\n  br i1 %is.more.{r}, label %store.{r + 1}, label %done"
    yield "  br label %done\ndone:\n  ret void"
