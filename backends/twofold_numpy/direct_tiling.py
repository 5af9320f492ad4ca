"""How a direct convolution is cut into items, and the numbers that its machine code reads; see `direct`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .geometry import Geometry, Kind
from .memory import ALIGNMENT
from .products import CUT, MULTIPLICATION

#: Bytes of copied rows in a band, and most places of its results: both stay in the L2 cache while all filters are computed.
BAND, PLACES = 384 << 10, 1024
ITEM = 4
#: Multiplications from which the work is cut into four pieces instead of two.
CUT_IN_FOUR = 1 << 26
#: Bytes that the tables of offsets can express.
REACH = 1 << 31
#: The words of a tiling that machine code reads, in order.
WORDS = (
    *("items", "scratch.size", "tile.offset", "tile.step", "is.copied", "is.spread"),
    *("groups", "bands", "band.rows", "ranges", "range.filters", "filters"),
    *("image.step", "data.group.step", "channel.step", "row.step", "column.step", "image.rows", "channels"),
    *("weight.group.step", "weight.step", "out.image.step", "out.group.step", "out.step", "out.row.step"),
    *("out.rows", "out.columns", "pitch", "stride", "epilogue", "taps", "copied.rows"),
)


class Plane(NamedTuple):
    """A two-dimensional convolution (n, channels, rows, columns) to (n, filters, …), with sizes per group, and weights in any order.

    Attributes
    ----------
    n, groups, channels, filters
        Number of images; number of groups, and the channels and filters of each group.
    size, kernel, stride, dilate, pad, out
        Each for rows and for columns.
    steps
        Elements of the weight from group to group, filter to filter, and channel to channel.
    is_reversed
        Whether the elements of the kernel are in reverse order.
    """

    n: int
    groups: int
    channels: int
    filters: int
    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilate: tuple[int, int]
    pad: tuple[int, int]
    out: tuple[int, int]
    steps: tuple[int, int, int]
    is_reversed: bool

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column, in the padded image, of each element of the kernel, in the order in which they are added."""
        (height, width), (down, across) = self.kernel, self.dilate
        return [(y * down, x * across) for y in range(height) for x in range(width)]


class DirectTiling(NamedTuple):
    """How machine code computes a convolution: numbers in bytes where they concern memory; see `jit/llvm/direct.ll`.

    Attributes
    ----------
    pieces
        Into how many pieces the items are divided.
    nanoseconds
        An estimate of the time in one thread.
    words
        The values of `WORDS`.
    rows, taps
        The tables of copied rows and of taps: the bytes to an element of the image, and to one of the weight (n, 2).
    """

    pieces: int
    nanoseconds: float
    words: dict[str, int]
    rows: list[tuple[int, int, int, int]]
    taps: np.ndarray

    @property
    def scratch(self) -> int:
        """Bytes of scratch memory for all pieces, and for its alignment."""
        return self.pieces * self.words["scratch.size"] + ALIGNMENT

    def numbers(self, epilogue: int) -> list[int]:
        """All numbers in the order in which machine code reads them, given an epilogue's address; the halves of a tap are one number."""
        taps = self.taps.view(np.int64).ravel().tolist()
        words = self.words | {"epilogue": epilogue}
        return [*[words[name] for name in WORDS], *[n for row in self.rows for n in row], *taps]


def plane_of(kind: Kind, g: Geometry) -> Plane:
    """A convolution or its gradient as a convolution of planes."""
    depth, per, taps = g.channels // g.groups, g.filters // g.groups, g.taps
    kernel, stride, dilate, pad, size, out = (
        _two(sizes, k) for k, sizes in enumerate((g.kernel, g.stride, g.dilate, g.pad, g.size, g.out))
    )
    if kind == "forward":
        steps = (per * depth * taps, depth * taps, taps)
        return Plane(g.n, g.groups, depth, per, size, kernel, stride, dilate, pad, out, steps, False)
    # the gradient is a convolution with the reversed kernel and the padding that restores the size
    full = tuple(e * (k - 1) - p for e, k, p in zip(dilate, kernel, pad, strict=True))
    return Plane(
        g.n, g.groups, per, depth, out, kernel, stride, dilate, (full[0], full[1]), size, (per * depth * taps, taps, depth * taps), True
    )


def _two(sizes: tuple[int, ...], k: int) -> tuple[int, int]:
    """Sizes of a plane; a line is a plane with one row, which is not padded."""
    return (sizes[0], sizes[1]) if len(sizes) == 2 else (0 if k == 3 else 1, sizes[0])


