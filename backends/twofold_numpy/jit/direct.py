"""Direct convolution as machine code: blocks of filters by vectors of places, each accumulated in registers.

`twofold_numpy.direct_tiling` cuts a convolution into items; this module prints the code that computes them, and binds it to a geometry.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from types import BuiltinFunctionType
from typing import Any
from weakref import ref

import numpy as np

from twofold.backend import workers
from twofold.backend.kernel import RowProgram

from ..blas import Blas, blas
from ..copies import packed
from ..direct import Binder, Bound, Work
from ..direct_tiling import WORDS, DirectTiling, least_lanes, tiling_of
from ..direct_weights import tiling_of as tiling_of_weights
from ..geometry import Geometry
from ..memory import POOL
from ..planes import ChannelSums, PackedPlane, Plane, plane_of
from . import depthwise, depthwise_weights, panels
from .callables import KEEP_GIL, REFUSE_GAPS, builtin_of
from .compiler import Code, Compiler, compiler
from .epilogue import Epilogue, epilogue_ir, epilogue_of
from .handoff import module
from .ir import product_added, splat
from .llvm_text import FIELDS, SHARED_WORDS, loaded_words
from .products import never, shared_words

#: Bits of a float32.
FLOAT = 32
#: Floats of a cache line.
LINE = 16
#: Accumulators from which a tile has time to fetch the image of a later tap.
LARGE = 18
#: Lanes of vectors whose loads and stores take a mask at no cost. With narrower ones the last vector of a run overlaps the one before:
#: a mask would take a register that the sums need, or be made again for each load.
MASKED = 16
#: Filters by vectors, of which the tiles at the ends of runs have half a vector more if that is enough. The others would have to read the
#: same weights again for it.
LONG = (6, 3)
#: Filters by vectors that are accumulated at once, by the width of the vectors, largest first: each with its operands fits the registers.
#: A single filter (a depthwise convolution) takes many vectors, since each sum waits for its last multiplication.
BLOCKS = {
    512: ((8, 3), LONG, (4, 6), (1, 8)),
    256: ((4, 3), (1, 8)),
    128: ((8, 3), (4, 4), (1, 8)),
}
#: Arguments of `block_…` and `tile_…`, all with the same meaning: runs of the image, weights with the bytes from filter to filter, a table
#: of their offsets and its length, results with the bytes from filter to filter, the number of places, and where the results will be in the
#: end, with the bytes from filter to filter: memory that is fetched before it is written.
_PARAMETERS = (
    "ptr %source, ptr %weights, i64 %weight.step, ptr %table, i64 %taps, ptr %target, i64 %target.step, i64 %run, ptr %goal, i64 %goal.step"
)
_ARGUMENTS = (
    _PARAMETERS.replace("%run", "%left")
    .replace("%source", "%source.now")
    .replace("%target,", "%target.now,")
    .replace("%goal,", "%goal.now,")
)


class Arithmetic(ABC):
    """What a convolution computes with elements of four bytes, which its code moves as floats.

    Attributes
    ----------
    lane
        The LLVM type of its sums.
    """

    lane: str

    @abstractmethod
    def declarations(self, lanes: int) -> str:
        """The functions that the instructions call."""

    @abstractmethod
    def first(self, filters: int, lanes: int) -> Iterator[str]:
        """Define ``%first.f``, the start value of a filter's sums; ``%filter.f`` has its weights, a row of ``%weight.step`` bytes."""

    @abstractmethod
    def loaded(self, name: str, lanes: int) -> Iterator[str]:
        """Define ``<name>.now``: a vector of the image as `multiplied` takes it."""

    @abstractmethod
    def multiplied(self, result: str, weight: str, x: str, total: str, lanes: int) -> Iterator[str]:
        """Define ``result``: the sum and the product of ``x`` with a weight, which is in all lanes of a vector."""


