"""Machine code of maxima and sums of windows, and of their transposes; ``llvm/windows.ll`` and those beside it have it."""

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np

from ..blas import blas
from ..window_tables import Kind, Part
from .callables import KEEP_GIL, builtin_of
from .compiler import Code, Compiler, compiler
from .handoff import module
from .ir import splat
from .llvm_text import FIELDS, llvm_text, loaded_words
from .products import never, shared_words
from .window_rows import bound_rows, is_small

#: The numbers that the code reads after those of all computations in pieces: how many planes, and how many of them are of one image; for
#: the three arrays the offset of the first plane, and the distances of images and of planes of one image; scratch memory; and the table
#: and its counts.
WORDS = (
    *("planes", "blocks"),
    *(f"{name}.{what}" for name in ("in", "given", "out") for what in ("offset", "image", "block")),
    *("scratch.size", "fill.begin", "fill.end", "lowest", "table.address"),
    *("in.pairs", "in.runs", "given.runs", "first.stages", "second.stages", "out.pairs", "out.runs"),
)
#: LLVM's types by dtype, the integers of the same size, and the ends of names of intrinsic functions.
TYPES = {"float32": ("float", "i32", "f32"), "float64": ("double", "i64", "f64")}
#: The numbers of records.
COPIED = "plane.offset", "scratch.offset", "elements", "rows", "plane.step", "scratch.step"
PAIRS = "plane.offset", "even.offset", "odd.offset", "pairs", "rows", "plane.step", "scratch.step"
STAGE = "to.offset", "length", "tap.number", "number", "codes.offset"
#: Nanoseconds that an element takes, about.
ELEMENT = 0.5
#: Of each kind its stages, each a file ``llvm/windows_<name>.ll``.
KINDS: dict[Kind, tuple[str, ...]] = {
    "max": ("max",),
    "sum": ("sum",),
    "max transposed": ("place", "picked"),
    "sum transposed": ("sum",),
}
#: The first values of stages.
FIRST = {"max": "0xFFF0000000000000", "place": "0xFFF0000000000000", "sum": "-0.0", "picked": "0.0"}


def bound_part(kind: Kind, dtype: np.dtype[np.generic], part: Part, lowest: float, pieces: int) -> Callable[..., None] | None:
    """What computes a part in pieces, called with (image or results, given, result, scratch memory); None without a compiler."""
    own, library = compiler(), blas()
    if own is None or library is None:
        return None
    if is_small(kind, part.windows):
        return bound_rows(own, library, kind, dtype, part, lowest, pieces)
    # the place of a maximum along an axis
    bits = 16 if kind == "max transposed" and max(part.windows.kernel) > 1 << 8 else 8
    code = _code_of(own, KINDS[kind], dtype.name, bits)
    numbers = shared_words(own, library, pieces, part.elements * ELEMENT)
    (value,) = struct.unpack("q", struct.pack("d", lowest))
    first, given, last = part.arrays(kind)
    words = [part.planes, part.blocks, *first, *given, *last, part.table.elements, *part.table.padding, value]
    words += [part.table.records.__array_interface__["data"][0], *part.table.counts]
    return builtin_of(code.address, (code.library, part.table.records), [*numbers, *words], never, KEEP_GIL)


@cache
def _code_of(own: Compiler, stages: tuple[str, ...], dtype: str, bits: int) -> Code:
    return own.built(_text(stages, dtype, bits, own))


