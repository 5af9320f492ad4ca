"""Samples that cannot be read: raised or skipped as `on_bad_sample` says, counted, and named in one warning at the end of the epoch."""

from __future__ import annotations

import gc
import json
import os
import resource
import threading
import tracemalloc
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FileAccessError, FormatError, MXNetError, ParameterError
from twofold.gluon.data import DataLoader, SimpleDataset, vision

from tests.data.programs.images import _png

pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.timeout(60)

R = mx.recordio


def image(k: int, size: int = 8) -> bytes:
    return _png(np.full((size, size, 3), k, "uint8"))


def with_size(width: int, height: int) -> bytes:
    """A PNG file whose header promises another size."""
    data = bytearray(image(0))
    data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


#: What may stand in a record instead of an image.
BAD: dict[str, Callable[[int], bytes]] = {
    "cut": lambda k: image(k)[:50],
    "empty": lambda k: b"",
    "text": lambda k: b"no image",
    "damaged": lambda k: image(k).replace(b"IDAT", b"IDXT"),
    "oversized": lambda k: with_size(100_000, 100_000),
}


def written(folder: Path, bad: dict[int, str | bytes], count: int = 20, label: Callable[[int], Any] = float) -> str:
    """A file of records of which some are bad: a kind of content, or a whole record."""
    path = str(folder / "a.rec")
    file = R.MXIndexedRecordIO(str(folder / "a.idx"), path, "w")
    for k in range(count):
        what = bad.get(k)
        content = image(k) if what is None else BAD[what](k) if isinstance(what, str) else b""
        record = what if isinstance(what, bytes) else R.pack(R.IRHeader(0, label(k), k, 0), content)
        file.write_idx(k, record)
    file.close()
    return path


def record_iterator(path: str, **options: Any) -> Any:
    return mx.io.ImageRecordIter(path_imgrec=path, **{"data_shape": (3, 8, 8), "batch_size": 4, "round_batch": False, **options})


def image_iterator(path: str, **options: Any) -> Any:
    return mx.image.ImageIter(4, (3, 8, 8), path_imgrec=path, path_imgidx=path.replace(".rec", ".idx"), **options)


def seen(iterator: Any) -> list[int]:
    """The labels of an epoch; pixels must be the label's."""
    found = []
    for batch in iterator:
        rows = batch.label[0].asnumpy()[: len(batch.label[0]) - (batch.pad or 0)]
        np.testing.assert_array_equal(batch.data[0].asnumpy()[: len(rows), 0, 0, 0], rows)
        found += rows.astype(int).tolist()
    return found


KINDS = {3: "cut", 4: "empty", 9: "text", 10: "damaged", 11: "oversized", 19: b"short"}
GOOD = [k for k in range(20) if k not in KINDS]


@pytest.mark.parametrize("make", [record_iterator, image_iterator])
def test_bad_records_raise_by_default_and_are_named(tmp_path: Path, make: Callable[..., Any]) -> None:
    for k, what in KINDS.items():
        path = written(tmp_path, {k: what})
        with pytest.raises(FormatError, match=rf"a\.rec: record {k}: "):
            seen(make(path))


@pytest.mark.parametrize("threads", [1, 3])
def test_bad_records_are_skipped_as_if_they_were_not_there(tmp_path: Path, threads: int) -> None:
    it = record_iterator(written(tmp_path, KINDS), on_bad_sample="skip", preprocess_threads=threads, prefetch_buffer=2)
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"skipped 6 samples .* record 3: .*; .*record 4: .*; .*record 9: .*; and 3 more$"):
            assert seen(it) == GOOD
        assert it.skipped.count == 6
        assert len(it.skipped.first) == 3
        it.reset()
    assert it.skipped.count == 0


