"""Machine code of maxima and sums of small windows of images, without scratch memory; ``llvm/window_rows.ll`` has it.

The columns of a window are written out in the code. Each element of a row is loaded once for several vectors of results: for a stride of
two its even and its odd elements are taken apart, and further columns of windows are shifted vectors.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import product

import numpy as np

from ..blas import Blas
from ..window_tables import Kind, Part, Windows
from .callables import KEEP_GIL, builtin_of
from .compiler import Compiler
from .handoff import code_of
from .ir import Masks, splat
from .llvm_text import data_addresses, llvm_text, loaded_words
from .products import never, shared_words

#: The numbers that the code reads after those of all computations in pieces: of planes, of an image and of its results, of windows, the
#: value of padding, and how far vectors reach beyond a row.
WORDS = ("planes", "planes.before", "height", "width", "rows", "columns", "kernel.rows", "down")
WORDS += ("rows.before", "columns.before", "lowest", "margin")
#: LLVM's types by dtype, the ends of names of intrinsic functions, and how a double becomes one.
TYPES = {"float32": ("float", "f32", "fptrunc"), "float64": ("double", "f64", "bitcast")}
#: Columns and rows of the largest windows: those of larger ones are reduced one after the other, in scratch memory.
MOST_COLUMNS, MOST_ROWS = 4, 4
#: Bits of the widest vectors, and how many of them are computed at once at most.
WIDEST, MOST_VECTORS = 512, 4
#: Nanoseconds that an element of a window takes, about.
TAP = 0.1


def is_small(kind: Kind, w: Windows) -> bool:
    """Whether this code computes such windows."""
    is_of_images = w.size[0] == w.number[0] and not w.before[0] and w.kernel[0] == w.stride[0] == w.step == w.inner == 1
    return kind in ("max", "sum") and is_of_images and w.stride[2] <= 2 and w.kernel[2] <= MOST_COLUMNS and w.kernel[1] <= MOST_ROWS


def bound_rows(
    own: Compiler, library: Blas, kind: Kind, dtype: np.dtype[np.generic], part: Part, lowest: float, pieces: int
) -> Callable[..., None]:
    """What computes a part in pieces, called with (image, image, result, scratch memory)."""
    w = part.windows
    printer = _Printer(own, kind == "max", dtype, w.kernel[2], w.stride[2], w.number[2])
    code = code_of(own, "window_rows", **printer.words())
    planes = part.planes * w.size[0]
    (padding,) = struct.unpack("q", struct.pack("d", lowest))
    words = [
        planes,
        part.frame,
        *w.size[1:],
        *w.number[1:],
        w.kernel[1],
        w.stride[1],
        *w.before[1:],
        padding,
        printer.margin(w.size[2], w.before[2], w.number[2]),
    ]
    nanoseconds = planes * w.number[1] * w.number[2] * w.kernel[1] * w.kernel[2] * TAP
    return builtin_of(code.address, code.library, [*shared_words(own, library, pieces, nanoseconds), *words], never, KEEP_GIL)


class _Printer:
    """Prints what fills in the text: for a maximum or a sum, and windows of some columns with a stride of ``across``."""

    def __init__(self, own: Compiler, is_max: bool, dtype: np.dtype[np.generic], kernel: int, across: int, columns: int) -> None:
        (self.floats, suffix, self.from_double), self.item = TYPES[dtype.name], dtype.itemsize
        # so many that columns of a window beyond the first are in the same vector or in the next
        self.lanes, self.head = max(MOST_COLUMNS, own.machine.vector_bits // (8 * self.item)), own.machine.head
        self.is_max, self.kernel, self.across = is_max, kernel, across
        self.vector, self.overload = f"<{self.lanes} x {self.floats}>", f"v{self.lanes}{suffix}"
        self.mask = f"<{self.lanes} x i1>"
        self.masks = Masks(self.lanes, self.item, own.machine.vector_bits)
        #: Loads by masks of integers may take ten times as long as others: then they are for planes at the ends of an array only.
        self.is_near = self.masks.are_integers
        most = MOST_VECTORS * own.machine.vector_bits // WIDEST
        self.together = max(1, min(most, -(-columns // self.lanes)))
        #: Vectors that are loaded from a row of the image: with one more, of which windows at the end read the first elements.
        self.loads = self.together * across + (across if kernel > across else 0)

    def words(self) -> dict[str, str | int]:
        """All of it, by name."""
        words: dict[str, str | int] = {"TYPE": self.floats, "VECTOR": self.vector, "OVERLOAD": self.overload, "ITEM": self.item}
        words["KEPT_MASK"] = self.masks.type
        words |= {"LANES": self.lanes, "TOGETHER": self.lanes * self.together, "ACROSS": self.across}
        words |= {"WORDS": "\n".join(loaded_words(WORDS)), "DATA": "\n".join(data_addresses(("in", "given", "out"), self.head))}
        words["LOWEST"] = f"{self.from_double} double %lowest.double to {self.floats}"
        words["PADDING"] = _indented(splat("%padding", "%lowest.value", self.floats, self.lanes))
        words["MASKS"] = _indented(self._masks())
        quick = ["quick", "near"] if self.is_near else ["quick"]
        for name, before in (*((name, "block") for name in quick), ("again", "checked")):
            words[name.upper()] = _indented(self._rows(name))
            words[f"{name.upper()}_VALUES"] = _indented(self._values(name, before))
        words["NEAR_ROWS"] = llvm_text("window_rows_near", **words) if self.is_near else ""
        words["CHECKED"] = _indented(self._checked(quick))
        words["IS_NEAR"] = "%may.be.near" if self.is_near else "false"
        words["NEAR_LOOK"] = quick[-1]
        words["RESULTS"] = _indented(self._results())
        return words

    def margin(self, width: int, before: int, columns: int) -> int:
        """How many elements before and after a row are loaded with it, at most."""
        block = self.lanes * self.together
        last = (columns - 1) // block * block * self.across - before
        return max(before, last + self.loads * self.lanes - width)

    def _masks(self) -> Iterator[str]:
        """Which lanes of the vectors that are loaded are inside the image."""
        for k in range(self.loads):
            yield f"%first.{k} = add i64 %first, {k * self.lanes}\n  %first.{k}.short = trunc i64 %first.{k} to i32"
            yield from splat(f"%first.{k}.all", f"%first.{k}.short", "i32", self.lanes)
            yield f"%at.{k} = add <{self.lanes} x i32> %first.{k}.all, <{_numbers(range(self.lanes))}>"
            yield from self._less(f"%inside.{k}.bits", f"%at.{k}", "%width", "ult")
            yield self.masks.kept(f"%inside.{k}", f"%inside.{k}.bits")

    def _less(self, name: str, numbers: str, bound: str, how: str) -> Iterator[str]:
        """Which of the lanes' numbers are less than a bound."""
        yield f"{name}.short = trunc i64 {bound} to i32"
        yield from splat(f"{name}.bound", f"{name}.short", "i32", self.lanes)
        yield f"{name} = icmp {how} <{self.lanes} x i32> {numbers}, {name}.bound"

    def _values(self, name: str, before: str) -> Iterator[str]:
        begin = f"splat ({self.floats} {'0xFFF0000000000000' if self.is_max else '-0.0'})"
        for v in range(self.together):
            yield f"%{name}.value.{v} = phi {self.vector} [ {begin}, %{before} ], [ %{name}.with.row.{v}, %{name} ]"

    def _rows(self, name: str) -> Iterator[str]:
        """Columns of a row of the windows, reduced, and joined with the rows before; if ``name`` is "quick", a NaN is only looked for."""
        for k in range(self.loads):
            yield f"%{name}.from.{k} = getelementptr {self.floats}, ptr %{name}.from, i64 {k * self.lanes}"
            yield self.masks.used(f"%{name}.inside.{k}", f"%inside.{k}")
            inside = f"{self.mask} %{name}.inside.{k}"
            if name == "near":
                yield f"%near.all.{k} = load {self.vector}, ptr %near.from.{k}, align {self.item}"
                yield f"%near.x.{k} = select {inside}, {self.vector} %near.all.{k}, {self.vector} %padding"
                continue
            arguments = f"ptr %{name}.from.{k}, i32 {self.item}, {inside}, {self.vector} %padding"
            yield f"%{name}.x.{k} = call {self.vector} @llvm.masked.load.{self.overload}.p0({arguments})"
        if self.across == 2:
            for k, odd in product(range(self.loads // 2), range(min(2, self.kernel))):
                pair = f"%{name}.x.{2 * k}", f"%{name}.x.{2 * k + 1}"
                yield self._shuffled(f"%{name}.part.{odd}.{k}", *pair, range(odd, 2 * self.lanes, 2))
        for v, k in product(range(self.together), range(self.across, self.kernel)):
            step, part = divmod(k, self.across)
            pair = self._part(name, part, v), self._part(name, part, v + 1)
            yield self._shuffled(f"%{name}.tap.{k}.{v}", *pair, range(step, step + self.lanes))
        for v in range(self.together):
            taps = [self._part(name, k, v) if k < self.across else f"%{name}.tap.{k}.{v}" for k in range(self.kernel)]
            value = taps[0]
            for k, tap in enumerate(taps[1:]):
                yield from self._joined(f"%{name}.of.row.{k}.{v}", value, tap, name != "again")
                value = f"%{name}.of.row.{k}.{v}"
            yield from self._joined(f"%{name}.with.row.{v}", f"%{name}.value.{v}", value, name != "again")
        if name != "again":
            yield from self._looked(name)

    def _looked(self, name: str) -> Iterator[str]:
        """Where a NaN has been, in any of the vectors: two of them are looked at in one instruction."""
        parts = [self._part(name, odd, k) for k in range(self.loads // self.across) for odd in range(min(self.across, self.kernel))]
        nan = f"%{name}.nan"
        for k in range(0, len(parts), 2) if self.is_max else ():
            yield f"%{name}.unordered.{k} = fcmp uno {self.vector} {parts[k]}, {parts[min(k + 1, len(parts) - 1)]}"
            yield self.masks.kept(f"%{name}.unordered.{k}.kept", f"%{name}.unordered.{k}")
            yield f"%{name}.nan.{k} = or {self.masks.type} {nan}, %{name}.unordered.{k}.kept"
            nan = f"%{name}.nan.{k}"
        yield f"%{name}.nan.all = or {self.masks.type} {nan}, zeroinitializer"

    def _checked(self, quick: Iterable[str]) -> Iterator[str]:
        """Reduced values and where there has been a NaN, by whichever of the quick ways."""
        for what, kind in (("nan", self.masks.type), *((f"value.{v}", self.vector) for v in range(self.together))):
            found = ", ".join(f"[ %{name}.{what}, %{name}.look ]" for name in quick)
            yield f"%checked.{what} = phi {kind} {found}"
        yield self.masks.used("%nan.bits", "%checked.nan")

    def _part(self, name: str, part: int, number: int) -> str:
        """A vector of the image, or of its columns of even or of odd numbers."""
        return f"%{name}.x.{number}" if self.across == 1 else f"%{name}.part.{part}.{number}"

    def _shuffled(self, name: str, first: str, second: str, places: Iterable[int]) -> str:
        return f"{name} = shufflevector {self.vector} {first}, {self.vector} {second}, <{self.lanes} x i32> <{_numbers(places)}>"

    def _joined(self, name: str, value: str, x: str, quick: bool) -> Iterator[str]:
        """The sum or the maximum of two vectors: NumPy's, for which a NaN stays, or a quick one of numbers."""
        if not self.is_max:
            yield f"{name} = fadd {self.vector} {value}, {x}"
            return
        larger = name if quick else f"{name}.larger"
        yield f"{name}.is.larger = fcmp ogt {self.vector} {value}, {x}"
        yield f"{larger} = select {self.mask} {name}.is.larger, {self.vector} {value}, {self.vector} {x}"
        if not quick:
            yield f"{name}.is.nan = fcmp uno {self.vector} {value}, {value}"
            yield f"{name} = select {self.mask} {name}.is.nan, {self.vector} {value}, {self.vector} {larger}"

    def _results(self) -> Iterator[str]:
        """Rows outside the image count as one of padding, and the results are stored."""
        for v in range(self.together):
            yield f"%value.{v} = phi {self.vector} [ %checked.value.{v}, %checked ], [ %again.value.{v}, %again.look ]"
        for v in range(self.together):
            yield from self._joined(f"%with.padding.{v}", f"%value.{v}", "%padding", False)
            yield f"%result.{v} = select i1 %is.whole, {self.vector} %value.{v}, {self.vector} %with.padding.{v}"
            yield f"%c.{v} = add i64 %c, {v * self.lanes}\n  %to.{v} = getelementptr {self.floats}, ptr %to, i64 %c.{v}"
        # not by masks where that is not needed: they cost ten times as much where they are integers
        yield f"%c.end = add i64 %c, {self.together * self.lanes}\n  %is.full = icmp sle i64 %c.end, %columns"
        yield "br i1 %is.full, label %store.all, label %store.some\nstore.all:"
        yield from (f"store {self.vector} %result.{v}, ptr %to.{v}, align {self.item}" for v in range(self.together))
        yield "br label %block.done\nstore.some:"
        for v in range(self.together):
            yield f"%left.{v} = sub i64 %columns, %c.{v}"
            yield from self._less(f"%stored.{v}", f"<{_numbers(range(self.lanes))}>", f"%left.{v}", "slt")
            arguments = f"{self.vector} %result.{v}, ptr %to.{v}, i32 {self.item}, {self.mask} %stored.{v}"
            yield f"call void @llvm.masked.store.{self.overload}.p0({arguments})"


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(f"i32 {k}" for k in numbers)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
