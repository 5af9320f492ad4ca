"""Process forks: work of other threads is finished or held before a fork, and abandoned in the child, which lacks those threads."""

import os

from ..backend import forks
from ..errors import EngineError
from ..scheduler.queue import QUEUE
from .window import LOCK, OPEN, windows


def _before_fork() -> None:
    """No lane may be at work when the process forks: its thread would not exist in the child.

    The order in which locks are taken: those of `backend.forks`, which lanes may need until they end, then `LOCK`, then the queue's.
    """
    QUEUE.pause()
    for lock in forks.LOCKS:
        lock.acquire()
    LOCK.acquire()
    QUEUE.hold()


def _in_parent() -> None:
    QUEUE.let_go()
    _release_locks()


def _release_locks() -> None:
    LOCK.release()
    for lock in reversed(forks.LOCKS):
        lock.release()


def _in_child() -> None:
    """In a child: what another thread of the parent was running will never finish here; what was only deferred can still run."""
    _release_locks()
    QUEUE.in_child()
    for w in windows():
        if w.closed and not w.is_done and w.runner:
            w.forget()
            what = "this array was being computed by another thread when the process forked"
            QUEUE.abandon(w, EngineError(what, None, "wait for it before fork()"))
            OPEN.pop(w.serial, None)  # only readers of its results are told


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
