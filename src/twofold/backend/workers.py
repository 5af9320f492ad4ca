"""Helper threads that run Python: for kernels and products without machine code. NumPy releases the GIL while it computes."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import starmap
from queue import SimpleQueue

import numpy as np

from ..config import SETTINGS
from .ledger import HAND_OFFS

#: Most threads that work on one task, and most pieces of a product.
MOST = 16
Task = Callable[[], None]
_tasks: list["SimpleQueue[Task]"] = []
_helpers: list[threading.Thread] = []
_start_lock = threading.RLock()  # reentrant: a signal handler may interrupt the thread that holds it


def available() -> int:
    """The number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count() -> int:
    """The number of threads that work on one task: the setting ``threads``, or one for each core."""
    return min(SETTINGS.threads or available(), MOST)


def run_all(pieces: Sequence[Task]) -> None:
    """Run the pieces of a task, first on this thread and last on helpers, with floating-point warnings off there, and wait for all.

    This thread waits for a piece only if a helper has begun it, so helpers that get no core on a busy machine cause no wait.
    """
    left = list(pieces)  # a helper that comes late finds it empty: it keeps no array alive
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def help_out() -> None:
        while left:
            try:
                # another thread may take the last piece between the test and the pop
                piece = left.pop()
            except IndexError:
                return
            try:
                piece()
            except BaseException as error:
                ended.put(error)
            else:
                ended.put(None)
            # the variable would keep the piece's arrays alive until the thread has its next one
            del piece

    # Filled by single calls of built-in functions: an interrupt between a pop and a count would leave this thread waiting for a piece
    # that nobody has.
    own: list[Task] = []
    answers: list[BaseException | None] = []
    try:
        HAND_OFFS.count += 1
        queue, expected = _queue(), min(len(left), count()) - 1
        _keep_off_this_core(expected)
        for _ in range(expected):
            queue.put(help_out)
        while left:
            before = len(own)
            with suppress(IndexError):  # a helper may take the last piece between the test and the pop
                own.extend(map(left.pop, (0,)))
            if len(own) > before:
                own[-1]()
    finally:
        interrupt: BaseException | None = None
        is_over = False
        while not is_over:
            try:
                while left:  # after an error
                    with suppress(IndexError):
                        own.extend(map(left.pop, (-1,)))
                while len(answers) < len(pieces) - len(own):
                    answers.extend(starmap(ended.get, ((),)))
                is_over = True
            except BaseException as error:  # Ctrl-C: helpers still write to the arrays, which the program may use again
                interrupt = error
        if interrupt is not None:
            raise interrupt
    errors = [error for error in answers if error is not None]
    if errors:
        raise errors[0]


def _queue() -> "SimpleQueue[Task]":
    """The helpers' task queue; they are started at first use."""
    if not _tasks or len(_helpers) < count() - 1:
        with _start_lock:
            if not _tasks:
                _tasks.append(SimpleQueue())
            while len(_helpers) < count() - 1:
                helper = threading.Thread(target=_serve, args=(_tasks[0],), name=f"twofold-worker-{len(_helpers)}", daemon=True)
                _helpers.append(helper)
                helper.start()
    return _tasks[0]


def _serve(tasks: "SimpleQueue[Task]") -> None:
    # NumPy's error state belongs to a thread
    np.seterr(all="ignore")
    while True:
        task = tasks.get()
        # `_keep_off_this_core` has excluded one core to place the thread; awake, it may use that one too
        _run_on(_cores[0], 0)
        task()
        del task


#: The function that returns the core on which the calling thread runs; None on systems without such a function.
_THIS_CORE: Callable[[], int] | None = getattr(ctypes.PyDLL(None), "sched_getcpu", None) if sys.platform == "linux" else None
#: The cores that the thread which woke helpers last may use.
_cores: list[set[int]] = [set()]


def _keep_off_this_core(number: int) -> None:
    """Move helpers off the core of this thread before they wake: the system would often run them in turns with it.

    Once awake they may use all cores.
    """
    if _THIS_CORE is not None:
        _cores[0] = os.sched_getaffinity(0)
        for helper in _helpers[:number]:
            _run_on(_cores[0] - {_THIS_CORE()}, helper.native_id)


def _run_on(cores: set[int], thread: int | None) -> None:
    """Let a thread (0 for this one) run only on these cores; no effect without cores, or where the system does not allow it."""
    if cores and thread is not None and _THIS_CORE is not None:
        with suppress(OSError):
            os.sched_setaffinity(thread, cores)


def forget() -> None:
    """Reset in a forked child, which has no helpers; they are started when needed."""
    global _start_lock
    _tasks.clear()
    _helpers.clear()
    _start_lock = threading.RLock()  # another thread of the parent may have held the old one


os.register_at_fork(after_in_child=forget)
