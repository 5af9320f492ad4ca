"""Loaders with workers, image datasets, and the collation of batches."""

from __future__ import annotations

import gc
import gzip
import hashlib
import json
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.config import SETTINGS
from twofold.errors import EngineError, FormatError, MissingFileError, ParameterError
from twofold.gluon.data import ArrayDataset, BatchSampler, DataLoader, Dataset, RandomSampler, SimpleDataset, SplitSampler
from twofold.gluon.data.vision import MNIST, FashionMNIST

if TYPE_CHECKING:
    from pathlib import Path


class Threads(Dataset):
    """Samples that tell whether the main thread loaded them."""

    def __getitem__(self, idx: int) -> Any:
        return idx, float(threading.current_thread() is threading.main_thread())

    def __len__(self) -> int:
        return 10


def test_workers_keep_the_order() -> None:
    batches = list(DataLoader(Threads(), 3, num_workers=2, thread_pool=True))
    assert [b[0].asnumpy().tolist() for b in batches] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert sum(float(b[1].sum().asscalar()) for b in batches) == 0


def test_batches_are_the_same_with_and_without_workers() -> None:
    data = ArrayDataset(np.arange(20).reshape(10, 2), np.arange(10))
    np.random.seed(3)  # noqa: NPY002  (what samplers draw from)
    alone = [b[1].asnumpy().tolist() for b in DataLoader(data, 4, shuffle=True)]
    np.random.seed(3)  # noqa: NPY002  (what samplers draw from)
    assert [b[1].asnumpy().tolist() for b in DataLoader(data, 4, shuffle=True, num_workers=2)] == alone


@pytest.mark.parametrize("thread_pool", [False, True])
def test_an_error_in_a_worker_reaches_the_loop(thread_pool: bool) -> None:
    data = SimpleDataset([1, 2, 0, 4]).transform(lambda x: 1 / x)
    with pytest.raises(ZeroDivisionError):
        list(DataLoader(data, 2, num_workers=1, thread_pool=thread_pool))


@pytest.mark.parametrize(("thread_pool", "worker"), [(False, "worker 0"), (True, "thread DataLoader_0")])
def test_an_error_in_a_worker_names_the_worker_and_the_sample(thread_pool: bool, worker: str) -> None:
    data = SimpleDataset([4, 2, 0, 1]).transform(lambda x: 1 // x)
    with pytest.raises(ZeroDivisionError) as failed:
        list(DataLoader(data, 2, num_workers=1, thread_pool=thread_pool))
    assert any(note.startswith(f"in {worker} for sample 2") for note in failed.value.__notes__)


def test_batches_of_no_samples_are_rejected() -> None:
    with pytest.raises(ParameterError, match="a batch needs samples"):
        len(DataLoader(SimpleDataset([1]), 0))


@pytest.mark.parametrize("thread_pool", [False, True])
def test_a_worker_that_takes_too_long_raises(thread_pool: bool) -> None:
    data = SimpleDataset([0.3]).transform(lambda x: time.sleep(x) or x)
    with pytest.raises(EngineError, match="longer than"):
        list(DataLoader(data, 1, num_workers=1, thread_pool=thread_pool, timeout=0.01))


def test_a_thread_that_hangs_is_named_and_replaced() -> None:
    calm = threading.Event()
    data = SimpleDataset(list(range(6))).transform(lambda k: k if k != 3 or calm.wait(60) else -1)
    loader = DataLoader(data, 2, num_workers=2, thread_pool=True, timeout=0.2)
    with pytest.raises(EngineError, match=r"longer than 0.2 seconds: given thread DataLoader_[01] for sample 3"):
        list(loader)
    with pytest.raises(EngineError, match=r"for sample 3"):  # by a new thread
        list(loader)
    calm.set()
    assert [b.asnumpy().tolist() for b in loader] == [[0, 1], [2, 3], [4, 5]]


def test_threads_end_with_the_loader() -> None:
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("DataLoader")}

    before = threads()  # those of other tests may end at any time
    loader = DataLoader(SimpleDataset(list(range(50))), 2, num_workers=3, thread_pool=True)
    next(iter(loader))
    own = threads() - before
    assert len(own) >= 3
    del loader
    gc.collect()
    for thread in own:
        thread.join(10)
    assert not own & threads()


@pytest.mark.ci
def test_a_program_ends_although_a_thread_hangs(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import time\nfrom twofold.gluon.data import DataLoader, SimpleDataset\n"
        "data = SimpleDataset([1, 2]).transform(lambda k: time.sleep(600))\n"
        "list(DataLoader(data, 1, num_workers=1, thread_pool=True, timeout=0.1))\n"
    )
    found = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 1
    assert "EngineError: DataLoader: a worker took longer than 0.1 seconds: given thread DataLoader_0 for sample 0" in found.stderr


