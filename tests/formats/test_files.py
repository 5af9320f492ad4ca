"""Whole files: written atomically, whatever happens in between."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from twofold.errors import FileAccessError, MissingDependency, MissingFileError, MXNetError
from twofold.formats import replacing, urls
from twofold.formats.files import (
    file_exists,
    folder_entries,
    folder_exists,
    join_path,
    make_folder,
    open_file,
    read_file,
    reading_at,
    remove_file,
    with_suffix,
    write_file,
)
from twofold.formats.urls import filesystem

from tests.remote import counted_fetches

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes are POSIX's")


def failing() -> Iterator[bytes]:
    yield b"half"
    raise KeyboardInterrupt


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_written_files_can_be_read(tmp_path: Path):
    write_file(tmp_path / "a", [b"one", memoryview(b"two"), bytearray(b"")])
    assert read_file(tmp_path / "a") == b"onetwo"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_a_file_address_is_a_path(tmp_path: Path):
    write_file(f"file://{tmp_path}/a", [b"x"])
    assert read_file(f"file://{tmp_path}/a") == (tmp_path / "a").read_bytes() == b"x"


def test_an_interrupted_write_leaves_the_old_content_and_nothing_else(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "a", failing())
    assert (tmp_path / "a").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


def test_an_interrupted_write_of_a_new_file_leaves_nothing(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "a", failing())
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    events = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: events.append("sync"))
    monkeypatch.setattr(Path, "replace", lambda self, target: events.append("rename"))
    write_file(tmp_path / "a", [b"x"])
    assert events[:2] == ["sync", "rename"]


@posix
def test_an_existing_file_keeps_its_mode(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)
    write_file(tmp_path / "a", [b"new"])
    assert (mode_of(tmp_path / "a"), (tmp_path / "a").read_bytes()) == (0o640, b"new")


@posix
def test_a_temporary_file_is_no_more_readable_than_the_file_it_replaces(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o600)

    def secret():
        assert [mode_of(path) for path in tmp_path.iterdir()] == [0o600, 0o600]
        yield b"secret"

    write_file(tmp_path / "a", secret())
    assert (tmp_path / "a").read_bytes() == b"secret"


@posix
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path):
    write_file(tmp_path / "a", [b"x"])
    (tmp_path / "b").write_bytes(b"x")
    assert mode_of(tmp_path / "a") == mode_of(tmp_path / "b")


@posix
def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_file(tmp_path / "link", [b"new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@posix
@pytest.mark.skipif(not hasattr(os, "pread"), reason="this system reads files at a position only")
def test_a_read_that_the_system_cuts_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_bytes(bytes(range(10)))
    read = os.pread  # of which one call returns 2 GiB at most on Linux
    monkeypatch.setattr(os, "pread", lambda descriptor, size, offset: read(descriptor, min(size, 3), offset))
    with open_file(tmp_path / "a", "rb") as file:
        assert reading_at(file)(7, 1) == bytes(range(1, 8))
        assert reading_at(file)(7, 8) == bytes([8, 9]), "fewer at the end"


def test_a_device_is_written_and_not_replaced():
    write_file(os.devnull, [b"x"])
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_missing_file_is_an_error_of_both_kinds(tmp_path: Path):
    with pytest.raises(MissingFileError, match="no such file") as caught:
        read_file(tmp_path / "a")
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, MXNetError)


def test_a_missing_folder_is_an_error(tmp_path: Path):
    with pytest.raises(MissingFileError, match="cannot write"):
        write_file(tmp_path / "no" / "a", [b"x"])


def test_a_folder_cannot_be_read_or_written(tmp_path: Path):
    with pytest.raises(FileAccessError, match="cannot read"):
        read_file(tmp_path)
    with pytest.raises(FileAccessError, match="cannot write"):
        write_file(tmp_path, [b"x"])


def test_a_url_without_fsspec_names_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependency, match=r"pip install 'twofold\[remote\]'"):
        read_file("s3://bucket/key")
    with pytest.raises(MissingDependency, match="opening s3:// URLs"):
        write_file("s3://bucket/key", [b"x"])


# ------------------------------------------------------------------------------------------------------- killed and live writers

WRITING = """
import os, sys, time
from twofold.formats.files import write_file
def chunks():
    yield b"half"
    print("writing", flush=True)
    time.sleep(60)
