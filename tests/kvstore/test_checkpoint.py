"""Checkpoints of a cluster: whole or not there, and read by any number of workers."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ClusterError, FileAccessError, FormatError, MissingFileError, ParameterError
from twofold.kvstore import checkpoint


class Store(mx.kv.KVStore):
    """One worker of several, each in a thread."""

    def __init__(self, rank: int, together: threading.Barrier) -> None:
        super().__init__()
        self._rank, self._together = rank, together

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def num_workers(self) -> int:
        return self._together.parties

    def _barrier(self) -> None:
        self._together.wait(30)


ARRAYS = {f"w{k}": mx.nd.array(np.arange(k + 1) * 0.5 + k) for k in range(5)}


def saved(folder: Path, step: int, workers: int, states: list[bytes] | None = None, **options: Any) -> list[str]:
    """Save by several workers at the same time."""
    together = threading.Barrier(workers)

    def one(rank: int) -> str:
        def save_states(name: str) -> None:
            Path(name).write_bytes((states or [b"0123456789"] * workers)[rank])

        try:
            return mx.kv.save_checkpoint(folder, step, Store(rank, together), ARRAYS, save_states, own={"rank": rank}, **options)
        except BaseException:
            together.abort()  # as a failure ends all processes
            raise

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(workers)))


def states_of(folder: Path, store: Store | None = None) -> tuple[Any, bytes]:
    found: list[bytes] = []
    loaded = mx.kv.load_checkpoint(folder, store)
    loaded.load_states(lambda name: found.append(Path(name).read_bytes()))
    return loaded, found[0]


@pytest.mark.parametrize("writers", [1, 2, 3])
@pytest.mark.parametrize("readers", [1, 3])
def test_any_number_of_workers_reads_all_bitwise(tmp_path: Path, writers: int, readers: int) -> None:
    assert set(saved(tmp_path, 7, writers)) == {str(tmp_path / "step-0000007.json")}
    for rank in range(readers):
        found, states = states_of(tmp_path, Store(rank, threading.Barrier(readers)))
        assert states == b"0123456789"
        assert found.step == 7
        assert found.arrays.keys() == ARRAYS.keys()
        assert all((found.arrays[name].asnumpy() == a.asnumpy()).all() for name, a in ARRAYS.items())
        assert found.own == ({"rank": rank} if writers == readers else None)
        assert found.all_own == [{"rank": k} for k in range(writers)]


def test_every_byte_is_written_by_one_worker(tmp_path: Path) -> None:
    saved(tmp_path, 1, 3)
    names = [set(mx.nd.load(str(path))) for path in sorted(tmp_path.glob("*.params"))]
    assert sorted(name for own in names for name in own) == sorted(ARRAYS)
    assert max(sum(ARRAYS[name].size for name in own) for own in names) == 5  # of 15
    assert [path.read_bytes() for path in sorted(tmp_path.glob("*.states"))] == [b"012", b"345", b"6789"]


@pytest.mark.parametrize("attempts", [2, 4])
def test_states_that_differ_are_written_again(tmp_path: Path, attempts: int) -> None:
    """A server that dies may have sent its states to some workers only; states that still differ after three attempts are an error."""
    together, counts = threading.Barrier(2), [0, 0]

    def one(rank: int) -> str:
        def save_states(name: str) -> None:
            counts[rank] += 1
            Path(name).write_bytes(b"same" if counts[rank] >= attempts else bytes([rank]) * 4)

        return mx.kv.save_checkpoint(tmp_path, 1, Store(rank, together), ARRAYS, save_states)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(one, rank) for rank in range(2)]
        errors = [future.exception() for future in futures]
    if attempts == 2:
        assert (errors, counts, states_of(tmp_path)[1]) == ([None, None], [2, 2], b"same")
    else:
        assert all("states of the optimizer differ" in str(error) for error in errors)
        assert not list(tmp_path.glob("step-0000001.json"))


def test_those_that_are_left_write_the_part_of_a_worker_that_dies(tmp_path: Path) -> None:
    together = threading.Barrier(2)

    class Left(Store):
        """One of two workers that are left of three: worker 1 dies when it has been counted in once, before it has written anything."""

        count = 0

        @property
        def num_workers(self) -> int:
            return 3

        def _live_workers(self) -> list[int]:
            self._barrier()
            self.count += 1
            return [0, 1, 2] if self.count == 1 else [0, 2]

    def one(rank: int) -> str:
        return mx.kv.save_checkpoint(tmp_path, 1, Left(rank, together), ARRAYS, lambda name: Path(name).write_bytes(b"01234"), own=rank)

    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(one, (0, 2)))) == 1
    found, states = states_of(tmp_path)
    assert (found.arrays.keys(), found.all_own, states) == (ARRAYS.keys(), [0, 2], b"01234")
    assert all((found.arrays[name].asnumpy() == a.asnumpy()).all() for name, a in ARRAYS.items())


def test_older_checkpoints_go_when_a_newer_one_is_whole(tmp_path: Path) -> None:
    for step in range(4):
        saved(tmp_path, step, 2, keep=2)
    assert {path.name[:12] for path in tmp_path.iterdir()} == {"step-0000002", "step-0000003"}
    assert mx.kv.load_checkpoint(tmp_path).step == 3
    assert mx.kv.load_checkpoint(tmp_path, step=2).step == 2


def test_files_of_unfinished_checkpoints_go_with_older_ones(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2)
    # what processes that were killed leave: shares, also of another number of workers, and temporary files
    left = ["step-0000002-0-of-3.params", "step-0000002-1-of-3.json", ".step-0000002-2-of-3.states.0a7c9cdf.193.70a4d111.tmp"]
    others = ["notes-0000002.txt", "step-0000002.txt", "step-0000009-0-of-3.params"]
    for name in [*left, ".step-0000001.json.0a7c9cdf.193.70a4d111.tmp", *others]:
        (tmp_path / name).write_bytes(b"x")
    saved(tmp_path, 3, 2, keep=2)
    assert {name for name in left if (tmp_path / name).exists()} == set(left)  # newer than the oldest that stays
    saved(tmp_path, 4, 2, keep=2)
    names = {path.name for path in tmp_path.iterdir()}
    assert {name[:12] for name in names - set(others)} == {"step-0000003", "step-0000004"}
    assert set(others) <= names
    assert mx.kv.load_checkpoint(tmp_path).step == 4


def fail_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all but the first files that checkpoints write fail."""
    before = checkpoint.write_file
    calls, lock = [0], threading.Lock()

    def write(path: Any, chunks: Any) -> None:
        with lock:
            calls[0] += 1
            if calls[0] > count:
                raise FileAccessError("no space left on device")
        before(path, chunks)

    monkeypatch.setattr(checkpoint, "write_file", write)


