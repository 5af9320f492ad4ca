"""The queue: a task runs once everything it reads has been written and nothing uses what it writes; lanes run concurrently.

It cannot deadlock: a task depends only on tasks submitted before it, and a waiting thread runs the task, or a dependency, unless
another thread has started it.
"""

import atexit
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from traceback import clear_frames

from ..config import SETTINGS
from ..errors import EngineError
from .lane import Worker
from .variable import Lane, Task, Var

#: The greatest number of failed tasks kept for `drain`.
MOST_FAILURES = 100


def being_computed() -> EngineError:
    """The error of a signal handler or finalizer that reads what cannot be computed before it returns."""
    return EngineError("an array is read while it is being computed", "a signal handler or finalizer of this thread", "read it later")


class Queue:
    """The unfinished tasks, and the threads that run them.

    Attributes
    ----------
    runs_here
        Whether every task runs in the thread that submits it: in forked children, and at exit.
    schedule
        Chooses among the ready tasks under a seeded schedule, in which only waiting threads run tasks, not lanes.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # reentrant: a signal handler or finalizer may interrupt the thread that holds it
        #: The unfinished tasks in the order of their submission: a dictionary, since a task ends anywhere in the order.
        self._open: dict[Task, None] = {}
        #: Bytes that the unfinished tasks hold.
        self._nbytes = 0
        self._workers: dict[Lane, Worker] = {}
        #: A lock for each waiting thread, which blocks on acquiring it a second time; releasing it wakes the thread.
        self._gates: list[threading.Lock] = []
        #: What each thread that is blocked waits for.
        self._blocked: dict[int, Task] = {}
        #: Whether this thread holds a lock that tasks of other threads may need. Then it must not wait for them.
        self.holds_lock: Callable[[], bool] = lambda: False
        #: Tasks whose errors `drain` is still to report.
        self._failed: list[Task] = []
        self.runs_here = False
        self.schedule: Callable[[Sequence[Task]], Task] | None = None

    # submitting

    def push(
        self,
        function: Callable[[], None],
        reads: Iterable[Var] = (),
        writes: Iterable[Var] = (),
        lane: Lane = Lane("host"),  # noqa: B008  a constant
        *,
        priority: int = 0,
        nanoseconds: float = float("inf"),
        nbytes: int = 0,
    ) -> Task:
        """Run a function once the variables that it reads have been written and those that it writes are free.

        Parameters
        ----------
        function, lane, priority, nanoseconds, nbytes
            As for `Task`.
        reads, writes
            The variables.

        Returns
        -------
        Task
            What `wait` waits for.
        """
        task = Task(function, lane, priority=priority, nanoseconds=nanoseconds, nbytes=nbytes)
        self.submit(task, reads, writes)
        return task

    def submit(self, task: Task, reads: Iterable[Var] = (), writes: Iterable[Var] = ()) -> None:
        """`push` for an existing task, which other threads may already wait for."""
        try:
            self._make_room(task.nbytes)
            with self._lock:
                for var in reads:
                    var.read_by(task)
                for var in writes:
                    var.written_by(task)
                task.before.discard(task)  # a variable that the task both reads and writes would make it its own predecessor
                for earlier in task.before:
                    earlier.after.append(task)
                self._open[task] = None
                self._nbytes += task.nbytes
                is_ready = not task.before
                self._open_gates()
                task.is_submitted = True
        except BaseException:
            # the variables may name the task already: whoever waits for it must not wait for ever
            if not task.is_submitted:
                self.abandon(task, EngineError("this was pending when the program was interrupted", None, "compute it again"))
            raise
        if is_ready:
            self._start([task])

    def abandon(self, task: Task, error: BaseException) -> None:
        """Fail a task that will never run: threads waiting for it wake up and find the error."""
        self._finish(task, error, True)

    def give_up(self, task: Task, error: BaseException) -> bool:
        """Fail a task that an interrupt has ended between the lines of this thread that start it; False if it is done, or another's."""
        is_unfinished = task.runner == get_ident() and not task.is_done
        if is_unfinished:
            self.abandon(task, interrupted(error))
        return is_unfinished

    def has_room(self, count: int, nbytes: int) -> bool:
        """Whether ``count`` tasks that hold ``nbytes`` together could be submitted now without waiting."""
        return len(self._open) + count <= SETTINGS.lane_operations and self._nbytes + nbytes <= SETTINGS.lane_bytes

    def _make_room(self, nbytes: int) -> None:
        """Back-pressure: at the limit, the submitting thread first waits for the oldest task."""
        while len(self._open) >= SETTINGS.lane_operations or (self._open and self._nbytes + nbytes > SETTINGS.lane_bytes):
            with self._lock:
                oldest = next(iter(self._open), None)
            if oldest is None or oldest.runner == get_ident():  # the oldest is the task that is submitting this one
                return
            self.wait(oldest)

    # running

    def _start(self, ready: list[Task]) -> None:
        """Run short tasks, and the short tasks that these make ready, in this thread; hand the others to their lanes."""
        here = ready
        while here:
            task, *here = here
            if self.runs_here or SETTINGS.engine == "naive" or (task.is_short and self.schedule is None):
                here += self._run(task)
            elif self.schedule is None:
                self._worker(task.lane).put(task)

    def _worker(self, lane: Lane) -> Worker:
        found = self._workers.get(lane)
        return found or self._workers.setdefault(lane, Worker(f"twofold {lane}", self._serve))

    def _serve(self, task: Task) -> None:
        self._start(self._run(task))

    def _run(self, task: Task) -> list[Task]:
        """Run a task unless another thread has started it; return the tasks that this makes ready."""
        is_new = not task.runner
        try:
            with self._lock:
                if task.runner or task.is_done:
                    return []
                task.runner = get_ident()
            return self._perform(task)
        except BaseException as error:
            if is_new:
                self.give_up(task, error)
            raise

    def run_here(self, task: Task) -> None:
        """Run a task that was never submitted and whose ``runner`` is already this thread. Other threads `wait` for it as for any task."""
        ready = self._perform(task)
        if ready:
            self._start(ready)

    def _perform(self, task: Task) -> list[Task]:
        # a value that it reads was never computed: it fails with the same error, and does not run
        error = next((t.error for t in task.sources if t.error is not None), None) if task.sources else None
        inherited = error is not None
        interrupt: BaseException | None = None
        if error is None:
            assert task.function is not None
            try:
                task.function()
            except FromSignal as raised:
                interrupt = raised.error
                clear_all_frames(interrupt)
            except Exception as raised:
                error = raised
                clear_all_frames(raised)
            except BaseException as raised:  # Ctrl-C in a waiting thread: the task is lost, its dependents fail
                interrupt = raised
                error = interrupted(raised)
        ready = self._finish(task, error, inherited)
        if interrupt is not None:
            self._start(ready)
            raise interrupt
        return ready

    def _finish(self, task: Task, error: BaseException | None, inherited: bool) -> list[Task]:
        with self._lock:
            task.error = error
            task.function = None  # it holds the operands, whose memory is free from now on
            if task in self._open:
                del self._open[task]
                self._nbytes -= task.nbytes
            if error is not None and not inherited and task.reports and len(self._failed) < MOST_FAILURES:
                self._failed.append(task)
            ready = []
            # the last predecessor to finish makes a task ready
            for later in task.after:
                later.before.discard(task)
                if not later.before:
                    ready.append(later)
            task.sources.clear()  # reused, since a new list costs more: windows are tasks too, and most have neither
            task.after.clear()
            if self._gates:
                self._open_gates()
            # last: a task that an interrupt keeps from coming here is finished once more, by `give_up`
            task.is_done = True
        return sorted(ready) if ready else ready

    # waiting

    def _open_gates(self) -> None:
        """Wake all waiting threads to look again; called with the lock held.

        Every finished or submitted task wakes every waiting thread, for any of them may now have something to run.
        """
        for gate in self._gates:
            if gate.locked():  # not if an interrupt has ended this loop before
                gate.release()
        self._gates.clear()

    def wait(self, task: Task) -> None:
        """Wait until a task is done, running it, or a dependency, in this thread unless another has started it.

        Raises
        ------
        EngineError
            If the task cannot run before the task that this thread is running now, or if it may need what this thread holds, as may be
            where a signal handler or a finalizer has interrupted the thread.
        """
        me = get_ident()
        outer = self._blocked.get(me)  # a signal handler may have interrupted the wait below
        try:
            while not task.is_done:
                gate, is_inside = None, self._lock._is_owned()  # type: ignore[attr-defined]  # interrupted while it held the lock
                with self._lock:
                    found = self._runnable(task)
                    if found is None and not task.is_done:
                        if is_inside or self.holds_lock():
                            raise being_computed()
                        # made under the lock: a task that finishes after this look opens the gate, so no wake-up is lost
                        gate = threading.Lock()
                        gate.acquire()
                        self._gates.append(gate)
                        self._blocked[me] = task
                if found is not None:
                    self._start(self._run(found))
                elif gate is not None:
                    gate.acquire()
                    self._blocked.pop(me, None)
        finally:
            if outer is not None:
                self._blocked[me] = outer
            else:
                self._blocked.pop(me, None)

    def _runnable(self, target: Task) -> Task | None:
        """A ready task that no thread has started: the target or one of its dependencies; None if other threads are running all of them."""
        if self.schedule is not None:
            ready = [t for t in list(self._open) if not t.before and not t.runner]
            if ready:
                return self.schedule(ready)
        # Of all dependencies that could run, the most urgent: a waiting thread works towards its target instead of sleeping. It may find
        # none although the target is not done; then other threads are running all that could run.
        seen, stack, me = {target}, [target], get_ident()
        found = None
        is_own = True  # no other thread waits in between
        while stack:
            task = stack.pop()
            # this thread runs that task further down its stack: it cannot go on before this call returns
            if task.runner == me and not task.is_done:
                if is_own:
                    raise EngineError("a task waits for one submitted after it", task, "wait only for tasks submitted before it")
                raise being_computed()
            if task.is_submitted and not task.before and not task.runner and not task.is_done and (found is None or task < found):
                found = task
            new = task.before - seen
            # its thread may have been interrupted by code that waits for another task
            further = None if task.is_done else self._blocked.get(task.runner)
            if further is not None and further not in seen:
                new, is_own = new | {further}, False
            seen |= new
            stack.extend(new)
        return found

    def wait_to_read(self, var: Var) -> None:
        """Wait until the last task that writes a variable is done.

        Raises
        ------
        BaseException
            The error of that task.
        """
        writer = var.writer
        if writer is not None:
            self.wait(writer)
            if writer.error is not None:
                raise writer.error.with_traceback(None)

    def wait_to_write(self, var: Var) -> None:
        """Wait until nothing reads or writes a variable.

        Raises
        ------
        BaseException
            The error of the last task that writes it.
        """
        for task in list(var.readers):
            self.wait(task)
        self.wait_to_read(var)

    def settle(self) -> None:
        """Wait for all submitted tasks; errors are kept for `drain`."""
        while True:
            with self._lock:
                # not a task that this thread is inside of, which would wait for itself
                oldest = next((t for t in list(self._open) if t.runner != get_ident()), None)
            if oldest is None:
                return
            self.wait(oldest)

    def drain(self) -> list[tuple[int, BaseException]]:
        """Wait for all submitted tasks; return the errors since the last `drain` with the serial numbers of their tasks, in order."""
        self.settle()
        with self._lock:
            failed, self._failed = self._failed, []
        return sorted([(t.serial, t.error) for t in failed if t.error is not None], key=lambda pair: pair[0])

    # forks and the end

    def pause(self) -> None:
        """Wait for all tasks and stop the threads, which the next task restarts: before a fork, and at exit."""
        self.settle()
        for worker in list(self._workers.values()):
            worker.stop()

    def close(self) -> None:
        """At exit: run the remaining tasks in this thread, since no more threads can be started."""
        self.runs_here = True
        self.pause()

    def hold(self) -> None:
        """Keep other threads from submitting, starting or finishing a task until `let_go`, while the process forks."""
        self._lock.acquire()

    def let_go(self) -> None:
        """Undo `hold`."""
        self._lock.release()

    def in_child(self) -> None:
        """In a forked child, where the parent's threads do not exist: tasks run in the thread that submits them."""
        self._lock = threading.RLock()
        self._workers, self._gates, self._blocked = {}, [], {}
        self.runs_here = True
        for task in [t for t in self._open if t.runner not in (0, get_ident())]:
            self.abandon(task, EngineError("another thread was computing this when the process forked", None, "compute it again"))