def tiling_of(p: Plane, block: int, vector: int, threads: int = 1, in_tiles: bool = False) -> DirectTiling:
    """The tiling of a convolution.

    Parameters
    ----------
    p
        The convolution.
    block, vector
        The most filters that are accumulated at once, and the bytes of a vector.
    threads
        How many threads share the work; no result depends on that.
    in_tiles
        Whether all results go through a tile.
    """
    kernel = p.places
    taps = p.channels * len(kernel)
    (rows, columns), (height, width) = p.out, p.size
    copies = any(p.pad) or p.stride != (1, 1)
    # the planes that some tap reads: of a 1x1 kernel with stride 2 only one of the four
    phases = sorted({(y % p.stride[0], x % p.stride[1]) for y, x in kernel})
    deep, wide = (max(place[k] // p.stride[k] for place in kernel) for k in (0, 1))
    # a row of a copied plane: the results' columns, and the columns beyond them that taps reach
    pitch = columns + wide if copies else width
    of_row = ITEM * p.channels * len(phases) * pitch
    work = p.n * p.groups * p.filters * taps * rows * columns
    pieces = 1 if threads == 1 or work < CUT else 2 if work < CUT_IN_FOUR else max(4, threads)
    least = -(-rows // max(1, min(rows, BAND // of_row, PLACES // pitch)))
    if least > 1 and p.n * p.groups == 1:
        least = min(rows, pieces * -(-least // pieces))  # whole bands for every piece
    band = -(-rows // least)  # bands of about the same size
    bands = -(-rows // band)
    plane_rows = band + deep
    channel = len(phases) * plane_rows * pitch if copies else height * width
    spreads = in_tiles or pitch != columns
    # whole vectors, because machine code writes no less
    tile = vector * -(-ITEM * ((band - 1) * pitch + columns) // vector)
    copied = vector * -(-ITEM * p.channels * channel // vector) if copies else 0
    units = p.n * p.groups * bands
    # each piece that shares a band copies it
    ranges = 1 if units % pieces == 0 or units > 4 * pieces else pieces
    filters = block * -(-p.filters // (block * ranges)) if ranges > 1 else p.filters
    ranges = -(-p.filters // filters)
    words = {
        "items": units * ranges,
        "scratch.size": copied + (tile * block if spreads else 0),
        "tile.offset": copied,
        "tile.step": tile,
        "is.copied": int(copies),
        "is.spread": int(spreads),
        "bands": bands,
        "band.rows": band,
        "ranges": ranges,
        "range.filters": filters,
        "pitch": pitch,
        "taps": taps,
        "copied.rows": len(phases) * plane_rows if copies else 0,
        **_sizes(p),
    }
    places = {phase: k * plane_rows * pitch for k, phase in enumerate(phases)} if copies else {(0, 0): 0}
    of_kernel = [places[y % p.stride[0], x % p.stride[1]] + y // p.stride[0] * pitch + x // p.stride[1] for y, x in kernel]
    elements = range(len(kernel))[:: -1 if p.is_reversed else 1]
    copied_rows = [_copied_row(p, phase, row, pitch) for phase in phases for row in range(plane_rows)] if copies else []
    return DirectTiling(
        pieces, work * MULTIPLICATION, words, copied_rows, _tap_table(p.channels, (channel, of_kernel), (p.steps[2], elements))
    )


def _tap_table(channels: int, *parts: tuple[int, Sequence[int]]) -> np.ndarray:
    """The bytes to each tap's element: for the image and for the weight, a step for each channel and the places of the kernel."""
    # not a list of tuples: a network's tables have thousands of rows, which would set off Python's garbage collector
    each = np.arange(channels)[:, None]
    places = [ITEM * (each * step + np.array(kernel)) for step, kernel in parts]
    return np.stack(places, axis=-1).reshape(-1, 2).astype(np.int32)  # they fit: see `REACH`


def _sizes(p: Plane) -> dict[str, int]:
    """The words that do not depend on how the convolution is cut."""
    (rows, columns), (height, width) = p.out, p.size
    return {
        "groups": p.groups,
        "filters": p.filters,
        "image.step": ITEM * p.groups * p.channels * height * width,
        "data.group.step": ITEM * p.channels * height * width,
        "channel.step": ITEM * height * width,
        "row.step": ITEM * width,
        "column.step": ITEM * p.stride[1],
        "image.rows": height,
        "channels": p.channels,
        "weight.group.step": ITEM * p.steps[0],
        "weight.step": ITEM * p.steps[1],
        "out.image.step": ITEM * p.groups * p.filters * rows * columns,
        "out.group.step": ITEM * p.filters * rows * columns,
        "out.step": ITEM * rows * columns,
        "out.row.step": ITEM * columns,
        "out.rows": rows,
        "out.columns": columns,
        "stride": p.stride[0],
    }


def _copied_row(p: Plane, phase: tuple[int, int], row: int, pitch: int) -> tuple[int, int, int, int]:
    """A row of the copy: its row of the image relative to the band's first, the first byte that is read, and where it begins and ends."""
    (down, across), (top, left) = p.stride, p.pad
    first = min(pitch, max(0, -(-(left - phase[1]) // across)))
    # the copied columns whose elements are columns of the image
    last = min(pitch, -(-(p.size[1] + left - phase[1]) // across))
    return row * down + phase[0] - top, ITEM * (first * across + phase[1] - left), first, max(first, last)
