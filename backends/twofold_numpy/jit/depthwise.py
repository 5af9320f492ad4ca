"""Depthwise convolution as machine code: each channel of an image by itself, read in place.

A row of results is a sum of shifted rows of the image, each multiplied by one weight. The weights stay in registers. Nothing is copied:
lanes beyond the ends of a row of the image are not loaded, and rows above and below it are read from a row of zeros.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from ..direct_tiling import pieces_of
from ..planes import ITEM, Plane
from ..products import MULTIPLICATION
from .compiler import Code, Compiler
from .handoff import module
from .ir import Masks, splat
from .llvm_text import FIELDS, llvm_text, loaded_words

#: The values that the code reads, in order, after those of all computations in pieces.
WORDS = (
    *("items", "channels", "band.rows", "height", "width", "rows", "columns"),
    *("down", "dilate.rows", "pad.rows", "pad.columns", "zeros", "margin", "epilogue"),
)
#: The narrowest vectors, in bits: narrower ones have no instructions for some lanes of a vector.
LEAST_BITS = 256
#: Elements of the widest vectors.
WIDEST = 16
#: Elements of the largest kernel: the weights of a larger one would not fit the registers.
MOST_TAPS = 25
#: Results of a band, which are in the L1 cache when the epilogue reads them.
BAND = 4096
#: A multiplication takes this many times as long as one of a convolution over many channels.
SLOWER = 4


class Kernel(NamedTuple):
    """What the code of a depthwise convolution depends on.

    Attributes
    ----------
    lanes
        Elements of a vector.
    size
        Rows and columns of the kernel.
    across, apart
        Stride and dilation of its columns.
    is_reversed
        Whether its elements are in reverse order.
    down
        Stride of its rows, if rows of the image that the next row of results reads too are loaded once; else 0.
    """

    lanes: int
    size: tuple[int, int]
    across: int
    apart: int
    is_reversed: bool
    down: int = 0

    @property
    def is_wide(self) -> bool:
        """Whether there are registers for rows of the image besides the weights, and masks of bits."""
        return 8 * ITEM * self.lanes > LEAST_BITS

    @property
    def kept(self) -> int:
        """How many rows stay in registers for the next row of results."""
        return max(0, self.size[0] - self.down) if self.down and self.is_wide else 0

    @property
    def together(self) -> int:
        """How many rows of results are computed at once, from the same rows of the image: with few registers none stay in them."""
        return 2 if self.down and not self.is_wide else 1


class DepthwiseTiling(NamedTuple):
    """How machine code computes a depthwise convolution; attributes as for `DirectTiling`.

    And zeros: a row as long as the image's, with a margin on both sides as wide as vectors reach beyond a row.
    """

    pieces: int
    nanoseconds: float
    words: dict[str, int]
    zeros: np.ndarray
    names: tuple[str, ...] = WORDS

    def numbers(self, epilogue: int) -> list[int]:
        """All numbers in the order in which machine code reads them, given an epilogue's address."""
        words = self.words | {"epilogue": epilogue, "zeros": self.zeros.ctypes.data + ITEM * self.words["margin"]}
        return [words[name] for name in self.names]


def is_depthwise(p: Plane, bits: int) -> bool:
    """Whether a convolution can be computed this way, with vectors of so many bits: one with all elements of its weights."""
    is_whole = len(p.elements) == p.steps[0]
    return p.channels == p.filters == 1 and is_whole and p.stride[1] <= 2 and len(p.places) <= MOST_TAPS and bits >= LEAST_BITS


