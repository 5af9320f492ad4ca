"""Programs that are interrupted, forked, short of memory, or run by eight threads: the documented error, and the next step works."""

from __future__ import annotations

import collections
import inspect
import os
import random
import resource
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.config import SETTINGS
from twofold.errors import DeviceOutOfMemory, EngineError

from tests.campaign.trials import Ended, Trial, described
from tests.core import interrupts
from tests.core.interrupted_paths import PATHS
from tests.core.random_programs import run

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [*PATHS]
#: Those that both processes of a fork can go on with: the others write into a folder, which the first to end removes.
FORKED_NAMES = [name for name, path in PATHS.items() if "TemporaryDirectory" not in inspect.getsource(path)]
#: Seconds after which a forked process counts as one that hangs.
FORKED = 60
#: What Python and NumPy raise if there is no memory for a lock, if they lose the exception, and if there is none to look up a method.
PYTHONS_OWN = ("can't allocate lock", "without exception set", "without setting an exception", "not PosixPath")
#: Exit statuses of forked processes: the documented error and then a right result, an error, no error.
STATUSES = {0: "right", 1: "undocumented error", 2: "documented error", -signal.SIGALRM: "hangs"}


def _warmed(name: str) -> None:
    for action in PATHS[name](next(interrupts.sizes)):
        action()


