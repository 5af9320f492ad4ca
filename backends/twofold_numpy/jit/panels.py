"""Panels: lines of a matrix side by side, in the order in which products read them; ``llvm/pack.ll`` makes them.

Products of matrices have both operands in panels (`twofold_numpy.jit.packed_products`). Convolutions may have their weights in them: a tile
of results is some places by two vectors of filters, so that an element of the image is multiplied by two vectors of weights, wherever it
is. The code of `twofold_numpy.jit.direct` accumulates vectors of places instead, and reads the weights where they are. Most of these
vectors are in two cache lines if runs of places do not begin with a line, or if an element of the kernel moves them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from ..direct_tiling import AHEAD, PANELS, PanelTiles, panel_tiles
from ..geometry import Geometry
from ..packing import LANES, MOST_WASTE, ROWS
from ..planes import ITEM, Plane, plane_of
from .compiler import compiler
from .ir import products_added
from .llvm_text import llvm_text
from .transpose import interleaved, square

#: Vectors of a panel of columns, or filters, and their floats. Each is one register of 512 bits, or two of 256.
VECTORS = 2
COLUMNS = LANES * VECTORS
#: How many vectors of filters take as long as a panel of only one, which reads as many elements of the image.
ALONE = 1.6
#: Taps from which products take much longer than storing their sums as rows of places; and taps and places for which this is so although
#: vectors of places are whole cache lines.
LEAST, DEEP, NEAR = 64, 192, 1024
#: The same with narrow vectors, if the image is read in place and if it is copied, to lines that the L1 cache keeps.
LEAST_IN_PLACE, LEAST_COPIED = 96, 192
#: Places from which packing a weight takes much less time than it saves: of many taps, and of few.
MANY, SOME, FEW = 784, 196, 512
#: More taps than there are.
ALL = 1 << 40
#: Bits of the vectors that hold `LANES` floats, and of the narrowest ones that there is code for.
WIDE, LEAST_BITS = 32 * LANES, 256
#: With narrow vectors: the taps of a range, and the filters from which a tile of the image is copied.
DEPTH, COPIED = 192, 64
#: Arguments of `panel_…`, named as in `panel_run.ll`, which moves some of them from tile to tile; and as in `panel_ranges.ll`, where
#: `%begins` and `%ends` tell whether the taps are the first and the last ones of the sums.
_PARAMETERS = "ptr %source, ptr %panel, ptr %ahead, ptr %table, i64 %taps, ptr %target, i64 %target.step, i64 %filters"
_OF_RANGES = _PARAMETERS.replace("ptr %ahead, ", "") + ", ptr %sums, i1 %begins, i1 %ends"
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
    alone = ALONE if bits == WIDE else 1.0
    if not can_be_given(p, bits) or LANES * (VECTORS * full + alone * rest) > MOST_WASTE * p.filters:
        return False
    taps, places = p.channels * len(p.elements), math.prod(p.out)
    if bits < WIDE:
        return taps >= (LEAST_COPIED if p.reads_padding or p.stride != (1, 1) else LEAST_IN_PLACE)
    has_whole_lines = not p.reads_padding and p.stride == (1, 1) and places % LANES == 0
    return taps >= DEEP and places <= NEAR if has_whole_lines else taps >= LEAST


def can_be_given(p: Plane, bits: int) -> bool:
    """Whether there is code for a convolution of planes whose weight is in panels."""
    return bits >= LEAST_BITS and bool(p.tap_step) and p.out[1] >= panel_tiles(bits // 8).short


def width(g: Geometry) -> int:
    """The filters of a panel, if a direct convolution is faster with its weight given in panels; else 0."""
    own = compiler()
    return columns(own.machine.vector_bits) if own is not None and _are_faster_if_given(plane_of(g), own.machine.vector_bits) else 0


def columns(bits: int) -> int:
    """The filters of a panel: those of a tile."""
    return COLUMNS if bits == WIDE else LANES


def pack_text(columns: int) -> str:
    """The function that copies lines to panels of so many or of `ROWS`, with the functions that it calls."""
    words: dict[str, str | int] = {"LANES": LANES, "ROWS": ROWS, "COLUMNS": columns}
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


def block(bits: int) -> str:
    """The call that computes a panel of filters or several, or what remains of them."""
    sums = "" if bits == WIDE else ", ptr %block.sums"
    return """  br label %block.panel
