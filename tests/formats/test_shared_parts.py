"""Files that store a part once and name it many times: neither reading them nor telling of them costs more than the file's size allows."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from twofold.command.contents.content import Content, Selection
from twofold.command.contents.reading import content_of
from twofold.errors import FormatError
from twofold.formats.pickle_records import load_states
from twofold.formats.records import ArrayRecord, ObjectRecord
from twofold.formats.torch_files import load_torch_file
from twofold.formats.value_text import brief_repr

if TYPE_CHECKING:
    from pathlib import Path

LONG = b"A" * (1 << 18)
#: A pickle's beginning, after which ``h\x01`` is the long text.
TEXT = b"\x80\x02X" + struct.pack("<I", len(LONG)) + LONG + b"q\x010"
MANY = b"h\x01" * 4000
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
BYTES = b"cnumpy\ndtype\nX\x02\x00\x00\x00u1K\x00K\x01\x87R(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"


def with_shared_shape() -> bytes:
    return TEXT + b"}K\x00" + ARRAY + b"(K\x01(" + MANY + b"t" + BYTES + b"h\x01tbs."


def with_shared_elements() -> bytes:
    one = ARRAY + b"(K\x01J" + struct.pack("<i", len(LONG)) + b"\x85" + BYTES + b"h\x01tb"
    return TEXT + b"}(" + b"".join(b"J" + struct.pack("<i", k) + one for k in range(300)) + b"u."


def with_shared_name() -> bytes:
    name = b"\x80\x02X" + struct.pack("<I", len(LONG)) + LONG + b"q\x010X\x0f\x00\x00\x00mxnet.optimizerq\x020"
    return name + b"h\x02h\x01\x93" * 1000 + b"."


def torch_file() -> bytes:
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ"
    data = TEXT + b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00(" + MANY + b"t)\x89)tR."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/data/0", b"\0" * 4)
    return file.getvalue()


def peak(call: Callable[[], object]) -> int:
    """The most memory that a call needs, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def shown(path: Path, data: bytes) -> Content:
    path.write_bytes(data)
    return content_of(str(path), Selection())


@pytest.mark.parametrize(
    ("read", "data", "message"),
    [
        (load_states, with_shared_shape(), "a NumPy array has an invalid shape: given \\('A+…"),
        (load_states, with_shared_elements(), "far more memory than the file"),
        (load_states, with_shared_name(), "the name of a class or function is too long"),
        (load_torch_file, torch_file(), "shape and strides do not match: given \\('A+… and \\(\\)"),
    ],
    ids=["shape", "elements", "name", "torch"],
)
def test_a_part_that_is_named_many_times_is_refused_in_little_memory(read: Callable[[bytes], object], data: bytes, message: str):
    def refused() -> None:
        with pytest.raises(FormatError, match=message) as caught:
            read(data)
        assert len(str(caught.value)) < 500

    assert peak(refused) < 5 * len(data) + (16 << 20)


def test_attributes_of_an_optimizer_are_shown_in_short(tmp_path: Path):
    table = b"}(" + b"".join(b"J" + struct.pack("<i", k) + b"h\x01" for k in range(4000)) + b"u"
    data = (
        TEXT
        + b"}cmxnet.optimizer.optimizer\nSGD\n)\x81}(X\x01\x00\x00\x00a"
        + table
        + b"X\x01\x00\x00\x00bh\x01X\x01\x00\x00\x00cK\x05ub\x86."
    )
    rows = {row[0]: row[1] for row in shown(tmp_path / "x.states", data).tables[0].rows}
    assert rows["c"] == 5
    assert rows["b"] == "A" * 199 + "…"
    assert str(rows["a"]).startswith("{0: 'AAA")
    assert len(str(rows["a"])) == 200


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, "a", {2: [None, 1.5]}), "(1, 'a', {2: [None, 1.5]})"),
        ((), "()"),
        ([b"x", frozenset({3})], "[b'x', frozenset({3})]"),
        (ArrayRecord("float32", (1,), bytes(4)), "float32 (1,)"),
        (ObjectRecord("m", "C", (), {"a": 1, "b": "x"}), "m.C(a=1, b='x')"),
        ([[[[[[[1]]]]]]], "[[[[[[[…]]]]]]]"),
        (1 << 600, "<an integer of 601 bits>"),
        ([object], "[<type>]"),
    ],
)
def test_the_short_text_of_a_value(value: object, text: str):
    assert brief_repr(value) == text


def test_a_short_text_ends_where_it_is_cut():
    assert brief_repr(["ab", "cd"], 8) == "['ab', …"
    assert brief_repr(["ab"], 6) == "['ab']"


# ---------------------------------------------------------------------------------------------------------- archives of arrays


def archive(names: list[str]) -> bytes:
    file, array = io.BytesIO(), io.BytesIO()
    np.save(array, np.arange(100))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as members:
        for name in names:
            members.writestr(name, array.getvalue())
    return file.getvalue()


def listed_twice(data: bytes, name: bytes) -> bytes:
    """An archive of one member whose directory has a second entry for it, of another name of the same length."""
    begin, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\x05\x06")
    entry = data[begin:end]
    tail = bytearray(data[end:])
    struct.pack_into("<HHI", tail, 8, 2, 2, 2 * len(entry))
    return data[:begin] + entry + entry.replace(b"a.npy", name) + bytes(tail)


@pytest.mark.parametrize(("name", "message"), [(b"a.npy", "two members have one name"), (b"b.npy", "its members overlap")])
def test_an_archive_that_lists_a_member_twice_is_refused(tmp_path: Path, name: bytes, message: str):
    content = shown(tmp_path / "x.npz", listed_twice(archive(["a.npy"]), name))
    assert not content.arrays
    assert message in str(content.fault)


def test_an_archive_of_several_members_is_shown(tmp_path: Path):
    assert [a.name for a in shown(tmp_path / "x.npz", archive(["a.npy", "b.npy", "c.npy"])).arrays] == ["a", "b", "c"]


@pytest.mark.parametrize("shape", ["('a',)", "(None,)", "(1.5,)", "{1: 2}", "(True,)"])
def test_a_shape_of_other_values_is_a_fault(tmp_path: Path, shape: str):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    content = shown(tmp_path / "x.npy", b"\x93NUMPY\x03\x00" + struct.pack("<I", len(header)) + header + bytes(64))
    assert "not a tuple of integers" in str(content.fault)