@pytest.mark.parametrize("fails", range(9))
def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    saved(tmp_path, 1, 2)
    before = checkpoint.write_file
    fail_after(fails, monkeypatch)
    try:  # of each worker the arrays, the states and its own file, and the index
        saved(tmp_path, 2, 2, keep=1)
        last = 2
    except (FileAccessError, threading.BrokenBarrierError):
        last = 1
    monkeypatch.setattr(checkpoint, "write_file", before)
    assert last == (2 if fails >= 7 else 1)
    found, states = states_of(tmp_path)
    assert (found.step, states) == (last, b"0123456789")


@pytest.mark.parametrize("fails", range(7))
def test_a_step_that_is_written_again_is_never_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    saved(tmp_path, 1, 2)
    saved(tmp_path, 2, 2)
    before = checkpoint.write_file
    fail_after(fails, monkeypatch)
    with pytest.raises((FileAccessError, threading.BrokenBarrierError)):
        saved(tmp_path, 2, 2, [b"abcdefghij"] * 2)
    monkeypatch.setattr(checkpoint, "write_file", before)
    found, states = states_of(tmp_path)
    assert (found.step, states) == (1, b"0123456789")


def test_states_that_differ_are_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises((ClusterError, threading.BrokenBarrierError)):
        saved(tmp_path, 1, 2, [b"one", b"two"])
    with pytest.raises(MissingFileError, match="there is no whole checkpoint"):
        mx.kv.load_checkpoint(tmp_path)


@pytest.mark.parametrize("suffix", ["params", "states", "json"])
def test_damage_is_found(tmp_path: Path, suffix: str) -> None:
    saved(tmp_path, 1, 2)
    path = tmp_path / f"step-0000001-1-of-2.{suffix}"
    path.write_bytes(path.read_bytes()[:-2] + b"x")
    with pytest.raises(FormatError, match=f"1-of-2.{suffix}"):
        states_of(tmp_path)
    path.unlink()
    with pytest.raises(MissingFileError):
        states_of(tmp_path)


