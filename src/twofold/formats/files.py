"""Whole files: read, and written so that a reader finds either the old content or the new; local paths and fsspec addresses."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileAccessError, MissingDependency, MissingFileError

if TYPE_CHECKING:
    from .records import Buffer

__all__ = ["read_file", "write_file"]

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")  # two letters at least: "c:/data" is a path
LOCAL = "file://"


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path
        A local path, or an address such as ``"s3://bucket/key"``, which fsspec opens.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileAccessError
        If it cannot be read.
    MissingDependency
        If the address needs a package that is not installed.
    """
    name = os.fspath(path)
    with _named_errors(name, "read"):
        if _is_address(name):
            system, inner = _filesystem(name)
            return system.cat_file(inner)
        return Path(name.removeprefix(LOCAL)).read_bytes()


def write_file(path: str | os.PathLike[str], chunks: Iterable[Buffer]) -> None:
    """Write a file in one step: whatever fails or is interrupted, the old content stays, and nothing is left behind.

    An existing file keeps its mode, a symbolic link stays and its target is replaced. What is no regular file, such as a pipe, is
    written as it is. At an address the bytes are sent in one piece.

    Parameters
    ----------
    path
        A local path, or an address such as ``"s3://bucket/key"``, which fsspec opens.
    chunks
        The content, piece by piece.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        As `read_file`.
    """
    name = os.fspath(path)
    with _named_errors(name, "write"):
        if _is_address(name):
            system, inner = _filesystem(name)
            system.pipe_file(inner, b"".join(chunks))
        else:
            _write_local(Path(os.path.realpath(name.removeprefix(LOCAL))), chunks)


def _write_local(path: Path, chunks: Iterable[Buffer]) -> None:
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not path.is_file():
        with path.open("wb") as file:
            file.writelines(chunks)
        return
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode & 0o7777)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can; the content is safe already."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _is_address(name: str) -> bool:
    return ADDRESS.match(name) is not None and not name.startswith(LOCAL)


def _filesystem(address: str) -> tuple[Any, str]:
    """Return fsspec's file system for an address, and the path within it."""
    scheme = address.partition(":")[0]
    try:
        core = import_module("fsspec.core")
    except ImportError as error:
        raise MissingDependency.of("fsspec", f"opening {scheme}:// addresses", "fsspec") from error
    try:
        return core.url_to_fs(address)
    except ImportError as error:  # fsspec itself is there, the package behind it for this scheme is not
        raise MissingDependency(f"opening {scheme}:// addresses needs a package that is not installed", todo=str(error)) from error
    except ValueError as error:
        raise FileAccessError(f"{address}: no file system of that name", str(error), "use a path, or a scheme that fsspec knows") from error


@contextlib.contextmanager
def _named_errors(name: str, action: str) -> Iterator[None]:
    """Make the system's errors the library's, which callers of MXNet's functions catch."""
    try:
        yield
    except FileNotFoundError as error:
        place = "address" if _is_address(name) else f"path; the working folder is {Path.cwd()}"
        raise MissingFileError(f"cannot {action} {name}: no such file or folder", todo=f"check the {place}") from error
    except FileAccessError:
        raise
    except OSError as error:
        raise FileAccessError(f"cannot {action} {name}", error.strerror or str(error), "check its permissions and the disk") from error
