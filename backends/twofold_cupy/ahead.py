"""Work that is begun before it is needed: by a few threads, which end when there is none left, or by whoever needs it first."""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from twofold.config import SETTINGS


class _Here(threading.local):
    """Whether this thread is one of the workers."""

    works = False


_here = _Here()


class Job:
    """One piece of work.

    Parameters
    ----------
    work
        Called once at most. What it raises nobody is told: who needs the work does it again, and sees.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._turn, self._ended = threading.Lock(), threading.Lock()
        self._ended.acquire()
        self._thread = 0

    def run(self) -> None:
        """Do it, unless somebody has begun."""
        if not self._turn.acquire(blocking=False):
            return
        self._thread = threading.get_ident()
        try:
            with suppress(BaseException):
                self._work()
        finally:
            self._thread = 0
            self._ended.release()

    def finish(self) -> None:
        """Wait until it is done.

        What has not begun is left to the caller, and so is what the caller itself, interrupted, is doing. A thread that does other
        work (a finalizer in it may come here) waits for none: the other may wait for it.
        """
        if self._turn.acquire(blocking=False):
            self._ended.release()
        elif self._thread != threading.get_ident() and not _here.works:
            with self._ended:
                pass

    def abandon(self) -> None:
        """Nobody does it any more: its thread is in another process."""
        self._ended = threading.Lock()


class Workers:
    """Threads for jobs: at most as many as the setting ``compile_threads`` says, and none while there is nothing to do."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler of the thread that holds it may come here
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._threads = 0

    def begin(self, work: Callable[[], object]) -> Job:
        """A job that is done as soon as a thread has time, in the order of the calls."""
        job = Job(work)
        with self._lock:
            self._waiting.append(job)
            if self._threads < SETTINGS.compile_threads:
                threading.Thread(target=self._serve, name="twofold-compile").start()
                self._threads += 1
        return job

    def _serve(self) -> None:
        _here.works = True
        while True:
            with self._lock:
                if not self._waiting or not threading.main_thread().is_alive():  # the process ends: nobody needs it
                    self._threads -= 1
                    return
                job = self._waiting.popleft()
                self._running.append(job)
            job.run()
            with self._lock:
                self._running.remove(job)

    def after_fork(self) -> None:
        """In a child process: there are no threads."""
        for job in self._running:
            job.abandon()
        self.__init__()


WORKERS = Workers()
os.register_at_fork(after_in_child=WORKERS.after_fork)
