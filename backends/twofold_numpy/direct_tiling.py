"""How a direct convolution is cut into items, and the numbers that its machine code reads; see `direct`."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from .planes import BAND, ITEM, Plane
from .products import CUT, MULTIPLICATION

#: Most places of a band's results, which stay in the L2 cache like its rows (`planes.BAND`) while all filters are computed; and the places
#: whose results stay in the L1 cache until an epilogue reads them.
PLACES, CHUNK = 1024, 192
#: The bytes of weights in panels for a range of filters, which stay in the L2 cache.
PANELS = 512 << 10
#: The bytes of results of several panels that are computed from the same tiles of the image.
TILE = 256 << 10
#: The time of copying a vector, with strides of one, two and more, and of beginning a band, in multiply-adds of a vector.
COPY, BAND_COST = (4, 8, 48), 1
#: The share of the multiplications that planes without gaps have to spare, times the lanes of a vector, for each plane that there is
#: without them: a line of a plane is loaded for one column of the kernel instead of several.
TRAFFIC = 0.32
#: Elements of the narrowest vectors.
NARROW = 4
#: Multiplications from which the work is cut into four pieces instead of two.
CUT_IN_FOUR = 1 << 26
#: How many taps machine code fetches the image in advance. With the image of the next tile instead, which is as many taps on as there are
#: channels, 1x1 kernels of 128 channels took a tenth longer, and of 512 a fifth: the L1 cache has lost it by then.
AHEAD = 16
#: Bytes that the tables of offsets can express.
REACH = 1 << 31
#: The words of a tiling that machine code reads, in order.
WORDS = (
    *("items", "scratch.size", "tile.offset", "tile.step", "is.copied", "is.spread", "is.tiled", "is.long"),
    *("groups", "bands", "band.rows", "ranges", "range.filters", "filters"),
    *("image.step", "data.group.step", "channel.step", "row.step", "column.step", "image.rows", "channels"),
    *("weight.group.step", "weight.step", "weight.inner", "is.packed", "panels.offset", "sums.offset", "together"),
    *("out.image.step", "out.group.step", "out.step", "out.row.step"),
    *("out.rows", "out.columns", "pitch", "chunk.places", "stride", "epilogue", "taps", "copied.rows"),
)
#: Whether weights are read in panels: not at all, after they have been packed, or as they are given.
Panels = Literal["none", "packed", "given"]


class PanelTiles(NamedTuple):
    """How results are computed whose weights are in panels.

    Attributes
    ----------
    long, short
        The places of a tile, and of one at the end of a run: its sums and their operands fit the registers.
    whole, chunks
        The most places that are computed without being cut into chunks, and those of chunks otherwise, the best first.
    filters
        The most filters whose sums are computed from the same tile of the image.
    stretch
        The most places whose sums are in memory between two ranges of taps; 0 if all taps are added at once.
    """

    long: int
    short: int
    whole: int
    chunks: tuple[int, ...]
    filters: int
    stretch: int


#: With vectors of 512 bits, and with narrower ones, of which fewer hold sums.
WIDE_TILES = PanelTiles(14, 7, 256, (112, 98, 126, 84, 140, 70), 32, 0)
NARROW_TILES = PanelTiles(6, 3, 216, (192, 168, 204, 144, 216, 120), 256, 216)


def panel_tiles(vector: int) -> PanelTiles:
    """The tiles for vectors of so many bytes."""
    return WIDE_TILES if vector == 64 else NARROW_TILES


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
        The tables of copied rows and of taps: the bytes to an element of the image, and to one of the weight (n, 2). `AHEAD` taps of the
        next tile follow the last one.
    """

    pieces: int
    nanoseconds: float
    words: dict[str, int]
    rows: list[tuple[int, int, int, int]]
    taps: np.ndarray

    def numbers(self, epilogue: int) -> list[int]:
        """All numbers in the order in which machine code reads them, given an epilogue's address; the halves of a tap are one number."""
        taps = self.taps.view(np.int64).ravel().tolist()
        words = self.words | {"epilogue": epilogue}
        return [*[words[name] for name in WORDS], *[n for row in self.rows for n in row], *taps]


