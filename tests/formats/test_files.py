"""Whole files: written atomically, whatever happens in between."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from twofold.errors import FileAccessError, MissingDependency, MissingFileError, MXNetError
from twofold.formats.files import read_file, write_file

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
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingDependency, match="pip install 'fsspec'"):
        read_file("s3://bucket/key")
    with pytest.raises(MissingDependency, match="opening s3:// URLs"):
        write_file("s3://bucket/key", [b"x"])


class Store:
    """An fsspec file system in memory, as far as it is used."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def url_to_fs(self, address: str) -> tuple[Store, str]:
        scheme, _, path = address.partition("://")
        if scheme == "gs":
            raise ImportError("Please install gcsfs to access Google Storage")
        if scheme == "nonsense":
            raise ValueError("Protocol not known: nonsense")
        return self, path

    def cat_file(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def pipe_file(self, path: str, data: bytes) -> None:
        self.files[path] = data


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store()
    core = ModuleType("fsspec.core")
    monkeypatch.setattr(core, "url_to_fs", store.url_to_fs, raising=False)
    monkeypatch.setitem(sys.modules, "fsspec", ModuleType("fsspec"))
    monkeypatch.setitem(sys.modules, "fsspec.core", core)
    return store


def test_a_url_is_opened_by_fsspec(store: Store):
    write_file("s3://bucket/key", [b"one", b"two"])
    assert store.files == {"bucket/key": b"onetwo"}
    assert read_file("s3://bucket/key") == b"onetwo"


def test_an_interrupted_write_sends_nothing(store: Store):
    with pytest.raises(KeyboardInterrupt):
        write_file("s3://bucket/key", failing())
    assert store.files == {}


def test_a_url_without_content_is_a_missing_file(store: Store):
    with pytest.raises(MissingFileError):
        read_file("s3://bucket/key")


def test_a_scheme_whose_package_is_missing_says_which(store: Store):
    with pytest.raises(MissingDependency, match="Please install gcsfs"):
        read_file("gs://bucket/key")


def test_an_unknown_scheme_is_rejected(store: Store):
    with pytest.raises(FileAccessError, match="unknown file system"):
        read_file("nonsense://bucket/key")
