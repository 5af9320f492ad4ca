"""The worker processes of `DataLoader`: what they load, how they fail, and that nothing of them stays."""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import EngineError
from twofold.gluon.data import ArrayDataset, DataLoader, Dataset, SimpleDataset, processes

from tests.cases import later_in_ci

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(not processes.can_start(), reason="needs fork and file descriptors passed through pipes")


class Made(Dataset):
    """Samples that a function makes of their index."""

    def __init__(self, make: Callable[[int], Any], length: int = 8) -> None:
        self._make, self._length = make, length

    def __getitem__(self, idx: int) -> Any:
        return self._make(idx)

    def __len__(self) -> int:
        return self._length


@pytest.fixture
def without_h5py() -> None:
    """Skip a test that forks in threads where an earlier one has loaded h5py: each fork waits for its lock, in one run for ever."""
    if "h5py" in sys.modules:
        pytest.skip("h5py is loaded, whose lock each fork waits for")


def children() -> set[int]:
    """The processes that this one has started and not yet waited for."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False).stdout
    return {int(pid) for pid in found.split() if Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes()}


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    """Neither processes nor named files in shared memory nor open files."""
    before, named = children(), set(os.listdir("/dev/shm")) if Path("/dev/shm").exists() else set()
    yield
    gc.collect()  # errors that tests caught hold the loaders
    assert wait_until(lambda: children() <= before)
    if named:
        assert {name for name in os.listdir("/dev/shm") if name.startswith(("psm_", "DataLoader", "pym-"))} <= named


def test_batches_are_loaded_by_other_processes_in_order() -> None:
    batches = list(DataLoader(Made(lambda k: (k, os.getpid())), 3, num_workers=2))
    assert [b[0].asnumpy().tolist() for b in batches] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert os.getpid() not in {pid for b in batches for pid in b[1].asnumpy().tolist()}


def test_arrays_arrive_in_shared_memory_and_are_ordinary() -> None:
    images = np.random.default_rng(0).random((12, 3, 20, 20), "float32")
    for k, (data, label) in enumerate(DataLoader(ArrayDataset(nd.array(images, ctx=mx.cpu()), np.arange(12.0)), 4, num_workers=2)):
        assert type(data) is nd.NDArray
        assert data.shape == (4, 3, 20, 20)
        assert data.context == mx.cpu()
        np.testing.assert_array_equal(data.asnumpy(), images[4 * k : 4 * k + 4])
        assert label.dtype == np.float64
        data += 1  # writable, and nobody else's
        np.testing.assert_array_equal(data.asnumpy(), images[4 * k : 4 * k + 4] + 1)


MANY = """
import resource
import sys
import numpy as np
from twofold.errors import EngineError
from twofold.gluon.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 300
    def __getitem__(self, k):
        return np.full(2, k)

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
kept = []
try:
    for batch in DataLoader(Numbers(), 1, num_workers=2, timeout=30):
        kept.append(batch)
except EngineError as error:
    print(error)
