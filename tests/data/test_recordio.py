"""Files of records: damaged, cut, remote, without an index; readers in threads and forked processes; images that cannot be read."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DTypeError, EngineError, FileAccessError, FormatError, MissingDependency, NotReady, ParameterError, ShapeError
from twofold.formats.recordio import RecordReader
from twofold.recordio import MXIndexedRecordIO, MXRecordIO

MAGIC = struct.pack("<I", 0xCED7230A)
CONTENTS = [b"hello", b"world!!", b"in" + 2 * b"  " + b"xx" + MAGIC + b"parts"]


def written(path: Path, contents: list[bytes] = CONTENTS) -> bytes:
    file = MXRecordIO(path, "w")
    for content in contents:
        file.write(content)
    file.close()
    return path.read_bytes()


def indexed(folder: Path, count: int = 40) -> MXIndexedRecordIO:
    file = MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "w")
    for key in range(count):
        file.write_idx(key, b"%d" % key * (key + 1))
    file.close()
    return MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "r")


def test_files_of_mxnet_are_read_and_written_alike(shared: Path, tmp_path: Path):
    fixtures = shared / "fixtures"
    contents = [bytes.fromhex(text) for text in json.loads((fixtures / "plain.expected.json").read_text())]
    file = MXRecordIO(fixtures / "plain.rec", "r")
    assert [file.read() for _ in contents] == contents
    assert file.read() is None
    assert written(tmp_path / "a.rec", contents) == (fixtures / "plain.rec").read_bytes()
    file = MXIndexedRecordIO(fixtures / "indexed.idx", fixtures / "indexed.rec", "r")
    assert [file.read_idx(10 * k) for k in (3, 0, 4)] == [b"record_3", b"record_0", b"record_4"]


def test_images_of_mxnet_are_decoded_as_there(shared: Path):
    file = MXIndexedRecordIO(shared / "fixtures" / "images.idx", shared / "fixtures" / "images.rec", "r")
    expected = np.load(shared / "fixtures" / "images.expected.npz")
    for key in range(6):
        header, image = mx.recordio.unpack_img(file.read_idx(key), 1)
        assert image is not None
        np.testing.assert_array_equal(image[..., ::-1], expected[f"decoded_{key}"])
        np.testing.assert_array_equal(header.label, expected[f"label_{key}"])


def test_a_cut_file_says_where_it_ends(tmp_path: Path):
    data = written(tmp_path / "a.rec")
    whole = {0: 0, 16: 1, 32: 2, len(data): 3}
    for size in range(len(data) + 1):
        (tmp_path / "cut.rec").write_bytes(data[:size])
        file = MXRecordIO(tmp_path / "cut.rec", "r")
        for content in CONTENTS[: max(count for end, count in whole.items() if end <= size)]:
            assert file.read() == content
        if size in whole:
            assert file.read() is None
        else:
            with pytest.raises(FormatError, match=r"cut\.rec: byte \d+: the file ends inside a record"):
                file.read()


@pytest.mark.parametrize("kind", [2, 3, 4, 7])
def test_parts_without_their_start_are_no_record(tmp_path: Path, kind: int):
    (tmp_path / "a.rec").write_bytes(MAGIC + struct.pack("<I", kind << 29))
    with pytest.raises(FormatError, match="lacks some of them"):
        MXRecordIO(tmp_path / "a.rec", "r").read()


def test_a_record_cannot_start_inside_another_that_lacks_its_end(tmp_path: Path):
    start = MAGIC + struct.pack("<I", 1 << 29)
    (tmp_path / "a.rec").write_bytes(start + MAGIC + struct.pack("<I", 0))
    with pytest.raises(FormatError, match="byte 8: a record in several parts lacks"):
        MXRecordIO(tmp_path / "a.rec", "r").read()
    (tmp_path / "a.rec").write_bytes(start)
    with pytest.warns(UserWarning, match="no index"), pytest.raises(FormatError, match="ends inside"):
        MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")


def test_a_length_beyond_the_file_allocates_nothing():
    class Source:
        """A file of one header. Its `read` is never asked for the content."""

        def read(self, size: int) -> bytes:
            assert size == 8
            return MAGIC + struct.pack("<I", 2**29 - 1)

        def seek(self, offset: int, whence: int = 0) -> int:
            return 8 if whence else offset

    reader: Any = RecordReader(Source())  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="0 of 536870912 bytes"):
        reader.read()


def test_a_growing_file_is_read_as_it_grows(tmp_path: Path):
    writer, large = MXRecordIO(tmp_path / "a.rec", "w"), bytes(3 << 20)
    reader = MXRecordIO(tmp_path / "a.rec", "r")
    assert reader.read() is None
    for content in (b"small", large):
        writer.write(content)
        assert reader.read() == content
    assert reader.read() is None


def test_a_missing_index_is_made_from_the_file(tmp_path: Path):
    expected = indexed(tmp_path).idx
    (tmp_path / "a.idx").unlink()
    with pytest.warns(UserWarning, match=r"no index .*a\.idx: the records of .*a\.rec are numbered from 0"):
        file = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")
    assert file.idx == expected
    assert file.keys == list(expected)
    assert file.read() == b"0"
    assert not (tmp_path / "a.idx").exists()
    with pytest.warns(UserWarning, match="no index"):
        data = mx.gluon.data.RecordFileDataset(tmp_path / "a.rec")
    assert data[-1] == b"39" * 40


def test_an_index_of_another_file_is_noticed(tmp_path: Path):
    indexed(tmp_path).close()
    for offset, message in [(3, "no record starts here"), (10**6, "no record starts at the end")]:
        (tmp_path / "a.idx").write_text(f"7\t{offset}\n")
        with pytest.raises(FormatError, match=message):
            MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r").read_idx(7)
    (tmp_path / "a.idx").write_text("7\t0\n8\t-4\n")
    with pytest.raises(FormatError, match=r"a\.idx: byte 4: a negative offset"):
        MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")


def test_unknown_keys_and_wrong_uses_say_what_to_do(tmp_path: Path):
    file = indexed(tmp_path)
    with pytest.raises(KeyError, match="no record of this key"):
        file.read_idx(99)
    with pytest.raises(NotReady, match="flag 'w'"):
        file.write(b"")
    file.close()
    with pytest.raises(NotReady, match="flag 'r'"):
        file.read()
    with pytest.raises(ParameterError, match="Invalid flag a"):
        MXRecordIO(tmp_path / "a.rec", "a")
    writer = MXRecordIO(tmp_path / "b.rec", "w")
    with pytest.raises(DTypeError, match="a record must be bytes"):
        writer.write("text")  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="close it first"):
        pickle.dumps(writer)
    writer.close()
    assert pickle.loads(pickle.dumps(writer)).is_open is False


def test_threads_share_a_reader(tmp_path: Path):
    file, wrong = indexed(tmp_path), []

    def check(seed: int) -> None:
        keys = np.random.default_rng(seed).integers(0, 40, 300).tolist()
        wrong.extend(key for key in keys if file.read_idx(key) != b"%d" % key * (key + 1))

    threads = [threading.Thread(target=check, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_threads_share_a_writer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    write = MXRecordIO.write

    def slow(self: MXRecordIO, buf: bytes) -> None:  # another thread runs between the look at the place and the record
        time.sleep(0.0005)
        write(self, buf)

    monkeypatch.setattr(MXRecordIO, "write", slow)
    writer = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    threads = [threading.Thread(target=lambda k=k: [writer.write_idx(n, b"%d" % n * (n + 1)) for n in range(k, 40, 4)]) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    reader = MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")
    assert sorted(reader.keys) == list(range(40))
    assert [key for key in range(40) if reader.read_idx(key) != b"%d" % key * (key + 1)] == []


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_a_position_of_its_own(tmp_path: Path):
    file, plain = indexed(tmp_path), MXRecordIO(tmp_path / "a.rec", "r")
    writer = MXRecordIO(tmp_path / "b.rec", "w")
    writer.write(b"of the parent")
    plain.read()
    inbox, outbox = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = [plain.read(), plain.read(), file.read_idx(30)[:4]]
            try:
                writer.write(b"of the child")
            except EngineError:
                found.append(b"refused")
            os.write(outbox, pickle.dumps(found))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert pickle.loads(os.read(inbox, 1000)) == [b"11", b"222", b"3030", b"refused"]
    assert plain.read() == b"11"
    assert file.read() == b"0"
    writer.close()
    assert MXRecordIO(tmp_path / "b.rec", "r").read() == b"of the parent"


def test_remote_files_are_read_in_parts_and_written():
    memory = pytest.importorskip("fsspec").filesystem("memory")
    file = MXIndexedRecordIO("memory://records/a.idx", "memory://records/a.rec", "w")
    for key in range(3):
        file.write_idx(key, b"r%d" % key)
    file.close()
    assert memory.cat("/records/a.rec").count(MAGIC) == 3
    assert mx.gluon.data.RecordFileDataset("memory://records/a.rec")[1] == b"r1"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error():
    with pytest.raises(FileAccessError, match="cannot write a record: No space left"):
        MXRecordIO("/dev/full", "w").write(b"x")


def test_a_record_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("twofold.formats.recordio.LARGEST", 7)
    file = MXRecordIO(tmp_path / "a.rec", "w")
    file.write(b"1234567")
    with pytest.raises(ParameterError, match="too large"):
        file.write(b"12345678")


def test_labels_beyond_the_record_are_an_error():
    with pytest.raises(FormatError, match="a record of 3 labels is too short"):
        mx.recordio.unpack(mx.recordio.pack((0, [1, 2, 3], 1, 1), b"")[:-1])


def test_wrong_images_are_refused():
    with pytest.raises(ShapeError, match=r"pack_img: not an image"):
        mx.recordio.pack_img((0, 1, 1, 1), np.zeros((2, 2, 5)))
    with pytest.raises(ParameterError, match="no image format"):
        mx.recordio.pack_img((0, 1, 1, 1), np.zeros((2, 2, 3)), img_fmt="png")


def test_an_array_can_be_an_image_and_a_label(tmp_path: Path):
    image = mx.nd.arange(12).reshape((2, 2, 3))
    header, found = mx.recordio.unpack_img(mx.recordio.pack_img((0, mx.nd.array([1, 2]), 1, 1), image, img_fmt=".png"))
    assert header.label.tolist() == [1, 2]
    np.testing.assert_array_equal(found, image.asnumpy())  # type: ignore[arg-type]


def test_without_pillow_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingDependency, match=r"pip install 'twofold\[image\]'"):
        mx.recordio.unpack_img(mx.recordio.pack((0, 1, 1, 1), b"x"))


def test_gray_images_of_16_bits_keep_them_as_stored():
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    pixels = np.array([[0, 255, 256], [4660, 65535, 9]], "uint16")
    image.fromarray(pixels).save(file, "PNG")
    record = mx.recordio.pack((0, 1, 1, 1), file.getvalue())
    found = [mx.recordio.unpack_img(record, iscolor)[1] for iscolor in (-1, 0, 1)]
    np.testing.assert_array_equal(found[0], pixels)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found[1], pixels >> 8)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found[2][..., 0], pixels >> 8)  # type: ignore[index]


def test_a_cut_file_without_an_index_says_what_to_do(tmp_path: Path):
    (tmp_path / "a.rec").write_bytes(written(tmp_path / "whole.rec")[:-3])
    with pytest.warns(UserWarning, match="there is no index"), pytest.raises(FormatError, match=r"a\.rec: byte .*im2rec.*ImageRecordIter"):
        mx.gluon.data.vision.ImageRecordDataset(tmp_path / "a.rec")


class Headers(io.BytesIO):
    """A file in memory that counts how often it is read."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.count += 1
        return super().read(size)