class FromSignal(BaseException):
    """Raised by a task whose results are there, but meanwhile a signal handler has raised an error, which is for the waiting program.

    Parameters
    ----------
    error
        The error.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def interrupted(by: BaseException) -> EngineError:
    """The error of a task that an interrupt ended, losing its results."""
    return EngineError("this was being computed when the program was interrupted", type(by).__name__, "compute it again")


def clear_all_frames(error: BaseException) -> None:
    """Clear the local variables of an error's frames and of those of its causes; tracebacks keep their lines."""
    found: BaseException | None = error
    while found is not None:
        clear_frames(found.__traceback__)
        found = found.__cause__ or found.__context__


QUEUE = Queue()
atexit.register(QUEUE.close)


@contextmanager
def seeded_schedule(seed: int) -> Iterator[None]:
    """Within the block no lane runs tasks: a waiting thread runs those that are ready, one at a time, in an order that the seed determines.

    Tasks submitted before the block are finished before it begins, and those submitted in it before it ends. Every order that the
    dependencies allow is possible; results must not depend on it.

    Parameters
    ----------
    seed
        Seeds the choices.
    """
    QUEUE.settle()
    # after the settling above: a task submitted earlier belongs to no seeded order
    QUEUE.schedule = random.Random(seed).choice
    try:
        yield
    finally:
        try:
            QUEUE.settle()
        finally:
            QUEUE.schedule = None
