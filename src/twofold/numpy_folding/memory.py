"""The memory of folding arrays: a lease for everything that is handed out, and the pending operations that read the memory later.

The memory holds the content, and it never moves while code other than the folding arrays over it can see it. Only new results are pending,
and nothing can alias those. Nothing here counts references: ownership is declared by a lease, an array over a *memoryview* of the memory.
NumPy sets the base of a view, at any depth, to the last exact ndarray of the chain, which is the lease. So a weak reference to the lease
tells whether such a view is alive. At any time either the lease is alive or a pending operation reads the memory, never both:

* before memory is written or handed out, the pending operations that read it are computed (`Memory.leased`);
* operations on memory whose lease is alive are computed at once (`Memory.revoke_own_leases`).

While a thread holds the lease, `revoke_own_leases` returns False, so the two rules hold between threads as well. `LOCK` protects the
changes of state; no thread computes while it holds the lock.
"""

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any, Protocol, TypeVar, final
from weakref import ref

import numpy as np

from .rules import ArrayKind, Rule
from .sites import Site

LOCK = RLock()  # reentrant, as a signal handler may interrupt the thread that holds it
T = TypeVar("T")
#: Dead references to folding arrays are dropped when a memory has more than this many.
MOST_REFERENCES = 8
#: Dead references to pending operations are dropped when a memory has more than this many, or than twice those that were alive last time.
MOST_READERS = 32


class Operation(Protocol):
    """A pending operation (`chain.ChainNode`), as `Memory` and the modules that compute chains see it."""

    rule: Rule
    operands: "tuple[Operand, ...]"
    kind: ArrayKind
    result: "ArrayOperand | None"

    def live_consumer(self) -> "Operation | None":
        """The last issued result that needs this operation, or nearly the last; None if no result needs it. `LOCK` is held."""
        ...

    def compute(self) -> None:
        """Compute it."""


class View(Protocol):
    """A folding array, as its memory and the operation that gives its content see it."""

    array: np.ndarray | None
    leased: np.ndarray | None
    memory: "Memory"
    operand: "ArrayOperand | None"
    pending: Any


class _Gone:
    __slots__ = ("__weakref__",)


def _buffer(row_major: np.ndarray) -> memoryview:
    return row_major.data


#: A dead weak reference.
nobody: "ref[Any]" = ref(_Gone())


@final
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
        The lease, once code outside has the memory's address: no reference tells when it is done, so the lease never dies.
    arrays
        Weak references to the folding arrays over it.
    pending
        Weak references to the pending operations that have it as an operand, the oldest first.
    limit
        The length of `pending` from which dead references are dropped.
    """

    __slots__ = ("__weakref__", "arrays", "lease", "limit", "owner", "pending", "pin", "root")

    def __init__(self, owner: np.ndarray) -> None:
        self.owner = owner
        self.root: np.ndarray = owner.base if type(owner.base) is np.ndarray else owner  # from Twofold's pool: a view of a loan
        self.lease: ref[np.ndarray] = nobody
        self.pin: np.ndarray | None = None
        self.arrays: list[ref[View]] = []
        self.pending: list[Callable[[], Operation | None]] = []
        self.limit = MOST_READERS

    def add(self, array: "View") -> None:
        """Note a folding array."""
        if len(self.arrays) > MOST_REFERENCES:
            self.arrays = [r for r in self.arrays if r() is not None]
        self.arrays.append(ref(array))

    def is_shared(self) -> bool:
        """Whether more than one folding array is a view of it."""
        return len(self.arrays) > 1 and sum([r() is not None for r in self.arrays]) > 1

    def leased(self) -> np.ndarray:
        """The lease, after the pending operations that read the memory are computed; it lives while it, or a view of it, is referenced."""
        found = self.lease()
        while found is None:
            if self.pending:
                self.settle()  # without the lock, since it computes
            with LOCK:
                found = self.lease()
                # Another thread may have issued an operation since `settle`: the loop computes that one, too.
                if found is None and (not self.pending or self._live_reader() is None):
                    # Over a memoryview the array's base is no ndarray, so NumPy ends the chain of bases at the lease.
                    found = np.asarray(self.of_owner(_buffer))
                    self.lease = ref(found)
        return found

    def of_owner(self, make: Callable[[np.ndarray], T]) -> T:
        """What ``make`` makes of the owner in row-major order: writable even if the program has made the owner read-only.

        The views that it took before can be written, and it may make the owner writable again.
        """
        owner = self.owner
        row_major = owner if owner.flags.c_contiguous else owner.T
        with LOCK:  # or another thread would make the owner read-only again meanwhile
            if owner.flags.writeable:
                return make(row_major)
            try:
                self.root.flags.writeable = owner.flags.writeable = row_major.flags.writeable = True  # a view, after what it is a view of
                return make(row_major)
            finally:
                owner.flags.writeable = self.root.flags.writeable = False

    def revoke_own_leases(self) -> bool:
        """Drop the folding arrays' references to the lease before an operation becomes a reader; False if other code holds the lease."""
        for r in self.arrays:
            array = r()
            if array is not None:
                array.leased = None
        return self.lease() is None

    def forget_what_has_read(self) -> list[Callable[[], Operation | None]]:
        """Drop the operations that will not read it any more. Returns the list to which the next reader is added."""
        self.pending = [r for r in self.pending if (p := r()) is not None and p.result is None]
        # Twice the live readers, so that dropping dead ones costs each new reader constant time on average.
        self.limit = max(MOST_READERS, 2 * len(self.pending))
        return self.pending

    def readers(self) -> "Iterator[Operation]":
        """The operations that will read it."""
        for r in self.pending:
            found = r()
            if found is not None and found.result is None:
                yield found

    def _live_reader(self) -> "Operation | None":
        """A pending result that would read the memory, the newest first, since computing it may compute the others. `LOCK` is held."""
        while self.pending:
            reader = self.pending[-1]()
            found = None if reader is None or reader.result is not None else reader.live_consumer()
            if found is not None:
                return found
            # This operation will never read the memory: it is dead, computed, or no result needs it.
            self.pending.pop()
        return None

    def settle(self) -> None:
        """Compute the pending operations that read the memory."""
        while self.pending:
            with LOCK:
                found = self._live_reader()
            if found is not None:
                found.compute()


@final
class ArrayOperand:
    """An operand that is already computed.

    Attributes
    ----------
    array
        The array.
    memory
        Its memory, with the lease and the readers; None for a copy, which only the operations that read it refer to.
    site
        The site that made it, if it was a site of the program.
    """

    __slots__ = ("array", "memory", "site")

    def __init__(self, array: np.ndarray, memory: Memory | None = None, where: Site | None = None) -> None:
        self.array, self.memory, self.site = array, memory, where


#: An operand of a pending operation: another one, an array, or a Python number.
Operand = Operation | ArrayOperand | float


def array_of(x: Operation | ArrayOperand) -> np.ndarray:
    """The array of an operand that is already computed."""
    operand = x if type(x) is ArrayOperand else x.result
    assert operand is not None
    return operand.array