@pytest.mark.parametrize("wrong", ["2", 1.5, None])
def test_a_number_of_workers_that_is_none_raises(wrong: Any) -> None:
    with pytest.raises(TypeError, match="num_workers is not an integer"):
        DataLoader(SimpleDataset([1]), 1, num_workers=wrong)


@pytest.mark.parametrize("thread_pool", [False, True])
def test_a_loader_can_be_iterated_repeatedly(thread_pool: bool) -> None:
    loader = DataLoader(SimpleDataset([1, 2, 3]), 2, num_workers=1, thread_pool=thread_pool)
    assert [len(list(loader)) for _ in range(3)] == [2, 2, 2]


def test_auto_reload_prefetches_the_next_epoch() -> None:
    asked: list[int] = []
    data = SimpleDataset([1, 2]).transform(lambda x: asked.append(x) or x)
    loader = DataLoader(data, 1, num_workers=1, thread_pool=True, auto_reload=True)
    assert [b.asscalar() for b in loader] == [1, 2]
    for _ in range(100):
        if len(asked) > 2:
            break
        time.sleep(0.01)
    assert len(asked) > 2
    loader.clean()
    assert [b.asscalar() for b in loader] == [1, 2]


class OneByOne(ArrayDataset):
    """The same samples, made one after another: only `ArrayDataset` itself is known to have no `__getitem__` of its own."""


class Doubled(np.ndarray):
    """An array whose elements are twice those in its memory."""

    def __getitem__(self, key: Any) -> Any:
        return 2 * np.asarray(self)[key]


DATA = np.random.default_rng(0).normal(size=(11, 2, 3)) * 50
ARRAYS = {
    **{str(dtype): (DATA.astype(dtype), np.arange(11)) for dtype in ("float16", "float32", "float64", "uint8", "int64", "bool")},
    "nd": (nd.array(DATA), nd.arange(11)),
    "nd of one axis": (nd.arange(11),),
    "np": (mx.np.array(DATA), np.arange(11)),
    "views": (DATA.transpose(0, 2, 1)[::-1], np.arange(33)[::3]),
    "other byte order": (DATA.astype(">f4"),),
    "lists": (DATA.tolist(), list(range(11))),
    "a list beside": (DATA, list(range(11))),
    "a subclass": (DATA.view(Doubled),),
    "no elements": (np.zeros((11, 0)),),
}


@pytest.mark.parametrize("set_np", [False, True])
@pytest.mark.parametrize("arrays", ARRAYS.values(), ids=ARRAYS)
def test_batches_of_arrays_are_those_of_their_samples(arrays: tuple[Any, ...], set_np: bool) -> None:
    orders = {"keep": [3, 0, -1, np.int64(7), np.int32(2)], "discard": range(11), "rollover": range(11)}
    for last_batch, order in orders.items():
        with mx.npx.np_array(set_np):
            options = {"batch_size": 4, "sampler": mx.gluon.data.SimpleDataset(list(order)), "last_batch": last_batch}
            whole, single = (list(DataLoader(kind(*arrays), **options)) for kind in (ArrayDataset, OneByOne))
        assert len(whole) == len(single) > 0
        for found, expected in zip(whole, single, strict=True):
            pairs = list(zip(found, expected, strict=True)) if isinstance(expected, list) else [(found, expected)]
            assert isinstance(found, list) == isinstance(expected, list)
            for a, b in pairs:
                assert (type(a), a.dtype, a.shape, a.context) == (type(b), b.dtype, b.shape, b.context)
                assert a.asnumpy().tobytes() == b.asnumpy().tobytes()


def test_only_plain_sets_of_arrays_are_read_without_their_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    def sample(data: ArrayDataset, k: int) -> Any:
        return f"sample {k}"

    plain = ArrayDataset(DATA, np.arange(11))
    expected = [b[1].asnumpy().tolist() for b in DataLoader(plain, 4, num_workers=1)]
    monkeypatch.setattr(ArrayDataset, "__getitem__", sample)
    assert [b[1].asnumpy().tolist() for b in DataLoader(plain, 4)] == expected == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    others = [OneByOne(DATA), plain.transform(lambda x: x), plain.take(4), plain.filter(lambda x: True)]
    for data in (*others, ArrayDataset(DATA.tolist()), ArrayDataset(DATA.astype(object))):
        assert next(iter(DataLoader(data, 2, batchify_fn=list))) == ["sample 0", "sample 1"]
        with pytest.raises(KeyError, match="cannot stack the samples: given samples of types str"):
            next(iter(DataLoader(data, 2)))
    assert next(iter(DataLoader(plain, 2, batchify_fn=list))) == ["sample 0", "sample 1"]


