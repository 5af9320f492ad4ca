"""Worker processes of `DataLoader`: they get jobs and send batches, by `messages`."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import pickle
import random
import signal
import socket
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from functools import partial
from multiprocessing import connection as pipes
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import random as arrays_random
from ...device import CPU, set_default_device
from ...errors import EngineError
from ...numpy_extension import np_array
from ...tracebacks import told
from .loading import Loaded, took_too_long, what_was_loaded
from .messages import Received, pickled, received_from, send_pickled, unpickled

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

#: Jobs that may wait for a worker besides the current one: few enough to fit into its pipe.
MOST_WAITING = 4
#: Seconds after which an idle worker looks whether its parent is alive.
HEARTBEAT = 1.0
#: Seconds that a worker has to end by itself.
GRACE = 0.5
#: The numbers of errors of the system for a lack of file descriptors or memory.
NOT_TO_BE_HAD = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
#: Number of the batch, indices of its samples, seed, and whether ``npx.set_np`` is in effect.
Job = tuple[int, list[object], Sequence[int], bool]
#: The place of the sample that each worker is at, in shared memory.
Places = MutableSequence[int]


def can_start() -> bool:
    """Whether worker processes exist here: they pass file descriptors through pipes."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds")


class BatchInProgress:
    """A batch that a worker loads."""

    def __init__(self, workers: WorkerProcesses, number: int) -> None:
        self._workers, self._number = workers, number

    def result(self, timeout: float) -> Any:
        """Wait for the batch.

        Raises
        ------
        EngineError
            If it takes longer than ``timeout`` seconds, or the worker died; its message names the worker and the sample.
        BaseException
            The error of the dataset or of the function that collates, with a note that names the worker and the sample.
        """
        return self._workers.wait_for(self._number, timeout)

    def cancel(self) -> None:
        """Drop the batch when it arrives."""
        self._workers.forget(self._number)


