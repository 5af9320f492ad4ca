"""Replaces files atomically, by temporary files beside them.

A process locks its temporary file (`flock`) as long as it writes, and the system unlocks the file when the process ends, however it ends.
So a temporary file that can be locked belongs to no running process: a killed one left it, and the next process that writes the same file
removes it. The name of the machine is part of the file's name, because on a network file system a lock may be seen by one machine only.
"""

from __future__ import annotations

import contextlib
import os
import platform
import stat
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from ..errors import FileAccessError

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".tmp"
#: How a temporary file is opened: it must be new, and Windows must not change its ends of lines.
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_HELD = threading.Lock()  # threads that write one open file in place take turns
LONGEST = 40  # the most letters of a file's name in its temporary file's name, which could otherwise be too long


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces the old one, if any, at the end of the block; if the block fails nothing changes.

    Parameters
    ----------
    path
        The file to be replaced. It keeps its mode. The temporary file is in the same folder, because a rename is atomic only within a
        file system. A file that this process has open to read and write, such as one of `tempfile`, gets the new content instead,
        because that is what is read from it next.
    """
    _remove_abandoned(path)
    mode = path.stat().st_mode if path.exists() else None
    temporary, file = _created(path, 0o666 if mode is None else mode & 0o777)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # or a crash after the rename could leave an empty file under the name
            if mode is not None:  # a new file has the process's default mode
                temporary.chmod(mode & 0o7777)
            if mode is not None and _is_open(path):
                with _HELD:
                    _copy(temporary, path)
                temporary.unlink()
                return
            if os.name == "nt":
                file.close()  # an open file cannot be renamed on Windows; elsewhere it stays locked, so that no other process removes it
            temporary.replace(path)
    except BaseException:  # Ctrl-C too must not leave the temporary file behind
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _copy(source: Path, target: Path) -> None:
    """Write the content of a file to one that exists, whose open handles then see it."""
    import shutil  # takes longer to load than this package, and few programs need it

    with source.open("rb") as content, target.open("wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Move a file over another one, atomically if both are on one file system.

    Parameters
    ----------
    src
        Path of the file to move.
    dst
        Its new path; a file there is replaced.

    Raises
    ------
    FileAccessError
        If the file cannot be moved.
    """
    try:
        os.replace(src, dst)
    except OSError as error:
        raise FileAccessError(
            f"Moving downloaded temp file - {src}, to {dst} failed. {error}", None, "Please retry the download."
        ) from error


def _created(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new temporary file, which nobody may read who may not read the file that it replaces."""
    while True:
        temporary = path.with_name(f"{_prefix(path)}{os.getpid()}.{os.urandom(4).hex()}{SUFFIX}")
        try:
            file = os.fdopen(os.open(temporary, NEW, mode), "wb")
            # until it is locked, another process may take the new file for an abandoned one
            lock(file)
            if os.fstat(file.fileno()).st_nlink:
                return temporary, file
            file.close()  # another process found it before it was locked, and removed it
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _remove_abandoned(path: Path) -> None:
    prefix = _prefix(path)
    with os.scandir(path.parent) as entries:
        found = [entry.path for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(SUFFIX)]
    for name in found:
        remove_unlocked(name)


def remove_unlocked(name: str) -> None:
    """Remove a file unless a process has locked it, or has it open on Windows."""
    with contextlib.suppress(OSError):
        with open(name, "r+b") as file:  # network file systems lock only what is open for writing
            if is_locked_now(file):
                os.unlink(name)
        if os.name == "nt":
            os.unlink(name)


def _prefix(path: Path) -> str:
    """The common part of the names of temporary files for a path on this machine."""
    return f".{path.name[:LONGEST]}.{digits_of(platform.node())}."


def digits_of(text: str) -> str:
    """Eight digits that tell texts apart in names of files."""
    import hashlib  # loads OpenSSL, which programs that write no file need not

    return hashlib.sha1(text.encode()).hexdigest()[:8]


def is_own(facts: os.stat_result) -> bool:
    """Whether a file is a regular one of this user, with one name: a second name may be that of a file to be kept."""
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 and facts.st_uid == os.geteuid()


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure, where the system supports it. The content is safe already."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


if sys.platform == "win32":

    def lock(file: BinaryIO) -> None:
        """Do nothing: Windows neither removes nor renames open files, which the locks prevent on other systems."""

    def is_locked_now(file: BinaryIO) -> bool:
        """Return False."""
        return False

    def _is_open(path: Path) -> bool:
        """Return False: Windows does not replace open files."""
        return False
else:
    import fcntl

    def lock(file: BinaryIO) -> None:
        """Wait for the lock of a file and hold it until the file is closed; do nothing where the file system has no locks."""
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)

    def is_locked_now(file: BinaryIO) -> bool:
        """Lock a file until it is closed if no other process has it locked; return whether it is locked now."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _is_open(path: Path) -> bool:
        """Whether this process has a file open to read and write. Temporary files of `replacement` are open to write only."""
        facts = path.stat()
        with contextlib.suppress(OSError):  # a system without a list of descriptors
            for name in os.listdir("/dev/fd"):
                with contextlib.suppress(OSError, ValueError):  # closed meanwhile, as the one that lists the folder is
                    if os.path.samestat(os.fstat(int(name)), facts) and fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR:
                        return True
        return False
