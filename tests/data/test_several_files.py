"""Several files as one sequence: indexes, places in the middle of an epoch, URLs, and files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, MissingFileError, ParameterError, ShapeError
from twofold.formats.files import read_file, write_file

from tests.data.programs.images import _png
from tests.data.programs.record_iterators import _shards

pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.timeout(60)

NUMBERS = [0, 1, 2, 3, 4, 10, 11, 12, 20, 21, 22, 23]


def records(path: str, **options: Any) -> Any:
    return mx.io.ImageRecordIter(path_imgrec=path, **{"data_shape": (3, 4, 4), "batch_size": 1, "round_batch": False, **options})


def seen(batches: Any) -> list[int]:
    """The labels of an epoch; pixels must be the label's."""
    found = []
    for batch in batches:
        label = int(batch.label[0].asnumpy()[0])
        assert (batch.data[0].asnumpy() == label).all()
        found.append(label)
    return found


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    return _shards(mx, str(tmp_path))


def indexes(paths: list[str]) -> str:
    return ";".join(path.replace(".rec", ".idx") for path in paths)


def test_patterns_name_files_and_their_indexes(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(paths[0]).parent
    assert seen(records(str(folder / r"[a-c]\.rec"))) == NUMBERS
    assert seen(records(str(folder / r"[a-c]\..*"))) == NUMBERS  # not the indexes and lists beside them
    assert seen(records(str(folder / r"[bc]\.rec"), path_imgidx=str(folder / r"[bc]\.idx"))) == NUMBERS[5:]
    monkeypatch.chdir(folder)
    assert seen(records(r"[ab]\.rec")) == NUMBERS[:8]
    (folder / "a[1].rec").write_bytes((folder / "a.rec").read_bytes())
    assert seen(records(str(folder / "a[1].rec"))) == NUMBERS[:5]  # a name that exists is a name
    for wrong in (r"z.*\.rec", "[a.rec", "none/.*"):
        with pytest.raises(MissingFileError, match="no such file"):
            records(str(folder / wrong))


def test_patterns_of_urls() -> None:
    pytest.importorskip("fsspec")
    for name, rows in (("a1.csv", b"1\n2\n"), ("a2.csv", b"3\n"), ("b1.csv", b"4\n")):
        write_file(f"memory://patterns/{name}", [rows])
    batches = mx.io.CSVIter("memory://patterns/a.*csv", (1,), batch_size=1)
    assert [batch.data[0].asnumpy().tolist() for batch in batches] == [[[1]], [[2]], [[3]]]


@pytest.mark.parametrize("index", ["beside", "none", "each", "joint"])
def test_records_are_the_same_by_every_index(paths: list[str], index: str) -> None:
    given = {"each": indexes(paths), "joint": str(Path(paths[0]).parent / "joint.idx")}.get(index, "")
    if index == "none":
        for path in paths:
            Path(path).with_suffix(".idx").unlink()
    options = {"path_imgidx": given, "shuffle": True, "seed": 4}
    assert seen(records(";".join(paths), path_imgidx=given)) == NUMBERS
    assert seen(records(";".join(paths), **options)) == seen(records(";".join(paths), shuffle=True, seed=4))
    assert sorted(n for k in range(3) for n in seen(records(";".join(paths), num_parts=3, part_index=k, **options))) == NUMBERS
    parts = [seen(records(";".join(paths), num_parts=3, part_index=k, path_imgidx=given)) for k in range(3)]
    assert parts == [NUMBERS[:4], NUMBERS[4:8], NUMBERS[8:]]


def test_a_folder_is_read_by_names(paths: list[str]) -> None:
    folder = Path(paths[0]).parent
    (folder / "joint.idx").unlink()
    (folder / "images.lst").write_text("0\t0\ta.png\n")
    assert seen(records(str(folder))) == NUMBERS
    (folder / "inner").mkdir()
    with pytest.raises(MissingFileError, match="inner has no file to read"):
        records(str(folder / "inner"))


def test_an_epoch_goes_on_in_the_second_file(paths: list[str]) -> None:
    one, other = (records(";".join(paths), shuffle=True) for _ in range(2))
    first = [int(one.next().label[0].asnumpy()[0]) for _ in range(7)]
    other.load_state_dict(one.state_dict())
    assert sorted(first + seen(other)) == NUMBERS


def test_objects_are_read_from_several_files(tmp_path: Path) -> None:
    for name, labels in (("a", [1.0, 2.0]), ("b", [3.0])):
        file = mx.recordio.MXRecordIO(str(tmp_path / f"{name}.rec"), "w")
        for label in labels:
            file.write(mx.recordio.pack((0, [2, 5, label, 0, 0, 1, 1], 0, 0), _png(np.zeros((4, 4, 3), "uint8"))))
        file.close()
    names = f"{tmp_path}/b.rec;{tmp_path}/a.rec"
    batches = mx.io.ImageDetRecordIter(path_imgrec=names, data_shape=(3, 4, 4), batch_size=1, round_batch=False)
    assert [batch.label[0].asnumpy()[0, 6] for batch in batches] == [3, 1, 2]


def test_urls_and_paths_are_one_sequence(paths: list[str]) -> None:
    pytest.importorskip("fsspec")
    a, b, _, c = paths
    for path in (b, c):
        write_file(f"memory://several/{Path(path).name}", [read_file(path)])
    assert seen(records(f"{a};memory://several/b.rec;memory://several/c.rec")) == NUMBERS
    assert seen(records("memory://several")) == NUMBERS[5:]
    with pytest.warns(UserWarning, match="skipped 1 sample .*memory://several/missing.rec"):
        assert seen(records(f"{a};memory://several/missing.rec;{c}", on_bad_sample="skip")) == NUMBERS[:5] + NUMBERS[8:]


def test_rows_come_from_several_urls() -> None:
    pytest.importorskip("fsspec")
    write_file("memory://rows/b.csv", [b"5,6"])
    write_file("memory://rows/a.csv", [b"1,2\n3,4\n"])
    for names in ("memory://rows", "memory://rows/a.csv;memory://rows/b.csv"):
        assert [float(batch.data[0][0, 0].asscalar()) for batch in mx.io.CSVIter(names, (2,))] == [1, 3, 5]


def _missing(path: Path) -> None:
    path.unlink()


def _no_records(path: Path) -> None:
    path.write_bytes(b"x" * 400)
    path.with_suffix(".idx").unlink()


def _wrong_index(path: Path) -> None:
    path.with_suffix(".idx").write_text("no index")


@pytest.mark.parametrize("damage", [_missing, _no_records, _wrong_index])
def test_a_file_that_cannot_be_read_raises_or_is_skipped(paths: list[str], damage: Callable[[Path], None]) -> None:
    a, b, _, c = paths
    damage(Path(b))
    with pytest.raises((MissingFileError, FormatError), match=r"b\.(rec|idx)"):
        records(f"{a};{b};{c}")
    batches = records(f"{a};{b};{c}", on_bad_sample="skip")
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"skipped 1 sample that cannot be read: .*b\.(rec|idx)"):
            assert seen(batches) == NUMBERS[:5] + NUMBERS[8:]
        assert batches.skipped.count == 1
        batches.reset()


