"""Sources of downloads, and the partial files of interrupted downloads, which later attempts continue.

The name of a partial file identifies the content: by its URL, and by what the server says about it (HTTP's ``ETag`` or
``Last-Modified``). So parts of different contents are never put together. A process locks the file that it writes; a second process writes
another one.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ..errors import FileAccessError
from .replacing import LONGEST, digits_of, is_locked_now, is_own, remove_unlocked, replace_file
from .urls import RangedFile, is_url

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from ssl import SSLContext

    from _typeshed import SupportsRead

#: Bytes that are copied at once.
CHUNK = 1 << 20
#: Seconds without an answer after which an attempt has failed.
TIMEOUT = 60
SUFFIX = ".part"
PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE = 206, 416
#: Schemes that Python itself opens.
OWN = ("http://", "https://", "ftp://")


# ---------------------------------------------------------------------------------------------------------------------- sources


class Rest(NamedTuple):
    """The rest of a content: its bytes in sequence, the position of the first one, and the size of the whole content if known."""

    file: "SupportsRead[bytes]"
    start: int
    size: int | None


class Counted:
    """A file that tells a function how many bytes each read returned.

    Parameters
    ----------
    file, tell
        The file and the function.
    """

    def __init__(self, file: "SupportsRead[bytes]", tell: Callable[[int], object]) -> None:
        self._file, self._tell = file, tell

    def read(self, size: int = -1, /) -> bytes:
        """Read bytes."""
        data = self._file.read(size)
        self._tell(len(data))
        return data


class DownloadSource(NamedTuple):
    """Content to copy.

    Attributes
    ----------
    identity
        A text from which a later attempt recognizes the same content; empty if there is none.
    rest
        Opens the content from a given byte on, or from its start if the source cannot do that.
    """

    identity: str
    rest: Callable[[int], AbstractContextManager[Rest]]


@contextlib.contextmanager
def opened_source(url: str, local: Path | None, verify_ssl: bool) -> Iterator[DownloadSource]:
    """The content of a URL, or of the local file used in its place."""
    if local is not None:
        with open(local, "rb") as file:
            whole = Rest(file, 0, os.fstat(file.fileno()).st_size)
            yield DownloadSource("", lambda start: contextlib.nullcontext(whole))
    elif is_url(url) and not url.lower().startswith(OWN):
        with RangedFile(url) as remote:
            size = remote.seek(0, os.SEEK_END)
            yield DownloadSource(remote.identity, lambda start: contextlib.nullcontext(Rest(remote, remote.seek(start), size)))
    else:
        context = None if verify_ssl else _unverified()
        with urlopen(url, timeout=TIMEOUT, context=context) as answer:
            yield _of_answer(url, answer, context)


def _of_answer(url: str, answer: "HTTPResponse", context: "SSLContext | None") -> DownloadSource:
    """The content of an HTTP response; a second request asks the server for a range of it."""
    tag = answer.headers.get("ETag", "")
    # If-Range needs a validator that changes with every byte of the content
    known = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")  # a weak tag is no promise of equal bytes
    length = answer.headers.get("Content-Length")
    whole = Rest(answer, 0, int(length) if length else None)

    @contextlib.contextmanager
    def rest(start: int) -> Iterator[Rest]:
        if start == 0:
            yield whole
            return
        try:
            again = urlopen(Request(url, headers={"Range": f"bytes={start}-", "If-Range": known}), timeout=TIMEOUT, context=context)
        except HTTPError as error:
            # the server has no bytes from there on, so the kept part is not the beginning of this content
            if error.code != RANGE_NOT_SATISFIABLE:
                raise
            yield whole
            return
        with again:
            unit, _, span = again.headers.get("Content-Range", "").partition(" ")
            place, _, size = span.partition("/")
            # a server without ranges, or with changed content, sends the whole content
            if again.status == PARTIAL_CONTENT and unit == "bytes" and place.startswith(f"{start}-"):
                yield Rest(again, start, int(size) if size.isdecimal() else None)
            else:
                yield whole

    return DownloadSource(known, rest)


def _unverified() -> "SSLContext":
    import ssl  # loads OpenSSL

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


# ---------------------------------------------------------------------------------------------------------------- partial files


class PartialFile:
    """A file of the first bytes of a content.

    Attributes
    ----------
    path
        The file.
    size
        How many bytes it holds.
    """

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path, self._file = path, file
        self.size = file.seek(0, os.SEEK_END)

    def take(self, rest: Rest) -> None:
        """Append the rest of the content.

        Raises
        ------
        FileAccessError
            If it ends too early.
        """
        # the server has sent the content from its start, so the kept bytes are overwritten
        if rest.start != self.size:
            self._file.truncate(rest.start)
        try:
            shutil.copyfileobj(rest.file, self._file, CHUNK)
        finally:
            # also after an error: the next attempt continues after the bytes that have arrived
            self._file.flush()
            self.size = self._file.seek(0, os.SEEK_END)
        if rest.size is not None and self.size != rest.size:
            raise FileAccessError("the connection ended too early", f"{self.size} of {rest.size} bytes", "try again")

    def publish(self, target: str) -> None:
        """Give the file its final name."""
        if os.name == "nt":
            self._file.close()
        replace_file(self.path, target)

    def remove(self) -> None:
        """Remove the file: its content is wrong."""
        self._file.close()
        os.unlink(self.path)


@contextlib.contextmanager
def partial_file(target: str, url: str, source: DownloadSource) -> Iterator[PartialFile]:
    """The file in which the content of a source is collected, in the folder of the target.

    The file is removed at the end of the block, unless it has been given its final name, or holds a part of a content that can be
    recognized later. Partial files of other contents for the same target are removed if the block succeeds.
    """
    folder, name = os.path.split(target)
    start = os.path.join(folder, f".{name[:LONGEST]}.{digits_of(name)}.")
    path = f"{start}{digits_of(url + source.identity) if source.identity else os.urandom(4).hex()}{SUFFIX}"
    file = _locked(path)
    if file is None:  # another process is writing it
        path = f"{start}{os.urandom(4).hex()}{SUFFIX}"
        file = open(path, "xb")  # noqa: SIM115  closed below
    with file:
        part = PartialFile(path, file)
        try:
            yield part
            for left in os.listdir(folder or "."):
                if left.startswith(os.path.basename(start)) and left.endswith(SUFFIX):
                    remove_unlocked(os.path.join(folder, left))
        finally:
            if not source.identity or not part.size:
                with contextlib.suppress(OSError):  # it has its final name, or is gone
                    os.unlink(path)


def _locked(path: str) -> BinaryIO | None:
    """A file with this name, locked; None if another process has locked it, or on file systems without locks.

    None too if the name is a link or a file that this user has not made: in a folder that others may write, they can foretell it.
    """
    if os.name == "nt":
        return None
    try:
        # without O_NONBLOCK, opening a pipe would wait for a reader
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666), "ab")
    except OSError:  # a link, a pipe, a folder, or a file of another user; where no file can be made, the next name says why
        return None
    with contextlib.suppress(FileNotFoundError):  # in the meantime the file got its final name
        # check that it is still the same file: after it was opened, its writer may have given it its final name, and another process may
        # have made a new one
        if is_own(os.fstat(file.fileno())) and is_locked_now(file) and os.path.samestat(os.fstat(file.fileno()), os.lstat(path)):
            return file
    file.close()
    return None
