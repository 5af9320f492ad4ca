"""A second thread for kernels on large arrays; NumPy releases the GIL while it computes."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

import numpy as np

from twofold.backend.ledger import HAND_OFFS

THREADS = min(2, os.cpu_count() or 1)

Task = Callable[[], None]
_tasks: list["SimpleQueue[Task]"] = []
_start_lock = threading.RLock()  # reentrant: a signal handler may interrupt the thread that holds it


def run_both(here: Task, there: Task, then: Task | None = None) -> None:
    """Run ``here`` on this thread and ``there`` on the other one, with floating-point warnings off, and wait for both.

    If the other thread has not started ``there`` when ``here`` is done (the machine is busy), it runs here as well. ``then`` runs on the
    other thread afterwards; nobody waits for it.
    """
    # `begun` decides which thread runs `there`; `done` is held until it has run
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
            there = _nothing  # the task is still queued: drop what it refers to, so that arrays are not kept alive
        else:
            done.acquire()
    if mine:
        second()
    elif errors:
        raise errors[0]


def _nothing() -> None:
    pass


def has_tasks() -> bool:
    """Whether tasks are queued for the other thread; for the helper that spins on it (see `jit.handoff`)."""
    return bool(_tasks) and not _tasks[0].empty()


def _queue() -> "SimpleQueue[Task]":
    """The other thread's task queue; the thread is started at first use."""
    with _start_lock:
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
    """Reset in a forked child, which has no other thread; a new one is started when needed."""
    global _start_lock
    _tasks.clear()
    _start_lock = threading.RLock()  # another thread of the parent may have held the old one
