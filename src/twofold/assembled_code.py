"""Keeps assembled code for the next process, beside Python's compiled modules and by their rules: assembling is half of a first use.

One file has the code of all functions. It holds until a source changes that was loaded when it was written.
"""

import atexit
import contextlib
import marshal
import os
import sys
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

#: File, name and first line of a function, and what is known when it is assembled.
Key: TypeAlias = tuple[str, str, int, tuple[tuple[str, object], ...]]
#: Code, and the names in it that stand for objects of other modules, each with its module.
Assembled: TypeAlias = tuple[CodeType, dict[str, str]]


class KeptCode:
    """The assembled code of this process and of those before it.

    Parameters
    ----------
    path
        The file. Where it cannot be written, or Python is told to write no compiled modules, code is assembled anew in each process.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._sources: dict[str, tuple[int, int]] = {}
        self._entries: dict[Key, Assembled] | None = None

    def get(self, key: Key) -> Assembled | None:
        """The code that was kept, if all sources are as they were."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries.get(key)

    def add(self, key: Key, entry: Assembled) -> Assembled:
        """Keep code that has just been assembled."""
        assert self._entries is not None
        if not sys.dont_write_bytecode:
            atexit.unregister(self._write)
            atexit.register(self._write)
            # now, not at the end of the process: what is written then may be newer than what was loaded
            loaded = {m.__file__ for name, m in list(sys.modules.items()) if name.startswith("twofold") and getattr(m, "__file__", None)}
            self._sources |= {path: _state_of(path) for path in loaded - self._sources.keys() if path is not None}
        self._entries[key] = entry
        return entry

    def _read(self) -> dict[Key, Assembled]:
        # what is damaged raises one of these, as in Python's own compiled modules
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            data = Path(self._path).read_bytes()
            if data.startswith(MAGIC_NUMBER):
                sources, entries = marshal.loads(memoryview(data)[len(MAGIC_NUMBER) :])
                if all(_state_of(path) == state for path, state in sources.items()):
                    self._sources = sources
                    return entries
        return {}

    def _write(self) -> None:
        own = f"{self._path}.{os.getpid()}"
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(own), exist_ok=True)
            Path(own).write_bytes(MAGIC_NUMBER + marshal.dumps((self._sources, self._entries)))
            os.replace(own, self._path)


def key_of(function: FunctionType, known: tuple[tuple[str, object], ...]) -> Key:
    """The key of a function for which some names are known."""
    code = function.__code__
    return code.co_filename, code.co_name, code.co_firstlineno, known


def _state_of(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


KEPT = KeptCode(cache_from_source(str(Path(__file__).with_name("assembled.py"))) + "s")