def _text(stages: tuple[str, ...], dtype: str, bits: int, own: Compiler) -> str:
    (floats, integer, suffix), item = TYPES[dtype], np.dtype(dtype).itemsize
    # two vectors share what a tap costs besides
    lanes = 2 * own.machine.vector_bits // (8 * item)
    words: dict[str, str | int] = {"TYPE": floats, "INTEGER": integer, "ITEM": item, "LANES": lanes, "HALF": lanes // 2, "SUFFIX": suffix}
    words |= {"MASK": _mask("mask", "left", lanes), "HALF_MASK": _mask("half.mask", "half.left", lanes // 2)}
    words |= {"EVEN": _numbers(range(0, lanes, 2)), "ODD": _numbers(range(1, lanes, 2))}
    words["TURNS"] = _numbers(k // 2 + k % 2 * (lanes // 2) for k in range(lanes))
    words["CODE"] = f"i{bits}"
    functions = [_copy("copied", "plane", "scratch", words), _copy("copied.out", "scratch", "plane", words)]
    functions.append(llvm_text("windows_pairs", **words, RECORD=_record(*PAIRS)))
    named = list(zip(("first", "second"), stages, strict=False))
    functions += [_stage(name, stage, words) for name, stage in named]
    words["STAGES"] = "\n".join(f"  call void @{n}(ptr %scratch, ptr %stages.{n}, i64 %{n}.stages, ptr %taps)" for n, _ in named)
    words["LOWEST"] = f"fptrunc double %lowest.double to {floats}" if item == 4 else "bitcast double %lowest.double to double"
    words |= {"WORDS": "\n".join(loaded_words(WORDS)), "FUNCTIONS": "\n".join(functions)}
    words |= {"ARRAYS": "\n".join(_arrays(own.machine.head + FIELDS["data"])), "PLACES": "\n".join(_places(floats))}
    return module("windows", own.triple.startswith("x86"), **words)


def _copy(name: str, source: str, target: str, words: dict[str, str | int]) -> str:
    return llvm_text("windows_copy", **words, RECORD=_record(*COPIED), NAME=name, FROM=source, TO=target)


def _stage(name: str, stage: str, words: dict[str, str | int]) -> str:
    floats, integer, code, lanes = str(words["TYPE"]), str(words["INTEGER"]), str(words["CODE"]), int(words["LANES"])
    more = {"TAP": _all("tap", "t", integer, lanes), "OWN": _all("own", "own", code, lanes)}
    body = llvm_text(f"windows_{stage}", **words, **more)
    first = ", ".join([f"{floats} {FIRST[stage]}"] * lanes)
    stored = llvm_text("windows_stored_place" if stage == "place" else "windows_stored", **words)
    record = _record(*STAGE)
    return llvm_text("windows_stage", **words, NAME=name, RECORD=record, BODY=body, BEGIN=f"<{first}>", STORE=stored)


def _arrays(data: int) -> Iterator[str]:
    """The addresses of the arguments' elements."""
    for k, name in enumerate(("in", "given", "out", "scratch")):
        yield f"  %{name}.object.at = getelementptr ptr, ptr %arguments, i64 {k}\n  %{name}.object = load ptr, ptr %{name}.object.at"
        yield f"  %{name}.data = getelementptr i8, ptr %{name}.object, i64 {data}\n  %{name}.all = load ptr, ptr %{name}.data"


def _places(floats: str) -> Iterator[str]:
    """Where a plane is in each of the arrays."""
    for name in ("in", "given", "out"):
        yield f"  %{name}.images = mul i64 %image, %{name}.image\n  %{name}.blocks = mul i64 %block, %{name}.block"
        yield f"  %{name}.distance = add i64 %{name}.images, %{name}.blocks\n  %{name}.place = add i64 %{name}.distance, %{name}.offset"
        yield f"  %{name}.p = getelementptr {floats}, ptr %{name}.all, i64 %{name}.place"


def _numbers(numbers: Iterable[int]) -> str:
    """Numbers of lanes as a constant's elements."""
    return ", ".join(f"i32 {k}" for k in numbers)


def _mask(name: str, count: str, lanes: int) -> str:
    """The first lanes, as many as a number says."""
    lines = [f"%{count}.32 = trunc i64 %{count} to i32", *splat(f"%{count}.all", f"%{count}.32", "i32", lanes)]
    lines.append(f"%{name} = icmp ult <{lanes} x i32> <{_numbers(range(lanes))}>, %{count}.all")
    return "\n".join(f"  {line}" for line in lines)


def _all(name: str, number: str, integer: str, lanes: int) -> str:
    """A number in all lanes."""
    lines = [] if integer == "i64" else [f"%{name}.short = trunc i64 %{number} to {integer}"]
    lines += splat(f"%{name}.all", f"%{number}" if integer == "i64" else f"%{name}.short", integer, lanes)
    return "\n".join(f"  {line}" for line in lines)


def _record(*names: str) -> str:
    """The numbers of a record."""
    lines = []
    for k, name in enumerate(names):
        lines += [f"  %{name}.in.record = getelementptr i64, ptr %record, i64 {k}", f"  %{name} = load i64, ptr %{name}.in.record"]
    return "\n".join(lines)
