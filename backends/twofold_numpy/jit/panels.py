"""Panels: lines of a matrix side by side, in the order in which products read them; ``llvm/pack.ll`` makes them.

Products of matrices have both operands in panels (`twofold_numpy.jit.packed_products`). Convolutions may have their weights in them: a tile
of results is some places by two vectors of filters, so that an element of the image is multiplied by two vectors of weights, wherever it
is. The code of `twofold_numpy.jit.direct` accumulates vectors of places instead, and reads the weights where they are. Most of these
vectors are in two cache lines if runs of places do not begin with a line, or if an element of the kernel moves them.
"""

import math
from collections.abc import Iterable, Iterator

from ..direct_tiling import AHEAD, LONG, PANELS, SHORT
from ..geometry import Geometry
from ..packing import LANES, MOST_WASTE, ROWS
from ..planes import ITEM, Plane, plane_of
from .compiler import compiler
from .ir import products_added
from .llvm_text import llvm_text
from .transpose import interleaved, square

#: Vectors of a panel of columns, or filters, and their floats.
VECTORS = 2
COLUMNS = LANES * VECTORS
#: How many vectors of filters take as long as a panel of only one, which reads as many elements of the image.
ALONE = 1.6
#: Taps from which products take much longer than storing their sums as rows of places; and taps and places for which this is so although
#: vectors of places are whole cache lines.
LEAST, DEEP, NEAR = 64, 192, 1024
#: Places from which packing a weight takes much less time than it saves: of many taps, and of few.
MANY, SOME, FEW = 784, 196, 512
#: Arguments of `panel_…`, named as in `panels.ll`; and those that are different for each tile of a run.
_PARAMETERS = "ptr %source, ptr %panel, ptr %ahead, ptr %table, i64 %taps, ptr %target, i64 %target.step, i64 %filters"
_MOVED = ("%source", "%target")


def are_faster(p: Plane, bits: int) -> bool:
    """Whether a convolution of planes is faster if its weight is packed first: each of its elements is used for many places then."""
    taps, places = p.channels * len(p.elements), math.prod(p.out)
    if ITEM * taps * p.filters <= PANELS:  # it is packed once for all images
        places *= p.n
    return _are_faster_if_given(p, bits) and (places >= MANY or (places >= SOME and taps <= FEW))


