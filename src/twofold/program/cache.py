"""Tables of what is compiled: bounded, counted, and emptied when the nodes that are their keys are forgotten.

`PROGRAMS` is one table for everybody, so that a structure is compiled once for each kind of device whoever meets it: windows, backward
passes, single operations, symbols, and the n executors of a module on n devices.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Generic, TypeVar

from ..backend.protocol import Backend
from ..config import SETTINGS
from ..device import Device
from ..graph.ir import TABLES, Node
from .compile import Program
from .profiling import PROGRAM, Title


class Entry:
    """What a cache holds. Who finds an entry sets ``used``, and so keeps it from being dropped in the next round."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = False


AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Cache(dict[Hashable, AnyEntry], Generic[AnyEntry]):
    """Entries by structure; beyond a limit the oldest that were not used lately go.

    It is a dict for the sake of hot paths: ``cache.get(key)`` is no Python call, and a hit notes its use in the entry.

    Parameters
    ----------
    limit
        The greatest number of entries.

    Attributes
    ----------
    added, dropped
        How many entries were ever added, and how many were dropped because of the limit.
    """

    __slots__ = ("added", "dropped", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.added, self.dropped = limit, 0, 0

    def add(self, key: Hashable, entry: AnyEntry) -> AnyEntry:
        """Enter what was compiled; another thread's entry of the same key wins if it came first."""
        with TABLES.lock:  # a fork takes this lock, and a finalizer that compiles may take it again
            while len(self) >= self.limit:  # second chance: an entry used since it was last looked at goes to the end instead
                oldest = next(iter(self))
                found = self.pop(oldest)
                if found.used:
                    found.used = False
                    self[oldest] = found
                else:
                    self.dropped += 1
            self.added += 1
            return self.setdefault(key, entry)


class Compiled(Entry):
    """A program; None for a structure that was met once and is compiled when it is met again."""

    __slots__ = ("program",)

    def __init__(self, program: Program | None) -> None:
        super().__init__()
        self.program = program


PROGRAMS: Cache[Any] = Cache(4096)
TABLES.dependents.append(PROGRAMS.clear)


def program_of(
    outputs: Sequence[Node],
    leaves: Sequence[Node],
    backend: Backend,
    *,
    donated: Collection[Node] = (),
    title: Title = PROGRAM,
    device: Device | None = None,
) -> Program:
    """The program of a graph, compiled unless it was before. See `Program` for the parameters."""
    key = tuple(outputs), tuple(leaves), frozenset(donated), backend, title, *vars(SETTINGS).values()  # settings decide what is fused
    found = PROGRAMS.get(key)
    if found is None:
        found = PROGRAMS.add(key, Compiled(Program(outputs, leaves, backend, donated=donated, title=title, device=device)))
    else:
        found.used = True
    return found.program