def test_batches_of_arrays_have_memory_of_their_own() -> None:
    data = np.arange(6.0)
    batch = next(iter(DataLoader(ArrayDataset(data), 6)))
    batch[:] = 0
    assert data.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", [ArrayDataset, OneByOne])
def test_indices_of_a_sampler_that_are_out_of_range_raise(kind: type[ArrayDataset]) -> None:
    with pytest.raises(IndexError, match="6"):
        list(DataLoader(kind(np.arange(6)), 2, sampler=SimpleDataset([0, 6])))


def test_pinned_batches() -> None:
    batch = next(iter(DataLoader(ArrayDataset([1.0, 2.0], [3, 4]), 2, pin_memory=True)))
    assert [str(a.context) for a in batch] == ["cpu_pinned(0)", "cpu_pinned(0)"]


def test_pinned_batches_go_through_a_model() -> None:
    net = mx.gluon.nn.Dense(1, in_units=1)
    net.initialize()
    batch = next(iter(DataLoader(SimpleDataset([[1.0], [2.0]]), 2, pin_memory=True)))
    assert net(batch.astype("float32")).shape == (2, 1)


def test_rolled_over_samples_come_first_in_the_next_epoch() -> None:
    loader = DataLoader(SimpleDataset(list(range(5))), 2, last_batch="rollover")
    assert [b.asnumpy().tolist() for b in loader] == [[0, 1], [2, 3]]
    assert [b.asnumpy().tolist() for b in loader] == [[4, 0], [1, 2], [3, 4]]


def test_a_shuffled_epoch_has_every_sample_once() -> None:
    batches = list(BatchSampler(RandomSampler(10), 3))
    assert sorted(k for batch in batches for k in batch) == list(range(10))


