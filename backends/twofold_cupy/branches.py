"""Independent steps of a program on several streams while it is captured: they are branches of its graph, and may run at once.

Which steps are independent is found by looking at the memory that they read and write. A stream waits for exactly what the next step
on it comes after. Memory that a step allocates may have been that of an array which is dead by then: whoever used it comes before, too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import cupy

from twofold.backend.kernel import Steps

from .streams import Mark, Stream

#: A step: the number of its stream, and which one of those there it is, from 1 on. Number 0 stands for the capture's begin.
Place = tuple[int, int]


class Block(NamedTuple):
    """Memory from an address on: where it ends, the steps that wrote it last, and those that have read it since."""

    end: int
    writers: tuple[Place, ...]
    readers: tuple[Place, ...]

    @property
    def users(self) -> tuple[Place, ...]:
        """All of them."""
        return (*self.writers, *self.readers)


class Done(NamedTuple):
    """A step that was issued: the mark after it, up to which step of each stream it comes after, and its place among all steps."""

    mark: Mark
    after: tuple[int, ...]
    number: int


class Blocks:
    """Memory that steps use, as blocks that do not overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._blocks: dict[int, Block] = {}

    def taken(self, low: int, high: int) -> list[tuple[int, Block]]:
        """Remove the blocks that overlap with a range, and give them with their addresses."""
        first = bisect_right(self._starts, low)
        if first and self._blocks[self._starts[first - 1]].end > low:
            first -= 1
        last = bisect_left(self._starts, high)
        starts = self._starts[first:last]
        del self._starts[first:last]
        return [(start, self._blocks.pop(start)) for start in starts]

    def put(self, low: int, block: Block) -> None:
        """Add a block where there is none."""
        self._starts.insert(bisect_left(self._starts, low), low)
        self._blocks[low] = block

    def whole(self, low: int, high: int) -> tuple[int, Block]:
        """Remove the blocks that a range overlaps with, and give them as one that holds it: as if who used any of them had written it."""
        found = self.taken(low, high)
        if len(found) == 1 and found[0][0] <= low and found[0][1].end >= high:
            return found[0]
        users = tuple(dict.fromkeys(u for _, b in found for u in b.users))
        return min([low, *[start for start, _ in found]]), Block(max([high, *[b.end for _, b in found]]), users, ())


class Branches:
    """The steps of one capture.

    Parameters
    ----------
    streams
        The one that captures, which is current, and others that nobody else uses.
    allocate
        As CuPy's allocators: memory of the graph.
    """

    def __init__(self, streams: Sequence[Stream], allocate: Callable[[int], Any]) -> None:
        self._streams, self._allocate = streams, allocate
        self._blocks = Blocks()
        #: How many steps each stream has, up to which step of each stream its next one comes after, and whether it takes part.
        self._count = [0] * len(streams)
        self._after = [(0,) * len(streams) for _ in streams]
        self._is_part = [True, *[False] * (len(streams) - 1)]
        self._done: dict[Place, Done] = {}
        #: The stream at hand, and the step; None before the first step and after the last.
        self._number = 0
        self._step: Place | None = None

    def run(self, program: Callable[[Steps, Sequence[Any]], list[Any]], given: Sequence[Any]) -> list[Any]:
        """Issue a program that tells of its steps; its results."""
        self._done[0, 0] = Done(self._streams[0].record(), (0,) * len(self._streams), 0)
        try:
            self.step((), ())
            with cupy.cuda.using_allocator(self.malloc):
                return program(self, given)
        finally:
            self.leave()

    @property
    def used(self) -> int:
        """How many of the streams have steps."""
        return sum(map(bool, self._count))

    def malloc(self, size: int) -> Any:
        """Memory for the step at hand, which comes after all that used it before: CuPy takes what was freed on the same stream."""
        memory = self._allocate(size)
        if memory.mem is not None and size:
            low, high = memory.ptr, memory.ptr + memory.mem.size
            for start, block in self._blocks.taken(low, high):
                for a, b in ((start, low), (high, block.end)):
                    if a < b:
                        self._blocks.put(a, block._replace(end=b))
                self._wait(block.users)
            self._blocks.put(low, Block(high, () if self._step is None else (self._step,), ()))
        return memory

    def step(self, read: Iterable[Any], written: Iterable[Any]) -> None:
        """Begin a step, on the stream where it is best: what it reads, and what it writes of the memory that there is already."""
        self._end()
        read, written = (list(_ranges(arrays)) for arrays in (read, written))
        needed: list[Place] = []
        for ranges, writes in ((read, False), (written, True)):
            for low, high in ranges:
                start, block = self._blocks.whole(low, high)
                self._blocks.put(start, block)
                needed += block.users if writes else block.writers
        number = self._chosen(needed)
        self._enter(number, needed)
        self._count[number] += 1
        self._step = number, self._count[number]
        for low, high in read:
            start, block = self._blocks.whole(low, high)
            self._blocks.put(start, block._replace(readers=(*block.readers, self._step)))
        for low, high in written:
            start, block = self._blocks.whole(low, high)
            self._blocks.put(start, Block(block.end, (self._step,), ()))

    def join(self) -> None:
        """Go on with the stream that captures, after all steps."""
        self._end()
        self._wait((number, count) for number, count in enumerate(self._count) if count)

    def leave(self) -> None:
        """Make the stream that captures the current one."""
        if self._number:
            self._streams[self._number].__exit__(None, None, None)
        self._number, self._step = 0, None

    def _end(self) -> None:
        """Mark the end of the step at hand, and leave its stream."""
        if self._step is not None:
            k, count = self._step
            after = self._after[k] = (*self._after[k][:k], count, *self._after[k][k + 1 :])
            self._done[self._step] = Done(self._streams[k].record(), after, len(self._done))
        self.leave()

    def _enter(self, number: int, needed: Iterable[Place]) -> None:
        """Go on with a stream, after some steps; one that takes no part yet waits at least for the capture's begin."""
        if number:
            self._streams[number].__enter__()
        self._number = number
        self._wait(needed)
        if not self._is_part[number]:
            self._follow((0, 0))

    def _wait(self, places: Iterable[Place]) -> None:
        """Have the stream at hand wait for steps that its next one does not come after anyway; the last ones first, which know most."""
        for place in sorted(set(places) - {self._step}, key=lambda p: -self._done[p].number):
            if self._after[self._number][place[0]] < place[1]:
                self._follow(place)

    def _follow(self, place: Place) -> None:
        done, k = self._done[place], self._number
        self._streams[k].wait(done.mark)
        self._after[k], self._is_part[k] = tuple(map(max, self._after[k], done.after)), True

    def _chosen(self, needed: Sequence[Place]) -> int:
        """The stream of a step: one whose last step it comes after, else one that does nothing it would not wait for, else the first."""
        last = [number for number, count in needed if count == self._count[number]]
        if last:
            return min(last)
        comes_after = [1, *[0] * (len(self._streams) - 1)]  # the program's begin
        for place in needed:
            comes_after = list(map(max, comes_after, self._done[place].after))
        return next((k for k, count in enumerate(self._count) if count <= comes_after[k]), 0)


def _ranges(arrays: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """The addresses of the blocks that arrays look into, also those in lists; of the device's arrays alone, if they have elements."""
    for array in arrays:
        if isinstance(array, list | tuple):
            yield from _ranges(array)
        elif isinstance(array, cupy.ndarray) and array.nbytes:
            memory = array.data.mem
            yield memory.ptr, memory.ptr + max(memory.size, 1)
