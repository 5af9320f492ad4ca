"""A file whose content is looked at, in parts or whole."""

import contextlib
import io
import os
from collections.abc import Iterator
from typing import BinaryIO

from ...errors import FileAccessError, FormatError, MissingFileError
from ...formats.files import open_file, read_file

#: First bytes of a file that determine its kind.
HEAD = 4096


class InspectedFile:
    """An open file.

    Parameters
    ----------
    path
        Its name, a path or a URL.
    file
        The file, open for reading.

    Attributes
    ----------
    size
        Its length in bytes.
    head
        Its first bytes.
    is_local
        Whether reading a few bytes at a time is cheap.
    """

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path = path
        self.file = file
        self.is_local = isinstance(file, io.BufferedReader)
        self.size = file.seek(0, os.SEEK_END)
        self.head = self.read(0, HEAD)

    def read(self, start: int, size: int) -> bytes:
        """The bytes at an offset, fewer at the end of the file."""
        self.file.seek(start)
        return self.file.read(size)

    def whole(self) -> bytes:
        """All bytes."""
        return self.read(0, self.size)

    def beside(self, old: str, new: str) -> bytes | None:
        """The content of the file whose name has another part in place of the last ``old``; None without such a file."""
        start, found, end = self.path.rpartition(old)
        try:
            return read_file(f"{start}{new}{end}") if found else None
        except MissingFileError:
            return None


@contextlib.contextmanager
def opened(path: str) -> Iterator[InspectedFile]:
    """A file, closed at the end.

    Raises
    ------
    MissingFileError, FileAccessError, MissingDependency
        If it cannot be opened or read.
    FormatError
        If it is empty.
    """
    with open_file(path, "rb") as file:
        if not file.seekable():
            raise FileAccessError(f"cannot read {path} in parts: it is a pipe or a device", None, "copy it to a file")
        try:
            source = InspectedFile(path, file)
        except OSError as error:
            raise FileAccessError(f"cannot read {path}: {error.strerror or str(error)}") from error
        if not source.size:
            raise FormatError("the file is empty", path=path)
        yield source