found = [batch.asnumpy().tolist() for batch in kept]
print(len(found) if found == [[[k, k]] for k in range(len(found))] else found)
"""


def test_a_program_may_keep_more_batches_than_it_may_have_files() -> None:
    run = subprocess.run([sys.executable, "-c", MANY, "200"], capture_output=True, text=True, check=False, timeout=50)
    assert (run.stdout, run.stderr) == ("300\n", "")


def test_a_lack_of_file_descriptors_is_told_at_once() -> None:
    run = subprocess.run([sys.executable, "-c", MANY, "64"], capture_output=True, text=True, check=False, timeout=25)
    error, count = run.stdout.splitlines()
    assert "a batch cannot be received from its worker process" in error
    assert "Too many open files" in error
    assert 0 < int(count) < 64


def test_batches_outlive_the_loader() -> None:
    batch = next(iter(DataLoader(SimpleDataset(np.arange(600.0).reshape(2, 300)), 2, num_workers=1)))
    assert float(batch.sum().asscalar()) == 600 * 599 / 2


@pytest.mark.parametrize(
    "made",
    [
        pytest.param("text", id="text"),
        pytest.param({"a": [1, None], "b": "x" * 10_000}, id="a dictionary"),
        pytest.param(np.arange(5)[::2], id="NumPy's array"),
        pytest.param(np.array("2020-01-01", "datetime64[D]"), id="a date"),
    ],
)
def test_whatever_a_function_collates_arrives(made: Any) -> None:
    (batch,) = DataLoader(Made(lambda k: made, 1), 1, batchify_fn=list, num_workers=1)
    assert type(batch[0]) is type(made)
    assert np.array_equal(batch[0], made)


def test_classes_and_dtypes_of_arrays_are_kept() -> None:
    def collate(samples: list[int]) -> list[Any]:
        half = nd.array([1.5, 2.5], dtype="bfloat16")
        return [half, mx.np.array([1, 2]), nd.array([[0, 1], [2, 0]]).tostype("csr"), nd.zeros((0, 3)), nd.array([[1, 2], [3, 4]]).T]

    (batch,) = DataLoader(SimpleDataset([0]), 1, batchify_fn=collate, num_workers=1)
    for got, made in zip(batch, collate([]), strict=True):
        assert type(got) is type(made)
        assert got.dtype == made.dtype
        assert got.shape == made.shape
        np.testing.assert_array_equal(got.asnumpy().astype("float32"), made.asnumpy().astype("float32"))


def test_large_batches_of_small_samples() -> None:
    loader = DataLoader(Made(lambda k: k, 20_000), 10_000, num_workers=2, prefetch=30)
    assert [int(b.asnumpy()[-1]) for b in loader] == [9_999, 19_999]


def test_random_numbers_depend_on_the_batch_and_not_on_the_workers() -> None:
    def draw(k: int) -> list[float]:
        return [random.random(), np.random.rand(), float(nd.random.uniform().asscalar())]  # noqa: NPY002  (what is seeded)

    def epochs(workers: int) -> list[Any]:
        np.random.seed(5)  # noqa: NPY002
        loader = DataLoader(Made(draw), 2, num_workers=workers)
        return [[b.asnumpy().tolist() for b in loader] for _ in range(2)]

    first, second = epochs(1)
    assert [first, second] == epochs(3)
    assert len({str(batch) for batch in first + second}) == 8


def test_the_programs_own_random_numbers_are_not_drawn_from() -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.rand()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    list(DataLoader(SimpleDataset([1, 2]), 1, num_workers=1))
    assert np.random.rand() == expected  # noqa: NPY002


def test_set_np_holds_in_workers() -> None:
    mx.npx.set_np()
    try:
        (batch,) = DataLoader(SimpleDataset([1.0]), 1, num_workers=1)
        assert isinstance(batch, mx.np.ndarray)
    finally:
        mx.npx.reset_np()


def test_worker_init_runs_once_in_each_worker() -> None:
    numbers: list[int] = []

    def seen(k: int) -> tuple[int, int]:
        return len(numbers), numbers[0]

    loader = DataLoader(Made(seen), 1, num_workers=2, worker_init=numbers.append)
    found = [tuple(int(part.asscalar()) for part in batch) for batch in loader]
    assert {count for count, _ in found} == {1}
    assert {number for _, number in found} <= {0, 1}
    assert numbers == []


def test_an_error_names_the_worker_and_the_sample() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(DataLoader(Made(lambda k: 1 / (k - 5)), 2, num_workers=2))
    (note,) = caught.value.__notes__
    assert "in worker" in note
    assert "for sample 5" in note
    assert "Traceback" in note
    assert "1 / (k - 5)" in note
    assert "data/processes.py" not in note  # the library's frames are one line


def test_an_error_while_collating_names_the_samples() -> None:
    with pytest.raises(KeyError) as caught:
        list(DataLoader(SimpleDataset(["a", "b"]), 2, num_workers=1))
    assert "while collating the samples [0, 1]" in caught.value.__notes__[0]


def test_an_error_in_worker_init_reaches_the_loop() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(DataLoader(SimpleDataset([1]), 1, num_workers=1, worker_init=lambda k: 1 / k))
    assert "worker_init of worker 0" in caught.value.__notes__[0]


def test_an_error_that_cannot_be_pickled_is_told() -> None:
    class Strange(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"{a} and {b}")

    def fail(k: int) -> int:
        raise Strange(1, 2)

    with pytest.raises(EngineError, match="Strange in worker 0 for sample 0: 1 and 2"):
        list(DataLoader(Made(fail), 2, num_workers=1))


def test_a_worker_that_exits_is_named() -> None:
    with pytest.raises(EngineError, match="SystemExit in worker 0 for sample 0: 3"):
        list(DataLoader(Made(lambda k: sys.exit(3)), 2, num_workers=1))


@pytest.mark.parametrize("workers", [{"num_workers": 0}, {"num_workers": 1}, {"num_workers": 1, "thread_pool": True}])
def test_the_end_of_an_iterator_within_a_dataset_does_not_end_the_epoch(workers: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match=r"StopIteration was raised for the samples \[2, 3\]"):
        list(DataLoader(Made(lambda k: k if k < 2 else next(iter(()))), 2, **workers))


def test_a_loader_goes_on_after_an_error() -> None:
    loader = DataLoader(Made(lambda k: 1 / (k - 5)), 2, num_workers=2)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            list(loader)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_is_killed_is_named(number: signal.Signals) -> None:
    def die(k: int) -> int:
        if k == 3:
            faulthandler.disable()  # quietly
            os.kill(os.getpid(), number)
        return k

    loader = DataLoader(Made(die), 1, num_workers=2)
    start = time.monotonic()
    with pytest.raises(EngineError, match=rf"worker [01] \(process \d+\) died at sample 3: given signal {number.value} \({number.name}\)"):
        list(loader)
    assert time.monotonic() - start < 5
    with pytest.raises(EngineError, match="died at sample 3"):  # with new processes
        list(loader)


def test_a_worker_that_hangs_is_named() -> None:
    loader = DataLoader(Made(lambda k: time.sleep(60 * (k == 2)) or k), 1, num_workers=2, timeout=0.5)
    start = time.monotonic()
    with pytest.raises(EngineError, match=r"longer than 0.5 seconds: given worker [01] at sample 2"):
        list(loader)
    assert time.monotonic() - start < 5


def test_a_stopped_worker_is_ended() -> None:
    loader = DataLoader(Made(lambda k: os.kill(os.getpid(), signal.SIGSTOP) or k), 1, num_workers=1, timeout=0.5)
    with pytest.raises(EngineError, match="longer than"):
        list(loader)


def test_abandoned_iterations_leave_the_loader_usable() -> None:
    loader = DataLoader(Made(lambda k: k), 2, num_workers=2)
    for _ in range(5):
        assert next(iter(loader)).asnumpy().tolist() == [0, 1]
    assert [b.asnumpy().tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.usefixtures("without_h5py")
def test_threads_share_a_loader() -> None:
    loader, found = DataLoader(Made(lambda k: np.full(2000, k, "f"), 60), 7, num_workers=2, timeout=30), list[Any]()

    def iterate() -> None:
        try:
            found.append([np.concatenate([batch.asnumpy()[:, 0] for batch in loader]).tolist() for _ in range(3)])
        except EngineError as error:
            found.append(error)

    threads = [threading.Thread(target=iterate, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [[list(range(60))] * 3] * 3


@pytest.mark.usefixtures("without_h5py")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_take_the_batches_of_its_parent() -> None:
    loader = DataLoader(Made(lambda k: np.full(2000, k, "f"), 60), 7, num_workers=2, timeout=20)

    def numbers(batches: Iterator[Any]) -> list[float]:
        return np.concatenate([batch.asnumpy()[:, 0] for batch in batches]).tolist()

    assert numbers(iter(loader)) == list(range(60))
    begun = iter(loader)
    next(begun)
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(60)
            with pytest.raises(EngineError, match="a fork has ended them: iterate over the loader anew"):
                list(begun)
            assert numbers(iter(loader)) == list(range(60))
            loader._workers.close()  # type: ignore[union-attr]
            status = 0
        finally:
            os._exit(status)
    assert numbers(begun) == list(range(7, 60))
    assert numbers(iter(loader)) == list(range(60))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_iterations_at_once() -> None:
    loader = DataLoader(Made(lambda k: k), 4, num_workers=2)
    assert [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a, b in zip(loader, loader, strict=True)] == [
        ([0, 1, 2, 3], [0, 1, 2, 3]),
        ([4, 5, 6, 7], [4, 5, 6, 7]),
    ]


SCRIPT = """
import os, sys, time
import numpy as np
import twofold as mx

