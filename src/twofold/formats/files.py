"""Reads whole files, writes them atomically (a reader sees the old content or the new), and opens them. Local paths and fsspec URLs."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from ..errors import FileAccessError, MissingDependency, MissingFileError

if TYPE_CHECKING:
    from .records import Buffer

__all__ = ["open_file", "read_file", "write_file"]

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")  # at least two letters: "c:/data" is a path
LOCAL = "file://"


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path
        A local path, or a URL such as ``"s3://bucket/key"``, which fsspec opens.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileAccessError
        If it cannot be read.
    MissingDependency
        If the URL needs a package that is not installed.
    """
    name = os.fspath(path)
    with _named_errors(name, "read"):
        if _is_url(name):
            system, inner = _filesystem(name)
            return system.cat_file(inner)
        return Path(name.removeprefix(LOCAL)).read_bytes()


def write_file(path: str | os.PathLike[str], chunks: Iterable[Buffer]) -> None:
    """Write a file atomically: on failure or interruption the old content stays and no temporary file is left behind.

    An existing file keeps its mode. A symbolic link stays, and its target is replaced. Anything but a regular file, such as a pipe,
    is written directly. At a URL the bytes are sent in one piece.

    Parameters
    ----------
    path
        A local path, or a URL such as ``"s3://bucket/key"``, which fsspec opens.
    chunks
        The content, piece by piece.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        See `read_file`.
    """
    name = os.fspath(path)
    with _named_errors(name, "write"):
        if _is_url(name):
            system, inner = _filesystem(name)
            system.pipe_file(inner, b"".join(chunks))
        else:
            _write_local(Path(os.path.realpath(name.removeprefix(LOCAL))), chunks)


def open_file(path: str | os.PathLike[str], mode: Literal["rb", "wb"]) -> BinaryIO:
    """Open a file, to be read in parts or written in place. What is written to a local file is not kept in a buffer.

    Parameters
    ----------
    path
        A local path, or a URL such as ``"s3://bucket/key"``, which fsspec opens. Of one that is read only the parts asked for are fetched.
    mode
        ``"rb"`` to read, ``"wb"`` to write a new file.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        See `read_file`.
    """
    name = os.fspath(path)
    with _named_errors(name, "read" if mode == "rb" else "write"):
        if _is_url(name):
            system, inner = _filesystem(name)
            return system.open(inner, mode)
        return Path(name.removeprefix(LOCAL)).open(mode, buffering=0 if mode == "wb" else -1)  # type: ignore[return-value]  # FileIO or BufferedReader


def _write_local(path: Path, chunks: Iterable[Buffer]) -> None:
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not path.is_file():  # renaming over a pipe or device would replace it
        with path.open("wb") as file:
            file.writelines(chunks)
        return
    # in the same folder, because a rename is atomic only within a file system
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())  # or a crash after the rename could leave an empty file under the name
        if mode is not None:  # a new file has the process's default mode
            temporary.chmod(mode & 0o7777)
        temporary.replace(path)
    except BaseException:  # Ctrl-C too must not leave the temporary file behind
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure, where the system supports it. The content is safe already."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _is_url(name: str) -> bool:
    return URL.match(name) is not None and not name.startswith(LOCAL)


def _filesystem(url: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the path within it."""
    scheme = url.partition(":")[0]
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        raise MissingDependency.of("fsspec", f"opening {scheme}:// URLs", "fsspec") from error
    try:
        return core.url_to_fs(url)
    except ImportError as error:  # fsspec is installed, but not the package that it needs for this scheme
        raise MissingDependency(f"opening {scheme}:// URLs needs a package that is not installed", todo=str(error)) from error
    except ValueError as error:
        raise FileAccessError(f"{url}: unknown file system", str(error), "use a path, or a scheme that fsspec knows") from error


@contextlib.contextmanager
def _named_errors(name: str, action: str) -> Iterator[None]:
    """Translate the system's errors to the library's, which users of MXNet's API catch."""
    try:
        yield
    except FileNotFoundError as error:
        place = "URL" if _is_url(name) else f"path; the working folder is {Path.cwd()}"
        raise MissingFileError(f"cannot {action} {name}: no such file or folder", todo=f"check the {place}") from error
    except FileAccessError:
        raise
    except OSError as error:
        raise FileAccessError(f"cannot {action} {name}", error.strerror or str(error), "check its permissions and the disk") from error