@pytest.mark.filterwarnings("ignore:ImageRecordIter. skipped:UserWarning")
@pytest.mark.parametrize("make", [record_iterator, image_iterator])
def test_a_file_with_bad_records_is_closed_with_its_iterator(tmp_path: Path, make: Callable[..., Any]) -> None:
    path = written(tmp_path, KINDS)
    gc.collect()
    gc.disable()  # errors that were kept would hold the file until a collection
    try:
        iterator = make(path, on_bad_sample="skip")
        next(iterator)
        del iterator
        for thread in threading.enumerate():
            if thread.name.startswith("ImageRecordIter"):
                thread.join(10)
        assert path not in {os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")}
    finally:
        gc.enable()


def test_images_without_an_index_are_skipped_too(tmp_path: Path) -> None:
    path = written(tmp_path, KINDS)
    for it in (
        image_iterator(path, on_bad_sample="skip", last_batch_handle="discard"),
        mx.image.ImageIter(4, (3, 8, 8), path_imgrec=path, on_bad_sample="skip", last_batch_handle="discard"),
    ):
        with pytest.warns(UserWarning, match=r"skipped 6 samples .*a\.rec: record 3: .*; .*record 4: .*; .*record 9: .*; and 3 more$"):
            assert seen(it) == GOOD[:12]
        assert it.skipped.count == 6


def test_an_epoch_without_bad_samples_does_not_warn(tmp_path: Path) -> None:
    path = written(tmp_path, {})
    for make in (record_iterator, image_iterator):
        it = make(path, on_bad_sample="skip")
        assert seen(it) == list(range(20))
        assert it.skipped.count == 0


@pytest.mark.filterwarnings("ignore:.*skipped:UserWarning")
@pytest.mark.parametrize("batches", [0, 1, 3, 5])
def test_an_iterator_resumes_behind_bad_records(tmp_path: Path, batches: int) -> None:
    options = {"on_bad_sample": "skip", "shuffle": True, "rand_mirror": True, "round_batch": True, "seed": 3}
    path = written(tmp_path, KINDS, count=30)
    one, other = record_iterator(path, **options), record_iterator(path, **options, preprocess_threads=1, prefetch_buffer=1)

    def following(it: Any, count: int) -> list[list[float]]:
        found = []
        while len(found) < count:
            if it.iter_next():
                found.append(it.getlabel().asnumpy().tolist())
            else:
                it.reset()
        return found

    following(one, batches)
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))
    rest = following(one, 9)
    assert rest == following(other, 9)
    numbers = [k for batch in following(record_iterator(path, **options), 12) for k in batch]
    assert sorted(numbers[:24]) == sorted({*range(30)} - {*KINDS})  # padding begins the next epoch, which goes on behind it
    assert sorted(numbers[24:]) == sorted({*range(30)} - {*KINDS})


def test_a_file_without_a_good_image_raises(tmp_path: Path) -> None:
    path = written(tmp_path, dict.fromkeys(range(6), "text"), 6)
    for options in ({}, {"round_batch": True}):
        with pytest.raises(FormatError, match="no sample can be read: given 6 of them"):
            seen(record_iterator(path, on_bad_sample="skip", **options))
    with pytest.raises(FormatError, match="no sample can be read"):
        seen(image_iterator(path, on_bad_sample="skip"))
    with pytest.raises(FormatError, match="no sample can be read"):
        list(DataLoader(vision.ImageRecordDataset(path), 2, on_bad_sample="skip"))


def test_wrong_labels_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, {}, label=lambda k: [float(k)] * (3 if k in (2, 7) else 2))
    with pytest.raises(MXNetError, match="record 2 has 3 labels"):
        list(record_iterator(path, label_width=2))
    it = record_iterator(path, label_width=2, on_bad_sample="skip")
    with pytest.warns(UserWarning, match="skipped 2 samples"):
        assert [int(k) for b in it for k in b.label[0].asnumpy()[: 4 - b.pad, 0]] == [k for k in range(20) if k not in (2, 7)]
    it = image_iterator(path, label_width=2, on_bad_sample="skip", last_batch_handle="discard")
    with pytest.warns(UserWarning, match=r"skipped 2 samples .*a\.rec: record 2 has 3 labels: .*; .*record 7 has"):
        assert len(list(it)) == 4


