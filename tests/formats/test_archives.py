"""One file out of an archive: its claims about sizes are checked before they take memory, and every fault is a `FormatError`."""

import gzip
import io
import os
import tarfile
import tracemalloc
import zipfile

import pytest

from twofold.errors import FormatError
from twofold.formats.archives import read_tarred, read_zipped

CONTENT = bytes(range(256)) * 12
LARGE = 1 << 26


def tar_of(name="folder/a.bin", content=CONTENT, **settings):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        for key, value in settings.items():
            setattr(member, key, value)
        archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def sparse_tar(size):
    """A sparse file of GNU's first format: one piece of 512 bytes, and gaps."""
    member = tarfile.TarInfo("folder/a.bin")
    member.size, member.type = 512, tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"00000000000\0" + b"00000001000\0"
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(512 + 1024)


def pax_tar(header):
    first = tarfile.TarInfo("pax")
    first.type, first.size = tarfile.XHDTYPE, len(header)
    return first.tobuf() + header.ljust(512, b"\0") + tar_of()


def zip_of(method=zipfile.ZIP_DEFLATED, content=CONTENT):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr("a.bin", content)
    return bytearray(data.getvalue())


@pytest.fixture
def archive(tmp_path):
    def write(data):
        (tmp_path / "archive").write_bytes(data)
        return tmp_path / "archive"

    return write


def most_memory(action):
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="archive: ") as caught:
            action()
        return tracemalloc.get_traced_memory()[1], caught
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_the_first_file_of_the_name_is_read_from_any_folder(packed, archive):
    path = archive(packed(tar_of()))
    assert read_tarred(path, "a.bin", 10**6, 10**6) == CONTENT
    assert read_tarred(path, "b.bin", 10**6, 10**6) is None


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_a_file_is_read_from_a_zip_archive(method, archive):
    assert read_zipped(archive(zip_of(method)), "a.bin", 10**6) == CONTENT


CLAIMS = {
    "sparse": sparse_tar(LARGE),
    "large": tar_of(content=bytes(LARGE)),
    "large file before it": tar_of("other", bytes(LARGE)),
    "large header": tar_of(content=bytes(LARGE), type=tarfile.XHDTYPE),
}


@pytest.mark.parametrize("data", CLAIMS.values(), ids=list(CLAIMS))
def test_what_a_tar_archive_claims_takes_no_memory(data, archive):
    path = archive(gzip.compress(data, 1))
    used, _ = most_memory(lambda: read_tarred(path, "a.bin", LARGE // 2, LARGE // 2))
    assert used < LARGE // 16


@pytest.mark.parametrize("most", [LARGE // 2, 2 * LARGE], ids=["above the bound", "out of proportion"])
def test_what_a_zip_archive_claims_takes_no_memory(most, archive):
    path = archive(zip_of(content=bytes(LARGE)))
    used, caught = most_memory(lambda: read_zipped(path, "a.bin", most))
    assert used < LARGE // 16
    assert "larger than such a file can be" in str(caught.value)


HEADERS = [b"30 GNU.sparse.size=zz\n", b"99999999999999999999999 a=b\n", b"0 a=b\n"]
TARS = [*map(pax_tar, HEADERS), b"no archive", gzip.compress(tar_of())[:60], gzip.compress(os.urandom(4000)), tar_of()[:900]]


@pytest.mark.parametrize("data", TARS, ids=[*map(str, HEADERS), "text", "cut", "noise", "cut inside the file"])
def test_a_damaged_tar_archive_raises_the_documented_error(data, archive):
    with pytest.raises(FormatError, match="archive: the archive is damaged"):
        read_tarred(archive(data), "a.bin", 10**6, 10**6)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compression_is_refused(method, archive):
    with pytest.raises(FormatError, match="compressed in a way that is not read"):
        read_zipped(archive(zip_of(method)), "a.bin", 10**6)


def damaged_zip(place, value):
    data = zip_of()
    data[place : place + len(value)] = value
    return data


def encrypted_zip():
    data = zip_of()
    data[data.index(b"PK\1\2") + 8] |= 1
    data[6] |= 1
    return data


ZIPS = {
    "content": damaged_zip(50, b"\xff" * 20),
    "encrypted": encrypted_zip(),
    "cut": zip_of()[:-30],
    "empty": b"",
    "another name": zip_of(),
}


@pytest.mark.parametrize("kind", ZIPS)
def test_a_damaged_zip_archive_raises_the_documented_error(kind, archive):
    with pytest.raises(FormatError, match="archive: not an archive of"):
        read_zipped(archive(ZIPS[kind]), "b.bin" if kind == "another name" else "a.bin", 10**6)
