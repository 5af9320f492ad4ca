"""What is ordered: tasks, and the variables through which one depends on another."""

from collections.abc import Callable, Hashable
from functools import cache
from itertools import count
from typing import ClassVar, NamedTuple

#: A task that takes longer than this (nanoseconds) is worth a hand-off to another thread, which costs 11 to 28 µs.
HAND_OVER = 100_000
SERIALS = count()


class Lane(NamedTuple):
    """Whose tasks they are: a device (or anything else that works on its own) and what for.

    A thread of its own runs them one after another; who waits for one may run it beside that thread.
    """

    owner: Hashable
    purpose: str = "compute"

    def __str__(self) -> str:
        return f"{self.owner} {self.purpose}"


@cache
def compute_lane(device: Hashable) -> Lane:
    """The lane of what a device computes."""
    return Lane(device)


class Task:
    """A function that runs once, after the tasks that it depends on.

    Parameters
    ----------
    function
        What to run. What it raises is the error of what the task writes.
    lane
        Which thread may run it.
    priority
        Of the tasks of a lane that are ready, those of the highest priority run first.
    nanoseconds
        About how long it takes. A short one is run by whoever makes it ready, without a hand-off.
    nbytes
        Memory that it will hold.

    Attributes
    ----------
    error
        Why it failed: what it raised, or the error of something that it reads.
    runner
        The thread that has begun it; 0 before.
    before, after
        Tasks not done that come before it, and those that wait for it.
    sources
        Tasks whose results it reads.
    reports
        Whether the queue keeps its error for `Queue.drain`; a class whose errors are kept elsewhere says no.
    """

    __slots__ = (
        "__weakref__", "after", "before", "error", "function", "is_done", "is_submitted", "lane", "nanoseconds", "nbytes",
        "priority", "runner", "serial", "sources",
    )  # fmt: skip
    reports: ClassVar[bool] = True

    def __init__(
        self, function: Callable[[], None] | None, lane: Lane, *, priority: int = 0, nanoseconds: float = HAND_OVER, nbytes: int = 0
    ) -> None:
        self.function = function
        self.lane = lane  # one by one: faster than a tuple of four
        self.priority = priority
        self.nanoseconds = nanoseconds
        self.nbytes = nbytes
        self.serial = next(SERIALS)
        self.error: BaseException | None = None
        self.runner = 0
        self.is_submitted = self.is_done = False
        self.before: set[Task] = set()
        self.after: list[Task] = []
        self.sources: list[Task] = []

    @property
    def is_short(self) -> bool:
        """Whether a hand-off would not pay."""
        return self.nanoseconds < HAND_OVER

    def __lt__(self, other: "Task") -> bool:
        return (-self.priority, self.serial) < (-other.priority, other.serial)

    def __repr__(self) -> str:
        state = "done" if self.is_done else "running" if self.runner else "waiting"
        return f"<task {self.serial} on {self.lane}: {state}>"


class Var:
    """Something that tasks read and write: the memory of an array, an iterator.

    Those that read it run after the last one that wrote it, in any order; one that writes it runs after all of these.
    """

    __slots__ = ("readers", "writer")

    def __init__(self) -> None:
        self.writer: Task | None = None
        self.readers: list[Task] = []

    @property
    def error(self) -> BaseException | None:
        """Why its content is not there, once its writer is done."""
        return self.writer.error if self.writer is not None else None

    def read_by(self, task: Task) -> None:
        """Note a task that reads it."""
        writer = self.writer
        if writer is not None and (not writer.is_done or writer.error is not None):
            task.sources.append(writer)
            if not writer.is_done:
                task.before.add(writer)
        self.readers = [t for t in self.readers if not t.is_done]
        self.readers.append(task)

    def written_by(self, task: Task) -> None:
        """Note a task that writes it."""
        task.before.update(t for t in self.readers if not t.is_done)
        if self.writer is not None and not self.writer.is_done:
            task.before.add(self.writer)
        self.writer, self.readers = task, []