def tiling_of(
    p: Plane, tile: tuple[int, int], vector: int, threads: int = 1, in_tiles: bool = False, panels: Panels = "none"
) -> DirectTiling:
    """The tiling of a convolution.

    Parameters
    ----------
    p
        The convolution.
    tile, vector
        The most filters, and vectors of their results, that are accumulated at once; and the bytes of a vector.
    threads
        How many threads share the work; no result depends on that.
    in_tiles
        Whether results are not written before an epilogue has been applied to them.
    panels
        Whether weights are read in panels (`jit.panels`), and whether they are packed for that or given like that.
    """
    kernel, block, in_panels, panel = p.places, tile[0], panels != "none", panel_tiles(vector)
    taps = p.channels * len(kernel)
    (rows, columns), (height, width) = p.out, p.size
    copies = p.reads_padding or p.stride != (1, 1)
    planes = _planes_of(p, vector // ITEM) if copies else Planes([(0, 0)], [0] * len(kernel), [x for _, x in kernel], width)
    phases, pitch = planes.phases, planes.pitch
    deep = max(y // p.stride[0] for y, _ in kernel)
    # a row of all planes
    of_row = ITEM * p.channels * len(phases) * pitch
    work = p.n * p.groups * p.filters * taps * rows * columns
    pieces = pieces_of(work, threads)
    spreads = pitch != columns
    most = max(1, min(rows, BAND // of_row - (deep if copies else 0), PLACES // pitch))
    band, bands = _bands(p, most, pitch, vector // ITEM, pieces)
    plane_rows = band + deep
    channel = len(phases) * plane_rows * pitch if copies else height * width
    run = (band - 1) * pitch + columns
    chunk = run if spreads else _panel_chunk(rows, columns, band, panel) if in_panels else _chunk(run, tile[1] * vector // ITEM)
    in_tiles = in_tiles or spreads
    # whole vectors, because machine code writes no less
    row = vector * -(-ITEM * min(run, chunk) // vector)
    # the last row of the copy is written in whole vectors, too
    copied = vector * -(-ITEM * (p.channels * channel + vector // ITEM) // vector) if copies else 0
    units = p.n * p.groups * bands
    ranges, filters = ranges_of(units, pieces, p.filters, block, PANELS // (ITEM * taps) if in_panels else None)
    # filters that are computed together, as far as a tile of their results stays in the L2 cache
    together = max(block, min(panel.filters, TILE // row) // block * block) if in_panels else block
    tiles = copied + (row * together if in_tiles else 0)
    sums = tiles + (ITEM * panel.stretch * together if in_panels else 0)
    words = {
        "items": units * ranges,
        "scratch.size": sums + (ITEM * taps * block * -(-filters // block) if panels == "packed" else 0),
        "panels.offset": sums,
        "sums.offset": tiles,
        "together": together,
        "is.packed": int(panels == "given"),
        "weight.inner": ITEM * p.tap_step,
        "tile.offset": copied,
        "tile.step": row,
        "is.copied": int(copies),
        "is.spread": int(spreads),
        "is.tiled": int(in_tiles),
        "is.long": int(0 < run % (tile[1] * vector // ITEM) <= least_lanes(vector // ITEM)),
        "bands": bands,
        "band.rows": band,
        "ranges": ranges,
        "range.filters": filters,
        "pitch": pitch,
        "chunk.places": chunk,
        "taps": taps,
        "copied.rows": len(phases) * plane_rows if copies else 0,
        **_sizes(p),
    }
    copied_rows = [_copied_row(p, phase, row, pitch) for phase in phases for row in range(plane_rows)] if copies else []
    tap_table = _tap_table(p.channels, (channel, _places_of(p, planes, plane_rows)), (p.steps[2], p.elements))
    next_tile = ITEM * panel.long if in_panels else tile[1] * vector
    return DirectTiling(pieces, work * MULTIPLICATION, words, copied_rows, followed(tap_table, next_tile))


def pieces_of(work: int, threads: int) -> int:
    """Into how many pieces so many multiplications are divided."""
    return 1 if threads == 1 or work < CUT else 2 if work < CUT_IN_FOUR else max(4, threads)


def ranges_of(units: int, pieces: int, filters: int, block: int, most: int | None = None) -> tuple[int, int]:
    """Into how many ranges the filters are cut if there are too few units for all pieces, and the filters of a range: whole blocks.

    Each piece that shares a unit copies its rows. A range has at most about ``most`` filters.
    """
    ranges = 1 if units % pieces == 0 or units > 4 * pieces else pieces
    if most is not None:
        ranges = max(ranges, -(-filters // max(most, block)))
    of_range = block * -(-filters // (block * ranges)) if ranges > 1 else filters
    return -(-filters // of_range), of_range


class Planes(NamedTuple):
    """Copied planes of an image.

    Attributes
    ----------
    phases
        The first row and column, in the padded image, of the elements of each plane.
    of, columns
        For each element of the kernel, the plane that it reads, and the first column there.
    pitch
        Elements of a row.
    """

    phases: list[tuple[int, int]]
    of: list[int]
    columns: list[int]
    pitch: int


def _planes(p: Plane, has_gaps: bool) -> Planes:
    """The planes that the kernel's elements read: of a 1x1 kernel with stride 2 only one of the four.

    Without gaps, the columns of the kernel have planes of their own, whose rows are as long as those of the results.
    """
    (down, across), columns = p.stride, p.out[1]
    named = [(y % down, x % across if has_gaps else x) for y, x in p.places]
    phases = sorted(set(named))
    first = [x // across if has_gaps else 0 for _, x in p.places]
    # a row of a plane: the results' columns, and the columns beyond them that taps reach
    return Planes(phases, [phases.index(name) for name in named], first, columns + max(first))


def _planes_of(p: Plane, lanes: int) -> Planes:
    """The planes for a convolution: without gaps if that spares more multiplications than it costs copies and memory traffic."""
    wide, exact = _planes(p, True), _planes(p, False)
    least = least_lanes(lanes)
    of_gaps, of_none = (-(-((p.out[0] - 1) * planes.pitch + p.out[1]) // least) for planes in (wide, exact))
    spared = p.filters * len(p.places) * (wide.pitch - exact.pitch)
    copied = COPY[min(p.stride[1], len(COPY)) - 1] * (len(exact.phases) - len(wide.phases)) * exact.pitch
    is_full = 1 - of_none / of_gaps > TRAFFIC / lanes * len(exact.phases) / len(wide.phases)
    return exact if spared > copied and is_full else wide


def _chunk(run: int, block: int) -> int:
    """The places of a chunk: about `CHUNK`, in blocks of accumulators, and all of a run that is not much longer."""
    number = max(1, round(run / CHUNK))
    return run if number == 1 else block * -(-run // (number * block))


def _panel_chunk(rows: int, columns: int, band: int, tiles: PanelTiles) -> int:
    """The places of a chunk for weights in panels: all of a run that is not long, else whole tiles, so that a tile fits what remains."""
    runs = [columns * n for n in {band, rows % band} if n]
    fitting = (chunk for chunk in tiles.chunks if all(run % chunk == 0 or run % chunk >= tiles.short for run in runs))
    return max(runs) if max(runs) <= tiles.whole else next(fitting, max(runs))


def least_lanes(lanes: int) -> int:
    """The lanes that the end of a run takes: half a vector, unless vectors are so narrow already."""
    return lanes // 2 if lanes > NARROW else lanes


def _bands(p: Plane, most: int, pitch: int, lanes: int, pieces: int) -> tuple[int, int]:
    """The rows of a band, at most ``most``, and the number of bands: those whose vectors have the fewest lanes beyond the ends of runs."""
    (rows, columns), least = p.out, least_lanes(lanes)

    def computed(band: int) -> int:
        return least * -(-((band - 1) * pitch + columns) // least) if band else 0

    def cost(band: int) -> int:
        full, rest = divmod(rows, band)
        return full * computed(band) + computed(rest) + lanes * BAND_COST * -(-rows // band)

    # of several, the one whose last band is largest
    band = min(range(most, 0, -1), key=lambda band: (cost(band), -(rows % band or band)))
    bands = -(-rows // band)
    if bands > 1 and p.n * p.groups == 1 and pieces > 1:
        band = -(-rows // min(rows, pieces * -(-bands // pieces)))  # whole bands for every piece
        bands = -(-rows // band)
    return band, bands


def _places_of(p: Plane, planes: "Planes", plane_rows: int) -> list[int]:
    """Where the elements of the kernel are read in a channel's planes of so many rows each."""
    reads = zip(planes.of, p.places, planes.columns, strict=True)
    return [(k * plane_rows + y // p.stride[0]) * planes.pitch + x for k, (y, _), x in reads]


def _tap_table(channels: int, *parts: tuple[int, Sequence[int]]) -> np.ndarray:
    """The bytes to each tap's element: for the image and for the weight, a step for each channel and the places of the kernel."""
    # not a list of tuples: a network's tables have thousands of rows, which would set off Python's garbage collector
    each = np.arange(channels)[:, None]
    places = [ITEM * (each * step + np.array(kernel)) for step, kernel in parts]
    return np.stack(places, axis=-1).reshape(-1, 2).astype(np.int32)  # they fit: see `REACH`


def followed(taps: np.ndarray, tile: int) -> np.ndarray:
    """A table of taps, followed by the first ones of the next tile, which is so many bytes on in the image."""
    numbers = np.arange(AHEAD)
    following = taps[numbers % len(taps)]
    following[:, 0] += tile * (1 + numbers // len(taps))
    return np.concatenate([taps, following])


def _sizes(p: Plane) -> dict[str, int]:
    """The words that do not depend on how the convolution is cut."""
    (rows, columns), (height, width) = p.out, p.size
    return {
        "groups": p.groups,
        "filters": p.filters,
        "image.step": ITEM * p.image,
        "data.group.step": ITEM * p.group,
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
