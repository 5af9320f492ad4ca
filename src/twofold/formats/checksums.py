"""Checksums beside the files of checkpoints: ``.FILE.sha256``, a line as ``sha256sum`` writes it.

MXNet's formats have no room for one, so a changed byte of an array reads as another number. Files at URLs get none: it would take another
transfer of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import FormatError, MissingFileError
from ..origin import warn
from .files import Name, file_exists, open_file, read_file, remove_file, write_file
from .urls import is_url


def checksum_file(name: str) -> str:
    """Where the checksum of a file stands: hidden, so that programs which look for checkpoints by their first letters find those alone."""
    folder, file = os.path.split(name)
    return os.path.join(folder, f".{file}.sha256")


@contextmanager
def checksum_beside(path: Name) -> Iterator[None]:
    """Write the checksum of a local file that the block writes.

    The old checksum goes first, so that a process that is killed meanwhile leaves a file without one, and never with another's.
    """
    name = os.fspath(path)
    if not is_url(name):
        remove_file(checksum_file(name))
    yield
    if not is_url(name) and file_exists(name):  # no pipe or device
        write_file(checksum_file(name), [f"{_digest_of(name)}  {os.path.basename(name)}\n".encode()])


def remove_with_checksum(path: Name) -> None:
    """Remove a file and its checksum, if they exist."""
    remove_file(path)
    remove_file(checksum_file(os.fspath(path)))


def verified(path: Name) -> str:
    """The SHA-256 of a file, which is the one beside it.

    Raises
    ------
    MissingFileError
        If the file or its checksum is missing.
    FormatError
        If they differ.
    """
    name = os.fspath(path)
    found = _digest_of(name)
    if not file_exists(checksum_file(name)):
        raise MissingFileError(
            f"{name} has no checksum", f"no {checksum_file(name)}", "checkpoints in local folders write one beside each file of numbers"
        )
    noted = (read_file(checksum_file(name)).decode("utf-8", "replace").split() or ["nothing"])[0]
    if noted != found:
        todo = f"take another copy, or remove {checksum_file(name)} if you replaced the file yourself"
        raise FormatError("this is not the file that was written", f"SHA-256 {found}, the checksum file says {noted:.64}", todo, path=name)
    return found


def warn_if_changed(path: Name) -> None:
    """Warn that a file which is about to be loaded is not the one that was written, if there is a checksum beside it."""
    name = os.fspath(path)
    if is_url(name) or not (file_exists(name) and file_exists(checksum_file(name))):
        return
    try:
        verified(name)
    except FormatError as error:
        warn(f"{error} (it is loaded as it is)")


def _digest_of(name: str) -> str:
    found = hashlib.sha256()
    with open_file(name, "rb") as file:
        while chunk := file.read(1 << 20):
            found.update(chunk)
    return found.hexdigest()
