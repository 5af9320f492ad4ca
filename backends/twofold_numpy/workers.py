"""A second thread for kernels on large arrays: NumPy lets go of the interpreter while it computes."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from twofold.backend.ledger import HAND_OFFS

THREADS = min(2, os.cpu_count() or 1)

Task = Callable[[], None]
_tasks: list["SimpleQueue[Task]"] = []
_starting = threading.RLock()  # a signal handler of the thread that starts the other may come here


def both(here: Task, there: Task, then: Task | None = None) -> None:
    """Run two functions, the second one in another thread, where floating-point warnings are off; wait for both.

    That thread does something else afterwards, for which nobody waits. Where it has not begun when the first function is done (the
    machine is busy), the second one runs here, too.
    """
    begun, done = threading.Lock(), threading.Lock()
    done.acquire()
    errors: list[BaseException] = []

    def task() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            there()
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()
        if then is not None:
            then()

    second = there
    HAND_OFFS.count += 1
    _queue().put(task)
    try:
        here()
    finally:
        mine = begun.acquire(blocking=False)
        if mine:
            there = _nothing  # the task stays in the queue, but not what it refers to
        else:
            done.acquire()
    if mine:
        second()
    elif errors:
        raise errors[0]


def _nothing() -> None:
    pass


def is_waited_for() -> bool:
    """Whether the other thread has something to run; for those who keep it busy."""
    return bool(_tasks) and not _tasks[0].empty()


def _queue() -> "SimpleQueue[Task]":
    """What the other thread takes its work from; the thread is started at its first use."""
    with _starting:
        if not _tasks:
            tasks: SimpleQueue[Task] = SimpleQueue()
            threading.Thread(target=_serve, args=(tasks,), name="twofold-kernel", daemon=True).start()
            _tasks.append(tasks)
        return _tasks[0]


def _serve(tasks: "SimpleQueue[Task]") -> None:
    np.seterr(all="ignore")
    while True:
        tasks.get()()


def forget() -> None:
    """After a fork the child has no other thread: a new one is started when needed."""
    global _starting
    _tasks.clear()
    _starting = threading.RLock()  # another thread of the parent may have held it
