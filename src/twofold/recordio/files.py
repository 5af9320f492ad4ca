"""Files of records, read in sequence or, with an index, by keys."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Hashable
from typing import Any

from ..errors import DTypeError, EngineError, FileAccessError, FormatError, MissingFileError, NotReady, ParameterError, UnknownKey
from ..formats.dict_keys import check_keys
from ..formats.files import open_file, read_file
from ..formats.json_text import utf8
from ..formats.recordio import RecordReader, RecordWriter, load_index

#: Held while a forked process opens a file again. The file's own lock cannot be used: the fork copied it, perhaps while a thread of the
#: parent held it, and no thread would release the copy.
_REOPENING = threading.Lock()


#: A key of a record: the index's ``key_type`` applied to its text, by default an integer.
Key = Hashable


class MXRecordIO:
    """Reads or writes a file of records in sequence.

    A reader is reopened in a forked process, where it continues at its record, and when it is unpickled, where it starts at the first.
    Several threads may use one.

    Parameters
    ----------
    uri
        The file, a path or a URL that fsspec opens.
    flag
        ``"r"`` to read, ``"w"`` to write a new file. As in MXNet, a file of that name is emptied when it is opened, and records can be read
        while others are written. To replace a file that others read, write another one and rename it at the end: ``os.replace(new, old)``.

    Raises
    ------
    ParameterError
        If ``flag`` is something else.
    MissingFileError, FileAccessError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile, twofold as mx
    >>> path = tempfile.mkdtemp() + "/a.rec"
    >>> file = mx.recordio.MXRecordIO(path, "w")
    >>> file.write(b"first"), file.write(b"second")
    (None, None)
    >>> file.close()
    >>> file = mx.recordio.MXRecordIO(path, "r")
    >>> file.read(), file.read(), file.read()
    (b'first', b'second', None)
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.pid: int | None = None  #: the process that opened the file: a forked child has another number
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Open the file, at its start. A file to write loses its content."""
        if self.flag not in ("r", "w"):
            raise ParameterError(f"Invalid flag {self.flag}", None, "use 'r' or 'w'")
        self.close()
        self.writable = self.flag == "w"
        self._open_file()

    def _open_file(self) -> None:
        self._file = open_file(self.uri, "wb" if self.writable else "rb")
        self._records = RecordWriter(self._file) if self.writable else RecordReader(self._file)
        # of each opened file: a position, and the bytes read from there, belong together
        self._lock = threading.RLock()
        self.is_open = True
        self.pid = os.getpid()

    def close(self) -> None:
        """Close the file, if it is open."""
        if self.is_open:
            if isinstance(self._records, RecordWriter) and self.pid == os.getpid():  # a forked process must not cut its parent's file
                self._records.drop_unfinished()
            self.is_open = False
            self.pid = None
            self._file.close()

    def __del__(self) -> None:
        if getattr(self, "is_open", False):  # a constructor that failed may not have set it
            self.close()

    def __getstate__(self) -> dict[str, object]:
        if self.is_open and self.writable:
            raise EngineError(f"{self.uri}: a file that is being written cannot be pickled", None, "close it first")
        # an open file and its lock belong to their process; `__setstate__` makes new ones
        return {name: value for name, value in vars(self).items() if name not in ("_file", "_records", "_lock")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        if self.is_open:
            self._open_file()

    def reset(self) -> None:
        """Go to the first record; a file to write is emptied."""
        if self.is_open and not self.writable and self.pid == os.getpid():
            self._reader().offset = 0  # without opening the file again, which for a URL is a request
        else:
            self.open()

    def write(self, buf: bytes) -> None:
        """Append a record. It is in the file, and not in a buffer, when this returns.

        Raises
        ------
        ParameterError
            If it has 2**29 bytes or more.
        DTypeError
            If it is not bytes.
        NotReady
            If the file is not open for writing.
        EngineError
            In a forked process: the file is its parent's.
        FileAccessError
            If the disk is full.
        """
        writer = self._writer()
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise DTypeError("a record must be bytes", f"{type(buf).__name__}", "encode it, or pack it with mx.recordio.pack")
        with self._lock:
            writer.write(bytes(buf))

    def read(self) -> bytes | None:
        """Return the next record, or None after the last.

        Raises
        ------
        FormatError
            If the file is damaged.
        FileAccessError
            If the disk fails.
        NotReady
            If it is not open for reading.
        """
        reader = self._reader()
        with self._lock:
            return self._next(reader)

    @property
    def size(self) -> int:
        """Size of a file that is read, in bytes."""
        reader = self._reader()
        with self._lock:
            return reader.size()

    def skip_damage(self) -> None:
        """After `read` raised a `FormatError`: advance to the next whole record, or else to the end of the file."""
        reader = self._reader()
        with self._lock:
            reader.skip_damage()

    def _next(self, reader: RecordReader) -> bytes | None:
        try:
            return reader.read()
        except FormatError as error:
            raise error.at_path(self.uri) from None
        except OSError as error:
            raise FileAccessError(f"cannot read {self.uri} at byte {reader.offset}: {error}", None, "check the disk") from error

    def _reader(self) -> RecordReader:
        if self.pid != os.getpid() and self.is_open:
            self._reopen()
        if not self.is_open or isinstance(self._records, RecordWriter):
            raise NotReady(f"{self.uri}: not open for reading", None, "open it with the flag 'r'")
        return self._records

    def _writer(self) -> RecordWriter:
        if not self.is_open or isinstance(self._records, RecordReader):
            raise NotReady(f"{self.uri}: not open for writing", None, "open it with the flag 'w'")
        if self.pid != os.getpid():
            # parent and child have one position in the file: their records would be written over each other
            raise EngineError(f"{self.uri}: written by the process {self.pid}", f"process {os.getpid()}", "let each process write a file")
        return self._records

    def _reopen(self) -> None:
        """Open the file again in a forked process, which otherwise would share its position with the parent."""
        with _REOPENING:
            if self.pid != os.getpid() and not self.writable:  # another thread may have been faster
                # the parent's position at the fork; the object is a copy of the parent's, the file descriptor is shared
                place = self._records.offset
                self._open_file()
                self._reader().offset = place


class MXIndexedRecordIO(MXRecordIO):
    """Reads records by keys, or writes records with keys and their index. See `MXRecordIO`.

    Where the index is missing, the records are numbered from 0, with a warning, as the file is read through once.

    Parameters
    ----------
    idx_path
        The index: a text file with a key, a tab and the offset of the record on each line.
    uri, flag
        As for `MXRecordIO`.
    key_type
        Makes a key from its text.

    Attributes
    ----------
    idx
        Key to offset.
    keys
        The keys in the order of the index.

    Raises
    ------
    FormatError
        If the index is damaged, or is missing and the file is.

    Examples
    --------
    >>> import tempfile, twofold as mx
    >>> path = tempfile.mkdtemp() + "/a"
    >>> file = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> for key in range(3):
    ...     file.write_idx(key, b"record %d" % key)
    >>> file.close()
    >>> mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "r").read_idx(1)
    b'record 1'
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[Any], Key] = int,
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Key, int] = {}
        self.keys: list[Key] = []
        self.key_type = key_type
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open the file and its index; see `MXRecordIO.open`."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                self._index = open_file(self.idx_path, "wb")
            else:
                for key, offset in self._entries():
                    self.idx[key] = offset
                    self.keys.append(key)
        except BaseException:  # a file whose index cannot be read must not stay open after the error
            super().close()
            raise

    def _entries(self) -> list[tuple[Key, int]]:
        try:
            entries = [(self.key_type(key), offset) for key, offset in load_index(read_file(self.idx_path))]
            check_keys([key for key, _ in entries], "an index of records")
            return entries
        except MissingFileError:
            warnings.warn(f"there is no index {self.idx_path}: the records of {self.uri} are numbered from 0", stacklevel=4)
            return self._numbered()
        except FormatError as error:
            raise error.at_path(self.idx_path) from None
        except ValueError as error:
            raise FormatError(f"a key in the index is of another type: {error}", None, "pass its key_type", path=self.idx_path) from error

    def _numbered(self, damaged: Callable[[FormatError], None] | None = None) -> list[tuple[Key, int]]:
        reader = self._reader()
        tell = damaged and (lambda error: damaged(error.at_path(self.uri)))
        try:
            entries = [(self.key_type(number), offset) for number, offset in enumerate(reader.offsets(tell))]
        except FormatError as error:
            todo = "pack the file anew (python -m twofold im2rec), or read the rest by mx.io.ImageRecordIter(…, on_bad_sample='skip')"
            raise FormatError(error.what, error.given, todo, offset=error.offset, path=self.uri) from None
        # the file was read through; `read` begins at the first record
        reader.offset = 0
        return entries

    def close(self) -> None:
        """Close the file and its index, if they are open."""
        if self.is_open and self.writable:
            self._index.close()
        super().close()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in super().__getstate__().items() if name != "_index"}

    def seek(self, idx: Key) -> None:
        """Go to the record of a key, which `read` then returns.

        Raises
        ------
        KeyError
            If the index does not list it.
        """
        reader = self._reader()
        with self._lock:
            reader.offset = self._offset(idx)

    def tell(self) -> int:
        """Return where the next record will be written, in bytes."""
        return self._writer().offset

    def read_idx(self, idx: Key) -> bytes:
        """Return the record of a key.

        Raises
        ------
        KeyError
            If the index does not list it.
        FormatError
            If the file is damaged, or the index is that of another file.
        """
        reader = self._reader()
        with self._lock:
            reader.offset = self._offset(idx)
            # under the same lock as the position: another thread may go elsewhere in between
            content = self._next(reader)
        if content is None:
            todo = "the index belongs to another file"
            raise FormatError("no record starts at the end", f"key {idx!r}", todo, offset=self.idx[idx], path=self.uri)
        return content

    def write_idx(self, idx: Key, buf: bytes) -> None:
        """Append a record, and its key to the index."""
        # first, because a wrong key must not leave a record without an entry
        key = self.key_type(idx)
        writer = self._writer()
        with self._lock:  # another thread must not write between the look at the place and the record
            offset = writer.offset  # before the record is written: where it will start
            entry = utf8(f"{key}\t{offset}\n", "a key")
            self.write(buf)
            self._index.write(entry)
            self.idx[key] = offset
            self.keys.append(key)

    def _offset(self, key: Key) -> int:
        try:
            return self.idx[key]
        except KeyError:
            raise UnknownKey(f"{self.idx_path}: no record of this key", f"{key!r}", "see its attribute keys") from None
