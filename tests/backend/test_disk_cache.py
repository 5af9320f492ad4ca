"""Files that are kept for the next process: which are read, and which are removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from twofold.backend.disk_cache import DiskCache

CACHE = DiskCache("jit", 64 << 20)


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path))


def test_a_file_under_the_wrong_name_is_ignored():
    CACHE.store("a", b"code")
    os.replace(CACHE.path("a"), CACHE.path("b"))
    assert CACHE.load("b") is None


def test_a_file_owned_by_another_user_is_ignored(monkeypatch):
    CACHE.store("a", b"code")
    assert CACHE.load("a") == b"code"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert CACHE.load("a") is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_is_ignored(mode):
    CACHE.store("a", b"code")
    CACHE.path("a").chmod(mode)
    assert CACHE.load("a") is None


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_link_that_others_may_have_made_is_ignored(link, tmp_path):
    """To a file of the user's own, which may be a download."""
    CACHE.store("a", b"code")
    os.replace(CACHE.path("a"), tmp_path / "download")
    link(CACHE.path("a"), tmp_path / "download")
    assert CACHE.load("a") is None


def test_a_pipe_in_place_of_a_file_is_ignored():
    CACHE.store("a", b"code")
    CACHE.path("a").unlink()
    os.mkfifo(CACHE.path("a"))
    assert CACHE.load("a") is None


def test_only_files_of_the_cache_are_removed(monkeypatch, tmp_path):
    """The folder may be one of the user's own, or a link to one."""
    papers = tmp_path / "papers"
    papers.mkdir()
    for k in range(5):
        (papers / f"paper {k}").write_bytes(bytes(4000))
    CACHE.folder.symlink_to(papers)
    monkeypatch.setattr(CACHE, "limit", 4000)
    for k in range(6):
        CACHE.store(str(k), bytes(1000))
    assert {f"paper {k}" for k in range(5)} < {path.name for path in papers.iterdir()}
    assert len(list(papers.iterdir())) < 5 + 6


def test_the_least_recently_used_files_are_removed(monkeypatch):
    monkeypatch.setattr(CACHE, "limit", 4000)
    for k in range(6):
        CACHE.store(str(k), bytes(1000))
        os.utime(CACHE.path(str(k)), (k, k))
    left = {path.name for path in CACHE.folder.iterdir()}
    assert CACHE.path("5").name in left
    assert CACHE.path("0").name not in left
    assert sum(path.stat().st_size for path in CACHE.folder.iterdir()) <= 4000


def test_the_folder_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("TWOFOLD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert CACHE.folder == tmp_path / "twofold" / "jit"