@pytest.mark.parametrize("cls", ["records", "augmenters"])
def test_wrong_labels_of_objects_are_skipped(tmp_path: Path, cls: str) -> None:
    wrong = {2: [2, 5, 1.0], 5: [float("nan")] * 7, 6: [2, 4, 0, 0, 0, 1, 1]}
    path = written(tmp_path, {4: "cut"}, label=lambda k: wrong.get(k, [2, 5, k, 0, 0, 1, 1]))
    index = path.replace(".rec", ".idx")

    def make(**options: Any) -> Any:
        if cls == "records":
            return mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=4, round_batch=False, **options)
        return mx.image.ImageDetIter(4, (3, 8, 8), path_imgrec=path, path_imgidx=index, last_batch_handle="discard", **options)

    with pytest.raises(FormatError, match=r"a\.rec: record 2: Label shape"):
        list(make())
    it = make(on_bad_sample="skip")
    with pytest.warns(UserWarning, match="skipped 4 samples"):
        assert len(list(it)) == 4


def test_an_object_of_another_width_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {}, 3, label=lambda k: [2, 6, k, 0, 0, 1, 1, 7] if k == 1 else [2, 5, k, 0, 0, 1, 1])
    with pytest.raises(FormatError, match=r"a\.rec: record 1: an object .*: given 6 numbers, and label_shape=\(1, 5\)"):
        list(mx.image.ImageDetIter(3, (3, 8, 8), path_imgrec=path))


def test_damage_between_records_is_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, {})
    data = bytearray(Path(path).read_bytes())
    index = {int(k): int(at) for k, at in (line.split() for line in (tmp_path / "a.idx").read_text().splitlines())}
    data[index[5]] ^= 1  # the magic number
    data[index[9] + 4 : index[9] + 8] = (2**29 - 1).to_bytes(4, "little")  # the length
    del data[index[19] + 20 :]
    Path(path).write_bytes(data)
    good = [k for k in range(20) if k not in (5, 9, 19)]
    with pytest.warns(UserWarning, match=f"skipped 3 samples .*a.rec: byte {index[5]}: "):
        assert seen(record_iterator(path, on_bad_sample="skip")) == good
    (tmp_path / "a.idx").unlink()
    for it in (
        record_iterator(path, on_bad_sample="skip"),
        mx.image.ImageIter(4, (3, 8, 8), path_imgrec=path, on_bad_sample="skip", last_batch_handle="discard"),
    ):
        with pytest.warns(UserWarning, match=f"skipped 3 samples .*a.rec: byte {index[5]}: "):
            found = seen(it)
        assert found == good[: len(found)]
        assert len(found) >= 16
    with pytest.raises(FormatError, match=f"byte {index[5]}"):
        record_iterator(path)


def test_lists_are_read_without_their_wrong_lines_and_files(tmp_path: Path) -> None:
    for k in range(6):
        (tmp_path / f"{k}.png").write_bytes(image(k))
    (tmp_path / "3.png").write_bytes(b"")
    lines = [f"{k}\t{k}\t{k}.png" for k in range(6)] + ["x\t1\ta.png", "7\tone\tb.png", "8", "9\t9\tmissing.png"]
    (tmp_path / "a.lst").write_text("\n".join(lines))
    options = {"path_imglist": str(tmp_path / "a.lst"), "path_root": str(tmp_path), "last_batch_handle": "discard"}
    with pytest.raises(FormatError, match="line 7 of a list"):
        mx.image.ImageIter(1, (3, 8, 8), **options)
    it = mx.image.ImageIter(1, (3, 8, 8), on_bad_sample="skip", **options)
    for _ in range(2):
        with pytest.warns(UserWarning, match="skipped 5 samples .* line 7 of a list .* line 8 .* line 9 .*; and 2 more"):
            assert seen(it) == [0, 1, 2, 4, 5]
        it.reset()


# DataLoader