def part(kind: int, length: int) -> bytes:
    return MAGIC + struct.pack("<I", kind << 29 | length)


@pytest.mark.parametrize("last", [b"", part(3, 0) + b"damaged!"], ids=["unfinished", "finished"])
def test_records_that_lead_to_the_same_parts_are_searched_in_linear_time(last: bytes):
    counts = []
    for n in (1000, 2000):
        # the first part of each record ends where the middle parts begin, which all records have in common
        file = Headers(b"".join(part(1, 8 * (n - k - 1)) for k in range(n)) + part(2, 0) * n + last)
        faults: list[FormatError] = []
        found = list(RecordReader(file).offsets(faults.append))
        assert found == ([0] if last else [])
        assert faults[0].what == "the file ends inside a record" if not last else "no record starts here"
        counts.append(file.count)
    assert counts[1] < 2.5 * counts[0]


def test_records_inside_records_are_yielded_a_few_times_at_most():
    n = 500
    data = b"".join(part(0, 8 * (n - k - 1)) for k in range(n)) + b"damaged!"
    reader = RecordReader(io.BytesIO(data))
    # each of them ends at the damaged place, and has the next one inside
    assert list(reader.offsets(lambda error: None)) == [8 * k for k in range(9)]
    assert len(list(reader.offsets(lambda error: None))) == 9


def test_the_records_of_a_file_that_grows_are_found():
    file = io.BytesIO()
    reader = RecordReader(file)
    file.write(part(1, 0) + part(2, 0) * 100)
    assert list(reader.offsets(lambda error: None)) == []
    file.seek(0, io.SEEK_END)
    file.write(part(3, 0))
    assert list(reader.offsets()) == [0]