block.panel:
  %panel.first = sub i64 %filter, %first
  %panel.elements = mul i64 %panel.first, %taps
  %panel = getelementptr float, ptr %panels, i64 %panel.elements
  %panel.filters = call i64 @llvm.umin.i64(i64 %filters.left, i64 %together)
  %block.sums = getelementptr i8, ptr %scratch, i64 %sums.offset
  call void @block_panel(ptr %chunk.source, ptr %panel, ptr %tap.table, i64 %taps, ptr %target, i64 %target.step, """ + (
        f"i64 %places, i64 %panel.filters{sums})\n  br label %block.computed"
    )


def functions(bits: int) -> Iterator[str]:
    """The functions that pack a range of filters and compute a panel of them."""
    tiles, is_wide = panel_tiles(bits // 8), bits == WIDE
    yield pack_text(columns(bits))
    for places in (tiles.long, tiles.short):
        for vectors in range(1, (VECTORS if is_wide else 1) + 1):
            yield from _tile(places, vectors, bits // 32)
    words: dict[str, str | int] = {"LANES": LANES, "COLUMNS": columns(bits), "OTHERS": columns(bits) - 1}
    words |= {"LONG": tiles.long, "SHORT": tiles.short}
    yield llvm_text("panels", **words)
    if is_wide:
        yield llvm_text("panel_run", **words, CALLS="\n".join(_calls(tiles)))
        return
    adjacent = ", ".join(f"[2 x i32] [ i32 {ITEM * tiles.long * k}, i32 0 ]" for k in range(DEPTH))
    words |= {"STRETCH": tiles.stretch, "DEPTH": DEPTH, "COPIED": COPIED, "ADJACENT": adjacent}
    yield llvm_text("panel_ranges", **words, COPIES="\n".join(_copies(tiles)))


def _calls(tiles: PanelTiles) -> Iterator[str]:
    """The calls of the functions for tiles of each size."""
    arguments = ", ".join(f"{word}.now" if word.split()[-1] in _MOVED else word for word in _PARAMETERS.split(", "))
    for name, places in (("long", tiles.long), ("short", tiles.short)):
        yield f"{name}:\n  br i1 %is.narrow, label %{name}.1, label %{name}.{VECTORS}"
        for vectors in (1, VECTORS):
            yield f"{name}.{vectors}:\n  call void @panel_{places}_{vectors}({arguments})\n  br label %tile.done"


def _copies(tiles: PanelTiles) -> Iterator[str]:
    """The functions that copy a tile of each size, tap by tap."""
    for places in (tiles.long, tiles.short):
        yield f"define internal void @copy_{places}(ptr %source, ptr %table, i64 %taps, ptr %image) noinline nounwind {{"
        yield "entry:\n  br label %tap\ntap:\n  %t = phi i64 [ 0, %entry ], [ %t.next, %tap ]"
        yield "  %record = getelementptr [2 x i32], ptr %table, i64 %t\n  %from.32 = load i32, ptr %record"
        yield "  %from = sext i32 %from.32 to i64\n  %x = getelementptr i8, ptr %source, i64 %from"
        yield f"  %to = getelementptr [{tiles.long} x float], ptr %image, i64 %t"
        yield "  %next.line = getelementptr i8, ptr %x, i64 64\n  call void @llvm.prefetch.p0(ptr %next.line, i32 0, i32 3, i32 1)"
        for first, size in _powers(places):
            part, kind = f"%part.{size}", f"<{size} x float>"
            yield f"  {part}.at = getelementptr float, ptr %x, i64 {first}\n  {part} = load {kind}, ptr {part}.at, align 4"
            yield f"  {part}.to = getelementptr float, ptr %to, i64 {first}\n  store {kind} {part}, ptr {part}.to, align 4"
        yield "  %t.next = add i64 %t, 1\n  %more = icmp ult i64 %t.next, %taps\n  br i1 %more, label %tap, label %done"
        yield "done:\n  ret void\n}"


def _powers(number: int) -> Iterator[tuple[int, int]]:
    """Where parts of a run begin whose sizes are powers of two, and these sizes: they are moved without masks."""
    first = 0
    for size in (4, 2, 1):
        if number & size:
            yield first, size
            first += size


def run_ahead(places: Iterable[int]) -> Iterator[str]:
    """Fetch these places of the image for a later tap than that of ``%record``."""
    yield f"  %later = getelementptr [2 x i32], ptr %record, i64 {AHEAD}\n  %later.from.32 = load i32, ptr %later"
    yield "  %later.from = sext i32 %later.from.32 to i64\n  %later.run = getelementptr i8, ptr %source, i64 %later.from"
    for place in places:
        yield f"  %later.{place} = getelementptr float, ptr %later.run, i64 {place}"
        yield f"  call void @llvm.prefetch.p0(ptr %later.{place}, i32 0, i32 3, i32 1)"


def _tile(places: int, vectors: int, lanes: int) -> Iterator[str]:
    """The function that accumulates some places by some vectors of filters in registers, and stores them as rows of places.

    ``lanes`` are the floats of a register.
    """
    vector, is_wide = f"<{LANES} x float>", 32 * lanes == WIDE
    cells = [(p, v) for p in range(places) for v in range(vectors)]
    parameters = _PARAMETERS if is_wide else _OF_RANGES
    yield f"define internal void @panel_{places}_{vectors}({parameters}) noinline nounwind {{\nentry:"
    if not is_wide:
        yield from (f"  %kept.{p}.{v} = getelementptr {vector}, ptr %sums, i64 {k}" for k, (p, v) in enumerate(cells))
        yield "  br i1 %begins, label %start, label %go.on\ngo.on:"
        yield from (f"  %before.{p}.{v} = load {vector}, ptr %kept.{p}.{v}, align 4" for p, v in cells)
        yield "  br label %start"
    else:
        yield "  br label %start"
    yield "start:"
    kept = "" if is_wide else ", [ %before.{}.{}, %go.on ]"
    yield from (f"  %start.{p}.{v} = phi {vector} [ zeroinitializer, %entry ]{kept.format(p, v)}" for p, v in cells)
    yield "  br label %tap\ntap:\n  %t = phi i64 [ 0, %start ], [ %t.next, %tap ]"
    yield from (f"  %sum.{p}.{v} = phi {vector} [ %start.{p}.{v}, %start ], [ %next.{p}.{v}, %tap ]" for p, v in cells)
    yield "  %record = getelementptr [2 x i32], ptr %table, i64 %t\n  %run.from.32 = load i32, ptr %record"
    yield "  %run.from = sext i32 %run.from.32 to i64\n  %x.now = getelementptr i8, ptr %source, i64 %run.from"
    yield f"  %panel.now = getelementptr [{columns(32 * lanes)} x float], ptr %panel, i64 %t"
    if is_wide:
        yield f"  %fetched = getelementptr [{LANES} x float], ptr %ahead, i64 %t"
        yield "  call void @llvm.prefetch.p0(ptr %fetched, i32 0, i32 2, i32 1)"
        yield from run_ahead((0, places - 1))
    yield from products_added(LANES, vectors, "%panel.now", places, "%x.now", 1)
    yield "  %t.next = add i64 %t, 1\n  %more = icmp ult i64 %t.next, %taps\n  br i1 %more, label %tap, label %over\nover:"
    if is_wide:
        yield "  br label %store"
    else:
        yield "  br i1 %ends, label %store, label %keep\nkeep:"
        yield from (f"  store {vector} %next.{p}.{v}, ptr %kept.{p}.{v}, align 4" for p, v in cells)
        yield "  ret void"
    yield "store:\n  %last = sub i64 %filters, 1"
    # from the last row back: a row beyond the last filter's is stored in its place, before it
    for v in reversed(range(vectors)):
        for first in reversed(range(0, LANES, lanes)):
            yield from _rows_stored([f"%next.{p}.{v}" for p in range(places)], v * LANES + first, first, lanes)
    yield "  ret void\n}"


def _rows_stored(sums: Sequence[str], filter: int, first: int, lanes: int) -> Iterator[str]:
    """Store the sums of some filters, lanes of these vectors from the ``first`` on, as rows of places."""
    places, row_vector, label = len(sums), f"<{lanes} x float>", f"f{filter}"
    if lanes < LANES:
        numbers = ", ".join(f"i32 {k}" for k in range(first, first + lanes))
        for p, name in enumerate(sums):
            yield f"  %{label}.{p} = shufflevector <{LANES} x float> {name}, <{LANES} x float> poison, <{lanes} x i32> <{numbers}>"
        sums = [f"%{label}.{p}" for p in range(places)]
    rows = yield from interleaved([*sums, *["zeroinitializer"] * (lanes - places)], row_vector, f"%t{filter}")
    mask = ", ".join(f"i1 {int(k < places)}" for k in range(lanes))
    for k in reversed(range(lanes)):
        row = f"%row.{filter + k}"
        yield f"  {row} = call i64 @llvm.umin.i64(i64 %last, i64 {filter + k})\n  {row}.offset = mul i64 {row}, %target.step"
        yield f"  {row}.to = getelementptr i8, ptr %target, i64 {row}.offset"
        if lanes == LANES:
            yield f"  call void @llvm.masked.store.v{lanes}f32.p0({row_vector} {rows[k]}, ptr {row}.to, i32 4, <{lanes} x i1> <{mask}>)"
            continue
        for place, size in _powers(places):
            part, taken = f"{row}.{size}", ", ".join(f"i32 {k}" for k in range(place, place + size))
            yield f"  {part} = shufflevector {row_vector} {rows[k]}, {row_vector} poison, <{size} x i32> <{taken}>"
            yield f"  {part}.to = getelementptr float, ptr {row}.to, i64 {place}\n  store <{size} x float> {part}, ptr {part}.to, align 4"