def test_damage_at_the_same_place_of_two_files_counts_twice(paths: list[str]) -> None:
    a, b, _, c = paths
    for path in (a, c):
        Path(path).with_suffix(".idx").unlink()
        content = bytearray(Path(path).read_bytes())
        content[0] ^= 1
        Path(path).write_bytes(content)
    with pytest.warns(UserWarning, match=r"skipped 2 samples .*a\.rec: byte 0: .*c\.rec: byte 0: "):
        assert seen(records(f"{a};{b};{c}", on_bad_sample="skip")) == [1, 2, 3, 4, 10, 11, 12, 21, 22, 23]


def test_a_bad_image_is_named_by_its_file(paths: list[str], tmp_path: Path) -> None:
    file = mx.recordio.MXRecordIO(str(tmp_path / "bad.rec"), "w")
    file.write(mx.recordio.pack((0, 1.0, 0, 0), b"no image"))
    file.close()
    with pytest.raises(FormatError, match=r"bad\.rec: record 0: "):
        seen(records(f"{paths[0]};{tmp_path}/bad.rec"))


def test_names_that_cannot_be_right_raise(paths: list[str], tmp_path: Path) -> None:
    a, b, _, c = paths
    with pytest.raises(ParameterError, match="2 for 3 files"):
        records(f"{a};{b};{c}", path_imgidx=indexes([a, b]))
    with pytest.raises(MissingFileError, match="a name of a file is empty"):
        records(f"{a};;{b}")
    for options in ({}, {"on_bad_sample": "skip"}):
        with pytest.raises(MissingFileError, match=r"x\.rec"):
            records(f"{tmp_path}/x.rec;{tmp_path}/y.rec", **options)
    with pytest.raises(MissingFileError, match=r"x\.rec"):  # its size is needed to divide the index
        records(f"{a};{tmp_path}/x.rec", path_imgidx=str(tmp_path / "joint.idx"), on_bad_sample="skip")


def test_errors_in_rows_name_their_file(tmp_path: Path) -> None:
    for name, text in (
        ("a.csv", "1,2\n"),
        ("b.csv", "1,x\n"),
        ("c.csv", "1\n"),
        ("a.svm", "1 0:1\n"),
        ("b.svm", "1 0:1\n1 7:1\n"),
        ("e", ""),
    ):
        (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=r"b\.csv"):
        list(mx.io.CSVIter(f"{tmp_path}/a.csv;{tmp_path}/b.csv", (2,)))
    with pytest.raises(ShapeError, match=r"c\.csv: CSVIter: rows of length 1"):
        list(mx.io.CSVIter(f"{tmp_path}/a.csv;{tmp_path}/c.csv", (2,)))
    with pytest.raises(FormatError, match=r"b\.svm: row 2: a column out of range"):
        list(mx.io.LibSVMIter(f"{tmp_path}/a.svm;{tmp_path}/b.svm", (3,)))
    with pytest.raises(FormatError, match="the file is empty"):
        mx.io.CSVIter(f"{tmp_path}/e;{tmp_path}/e", (2,))
    with pytest.raises(MissingFileError, match="missing"):
        mx.io.CSVIter(f"{tmp_path}/a.csv;{tmp_path}/missing.csv", (2,))
