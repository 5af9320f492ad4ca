"""Downloads that are interrupted, continued, and verified, from servers of a test, from stores, and without a network."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, BinaryIO

import pytest

import twofold as mx
from twofold.errors import FileAccessError
from twofold.formats import resuming
from twofold.formats.files import folder_entries, read_file, write_file

if TYPE_CHECKING:
    from email.message import Message
    from pathlib import Path

CONTENT = bytes(range(256)) * 400
SHA1 = hashlib.sha1(CONTENT).hexdigest()
#: Where the connections that fail end.
CUT = 50_000


@dataclass
class Server:
    """A server of one content. Some of its answers may end too early.

    Attributes
    ----------
    content, tag
        The content, and the ``ETag`` that is sent with it, if any.
    has_ranges
        Whether it sends ranges.
    cut
        How many answers end at `CUT` of the content.
    sent
        The bytes of each answer.
    """

    content: bytes = CONTENT
    tag: str = '"1"'
    has_ranges: bool = True
    cut: int = 0
    sent: list[int] = field(default_factory=list)
    url: str = ""

    def first_byte(self, headers: Message) -> int | None:
        """Where the range starts that is asked for; None if all of the content is to be sent."""
        wanted = headers.get("Range", "")
        if not self.has_ranges or not wanted or headers.get("If-Range") != self.tag:
            return None
        return int(wanted.removeprefix("bytes=").removesuffix("-"))


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            start = state.first_byte(self.headers)
            if start is not None and start >= len(state.content):
                self.send_error(416)
                return
            self.send_response(200 if start is None else 206)
            if start is not None:
                self.send_header("Content-Range", f"bytes {start}-{len(state.content) - 1}/{len(state.content)}")
            if state.tag:
                self.send_header("ETag", state.tag)
            body = state.content[start or 0 :]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if state.cut:
                state.cut -= 1
                body = body[: CUT - (start or 0)]
            state.sent.append(len(body))
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{listening.server_port}/data.bin"
        yield state
        listening.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, without caches."""
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_download_that_was_cut_is_continued(here: Path, server: Server):
    server.cut = 1
    assert mx.gluon.utils.download(server.url, sha1_hash=SHA1, retries=1) == "data.bin"
    assert (here / "data.bin").read_bytes() == CONTENT
    # the second attempt asks for all of it to learn whether it is the same, and leaves that answer for one with the rest;
    # the server may note the answer that was left after the other one
    assert server.sent[0] == CUT
    assert len(CONTENT) - CUT in server.sent[1:]
    assert names(here) == ["data.bin"]


def test_a_later_call_continues_where_an_earlier_one_failed(here: Path, server: Server):
    server.cut = 1
    with pytest.raises(FileAccessError, match="the connection ended too early: given 50000 of 102400 bytes"):
        mx.test_utils.download(server.url, retries=1)
    [part] = names(here)
    assert (here / part).read_bytes() == CONTENT[:CUT]
    assert mx.test_utils.download(server.url) == "data.bin"
    assert (here / "data.bin").read_bytes() == CONTENT
    assert len(CONTENT) - CUT in server.sent[1:]
    assert names(here) == ["data.bin"]


def test_a_server_without_ranges_sends_all_again(here: Path, server: Server):
    server.cut, server.has_ranges = 1, False
    mx.gluon.utils.download(server.url, retries=1)
    assert (here / "data.bin").read_bytes() == CONTENT
    assert server.sent[-1] == len(CONTENT)
    assert names(here) == ["data.bin"]


def test_nothing_is_kept_of_a_content_that_cannot_be_recognized(here: Path, server: Server):
    server.cut, server.tag = 1, ""
    with pytest.raises(FileAccessError, match="too early"):
        mx.gluon.utils.download(server.url, retries=0)
    assert names(here) == []


def test_a_part_of_an_older_content_is_not_continued(here: Path, server: Server):
    server.cut = 1
    with pytest.raises(FileAccessError, match="too early"):
        mx.gluon.utils.download(server.url, retries=0)
    server.content, server.tag = CONTENT[::-1], '"2"'
    mx.gluon.utils.download(server.url)
    assert (here / "data.bin").read_bytes() == CONTENT[::-1]
    assert names(here) == ["data.bin"]