class Floats(Arithmetic):
    """Sums of products of float32 numbers, each rounded once."""

    lane = "float"

    def declarations(self, lanes: int) -> str:
        """Fused multiply-add."""
        vector = f"<{lanes} x float>"
        return f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})"

    def first(self, filters: int, lanes: int) -> Iterator[str]:
        """Zeros."""
        for f in range(filters):
            yield f"  %first.{f} = bitcast <{lanes} x i32> zeroinitializer to <{lanes} x float>"

    def loaded(self, name: str, lanes: int) -> Iterator[str]:
        """As it is."""
        yield f"  {name}.now = bitcast <{lanes} x float> {name} to <{lanes} x float>"

    def multiplied(self, result: str, weight: str, x: str, total: str, lanes: int) -> Iterator[str]:
        """A fused multiply-add."""
        yield product_added(result, weight, x, total, lanes)


FLOATS = Floats()


def binder() -> Binder | None:
    """What binds convolutions to machine code; None without a compiler, or without a BLAS that can be limited to one thread meanwhile."""
    own, library = compiler(), blas()
    return None if own is None or library is None else Binder(partial(_bound, own, library), own.has_two_wide_units)


def with_kernel(g: Geometry, program: RowProgram, place: int, is_packed: bool = False) -> Callable[..., None] | None:
    """A convolution with the kernel that alone reads its result, called with (data, weight, further inputs of the kernel, result).

    Arrays may have gaps. None if they have to be computed one after the other. ``place`` is which input of the kernel is the convolution's
    result; the weight may be in panels.
    """
    own, library, epilogue = compiler(), blas(), epilogue_of(program, place)
    if own is None or library is None or epilogue is None:
        return None
    return bound_plane(own, library, plane_of(g), FLOATS, epilogue, is_packed)


