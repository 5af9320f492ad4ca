"""A lane's thread: it runs the tasks that are handed to it, the most urgent first."""

import threading
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from queue import SimpleQueue
from weakref import ref

from ..backend.ledger import HAND_OFFS
from .variable import Task


class Worker:
    """A thread, started at its first task.

    Parameters
    ----------
    name
        Of the thread.
    work
        Runs a task, unless somebody else has begun it.
    """

    def __init__(self, name: str, work: Callable[[Task], None]) -> None:
        self._name, self._work = name, work
        self._lock = threading.RLock()  # a signal handler of the thread that holds it may come here
        self._ready: list[tuple[int, int, ref[Task]]] = []  # by urgency; weakly: who waits for a task may have run it
        self._thread: threading.Thread | None = None
        self._signals: SimpleQueue[bool] = SimpleQueue()  # the thread's own: one for each task, and a last one

    def put(self, task: Task) -> None:
        """Hand over a task all of whose predecessors are done."""
        with self._lock:
            HAND_OFFS.count += 1
            heappush(self._ready, (-task.priority, task.serial, ref(task)))
            if self._thread is None:
                self._signals = SimpleQueue()
                thread = threading.Thread(target=self._serve, args=(self._signals,), name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            self._signals.put(True)

    def stop(self) -> None:
        """End the thread, after what it was handed; the next task starts another one."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._signals.put(False)
        if thread is not None:
            thread.join()

    def _serve(self, signals: "SimpleQueue[bool]") -> None:
        while signals.get():
            with self._lock:
                task = heappop(self._ready)[-1]()
            if task is not None:
                with suppress(BaseException):  # who waits for the task is told; the thread goes on
                    self._work(task)
            del task  # an idle thread keeps nothing alive
