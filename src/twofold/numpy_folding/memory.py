"""Who looks at the memory of folding arrays: a lease for what is handed out, and the pending results that read it later.

The memory is the truth and never moves while anybody but the folding arrays over it looks at it. Only fresh results are pending, which
nobody can alias. Nothing here counts references: ownership is declared by a lease, an array over a *memoryview* of the memory. NumPy
sets the base of a view, at any depth, to the last exact ndarray of the chain, which is the lease, so a weak reference to the lease tells
whether anybody still looks. At any time either the lease is alive or something pending reads the memory, never both:

* before memory is written or handed out, what reads it later reads it now (`Memory.leased`);
* what is computed of memory that somebody looks at is computed at once (`Memory.revoke_own_leases`).

A thread that holds a lease makes `revoke_own_leases` answer no, so the two rules hold between threads as well. `LOCK` protects the changes
of state; nobody computes while holding it.
"""

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any
from weakref import ref

import numpy as np

LOCK = RLock()  # reentrant, as a signal handler may interrupt the thread that holds it
#: Dead references to folding arrays are dropped when a memory has more than this many.
MOST_REFERENCES = 8
#: Dead references to pending operations are dropped when a memory has more than this many, or than twice those that were alive last time.
MOST_READERS = 32


def nobody() -> None:
    """A dead weak reference."""


class Memory:
    """The memory of one array that owns it.

    Attributes
    ----------
    owner
        An array over all of it, in row-major or column-major order. Never handed out.
    root
        The base of the owner's views.
    lease
        A weak reference to the lease.
    pin
        The lease, once somebody has the memory's address.
    arrays
        Weak references to the folding arrays over it.
    pending
        Weak references to the pending operations that have it as an operand, the oldest first.
    """

    __slots__ = ("__weakref__", "_limit", "arrays", "lease", "owner", "pending", "pin", "root")

    def __init__(self, owner: np.ndarray) -> None:
        self.owner = owner
        self.root: np.ndarray = owner.base if type(owner.base) is np.ndarray else owner  # from Twofold's pool: a view of a loan
        self.lease: Callable[[], np.ndarray | None] = nobody
        self.pin: np.ndarray | None = None
        self.arrays: list[Any] = []
        self.pending: list[Any] = []
        self._limit = MOST_READERS

    def add(self, array: Any) -> None:
        """Note a folding array."""
        if len(self.arrays) > MOST_REFERENCES:
            self.arrays = [r for r in self.arrays if r() is not None]
        self.arrays.append(ref(array))

    def is_shared(self) -> bool:
        """Whether several folding arrays look at it."""
        return len(self.arrays) > 1 and sum([r() is not None for r in self.arrays]) > 1

    def leased(self) -> np.ndarray:
        """The lease, after what is pending has read the memory; whoever holds it, or a view of it, looks at the memory."""
        found = self.lease()
        while found is None:
            self.settle()
            with LOCK:
                found = self.lease()
                if found is None and self._live_reader() is None:
                    owner = self.owner
                    found = np.asarray((owner if owner.flags.c_contiguous else owner.T).data)
                    self.lease = ref(found)
        return found

    def revoke_own_leases(self) -> bool:
        """Give the folding arrays' own leases back, since something is about to be pending; False if somebody else has one."""
        for r in self.arrays:
            array = r()
            if array is not None:
                array.leased = None
        return self.lease() is None

    def is_seen(self) -> bool:
        """Whether anybody looks at it, the folding arrays included."""
        return self.lease() is not None or any(r() is not None for r in self.arrays)

    def read_by(self, reference: Any) -> None:
        """Note a pending operation that has it as an operand."""
        if len(self.pending) >= self._limit:
            self.pending = [r for r in self.pending if (p := r()) is not None and p.source is None]
            self._limit = max(MOST_READERS, 2 * len(self.pending))
        self.pending.append(reference)

    def readers(self) -> Iterator[Any]:
        """The operations that will read it."""
        for r in self.pending:
            found = r()
            if found is not None and found.source is None:
                yield found

    def _live_reader(self) -> Any:
        """A result that would read the memory later; the newest first: it may contain the others. `LOCK` is held."""
        while self.pending:
            reader = self.pending[-1]()
            found = None if reader is None or reader.source is not None else reader.live_consumer()
            if found is not None:
                return found
            self.pending.pop()
        return None

    def settle(self) -> None:
        """Compute now what would read the memory later."""
        while self.pending:
            with LOCK:
                found = self._live_reader()
            if found is not None:
                found.compute()
