"""Multi-stream capture: independent steps of a program are issued to different streams and become parallel branches of its graph.

Dependencies are derived from the memory that steps read and write. A stream waits for exactly the steps that its next step depends on.
Memory that a step allocates may have belonged to an array that is dead by now; the step depends on the last users of that memory too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import cupy

from twofold.backend.kernel import Array, InSteps

from .streams import Mark, Stream

#: A step: its stream's index and its position on that stream, from 1; position 0 is the begin of the capture.
StepId = tuple[int, int]


class MemoryRange(NamedTuple):
    """A range of memory, stored under its start: its end, the steps that wrote it last, and the steps that have read it since."""

    end: int
    writers: tuple[StepId, ...]
    readers: tuple[StepId, ...]

    @property
    def users(self) -> tuple[StepId, ...]:
        """Writers and readers: a step that overwrites the memory depends on all of them."""
        return (*self.writers, *self.readers)


class IssuedStep(NamedTuple):
    """An issued step: the mark after it, for each stream the last step that it follows (a vector clock), and its issue number."""

    mark: Mark
    after: tuple[int, ...]
    number: int


class UsedMemory:
    """The memory used by steps, as disjoint blocks sorted by address."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._blocks: dict[int, MemoryRange] = {}

    def pop_overlapping(self, low: int, high: int) -> list[tuple[int, MemoryRange]]:
        """Remove and return the blocks that overlap a range, with their start addresses."""
        # the block before may reach into the range
        first = bisect_right(self._starts, low)
        if first and self._blocks[self._starts[first - 1]].end > low:
            first -= 1
        last = bisect_left(self._starts, high)
        starts = self._starts[first:last]
        del self._starts[first:last]
        return [(start, self._blocks.pop(start)) for start in starts]

    def put(self, low: int, block: MemoryRange) -> None:
        """Add a block; its range must be free."""
        self._starts.insert(bisect_left(self._starts, low), low)
        self._blocks[low] = block

    def pop_merged(self, low: int, high: int) -> tuple[int, MemoryRange]:
        """Remove the blocks that overlap a range and return one block that covers them all and the range.

        All users of the merged blocks become its writers, which is conservative: later readers then wait for readers as well.
        """
        found = self.pop_overlapping(low, high)
        if len(found) == 1 and found[0][0] <= low and found[0][1].end >= high:
            return found[0]
        users = tuple(dict.fromkeys(u for _, b in found for u in b.users))
        return min([low, *[start for start, _ in found]]), MemoryRange(max([high, *[b.end for _, b in found]]), users, ())


