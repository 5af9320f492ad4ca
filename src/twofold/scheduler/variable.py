"""Tasks, and the variables through which one depends on another."""

from collections.abc import Callable, Hashable
from itertools import count
from typing import ClassVar, NamedTuple

from ..device import Device

#: Nanoseconds from which a task is worth handing to another thread, which costs 11 to 28 µs.
HAND_OVER = 100_000
SERIALS = count()


class Lane(NamedTuple):
    """A device (or anything else that works on its own) and a purpose, such as computing or copying.

    One thread per lane runs the lane's tasks one after another. A thread that waits for a task may run the task itself, at the same time.
    """

    owner: Hashable
    purpose: str = "compute"

    def __str__(self) -> str:
        return f"{self.owner} {self.purpose}"


#: The lanes on which devices compute, by the serial numbers of the devices.
LANES: dict[int, Lane] = {}


def compute_lane(device: Device) -> Lane:
    """The lane on which a device computes."""
    return LANES.setdefault(device.serial, Lane(device))


class Task:
    """A function that runs once, after the tasks that it depends on.

    Parameters
    ----------
    function
        What to run. An exception becomes the error of everything the task writes.
    lane
        Which thread may run it.
    priority
        Among the ready tasks of a lane, those of the highest priority run first.
    nanoseconds
        Estimated duration. A short task is run by the thread that makes it ready, without a hand-off.
    nbytes
        Memory that it will hold.

    Attributes
    ----------
    error
        Why it failed: the exception that it raised, or the error of something that it reads.
    runner
        The thread that has started it; 0 before.
    before, after
        Unfinished tasks that it depends on, and those that depend on it.
    sources
        Tasks whose results it reads.
    reports
        Whether the queue keeps its error for `Queue.drain`. False for classes whose errors are kept elsewhere.
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
        #: Set once, under the queue's lock: the thread that sets it runs the task, so that no task runs twice.
        self.runner = 0
        self.is_submitted = self.is_done = False
        #: Contains only tasks submitted earlier, which is why waiting cannot end in a circle. Empty: the task is ready.
        self.before: set[Task] = set()
        self.after: list[Task] = []
        self.sources: list[Task] = []

    @property
    def is_short(self) -> bool:
        """Whether it is too short to be worth a hand-off."""
        return self.nanoseconds < HAND_OVER

    def __lt__(self, other: "Task") -> bool:
        return (-self.priority, self.serial) < (-other.priority, other.serial)

    def __repr__(self) -> str:
        state = "done" if self.is_done else "running" if self.runner else "waiting"
        return f"<task {self.serial} on {self.lane}: {state}>"


class Var:
    """Something that tasks read and write, such as the memory of an array or an iterator.

    Readers run after the last writer, in any order; the next writer runs after all of them.
    """

    __slots__ = ("readers", "writer")

    def __init__(self) -> None:
        self.writer: Task | None = None
        self.readers: list[Task] = []

    @property
    def error(self) -> BaseException | None:
        """Why it has no content although its writer is done."""
        return self.writer.error if self.writer is not None else None

    def read_by(self, task: Task) -> None:
        """Add a reader."""
        writer = self.writer
        if writer is not None and (not writer.is_done or writer.error is not None):
            # a writer that has failed is a source too, even if it is done: the reader must fail with its error
            task.sources.append(writer)
            if not writer.is_done:
                task.before.add(writer)
        # a variable that is read forever and never written would collect readers without end
        self.readers = [t for t in self.readers if not t.is_done]
        self.readers.append(task)

    def written_by(self, task: Task) -> None:
        """Set the last writer."""
        # a writer waits for every reader of the old content, and for the writer before it
        task.before.update(t for t in self.readers if not t.is_done)
        if self.writer is not None and not self.writer.is_done:
            task.before.add(self.writer)
        self.writer, self.readers = task, []