def interrupted_lines(_: Path) -> Trial:
    """Trials that interrupt a call at one of its lines: seeds go through the calls, their lines and both errors."""
    lines: dict[str, list[interrupts.Line]] = {}

    def trial(seed: int) -> Ended:
        name, number = NAMES[seed % len(NAMES)], seed // len(NAMES)
        if name not in lines:
            _warmed(name)
            running = PATHS[name](next(interrupts.sizes))
            lines[name] = interrupts.lines_of(next(running))
            collections.deque(running, maxlen=0)
        if number // 2 >= len(lines[name]):
            return Ended("none left")
        line, error = lines[name][number // 2], (KeyboardInterrupt, MemoryError)[number % 2]
        totals = collections.Counter[str]()
        failed = interrupts.trial(name, line, error, totals)
        note = f"{name}: {error.__name__} at {line[0].removeprefix(interrupts.PACKAGE)}:{line[1]}: {failed}"
        return Ended("cannot go on", note) if failed else Ended(*totals)

    return trial


def _child(action: Callable[[], int]) -> int:
    """The status of a forked process that runs an action; it is ended after a while."""
    child = os.fork()
    if not child:
        signal.alarm(FORKED)
        status = 1
        try:
            status = action()
        except BaseException as error:
            print(described(error), file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _of_status(status: int, note: str) -> Ended:
    return Ended(STATUSES.get(status, "crash"), f"{note}, status {status}" if status not in (0, 2) else "")


def forks(_: Path) -> Trial:
    """Trials that fork a program at one of its lines, beside a thread that computes; both processes go on to the right end."""
    stop = threading.Event()
    threading.Thread(target=_work, args=(stop,), daemon=True).start()
    warm: set[str] = set()

    def trial(seed: int) -> Ended:
        draw = random.Random(seed)
        name = draw.choice(FORKED_NAMES)
        if name not in warm:
            _warmed(name)
            warm.add(name)
        running, at = PATHS[name](next(interrupts.sizes)), draw.choice([draw.randrange(40), draw.randrange(800)])
        action, parent, children = next(running), os.getpid(), list[int]()
        left = [at]

        def local(frame: Any, event: str, _: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                child = os.fork()
                if child:
                    children.append(child)
                else:
                    signal.alarm(FORKED)
            return local

        try:
            with interrupts.tracing(local):
                action()
            collections.deque(running, maxlen=0)
        except BaseException as error:
            if os.getpid() != parent:
                print(described(error), file=sys.stderr, flush=True)
                os._exit(2 if isinstance(error, EngineError) else 1)  # a thread of the parent was at work
            raise
        if os.getpid() != parent:
            os._exit(0)
        if not children:
            return Ended("none left")
        return _of_status(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]), f"{name}, fork at line {at}")

    return trial


def _work(stop: threading.Event) -> None:
    while not stop.is_set():
        (nd.ones(100) * 2 + 1).asnumpy()
        stop.wait(0.001)


def full_memory(_: Path) -> Trial:
    """Trials in which the address space is limited: large arrays no longer fit at some step."""
    _large_steps(random.Random(0))

    def trial(seed: int) -> Ended:
        draw = random.Random(seed)
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        room = draw.randrange(1 << 20, 200 << 20)

        def limited() -> int:
            resource.setrlimit(resource.RLIMIT_AS, (now + room, resource.RLIM_INFINITY))
            status = 0
            try:
                _large_steps(draw)
            except DeviceOutOfMemory:
                status = 2
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            _large_steps(random.Random(1))
            return status

        return _of_status(_child(limited), f"{room >> 20} MB")

    return trial


def _large_steps(draw: random.Random) -> None:
    """Steps on arrays of some megabytes, with a known result."""
    n = draw.choice([300_000, 1_000_000, 3_000_000])
    x = nd.ones((n,))
    x.attach_grad()
    with autograd.record(), mx.name.NameManager():
        y = x * 2
        for _ in range(draw.randint(1, 5)):
            match draw.randrange(5):
                case 0:
                    y = y + 0
                case 1:
                    y = nd.concat(y[: n // 2], y[n // 2 :], dim=0)
                case 2:
                    y = nd.broadcast_mul(y.reshape((-1, 4)), nd.ones((1, 4))).reshape((-1,))
                case 3:
                    y = y.reshape((4, -1)).T.reshape((-1,)) * 1
                case 4:
                    y = nd.maximum(y, nd.zeros((n,)))
        loss = y.sum()
    loss.backward()
    assert loss.asscalar() == 2 * n
    assert float(x.grad.max().asscalar()) == float(x.grad.min().asscalar()) == 2


def _is_of_memory(error: BaseException | None) -> bool:
    """Whether an error says that memory is exhausted: it or a cause of it is a MemoryError, or what Python itself raises in its place."""
    while error is not None:
        if isinstance(error, MemoryError) or str(error).endswith(PYTHONS_OWN):
            return True
        error = error.__cause__ or error.__context__
    return False


def failing_allocations(_: Path) -> Trial:
    """Trials in which one of Python's allocations fails, wherever that is; the program then goes on."""
    import _testcapi

    warm: set[str] = set()

    def trial(seed: int) -> Ended:
        draw = random.Random(seed)
        name = draw.choice(NAMES)
        if name not in warm:
            _warmed(name)
            warm.add(name)
        at = draw.choice([draw.randrange(60), draw.randrange(2000), draw.randrange(20_000)])

        def limited() -> int:
            running = PATHS[name](next(interrupts.sizes))
            action, status = next(running), 0
            _testcapi.set_nomemory(at, at + 1)
            try:
                action()
            except Exception as error:
                if not _is_of_memory(error):
                    raise
                status = 2
            finally:
                _testcapi.remove_mem_hooks()
            collections.deque(running, maxlen=0)
            return status

        return _of_status(_child(limited), f"{name}, allocation {at}")

    return trial


# threads


class Threads:
    """Eight threads that share what documentation says may be shared."""

    COUNT = 8

    def __init__(self, _: Path) -> None:
        sys.setswitchinterval(1e-5)
        self.scenarios = [self.reads, self.writes, self.network, self.gradients, self.programs, self.loaders]

    def trial(self, seed: int) -> Ended:
        """Run a scenario, with arrays that wait or do not."""
        SETTINGS.defer_elements = 8 if seed % 2 else 65_536
        failed: list[str] = []
        start = threading.Barrier(self.COUNT)
        scenario = self.scenarios[seed // 2 % len(self.scenarios)]
        work, check = scenario(seed)

        def one(k: int) -> None:
            try:
                start.wait()
                work(k)
            except BaseException as error:
                failed.append(f"{scenario.__name__}: {described(error)}")

        threads = [threading.Thread(target=one, args=(k,), daemon=True) for k in range(self.COUNT)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(FORKED)
            if thread.is_alive():
                return Ended("hangs", scenario.__name__)
        if not failed:
            check()
        return Ended("wrong", failed[0]) if failed else Ended("right")

    def reads(self, seed: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """All read one array that waits, and compute with it."""
        x = nd.array(np.arange(100.0)) * 2 + 1
        return (lambda k: np.testing.assert_array_equal((x * k).asnumpy(), (np.arange(100.0, dtype="f") * 2 + 1) * k)), lambda: None

    def writes(self, seed: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """All write one array: the result is that of one of them, whole."""
        x = nd.zeros((100,))

        def work(k: int) -> None:
            for _ in range(5):
                x[:] = k + 1
                assert float(x.max().asscalar()) in range(1, self.COUNT + 1)

        def check() -> None:
            found = x.asnumpy()
            assert (found == found[0]).all()
            assert found[0] in range(1, self.COUNT + 1)

        return work, check

    def network(self, seed: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """All call one hybridized network, whose first call is among these."""
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(4, in_units=3), gluon.nn.Dense(2, in_units=4))
        net.initialize(mx.init.Constant(0.5))
        net.hybridize()

        def work(k: int) -> None:
            for step in range(3):
                found = net(nd.full((k + 1, 3), step)).asnumpy()
                np.testing.assert_allclose(found, np.full((k + 1, 2), step * 3), rtol=1e-6)

        return work, lambda: None

    def gradients(self, seed: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """Each records and differentiates with a weight that all share."""
        weight = nd.array([2.0, 3.0])

        def work(k: int) -> None:
            for _ in range(3):
                x = nd.full((2,), k)
                x.attach_grad()
                with autograd.record():
                    loss = (x * x * weight).sum()
                loss.backward()
                np.testing.assert_allclose(x.grad.asnumpy(), 2 * k * np.array([2.0, 3.0]))

        return work, lambda: None

    def programs(self, seed: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """Each runs a random program."""
        wanted = [run(seed + k, True) for k in range(self.COUNT)]

        def work(k: int) -> None:
            for got, want in zip(run(seed + k, True), wanted[k], strict=True):
                np.testing.assert_array_equal(got, want)

        return work, lambda: None

    def loaders(self, seed: int) -> tuple[Callable[[int], None], Callable[[], None]]:
        """Each goes through a loader of its own, over one data set, and one iterator of its own over shared arrays."""
        rows = np.arange(30, dtype="float32").reshape(10, 3)
        data = gluon.data.ArrayDataset(rows, np.arange(10))
        shared = nd.array(rows)

        def work(k: int) -> None:
            found = [batch[0].asnumpy() for batch in gluon.data.DataLoader(data, 3)]
            np.testing.assert_array_equal(np.concatenate(found), rows)
            found = [batch.data[0].asnumpy() for batch in mx.io.NDArrayIter(shared, batch_size=5)]
            np.testing.assert_array_equal(np.concatenate(found), rows)

        return work, lambda: None


def threads(folder: Path) -> Trial:
    """Trials of eight threads."""
    return Threads(folder).trial
