"""Depthwise convolution as machine code: each channel of an image by itself, read in place.

A row of results is a sum of shifted rows of the image, each multiplied by one weight. The weights stay in registers. Nothing is copied:
lanes beyond the ends of a row of the image are not loaded, and rows above and below it are read from a row of zeros.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from ..direct_tiling import pieces_of
from ..planes import ITEM, Plane
from ..products import MULTIPLICATION
from .compiler import Code, Compiler
from .handoff import module
from .ir import splat
from .llvm_text import FIELDS, loaded_words

#: The values that the code reads, in order, after those of all computations in pieces.
WORDS = (
    *("items", "channels", "band.rows", "height", "width", "rows", "columns"),
    *("down", "dilate.rows", "pad.rows", "pad.columns", "zeros", "epilogue"),
)
#: The narrowest vectors, in bits: narrower ones have no instructions for some lanes of a vector.
LEAST_BITS = 256
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
        Stride of its rows, if rows of the image that the next row of results reads too stay in registers; else 0.
    """

    lanes: int
    size: tuple[int, int]
    across: int
    apart: int
    is_reversed: bool
    down: int = 0

    @property
    def kept(self) -> int:
        """How many rows stay in registers."""
        return max(0, self.size[0] - self.down) if self.down else 0


class DepthwiseTiling(NamedTuple):
    """How machine code computes a depthwise convolution; attributes as for `DirectTiling`, and a row of zeros as long as the image's."""

    pieces: int
    nanoseconds: float
    words: dict[str, int]
    zeros: np.ndarray
    names: tuple[str, ...] = WORDS

    def numbers(self, epilogue: int) -> list[int]:
        """All numbers in the order in which machine code reads them, given an epilogue's address."""
        words = self.words | {"epilogue": epilogue, "zeros": self.zeros.ctypes.data}
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
    }
    return DepthwiseTiling(min(pieces_of(work, threads), items), work * MULTIPLICATION, words, np.zeros(width, np.float32))


def kernel_of(p: Plane, bits: int) -> Kernel:
    """The kernel of a depthwise convolution, for vectors of so many bits."""
    return Kernel(bits // (8 * ITEM), p.kernel, p.stride[1], p.dilate[1], p.elements[0] > 0)


def with_kept_rows(kernel: Kernel, p: Plane) -> Kernel:
    """The kernel for code that loads each row of the image once, if its rows are neighbors."""
    return kernel._replace(down=p.stride[0]) if p.dilate[0] == 1 else kernel


@cache
def code_of(own: Compiler, kernel: Kernel) -> Code:
    """The machine code of the depthwise convolutions with a kernel."""
    printer, lanes = Printer(kernel), kernel.lanes
    words: dict[str, str | int] = {"WORDS": "\n".join(loaded_words(WORDS)), "DATA": own.machine.head + FIELDS["data"]}
    words |= {"LANES": lanes, "VECTOR": printer.vector, "MASK": printer.mask, "OVERLOAD": printer.overload, "ACROSS": kernel.across}
    words |= {"LANE_NUMBERS": ", ".join(f"i32 {k}" for k in range(lanes)), "TAPS": kernel.size[0] * kernel.size[1]}
    words |= {"LOADED_WEIGHTS": "\n".join(printer.weights()), "MASKS": "\n".join(printer.masks()), "SUMS": "\n".join(printer.sums())}
    words |= {"FIRST_ROWS": "\n".join(printer.first_rows()), "KEPT_ROWS": "\n".join(printer.kept_rows())}
    return own.built(module("depthwise", own.triple.startswith("x86"), **words))


class Printer:
    """Prints what depends on the kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.lanes = kernel, kernel.lanes
        lanes = kernel.lanes
        self.vector, self.mask, self.overload = f"<{lanes} x float>", f"<{lanes} x i1>", f"v{lanes}f32"

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
                yield f"  %mask.{kx}.{part} = icmp ult <{self.lanes} x i32> %column.{kx}.{part}, %widths"

    def sums(self) -> Iterator[str]:
        """``%sum``: one chain of fused multiply-adds for each result."""
        last = self.kernel.size[0] * self.kernel.size[1] - 1

        def added(k: int) -> str:
            result, total = "%sum" if k == last else f"%sum.{k}", f"%sum.{k - 1}" if k else "zeroinitializer"
            return self.fma(result, f"%w.{k}", f"%x.{k}", total)

        return self.taps(added)

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
            yield f"  %x.{k} = phi {self.vector} [ %x.first.{k}, %begin ], [ %x.{k + self.kernel.down * width}, %each ]"

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
            at, mask = f"%from.{ky}.{kx}.{part}", f"{self.mask} %mask.{kx}.{part}"
            yield f"  {at} = getelementptr float, ptr %from.{ky}.{kx}, i64 {part * self.lanes}"
            load = f"call {self.vector} @llvm.masked.load.{self.overload}.p0(ptr {at}, i32 4, {mask}, {self.vector} zeroinitializer)"
            yield f"  %part.{ky}.{kx}.{part} = {load}"

    def _taken(self, name: str, ky: int, kx: int) -> str:
        """Define a vector of the elements that one tap reads."""
        column, first = self._place(kx)
        # both are the same vector without a stride
        parts = [f"{self.vector} %part.{ky}.{column}.{part}" for part in (0, self.kernel.across - 1)]
        lanes = ", ".join(f"i32 {first + self.kernel.across * k}" for k in range(self.lanes))
        return f"  {name} = shufflevector {parts[0]}, {parts[1]}, <{self.lanes} x i32> <{lanes}>"
