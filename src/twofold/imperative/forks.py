"""Process forks: other threads finish or hold their work before a fork. The child lacks those threads and abandons their work.

Python drops exceptions in functions that run around a fork, so a Ctrl-C during a fork would be lost, or leave locks held. It is recorded
instead, and raised soon after the fork.
"""

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable

from ..backend import forks
from ..errors import EngineError
from ..scheduler.queue import QUEUE
from .window import LOCK, OPEN, windows

#: The program's handler of interrupts while its main thread forks, and the interrupts that came meanwhile.
_HANDLERS: list[Callable[..., object]] = []
_INTERRUPTS: list[int] = []
#: Seconds after a fork until an interrupt is raised: all functions around the fork have ended then.
SOON = 0.05


def _hold_interrupts() -> None:
    handler = signal.getsignal(signal.SIGINT)
    # the default handlers of C are numbers and no functions, and Python lets only the main thread set handlers
    if callable(handler) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda number, frame: _INTERRUPTS.append(number))
        _HANDLERS.append(handler)


def _let_interrupts_go() -> None:
    if _HANDLERS:
        signal.signal(signal.SIGINT, _HANDLERS.pop())
        if _INTERRUPTS:
            _INTERRUPTS.clear()
            _thread.start_new_thread(_interrupt_soon, ())


def _interrupt_soon() -> None:
    time.sleep(SOON)
    _thread.interrupt_main()


def _before_fork() -> None:
    """No lane may be at work when the process forks: its thread would not exist in the child.

    Lock order: first the locks of `backend.forks`, which lanes may need until they end, then `LOCK`, then the queue's lock.
    """
    _hold_interrupts()
    QUEUE.pause()
    for lock in forks.LOCKS:
        lock.acquire()
    LOCK.acquire()
    QUEUE.hold()


def _in_parent() -> None:
    QUEUE.let_go()
    _release_locks()
    _let_interrupts_go()


def _release_locks() -> None:
    LOCK.release()
    # reverse order of `_before_fork`
    for lock in reversed(forks.LOCKS):
        lock.release()


def _in_child() -> None:
    """In a child: a window that another thread of the parent was running never finishes; a window still open can run here."""
    _INTERRUPTS.clear()  # the parent raises its own interrupts
    _let_interrupts_go()
    _release_locks()
    QUEUE.in_child()
    for w in windows():
        if w.closed and not w.is_done and w.runner:
            stages = w.stages
            w.forget()
            what = "this array was being computed by another thread when the process forked"
            error = EngineError(what, None, "wait for it before fork()")
            QUEUE.abandon(w, error)
            if stages is not None:
                stages.end(error)
            OPEN.pop(w.serial, None)  # the error reaches only readers of its results


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