def test_a_part_that_has_all_of_the_content_is_replaced(here: Path, server: Server):
    server.cut = 1
    with pytest.raises(FileAccessError, match="too early"):
        mx.gluon.utils.download(server.url, retries=0)
    (here / names(here)[0]).write_bytes(CONTENT)
    mx.gluon.utils.download(server.url, sha1_hash=SHA1, retries=0)
    assert (here / "data.bin").read_bytes() == CONTENT


def test_a_content_with_another_checksum_replaces_nothing(here: Path, server: Server):
    (here / "data.bin").write_bytes(b"old")
    with pytest.raises(FileAccessError, match=f"content hash does not match: given SHA-1 {SHA1}, not 00000000"):
        mx.gluon.utils.download(server.url, sha1_hash="0" * 40, retries=1)
    assert (here / "data.bin").read_bytes() == b"old"
    assert names(here) == ["data.bin"]


def test_a_part_that_another_process_is_writing_is_left_alone(here: Path, server: Server):
    server.cut = 1
    with pytest.raises(FileAccessError, match="too early"):
        mx.gluon.utils.download(server.url, retries=0)
    part = here / names(here)[0]
    with part.open("ab") as file:
        assert resuming.is_locked_now(file)
        mx.gluon.utils.download(server.url, sha1_hash=SHA1)
        assert part.read_bytes() == CONTENT[:CUT]
    assert names(here) == [part.name, "data.bin"]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are POSIX's")
@pytest.mark.parametrize("plant", ["symlink", "link", "mkfifo", "mkdir"])
def test_a_foretold_part_that_is_no_file_of_ours_is_not_written(here: Path, server: Server, plant: str):
    server.cut = 1
    with pytest.raises(FileAccessError, match="too early"):
        mx.gluon.utils.download(server.url, retries=0)
    part = here / names(here)[0]
    part.unlink()
    victim = here.parent / "victim"
    victim.write_bytes(b"precious")
    getattr(os, plant)(*((victim, part) if plant.endswith("link") else (part,)))
    mx.gluon.utils.download(server.url, sha1_hash=SHA1)
    assert victim.read_bytes() == b"precious"
    assert (here / "data.bin").read_bytes() == CONTENT
    assert not (here / "data.bin").is_symlink()


def test_processes_that_download_one_file_all_get_it(here: Path, server: Server):
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=mx.gluon.utils.download, args=(server.url, "data.bin", True, SHA1)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 3
    assert (here / "data.bin").read_bytes() == CONTENT
    assert names(here) == ["data.bin"]


def test_files_are_downloaded_from_stores_and_to_them(here: Path, server: Server, store: str):
    write_file(f"{store}/data.bin", [CONTENT])
    assert mx.gluon.utils.download(f"{store}/data.bin", sha1_hash=SHA1) == "data.bin"
    assert (here / "data.bin").read_bytes() == CONTENT
    assert mx.gluon.utils.download(server.url, f"{store}/copies", sha1_hash=SHA1) == f"{store}/copies"
    assert read_file(f"{store}/copies") == CONTENT
    assert mx.test_utils.download(server.url, dirname=f"{store}/folder") == f"{store}/folder/data.bin"
    assert folder_entries(f"{store}/folder") == ["data.bin"]


def test_a_download_from_a_store_is_continued(here: Path, store: str, monkeypatch: pytest.MonkeyPatch):
    write_file(f"{store}/data.bin", [CONTENT])
    copy = resuming.shutil.copyfileobj

    def cut(source: resuming.RangedFile, target: object, size: int) -> None:
        target.write(source.read(CUT))  # type: ignore[attr-defined]
        raise ConnectionResetError("reset by peer")

    with monkeypatch.context() as failing:
        failing.setattr(resuming.shutil, "copyfileobj", cut)
        with pytest.raises(FileAccessError, match="reset by peer"):
            mx.gluon.utils.download(f"{store}/data.bin", retries=0)
    started: list[int] = []

    def counted(source: resuming.Counted, target: BinaryIO, size: int) -> None:
        started.append(target.tell())
        copy(source, target, size)

    monkeypatch.setattr(resuming.shutil, "copyfileobj", counted)
    mx.gluon.utils.download(f"{store}/data.bin", sha1_hash=SHA1)
    assert started == [CUT]
    assert names(here) == ["data.bin"]


def test_without_a_network_the_error_says_where_to_put_the_file(here: Path):
    with pytest.raises(FileAccessError, match=r"Failed downloading url http://nowhere\.invalid/x\.zip: given .*; put x\.zip into .*home"):
        mx.gluon.utils.download("http://nowhere.invalid/x.zip", retries=0)
    assert names(here) == []
