"""The cache of compiled programs, bounded and counted.

Windows, backward passes, single operations, `mx.compile` and executors share one table, `PROGRAMS`, so that a structure is compiled once
for each kind of device: the n executors of a module on n devices share their programs. It is cleared with the tables of interned nodes,
since nodes are its keys. Both are cleared when a setting that affects compilation changes, since nodes hold programs too.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..backend.protocol import Backend
from ..collector import RESTING
from ..config import ON_CHANGE
from ..device import Device
from ..graph.ir import Node
from ..graph.tables import TABLES, drop_generation
from .compile import Program
from .profiling import PROGRAM, Title


class CacheEntry:
    """An entry of a cache. ``used``: whether it was looked up since it was made or last survived an eviction. ``is_new``: none came yet."""

    used = False
    is_new = True


AnyEntry = TypeVar("AnyEntry", bound=CacheEntry)


class Cache(dict[Hashable, Any]):
    """Entries by structure, with second-chance eviction: the oldest entries that were not used lately are evicted.

    A hit only sets a flag: moving the entry to the end would be a second and a third look-up, under a lock.

    Parameters
    ----------
    limit
        Maximum number of entries.

    Attributes
    ----------
    added, dropped
        Number of entries ever added, and of those evicted because of the limit.
    """

    __slots__ = ("added", "dropped", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.added, self.dropped = limit, 0, 0

    def get_or(self, key: Hashable, make: Callable[[], AnyEntry]) -> AnyEntry:
        """The entry of a structure, made if it is new."""
        # without the lock: `make` may compile for a second, and `add` settles a race of two threads
        found = self.get(key)
        if found is None:
            with RESTING:
                made = make()
            return self.add(key, made)
        found.used = True
        return found

    def add(self, key: Hashable, entry: AnyEntry) -> AnyEntry:
        """Insert an entry, and return the valid one: another thread's entry wins if it came first."""
        # An entry that has been used since the last eviction check gets a second chance at the end of the order. So a hit costs one
        # attribute, and a program that a training loop uses in each iteration is never evicted.
        with TABLES.lock:  # held by fork(), so that no child finds a half-done eviction; reentrant, for finalizers that compile
            # ends: each pass of an entry clears its flag, so the second pass evicts it
            while len(self) >= self.limit:
                oldest = next(iter(self))
                found = self.pop(oldest)
                if found.used:
                    found.used = False
                    self[oldest] = found
                else:
                    self.dropped += 1
            self.added += 1
            return self.setdefault(key, entry)

    def drop(self, everything: bool) -> None:
        """Evict all entries, or those that have not been used since they last survived; new ones may be used soon."""
        if everything:
            self.clear()
            return
        for key, found in list(self.items()):
            if found.used or found.is_new:
                found.used = found.is_new = False
            else:
                del self[key]
                self.dropped += 1


@dataclass(eq=False)
class Compiled(CacheEntry):
    """A program."""

    program: Program


PROGRAMS = Cache(4096)
TABLES.programs.append(PROGRAMS.drop)
ON_CHANGE.append(drop_generation)


def program_of(
    outputs: Sequence[Node],
    leaves: Sequence[Node],
    backend: Backend,
    *,
    donated: Collection[Node] = (),
    title: Title = PROGRAM,
    device: Device | None = None,
) -> Program:
    """The program of a graph, from the cache or compiled. See `Program` for the parameters."""
    # by the nodes themselves: they are interned, so equal structures are equal keys at the cost of comparing identities
    key = tuple(outputs), tuple(leaves), frozenset(donated), backend, title
    return PROGRAMS.get_or(key, lambda: Compiled(Program(outputs, leaves, backend, donated=donated, title=title, device=device))).program
