"""Pipes and devices in place of files are refused at once; lines that almost match a kind of text are told in one pass."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import twofold as mx
from twofold.command.contents.text import looks_like_csv, looks_like_index, looks_like_libsvm, looks_like_list
from twofold.errors import FileAccessError
from twofold.formats.pickle_machine import Name
from twofold.formats.pickle_numpy import NUMPY_BUILDERS, Parts
from twofold.formats.records import DTypeRecord

READERS: list[Callable[[str], object]] = [
    mx.nd.load,
    mx.sym.load,
    lambda path: mx.recordio.MXRecordIO(path, "r"),
    lambda path: mx.io.CSVIter(data_csv=path, data_shape=(1,), batch_size=1),
    lambda path: mx.image.ImageIter(1, (3, 2, 2), path_imglist=path, path_root="."),
    lambda path: mx.gluon.nn.Dense(1).load_parameters(path),
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("read", READERS)
def test_a_pipe_that_nobody_writes_is_refused(read: Callable[[str], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileAccessError, match="a pipe"):
        read(str(tmp_path / "pipe"))


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no device of zeros")
@pytest.mark.parametrize("read", READERS)
def test_a_device_that_never_ends_is_refused(read: Callable[[str], object]) -> None:
    with pytest.raises(FileAccessError, match="device"):
        read("/dev/zero")


@pytest.mark.parametrize("looks_like", [looks_like_csv, looks_like_index, looks_like_libsvm, looks_like_list])
@pytest.mark.parametrize("text", [b"1" * 20_000, b"1 1:1" * 5000, b"1:1 " * 5000, b"1 , " * 5000, b"1\t" * 9000 + b"\t"])
def test_a_line_that_almost_matches_is_refused_in_one_pass(looks_like: Callable[[bytes], bool], text: bytes) -> None:
    start = time.process_time()
    assert not looks_like(text + b"x,")
    assert time.process_time() - start < 1  # milliseconds; all ways to divide the line take minutes


@pytest.mark.parametrize("shape", [(1 << 20, 1), (1, 1 << 20), (1 << 10, 1 << 10), (2,) * 20], ids=str)
def test_a_large_array_in_fortran_order_is_read_at_once(shape: tuple[int, ...]) -> None:
    data = os.urandom(4 << 20)
    start = time.process_time()
    record = NUMPY_BUILDERS[Name("numpy.core.multiarray", "_reconstruct")](
        Parts((Name("numpy", "ndarray"),), (1, shape, DTypeRecord("float32"), 1, data), [])
    )
    assert time.process_time() - start < 2
    # the elements at the two ends stay there, in both orders
    assert (record.data[:4], record.data[-4:]) == (data[:4], data[-4:])  # type: ignore[attr-defined]