def idx(array: np.ndarray) -> bytes:
    """The bytes of an idx file of bytes."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


@pytest.fixture
def digits(tmp_path: Path) -> Path:
    images = np.arange(3 * 2 * 2, dtype="uint8").reshape(3, 2, 2)
    labels = np.array([7, 8, 9], "uint8")
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images[:2])))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels[:2])))
    return tmp_path


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_images_are_arrays_of_bytes(digits: Path, kind: type[MNIST]) -> None:
    data = kind(digits)
    image, label = data[1]
    assert (len(data), image.shape, image.dtype, int(label), label.dtype) == (3, (2, 2, 1), np.uint8, 8, np.int32)
    assert image.asnumpy()[..., 0].tolist() == [[4, 5], [6, 7]]


@pytest.mark.filterwarnings("ignore:.* is not the published file")
def test_compressed_files_are_read(digits: Path) -> None:
    assert len(MNIST(digits, train=False)) == 2


def test_compressed_files_other_than_the_published_ones_are_named_once(digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = hashlib.sha1((digits / "t10k-images-idx3-ubyte.gz").read_bytes()).hexdigest()
    sums = rf"t10k-images-idx3-ubyte\.gz is not .*SHA-1 {found}, not c3a25af1f52dad7f726cce8cacb138654b760d48"
    with pytest.warns(UserWarning, match=r"t10k-labels-idx1-ubyte\.gz is not the published"), pytest.warns(UserWarning, match=sums):
        assert len(MNIST(digits, train=False)) == 2
    assert len(MNIST(digits, train=False)) == 2  # without a second warning
    monkeypatch.setattr(SETTINGS, "strict", True)
    with pytest.raises(FormatError, match=r"t10k-images-idx3-ubyte\.gz is not the published file") as error:
        FashionMNIST(digits, train=False)
    assert str(digits) in str(error.value)
    assert len(MNIST(digits)) == 3  # published checksums are those of compressed files


def test_a_cut_file_is_an_error_and_not_a_warning(digits: Path) -> None:
    whole = (digits / "t10k-images-idx3-ubyte.gz").read_bytes()
    (digits / "t10k-images-idx3-ubyte.gz").write_bytes(whole[:-16])
    with pytest.raises(FormatError, match=r"t10k-images-idx3-ubyte\.gz"):
        MNIST(digits, train=False)


def test_a_transformation_is_applied_to_each_sample(digits: Path) -> None:
    assert MNIST(digits, transform=lambda image, label: (image.sum().asscalar(), int(label)))[0] == (6, 7)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"put train-images-idx3-ubyte\.gz .SHA-1 6c95f4b05d2bf285"):
        MNIST(tmp_path)


def test_files_of_different_lengths_raise(digits: Path) -> None:
    (digits / "train-labels-idx1-ubyte").write_bytes(idx(np.array([1], "uint8")))
    with pytest.raises(FormatError, match="do not match"):
        MNIST(digits)


def test_datasets_are_read_from_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch, digits: Path) -> None:
    home = digits / "home"
    (home / ".mxnet" / "datasets").mkdir(parents=True)
    (home / ".mxnet" / "datasets" / "mnist").symlink_to(digits)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    assert len(MNIST()) == 3


def test_the_real_mnist_files(shared: Path) -> None:
    data = MNIST(shared / "data" / "mnist", train=False)
    transforms = mx.gluon.data.vision.transforms
    batch, labels = next(iter(DataLoader(data.transform_first(transforms.ToTensor()), 5)))
    assert (len(data), batch.shape, batch.dtype, labels.asnumpy().tolist()) == (10000, (5, 1, 28, 28), np.float32, [7, 2, 1, 0, 4])
    assert isinstance(batch, nd.NDArray)
    assert 0.99 < batch.max().asscalar() <= 1


# SplitSampler


@pytest.mark.parametrize(("length", "parts"), [(10, 1), (10, 3), (7, 7), (11, 4)])
def test_parts_of_samples_have_each_once(length: int, parts: int) -> None:
    samplers = [SplitSampler(length, parts, k) for k in range(parts)]
    assert sorted(i for sampler in samplers for i in sampler) == list(range(length))
    assert [len(sampler) for sampler in samplers] == [len(ArrayDataset(range(length)).shard(parts, k)) for k in range(parts)]


def test_parts_of_even_size_repeat_a_sample() -> None:
    for part in range(4):
        sampler = SplitSampler(11, 4, part, even_size=True)
        found = list(sampler)
        assert len(found) == len(sampler) == 3
        assert len(set(found)) == (2 if part == 3 else 3)
        assert list(SplitSampler(12, 4, part, even_size=True, shuffle=False)) == [3 * part, 3 * part + 1, 3 * part + 2]


def test_seeded_parts_have_an_order_for_each_iteration() -> None:
    np.random.seed(0)  # noqa: NPY002  (the global generator)
    one, other = (SplitSampler(40, 2, 1, seed=5) for _ in range(2))
    orders = [list(one) for _ in range(3)]
    np.random.seed(1)  # noqa: NPY002  (the global generator)
    assert orders == [list(other) for _ in range(3)]
    assert len({tuple(order) for order in orders}) == 3
    assert list(SplitSampler(40, 2, 1, seed=6)) != orders[0]
    np.random.seed(3)  # noqa: NPY002  (the global generator)
    drawn = list(SplitSampler(40, 2, 1))
    np.random.seed(3)  # noqa: NPY002  (the global generator)
    assert list(SplitSampler(40, 2, 1)) == drawn


def test_repeated_parts_visit_all_samples_before_the_next_time() -> None:
    found = list(SplitSampler(6, 2, 1, repeat=2))
    assert sorted(found[:3]) == sorted(found[3:]) == [3, 4, 5]


@pytest.mark.parametrize("options", [{"part_index": 2, "num_parts": 2}, {"num_parts": 0}, {"num_parts": 5}, {"repeat": 0}])
def test_parts_that_do_not_exist_raise(options: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="SplitSampler"):
        SplitSampler(4, **options)


# resuming a DataLoader


class _Noisy(SimpleDataset):
    """Samples with random numbers."""

    def __getitem__(self, idx: int) -> Any:
        return np.array([idx, np.random.random()])  # noqa: NPY002


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("taken", [0, 1, 3, 5, 7])
def test_a_loader_continues_in_the_middle_of_an_epoch(workers: int, taken: int) -> None:
    def run(loader: DataLoader, count: int, found: list[Any]) -> None:
        """Load batches, also of later epochs."""
        while count:
            for batch in loader:
                found.append(batch.asnumpy().tolist())
                count -= 1
                if not count:
                    break

    def new(count: int) -> DataLoader:
        return DataLoader(_Noisy(range(10)), 2, shuffle=True, num_workers=count)

    np.random.seed(4)  # noqa: NPY002
    one = new(workers)
    batches = iter(one)
    for _ in range(taken):
        if next(batches, None) is None:
            batches = iter(one)
            next(batches)
    state, random = json.loads(json.dumps(one.state_dict())), np.random.get_state()  # noqa: NPY002
    rest = [batch.asnumpy().tolist() for batch in batches] if taken else []
    run(one, 5, rest)

    np.random.seed(99)  # noqa: NPY002
    other = new(3 if workers else 0)
    np.random.set_state(random)  # noqa: NPY002
    other.load_state_dict(state)
    assert other.state_dict() == state
    found = [batch.asnumpy().tolist() for batch in other] if taken else []
    run(other, 5, found)
    assert found == rest