write_file(sys.argv[1], chunks())
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is writing the file ``a``."""
    process = subprocess.Popen([sys.executable, "-c", WRITING, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@posix
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path, writer: subprocess.Popen[str]):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / ".b.tmp").write_bytes(b"of another program")
    writer.kill()
    writer.wait()
    [temporary] = tmp_path.glob(".a.*.tmp")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert f".{writer.pid}." in temporary.name
    write_file(tmp_path / "b", [b"another file"])
    assert temporary.exists()
    write_file(tmp_path / "a", [b"new"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.tmp", "a", "b"]


@posix
def test_the_temporary_file_of_a_writer_at_work_stays(tmp_path: Path, writer: subprocess.Popen[str]):
    write_file(tmp_path / "a", [b"new"])
    assert len(list(tmp_path.glob(".a.*.tmp"))) == 1
    writer.terminate()
    writer.wait()
    write_file(tmp_path / "a", [b"newer"])
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


@posix
def test_the_temporary_file_of_another_machine_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as there:
        there.setattr("platform.node", lambda: "elsewhere")
        path = tmp_path / f"{replacing._prefix(tmp_path / 'a')}1.2.tmp"
    path.write_bytes(b"half")
    write_file(tmp_path / "a", [b"new"])
    assert path.exists()


def test_threads_that_write_one_file_leave_one_of_the_contents(tmp_path: Path):
    contents = [bytes([k]) * 100_000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: [write_file(tmp_path / "a", [content]) for _ in range(5)], contents))
    assert (tmp_path / "a").read_bytes() in contents
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


@posix
def test_a_file_that_the_program_has_open_to_read_and_write_gets_the_new_content(tmp_path: Path):
    with tempfile.NamedTemporaryFile("w+b", dir=tmp_path) as file:
        for content in (b"a longer one", b"short"):  # with MXNet too
            write_file(file.name, [content])
            file.seek(0)
            assert file.read() == content
        with pytest.raises(KeyboardInterrupt):
            write_file(file.name, failing())
        file.seek(0)
        assert file.read() == b"short"
        assert [path.name for path in tmp_path.iterdir()] == [Path(file.name).name]


@posix
def test_a_file_that_the_program_only_reads_is_replaced(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"old")
    with (tmp_path / "a").open("rb") as file:
        write_file(tmp_path / "a", [b"new"])
        assert (file.read(), read_file(tmp_path / "a")) == (b"old", b"new")


def test_a_name_of_any_length_is_written(tmp_path: Path):
    name = "ü" * 120
    write_file(tmp_path / name, [b"x"])
    assert [path.name for path in tmp_path.iterdir()] == [name]


@posix
def test_a_full_disk_leaves_the_old_content_and_nothing_else(tmp_path: Path):
    import resource

    (tmp_path / "a").write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(FileAccessError, match=r"cannot write .*File too large"):
            write_file(tmp_path / "a", [bytes(60_000), bytes(60_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


# ------------------------------------------------------------------------------------------------------------------------- URLs


def test_a_url_is_written_and_read(store: str):
    write_file(f"{store}/key", [b"one", b"two"])
    assert read_file(f"{store}/key") == b"onetwo"
    write_file(f"{store}/key", [b"three"])
    assert read_file(f"{store}/key") == b"three"
    assert folder_entries(store) == ["key"]


def test_an_interrupted_write_sends_nothing(store: str):
    write_file(f"{store}/key", [b"old"])
    with pytest.raises(KeyboardInterrupt):
        write_file(f"{store}/key", failing())
    assert read_file(f"{store}/key") == b"old"
    assert folder_entries(store) == ["key"]


def test_an_interrupted_transfer_leaves_the_old_content_and_nothing_else(store: str, monkeypatch: pytest.MonkeyPatch):
    write_file(f"{store}/key", [b"old"])
    system = type(filesystem(store)[0])

    def put_file(self: object, local: str, path: str) -> None:
        self.pipe_file(path, b"ha")  # type: ignore[attr-defined]
        raise ConnectionError("reset by peer")

    monkeypatch.setattr(system, "put_file", put_file)
    with pytest.raises(FileAccessError, match="reset by peer"):
        write_file(f"{store}/key", [b"half"])
    assert read_file(f"{store}/key") == b"old"
    assert folder_entries(store) == ["key"]


def test_a_store_of_objects_is_sent_the_object_under_its_name(store: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(urls, "SHOWING_PARTS", frozenset())
    write_file(f"{store}/key", [b"one", b"two"])
    assert read_file(f"{store}/key") == b"onetwo"


def test_a_url_without_content_is_a_missing_file(store: str):
    for read in (read_file, lambda name: open_file(name, "rb")):
        with pytest.raises(MissingFileError, match="check the URL"):
            read(f"{store}/key")


def test_a_scheme_whose_package_is_missing_says_which(monkeypatch: pytest.MonkeyPatch, store: str):
    for package, url in ("gcsfs", "gs://bucket/key"), ("s3fs", "s3://bucket/key"), ("pyarrow", "hdfs://host/key"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingDependency, match=f"pip install {package}"):
            read_file(url)


def test_an_unknown_scheme_is_rejected(store: str):
    with pytest.raises(FileAccessError, match="unknown file system"):
        read_file("nonsense://bucket/key")


def test_folders_are_made_listed_and_looked_at(store: str, tmp_path: Path):
    for folder in (join_path(store, "x"), join_path(tmp_path, "x")):
        assert not folder_exists(folder)
        make_folder(join_path(folder, "y"))
        write_file(join_path(folder, "a.rec"), [b"1"])
        assert (folder_exists(folder), file_exists(folder)) == (True, False)
        assert file_exists(join_path(folder, "a.rec"))
        assert not file_exists(with_suffix(join_path(folder, "a.rec"), ".idx"))
        assert folder_entries(folder) == ["a.rec", "y"]
        remove_file(join_path(folder, "a.rec"))
        remove_file(join_path(folder, "a.rec"))
        assert folder_entries(folder) == ["y"]
        with pytest.raises(MissingFileError, match="cannot list"):
            folder_entries(join_path(folder, "z"))


# ---------------------------------------------------------------------------------------------------------------- ranges of URLs


@pytest.fixture
def fetched(store: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return counted_fetches(monkeypatch)


def test_only_what_is_read_of_a_url_is_fetched(store: str, fetched: list[int]):
    content = os.urandom(10 << 20)
    write_file(f"{store}/key", [content])
    with open_file(f"{store}/key", "rb") as file:
        assert file.seek(0, os.SEEK_END) == len(content)
        file.seek(5 << 20)
        assert file.read(10) == content[5 << 20 :][:10]
        assert file.read(10) == content[(5 << 20) + 10 :][:10]
        assert fetched == [urls.FEWEST]
        file.seek(-3, os.SEEK_END)
        assert file.read(10) == content[-3:]
        assert file.read(10) == b""
        assert fetched == [urls.FEWEST, 3]


def test_a_url_is_read_in_sequence_in_larger_and_larger_parts(store: str, fetched: list[int]):
    content = os.urandom(10 << 20)
    write_file(f"{store}/key", [content])
    with open_file(f"{store}/key", "rb") as file:
        assert b"".join(iter(lambda: file.read(10_000), b"")) == content
    assert sum(fetched) == len(content)
    assert len(fetched) == 8  # 64 KiB, 128, 256, 512, 1 MiB, 2, 4 and the rest
    fetched.clear()
    with open_file(f"{store}/key", "rb") as file:
        assert file.read() == content


def test_a_file_that_has_become_shorter_at_a_url_is_an_error(store: str):
    write_file(f"{store}/key", [bytes(200_000)])
    with open_file(f"{store}/key", "rb") as file:
        file.read(10)
        write_file(f"{store}/key", [b"short"])
        with pytest.raises(FileAccessError, match="the file has changed"):
            file.read(100_000)