class MultiStreamCapture:
    """Issues the steps of one capture to several streams.

    Parameters
    ----------
    streams
        The current stream, which captures, and further streams that have no other use.
    allocate
        Allocates memory of the graph; a CuPy allocator.
    """

    def __init__(self, streams: Sequence[Stream], allocate: Callable[[int], cupy.cuda.MemoryPointer]) -> None:
        self._streams, self._allocate = streams, allocate
        self._blocks = UsedMemory()
        #: Per stream: the number of its steps, the vector clock that its next step starts from, and whether it has joined the capture.
        self._count = [0] * len(streams)
        self._after = [(0,) * len(streams) for _ in streams]
        self._is_part = [True, *[False] * (len(streams) - 1)]
        self._issued: dict[StepId, IssuedStep] = {}
        #: The stream that is current, and the step in progress; None before the first step and after the last.
        self._number = 0
        self._step: StepId | None = None

    def run(self, program: InSteps, given: Sequence[Array]) -> list[Array]:
        """Run a program that reports its steps (`StepObserver`), and return its results."""
        self._issued[0, 0] = IssuedStep(self._streams[0].record(), (0,) * len(self._streams), 0)
        try:
            self.step((), ())
            with cupy.cuda.using_allocator(self.malloc):
                return program(self, given)
        finally:
            self.leave()

    @property
    def used(self) -> int:
        """The number of streams with steps."""
        return sum(map(bool, self._count))

    def malloc(self, size: int) -> cupy.cuda.MemoryPointer:
        """Allocate memory for the step in progress, which then waits for the earlier users of that memory.

        CuPy reuses blocks that were freed on the same stream first, which keeps such waits rare.
        """
        memory = self._allocate(size)
        if memory.mem is not None and size:
            low, high = memory.ptr, memory.ptr + memory.mem.size
            for start, block in self._blocks.pop_overlapping(low, high):
                # the parts of an old block outside of the new one keep their users
                for a, b in ((start, low), (high, block.end)):
                    if a < b:
                        self._blocks.put(a, block._replace(end=b))
                self._wait(block.users)
            self._blocks.put(low, MemoryRange(high, () if self._step is None else (self._step,), ()))
        return memory

    def step(self, read: Iterable[Array], written: Iterable[Array]) -> None:
        """Begin a step on the most suitable stream; ``written`` is existing memory, not memory that the step allocates."""
        self._end_step()  # first, so that the mark comes after the last step's work and before the next step's wait
        read, written = (list(_ranges(arrays)) for arrays in (read, written))
        needed: list[StepId] = []
        for ranges, writes in ((read, False), (written, True)):
            for low, high in ranges:
                start, block = self._blocks.pop_merged(low, high)
                self._blocks.put(start, block)
                needed += block.users if writes else block.writers
        number = self._choose_stream(needed)
        self._enter(number, needed)
        self._count[number] += 1
        self._step = number, self._count[number]
        # Reads before writes: if the step overwrites memory that it also reads, it must end as that memory's only user.
        for low, high in read:
            start, block = self._blocks.pop_merged(low, high)
            self._blocks.put(start, block._replace(readers=(*block.readers, self._step)))
        for low, high in written:
            start, block = self._blocks.pop_merged(low, high)
            self._blocks.put(start, MemoryRange(block.end, (self._step,), ()))

    def join(self) -> None:
        """Return to the stream that captures, which waits for all steps."""
        self._end_step()
        self._wait((number, count) for number, count in enumerate(self._count) if count)

    def leave(self) -> None:
        """Make the stream that captures current again."""
        if self._number:
            self._streams[self._number].__exit__(None, None, None)
        self._number, self._step = 0, None

    def _end_step(self) -> None:
        """Record a mark after the step in progress, and leave its stream."""
        if self._step is not None:
            k, count = self._step
            after = self._after[k] = (*self._after[k][:k], count, *self._after[k][k + 1 :])
            self._issued[self._step] = IssuedStep(self._streams[k].record(), after, len(self._issued))
        self.leave()

    def _enter(self, number: int, needed: Iterable[StepId]) -> None:
        """Make a stream current and let it wait for steps; a stream that waits for the start of the capture joins it."""
        if number:
            self._streams[number].__enter__()
        self._number = number
        self._wait(needed)
        if not self._is_part[number]:
            self._wait_for((0, 0))

    def _wait(self, steps: Iterable[StepId]) -> None:
        """Let the current stream wait for steps that it does not follow already.

        The latest steps come first: their vector clocks cover the most other steps, so fewer waits (graph edges) are needed.
        """
        for step in sorted(set(steps) - {self._step}, key=lambda s: -self._issued[s].number):
            # the vector clock has, for each stream, the last step that this stream already follows
            if self._after[self._number][step[0]] < step[1]:
                self._wait_for(step)

    def _wait_for(self, step: StepId) -> None:
        issued, k = self._issued[step], self._number
        self._streams[k].wait(issued.mark)
        self._after[k], self._is_part[k] = tuple(map(max, self._after[k], issued.after)), True

    def _choose_stream(self, needed: Sequence[StepId]) -> int:
        """The stream for a step: one whose last step it depends on, otherwise one whose work it already follows, otherwise the first."""
        last = [number for number, count in needed if count == self._count[number]]
        if last:
            return min(last)
        follows = [1, *[0] * (len(self._streams) - 1)]  # every step follows the first, in which the program begins
        for step in needed:
            follows = list(map(max, follows, self._issued[step].after))
        # the step follows this stream's last step anyway, so issuing it there adds no dependency
        return next((k for k, count in enumerate(self._count) if count <= follows[k]), 0)


def _ranges(arrays: Iterable[Array]) -> Iterator[tuple[int, int]]:
    """The allocations behind device arrays with elements, nested lists included; whole blocks, as views of one may overlap."""
    for array in arrays:
        if isinstance(array, list | tuple):
            yield from _ranges(array)
        elif isinstance(array, cupy.ndarray) and array.nbytes:
            memory = array.data.mem
            yield memory.ptr, memory.ptr + max(memory.size, 1)