def _are_faster_if_given(p: Plane, bits: int) -> bool:
    """Whether a convolution of planes is faster if its weight is given in panels.

    It is only for kernels of many taps if the image is read in place and vectors of places are whole cache lines: such vectors take as
    little time, and results are stored as they are.
    """
    full, rest = divmod(-(-p.filters // LANES), VECTORS)
    if bits != 32 * LANES or not p.tap_step or p.out[1] < SHORT or LANES * (VECTORS * full + ALONE * rest) > MOST_WASTE * p.filters:
        return False
    taps, places = p.channels * len(p.elements), math.prod(p.out)
    has_whole_lines = not p.reads_padding and p.stride == (1, 1) and places % LANES == 0
    return taps >= DEEP and places <= NEAR if has_whole_lines else taps >= LEAST


def width(g: Geometry) -> int:
    """The filters of a panel, if a direct convolution is faster with its weight given in panels; else 0."""
    own = compiler()
    return COLUMNS if own is not None and _are_faster_if_given(plane_of(g), own.machine.vector_bits) else 0


def pack_text() -> str:
    """The function that copies lines to panels, with the functions that it calls."""
    words: dict[str, str | int] = {"LANES": LANES, "ROWS": ROWS, "COLUMNS": COLUMNS}
    return llvm_text("pack", **words, LINES="\n".join(_lines()), ONE="\n".join(_one_place()), SQUARE="\n".join(_square()))


def _lines() -> Iterator[str]:
    """The addresses of the lines of a strip."""
    for q in range(ROWS):
        yield f"  %line.{q}.number = add i64 %first, {q}\n  %line.{q}.known = call i64 @llvm.umin.i64(i64 %line.{q}.number, i64 %last)"
        yield f"  %line.{q}.offset = mul i64 %line.{q}.known, %line.step"
        yield f"  %line.{q} = getelementptr i8, ptr %from, i64 %line.{q}.offset"


def _one_place() -> Iterator[str]:
    """Copy one number of each line."""
    for q in range(ROWS):
        yield f"  %one.{q}.at = getelementptr i8, ptr %line.{q}, i64 %p.offset\n  %one.{q} = load float, ptr %one.{q}.at, align 4"
        yield f"  %one.{q}.to = getelementptr float, ptr %p.to, i64 {q}\n  store float %one.{q}, ptr %one.{q}.to, align 4"


def _square() -> Iterator[str]:
    """Copy as many numbers of each line as there are lines."""
    for q in range(ROWS):
        yield f"  %x.{q} = getelementptr float, ptr %line.{q}, i64 %s"
    yield from square("float", 4, ROWS, 0, "width")


def packed_range() -> str:
    """Where a direct convolution begins a range of filters: ``%panels`` has their weights."""
    return """  %unit.group = udiv i64 %unit.before, %bands
  %group.before = urem i64 %unit.group, %groups
  %is.begin = icmp eq i64 %item, %begin
  %is.other.range = icmp ne i64 %ranges, 1
  %is.other.group = icmp ne i64 %group.before, %group
  %is.other = or i1 %is.other.range, %is.other.group
  %is.new.range = or i1 %is.begin, %is.other
  %is.given = icmp ne i64 %is.packed, 0
  %scratch.panels = getelementptr i8, ptr %scratch, i64 %panels.offset
  %panels = call ptr @panels_of(i1 %is.new.range, i1 %is.given, ptr %scratch.panels, ptr %weight, ptr %weights.first, """ + (
        "i64 %weight.step, i64 %weight.inner, i64 %first, i64 %last, i64 %group, i64 %filters, i64 %taps)"
    )


def block() -> str:
    """The call that computes a panel of filters, or what remains of them."""
    return f"""  br label %block.panel
block.panel:
  %panel.first = sub i64 %filter, %first
  %panel.elements = mul i64 %panel.first, %taps
  %panel = getelementptr float, ptr %panels, i64 %panel.elements
  %panel.filters = call i64 @llvm.umin.i64(i64 %filters.left, i64 {COLUMNS})
  call void @block_panel(ptr %chunk.source, ptr %panel, ptr %tap.table, i64 %taps, ptr %target, i64 %target.step, """ + (
        "i64 %places, i64 %panel.filters)\n  br label %block.computed"
    )


def functions() -> Iterator[str]:
    """The functions that pack a range of filters and compute a panel of them."""
    yield pack_text()
    for places in (LONG, SHORT):
        for vectors in (1, VECTORS):
            yield from _tile(places, vectors)
    words = {"LANES": LANES, "COLUMNS": COLUMNS, "OTHERS": COLUMNS - 1, "LONG": LONG, "SHORT": SHORT, "CALLS": "\n".join(_calls())}
    yield llvm_text("panels", **words)


def _calls() -> Iterator[str]:
    """The calls of the functions for tiles of each size."""
    arguments = ", ".join(f"{word}.now" if word.split()[-1] in _MOVED else word for word in _PARAMETERS.split(", "))
    for name, places in (("long", LONG), ("short", SHORT)):
        yield f"{name}:\n  br i1 %is.narrow, label %{name}.1, label %{name}.{VECTORS}"
        for vectors in (1, VECTORS):
            yield f"{name}.{vectors}:\n  call void @panel_{places}_{vectors}({arguments})\n  br label %tile.done"


def run_ahead(places: Iterable[int]) -> Iterator[str]:
    """Fetch these places of the image for a later tap than that of ``%record``."""
    yield f"  %later = getelementptr [2 x i32], ptr %record, i64 {AHEAD}\n  %later.from.32 = load i32, ptr %later"
    yield "  %later.from = sext i32 %later.from.32 to i64\n  %later.run = getelementptr i8, ptr %source, i64 %later.from"
    for place in places:
        yield f"  %later.{place} = getelementptr float, ptr %later.run, i64 {place}"
        yield f"  call void @llvm.prefetch.p0(ptr %later.{place}, i32 0, i32 3, i32 1)"


def _tile(places: int, vectors: int) -> Iterator[str]:
    """The function that accumulates some places by some vectors of filters in registers, and stores them as rows of places."""
    vector = f"<{LANES} x float>"
    cells = [(p, v) for p in range(places) for v in range(vectors)]
    yield f"define internal void @panel_{places}_{vectors}({_PARAMETERS}) noinline nounwind {{\nentry:\n  br label %tap\ntap:"
    yield "  %t = phi i64 [ 0, %entry ], [ %t.next, %tap ]"
    yield from (f"  %sum.{p}.{v} = phi {vector} [ zeroinitializer, %entry ], [ %next.{p}.{v}, %tap ]" for p, v in cells)
    yield "  %record = getelementptr [2 x i32], ptr %table, i64 %t\n  %run.from.32 = load i32, ptr %record"
    yield "  %run.from = sext i32 %run.from.32 to i64\n  %x.now = getelementptr i8, ptr %source, i64 %run.from"
    yield f"  %panel.now = getelementptr [{COLUMNS} x float], ptr %panel, i64 %t"
    yield f"  %fetched = getelementptr [{LANES} x float], ptr %ahead, i64 %t"
    yield "  call void @llvm.prefetch.p0(ptr %fetched, i32 0, i32 2, i32 1)"
    yield from run_ahead((0, places - 1))
    yield from products_added(LANES, vectors, "%panel.now", places, "%x.now", 1)
    yield "  %t.next = add i64 %t, 1\n  %more = icmp ult i64 %t.next, %taps\n  br i1 %more, label %tap, label %store\nstore:"
    yield "  %last = sub i64 %filters, 1"
    mask = f"<{LANES} x i1> <{', '.join(f'i1 {int(k < places)}' for k in range(LANES))}>"
    # from the last row back: a row beyond the last filter's is stored in its place, before it
    for v in reversed(range(vectors)):
        sums = [f"%next.{p}.{v}" if p < places else "zeroinitializer" for p in range(LANES)]
        rows = yield from interleaved(sums, vector, f"%t{v}")
        for k in reversed(range(LANES)):
            row = f"%row.{v}.{k}"
            yield f"  {row} = call i64 @llvm.umin.i64(i64 %last, i64 {v * LANES + k})\n  {row}.offset = mul i64 {row}, %target.step"
            yield f"  {row}.to = getelementptr i8, ptr %target, i64 {row}.offset"
            yield f"  call void @llvm.masked.store.v{LANES}f32.p0({vector} {rows[k]}, ptr {row}.to, i32 4, {mask})"
    yield "  ret void\n}"
