"""Reads one file out of a ZIP or TAR archive, whose other files and claims about sizes take no memory."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO

from ..errors import FormatError
from .datasets import GZIP_MAGIC
from .files import open_file

if TYPE_CHECKING:
    import os

#: What the standard library raises for damaged archives; RuntimeError: an encrypted file, or headers that are nested too deeply.
FAULTS = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, LookupError, ArithmeticError),
)
#: The ways of compression that are read.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: How many times as large as its archive a file may be. Deflate reaches 1000, but not with numbers that mean anything.
RATIO = 100


def read_zipped(archive: str | os.PathLike[str], name: str, most: int) -> bytes:
    """The content of the file of a given name in a ZIP archive.

    Parameters
    ----------
    archive
        The archive: a path or URL.
    name
        The file's name in it.
    most
        How many bytes it may have.

    Raises
    ------
    FormatError
        If the archive is damaged, lacks the file, or the file is larger, compressed in another way than by deflate, or more than 100 times
        as large as the archive.
    """
    try:
        with open_file(archive, "rb") as file, zipfile.ZipFile(file) as content:
            found = content.getinfo(name)
            if found.compress_type not in METHODS:
                raise FormatError(f"{name} is compressed in a way that is not read", f"method {found.compress_type}", "use deflate")
            _check_size(name, found.file_size, min(most, RATIO * file.seek(0, 2)))
            return content.read(found)
    except FormatError as error:
        raise error.at_path(archive) from None
    except FAULTS as error:
        raise FormatError(f"not an archive of {name}: {error}", None, "remove it and get it again").at_path(archive) from error


def read_tarred(archive: str | os.PathLike[str], name: str, most: int, most_archive: int) -> bytes | None:
    """The content of the first file of a given name, in any folder of a TAR archive, which may be compressed by gzip; None without one.

    Parameters
    ----------
    archive
        The archive: a path or URL.
    name
        The file's name without its folder.
    most, most_archive
        How many bytes it may have, and how many of the archive are decompressed.

    Raises
    ------
    FormatError
        If the archive is damaged, the file or the archive is larger, or the file is sparse.
    """
    try:
        with open_file(archive, "rb") as file:
            is_compressed = file.read(2) == GZIP_MAGIC
            file.seek(0)
            plain = gzip.GzipFile(fileobj=file) if is_compressed else file
            with tarfile.TarFile(fileobj=_Bounded(plain, most_archive)) as members:
                found = next((m for m in members if m.isfile() and m.name.rpartition("/")[2] == name), None)
                if found is None:
                    return None
                if found.issparse():
                    raise FormatError(f"{name} has gaps, which take no room in the archive", f"{found.size} bytes", "pack it without")
                _check_size(name, found.size, most)
                content = members.extractfile(found)
                return None if content is None else content.read()
    except FormatError as error:
        raise error.at_path(archive) from None
    except FAULTS as error:
        raise FormatError(f"the archive is damaged: {error}", None, "remove it and get it again").at_path(archive) from error


def _check_size(name: str, size: int, most: int) -> None:
    if size > most:
        raise FormatError(f"{name} is larger than such a file can be", f"{size} bytes, at most {most}", "remove it and get it again")


class _Bounded(io.RawIOBase):
    """A file of which no byte behind a bound is read: the sizes in an archive's headers are those that its maker wrote."""

    def __init__(self, file: BinaryIO | gzip.GzipFile, most: int) -> None:
        super().__init__()
        self._file, self._most = file, most

    def tell(self) -> int:
        """The position."""
        return self._file.tell()

    def seek(self, place: int, whence: int = 0, /) -> int:
        """Move, from the start; `tarfile` moves in no other way."""
        self._check(place)
        return self._file.seek(place, whence)

    def read(self, size: int = -1, /) -> bytes:
        """Read bytes."""
        self._check(self._file.tell() + size)
        return self._file.read(size)

    def _check(self, end: int) -> None:
        if end > self._most:
            raise FormatError("the archive is larger than such an archive can be", f"{end} bytes, at most {self._most}")
