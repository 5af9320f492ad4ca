"""``python -m twofold im2rec``: lists and records of a folder of images."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import twofold as mx
from twofold.command import main

from tests.data.programs.images import _pixels, _png

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("PIL")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for k in range(6):
        path = tmp_path / "images" / ("cats" if k % 2 else "dogs") / f"{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_png(_pixels(20 + k, 30, k)))
    (tmp_path / "images" / "readme.txt").write_text("x")
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    return main(["im2rec", str(folder / "set"), str(folder / "images"), *arguments])


def test_a_list_and_records_of_a_folder(folder: Path) -> None:
    assert run(folder, "--list", "--recursive", "--no-shuffle") == 0
    lines = (folder / "set.lst").read_text().splitlines()
    assert lines[0] == "0\t0.000000\tcats/1.png"
    assert lines[5] == "5\t1.000000\tdogs/4.png"
    assert run(folder, "--pass-through", "--num-thread", "3") == 0
    file = mx.recordio.MXIndexedRecordIO(str(folder / "set.idx"), str(folder / "set.rec"), "r")
    assert file.keys == list(range(6))
    header, data = mx.recordio.unpack(file.read_idx(4))
    assert (header.label, header.id, data) == (1, 4, _png(_pixels(22, 30, 2)))


def test_images_are_changed(folder: Path) -> None:
    run(folder, "--list", "--recursive")
    assert run(folder, "--resize", "10", "--encoding", ".png") == 0
    sizes = [
        a.shape
        for batch in mx.io.ImageRecordIter(path_imgrec=str(folder / "set.rec"), data_shape=(3, 10, 10), batch_size=6)
        for a in batch.data
    ]
    assert sizes == [(6, 3, 10, 10)]
    file = mx.recordio.MXRecordIO(str(folder / "set.rec"), "r")
    shapes = {mx.image.imdecode(mx.recordio.unpack(file.read())[1]).shape for _ in range(6)}
    assert all(min(shape[:2]) == 10 < max(shape[:2]) for shape in shapes)
    assert run(folder, "--center-crop", "--resize", "8", "--color", "0", "--encoding", ".png") == 0
    file.reset()
    file = mx.recordio.MXRecordIO(str(folder / "set.rec"), "r")
    _, image = mx.recordio.unpack_img(file.read())
    assert image is not None
    assert image.shape == (8, 8)


def test_images_stay_as_they_are(folder: Path) -> None:
    run(folder, "--list", "--recursive", "--no-shuffle")
    run(folder, "--encoding", ".png")
    for batch in mx.io.ImageRecordIter(path_imgrec=str(folder / "set.rec"), data_shape=(3, 20, 30), batch_size=1, dtype="uint8"):
        np.testing.assert_array_equal(batch.data[0].asnumpy()[0].transpose(1, 2, 0), _pixels(21, 30, 1)[:20])
        break


def test_lists_in_parts(folder: Path) -> None:
    run(folder, "--list", "--recursive", "--train-ratio", "0.5", "--test-ratio", "0.34")
    names = {path.name: len(path.read_text().splitlines()) for path in folder.glob("*.lst")}
    assert names == {"set_train.lst": 3, "set_test.lst": 2, "set_val.lst": 1}
    for path in folder.glob("*.lst"):
        path.unlink()
    run(folder, "--list", "--recursive", "--chunks", "2")
    lines = [line for k in range(2) for line in (folder / f"set_{k}.lst").read_text().splitlines()]
    assert sorted(int(line.split("\t")[0]) for line in lines) == list(range(6))


def test_all_labels_are_packed(folder: Path) -> None:
    (folder / "set.lst").write_text("7\t2\t5\t0.1\t0.2\tdogs/0.png\n")
    run(folder, "--pack-label", "--pass-through")
    header, _ = mx.recordio.unpack(mx.recordio.MXRecordIO(str(folder / "set.rec"), "r").read())
    np.testing.assert_allclose(header.label, [2, 5, 0.1, 0.2])


def test_images_that_cannot_be_read_are_left_out_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "images" / "dogs" / "0.png").write_bytes(b"nothing")
    (folder / "set.lst").write_text("0\t1\tdogs/0.png\n1\t1\tdogs/2.png\n2\t1\tdogs/9.png\n")
    assert run(folder) == 1
    printed = capsys.readouterr().out
    assert "0.png" in printed
    assert "9.png" in printed
    assert (folder / "set.idx").read_text() == "1\t0\n"


def test_names_of_images_do_not_command_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "images" / "cats").rename(folder / "images" / "c\x1b[31m")
    (folder / "images" / "c\x1b[31m" / "1.png").write_bytes(b"nothing")
    assert run(folder, "--list", "--recursive") == 0
    assert run(folder) == 1
    shown = capsys.readouterr()
    assert shown.out.count(r"c\x1b[31m") == 2
    assert "\x1b" not in shown.out


def test_what_is_missing_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder) == 1
    assert "make one with --list" in capsys.readouterr().err
    assert main(["im2rec", str(folder / "set"), str(folder / "none"), "--list"]) == 1
    assert "no folder" in capsys.readouterr().err


def test_an_interrupted_run_leaves_the_old_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(folder, "--list", "--recursive")
    run(folder, "--pass-through")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    def interrupt(*arguments: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("twofold.command.im2rec._record", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="an image that never ends is a pipe")
def test_a_killed_run_leaves_the_old_records_and_the_next_removes_what_it_left(folder: Path) -> None:
    run(folder, "--list", "--recursive", "--no-shuffle")
    run(folder, "--pass-through")
    old = [(folder / name).read_bytes() for name in ("set.rec", "set.idx")]
    with (folder / "set.lst").open("a") as file:
        file.write("6\t0\tpipe\n")
    os.mkfifo(folder / "images" / "pipe")
    program = "import sys; from twofold.command import im2rec, main; im2rec.read_file = lambda p: open(p, 'rb').read(); main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "im2rec", str(folder / "set"), str(folder / "images"), "--pass-through"]
    process = subprocess.Popen(command)  # reads pipes, which im2rec refuses
    with open(folder / "images" / "pipe", "wb"):  # waits until the program reads the last image
        process.kill()
        process.wait()
    assert [(folder / name).read_bytes() for name in ("set.rec", "set.idx")] == old
    assert len(list(folder.glob(".set.rec.*.tmp"))) == 1
    (folder / "images" / "pipe").unlink()
    (folder / "images" / "pipe").write_bytes(_png(_pixels(5, 5, 9)))
    assert run(folder, "--pass-through") == 0
    assert list(folder.glob(".*")) == []
    assert len(mx.recordio.MXIndexedRecordIO(str(folder / "set.idx"), str(folder / "set.rec"), "r").keys) == 7


@pytest.mark.skipif(os.name != "posix", reason="limits of files are POSIX's")
@pytest.mark.parametrize("is_new", [True, False])
def test_a_full_disk_leaves_no_half_records(folder: Path, is_new: bool, capsys: pytest.CaptureFixture[str]) -> None:
    import resource

    run(folder, "--list", "--recursive", "--no-shuffle")
    if not is_new:
        run(folder, "--pass-through")
    before = {path.name: path.read_bytes() for path in folder.glob("set.*")}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        assert run(folder, "--pass-through") != 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "set.rec: File too large" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.glob("set.*")} == before
    assert list(folder.glob(".*")) == []
