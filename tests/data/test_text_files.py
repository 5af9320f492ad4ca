"""Iterators over text files where the real MXNet cannot be asked: what is wrong, parts, and files changed at random."""

from __future__ import annotations

import random
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import FormatError, MXNetError, ParameterError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "a.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize(
    ("text", "row"),
    [("1 0:1\n2 4:1\n", "row 2"), ("1 0:1\na 0:1\n", "row 2"), ("1 0\n2 3\n", "row 1"), ("1 0:1:2\n", "row 1"), ("1 -1:2\n", "row 1")],
)
def test_rows_that_are_not_libsvms_are_named(tmp_path: Path, text: str, row: str) -> None:
    with pytest.raises(FormatError, match=row):
        mx.io.LibSVMIter(written(tmp_path, text), (4,), batch_size=1)


def test_files_of_different_lengths_raise(tmp_path: Path) -> None:
    data, label = tmp_path / "a", tmp_path / "b"
    data.write_text("1 0:1\n1 1:1\n")
    label.write_text("1 0:1\n")
    with pytest.raises(ShapeError, match="2 and 1"):
        mx.io.LibSVMIter(str(data), (4,), str(label), (4,), batch_size=1)
    data.write_text("1\n2\n")
    label.write_text("1\n")
    with pytest.raises(ShapeError, match="2 and 1"):
        mx.io.CSVIter(str(data), (1,), str(label), batch_size=1)


def test_the_line_with_no_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="row 2 is not numbers with commas between: given 3,x"):
        mx.io.CSVIter(written(tmp_path, "1,2\n3,x\n"), (2,), batch_size=1)
    with pytest.raises(FormatError, match="row 2 has a number that int32 cannot hold: given 3,99999999999"):
        mx.io.CSVIter(written(tmp_path, "1,2\n3,99999999999\n"), (2,), batch_size=1, dtype="int32")


def test_loading_is_left_out_on_request(tmp_path: Path) -> None:
    iterator = mx.io.CSVIter(written(tmp_path, "".join(f"{k}\n" for k in range(8))), (1,), batch_size=2)
    first = lambda count: [float(iterator.next().data[0][0].asscalar()) for _ in range(count)]  # noqa: E731
    assert first(2) == [0, 2]
    assert iterator.debug_skip_load() is None
    assert first(4) == [2, 2, 2, 2]  # as the real MXNet: the current batch, from then on the epoch's first one
    iterator.reset()
    assert first(3) == [0, 0, 0]
    assert [iterator.iter_next() for _ in range(4)] == [True, True, True, False]


def test_parts_have_all_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"{k} 0:{k}\n" for k in range(11)))
    parts = [mx.io.LibSVMIter(path, (1,), num_parts=3, part_index=k, batch_size=1) for k in range(3)]
    assert [float(b.label[0].asscalar()) for part in parts for b in part] == list(range(11))
    with pytest.raises(ParameterError, match="count parts from 0"):
        mx.io.LibSVMIter(path, (1,), num_parts=3, part_index=3, batch_size=1)


@pytest.mark.parametrize("make", [lambda p: mx.io.CSVIter(p, (3,), batch_size=2), lambda p: mx.io.LibSVMIter(p, (3,), batch_size=2)])
def test_iterators_continue_where_others_were(tmp_path: Path, make: Any) -> None:
    text = "1,2,3\n4,5,6\n7,8,9\n" if "CSV" in str(make.__code__.co_names) else "1 0:1\n2 1:2\n3 2:3\n"
    one, other = make(written(tmp_path, text)), make(written(tmp_path, text))
    list(one)
    one.reset()
    next(one)
    other.load_state_dict(one.state_dict())
    for _ in range(3):
        assert [b.index.tolist() for b in one] == [b.index.tolist() for b in other]
        one.reset()
        other.reset()


def changed_at_random(kind: str, count: int) -> Iterator[bytes]:
    draw = random.Random(1)
    good = b"1,2.5,-3e2\n4,5,6\n" * 4 if kind == "csv" else b"1 0:1 2:2.5\n-1 1:-3e2\n2\n" * 4
    for _ in range(count):
        content = bytearray(good)
        for _ in range(draw.randint(1, 4)):
            content[draw.randrange(len(content))] = draw.choice(b"\0\n\r,: #;-+.e019\xff")
        del content[draw.randint(len(content) // 2, len(content)) :]
        yield bytes(content)


@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_machine_code_and_numpy_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    pytest.importorskip("llvmlite")
    make = mx.io.CSVIter if kind == "csv" else mx.io.LibSVMIter

    def outcome(content: bytes, by_machine_code: bool) -> object:
        monkeypatch.setattr(SETTINGS, "jit", by_machine_code)
        try:
            batches = list(make(written(tmp_path, content), (3,), batch_size=1))
        except MXNetError as error:
            return str(error)
        return [(batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()) for batch in batches]

    outcomes = [outcome(content, True) for content in changed_at_random(kind, 250)]
    assert sum(isinstance(found, list) for found in outcomes) > 5
    for content, found in zip(changed_at_random(kind, 250), outcomes, strict=True):
        assert outcome(content, False) == found, content


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["csv", "svm"])
def test_files_changed_at_random_load_or_raise(tmp_path: Path, kind: str) -> None:
    make = mx.io.CSVIter if kind == "csv" else mx.io.LibSVMIter
    raised = 0
    for content in changed_at_random(kind, 1000):
        path = written(tmp_path, content)
        try:
            for batch in make(path, (3,), batch_size=2):
                assert batch.data[0].shape == (2, 3)
        except (MXNetError, FormatError, ShapeError):
            raised += 1
    assert 100 < raised < 1000


def test_exponents_in_integers_are_ignored_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, b"1,2\n3.5,-4e2\n")
    with pytest.warns(UserWarning, match="exponents of numbers are ignored in int32: given -4e2; pass dtype='float32'"):
        assert next(mx.io.CSVIter(path, (2,), batch_size=2, dtype="int32")).data[0].asnumpy().tolist() == [[1, 2], [3, -4]]
    monkeypatch.setattr(SETTINGS, "strict", True)
    with pytest.raises(ParameterError, match="exponents"):
        next(mx.io.CSVIter(path, (2,), batch_size=2, dtype="int32"))


def test_a_long_number_takes_linear_time(tmp_path: Path) -> None:
    start = time.process_time()
    with pytest.raises(FormatError, match="row 1 is not numbers with commas between"):
        mx.io.CSVIter(written(tmp_path, f"{'1' * 60_000},e\n1,2\n"), (2,), batch_size=1, dtype="int32")
    assert time.process_time() - start < 10  # quadratic time was a minute


@pytest.mark.parametrize(("digits", "value"), [(30, 0.1), (900, 0.1), (1001, None)])
def test_long_numbers_of_libsvm_are_read_or_refused(tmp_path: Path, digits: int, value: float | None) -> None:
    # a comment makes the slow parser read the file
    path = written(tmp_path, f"1 1:2 # first\n1 1:0.1{'0' * (digits - 3)}\n" + "1 1:1\n" * 100_000)
    if value is None:
        with pytest.raises(FormatError, match=r"row 2 has a number that is too long: given 0\.10+…, 1001 characters"):
            mx.io.LibSVMIter(path, (2,), batch_size=1)
        return
    tracemalloc.start()
    try:
        batches = mx.io.LibSVMIter(path, (2,), batch_size=2)
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()
    assert next(batches).data[0].asnumpy()[:, 1].tolist() == pytest.approx([2, value])
