"""Worker threads of `DataLoader`. They are daemons: one that hangs does not keep the program from ending."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread, current_thread
from time import monotonic

from ...errors import EngineError
from ...numpy_extension import np_array
from .loading import Loaded, took_too_long, what_was_loaded

#: Seconds that threads have at the end of the program to finish the batch that they load.
GRACE = 0.5


class ThreadJob:
    """A batch that a thread loads."""

    def __init__(self, workers: WorkerThreads, load: Callable[..., Loaded], indices: Sequence[object], numpy: bool) -> None:
        self._workers, self._load, self._indices, self._numpy = workers, load, indices, numpy
        self._places = [0]
        self._thread = ""  # the name of the one that has begun it
        self._future: Future[Loaded] = Future()

    def result(self, timeout: float) -> Loaded:
        """Wait for the batch.

        Raises
        ------
        EngineError
            If it takes longer than ``timeout`` seconds, or the dataset raised SystemExit or alike; its message names the thread and the
            sample.
        Exception
            The error of the dataset or of the function that collates, with a note that names the thread and the sample.
        """
        try:
            return self._future.result(timeout)
        except FutureTimeoutError:
            if self._future.done():  # it was the dataset that raised it
                raise
            self._workers.close()
            where = f"thread {self._thread} {self._what()}" if self._thread else f"no thread was free for the samples {self._indices}"
            raise took_too_long(timeout, where) from None

    def cancel(self) -> None:
        """Drop the batch, unless a thread has begun it."""
        self._future.cancel()

    def _what(self) -> str:
        return what_was_loaded(self._indices, self._places[0])

    def run(self) -> None:
        """Load the batch in the current thread. ``npx.set_np`` is per thread, so its state is that of the consumer."""
        future = self._future
        if not future.set_running_or_notify_cancel():
            return
        self._thread = current_thread().name
        try:
            with np_array(self._numpy):
                future.set_result(self._load(self._indices, began=partial(self._places.__setitem__, 0)))
        except BaseException as error:
            where = f"in thread {self._thread} {self._what()}"
            if isinstance(error, Exception):
                error.add_note(where)
            else:
                error = _instead_of(error, where)
            future.set_exception(error)
            del future, self  # the error holds this frame, which would hold the error


def _instead_of(error: BaseException, where: str) -> EngineError:
    """The error for SystemExit and alike, which would end the program without a message."""
    reason = f": {error}" if str(error) else ""
    found = EngineError(f"DataLoader: {type(error).__name__} {where}{reason}", None, "raise an Exception instead")
    found.__cause__ = error
    return found


class WorkerThreads:
    """Threads that load batches.

    Parameters
    ----------
    count
        Number of threads.
    """

    def __init__(self, count: int) -> None:
        self._jobs: SimpleQueue[ThreadJob | None] = SimpleQueue()
        self.threads = [Thread(target=_work, args=(self._jobs,), name=f"DataLoader_{k}", daemon=True) for k in range(count)]
        # the finalizer holds the queue and not `self`, which could otherwise never be freed
        self.close = weakref.finalize(self, _close, self._jobs, count)
        _opened.add(self)
        for thread in self.threads:
            thread.start()

    def submit(self, load: Callable[..., Loaded], indices: Sequence[object], numpy: bool) -> ThreadJob:
        """Let a thread load a batch.

        Parameters
        ----------
        load
            Loads a batch, given the indices of its samples and ``began``; see `loaded`.
        indices
            The samples.
        numpy
            Whether ``npx.set_np`` is in effect.
        """
        job = ThreadJob(self, load, indices, numpy)
        self._jobs.put(job)
        return job

    @property
    def are_alive(self) -> bool:
        """Whether the threads can take more work; not after `close`, and not in a forked child."""
        return self.close.alive and all(thread.is_alive() for thread in self.threads)


_opened: weakref.WeakSet[WorkerThreads] = weakref.WeakSet()


def _work(jobs: SimpleQueue[ThreadJob | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job  # it holds the loader, which would not be freed while the thread waits


def _close(jobs: SimpleQueue[ThreadJob | None], count: int) -> None:
    """Drop the jobs that no thread has begun, and let the threads end."""
    try:
        while (job := jobs.get_nowait()) is not None:
            job.cancel()
    except Empty:
        pass
    # one None for each thread: it ends the thread that takes it
    for _ in range(count):
        jobs.put(None)


@atexit.register
def _close_all() -> None:
    """End all threads. Those that are at work get time to finish: the interpreter stops daemons wherever they are."""
    opened = list(_opened)
    for workers in opened:
        workers.close()
    deadline = monotonic() + GRACE
    for workers in opened:
        for thread in workers.threads:
            thread.join(max(deadline - monotonic(), 0))