class Slow(mx.gluon.data.Dataset):
    def __len__(self): return 100
    def __getitem__(self, k):
        os.write(1, f"pid {os.getpid()}\\n".encode())  # at once: several workers write
        time.sleep(0.05)
        return np.zeros(1000)

print("start", flush=True)
for batch in mx.gluon.data.DataLoader(Slow(), 1, num_workers=2):
    pass
"""


def interruptible() -> None:
    """Let a program be interrupted although that is ignored here, as in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def running(tmp_path: Path) -> tuple[subprocess.Popen[str], set[int]]:
    """A program whose two workers are at work, and their processes."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    program = subprocess.Popen([sys.executable, str(script)], preexec_fn=interruptible, **pipes)
    assert program.stdout is not None
    workers: set[int] = set()
    for line in program.stdout:
        if line.startswith("pid"):
            workers.add(int(line.split()[1]))
            if len(workers) == 2:
                break
    return program, workers


def gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text() for pid in pids)


@pytest.mark.parametrize("number", later_in_ci([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals) -> None:
    program, workers = running(tmp_path)
    program.send_signal(number)
    _output, errors = program.communicate(timeout=20)
    assert wait_until(lambda: gone(workers))
    if number is signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        assert errors.count("Traceback") == 1


@pytest.mark.ci
def test_spawned_workers_and_what_cannot_be_pickled(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import multiprocessing, warnings
        import numpy as np
        import twofold as mx
        from twofold.gluon.data import ArrayDataset, DataLoader

        if __name__ == "__main__":
            multiprocessing.set_start_method("spawn")
            data = ArrayDataset(mx.nd.array(np.arange(8.0)), list(range(8)))
            print([b[1].asnumpy().tolist() for b in DataLoader(data, 3, num_workers=2)])
            with warnings.catch_warnings(record=True) as caught:
                loader = DataLoader(data.transform(lambda x, y: y), 4, num_workers=2)
                print([b.asnumpy().tolist() for _ in range(2) for b in loader])
            print(len(caught), "cannot be pickled" in str(caught[0].message))
        """)
    )
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=240, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [
        "[[0, 1, 2], [3, 4, 5], [6, 7]]",
        "[[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]]",
        "1 True",
    ]


