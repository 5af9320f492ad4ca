"""Simulated streams: queues of functions that run at once or when the host waits, in any order that the marks allow."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from twofold.errors import ParameterError, own_error

#: When the functions issued to streams run.
#:
#: ``issue``: at once. ``late``: when the host waits for a stream, and only as far as that stream needs, so that a missing `Streams.wait`
#: reads data that is not there yet. ``eager``: when the host waits, with all other streams first, so that a missing wait overwrites data
#: that is still to be read.
Schedule = Literal["issue", "late", "eager"]
SCHEDULES = ("issue", "late", "eager")


class Mark(NamedTuple):
    """A point in a stream, reached when ``position`` of its functions have run."""

    stream: "Stream"
    position: int


class Interval(NamedTuple):
    """When a function ran, on a clock on which each function takes one unit and streams run in parallel."""

    stream: str
    start: float
    end: float


class Stream:
    """A queue of functions and of marks to wait for; as a context manager, it receives what this thread issues in the block."""

    def __init__(self, owner: "Streams", title: str) -> None:
        self.owner, self.title = owner, title
        self.waiting: deque[Callable[[], object] | Mark] = deque()
        self.issued = self.done = 0
        self.clock = 0.0
        #: The clock after each item that ran while a timeline was recorded, by position.
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
        A list that receives the intervals of functions as they run; None to record nothing.
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
        """The streams that this thread has entered, the innermost last."""
        return self._local.stack

    def stream(self, key: tuple[object, ...]) -> Stream:
        """The stream for a key, created on first use."""
        with self._lock:
            return self.known.setdefault(key, Stream(self, " ".join(map(str, key))))

    def issue(self, stream: Stream, function: Callable[[], object]) -> None:
        """Add a function to a stream."""
        self._add(stream, function)

    def record(self, stream: Stream) -> Mark:
        """A mark after everything issued to the stream so far."""
        return Mark(stream, stream.issued)

    def wait(self, stream: Stream, mark: Mark) -> None:
        """Make a stream wait for a mark."""
        self._add(stream, mark)

    def _add(self, stream: Stream, item: Callable[[], object] | Mark) -> None:
        with self._lock:
            stream.waiting.append(item)
            stream.issued += 1
            if self.schedule == "issue":
                self._advance(stream, stream.issued)

    def synchronize(self, stream: Stream) -> None:
        """Wait for a stream, running what is queued.

        Raises
        ------
        MXNetError
            If a function that runs now raises.
        """
        if self._local.running:  # called by a function of a stream: earlier items have run, and later ones must not run yet
            return
        with self._lock, np.errstate(all="ignore"):
            if self.schedule == "eager":
                for other in reversed(self.known.values()):
                    if other is not stream:
                        self._advance(other, other.issued)
            self._advance(stream, stream.issued)

    def _advance(self, stream: Stream, position: int) -> None:
        """Run a stream up to a position, and other streams as far as the marks in between require.

        This terminates, because a mark is issued before any wait for it.
        """
        while stream.done < position:
            item = stream.waiting.popleft()
            stream.done += 1
            if isinstance(item, Mark):
                # under any schedule: work issued before the mark runs before work that waits for it
                self._advance(item.stream, item.position)
            # after the other stream has advanced, since a mark's time is read from there
            if self.timeline is not None:
                self._record_time(self.timeline, stream, item)
            if not isinstance(item, Mark):
                self._run(item)

    def _record_time(self, timeline: list[Interval], stream: Stream, item: Callable[[], object] | Mark) -> None:
        """Advance a stream's clock: to the time of a mark, or by one unit for a function."""
        if isinstance(item, Mark):
            stream.clock = max(stream.clock, item.stream.times.get(item.position, 0.0))
        else:
            start, stream.clock = stream.clock, stream.clock + 1
            timeline.append(Interval(stream.title, start, stream.clock))
        stream.times[stream.done] = stream.clock

    def _run(self, function: Callable[[], object]) -> None:
        self._local.running = True
        try:
            function()
        except Exception as error:
            raise own_error("gpu: an operation issued to a stream failed", error) from error
        finally:
            self._local.running = False
