"""Which captured graphs of an adapter live: they make room for others, and give their memory back when it runs out."""

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Protocol

from twofold.config import SETTINGS

from . import limits
from .library import runtime
from .memory import Memory
from .streams import Stream

#: Graphs kept on a device, and the share of its memory that they may occupy; the least recently used are dropped.
MAX_GRAPHS, MAX_SHARE = 64, 0.5


class CachedGraph(Protocol):
    """The members of a captured graph that the cache uses: its device, its memory, its last use, and a method that ends it."""

    device: int
    pool: limits.PrivatePool
    last_used: int

    def evict(self) -> None:
        """Called when the graph has left the cache."""
        ...


class GraphCounts:
    """Statistics of an adapter's graphs.

    Attributes
    ----------
    captured, launched, dropped
        Graphs captured; graph launches; graphs evicted for others or for their memory.
    failed
        Captures that failed, and will be tried again.
    refused
        Programs or specializations with enough steps that cannot be captured and always run step by step.
    """

    captured = launched = dropped = failed = refused = 0


class Graphs:
    """The graph cache of an adapter.

    Parameters
    ----------
    memory
        The adapter's allocator. When it runs out of memory, it evicts all graphs.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory, self.counts = memory, GraphCounts()
        self._live: weakref.WeakSet[CachedGraph] = weakref.WeakSet()
        self._streams: dict[int, list[Stream]] = {}
        self._lock = threading.RLock()
        self.time = count()
        memory.reserves.append(self.drop)

    @contextmanager
    def capturing(self, device: int) -> Iterator[list[Stream]]:
        """The capture streams of a device, the first of them current; one thread captures at a time.

        They are private to captures: waiting for a stream that is being captured would break the capture.
        """
        with self._lock:
            streams = self._streams.setdefault(device, [])
            most = max(SETTINGS.gpu_streams, 1)
            # the setting may have been raised since the last capture; lowered, the further streams wait unused
            streams += [Stream(device, "capture") for _ in range(most - len(streams))]
            with streams[0]:
                yield streams[:most]

    def no_capture(self) -> AbstractContextManager[object]:
        """A context manager: while it is held, no thread captures."""
        return self._lock

    def add(self, graph: CachedGraph) -> None:
        """Add a graph of the current device, and evict the least recently used ones over the limits."""
        with self._lock:
            self.counts.captured += 1
            self._live.add(graph)
            others = sorted([g for g in self._live if g is not graph and g.device == graph.device], key=lambda g: g.last_used)
        bound = MAX_SHARE * (limits.limit() or runtime.memGetInfo()[1])
        while others and (len(others) >= MAX_GRAPHS or self.nbytes(graph.device) > bound):
            self._drop([others.pop(0)])

    def drop(self) -> None:
        """Evict all graphs; programs that run again are captured again."""
        with self._lock:
            live = list(self._live)
        self._drop(live)  # without the lock: a graph's destructor may release memory and come back here

    def _drop(self, graphs: Sequence[CachedGraph]) -> None:
        with self._lock:
            self._live.difference_update(graphs)
            self.counts.dropped += len(graphs)
        for graph in graphs:
            graph.evict()

    def nbytes(self, device: int) -> int:
        """Bytes of a device's memory in the graphs' private pools."""
        with self._lock:
            return sum(g.pool.total_bytes() for g in self._live if g.device == device)

    def __len__(self) -> int:
        with self._lock:
            return len(self._live)