class WorkerProcesses:
    """Processes that load batches.

    They are forked, like MXNet's, so that the dataset is neither pickled nor copied, or spawned if ``multiprocessing.set_start_method``
    says so.

    Parameters
    ----------
    count
        Number of processes.
    load
        The function that loads a batch, given the indices of its samples and ``began``; see `loaded`.
    worker_init
        A function that each worker calls first with its number; or None.

    Raises
    ------
    AttributeError, TypeError, pickle.PicklingError
        If workers must be spawned and a function, or the dataset in it, cannot be pickled.
    """

    def __init__(
        self,
        count: int,
        load: Callable[..., Loaded],
        worker_init: Callable[[int], object] | None = None,
    ) -> None:
        method = multiprocessing.get_start_method(allow_none=True)
        context: Any = multiprocessing.get_context(method or "fork")
        # shared memory: the parent can read where a worker was even after the worker has died
        self._places = context.RawArray("q", count)
        self._pipes: list[pipes.Connection] = []
        self._processes: list[BaseProcess] = []
        # the finalizer gets the lists, which the loop below fills, and not `self`, which it would keep alive
        self._parent = os.getpid()
        self._stop = weakref.finalize(self, _stop, self._parent, self._processes, self._pipes)
        #: Held while jobs are handed out and messages received: several threads may iterate over one loader. Reentrant, as a signal
        #: handler may interrupt the thread that holds it.
        self._lock = threading.RLock()
        # by number of the batch: the worker that loads it, and the indices of its samples
        self._jobs: dict[int, tuple[int, Sequence[object]]] = {}
        self._queued: list[int] = []  # numbers of batches for which no worker's pipe has room yet
        self._waiting: dict[int, Job] = {}
        # by number of the batch: whether it was loaded, and the batch or the error
        self._results: dict[int, Any] = {}
        self._dropped: set[int] = set()
        self._number = 0
        for k in range(count):
            ours, theirs = context.Pipe()
            self._pipes.append(ours)
            process = context.Process(
                target=_work,
                args=(theirs, k, self._places, load, worker_init),
                name=f"DataLoader-{k}",
                daemon=True,
            )
            try:
                with warnings.catch_warnings():
                    # Python warns of locks held by other threads; `imperative.forks` holds those of this library
                    warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
                    process.start()
            except BaseException:
                self._stop()
                raise
            self._processes.append(process)
            # only the child keeps this end open, so that the parent reads the end of the pipe when the child dies
            theirs.close()

    def submit(self, indices: Sequence[object], seed: Sequence[int], numpy: bool) -> BatchInProgress:
        """Let the least busy worker load a batch.

        Parameters
        ----------
        indices
            The samples.
        seed
            The seed of random numbers for this batch.
        numpy
            Whether ``npx.set_np`` is in effect.
        """
        with self._lock, self._consistent():
            self._number = number = self._number + 1
            self._waiting[number] = (number, list(indices), seed, numpy)
            self._queued.append(number)
            self._hand_out()
        return BatchInProgress(self, number)

    def _hand_out(self) -> None:
        """Send jobs to workers whose pipes have room."""
        while self._queued and self.are_alive:
            # counted each time from the jobs that workers have, which are few
            loads = [0] * len(self._processes)
            for worker, _ in self._jobs.values():
                loads[worker] += 1
            worker = min(range(len(loads)), key=loads.__getitem__)
            if loads[worker] > MOST_WAITING:
                return
            number = self._queued.pop(0)
            job = self._waiting.pop(number)
            if number in self._dropped:
                self._dropped.discard(number)
                continue
            message = pickled(job)
            self._jobs[number] = worker, job[1]
            with contextlib.suppress(BrokenPipeError):  # it died: found by `_receive`, which says how
                send_pickled(self._pipes[worker], *message)

    def forget(self, number: int) -> None:
        """Drop a batch, now or when it arrives."""
        if self._results.pop(number, None) is None:
            self._dropped.add(number)

    def wait_for(self, number: int, timeout: float) -> Any:
        """See `BatchInProgress.result`."""
        deadline = monotonic() + timeout
        while number not in self._results:
            with self._lock:
                # another thread, which held the lock, may have received it
                if number not in self._results:
                    self._receive(number, deadline, timeout)
        good, value = self._results.pop(number)
        if good:
            return value
        try:
            raise value
        finally:
            del value  # the error holds this frame, which would hold the error

    def _receive(self, number: int, deadline: float, timeout: float) -> None:
        """Wait for a worker, and keep what it sends."""
        if not self.are_alive:
            todo = "an interrupt, an error in another iteration or a fork has ended them: iterate over the loader anew"
            raise EngineError("DataLoader: the worker processes of this iteration have ended", None, todo)
        sentinels = {process.sentinel: k for k, process in enumerate(self._processes)}
        ready = pipes.wait([*self._pipes, *sentinels], max(deadline - monotonic(), 0))
        if not ready:
            worker, indices = self._jobs.get(number, (0, ()))
            where = f"worker {worker} at {self._place(worker, indices)}"
            self.close()
            raise took_too_long(timeout, where)
        with self._consistent():
            for worker, pipe in enumerate(self._pipes):
                if pipe in ready:
                    self._receive_from(worker, pipe)
            self._hand_out()
        # a worker may send the batch and then die: the batch counts, and the death is reported when a later batch is missing
        if number not in self._results:
            for worker in (k for sentinel, k in sentinels.items() if sentinel in ready):
                self._died(worker)

    def _receive_from(self, worker: int, pipe: pipes.Connection) -> None:
        try:
            message = received_from(pipe)
        except EOFError:
            return  # it died: found by `_receive`, which says how
        except OSError as error:
            if error.errno not in NOT_TO_BE_HAD:
                return  # it died, too
            self.close()  # a part of the message is lost
            what, todo = "DataLoader: a batch cannot be received from its worker process", "close files, or raise the limit (ulimit -n)"
            raise EngineError(what, str(error), todo) from error
        self._keep(worker, message)

    def _keep(self, worker: int, message: Received) -> None:
        """Keep the batch, or the error, that a worker has sent. Each worker loads its batches in order."""
        number = next(n for n, (w, _) in self._jobs.items() if w == worker)
        _, indices = self._jobs.pop(number)
        if number in self._dropped:
            self._dropped.discard(number)
            return
        try:
            _, good, value = unpickled(message)
        except Exception as error:  # of a class in the batch, such as one whose module only the worker has loaded
            good, value = False, _not_passed(error, "unpickled", f"from worker {worker} with the samples {indices}")
        self._results[number] = good, value

    @contextlib.contextmanager
    def _consistent(self) -> Iterator[None]:
        """While it is entered, an interrupt ends the processes: it may leave a part of a message in a pipe, or a job that was not sent."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            self.close()
            raise

    def _died(self, worker: int) -> None:
        process = self._processes[worker]
        process.join(GRACE)
        at = next((self._place(worker, indices) for w, indices in self._jobs.values() if w == worker), "no sample")
        code = process.exitcode
        how = f"signal {-code} ({signal.Signals(-code).name})" if code is not None and code < 0 else f"exit status {code}"
        self.close()
        raise EngineError(
            f"DataLoader: worker {worker} (process {process.pid}) died at {at}", how, "look for a lack of memory or a crash in native code"
        )

    def _place(self, worker: int, indices: Sequence[object]) -> str:
        """Which sample a worker is loading, in words."""
        place = self._places[worker]
        return f"sample {indices[place]!r}" if place < len(indices) else "collating a batch"

    @property
    def are_alive(self) -> bool:
        """Whether the processes can take more work; not in a forked child, whose jobs and batches would get among those of its parent."""
        return self._stop.alive and self._parent == os.getpid()

    def close(self) -> None:
        """End the processes."""
        self._stop()


def _stop(parent: int, processes: list[BaseProcess], pipes_: list[pipes.Connection]) -> None:
    """End worker processes: closed pipes end the idle ones, signals the others. In a forked child of the parent, do nothing."""
    # a forked child inherits the finalizer, but the workers are not its own
    if os.getpid() != parent:
        return
    for pipe in pipes_:
        pipe.close()
    for process in processes:
        process.terminate()
    deadline = monotonic() + GRACE
    for process in processes:
        process.join(max(deadline - monotonic(), 0))
        if process.exitcode is None:
            process.kill()
            process.join()


# ------------------------------------------------------------------------------------------------------------ in the worker


def _work(
    pipe: pipes.Connection, worker: int, places: Places, load: Callable[..., Loaded], worker_init: Callable[[int], object] | None
) -> None:
    """Load batches until the parent closes the pipe or is gone."""
    # the program's default may be a GPU, which no forked process can use
    set_default_device(CPU)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles the interrupt: it ends its workers
    # a handler that the program has installed must not keep a worker from ending
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    failure = None
    try:
        if worker_init is not None:
            worker_init(worker)
    except BaseException as error:
        failure = _told(error, f"in worker_init of worker {worker}")
    with contextlib.suppress(EOFError, BrokenPipeError):
        for number, indices, seed, numpy in _jobs_of(pipe):
            # an error of worker_init is the answer to every job
            result = (number, False, failure) if failure else _loaded(number, indices, seed, numpy, worker, places, load)
            try:
                message = pickled(result)
            except Exception as error:
                message = pickled((number, False, _not_passed(error, "pickled", f"in worker {worker} with the samples {indices}")))
            send_pickled(pipe, *message)


def _not_passed(error: Exception, how: str, where: str) -> EngineError:
    """The error for a batch that cannot be pickled, or not unpickled. It holds the traceback as text: frames would hold the memory."""
    what = f"DataLoader: a batch cannot be passed from its worker process, because it cannot be {how}, {where}"
    todo = "return arrays, numbers, texts or containers of them from the dataset and batchify_fn, or pass thread_pool=True"
    found = EngineError(what, f"{type(error).__name__}: {error}", todo)
    found.add_note(told(error))
    return found


def _jobs_of(pipe: pipes.Connection) -> Iterator[Job]:
    parent = os.getppid()
    while True:
        # workers that were forked later hold the parent's end of this pipe too, so its closing need not be seen here: look at the parent
        while not pipe.poll(HEARTBEAT):
            if os.getppid() != parent:
                return
        yield unpickled(received_from(pipe))


def _loaded(
    number: int, indices: list[object], seed: Sequence[int], numpy: bool, worker: int, places: Places, load: Callable[..., Loaded]
) -> tuple[int, bool, object]:
    """Load a batch: its number, whether that went well, and the batch or the error."""
    # first of all: an early error must not name a sample of the previous batch
    places[worker] = 0
    try:
        _seed(seed)
        with np_array(numpy):
            return number, True, load(indices, began=partial(places.__setitem__, worker))
    except BaseException as error:
        return number, False, _told(error, f"in worker {worker} {what_was_loaded(indices, places[worker])}")


def _seed(seed: Sequence[int]) -> None:
    """Make random numbers depend on the batch, not on the worker that happens to load it."""
    # one number that depends on all of the seed's
    state = int(np.random.SeedSequence(list(seed)).generate_state(1)[0])
    random.seed(state)
    np.random.seed(state)  # noqa: NPY002  (the global generator, which transformations use)
    arrays_random.seed(state & 0x7FFFFFFF)


def _told(error: BaseException, where: str) -> BaseException:
    """An error for the parent, with the traceback as a note; an `EngineError` for one that cannot be pickled, and for SystemExit."""
    note = f"{where}:\n{told(error)}"
    try:
        if not isinstance(error, Exception):
            raise TypeError("it would end the parent without a message")
        # some exceptions can be pickled but not restored: that is found here, not in the parent
        copy = pickle.loads(pickle.dumps(error))
        copy.add_note(note)
        pickle.dumps(copy)
    except Exception:
        reason = f": {error}" if str(error) else ""
        copy = EngineError(f"DataLoader: {type(error).__name__} {where}{reason}")
        copy.add_note(note)
    return copy
