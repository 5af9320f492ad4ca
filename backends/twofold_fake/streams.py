"""Streams that do not run by themselves: queues of functions, run at once or when the host waits, in any order that marks allow."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from twofold.errors import ParameterError, own_error

#: When the functions issued to streams run.
#:
#: ``issue``: at once. ``late``: when the host waits for a stream, only what this needs, so that a forgotten `Streams.wait` reads
#: what is not there yet. ``eager``: when the host waits, all other streams first, so that a forgotten one overwrites what is still
#: to be read.
Schedule = Literal["issue", "late", "eager"]
SCHEDULES = ("issue", "late", "eager")


class Mark(NamedTuple):
    """A place in a stream: reached when so many of its functions have run."""

    stream: "Stream"
    position: int


class Interval(NamedTuple):
    """When a function of a stream ran, on a clock on which each function takes one unit and streams run side by side."""

    stream: str
    start: float
    end: float


class Stream:
    """A queue of functions and of marks to wait for. As a context manager: what this thread issues in the block joins it."""

    def __init__(self, owner: "Streams", title: str) -> None:
        self.owner, self.title = owner, title
        self.waiting: deque[Callable[[], None] | Mark] = deque()
        self.issued = self.done = 0
        self.clock = 0.0
        #: The clock after each of its functions and marks that ran while a timeline was kept, by position.
        self.times: dict[int, float] = {}

    def __enter__(self) -> "Stream":
        self.owner.stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.owner.stack.pop()

    def __repr__(self) -> str:
        return f"<stream {self.title}: {self.done} of {self.issued} done>"


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: list[Stream] = []
        self.running = False


class Streams:
    """All streams of an adapter, and their schedule.

    Attributes
    ----------
    timeline
        A list to which the intervals of functions that run are added; None for none.
    """

    def __init__(self, schedule: Schedule) -> None:
        if schedule not in SCHEDULES:
            raise ParameterError("fake: no such schedule", repr(schedule), f"use one of {', '.join(SCHEDULES)}")
        self.schedule = schedule
        self.known: dict[Any, Stream] = {}
        self.timeline: list[Interval] | None = None
        self._local = _Local()
        self._lock = threading.RLock()

    @property
    def stack(self) -> list[Stream]:
        """Streams of the blocks that this thread is in, the innermost last."""
        return self._local.stack

    def stream(self, key: Any) -> Stream:
        """The stream of a key, the same each time."""
        with self._lock:
            return self.known.setdefault(key, Stream(self, " ".join(map(str, key))))

    def issue(self, stream: Stream, function: Callable[[], None]) -> None:
        """Add a function to a stream."""
        self._add(stream, function)

    def record(self, stream: Stream) -> Mark:
        """A mark after all that the stream has been given."""
        return Mark(stream, stream.issued)

    def wait(self, stream: Stream, mark: Mark) -> None:
        """Have a stream run nothing more before a mark is reached."""
        self._add(stream, mark)

    def _add(self, stream: Stream, item: Callable[[], None] | Mark) -> None:
        with self._lock:
            stream.waiting.append(item)
            stream.issued += 1
            if self.schedule == "issue":
                self._advance(stream, stream.issued)

    def finish(self, stream: Stream) -> None:
        """Have the host wait for a stream.

        Raises
        ------
        MXNetError
            For what a function of it raised, at the first wait that runs it.
        """
        if self._local.running:  # a function of a stream waits: what was issued before it has run, what comes after must not
            return
        with self._lock, np.errstate(all="ignore"):
            if self.schedule == "eager":
                for other in reversed(self.known.values()):
                    if other is not stream:
                        self._advance(other, other.issued)
            self._advance(stream, stream.issued)

    def _advance(self, stream: Stream, position: int) -> None:
        """Run a stream up to a position, and others as far as its marks need; a mark lies before what waits for it: this ends."""
        while stream.done < position:
            item = stream.waiting.popleft()
            stream.done += 1
            if isinstance(item, Mark):
                self._advance(item.stream, item.position)
            if self.timeline is not None:
                self._note(stream, item)
            if not isinstance(item, Mark):
                self._run(item)

    def _note(self, stream: Stream, item: Callable[[], None] | Mark) -> None:
        """Move a stream's clock: to a mark's time, or by what a function takes."""
        if isinstance(item, Mark):
            stream.clock = max(stream.clock, item.stream.times.get(item.position, 0.0))
        else:
            start, stream.clock = stream.clock, stream.clock + 1
            self.timeline.append(Interval(stream.title, start, stream.clock))  # type: ignore[union-attr]
        stream.times[stream.done] = stream.clock

    def _run(self, function: Callable[[], None]) -> None:
        self._local.running = True
        try:
            function()
        except Exception as error:
            raise own_error("gpu: what was issued to a stream failed", error) from error
        finally:
            self._local.running = False
