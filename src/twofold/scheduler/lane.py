"""A lane's thread: it runs the tasks that are handed to it, the most urgent first."""

import threading
from collections.abc import Callable
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
        self._lock = threading.Lock()
        self._ready: list[tuple[int, int, ref[Task]]] = []  # by urgency; weakly: who waits for a task may have run it
        self._signals: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, task: Task) -> None:
        """Hand over a task all of whose predecessors are done."""
        HAND_OFFS.count += 1
        with self._lock:
            heappush(self._ready, (-task.priority, task.serial, ref(task)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
                self._thread.start()
        self._signals.put(True)

    def stop(self) -> None:
        """End the thread, after what it was handed; the next task starts another one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._signals.put(False)
            thread.join()

    def _serve(self) -> None:
        while self._signals.get():
            with self._lock:
                task = heappop(self._ready)[-1]()
            if task is not None:
                self._work(task)
            del task  # an idle thread keeps nothing alive
