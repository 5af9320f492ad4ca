"""The queue alone: random tasks over variables give the results of running them in sequence, whatever the schedule."""

import contextlib
import os
import random
import threading
import time

import pytest

from twofold.config import SETTINGS
from twofold.errors import EngineError
from twofold.imperative import forks  # noqa: F401  registers its handlers
from twofold.scheduler.queue import QUEUE, Queue, seeded_schedule
from twofold.scheduler.variable import Lane, Task, Var

from tests.core.signals import interrupted_at
from tests.core.test_other_threads import after_calls

LANES = [Lane("cpu", "compute"), Lane("cpu", "copy"), Lane("disk", "io")]


class Memory:
    """Lists of numbers, each guarded by a variable; a read or write at the wrong time is detected."""

    def __init__(self, count: int) -> None:
        self.vars = [Var() for _ in range(count)]
        self.content = [[k] for k in range(count)]

    def task(self, reads: list[int], writes: list[int], number: int, pause: float):
        def run() -> None:
            seen = sum(sum(self.content[k]) for k in reads)
            if pause:
                time.sleep(pause)
            assert seen == sum(sum(self.content[k]) for k in reads), "written while it was read"
            for k in writes:
                self.content[k] = [*self.content[k][-3:], (seen * 31 + number) % 1009]

        return run


def random_tasks(seed: int, count: int, variables: int):
    rng = random.Random(seed)
    for number in range(count):
        reads = rng.sample(range(variables), rng.randint(0, 3))
        writes = rng.sample(range(variables), rng.randint(0, 2))
        yield reads, writes, number, rng.choice([0, 0, 0, 1e-4]), rng.choice([1.0, float("inf")]), rng.choice(LANES), rng.randint(-1, 1)


def result_of(seed: int, queue: Queue | None, count: int = 80, waits: bool = True) -> list[list[int]]:
    memory = Memory(6)
    rng = random.Random(seed + 1)
    for reads, writes, number, pause, nanoseconds, lane, priority in random_tasks(seed, count, 6):
        run = memory.task(reads, writes, number, pause)
        if queue is None:
            run()
            continue
        task = queue.push(
            run, [memory.vars[k] for k in reads], [memory.vars[k] for k in writes], lane, priority=priority, nanoseconds=nanoseconds
        )
        if waits and rng.random() < 0.1:
            queue.wait(task)
            assert task.is_done
    if queue is not None:
        assert queue.drain() == []
    return memory.content


@pytest.fixture
def queue():
    made = Queue()
    yield made
    made.pause()


@pytest.mark.parametrize("seed", range(25))
def test_threads_give_the_results_of_sequential_runs(queue: Queue, seed: int):
    assert result_of(seed, queue) == result_of(seed, None)


@pytest.mark.parametrize("seed", range(25))
def test_every_seeded_schedule_gives_the_results_of_sequential_runs(seed: int):
    with seeded_schedule(seed):
        assert result_of(seed, QUEUE, waits=seed % 2 == 0) == result_of(seed, None)


def test_a_seed_fixes_the_schedule_and_seeds_differ():
    def order(seed: int) -> list[int]:
        done: list[int] = []
        with seeded_schedule(seed):
            for k in range(12):
                QUEUE.push(lambda k=k: done.append(k))
        return done

    assert order(3) == order(3)
    assert len({tuple(order(seed)) for seed in range(5)}) > 1


def test_lanes_run_concurrently(queue: Queue):
    meeting = threading.Barrier(2, timeout=10)
    for lane in LANES[:2]:
        queue.push(meeting.wait, lane=lane)  # each needs the other to run at the same time
    assert queue.drain() == []