def tiling_of(p: Plane, threads: int) -> DepthwiseTiling:
    """The tiling of a depthwise convolution; no result depends on the number of threads."""
    (rows, columns), (height, width) = p.out, p.size
    items = p.n * p.groups
    work = SLOWER * items * len(p.places) * rows * columns
    words = {
        "items": items,
        "channels": p.groups,
        "band.rows": max(1, BAND // columns),
        "height": height,
        "width": width,
        "rows": rows,
        "columns": columns,
        "down": p.stride[0],
        "dilate.rows": p.dilate[0],
        "pad.rows": p.pad[0],
        "pad.columns": p.pad[1],
        "margin": (margin := p.pad[1] + p.kernel[1] * p.dilate[1] + WIDEST * p.stride[1]),
    }
    zeros = np.zeros(width + 2 * margin, np.float32)
    return DepthwiseTiling(min(pieces_of(work, threads), items), work * MULTIPLICATION, words, zeros)


def kernel_of(p: Plane, bits: int) -> Kernel:
    """The kernel of a depthwise convolution, for vectors of so many bits."""
    return Kernel(bits // (8 * ITEM), p.kernel, p.stride[1], p.dilate[1], p.elements[0] > 0)


def with_kept_rows(kernel: Kernel, p: Plane) -> Kernel:
    """The kernel for code that loads a row of the image once for several rows of results, if its rows are neighbors."""
    return kernel._replace(down=p.stride[0]) if p.dilate[0] == 1 else kernel


@cache
def code_of(own: Compiler, kernel: Kernel) -> Code:
    """The machine code of the depthwise convolutions with a kernel."""
    printer, lanes = Printer(kernel, own.machine.vector_bits), kernel.lanes
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words(WORDS)), "DATA": own.machine.head + FIELDS["data"]}
    words |= {"TAPS": kernel.size[0] * kernel.size[1], "TOGETHER": kernel.together, "MASK": printer.kept_masks.bits}
    near = "near" if printer.kept_masks.are_integers else "rows"
    words["NEAR"] = near
    functions = dict.fromkeys(product(("rows", near), (1, kernel.together)))  # in an order that is always the same: the text is a key
    words["ROWS"] = "\n".join(printer.rows(name, together) for name, together in functions)
    return own.built(
        module("depthwise", own.triple.startswith("x86"), **words, LANES=lanes, VECTOR=printer.vector, OVERLOAD=printer.overload)
    )


