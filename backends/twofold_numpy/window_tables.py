"""How machine code computes maxima and sums of windows, and their gradients: what it copies, and the stages, as tables of numbers.

In scratch memory a plane is padded, and taken apart by the strides: for a stride of 2 rows and columns of even and of odd numbers are
planes of their own (phases). There, the elements that neighboring windows read for one place of the kernel are neighbors too, so all
windows of a plane are one run, but for a few elements between its rows that belong to no window.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

Kind = Literal["max", "sum", "max transposed", "sum transposed"]
#: At most `RECORD` numbers; the files in ``jit/llvm`` say what they are.
Record = tuple[int, ...]
#: Where phases are in scratch memory.
Places = dict[tuple[int, ...], int]
#: Elements that machine code may read or write behind a run.
SLACK = 64
RECORD = 8


@dataclass(frozen=True)
class Windows:
    """The windows over three axes of a plane; axes that there are not have one element.

    Attributes
    ----------
    size, kernel, stride, before, number
        For each axis: elements, those of a window, the distance of windows, elements of padding before the first, and windows.
    step
        Distance of neighboring positions in memory: 1, or the number of channels if these come last.
    inner
        Elements at each position, of as many channels.
    """

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    before: tuple[int, ...]
    number: tuple[int, ...]
    step: int = 1
    inner: int = 1

    @cached_property
    def extent(self) -> tuple[int, ...]:
        """Positions of a phase along each axis."""
        return tuple(n + (k - 1) // s for n, k, s in zip(self.number, self.kernel, self.stride, strict=True))

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Distances of neighboring positions in a phase."""
        return self.extent[1] * self.extent[2] * self.inner, self.extent[2] * self.inner, self.inner

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """Phases along each axis that a kernel reaches."""
        return tuple(map(min, self.kernel, self.stride))

    @cached_property
    def length(self) -> int:
        """Elements of a phase."""
        return self.extent[0] * self.steps[0]

    @cached_property
    def run(self) -> int:
        """Elements from the first window to the last."""
        return sum((n - 1) * s for n, s in zip(self.number, self.steps, strict=True)) + self.inner

    @cached_property
    def reach(self) -> int:
        """The largest distance of an element from the window that reads it."""
        return sum((k - 1) // s * d for k, s, d in zip(self.kernel, self.stride, self.steps, strict=True))

    @property
    def covers(self) -> bool:
        """Whether every element of the plane is in some phase."""
        return all(
            p == s and n <= e * s - b for n, s, b, e, p in zip(self.size, self.stride, self.before, self.extent, self.phases, strict=True)
        )


class Table(NamedTuple):
    """What machine code reads.

    Attributes
    ----------
    counts
        How many records of each kind there are: pairs and runs of the plane, runs of the given results, records of the two stages, and
        pairs and runs of the result.
    records
        All of them, and then the taps.
    elements
        Elements of scratch memory.
    padding
        Where the plane is in scratch memory: begin and end of what is filled with the value of padding. The rest is filled with zeros.
    """

    counts: tuple[int, ...]
    records: np.ndarray
    elements: int
    padding: tuple[int, int]


class Part(NamedTuple):
    """Planes of a computation; channels that come last are planes of as many channels as fit the cache.

    Attributes
    ----------
    windows, table
        What is computed.
    images, blocks
        The number of images, and of planes of each.
    channels
        The number of all channels of an image if they come last, else 1.
    channel, frame
        The first channel, and the first frame.
    """

    windows: Windows
    table: Table
    images: int
    blocks: int
    channels: int
    channel: int = 0
    frame: int = 0

    @property
    def planes(self) -> int:
        """Their number."""
        return self.images * self.blocks

    @property
    def elements(self) -> int:
        """How many elements are read and written, about."""
        return self.planes * self.windows.inner * (math.prod(self.windows.size) + math.prod(self.windows.number))

    def arrays(self, kind: Kind) -> Iterator[tuple[int, int, int]]:
        """Of the operand, of what windows are given, and of the result: the first plane, and the distances of images and of planes."""
        w = self.windows
        frame, results = (self.channels * math.prod(sizes[1:]) for sizes in (w.size, w.number))
        image = self.frame * frame + self.channel, w.size[0] * frame, w.inner
        results = self.frame * results + self.channel, w.number[0] * results, w.inner
        yield results if kind == "sum transposed" else image
        yield results
        yield image if kind.endswith("transposed") else results


@lru_cache(256)
def table_of(w: Windows, kind: Kind) -> Table:
    """The table of a computation."""
    return _Maker(w, kind).table()


class _Maker:
    """Collects the records of a table."""

    def __init__(self, w: Windows, kind: Kind) -> None:
        self.w, self.kind = w, kind
        self.elements = 0
        self.taps: list[Record] = []
        self.first: list[Record] = []
        self.second: list[Record] = []

    def table(self) -> Table:
        """The whole table."""
        w = self.w
        padding = 0, 0
        pairs_in: list[Record] = []
        runs_in: list[Record] = []
        given: list[Record] = []
        pairs_out: list[Record] = []
        if self.kind == "sum transposed":
            runs_in = self._results(base := self._room(w.run))
            pairs_out, runs_out = self._plane(self._spread(base))
        else:
            places = self._phases(range(n) for n in w.phases)
            pairs_in, runs_in = self._plane(places)
            padding = 0, self.elements
            if self.kind == "max transposed":
                codes: Places = {}
                self._reduced(places, codes)
                given = self._results(base := self._room(w.run))
                pairs_out, runs_out = self._plane(self._spread(base, codes))
            else:
                runs_out = self._results(self._reduced(places)[()])
        lists = pairs_in, runs_in, given, self.first, self.second, pairs_out, runs_out
        found = [(*r, *[0] * (RECORD - len(r))) for part in (*lists, self.taps) for r in part]
        records = np.array(found, np.int64)
        return Table(tuple(map(len, lists)), records, self.elements + w.reach + SLACK, padding)

    def _room(self, length: int) -> int:
        """Where a run of elements may be, with room for the reach of windows before it."""
        begin = self.elements + self.w.reach
        self.elements = begin + length + SLACK
        return begin

    def _phases(self, ranges: "Iterator[range]") -> Places:
        """Room for phases."""
        return {phase: self._room(self.w.length) for phase in product(*ranges)}

    def _stage(self, stage: list[Record], to: int, length: int, taps: list[Record], *more: int) -> None:
        stage.append((to, length, len(self.taps), len(taps), *more))
        self.taps += taps

    # what is copied

    def _plane(self, places: Places) -> tuple[list[Record], list[Record]]:
        """Pairs and runs that copy between a plane and its phases."""
        w, pairs, runs = self.w, list[Record](), list[Record]()
        by_pairs = w.step == 1 and w.stride[2] == w.phases[2] == 2
        for rd, rh in product(range(w.phases[0]), range(w.phases[1])):
            first, last = self._valid(1, rh)
            for d in range(*self._valid(0, rd)):
                row = (d * w.stride[0] + rd - w.before[0]) * w.size[1] + first * w.stride[1] + rh - w.before[1]
                starts = [places[rd, rh, r] + d * w.steps[0] + first * w.steps[1] for r in range(w.phases[2])]
                block = partial(self._block, last - first, w.stride[1] * w.size[2] * w.step)
                bounds = [self._valid(2, r) for r in range(w.phases[2])]
                # positions of which both elements are in the plane
                low, high = (max(b for b, _ in bounds), min(e for _, e in bounds)) if by_pairs else (0, 0)
                if high > low and last > first:
                    source = row * w.size[2] + 2 * low - w.before[2]
                    pairs.append((source, starts[0] + low, starts[1] + low, high - low, last - first, w.stride[1] * w.size[2], w.steps[1]))
                else:
                    low = high = max(e for _, e in bounds)
                for r, (begin, end) in enumerate(bounds):
                    for one, other in ((begin, min(low, end)), (max(begin, high), end)):
                        source = (row * w.size[2] + one * w.stride[2] + r - w.before[2]) * w.step
                        runs += block(other - one, w.stride[2] * w.step, source, starts[r] + one * w.inner)
        return pairs, runs

    def _valid(self, axis: int, r: int) -> tuple[int, int]:
        """The positions of phase ``r`` along an axis that are not padding."""
        w, stride, offset = self.w, self.w.stride[axis], r - self.w.before[axis]
        first = max(0, -(offset // stride))
        return first, max(first, min(w.extent[axis], -((offset - w.size[axis]) // stride)))

    def _block(self, rows: int, row_step: int, columns: int, column_step: int, source: int, place: int) -> list[Record]:
        """Runs that copy a rectangle of positions, given its distances in the plane."""
        (_, down, across), inner = self.w.steps, self.w.inner
        if rows < 1 or columns < 1:
            return []
        if column_step == inner:
            return [(source, place, columns * inner, rows, row_step, down)]
        # as few records as possible
        if columns < rows:
            return [(source + k * column_step, place + k * across, inner, rows, row_step, down) for k in range(columns)]
        return [(source + k * row_step, place + k * down, inner, columns, column_step, across) for k in range(rows)]

    def _results(self, base: int) -> list[Record]:
        """Runs that copy between results, one element for each window, and scratch memory."""
        w = self.w
        depth, rows, columns = w.number
        row_step = columns * w.step
        return [
            record
            for d in range(depth)
            for record in self._block(rows, row_step, columns, w.step, d * rows * row_step, base + d * w.steps[0])
        ]

    # stages

    def _reduced(self, places: Places, codes: Places | None = None) -> Places:
        """Stages of maxima or sums, the last axis first; returns where the result is. Of maxima their places go to ``codes``, if given."""
        w, reach = self.w, 0
        for axis in (2, 1, 0):
            # the last elements of a phase are read by windows that do not exist
            reach += (w.kernel[axis] - 1) // w.stride[axis] * w.steps[axis]
            if w.kernel[axis] == 1:
                places = {phase[:axis]: at for phase, at in places.items()}
                continue
            found: Places = {}
            for phase in product(*map(range, w.phases[:axis])):
                found[phase] = self._room(w.length)
                taps = [divmod(k, w.stride[axis]) for k in range(w.kernel[axis])]
                more = () if codes is None else (codes.setdefault(phase, self._room(w.length)),)
                self._stage(self.first, found[phase], w.length - reach, [(places[*phase, r] + q * w.steps[axis],) for q, r in taps], *more)
            places = found
        return places

    def _spread(self, base: int, codes: Places | None = None) -> Places:
        """Stages of transposes, the first axis first: sums of what windows are given, of a maximum at the places in ``codes``."""
        w = self.w
        places: Places = {(): base}
        for axis in range(3):
            # an axis of which each window has one element changes nothing
            if w.kernel[axis] == 1:
                places = {(*phase, 0): at for phase, at in places.items()}
                continue
            found: Places = {}
            for (phase, at), r in product(places.items(), range(w.phases[axis])):
                found[*phase, r] = self._room(w.length)
                taps: list[Record] = []
                for q, k in enumerate(range(r, w.kernel[axis], w.stride[axis])):
                    window = q * w.steps[axis]
                    taps.append((at - window,) if codes is None else (at - window, codes[phase], window, k))
                self._stage(self.first if codes is None else self.second, found[*phase, r], w.length, taps)
            places = found
        return places
