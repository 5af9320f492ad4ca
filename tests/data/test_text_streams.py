"""Text files read a piece at a time: the same rows by pieces of any size, bounded memory, and rows that are skipped."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, MissingFileError, MXNetError, ParameterError, ShapeError
from twofold.io import text_rows

from tests.cases import later_in_ci

SIZES = [(1, 0), (7, 1), (40, 100), (200, 10**6)]


@pytest.fixture(params=SIZES, ids=lambda sizes: f"pieces of {sizes[0]}")
def small_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of few bytes, of which few are kept."""
    monkeypatch.setattr(text_rows, "PIECE", request.param[0])
    monkeypatch.setattr(text_rows, "KEPT", request.param[1])


def content(array: Any) -> list[Any]:
    parts = [array] if array.stype == "default" else [array.data, array.indices, array.indptr]
    return [(part.dtype, part.shape, part.asnumpy().tolist()) for part in parts]


def epochs(batches: Any, count: int = 3) -> list[Any]:
    found = []
    for _ in range(count):
        found.append([[content(b.data[0]), content(b.label[0]), b.pad, b.index.tolist()] for b in batches])
        batches.reset()
    return found


def sets(folder: Path) -> list[tuple[Any, dict[str, Any]]]:
    """Iterators with their options, over files with empty and long lines, other ends of lines, and none at the end."""
    draw = random.Random(0)
    ends = ["\n", "\r\n", "\n\n", "\r"]
    for name, count in (("a", 17), ("b", 1), ("c", 9)):
        rows = [[draw.randint(-999, 999) / 8 for _ in range(3)] for _ in range(count)]
        (folder / f"{name}.csv").write_bytes("".join(",".join(map(str, r)) + draw.choice(ends) for r in rows).strip().encode())
        whole = "".join(",".join(str(int(x)) for x in r) + "\n" for r in rows)
        (folder / f"{name}.int").write_text(whole)
        pairs = (" ".join(f"{c}:{x}" for c, x in enumerate(r) if x > 0) for r in rows)
        text = "".join(f"{k} {p}{draw.choice(['', ' # x', ' '])}{draw.choice(ends)}" for k, p in enumerate(pairs))
        (folder / f"{name}.svm").write_bytes(f"# begin\n{text}".encode())
    csv, svm = (";".join(f"{folder}/{name}.{kind}" for name in "abc") for kind in ("csv", "svm"))
    whole = csv.replace(".csv", ".int")
    found: list[tuple[Any, dict[str, Any]]] = []
    for batch_size in (1, 4, 30):
        for round_batch in (True, False):
            common = {"batch_size": batch_size, "round_batch": round_batch, "data_shape": (3,)}
            found.append((mx.io.CSVIter, {"data_csv": csv, **common}))
            found.append(
                (mx.io.CSVIter, {"data_csv": whole, "dtype": "int64", "label_csv": csv, "label_shape": (3,), **common} | {"dtype": None})
            )
        found.append((mx.io.LibSVMIter, {"data_libsvm": svm, "data_shape": (3,), "batch_size": batch_size}))
        labeled = {"data_libsvm": svm, "data_shape": (3,), "label_libsvm": svm, "label_shape": (3,), "batch_size": batch_size}
        found += [(mx.io.LibSVMIter, {**labeled, "num_parts": 3, "part_index": k}) for k in range(3)]
    found.append((mx.io.CSVIter, {"data_csv": whole, "dtype": "int32", "data_shape": (3,), "batch_size": 4}))
    return found


def test_batches_do_not_depend_on_the_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sets(tmp_path)
    expected = [epochs(make(**options)) for make, options in made]
    assert sum(len(each[0]) for each in expected) > 100
    for piece, kept in SIZES:
        monkeypatch.setattr(text_rows, "PIECE", piece)
        monkeypatch.setattr(text_rows, "KEPT", kept)
        assert [epochs(make(**options)) for make, options in made] == expected


@pytest.mark.usefixtures("small_pieces")
def test_a_run_continues_in_the_middle_without_what_came_before(tmp_path: Path) -> None:
    for make, options in sets(tmp_path):
        one, other = make(**options), make(**options)
        list(one)
        one.reset()
        if not one.iter_next():
            continue
        other.load_state_dict(one.state_dict())
        assert epochs(one) == epochs(other)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("parts", [1, 2, 5, 40])
def test_parts_have_every_row_once(tmp_path: Path, parts: int) -> None:
    svm = sets(tmp_path)[2][1]["data_csv"].replace(".csv", ".svm")
    whole = [b.label[0].asscalar() for b in mx.io.LibSVMIter(svm, (3,))]
    assert len(whole) == 27
    found = [[b.label[0].asscalar() for b in mx.io.LibSVMIter(svm, (3,), num_parts=parts, part_index=k)] for k in range(parts)]
    assert list(itertools.chain(*found)) == whole