class _Fails(SimpleDataset):
    """Samples of which some cannot be read."""

    def __getitem__(self, idx: int) -> Any:
        if idx in (3, 4, 7):
            raise FormatError("not an image", path=f"{idx}.png")
        if idx == 9:
            raise FileAccessError("cannot read")
        return np.float32(idx)


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}])
def test_loaders_leave_samples_out(workers: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"3\.png"):
        list(DataLoader(_Fails(range(12)), 3, **workers))
    loader = DataLoader(_Fails(range(12)), 3, on_bad_sample="skip", **workers)
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"skipped 4 samples that cannot be read: sample 3: 3\.png: .*; sample 4: .*; and 1 more"):
            assert [batch.asnumpy().tolist() for batch in loader] == [[0, 1, 2], [5], [6, 8], [10, 11]]
        assert loader.skipped.count == 4
        assert loader.skipped.first[0][0] == 3


def test_batches_of_which_nothing_remains_are_left_out(tmp_path: Path) -> None:
    data = vision.ImageRecordDataset(written(tmp_path, {2: "cut", 3: "empty", 5: b"short"}, 6))
    with pytest.warns(UserWarning, match="skipped 3 samples that cannot be read: sample 2: .*a.rec: record 2: "):
        batches = list(DataLoader(data, 2, on_bad_sample="skip"))
    assert [label.asnumpy().tolist() for _, label in batches] == [[0, 1], [4]]


def test_other_errors_of_datasets_are_not_skipped() -> None:
    with pytest.raises(ZeroDivisionError):
        list(DataLoader(SimpleDataset(range(3)).transform(lambda k: 1 / k), 1, on_bad_sample="skip"))


def test_other_policies_raise(tmp_path: Path) -> None:
    path = written(tmp_path, {})
    for make in (record_iterator, image_iterator, lambda path, **how: DataLoader(SimpleDataset([1]), 1, **how)):
        with pytest.raises(ParameterError, match="'raise' or 'skip'"):
            make(path, on_bad_sample="ignore")


# sizes


def test_images_that_are_programs_are_not_run(tmp_path: Path) -> None:
    data = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    with pytest.raises(FormatError, match="not read: given EPS"):
        mx.image.imdecode(data)


def test_headers_that_promise_more_than_the_file_can_have_are_refused() -> None:
    with pytest.raises(FormatError, match="9000 x 9000 pixels in too few bytes"):
        mx.image.imdecode(with_size(9000, 9000))


def _with_header(kind: str) -> bytes:
    """The smallest file of a kind that promises as many pixels as it can."""
    if kind == "JPEG":  # 65,535 x 65,535
        return bytes.fromhex("ffd8ffc0001108ffffffff03012200021101031101ffda000c03010002110311003f00") + bytes(64)
    if kind == "BMP":
        sizes = (54, 40, 100_000, 100_000, 1 | 24 << 16)
        return b"BM" + bytes(8) + b"".join(size.to_bytes(4, "little") for size in sizes) + bytes(24)
    if kind == "PPM":
        return b"P6 100000 100000 255\n" + bytes(64)
    if kind == "GIF":
        return b"GIF89a" + b"\xff\xff\xff\xff" + bytes(3) + b"," + bytes(4) + b"\xff\xff\xff\xff\0\x02" + bytes(64)
    return with_size(100_000, 100_000)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "PPM", "GIF"])
def test_the_size_of_an_image_is_checked_before_it_is_decoded(tmp_path: Path, kind: str) -> None:
    data = _with_header(kind)
    record = R.pack(R.IRHeader(0, 1.0, 1, 0), data)
    path = written(tmp_path, {0: record, 1: record}, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        readers: list[Callable[[], Any]] = [
            lambda: mx.image.imdecode(data),
            lambda: mx.image.imdecode(data, 0),
            lambda: vision.ImageRecordDataset(path)[0],
            lambda: seen(record_iterator(path)),
            lambda: seen(image_iterator(path)),
        ]
        for read in readers:
            with pytest.raises(FormatError):  # what is loaded at the first use is not the image's
                read()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tracemalloc.start()
        try:
            for read in readers:
                with pytest.raises(FormatError, match="too large"):
                    read()
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10  # kilobytes
    assert R.unpack_img(record)[1] is None