@pytest.mark.ci
def test_an_interrupt_during_a_fork_is_not_lost() -> None:
    script = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
parent = os.getpid()
os.register_at_fork(after_in_parent=lambda: os.kill(parent, signal.SIGINT))
import numpy as np
import twofold as mx
x = mx.nd.ones((300, 300)) * 2
try:
    if os.fork() == 0:
        os._exit(0)
    time.sleep(10)
    print("lost")
except KeyboardInterrupt:
    print("interrupted", float(x.sum().asscalar()), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, preexec_fn=interruptible, check=False)
    assert result.stdout == "interrupted 180000.0 True\n", result.stderr


@pytest.mark.parametrize("made", [lambda: lambda: 1, lambda: (x for x in ()), threading.Lock], ids=["function", "generator", "lock"])
def test_a_batch_that_cannot_be_pickled_is_told_from_a_crash(made):
    loader = DataLoader(Made(lambda k: made() if k == 3 else k), batch_size=2, num_workers=1, batchify_fn=lambda batch: batch)
    with pytest.raises(EngineError, match=r"cannot be pickled, in worker 0 with the samples \[2, 3\]: given \w+Error: "):
        list(loader)
    assert [len(batch) for batch in DataLoader(Made(int), batch_size=2, num_workers=1, batchify_fn=lambda batch: batch)] == [2] * 4