def test_a_waiting_thread_runs_tasks_nobody_has_started(queue: Queue):
    hold, ran = threading.Event(), []
    queue.push(lambda: (hold.wait(10), None)[1], lane=LANES[0])
    var = Var()
    queue.push(lambda: ran.append(threading.get_ident()), writes=[var], lane=LANES[0])
    last = queue.push(lambda: ran.append(threading.get_ident()), reads=[var], lane=LANES[0])
    queue.wait(last)
    assert ran == [threading.get_ident()] * 2, "the lane's thread is still held up by its first task"
    hold.set()


def test_priorities_order_a_lane(queue: Queue):
    hold, begun, order, end = threading.Event(), threading.Event(), [], threading.Event()
    queue.push(lambda: (begun.set(), hold.wait(10), None)[2], lane=LANES[0])
    begun.wait(10)
    for priority in (0, 5, -5, 9):
        queue.push(lambda p=priority: order.append(p), lane=LANES[0], priority=priority)
    queue.push(end.set, lane=LANES[0], priority=-9)
    hold.set()
    assert end.wait(10), "nobody but the lane's thread runs them"
    assert order == [9, 5, 0, -5]


def test_an_error_reaches_all_readers_and_nothing_else(queue: Queue):
    a, b, c = Var(), Var(), Var()
    ran = []
    queue.push(lambda: 1 / 0, writes=[a])
    queue.push(lambda: ran.append("b"), reads=[a], writes=[b])
    queue.push(lambda: ran.append("c"), writes=[c])
    for var in (a, b):
        with pytest.raises(ZeroDivisionError):
            queue.wait_to_read(var)
    queue.push(lambda: ran.append("late"), reads=[a])
    queue.wait_to_read(c)
    assert ran == ["c"]
    assert [type(error) for _, error in queue.drain()] == [ZeroDivisionError]
    assert queue.drain() == [], "once"
    queue.push(lambda: ran.append("a"), writes=[a])
    queue.wait_to_write(a)
    assert ran == ["c", "a"], "after another write it is valid again"


def test_waiting_for_a_later_task_is_an_error_not_a_deadlock(queue: Queue):
    var, later, errors = Var(), [], []
    ready = threading.Event()

    def first() -> None:
        ready.wait(10)
        try:
            queue.wait(later[0])
        except EngineError as error:
            errors.append(error)

    queue.push(first, writes=[var])
    later.append(queue.push(lambda: None, reads=[var]))
    ready.set()
    queue.settle()
    assert len(errors) == 1


def test_limits_on_operations_and_bytes_block_the_submitting_thread(queue: Queue, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SETTINGS, "lane_operations", 4)
    gate = threading.Event()
    queue.push(lambda: (gate.wait(10), None)[1], lane=LANES[0])
    most = []
    for _ in range(3):
        queue.push(lambda: None, lane=LANES[0])
    assert len(queue._open) == 4
    threading.Timer(0.05, gate.set).start()
    for _ in range(20):  # the first of these waits until the gate opens
        queue.push(lambda: most.append(len(queue._open)), lane=LANES[0])
        assert len(queue._open) <= 4
    queue.settle()
    monkeypatch.setattr(SETTINGS, "lane_operations", 256)
    monkeypatch.setattr(SETTINGS, "lane_bytes", 100)
    for _ in range(10):
        queue.push(lambda: None, lane=LANES[0], nbytes=60)
        assert queue._nbytes <= 120
    queue.settle()
    assert queue._nbytes == 0


