"""Files at URLs that fsspec opens: read whole or in ranges, and written so that a partial file never has the final name."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileAccessError, MissingDependency, MissingFileError

if TYPE_CHECKING:
    from .records import Buffer

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")  # at least two letters: "c:/data" is a path
LOCAL = "file://"
INSTALL = "twofold[remote]"
#: What fsspec needs for some schemes.
PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("hdfs", "arrow_hdfs"), "pyarrow"),
    **dict.fromkeys(("http", "https"), "aiohttp requests"),
    **dict.fromkeys(("abfs", "abfss", "adl", "az"), "adlfs"),
    **dict.fromkeys(("sftp", "ssh"), "paramiko"),
}
#: Stores in which a file that is being written can be seen; the others show an object when all of it has arrived.
SHOWING_PARTS = frozenset({"arrow_hdfs", "dbfs", "ftp", "hdfs", "memory", "sftp", "smb", "ssh", "webhdfs"})
#: Bytes that are fetched at once: the first number for reads here and there, up to the second for reads in sequence.
FEWEST, MOST = 1 << 16, 1 << 22


def is_url(name: str) -> bool:
    """Whether fsspec opens a name. ``file://`` addresses are local paths."""
    return URL.match(name) is not None and not name.startswith(LOCAL)


def filesystem(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path within it.

    Raises
    ------
    MissingDependency
        If fsspec, or the package that it needs for the scheme, is not installed.
    FileAccessError
        If it does not support the scheme.
    """
    scheme = url.partition(":")[0]
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        raise MissingDependency.of("fsspec", f"opening {scheme}:// URLs", INSTALL) from error
    try:
        return core.url_to_fs(url)
    except ImportError as error:  # fsspec is installed, but not the package that it needs for this scheme
        todo = f"pip install {PACKAGES[scheme]}" if scheme in PACKAGES else str(error)
        raise MissingDependency(f"opening {scheme}:// URLs needs a package that is not installed", todo=todo) from error
    except ValueError as error:
        raise FileAccessError(f"{url}: unknown file system: {error}", None, "use a path, or a scheme that fsspec knows") from error


@contextlib.contextmanager
def named_errors(name: str, action: str) -> Iterator[None]:
    """Translate the system's errors to the library's, which users of MXNet's API catch."""
    if "\0" in name:
        raise MissingFileError(f"cannot {action} a file whose name has a null character", f"{name!r}", "check the name")
    try:
        yield
    except FileNotFoundError as error:
        place = "URL" if is_url(name) else f"path; the working folder is {Path.cwd()}"
        raise MissingFileError(f"cannot {action} {name}: no such file or folder", todo=f"check the {place}") from error
    except FileAccessError:
        raise
    except UnicodeEncodeError as error:
        raise MissingFileError(f"cannot {action} a file whose name the system cannot encode", ascii(name), "check the name") from error
    except OSError as error:
        raise FileAccessError(
            f"cannot {action} {name}: {error.strerror or str(error)}", None, "check its permissions and the disk"
        ) from error


def send(url: str, chunks: Iterable[Buffer]) -> None:
    """Write a file at a URL.

    The bytes are collected in a temporary file of this machine and sent when complete. Stores of objects then replace the old object
    by the new one; in the others the file is sent under another name and renamed.
    """
    import tempfile  # takes longer to load than all of this package

    system, inner = filesystem(url)
    with tempfile.TemporaryDirectory(prefix="twofold-") as folder:
        local = os.path.join(folder, "content")
        with open(local, "wb") as file:
            file.writelines(chunks)
        protocols = {system.protocol} if isinstance(system.protocol, str) else set(system.protocol)
        if not protocols & SHOWING_PARTS:
            system.put_file(local, inner)
            return
        head, slash, name = inner.rpartition("/")
        temporary = f"{head}{slash}.{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        try:
            system.put_file(local, temporary)
            if system.exists(inner):  # some do not rename over a file
                system.rm_file(inner)
            system.mv(temporary, inner)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to raise
                system.rm_file(temporary)
            raise


class RangedFile(io.RawIOBase):
    """A file at a URL, open for reading. Only the parts that are read are fetched.

    A single read fetches at least 64 KiB. Consecutive reads fetch twice as much each time, up to 4 MiB, so that they wait for the store
    less often.

    Parameters
    ----------
    url
        The URL.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._system, self._path = filesystem(url)
        self._size: int = self._system.size(self._path)
        self._place = 0
        self._start, self._block = 0, b""
        self._ahead = FEWEST

    @property
    def identity(self) -> str:
        """An identifier of its content: a different text if the file has changed."""
        return str(self._system.ukey(self._path))

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place, in bytes from the start, from here or from the end."""
        self._place = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence])
        return self._place

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer, unless the file ends before."""
        out = memoryview(buffer).cast("B")
        size = min(len(out), max(self._size - self._place, 0))
        done = 0
        while done < size:
            part = self._fetched(size - done)
            out[done : done + len(part)] = part
            done += len(part)
            self._place += len(part)
        return done

    def _fetched(self, size: int) -> memoryview:
        """Bytes at the current place: as many as requested, but only up to the block's end."""
        within = self._place - self._start
        if not 0 <= within < len(self._block):
            # a read that continues where the block ends is one of a sequence, which fetches more each time; any other begins with the least
            self._ahead = min(2 * self._ahead, MOST) if self._block and within == len(self._block) else FEWEST
            stop = min(self._place + max(size, self._ahead), self._size)
            with named_errors(self._url, "read"):
                self._block = self._system.cat_file(self._path, self._place, stop)
            if not self._block:
                raise FileAccessError(f"cannot read {self._url}", f"no bytes at {self._place} of {self._size}", "the file has changed")
            self._start, within = self._place, 0
        return memoryview(self._block)[within : within + size]
