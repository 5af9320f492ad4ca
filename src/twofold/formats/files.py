"""Files by name, a local path or a URL that fsspec opens: read whole, opened, written atomically, looked for, listed and removed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TextIO, cast

from ..errors import FileAccessError, MissingFileError
from .replacing import replacement
from .urls import LOCAL, RangedFile, filesystem, is_url, named_errors, send

if TYPE_CHECKING:
    from .records import Buffer

Name = str | os.PathLike[str]


def read_file(path: Name) -> bytes:
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
    with named_errors(name, "read"):
        if is_url(name):
            system, inner = filesystem(name)
            return system.cat_file(inner)
        return Path(regular(_local(name))).read_bytes()


def regular(path: str) -> str:
    """The path of a file to read, which must not be a pipe or a device: reading it could wait for ever, or never end.

    Raises
    ------
    FileAccessError
        If it is.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileAccessError(
            f"cannot read {path}: it is a pipe, a socket or a device", None, "copy its content to a file: cat PIPE > FILE"
        )
    return path


def write_file(path: Name, chunks: Iterable[Buffer]) -> None:
    """Write a file atomically: on failure or interruption the old content stays and no temporary file is left behind.

    An existing file keeps its mode. A symbolic link stays, and its target is replaced. Anything but a regular file, such as a pipe,
    is written directly. To a URL the bytes are sent when all are there, and stores that show parts of files see another name until then.

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
    with named_errors(name, "write"):
        if is_url(name):
            send(name, chunks)
        else:
            _write_local(Path(os.path.realpath(_local(name))), chunks)


def open_file(path: Name, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Open a file, to be read in parts or written in place. Writes to a local file are not buffered.

    Parameters
    ----------
    path
        A local path, or a URL such as ``"s3://bucket/key"``, which fsspec opens. Of a file that is read, only the requested parts are
        fetched.
    mode
        ``"rb"`` to read, ``"wb"`` to write a new file.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        See `read_file`.
    """
    name = os.fspath(path)
    with named_errors(name, "read" if mode == "rb" else "write"):
        if is_url(name):
            if mode == "rb":
                return cast("BinaryIO", RangedFile(name))
            system, inner = filesystem(name)
            return system.open(inner, mode)
        # unbuffered, so that a killed process loses none of the records it has written
        path = Path(_local(name) if mode == "wb" else regular(_local(name)))
        return cast("BinaryIO", path.open(mode, buffering=0 if mode == "wb" else -1))


def open_text(path: Name, encoding: str) -> TextIO:
    """Open a file of text, to be read line by line.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        See `read_file`.
    """
    file = open_file(path, "rb")
    return io.TextIOWrapper(io.BufferedReader(file) if isinstance(file, RangedFile) else file, encoding)


def open_copy(path: Name) -> BinaryIO:
    """Open a file for reads at many places: a local one itself, or a temporary copy of one at a URL, to avoid many requests.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        See `read_file`.
    """
    file = open_file(path, "rb")
    if not isinstance(file, RangedFile):
        return file
    import shutil  # here, as few programs copy files, and these take longer to load than all of this package
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    with file:
        shutil.copyfileobj(file, copy, 1 << 20)
    copy.flush()
    copy.seek(0)
    return cast("BinaryIO", copy)


def reading_at(file: BinaryIO) -> Callable[[int, int], bytes]:
    """A function that reads some bytes of a file from an offset, fewer only at its end.

    Of a local file, several threads and processes can call it at the same time.
    """
    if isinstance(file, (io.BufferedReader, io.BufferedRandom)) and hasattr(os, "pread"):
        # pread has no position that callers would have to share
        return partial(_read_at, file.fileno())

    def read(size: int, offset: int) -> bytes:
        file.seek(offset)
        return file.read(size)

    return read


def _read_at(descriptor: int, size: int, offset: int) -> bytes:
    found = os.pread(descriptor, size, offset)
    while len(found) < size and (more := os.pread(descriptor, size - len(found), offset + len(found))):
        found += more  # Linux reads at most 2 GiB at once
    return found


def file_exists(path: Name) -> bool:
    """Whether there is a file of that name."""
    name = os.fspath(path)
    if is_url(name):
        system, inner = filesystem(name)
        return system.isfile(inner)
    return os.path.isfile(_local(name))


def folder_exists(path: Name) -> bool:
    """Whether there is a folder of that name; in a store of objects, whether the names of some begin with it."""
    name = os.fspath(path)
    if is_url(name):
        system, inner = filesystem(name)
        return system.isdir(inner)
    return os.path.isdir(_local(name))


