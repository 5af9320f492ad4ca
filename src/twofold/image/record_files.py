"""The files of records that an iterator reads, one after another as if they were one."""

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from ..errors import FileAccessError, FormatError, ParameterError
from ..formats.files import file_exists, listed_files, read_file, with_suffix
from ..formats.recordio import load_index
from ..recordio.files import Key, MXIndexedRecordIO

Damaged = Callable[[FormatError | FileAccessError], None]
#: Extensions of the files next to records that have none.
BESIDE = (".idx", ".lst")


class RecordKey(NamedTuple):
    """A record: the number of its file, and its key there, which messages show."""

    shard: int
    key: Key

    def __str__(self) -> str:
        return str(self.key)


class _Records(MXIndexedRecordIO):
    """A file of records that may have no index: no keys are needed, so the records' numbers serve as keys.

    Damaged places are skipped if a function is given, which is called for each of them.
    """

    def __init__(self, uri: str, damaged: Damaged | None) -> None:
        self._damaged = damaged
        super().__init__(with_suffix(uri, ".idx"), uri, "r")

    def _entries(self) -> list[tuple[Key, int]]:
        return super()._entries() if file_exists(self.idx_path) else self._numbered(self._damaged)


class _Listed(MXIndexedRecordIO):
    """A file of records whose index is a part of one for several files, and is set later."""

    def _entries(self) -> list[tuple[Key, int]]:
        return []


class RecordFiles:
    """Records of one file, or of several as if they were one. Threads may use them at the same time.

    Parameters
    ----------
    title
        Name of the iterator, for messages.
    records
        A file, several with semicolons between, or a folder; see `listed_files`.
    indexes
        An index for each file, or one whose offsets are those in all files joined. Without any, files are read by the index next to them,
        or through once where there is none.
    damaged
        What to do about places without a whole record, and about files that cannot be read among others that can; raise the error if None.

    Attributes
    ----------
    keys
        The records, in the order of the files.
    size
        Size of all files, in bytes.

    Raises
    ------
    MissingFileError, FileAccessError, FormatError
        If a file cannot be read; with ``damaged``, if none can.
    ParameterError
        If there are more indexes than one, but not one for each file.
    """

    def __init__(self, title: str, records: str, indexes: str, damaged: Damaged | None) -> None:
        paths, listed = listed_files(records, BESIDE), listed_files(indexes) if indexes else []
        if len(listed) not in (0, 1, len(paths)):
            counts = f"{len(listed)} for {len(paths)} files"
            raise ParameterError(f"{title}: path_imgidx", counts, "name an index for each file, or one for all files joined")
        joint = listed[0] if len(listed) == 1 < len(paths) else ""
        self.keys: list[RecordKey] = []
        self.size = 0
        self._files: list[MXIndexedRecordIO] = []
        self._starts: list[int] = []
        errors: list[FormatError | FileAccessError] = []
        for number, path in enumerate(paths):
            try:
                if joint:
                    file: MXIndexedRecordIO = _Listed(joint, path, "r")
                else:
                    file = MXIndexedRecordIO(listed[number], path, "r") if listed else _Records(path, damaged)
            except (FileAccessError, FormatError) as error:
                if damaged is None or joint:  # the offsets in a joint index need the sizes of all files
                    raise
                errors.append(error)
                continue
            self._starts.append(self.size)
            self._files.append(file)
            self.keys += [RecordKey(len(self._files) - 1, key) for key in file.keys]
            self.size += file.size
        if errors and not self._files:
            raise errors[0]
        if damaged is not None:
            for error in errors:
                damaged(error)
        if joint:
            self._divide(joint)

    def _divide(self, path: str) -> None:
        """Give each file its entries of an index for all of them."""
        try:
            entries = load_index(read_file(path))
        except FormatError as error:
            raise error.at_path(path) from None
        # if the index has a key twice, its last entry counts
        for key, offset in dict(entries).items():
            # the last file that begins at the offset or before it
            shard = bisect_right(self._starts, offset) - 1
            self._files[shard].idx[key] = offset - self._starts[shard]
            self.keys.append(RecordKey(shard, key))

    def offset_of(self, key: RecordKey) -> int:
        """Where a record starts in all files joined."""
        return self._starts[key.shard] + self._files[key.shard].idx[key.key]

    def path_of(self, key: RecordKey) -> str:
        """The file that a record is in."""
        return self._files[key.shard].uri

    def read(self, key: RecordKey) -> bytes:
        """Return a record; see `MXIndexedRecordIO.read_idx`."""
        return self._files[key.shard].read_idx(key.key)