@pytest.mark.usefixtures("small_pieces")
def test_wrong_rows_are_named_by_their_places_in_the_file(tmp_path: Path) -> None:
    for name, text in (("a.csv", "1,2\n" * 30), ("b.csv", "1,2\n" * 40 + "1,x\n"), ("c.csv", "1,2\n" * 40 + "1\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "a.svm").write_text("1 0:1\n" * 40 + "1 7:1\n")
    (tmp_path / "b.svm").write_text("1 0:1\n" * 40 + "x\n")
    a = f"{tmp_path}/a.csv;{tmp_path}/"
    for make, message in (
        (lambda: mx.io.CSVIter(f"{a}b.csv", (2,)), r"b\.csv: row 41 is not numbers with commas between: given 1,x"),
        (lambda: mx.io.CSVIter(f"{a}c.csv", (2,)), r"c\.csv: row 41 is of length 1"),
        (lambda: mx.io.LibSVMIter(f"{tmp_path}/a.svm", (3,)), r"a\.svm: row 41: a column out of range: given 7 of 3"),
        (lambda: mx.io.LibSVMIter(f"{tmp_path}/b.svm", (3,)), r"b\.svm: row 41 is not in LibSVM's format: given x"),
    ):
        with pytest.raises(FormatError, match=message):
            list(make())


@pytest.mark.usefixtures("small_pieces")
def test_data_and_labels_of_different_lengths_raise_where_one_ends(tmp_path: Path) -> None:
    for name, count in (("few", 50), ("many", 60)):
        (tmp_path / name).write_text("".join(f"{k}\n" for k in range(count)))
    for data, labels, message in (("few", "many", "50 and 60"), ("many", "few", "60 and 50")):
        with pytest.raises(ShapeError, match=message):
            list(mx.io.CSVIter(f"{tmp_path}/{data}", (1,), f"{tmp_path}/{labels}", batch_size=5))


def test_a_file_that_changes_meanwhile_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_rows, "PIECE", 40)
    monkeypatch.setattr(text_rows, "KEPT", 0)
    for changed in ("1\n" * 50, "10\n" * 100, ""):
        (tmp_path / "a").write_text("1\n" * 100)
        batches = mx.io.CSVIter(str(tmp_path / "a"), (1,), batch_size=10)
        list(batches)
        (tmp_path / "a").write_text(changed)
        batches.reset()
        with pytest.raises(FormatError, match="the file is not what it was"):
            list(batches)


RESIDENT = """
import sys, twofold as mx
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
kind, small, large = sys.argv[1:]
mx.io.text_rows.KEPT = 4 << 20
make = lambda path: (mx.io.CSVIter if kind == "csv" else mx.io.LibSVMIter)(path, (50,), batch_size=64)
most = lambda batches: max(anonymous() for batch in batches if batch.label[0].wait_to_read() is None)
most(make(small))
before = anonymous()
print(most(make(large)) - before)
"""


@pytest.mark.ci
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's figures of a process")
@pytest.mark.parametrize("kind", later_in_ci(["csv", "svm"]))
def test_the_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    row = ",".join("7" for _ in range(50)) if kind == "csv" else "1 " + " ".join(f"{k}:7" for k in range(50))
    for name, count in (("small", 100), ("large", 200_000 if kind == "csv" else 70_000)):  # 40 MB of numbers in memory
        (tmp_path / name).write_text(f"{row}\n" * count)
    command = [sys.executable, "-c", RESIDENT, kind, str(tmp_path / "small"), str(tmp_path / "large")]
    assert int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) < 25_000  # KiB


