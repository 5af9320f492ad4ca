"""Iterators over files keep the rows of a batch in memory, not those of the set; and all iterators continue where another one was."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from asv_benchmarks.record_memory import WAYS, write_records
from twofold.errors import FormatError
from twofold.formats.files import write_file
from twofold.io.iterator import REGISTERED

from tests.cases import later_in_ci
from tests.data.programs.images import _pixels, _png
from tests.house.sources import ROOT

h5py = pytest.importorskip("h5py")

ROWS = np.arange(60.0).reshape(15, 4)
Streamed = Callable[[Path, np.ndarray], Any]


def in_hdf5(folder: Path, array: np.ndarray) -> Any:
    file = h5py.File(folder / f"{len(list(folder.iterdir()))}.h5", "w")
    return file.create_dataset("x", data=array)


def in_npy(folder: Path, array: np.ndarray) -> Any:
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


streamed = pytest.mark.parametrize("stored", [in_hdf5, in_npy])


def epochs(iterator: mx.io.DataIter, count: int) -> list[tuple[list[float], list[float], int | None]]:
    found = []
    for _ in range(count):
        for batch in iterator:
            assert batch.data[0].dtype == batch.label[0].dtype == np.float32
            found.append((batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist(), batch.pad))
        iterator.reset()
    return found


@streamed
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
def test_arrays_in_files_give_the_batches_of_arrays_in_memory(tmp_path: Path, stored: Streamed, shuffle: bool, handle: str):
    options = {"batch_size": 4, "shuffle": shuffle, "last_batch_handle": handle}
    np.random.seed(3)  # noqa: NPY002  NDArrayIter shuffles with it
    expected = epochs(mx.io.NDArrayIter(ROWS, np.arange(15), **options), 3)
    np.random.seed(3)  # noqa: NPY002  NDArrayIter shuffles with it
    found = epochs(mx.io.NDArrayIter(stored(tmp_path, ROWS), stored(tmp_path, np.arange(15)), **options), 3)
    assert found == expected


@streamed
def test_a_batch_larger_than_the_set_repeats_rows(tmp_path: Path, stored: Streamed):
    batch = mx.io.NDArrayIter(stored(tmp_path, ROWS[:2]), None, 5).next()
    assert batch.data[0].asnumpy().tolist() == ROWS[[0, 1, 0, 1, 0]].tolist()


def test_descriptions_are_those_of_mxnet(tmp_path: Path):
    # of the real one: float64 for a dataset of h5py, whose batches are float32, and float32 for a memory map, which it copies
    dataset, mapped = (make(tmp_path, ROWS) for make in (in_hdf5, in_npy))
    iterator = mx.io.NDArrayIter({"a": dataset, "b": mapped}, None, 3)
    assert [np.dtype(desc.dtype).name for desc in iterator.provide_data] == ["float64", "float32"]
    assert iterator.data[0][1] is dataset


SET, BATCH = 24_000_000, 64 * 3000 * 4


def peak(make: Callable[[], mx.io.DataIter], batches: int = 8) -> int:
    """The most bytes that Python and NumPy had allocated while batches were read."""
    tracemalloc.start()
    try:
        iterator = make()
        for _ in range(batches):
            iterator.next().data[0].wait_to_read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@streamed
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_memory_of_arrays_in_files_is_that_of_batches(tmp_path: Path, stored: Streamed, shuffle: bool):
    array = stored(tmp_path, np.zeros((SET // 12_000, 3000), "float32"))
    assert peak(lambda: mx.io.NDArrayIter(array, None, 64, shuffle=shuffle)) < 6 * BATCH < SET / 4


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_memory_of_mnist_iter_is_that_of_batches(tmp_path: Path, packed: bool, shuffle: bool):
    count = SET // 3000
    content = struct.pack(">4I", 2051, count, 50, 60) + bytes(SET)
    (tmp_path / "images").write_bytes(gzip.compress(content, 1) if packed else content)
    (tmp_path / "labels").write_bytes(struct.pack(">2I", 2049, count) + bytes(count))
    del content
    names = str(tmp_path / "images"), str(tmp_path / "labels")
    assert peak(lambda: mx.io.MNISTIter(*names, batch_size=64, shuffle=shuffle, silent=True)) < 6 * BATCH < SET / 4


RESIDENT = """
import sys, numpy as np, twofold as mx
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
def most(iterator):
    return max(anonymous() for batch in iterator if batch.data[0].wait_to_read() is None)
