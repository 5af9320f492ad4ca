"""Gradients of depthwise weights as machine code: images are read in place, as by `depthwise`, whose loads these are."""

from collections.abc import Iterator
from functools import cache

from ..planes import Plane
from .compiler import Code, Compiler
from .depthwise import DepthwiseTiling, Kernel, Printer, kernel_of
from .depthwise import tiling_of as tiling_of_results
from .handoff import module
from .ir import added_lanes
from .llvm_text import FIELDS, loaded_words

#: The values that the code reads, in order, after those of all computations in pieces.
WORDS = ("channels", "images", "height", "width", "rows", "columns", "down", "dilate.rows", "pad.rows", "pad.columns", "zeros")
#: Partial sums, on every processor.
LANES = 16


def tiling_of(p: Plane, threads: int) -> DepthwiseTiling:
    """The tiling of the gradient of a depthwise convolution's weight; no result depends on the number of threads."""
    found = tiling_of_results(p, threads)
    return found._replace(pieces=min(found.pieces, p.groups), words=found.words | {"images": p.n}, names=WORDS)


def code_of(own: Compiler, p: Plane) -> Code:
    """The machine code for a convolution's kernel."""
    return _code_of(own, kernel_of(p, 32 * LANES))


@cache
def _code_of(own: Compiler, kernel: Kernel) -> Code:
    printer, taps = Printer(kernel, own.machine.vector_bits), kernel.size[0] * kernel.size[1]
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words(WORDS)), "DATA": own.machine.head + FIELDS["data"]}
    words |= {
        "LANES": LANES,
        "VECTOR": printer.vector,
        "MASK": printer.kept_masks.bits,
        "OVERLOAD": printer.overload,
        "ACROSS": kernel.across,
    }
    numbers = f"<{', '.join(f'i32 {k}' for k in range(LANES))}>"
    words |= {"INSIDE": "\n".join(printer.compared("%inside", numbers, "%left.all"))}
    words |= {"GIVEN": "\n".join(printer.loaded("%given", "%from.block", "%inside")), "TAPS": taps, "MASKS": "\n".join(printer.masks())}
    words["SUMS"] = "\n".join(printer.taps(lambda k: printer.fma(f"%next.{k}", f"%x.{k}", "%given", f"%of.row.{k}")))
    loops = (("block", "entry", "block.done", "image"), ("image", "begin", "image.done", "row"), ("row", "image.begin", "each", ""))
    before = {"block": "zeroinitializer", "image": "%of.block.{}", "row": "%of.image.{}"}
    for loop, entry, again, inner in loops:
        after = f"%of.{inner}.{{}}" if inner else "%next.{}"
        lines = [
            f"  %of.{loop}.{k} = phi {printer.vector} [ {before[loop].format(k)}, %{entry} ], [ {after.format(k)}, %{again} ]"
            for k in range(taps)
        ]
        words[f"OF_{loop.upper()}"] = "\n".join(lines)
    words["STORED"] = "\n".join(line for k in range(taps) for line in _stored(k))
    return own.built(module("depthwise_weights", own.triple.startswith("x86"), **words))


def _stored(k: int) -> Iterator[str]:
    """Store the sum of a tap."""
    yield from added_lanes(f"%of.block.{k}", LANES, f"%all.{k}")
    yield f"  %to.{k} = getelementptr float, ptr %to, i64 {k}\n  store float %all.{k}.sum, ptr %to.{k}"