def test_arrays_of_another_checkpoint_are_found(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2)
    [path] = tmp_path.glob("*1-of-2.params")
    mx.nd.save(str(path), {"other": mx.nd.ones((2,))})
    with pytest.raises(FormatError, match=r"1-of-2.params: the file is damaged"):
        mx.kv.load_checkpoint(tmp_path)


@pytest.mark.parametrize("pattern", ["step-0000001.json", "*0-of-1.json", "*.params", "*.states"])
def test_every_change_of_a_byte_is_found(tmp_path: Path, pattern: str) -> None:
    mx.kv.save_checkpoint(tmp_path, 1, mx.kv.create("local"), ARRAYS, lambda name: Path(name).write_bytes(b"states"))
    [path] = tmp_path.glob(pattern)
    whole = path.read_bytes()
    for at in [*range(0, len(whole), 1 + len(whole) // 200), len(whole) - 1]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises((FormatError, MissingFileError)):
            states_of(tmp_path)


def test_a_checkpoint_of_the_first_version_is_read(tmp_path: Path) -> None:
    saved(tmp_path, 1, 1)
    for path in tmp_path.glob("*.json"):  # these had no checksums
        about = {key: value for key, value in json.loads(path.read_text()).items() if key not in ("checksum", "params")}
        path.write_text(json.dumps(about | ({"version": 1} if "version" in about else {})))
    found, states = states_of(tmp_path)
    assert states == b"0123456789"
    assert {name: a.asnumpy().tolist() for name, a in found.arrays.items()} == {name: a.asnumpy().tolist() for name, a in ARRAYS.items()}


def test_what_cannot_be_saved_or_loaded(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="step=-1"):
        saved(tmp_path, -1, 1)
    store = mx.kv.create("local")
    with pytest.raises(ParameterError, match=r"JSON cannot represent `own`.*float32"):
        mx.kv.save_checkpoint(tmp_path, 1, store, ARRAYS, own={"loss": np.float32(1)})
    assert not list(tmp_path.iterdir())
    mx.kv.save_checkpoint(tmp_path, 1, store, ARRAYS)
    with pytest.raises(FormatError, match="without states"):
        mx.kv.load_checkpoint(tmp_path, store).load_states(lambda name: None)
    (tmp_path / "step-0000001.json").write_text(json.dumps({"version": 9, "workers": 1, "has_states": False}))
    with pytest.raises(FormatError, match="another version"):
        mx.kv.load_checkpoint(tmp_path)


def test_a_training_continues_bitwise(tmp_path: Path) -> None:
    def start() -> tuple[mx.gluon.nn.Dense, mx.gluon.Trainer]:
        net = mx.gluon.nn.Dense(2, in_units=3)
        net.initialize(mx.init.Xavier())
        return net, mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore=None)

    def train(net: mx.gluon.nn.Dense, trainer: mx.gluon.Trainer) -> None:
        x = mx.nd.random.uniform(shape=(4, 3)) + mx.nd.array(np.random.rand(4, 3))  # noqa: NPY002
        with mx.autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(4)

    store = mx.kv.create("local")
    net, trainer = start()
    train(net, trainer)
    arrays = {name: p.data() for name, p in net._collect_params_with_prefix().items()}
    mx.kv.save_checkpoint(tmp_path, 1, store, arrays, trainer.save_states)
    train(net, trainer)
    again, other = start()
    found = mx.kv.load_checkpoint(tmp_path, store)
    for name, p in again._collect_params_with_prefix().items():
        p.set_data(found.arrays[name])
    found.load_states(other.load_states)
    train(again, other)
    for one, two in zip(net.collect_params().values(), again.collect_params().values(), strict=True):
        assert (one.data().asnumpy() == two.data().asnumpy()).all()


def test_the_launcher_knows_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWOFOLD_RUN_FOLDER", str(tmp_path))
    index = mx.kv.save_checkpoint(tmp_path / "run", 1, mx.kv.create("local"), ARRAYS)
    assert (tmp_path / "last-checkpoint").read_text() == index
    mx.model.save_checkpoint(str(tmp_path / "model"), 3, None, ARRAYS, {})
    assert (tmp_path / "last-checkpoint").read_text() == str(tmp_path / "model-0003.params")
