"""The open index of an `MXIndexedRecordIO`, as programs that write its lines themselves use it."""

import os
from io import TextIOWrapper
from weakref import WeakKeyDictionary

from ..formats.files import open_file
from ..recordio import MXIndexedRecordIO
from .array_state import adopt

#: The files of indices that programs have asked for.
_indices: "WeakKeyDictionary[MXIndexedRecordIO, TextIOWrapper]" = WeakKeyDictionary()


class _IndexFile(MXIndexedRecordIO):
    """The open file of the index, which programs write lines of their own to."""

    @property
    def fidx(self) -> TextIOWrapper:
        """The file as text: at its end, as it has been read or is being written."""
        found = _indices.get(self)
        if found is None or (found.closed and self.is_open):
            binary = self._index if self.writable else open_file(self.idx_path, "rb")
            # what the program writes comes between the lines of the record itself
            file = TextIOWrapper(binary, "utf-8", write_through=True)
            vars(file)["mode"] = self.flag
            if self.is_open:
                file.seek(0, os.SEEK_END)
            found = _indices[self] = file
        if not self.is_open:
            found.close()
        return found

    @fidx.setter
    def fidx(self, file: TextIOWrapper) -> None:
        _indices[self] = file


adopt(MXIndexedRecordIO, _IndexFile)