class OnlyInWorkers:
    """An object that its worker can make and pickle, and the parent cannot unpickle."""

    def __init__(self, error: type[Exception]) -> None:
        self.error, self.worker = error, os.getpid()

    def __setstate__(self, state: dict[str, Any]) -> None:
        if os.getpid() != state["worker"]:
            raise state["error"]("no such thing here")


def mapped_batches() -> int:
    """The memory files of batches that this process has mapped."""
    return Path("/proc/self/maps").read_text().count("memfd:DataLoader")


@pytest.mark.parametrize("error", [ValueError, OSError, EOFError, KeyError, StopIteration])
@pytest.mark.parametrize("size", [1, 100_000], ids=["through the pipe", "through shared memory"])
def test_a_batch_that_cannot_be_unpickled_is_told_at_once_and_the_others_arrive(error: type[Exception], size: int) -> None:
    def make(k: int) -> Any:
        return [np.ones(size), OnlyInWorkers(error)] if k == 3 else [np.full(size, k)]

    gc.collect()
    before = mapped_batches() if sys.platform == "linux" else 0
    loader = DataLoader(Made(make), batch_size=1, num_workers=2, batchify_fn=lambda samples: samples[0], timeout=60)
    start = time.monotonic()
    for _ in range(2):
        batches, found = iter(loader), []
        with pytest.raises(
            EngineError, match=r"cannot be unpickled, from worker [01] with the samples \[3\]: given \w+: .*no such"
        ) as caught:
            found.extend(float(batch[0][0]) for batch in batches)
        assert found == [0.0, 1.0, 2.0]
        assert any("__setstate__" in note for note in caught.value.__notes__)
    assert time.monotonic() - start < 20
    error_itself = caught.value.with_traceback(None)
    del batches, caught, loader
    gc.collect()
    if sys.platform == "linux":
        assert mapped_batches() == before, f"{error_itself} holds no memory"


def test_an_interrupt_within_a_message_ends_the_workers_and_the_next_iteration_has_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # more batches than are made ahead: the other iteration still waits for some when the workers end
    loader = DataLoader(Made(lambda k: np.full(10_000, k), length=40), batch_size=2, num_workers=2)
    want = [batch[:, 0].asnumpy().tolist() for batch in loader]
    parent, left = os.getpid(), []
    for name in ("received_from", "send_pickled", "pickled"):
        original = getattr(processes, name)

        def interrupted(message: Any, *parts: Any, whole: Any = original) -> Any:
            if os.getpid() != parent or not left or left.pop():
                return whole(message, *parts)
            if not isinstance(message, tuple):  # a pipe: a part of a message passes
                os.write(message.fileno(), b"\0") if parts else os.read(message.fileno(), 1)
            raise KeyboardInterrupt

        monkeypatch.setattr(processes, name, interrupted)
        other = iter(loader)
        assert next(other)[:, 0].asnumpy().tolist() == want[0]
        left.extend([0, 1])  # the second call from now on is interrupted
        with pytest.raises(KeyboardInterrupt):
            list(loader)
        with pytest.raises(EngineError, match="have ended; an interrupt, an error in another iteration"):
            list(other)
        assert [batch[:, 0].asnumpy().tolist() for batch in loader] == want


def test_indices_that_cannot_be_pickled_leave_the_loader_usable() -> None:
    class Sampler(list):
        pass

    batches = Sampler([[0, 1], [threading.Lock()], [2]])
    loader = DataLoader(Made(lambda k: k), batch_sampler=batches, num_workers=1, timeout=5)
    for _ in range(processes.MOST_WAITING + 2):
        with pytest.raises(TypeError, match="pickle"):
            list(loader)
    batches[1] = [1]
    assert [batch.asnumpy().tolist() for batch in loader] == [[0, 1], [1], [2]]