class Printer:
    """Prints what depends on the kernel, for registers of so many bits."""

    def __init__(self, kernel: Kernel, vector_bits: int) -> None:
        self.kernel, self.lanes = kernel, kernel.lanes
        lanes = kernel.lanes
        self.vector, self.overload = f"<{lanes} x float>", f"v{lanes}f32"
        self.kept_masks = Masks(lanes, ITEM, vector_bits)
        #: Whether vectors of the image are loaded as a whole: loads by masks of integers may take ten times as long.
        self.is_near = False

    def loaded(self, name: str, at: str, mask: str) -> Iterator[str]:
        """Load the lanes of a vector that a mask names; the others are zeros."""
        yield f"  {self.kept_masks.used(f'{name}.mask', mask)}"
        if self.is_near:
            yield f"  {name}.all = load {self.vector}, ptr {at}, align 4"
            yield f"  {name} = select {self.kept_masks.bits} {name}.mask, {self.vector} {name}.all, {self.vector} zeroinitializer"
            return
        load = f"@llvm.masked.load.{self.overload}.p0(ptr {at}, i32 4, {self.kept_masks.bits} {name}.mask, {self.vector} zeroinitializer)"
        yield f"  {name} = call {self.vector} {load}"

    def stored(self, name: str, at: str, mask: str) -> Iterator[str]:
        """Store the lanes of a vector that a mask names."""
        yield f"  {self.kept_masks.used(f'{name}.mask', mask)}"
        masked = f"{self.vector} {name}, ptr {at}, i32 4, {self.kept_masks.bits} {name}.mask"
        yield f"  call void @llvm.masked.store.{self.overload}.p0({masked})"

    def compared(self, name: str, a: str, b: str) -> Iterator[str]:
        """Define the mask of the lanes in which a number is less than another; both have no sign."""
        yield f"  {name}.bits = icmp ult <{self.lanes} x i32> {a}, {b}"
        yield f"  {self.kept_masks.kept(name, f'{name}.bits')}"

    def weights(self) -> Iterator[str]:
        """``%w.k``: the weight of each tap, in the order in which the taps are added, in all lanes of a vector."""
        taps = self.kernel.size[0] * self.kernel.size[1]
        for k in range(taps):
            yield f"  %w.{k}.at = getelementptr float, ptr %weights, i64 {taps - 1 - k if self.kernel.is_reversed else k}"
            yield f"  %w.{k}.one = load float, ptr %w.{k}.at, align 4"
            yield from (f"  {line}" for line in splat(f"%w.{k}", f"%w.{k}.one", "float", self.lanes))

    def masks(self) -> Iterator[str]:
        """``%at.kx``, the first column that a column of the kernel reads, and ``%mask.kx.part``, which lanes are columns of the image."""
        for kx in sorted({self._place(kx)[0] for kx in range(self.kernel.size[1])}):
            yield f"  %at.{kx} = add i64 %x.first, {kx * self.kernel.apart}"
            yield f"  %at.{kx}.32 = trunc i64 %at.{kx} to i32"
            yield from (f"  {line}" for line in splat(f"%at.{kx}.all", f"%at.{kx}.32", "i32", self.lanes))
            for part in range(self.kernel.across):
                numbers = ", ".join(f"i32 {part * self.lanes + lane}" for lane in range(self.lanes))
                yield f"  %column.{kx}.{part} = add <{self.lanes} x i32> %at.{kx}.all, <{numbers}>"
                # a negative column is a large one without sign
                yield from self.compared(f"%mask.{kx}.{part}", f"%column.{kx}.{part}", "%widths")

    def rows(self, name: str, together: int) -> str:
        """The function that computes rows of results, some at once; ``name`` is "near" if all vectors are inside the array of images."""
        self.is_near = name == "near"
        inside = self.compared("%stored", f"<{', '.join(f'i32 {k}' for k in range(self.lanes))}>", "%left.all")
        words = {"LOADED_WEIGHTS": self.weights(), "MASKS": self.masks(), "INSIDE": inside}
        if together == 1:
            words |= {"FIRST_ROWS": self.first_rows(), "KEPT_ROWS": self.kept_rows(), "SUMS": self.sums()}
        else:
            words |= {"FIRST_ROWS": iter(()), "KEPT_ROWS": iter(()), "SUMS": self.sums_together(together)}
        words["PLACES"] = self._places(together)
        words["STORE_WHOLE"] = (f"  store {self.vector} %sum.of.{r}, ptr %to.block.{r}, align 4" for r in range(together))
        words["STORE_SOME"] = (line for r in range(together) for line in self.stored(f"%sum.of.{r}", f"%to.block.{r}", "%stored"))
        texts = {name: "\n".join(lines) for name, lines in words.items()}
        return llvm_text("depthwise_rows", **texts, LANES=self.lanes, ACROSS=self.kernel.across, TOGETHER=together, NAME=name)

    def _places(self, together: int) -> Iterator[str]:
        """``%to.block.r``, where the results of each row are stored, and ``%to.last``, where the last row begins."""
        before = "%to"
        for r in range(together):
            row = "%to.last" if r == together - 1 else f"%to.row.{r}"
            yield f"  {row} = getelementptr float, ptr {before}, i64 {'%columns' if r else 0}"
            yield f"  %to.block.{r} = getelementptr float, ptr {row}, i64 %x.now"
            before = row

    def sums(self) -> Iterator[str]:
        """``%sum.of.0``: one chain of fused multiply-adds for each result."""
        return self.taps(lambda k: self._added(0, k, f"%x.{k}"))

    def sums_together(self, together: int) -> Iterator[str]:
        """``%sum.of.r`` for some rows of results: each row of the image is loaded for all of them."""
        height, width = self.kernel.size
        rows, new = height + self.kernel.down * (together - 1), self.kernel.down * together
        for y in range(rows):
            yield from self._row(y, "%x", "%y.first")
            if self.is_near and y >= rows - new:
                # the same place of the next image: rows are so far apart that the processor does not see which line is next
                yield f"  %ahead.{y} = getelementptr float, ptr %from.{y}.0, i64 %plane"
                yield f"  call void @llvm.prefetch.p0(ptr %ahead.{y}, i32 0, i32 2, i32 1)"
            for r in range(together):
                ky = y - r * self.kernel.down
                if 0 <= ky < height:
                    yield from (self._added(r, ky * width + kx, f"%x.{y * width + kx}") for kx in range(width))

    def _added(self, r: int, k: int, x: str) -> str:
        """Add the product of a tap, in the order of taps, to the sum of a row of results."""
        is_last = k == self.kernel.size[0] * self.kernel.size[1] - 1
        return self.fma(f"%sum.of.{r}" if is_last else f"%sum.{r}.{k}", f"%w.{k}", x, f"%sum.{r}.{k - 1}" if k else "zeroinitializer")

    def fma(self, result: str, a: str, b: str, c: str) -> str:
        """Define a vector as ``a * b + c``."""
        return f"  {result} = call {self.vector} @llvm.fma.{self.overload}({self.vector} {a}, {self.vector} {b}, {self.vector} {c})"

    def taps(self, use: Callable[[int], str]) -> Iterator[str]:
        """``%x.k``: the vector of the image that a tap reads, for all taps, each followed by what uses it."""
        height, width = self.kernel.size
        for ky in range(height):
            if ky >= self.kernel.kept:
                yield from self._row(ky, "%x", "%y.first")
            yield from map(use, range(ky * width, (ky + 1) * width))

    def first_rows(self) -> Iterator[str]:
        """``%x.first.k``: what the first row of results reads of the rows that stay in registers."""
        for ky in range(self.kernel.kept):
            yield from self._row(ky, "%x.first", "%y.begin")

    def kept_rows(self) -> Iterator[str]:
        """``%x.k`` of the rows that stay in registers: those of the row of results before, which reads them further below."""
        width = self.kernel.size[1]
        for k in range(self.kernel.kept * width):
            yield f"  %x.{k} = phi {self.vector} [ %x.first.{k}, %begin ], [ %x.{k + self.kernel.down * width}, %next ]"

    def _row(self, ky: int, name: str, first: str) -> Iterator[str]:
        """``name.k``: the vectors that the taps of a row of the kernel read, given the row of the image for the first one."""
        width = self.kernel.size[1]
        yield f"  %deeper.{ky} = mul i64 %dilate.rows, {ky}\n  %y.{ky} = add i64 {first}, %deeper.{ky}"
        yield f"  %exists.{ky} = icmp ult i64 %y.{ky}, %height\n  %offset.{ky} = mul i64 %y.{ky}, %width"
        yield f"  %inside.{ky} = getelementptr float, ptr %image, i64 %offset.{ky}"
        yield f"  %row.{ky} = select i1 %exists.{ky}, ptr %inside.{ky}, ptr %zero.row"
        for kx in sorted({self._place(kx)[0] for kx in range(width)}):
            yield from self._loaded(ky, kx)
        for kx in range(width):
            yield self._taken(f"{name}.{ky * width + kx}", ky, kx)

    def _place(self, kx: int) -> tuple[int, int]:
        """The column of the kernel whose vectors have the elements that a column reads, and the first of these in them."""
        is_second = self.kernel.across == 2 and self.kernel.apart == 1 and kx % 2 == 1
        return (kx - 1, 1) if is_second else (kx, 0)

    def _loaded(self, ky: int, kx: int) -> Iterator[str]:
        """``%part.ky.kx.part``: the vectors of a row that a column of the kernel reads."""
        yield f"  %from.{ky}.{kx} = getelementptr float, ptr %row.{ky}, i64 %at.{kx}"
        for part in range(self.kernel.across):
            at = f"%from.{ky}.{kx}.{part}"
            yield f"  {at} = getelementptr float, ptr %from.{ky}.{kx}, i64 {part * self.lanes}"
            yield from self.loaded(f"%part.{ky}.{kx}.{part}", at, f"%mask.{kx}.{part}")

    def _taken(self, name: str, ky: int, kx: int) -> str:
        """Define a vector of the elements that one tap reads."""
        column, first = self._place(kx)
        # both are the same vector without a stride
        parts = [f"{self.vector} %part.{ky}.{column}.{part}" for part in (0, self.kernel.across - 1)]
        lanes = ", ".join(f"i32 {first + self.kernel.across * k}" for k in range(self.lanes))
        return f"  {name} = shufflevector {parts[0]}, {parts[1]}, <{self.lanes} x i32> <{lanes}>"