def folder_entries(path: Name) -> list[str]:
    """The names of the files and folders in a folder, sorted.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        See `read_file`.
    """
    name = os.fspath(path)
    with named_errors(name, "list"):
        if is_url(name):
            system, inner = filesystem(name)
            # stores list whole paths, and folders with a slash at the end
            return sorted(entry.rstrip("/").rpartition("/")[2] for entry in system.ls(inner, detail=False))
        return sorted(os.listdir(_local(name)))


def listed_files(names: Name, beside: tuple[str, ...] = ()) -> list[str]:
    """The files that a parameter of an iterator names: file names separated by semicolons, folders, or a pattern.

    A folder means the files directly in it, sorted by name. As in MXNet, a name without a file or folder is
    a regular expression for whole paths of the files in its folder: ``data/train-.*[.]rec``. Names of missing files are kept: opening
    them raises the error.

    Parameters
    ----------
    names
        Paths or URLs.
    beside
        Extensions of files to leave out of folders and patterns.

    Raises
    ------
    MissingFileError
        If a name is empty, or a folder has no such file.
    FileAccessError, MissingDependency
        See `read_file`.

    Examples
    --------
    >>> listed_files("a.rec;memory://bucket/b.rec")
    ['a.rec', 'memory://bucket/b.rec']
    """
    given = os.fspath(names)
    found: list[str] = []
    # one semicolon may end the list, as in MXNet, whose split makes no empty name of it
    for name in given.removesuffix(";").split(";"):
        if not name:
            raise MissingFileError("a name of a file is empty", f"{given!r}", "write one semicolon between two names")
        # a folder first: its name may be a regular expression that matches other files
        if not folder_exists(name):
            found += _matching(name, beside) or [name]
            continue
        paths = [join_path(name, entry) for entry in folder_entries(name) if not entry.endswith(beside)]
        files = [path for path in paths if file_exists(path)]
        if not files:
            raise MissingFileError(f"the folder {name} has no file to read", None, "check the path")
        found += files
    return found


def _matching(name: str, beside: tuple[str, ...]) -> list[str]:
    """The files in a folder whose paths match a regular expression; none if it is the name of a file, or no expression."""
    folder, slash, _ = name.rpartition("/")
    # the part before the last slash is always a folder: only the name after it is a pattern
    if file_exists(name) or not folder_exists(folder + slash or os.curdir):
        return []
    try:
        matches = re.compile(name).fullmatch
    except re.error:
        return []
    paths = [f"{folder}{slash}{entry}" for entry in folder_entries(folder + slash or os.curdir)]
    return [path for path in paths if matches(path) and not path.endswith(beside) and file_exists(path)]


def make_folder(path: Name) -> None:
    """Create a folder and its parents, unless they exist."""
    name = os.fspath(path)
    with named_errors(name, "create"):
        if is_url(name):
            system, inner = filesystem(name)
            system.makedirs(inner, exist_ok=True)
        else:
            os.makedirs(_local(name), exist_ok=True)


def remove_file(path: Name) -> None:
    """Remove a file if it exists.

    Raises
    ------
    FileAccessError, MissingDependency
        See `read_file`.
    """
    name = os.fspath(path)
    with named_errors(name, "remove"), contextlib.suppress(FileNotFoundError):
        if is_url(name):
            system, inner = filesystem(name)
            system.rm_file(inner)
        else:
            os.unlink(_local(name))


def join_path(folder: Name, name: str) -> str:
    """The name of a file in a folder, unless it is a URL or an absolute path itself; ``~`` in the folder is the user's.

    Examples
    --------
    >>> join_path("s3://bucket/data", "train/a.png")
    's3://bucket/data/train/a.png'
    """
    head = os.fspath(folder)
    if is_url(name):
        return name
    if is_url(head):
        return f"{head.rstrip('/')}/{name}"
    return os.path.join(os.path.expanduser(_local(head)), name)


def with_suffix(path: Name, suffix: str) -> str:
    """The name of a file with another extension.

    Examples
    --------
    >>> with_suffix("s3://bucket/train.rec", ".idx")
    's3://bucket/train.idx'
    """
    return os.path.splitext(os.fspath(path))[0] + suffix


def _local(name: str) -> str:
    return name.removeprefix(LOCAL)


def _write_local(path: Path, chunks: Iterable[Buffer]) -> None:
    # renaming over a pipe or a device would replace it
    with path.open("wb") if path.exists() and not path.is_file() else replacement(path) as file:
        file.writelines(chunks)