def test_several_threads_push_and_wait(queue: Queue):
    counts, variables = [0, 0], [Var(), Var()]

    def add(k: int) -> None:
        counts[k] += 1  # not atomic: two at once would lose one

    def user(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(200):
            k = rng.randint(0, 1)
            task = queue.push(lambda k=k: add(k), writes=[variables[k]], lane=rng.choice(LANES), nanoseconds=rng.choice([1.0, 1e9]))
            if rng.random() < 0.2:
                queue.wait(task)

    users = [threading.Thread(target=user, args=(s,)) for s in range(4)]
    for u in users:
        u.start()
    for u in users:
        u.join(30)
    assert queue.drain() == []
    assert sum(counts) == 800


def test_a_task_can_push_tasks(queue: Queue):
    done = []
    queue.push(lambda: queue.push(lambda: done.append(1), lane=LANES[1]) and None, lane=LANES[0])
    queue.settle()
    queue.settle()
    assert done == [1]


def test_naive_mode_runs_a_task_where_it_is_pushed(queue: Queue, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    assert queue.push(lambda: None, lane=LANES[0]).is_done
    assert not queue._workers


def test_an_interrupt_of_a_waiting_thread_is_raised_and_reaches_readers(queue: Queue):
    var = Var()

    def interrupted() -> None:
        raise KeyboardInterrupt

    with seeded_schedule(0):
        QUEUE.push(interrupted, writes=[var])
        with pytest.raises(KeyboardInterrupt):
            QUEUE.settle()
        with pytest.raises(EngineError, match="interrupted"):
            QUEUE.wait_to_read(var)
        QUEUE.drain()


def test_an_interrupt_of_a_submitting_thread_leaves_a_failed_task(queue: Queue, monkeypatch: pytest.MonkeyPatch):
    task = Task(lambda: None, LANES[0])

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(queue, "_make_room", interrupted)
    with pytest.raises(KeyboardInterrupt):
        queue.submit(task)
    queue.wait(task)
    assert isinstance(task.error, EngineError)


def test_a_task_that_raises_systemexit_does_not_end_the_lane(queue: Queue):
    done = threading.Event()

    def leave() -> None:
        raise SystemExit

    bad = queue.push(leave, lane=LANES[0])
    queue.push(done.set, lane=LANES[0])
    assert done.wait(10), "nobody but the lane's thread runs it"
    assert isinstance(bad.error, EngineError)


def test_a_signal_handler_can_push_at_any_point(queue: Queue):
    with queue._lock:  # points at which a handler may interrupt its own thread
        task = queue.push(lambda: None, nanoseconds=1.0)
    assert task.is_done


def test_a_stopped_lane_restarts_while_others_push(queue: Queue):
    done = []
    stop = threading.Event()

    def user() -> None:
        while not stop.is_set():
            queue.push(lambda: done.append(1), lane=LANES[0])

    pushing = threading.Thread(target=user)
    pushing.start()
    for _ in range(30):
        queue.pause()
    stop.set()
    pushing.join(10)
    before = len(done)
    queue.push(lambda: done.append(1), lane=LANES[0])
    queue.settle()
    assert len(done) > before


def test_long_chains_do_not_recurse(queue: Queue):
    var, count = Var(), []
    with seeded_schedule(1):
        SETTINGS.lane_operations, was = 100_000, SETTINGS.lane_operations
        try:
            for _ in range(5_000):
                last = QUEUE.push(lambda: count.append(1), writes=[var], nanoseconds=1.0)
            QUEUE.schedule = None
            QUEUE.wait(last)
        finally:
            SETTINGS.lane_operations = was
    assert len(count) == 5_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_all_tasks_and_the_child_runs_them_inline(queue: Queue):
    for _ in range(3):
        QUEUE.push(lambda: time.sleep(0.05), lane=LANES[0])
    pid = os.fork()  # forks are prepared for by imperative/forks.py
    if pid == 0:
        left = list(QUEUE._open)
        task = QUEUE.push(lambda: None, lane=LANES[0])
        os._exit(0 if task.is_done and not QUEUE._workers and not left else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    done = threading.Event()
    QUEUE.push(done.set, lane=LANES[0])
    assert done.wait(10), "the parent's threads start again"


@pytest.mark.parametrize("waits_for", ["the task", "one after it"])
@pytest.mark.parametrize("function", [Queue._finish, Queue._open_gates, Queue._perform, Queue._run])
def test_a_thread_does_not_wait_for_ever_for_a_task_whose_thread_is_interrupted(function, waits_for):
    code, reached = function.__code__, 0
    for offset in after_calls(code):
        queue, var, waiting = Queue(), Var(), threading.Event()
        queue.runs_here = True  # there is no other thread that could come to the rescue

        def work(queue=queue, waiting=waiting):
            waiting.set()
            end = time.monotonic() + 2
            while not queue._gates and time.monotonic() < end:
                time.sleep(1e-4)

        first = Task(work, LANES[0])
        queue.runs_here = False
        queue.schedule = lambda ready: ready[0]  # nothing runs before it is waited for
        queue.submit(first, [], [var])
        last = queue.push(lambda: None, [var], [], LANES[0])

        def wait(queue=queue, waiting=waiting, task=first if waits_for == "the task" else last):
            waiting.wait(2)
            queue.wait(task)

        other = threading.Thread(target=wait, daemon=True)
        other.start()
        reached += interrupted_at(lambda queue=queue, first=first: queue.wait(first), code, offset)
        threading.Thread.join(other, 5)
        assert not other.is_alive(), offset
        settling = threading.Thread(target=queue.settle, daemon=True)
        settling.start()
        settling.join(5)
        assert not settling.is_alive(), offset
        assert first.is_done
        assert last.is_done
        assert not queue._open
    assert reached > 1


def test_a_task_whose_submission_is_interrupted_is_not_waited_for():
    reached = 0
    for offset in after_calls(Queue.submit.__code__):
        queue, variables, first = Queue(), [Var(), Var()], threading.Event()
        queue.push(first.wait, [], [variables[0]], LANES[1])
        second = Task(lambda: None, LANES[0])
        is_interrupted = interrupted_at(
            lambda queue=queue, second=second, v=variables: queue.submit(second, [v[0]], v), Queue.submit.__code__, offset
        )
        reached += is_interrupted
        first.set()
        done = []

        def read(queue=queue, done=done, v=variables):
            for var in v:
                with contextlib.suppress(EngineError):
                    queue.wait_to_read(var)
            queue.settle()
            done.append(queue._nbytes)

        other = threading.Thread(target=read, daemon=True)
        other.start()
        other.join(5)
        assert done == [0], offset
        queue.pause()
    assert reached > 3


def test_code_that_interrupts_a_thread_with_a_lock_does_not_wait_for_a_task_that_needs_the_lock():
    # as a finalizer does that the garbage collector calls there
    queue, lock, started = Queue(), threading.RLock(), threading.Event()
    queue.holds_lock = lock._is_owned

    def work():
        started.set()
        with lock:
            pass

    with lock:
        task = queue.push(work)
        assert started.wait(10)
        with pytest.raises(EngineError, match="an array is read while it is being computed"):
            queue.wait(task)
    queue.wait(task)
    assert task.error is None


def test_code_that_interrupts_the_queue_itself_does_not_wait_for_a_task_that_ends_there():
    # as a signal handler does that reads an array while the queue's lock is held further down this thread's stack
    queue, started, ends = Queue(), threading.Event(), threading.Event()

    def work():
        started.set()
        ends.wait(10)

    task = queue.push(work)
    assert started.wait(10)
    with queue._lock, pytest.raises(EngineError, match="an array is read while it is being computed"):
        queue.wait(task)
    ends.set()
    queue.wait(task)
    assert task.error is None


def test_threads_that_are_interrupted_by_code_that_reads_of_each_other_do_not_wait_forever():
    queue, tasks = Queue(), {}
    both = threading.Barrier(2)

    def work(other):
        both.wait(10)
        queue.wait(tasks[other])

    with queue._lock:  # both exist before one starts
        for lane, other in zip(LANES[:2], LANES[1::-1], strict=True):
            tasks[lane] = queue.push(lambda other=other: work(other), lane=lane)
    for lane in LANES[:2]:
        queue.wait(tasks[lane])
    failed, done = sorted((task.error for task in tasks.values()), key=lambda error: error is None)
    assert "an array is read while it is being computed" in str(failed)
    assert done is None
