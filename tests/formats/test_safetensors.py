"""safetensors files, against the package `safetensors`."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from twofold.errors import FormatError
from twofold.formats.records import ITEM_SIZES, ArrayRecord
from twofold.formats.safetensors import dump_safetensors, load_safetensors

from tests.formats.arrays import assert_same, numpy_dtype, to_record

ARRAYS = {
    **{f"of {dtype}": (np.arange(6) % 2).astype(numpy_dtype(dtype)).reshape(2, 3) for dtype in ITEM_SIZES},
    "0-d": np.array(2.5),
    "empty": np.zeros((0, 3), "float32"),
    "ü/:": np.arange(3, dtype="int8"),
}
RECORDS = {name: to_record(array) for name, array in ARRAYS.items()}


def with_header(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one(dtype: str = "U8", shape: object = (2,), offsets: object = (0, 2), data: bytes = b"ab") -> bytes:
    return with_header({"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}, data)


@pytest.mark.parametrize("metadata", [None, {"format": "np"}])
def test_the_bytes_match_the_safetensors_package(metadata: dict[str, str] | None):
    from safetensors.numpy import save

    # The package takes bfloat16 from NumPy in some of its versions only.
    arrays = {name: array for name, array in ARRAYS.items() if name != "of bfloat16"}
    assert dump_safetensors({name: RECORDS[name] for name in arrays}, metadata) == save(arrays, metadata)


def test_we_read_files_of_the_safetensors_package():
    from safetensors.numpy import save

    arrays, metadata = load_safetensors(save({"a": ARRAYS["of float32"], "b": ARRAYS["0-d"]}, {"by": "us"}))
    assert metadata == {"by": "us"}
    assert set(arrays) == {"a", "b"}
    assert_same(arrays["a"], ARRAYS["of float32"])
    assert_same(arrays["b"], ARRAYS["0-d"])


def test_the_safetensors_package_reads_our_files():
    from safetensors import deserialize

    read = dict(deserialize(dump_safetensors(RECORDS)))
    assert {name: (tuple(entry["shape"]), bytes(entry["data"])) for name, entry in read.items()} == {
        name: (record.shape, bytes(record.data)) for name, record in RECORDS.items()
    }
    assert read["of bfloat16"]["dtype"] == "BF16"


def test_every_element_type_round_trips():
    assert load_safetensors(dump_safetensors(RECORDS, {"a": "b"})) == (RECORDS, {"a": "b"})


def test_arrays_are_views_into_the_file():
    data = dump_safetensors(RECORDS)
    record = load_safetensors(data)[0]["of float64"]
    assert isinstance(record.data, memoryview)
    assert record.data.obj is data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file ends inside the header's size"),
        (struct.pack("<Q", 2**40), "its header would be too large"),
        (struct.pack("<Q", 9) + b"{}", "the file ends inside the header"),
        (with_header(b"{"), "safetensors header is not JSON"),
        (with_header(b"\xff\xff"), "is not UTF-8"),
        (with_header([]), "not an object of arrays"),
        (with_header({"__metadata__": {"a": 1}}), "not an object of strings"),
        (with_header({"a": 1}), "array 'a': its type, shape and offsets do not match"),
        (one("F8_E4M3"), "do not match"),
        (one(shape=(3,)), "do not match"),
        (one(shape=(True, 2)), "do not match"),
        (one(shape=(-1, -2)), "do not match"),
        (one(shape=(0, 2**62, 2**62), offsets=(0, 0), data=b""), "do not match"),
        (one(offsets=(0, 3)), "do not match"),
        (one(offsets=(1, 3), data=b"abc"), "leave gaps"),
        (one(data=b"abc"), "leave gaps"),
    ],
)
def test_a_damaged_file_is_rejected(data: bytes, reason: str):
    with pytest.raises(FormatError, match=reason):
        load_safetensors(data)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("sparse", ArrayRecord("float32", (2, 1), b"", "row_sparse", (ArrayRecord("int64", (0,)),))),
        ("shapeless", ArrayRecord("float32", None)),
        ("__metadata__", ArrayRecord("float32", (0,))),
    ],
)
def test_values_the_format_cannot_represent_are_rejected(name: str, record: ArrayRecord):
    with pytest.raises(FormatError, match="cannot be written"):
        dump_safetensors({name: record})
