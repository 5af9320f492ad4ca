"""idx files, plain and compressed."""

from __future__ import annotations

import gc
import gzip
import struct
import sys
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from twofold.errors import FormatError
from twofold.formats.datasets import IdxReader, load_idx

from tests.formats.arrays import assert_same

if TYPE_CHECKING:
    from pathlib import Path

CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}


def idx(array: np.ndarray, shape: tuple[int, ...] | None = None) -> bytes:
    shape = array.shape if shape is None else shape
    header = struct.pack(f">HBB{len(shape)}I", 0, CODES[array.dtype.name], len(shape), *shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_element_type_is_read(dtype: str, pack):
    array = (np.arange(24) - 7).astype(dtype).reshape(2, 3, 4)
    assert_same(load_idx(pack(idx(array))), array)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "read", [lambda path: load_idx(path.read_bytes()).data, lambda path: IdxReader(path.open("rb"))], ids=["all", "rows"]
)
def test_what_is_read_leaves_no_warning_among_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack, read):
    path = tmp_path / "images"
    path.write_bytes(pack(idx(np.arange(24, dtype="uint8"))))
    warned = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: warned.append(repr(given.exc_value)))
    cycle = [read(path)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert warned == []


def test_mnist_files_are_read_as_by_mxnet(shared: Path):
    expected = np.load(shared / "fixtures" / "mnist.expected.npz")
    images = load_idx((shared / "fixtures" / "tiny-images-idx3-ubyte").read_bytes())
    labels = load_idx((shared / "fixtures" / "tiny-labels-idx1-ubyte").read_bytes())
    assert images.shape is not None
    assert labels.shape == images.shape[:1]
    batches = [expected[name] for name in expected.files]
    pixels = next(batch for batch in batches if batch.ndim > 1)  # (n, 1, h, w) in [0, 1)
    stored = np.frombuffer(images.data, "uint8").reshape(images.shape)[: len(pixels)]
    np.testing.assert_allclose(stored.ravel() / 256, pixels.ravel(), rtol=1e-5)


def test_bytes_of_a_plain_file_are_not_copied():
    data = idx(np.arange(200, dtype="uint8"))
    record = load_idx(data)
    assert isinstance(record.data, memoryview)
    assert record.data.obj is data


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\1\0\x08\1", "not an IDX file"),
        (b"\0\0\x0a\1", "not an IDX file"),
        (b"\0\0\x08", "the file ends inside the type"),
        (b"\0\0\x08\2\0\0", "the file ends inside the shape"),
        (b"\0\0\x08\x40" + bytes(4 * 64), "more than 32 axes"),
        (idx(np.zeros(3, "uint8"), (4,)), "declares 4 bytes"),
        (idx(np.zeros(5, "uint8"), (4,)), "declares 4 bytes"),
        (idx(np.zeros(0, "uint8"), (2**32 - 1, 2**31)), "declares"),
        (idx(np.zeros(0, "uint8"), (0, 2**32 - 1, 2**32 - 1)), "more elements than can be addressed"),
    ],
)
def test_a_damaged_file_is_rejected(pack, data: bytes, reason: str):
    with pytest.raises(FormatError, match=reason):
        load_idx(pack(data))


def test_damaged_compression_is_rejected():
    packed = bytearray(gzip.compress(idx(np.arange(200, dtype="uint8"))))
    packed[20] ^= 0xFF
    with pytest.raises(FormatError):
        load_idx(packed)


def test_no_more_is_decompressed_than_the_header_calls_for():
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    packed = packer.compress(idx(np.zeros(4, "uint8"))) + packer.compress(bytes(10**7)) + packer.flush()
    with pytest.raises(FormatError, match="given more bytes"):
        load_idx(packed)