@pytest.mark.usefixtures("small_pieces")
def test_rows_that_are_wrong_are_skipped_with_their_labels(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,1\n2\n3,3\n4,x\n5,5\n6,6,6\n\n7,7\n")
    (tmp_path / "b.csv").write_text("10\n20\n30\n40\nbad\n60\n70\n")
    batches = mx.io.CSVIter(f"{tmp_path}/a.csv", (2,), f"{tmp_path}/b.csv", batch_size=1, on_bad_sample="skip")
    for _ in range(2):
        with pytest.warns(
            UserWarning,
            match=r"CSVIter: skipped 4 samples .*a\.csv: row 2 is of length 1.*a\.csv: row 4 is not numbers.*given 4,x.*; and 1 more",
        ):
            found = [(b.data[0].asnumpy().tolist(), b.label[0].asscalar(), b.index.tolist()) for b in batches]
        assert found == [([[1, 1]], 10, [0]), ([[3, 3]], 30, [2]), ([[7, 7]], 70, [6])]
        assert batches.skipped.count == 4
        batches.reset()
    (tmp_path / "a.svm").write_text("# rows\n1 0:1\n2 9:1\nx\n4 1:4\n5 0:\n6 # 9:9\n")
    svm = mx.io.LibSVMIter(f"{tmp_path}/a.svm", (3,), batch_size=1, on_bad_sample="skip")
    with pytest.warns(UserWarning, match=r"skipped 3 samples .*a\.svm: row 2: a column out of range: given 9 of 3"):
        assert [(b.label[0].asscalar(), b.data[0].asnumpy().tolist()) for b in svm] == [
            (1, [[1, 0, 0]]),
            (4, [[0, 4, 0]]),
            (6, [[0, 0, 0]]),
        ]


def test_files_that_cannot_be_read_are_skipped_among_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\n")
    names = f"{tmp_path}/a.csv;{tmp_path}/missing.csv"
    with pytest.raises(MissingFileError, match=r"missing\.csv"):
        mx.io.CSVIter(names, (1,))
    batches = mx.io.CSVIter(names, (1,), on_bad_sample="skip")
    with pytest.warns(UserWarning, match=r"skipped 1 sample .*missing\.csv"):
        assert [b.data[0].asscalar() for b in batches] == [1, 2]
    with pytest.raises(MissingFileError, match=r"missing\.csv"):
        mx.io.CSVIter(f"{tmp_path}/missing.csv", (1,), on_bad_sample="skip")
    with pytest.raises(ParameterError, match="use 'raise' or 'skip'"):
        mx.io.CSVIter(names, (1,), on_bad_sample="ignore")


def test_a_file_without_a_good_row_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\ny\n")
    for batches in (
        mx.io.CSVIter(f"{tmp_path}/a", (1,), on_bad_sample="skip"),
        mx.io.LibSVMIter(f"{tmp_path}/a", (1,), on_bad_sample="skip"),
    ):
        with pytest.raises(FormatError, match="no sample can be read: given 2 of them"):
            list(batches)


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_of_damaged_files_the_good_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Damage within one row loses that row: 300 random files, by pieces of random sizes."""
    draw = random.Random(2)
    read = 0
    for _ in range(300):
        monkeypatch.setattr(text_rows, "PIECE", draw.choice([1, 8, 30, 1000]))
        monkeypatch.setattr(text_rows, "KEPT", draw.choice([0, 1000]))
        lines = [f"{k},{k}".encode() if kind == "csv" else f"{k} 0:{k}".encode() for k in range(10, 30)]
        bad = draw.randrange(len(lines))
        damaged = bytearray(lines[bad])
        damaged[draw.randrange(len(damaged))] = draw.choice(b"\0x:;,#-\xff")
        lines[bad] = bytes(damaged)
        (tmp_path / "a").write_bytes(b"\n".join(lines))
        make = mx.io.CSVIter if kind == "csv" else mx.io.LibSVMIter
        batches = make(str(tmp_path / "a"), (2,), batch_size=1, on_bad_sample="skip")
        read_now = list(itertools.islice(batches, 20 - batches.skipped.count))
        found = [int(b.data[0].asnumpy()[0, 0]) if kind == "csv" else int(b.label[0].asscalar()) for b in read_now]
        kept = [k for k in range(10, 30) if k != 10 + bad]
        assert [k for k in found if k in kept] == kept or len(found) == 20, bytes(damaged)
        read += len(found)
    assert read >= 300 * 19


def test_options_that_do_not_exist_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    for name, message in (
        ("?foo=1", "no such option .*: given foo; it has format, label_column, weight_column, delimiter"),
        ("?format=libsvm", "format: given libsvm; it reads csv"),
        ("?label_column=x", "label_column after the name of a file is no integer: given x"),
    ):
        with pytest.raises(ParameterError, match=message):
            mx.io.CSVIter(f"{tmp_path}/a.csv{name}", (2,))
    (tmp_path / "a#1?b=2.csv").write_text("3,4\n")
    assert next(mx.io.CSVIter(f"{tmp_path}/a#1?b=2.csv", (2,))).data[0].asnumpy().tolist() == [[3, 4]]
    with pytest.raises(MXNetError):
        mx.io.LibSVMIter(f"{tmp_path}/a.csv?indexing_mode=x", (2,))


def test_dropped_columns_are_skipped_with_their_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("9,1,8,2\n9,bad,8,2\n9,3,8,4\n")
    batches = mx.io.CSVIter(f"{tmp_path}/a.csv?label_column=0&weight_column=2", (2,), on_bad_sample="skip")
    with pytest.warns(UserWarning, match="skipped 1 sample"):
        assert np.concatenate([b.data[0].asnumpy() for b in batches]).tolist() == [[1, 2], [3, 4]]