images, labels, small, none = sys.argv[1:]
most(mx.io.MNISTIter(small, none, batch_size=64, silent=True))
before = anonymous()
print(most(mx.io.MNISTIter(images, labels, batch_size=64, silent=True)) - before)
"""


@pytest.mark.ci
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's figures of a process")
def test_the_resident_memory_of_a_process_does_not_grow_with_the_set(tmp_path: Path):
    names = []
    for count in (12_000, 128):
        for name, head, size in (
            ("images", struct.pack(">4I", 2051, count, 50, 60), 3000 * count),
            ("labels", struct.pack(">2I", 2049, count), count),
        ):
            names.append(str(tmp_path / f"{name}{count}"))
            with open(names[-1], "wb") as file:
                file.write(head)
                file.truncate(len(head) + size)  # sparse
    result = subprocess.run([sys.executable, "-c", RESIDENT, *names], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 8_000  # KiB; the set has 36,000


@pytest.fixture(scope="module")
def large_records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with 200 MB of records."""
    folder = tmp_path_factory.mktemp("records")
    write_records(folder, 2000)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's figures of a process")
@pytest.mark.parametrize("way", later_in_ci(WAYS))
def test_the_memory_of_a_file_of_records_does_not_grow_with_it(large_records: Path, way: str):
    command = [sys.executable, str(ROOT / "asv_benchmarks" / "record_memory.py"), "--way", way, "--folder", str(large_records)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["count"] >= 60
    assert found["megabytes"] < 110  # of 200; the script's 2 GB file takes as much


def test_an_idx_file_that_becomes_shorter_is_an_error(tmp_path: Path):
    (tmp_path / "images").write_bytes(struct.pack(">4I", 2051, 4, 2, 3) + bytes(24))
    (tmp_path / "labels").write_bytes(struct.pack(">2I", 2049, 4) + bytes(4))
    iterator = mx.io.MNISTIter(str(tmp_path / "images"), str(tmp_path / "labels"), 2, shuffle=False, silent=True)
    iterator.next()
    (tmp_path / "images").write_bytes(b"")
    with pytest.raises(FormatError, match="images: the file ends inside a row"):
        iterator.next()


# ------------------------------------------------------------------------------------------------------------------------ states


def write_images(folder: Path) -> None:
    file = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    boxes = mx.recordio.MXRecordIO(str(folder / "boxes.rec"), "w")
    for k in range(7):
        write_file(folder / f"{k}.png", [_png(_pixels(6, 6, k))])
        file.write_idx(k, mx.recordio.pack_img((0, float(k), k, 0), _pixels(6, 6, k), img_fmt=".png"))
        boxes.write(mx.recordio.pack_img((0, [2, 5, k, 0.1, 0.1, 0.5, 0.5], k, 0), _pixels(6, 6, k), img_fmt=".png"))
    file.close()
    boxes.close()
    write_file(folder / "a.lst", [b"".join(b"%d\t%d\t%d.png\n" % (k, k, k) for k in range(7))])


def image_iter(folder: Path, **options: Any) -> mx.io.DataIter:
    return mx.image.ImageIter(2, (3, 4, 4), path_imglist=str(folder / "a.lst"), path_root=str(folder), **{"rand_crop": True, **options})


def record_iter(folder: Path, **options: Any) -> mx.io.DataIter:
    return mx.io.ImageRecordIter(path_imgrec=str(folder / "a.rec"), data_shape=(3, 4, 4), batch_size=2, **options)


def shuffled(handle: str = "pad") -> mx.io.DataIter:
    return mx.io.NDArrayIter(ROWS, np.arange(15), 4, shuffle=True, last_batch_handle=handle)


def sample(name: str, folder: Path) -> mx.io.DataIter:
    return REGISTERED[name].sample(Path(tempfile.mkdtemp(dir=folder)))  # it writes files that another one may be reading


ITERATORS: dict[str, Callable[[Path], mx.io.DataIter]] = {
    **{name: partial(sample, name) for name in REGISTERED},
    "shuffled arrays": lambda folder: shuffled(),
    "arrays rolled over": lambda folder: shuffled("roll_over"),
    "dataset of h5py": lambda folder: mx.io.NDArrayIter(in_hdf5(folder, ROWS), None, 4, shuffle=True),
    "resized": lambda folder: mx.io.ResizeIter(shuffled(), 6),
    "resized on and on": lambda folder: mx.io.ResizeIter(shuffled(), 3, reset_internal=False),
    "prefetched": lambda folder: mx.io.PrefetchingIter([shuffled(), mx.io.NDArrayIter(ROWS, None, 4, data_name="b")]),
    "prefetched images": lambda folder: mx.io.PrefetchingIter(image_iter(folder, shuffle=True, rand_crop=False)),
    "resized prefetched": lambda folder: mx.io.ResizeIter(mx.io.PrefetchingIter(shuffled()), 5),
    "images of a list": image_iter,
    "shuffled images": lambda folder: image_iter(folder, shuffle=True),
    "images discarded": lambda folder: image_iter(folder, shuffle=True, last_batch_handle="discard"),
    "images rolled over": lambda folder: image_iter(folder, shuffle=True, last_batch_handle="roll_over"),
    "records rolled over": lambda folder: mx.image.ImageIter(
        3, (3, 4, 4), path_imgrec=str(folder / "a.rec"), last_batch_handle="roll_over"
    ),
    "images of records": lambda folder: mx.image.ImageIter(3, (3, 4, 4), path_imgrec=str(folder / "a.rec")),
    "boxes": lambda folder: mx.image.ImageDetIter(3, (3, 4, 4), path_imgrec=str(folder / "boxes.rec")),
    "records": lambda folder: record_iter(folder, shuffle=True, rand_crop=True, rand_mirror=True, seed=5),
    "records without round": lambda folder: record_iter(folder, round_batch=False),
    "bytes of records": lambda folder: mx.io.ImageRecordUInt8Iter(path_imgrec=str(folder / "a.rec"), data_shape=(3, 4, 4), batch_size=3),
    "records of boxes": lambda folder: mx.io.ImageDetRecordIter(
        path_imgrec=str(folder / "boxes.rec"), data_shape=(3, 4, 4), batch_size=2, shuffle=True, rand_mirror_prob=0.5
    ),
}


def drawn() -> Any:
    """What random numbers depend on."""
    return random.getstate(), np.random.get_state()  # noqa: NPY002  as MXNet's iterators


def draw_as(state: Any) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])  # noqa: NPY002


def contents(iterator: mx.io.DataIter, count: int) -> list[Any]:
    """Batches as bytes, over several epochs."""
    found = []
    while len(found) < count:
        try:
            batch = iterator.next()
        except StopIteration:
            iterator.reset()
            found.append("end")
        else:
            arrays = [*batch.data, *(batch.label or ())]
            found.append([batch.pad, *((a.shape, a.tostype("default").asnumpy().tobytes()) for a in arrays)])
    return found


@pytest.mark.parametrize("name", ITERATORS)
def test_a_run_continues_where_another_one_was(tmp_path: Path, name: str):
    write_images(tmp_path)
    iterator = ITERATORS[name](tmp_path)
    for _ in range(9):  # within epochs, at their ends, and where rows are rolled over
        contents(iterator, 1)
        state, drawing = json.loads(json.dumps(iterator.state_dict())), drawn()
        resumed = ITERATORS[name](tmp_path)
        contents(resumed, 2)  # so that it is somewhere else
        draw_as(drawing)
        expected = contents(iterator, 5)
        draw_as(drawing)
        resumed.load_state_dict(state)
        assert contents(resumed, 5) == expected
        draw_as(drawing)
        iterator.load_state_dict(state)
