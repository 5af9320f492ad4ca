"""A lane's thread: it runs the tasks handed to it, the most urgent first."""

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
        Runs a task unless another thread has started it.
    """

    def __init__(self, name: str, work: Callable[[Task], None]) -> None:
        self._name, self._work = name, work
        self._lock = threading.RLock()  # reentrant: a signal handler may interrupt the thread that holds it
        self._ready: list[tuple[int, int, ref[Task]]] = []  # by urgency; weak references, since a waiting thread may have run the task
        self._thread: threading.Thread | None = None
        self._signals: SimpleQueue[bool] = SimpleQueue()  # one True per task, and a final False; each thread has its own queue

    def put(self, task: Task) -> None:
        """Hand a task whose dependencies are all done to the thread."""
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
        """Stop the thread once it has run its tasks; the next task starts a new thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._signals.put(False)
        if thread is not None:
            thread.join()

    def _serve(self, signals: "SimpleQueue[bool]") -> None:
        while signals.get():
            with self._lock:
                # which task is decided only here: one more urgent may have come since the signal was given
                task = heappop(self._ready)[-1]()
            if task is not None:
                with suppress(BaseException):  # waiting threads find the error in the task; this thread continues
                    self._work(task)
            del task  # an idle thread must keep nothing alive