def _bound(own: Compiler, library: Blas, work: Work, is_part: bool = False) -> Bound | None:
    """See `Binder`. None if there is no code for the work."""
    if isinstance(work, Plane):
        return bound_plane(own, library, work, FLOATS, is_part=is_part)
    if isinstance(work, PackedPlane):
        return bound_plane(own, library, work.plane, FLOATS, is_packed=True)
    bits = own.machine.vector_bits
    if isinstance(work, ChannelSums):
        if not depthwise.is_depthwise(work.plane, bits):
            return None
        sums = depthwise_weights.tiling_of(work.plane, workers.count())
        return _in_pieces(own, library, depthwise_weights.code_of(own, work.plane), sums, None, sums.zeros)
    tiling = tiling_of_weights(work, BLOCKS[bits][0], bits // 8, workers.count())
    return _in_pieces(own, library, _code(own, FLOATS), tiling, None)


def bound_plane(
    own: Compiler,
    library: Blas,
    plane: Plane,
    arithmetic: Arithmetic,
    epilogue: Epilogue | None = None,
    is_packed: bool = False,
    is_part: bool = False,
) -> Bound:
    """A convolution of planes with elements of four bytes: see `Binder`; further inputs of an epilogue precede the result."""
    bind = _in_pieces if is_part else _without_gaps
    bits, threads = own.machine.vector_bits, workers.count()
    # an operand of the result's shape may be in the result's memory
    overwrites = epilogue is not None and "whole" in epilogue.roles
    if arithmetic is FLOATS and not is_packed and depthwise.is_depthwise(plane, bits) and not overwrites:
        by_channel = depthwise.tiling_of(plane, threads)
        kernel = depthwise.with_kept_rows(depthwise.kernel_of(plane, bits), plane)
        return bind(own, library, depthwise.code_of(own, kernel), by_channel, epilogue, by_channel.zeros)
    if arithmetic is FLOATS and (is_packed or panels.are_faster(plane, bits)):
        tiling = tiling_of(plane, (panels.columns(bits), 1), bits // 8, threads, overwrites, "given" if is_packed else "packed")
        return bind(own, library, _code(own, arithmetic, in_panels=True), tiling, epilogue)
    tiling = tiling_of(plane, BLOCKS[bits][0], bits // 8, threads, overwrites)
    return bind(own, library, _code(own, arithmetic), tiling, epilogue)


def _in_pieces(
    own: Compiler,
    library: Blas,
    code: Code,
    tiling: DirectTiling | depthwise.DepthwiseTiling,
    epilogue: Epilogue | None,
    keep: object = None,
    refused: Callable[..., None] = never,
) -> BuiltinFunctionType:
    """The function that computes the pieces of a tiling; it keeps an object alive that its code reads."""
    steps = None if epilogue is None else _steps(own, epilogue)
    numbers = shared_words(own, library, tiling.pieces, tiling.nanoseconds)
    words = tiling.numbers(0 if steps is None else steps.address)
    mode = KEEP_GIL if refused is never else REFUSE_GAPS
    return builtin_of(code.address, (code.library, steps, keep), [*numbers, *words], refused, mode)


class _Copying:
    """The fallback of a convolution, for arrays with gaps."""

    compute: ref[Callable[..., object]]

    def __call__(self, *arrays: np.ndarray) -> None:
        """Compute from copies, and copy the result."""
        compute, (*operands, out) = self.compute(), arrays
        assert compute is not None  # it has called this
        into = out if out.flags.c_contiguous else POOL.empty(out.shape, out.dtype)
        compute(*map(packed, operands), into)
        if into is not out:
            out[...] = into


def _without_gaps(*of: Any) -> BuiltinFunctionType:
    """`_in_pieces` of any arrays: those with gaps are copied."""
    copying = _Copying()
    found = _in_pieces(*of, refused=copying)
    copying.compute = ref(found)  # not the function itself: memory of programs that are dropped would wait for the garbage collector
    return found


@cache
def _code(own: Compiler, arithmetic: Arithmetic, in_panels: bool = False) -> Code:
    """The machine code of all convolutions of an arithmetic, with weights where they are, or in panels."""
    return own.built(module("direct", own.triple.startswith("x86"), **_words(own, arithmetic, in_panels)))


@lru_cache(256)
def _steps(own: Compiler, epilogue: Epilogue) -> Code:
    """The machine code of an epilogue."""
    return own.built(epilogue_ir(epilogue, own.machine))


def _words(own: Compiler, arithmetic: Arithmetic, in_panels: bool) -> dict[str, str | int]:
    """What the code depends on."""
    bits = own.machine.vector_bits
    lanes, blocks = bits // FLOAT, BLOCKS[bits]
    words: dict[str, str | int] = {"LANES": lanes, "VECTOR": f"<{lanes} x float>", "MASK": f"<{lanes} x i1>", "OVERLOAD": f"v{lanes}f32"}
    words |= {"LANE_NUMBERS": _lane_numbers(lanes), "DATA": own.machine.head + FIELDS["data"]}
    words |= {"LANE_INTS": ", ".join(f"i32 {k}" for k in range(lanes)), "SECONDS": ", ".join(f"i32 {2 * k}" for k in range(lanes))}
    words["WORDS"] = "\n".join(_loaded())
    if in_panels:
        words |= {"PACK": panels.packed_range(), "BLOCKS": panels.block(bits), "SIZES": "[ %panel.filters, %block.panel ]"}
        return words | {"ARITHMETIC": arithmetic.declarations(lanes), "FUNCTIONS": "\n".join(panels.functions(bits))}
    words |= {"PACK": "", "BLOCKS": "\n".join(_choice(blocks))}
    words["SIZES"] = ", ".join(f"[ {filters}, %block.{filters} ]" for filters, _ in blocks)
    functions = [line for filters, most in blocks for line in _block(arithmetic, filters, most, lanes, (filters, most) == LONG)]
    few = least_lanes(lanes)
    declarations = [
        arithmetic.declarations(lanes),
        *([arithmetic.declarations(few), _masked_declarations(few)] if few < lanes else []),
    ]
    return words | {"ARITHMETIC": "\n".join(declarations), "FUNCTIONS": "\n".join(functions)}


def _masked_declarations(lanes: int) -> str:
    vector, mask, overload = f"<{lanes} x float>", f"<{lanes} x i1>", f"v{lanes}f32"
    load = f"declare {vector} @llvm.masked.load.{overload}.p0(ptr, i32 immarg, {mask}, {vector})"
    return f"{load}\ndeclare void @llvm.masked.store.{overload}.p0({vector}, ptr, i32 immarg, {mask})"


def _lane_numbers(lanes: int) -> str:
    return ", ".join(f"i64 {k}" for k in range(lanes))


def _loaded() -> Iterator[str]:
    """The words of a tiling as values named like them, and the addresses of its two tables."""
    yield from loaded_words(WORDS)
    yield f"  %row.table = getelementptr i64, ptr %words, i64 {SHARED_WORDS + len(WORDS)}"
    yield "  %tap.table = getelementptr [4 x i64], ptr %row.table, i64 %copied.rows"


def _choice(blocks: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The largest block that the remaining filters fill."""
    arguments = "ptr %chunk.source, ptr %weights, i64 %weight.step, ptr %tap.table, i64 %taps, ptr %target, i64 %target.step, i64 %places, "
    arguments += "ptr %out.place, i64 %out.step"
    if LONG in blocks:
        yield f"  %has.long = icmp uge i64 %filters.left, {LONG[0]}\n  %takes.long = and i1 %ends.long, %has.long"
        yield f"  br i1 %takes.long, label %block.{LONG[0]}, label %below.long\nblock.{LONG[0]}:"
        yield f"  call void @block_{LONG[0]}({arguments})\n  br label %block.computed\nbelow.long:"
    # the others are tried from the largest on; one filter always fits
    for filters, _ in (block for block in blocks if block != LONG):
        if filters > 1:
            yield f"  %fits.{filters} = icmp uge i64 %filters.left, {filters}"
            yield f"  br i1 %fits.{filters}, label %block.{filters}, label %below.{filters}"
        else:
            yield "  br label %block.1"
        yield f"block.{filters}:"
        yield f"  call void @block_{filters}({arguments})"
        yield "  br label %block.computed"
        if filters > 1:
            yield f"below.{filters}:"


def _block(arithmetic: Arithmetic, filters: int, most: int, lanes: int, is_long: bool = False) -> Iterator[str]:
    """The function that computes a run of results of some filters, and the functions for its tiles of 1 to ``most`` vectors.

    If what is left fits half a vector, the tile is half a vector. If ``is_long``, there is also a tile of half a vector more than the most.
    """
    few, overlaps = least_lanes(lanes), lanes < MASKED
    for vectors in range(1, most + 1):
        yield from _tile(arithmetic, f"{filters}_{vectors}", filters, [lanes] * vectors, vectors == most, overlaps)
    if overlaps:
        yield from _tile(arithmetic, f"{filters}_short", filters, [lanes], False)
    if few < lanes:
        yield from _tile(arithmetic, f"{filters}_few", filters, [few], False)
    if is_long:
        yield from _tile(arithmetic, f"{filters}_long", filters, [*[lanes] * most, few], True)
    yield f"define internal void @block_{filters}({_PARAMETERS}) noinline nounwind {{"
    yield "entry:\n  br label %look\nlook:"
    yield "  %place = phi i64 [ 0, %entry ]" + "".join(f", [ %place.{v}, %tile.{v} ]" for v in range(1, most + 1))
    yield "  %left = sub i64 %run, %place\n  %more = icmp sgt i64 %left, 0\n  br i1 %more, label %choose, label %done\nchoose:"
    yield "  %source.now = getelementptr float, ptr %source, i64 %place\n  %target.now = getelementptr float, ptr %target, i64 %place"
    yield "  %goal.now = getelementptr float, ptr %goal, i64 %place"
    yield f"  %rounded = add i64 %left, {lanes - 1}\n  %vectors = udiv i64 %rounded, {lanes}"
    cases = " ".join(f"i64 {v}, label %tile.{v}" for v in range(1, most))
    if overlaps:
        yield f"  %is.short = icmp ult i64 %run, {lanes}\n  br i1 %is.short, label %short.look, label %vectors.look\nshort.look:"
    if few < lanes:
        longer = "tile.short" if overlaps else "vectors.look"
        yield f"  %is.few = icmp ule i64 %left, {few}\n  br i1 %is.few, label %tile.few, label %{longer}"
    elif overlaps:
        yield "  br label %tile.short"
    if few < lanes or overlaps:
        yield "vectors.look:"
    if is_long:
        yield f"  %beyond = sub i64 %left, {most * lanes}\n  %is.over = icmp sgt i64 %beyond, 0\n  %is.near = icmp sle i64 %beyond, {few}"
        yield "  %is.long = and i1 %is.over, %is.near\n  br i1 %is.long, label %tile.long, label %tile.choose\ntile.choose:"
    # the number of vectors left, but at most `most`
    yield f"  switch i64 %vectors, label %tile.{most} [ {cases} ]"
    for v in range(1, most + 1):
        yield f"tile.{v}:\n  call void @tile_{filters}_{v}({_ARGUMENTS})\n  %place.{v} = add i64 %place, {v * lanes}\n  br label %look"
    kinds = {"few": few < lanes, "short": overlaps, "long": is_long}
    for kind in (kind for kind, exists in kinds.items() if exists):
        yield f"tile.{kind}:\n  call void @tile_{filters}_{kind}({_ARGUMENTS})\n  br label %done"
    yield "done:\n  ret void\n}"


def _tile(arithmetic: Arithmetic, name: str, filters: int, widths: Sequence[int], fetches: bool, overlaps: bool = False) -> Iterator[str]:
    """The function that accumulates some filters by some vectors in registers; of the last vector it uses the lanes inside the run.

    ``widths`` are the lanes of the vectors: the last one may be narrower. If ``fetches``, it also fetches the image of a later tap, and
    the weights of the next filters into the L2 cache: there are too many streams for the processor to see which is next. If ``overlaps``,
    the last vector ends with the run if this is near, and some results are computed twice.
    """
    lanes, last, number = widths[0], widths[-1], len(widths)
    places: list[int | str] = [sum(widths[:v]) for v in range(number)]
    cells = [(f, v) for f in range(filters) for v in range(number)]
    vectors, mask = [f"<{width} x float>" for width in widths], f"<{last} x i1>"
    sums = [f"<{width} x {arithmetic.lane}>" for width in widths]

    yield f"define internal void @tile_{name}({_PARAMETERS}) noinline nounwind {{\nentry:"
    yield from _end_of_run(widths, overlaps)
    if overlaps:
        places[-1] = "%last"
    for f in range(filters):
        yield f"  %filter.{f}.from = mul i64 %weight.step, {f}\n  %filter.{f} = getelementptr i8, ptr %weights, i64 %filter.{f}.from"
    yield from _results_ahead(filters, widths)
    yield from arithmetic.first(filters, lanes)
    yield from (_low(f"%first.{f}", lanes, last, arithmetic.lane) for f in range(filters))
    first = [f"%first.{{}}{'' if width == lanes else '.low'}" for width in widths]
    yield "  br label %group\ngroup:\n  %g = phi i64 [ 0, %entry ], [ %g.end, %group.done ]"
    for f, v in cells:
        yield f"  %sum.{f}.{v}.before = phi {sums[v]} [ {first[v].format(f)}, %entry ], [ %next.{f}.{v}, %group.done ]"
    if fetches:
        yield from _weights_ahead(filters)
    # a loop of its own: with the instructions above, the compiler would not keep all sums in registers
    yield f"  %g.whole = add i64 %g, {LINE if fetches else panels.ALL}\n  %is.end = icmp ult i64 %taps, %g.whole"
    yield "  %g.end = select i1 %is.end, i64 %taps, i64 %g.whole\n  br label %tap\ntap:"
    yield "  %t = phi i64 [ %g, %group ], [ %t.next, %tap ]"
    yield from (f"  %sum.{f}.{v} = phi {sums[v]} [ %sum.{f}.{v}.before, %group ], [ %next.{f}.{v}, %tap ]" for f, v in cells)
    yield "  %record = getelementptr [2 x i32], ptr %table, i64 %t\n  %run.from.32 = load i32, ptr %record"
    yield "  %weight.at = getelementptr i32, ptr %record, i64 1\n  %weight.from.32 = load i32, ptr %weight.at"
    yield "  %run.from = sext i32 %run.from.32 to i64\n  %weight.from = sext i32 %weight.from.32 to i64"
    yield "  %run.first = getelementptr i8, ptr %source, i64 %run.from"
    if fetches and len(cells) >= LARGE:
        yield from panels.run_ahead(sum(widths[:v]) for v in range(number))
    for v, width in enumerate(widths):
        yield f"  %run.{v} = getelementptr float, ptr %run.first, i64 {places[v]}"
        # only the last vector of a run can extend beyond its end, so only that one is masked
        load = f"call {vectors[v]} @llvm.masked.load.v{width}f32.p0(ptr %run.{v}, i32 4, {mask} %mask, {vectors[v]} zeroinitializer)"
        is_masked = v == number - 1 and not overlaps
        yield f"  %x.{v} = " + (load if is_masked else f"load {vectors[v]}, ptr %run.{v}, align 4")
        yield from arithmetic.loaded(f"%x.{v}", width)
    for f in range(filters):
        yield f"  %w.{f}.at = getelementptr i8, ptr %filter.{f}, i64 %weight.from\n  %w.{f} = load float, ptr %w.{f}.at, align 4"
        yield from (f"  {line}" for line in splat(f"%w.{f}.all", f"%w.{f}", "float", lanes))
        yield _low(f"%w.{f}.all", lanes, last, "float")
        for v, width in enumerate(widths):
            weight = f"%w.{f}.all{'' if width == lanes else '.low'}"
            yield from arithmetic.multiplied(f"%next.{f}.{v}", weight, f"%x.{v}.now", f"%sum.{f}.{v}", width)
    yield "  %t.next = add i64 %t, 1\n  %more = icmp ult i64 %t.next, %g.end\n  br i1 %more, label %tap, label %group.done"
    yield "group.done:\n  %again = icmp ult i64 %g.end, %taps\n  br i1 %again, label %group, label %store\nstore:"
    for f, v in cells:
        yield f"  %to.{f}.{v}.row = mul i64 %target.step, {f}\n  %to.{f}.{v}.first = getelementptr i8, ptr %target, i64 %to.{f}.{v}.row"
        yield f"  %to.{f}.{v} = getelementptr float, ptr %to.{f}.{v}.first, i64 {places[v]}"
        yield f"  %done.{f}.{v} = bitcast {sums[v]} %next.{f}.{v} to {vectors[v]}"
        if v == number - 1 and not overlaps:
            yield f"  call void @llvm.masked.store.v{last}f32.p0({vectors[v]} %done.{f}.{v}, ptr %to.{f}.{v}, i32 4, {mask} %mask)"
        else:
            yield f"  store {vectors[v]} %done.{f}.{v}, ptr %to.{f}.{v}, align 4"
    yield "  ret void\n}"


def _end_of_run(widths: Sequence[int], overlaps: bool) -> Iterator[str]:
    """Define ``%last``, where the last vector of a tile begins if it ends with the run, or else ``%mask``, the lanes of it in the run."""
    if overlaps:
        yield f"  %end = call i64 @llvm.umin.i64(i64 %run, i64 {sum(widths)})\n  %last = sub i64 %end, {widths[-1]}"
        return
    yield f"  %left = sub i64 %run, {sum(widths[:-1])}"
    yield from (f"  {line}" for line in splat("%left.all", "%left", "i64", widths[-1]))
    yield f"  %mask = icmp slt <{widths[-1]} x i64> <{_lane_numbers(widths[-1])}>, %left.all"


def _low(name: str, lanes: int, few: int, kind: str) -> str:
    """Define ``<name>.low``, the first lanes of a vector."""
    numbers = ", ".join(f"i32 {k}" for k in range(few))
    return f"  {name}.low = shufflevector <{lanes} x {kind}> {name}, <{lanes} x {kind}> poison, <{few} x i32> <{numbers}>"


def _weights_ahead(filters: int) -> Iterator[str]:
    """Fetch the weights of the next filters for the taps of a group, a cache line of each."""
    for f in range(filters):
        yield f"  %ahead.{f}.offset = mul i64 %weight.step, {filters + f}"
        yield f"  %ahead.{f}.filter = getelementptr i8, ptr %weights, i64 %ahead.{f}.offset"
        yield f"  %ahead.{f} = getelementptr float, ptr %ahead.{f}.filter, i64 %g"
        yield f"  call void @llvm.prefetch.p0(ptr %ahead.{f}, i32 0, i32 2, i32 1)"


def _results_ahead(filters: int, widths: Sequence[int]) -> Iterator[str]:
    """Fetch the memory where the results will be in the end: if it is in no cache, storing them would wait for it."""
    for f in range(filters):
        yield f"  %goal.{f}.from = mul i64 %goal.step, {f}\n  %goal.{f} = getelementptr i8, ptr %goal, i64 %goal.{f}.from"
        for v in range(len(widths)):
            yield f"  %goal.{f}.{v} = getelementptr float, ptr %goal.{f}, i64 {sum(widths[:v])}"
            yield f"  call void @llvm.prefetch.p0(ptr %goal.{f}.{v}, i32 1, i32 3, i32 1)"
