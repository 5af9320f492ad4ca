"""Background jobs: run by a few threads that exit when the queue is empty, or by the first caller that needs the result."""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from twofold.config import SETTINGS
from twofold.progress_bars import Progress


class _ThreadState(threading.local):
    """Per-thread flag: whether this thread is one of the workers."""

    is_worker = False


_state = _ThreadState()


class Job:
    """One piece of work, run at most once.

    Parameters
    ----------
    work
        The function to run. Its exception is discarded: the caller that needs the result repeats the work and gets the error.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        # `_claim` decides which thread runs the job; `_done` is held from the start and released when the job has run.
        self._claim, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._thread = 0

    def run(self) -> None:
        """Run the job unless another thread has claimed it."""
        if not self._claim.acquire(blocking=False):
            return
        self._thread = threading.get_ident()
        try:
            with suppress(BaseException):
                self._work()
        finally:
            self._thread = 0
            self._done.release()

    def finish(self) -> None:
        """Wait until the job is done.

        A job that has not started is canceled, and the caller does the work itself. No thread waits for a job that it is running
        itself (a signal handler may interrupt it), and workers never wait: a finalizer may call this from a worker, and two
        workers waiting for each other would deadlock.
        """
        # claimed and never run: the caller does the work
        if self._claim.acquire(blocking=False):
            self._done.release()
        elif self._thread != threading.get_ident() and not _state.is_worker:
            # acquired only to wait until the job has released it, and released at once
            with self._done:
                pass

    def abandon(self) -> None:
        """Cancel the job in a forked child, where the thread that ran it does not exist."""
        self._done = threading.Lock()


class Workers:
    """A pool of at most ``compile_threads`` threads, which exit when no jobs are left."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: a signal handler may interrupt the thread that holds it
        self._waiting: deque[Job] = deque()
        self._running: list[Job] = []
        self._threads = 0
        #: Appears if the jobs since the queue was last empty take longer than a second.
        self._bar: Progress[object] | None = None

    def submit(self, work: Callable[[], object]) -> Job:
        """Queue a job; jobs start in the order of submission."""
        job = Job(work)
        with self._lock:
            self._waiting.append(job)
            bar = self._bar
            if bar is None:
                bar = self._bar = Progress[object]((), "compiling kernels", 0, delay=1.0).__enter__()
            bar.total = (bar.total or 0) + 1
            if self._threads < SETTINGS.compile_threads:
                threading.Thread(target=self._serve, name="twofold-compile").start()
                self._threads += 1
        return job

    def _serve(self) -> None:
        _state.is_worker = True
        while True:
            with self._lock:
                # the threads are not daemons: at interpreter exit they finish the current job and drop the rest
                if not self._waiting or not threading.main_thread().is_alive():
                    self._threads -= 1
                    self._end_bar()
                    return
                job = self._waiting.popleft()
                self._running.append(job)
            job.run()
            with self._lock:
                self._running.remove(job)
                if self._bar is not None:
                    self._bar.step()

    def _end_bar(self) -> None:
        # done by the last thread: until then others may be compiling
        if self._threads == 0 and self._bar is not None:
            self._bar.__exit__(None)
            self._bar = None

    def after_fork(self) -> None:
        """Reset in a forked child: the threads, and any lock they held, belong to the parent."""
        for job in self._running:
            job.abandon()
        self.__init__()


WORKERS = Workers()
os.register_at_fork(after_in_child=WORKERS.after_fork)
