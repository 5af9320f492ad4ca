"""Who looks at the memory of folding arrays: a lease for what is handed out, and the pending results that read it later.

The memory is the truth and never moves while anybody but the folding arrays over it looks at it. Only fresh results are pending, which
nobody can alias. Nothing here counts references: ownership is declared by a lease, an array over a *memoryview* of the memory. NumPy
sets the base of a view, at any depth, to the last exact ndarray of the chain, which is the lease, so a weak reference to the lease tells
whether anybody still looks. At any time either the lease is alive or something pending reads the memory, never both:

* before memory is written or handed out, what reads it later reads it now (`Memory.leased`);
* what is computed of memory that somebody looks at is computed at once (`Memory.close`).

A thread that holds a lease makes `close` answer no, so the two rules hold between threads as well. `LOCK` protects the changes of state.
"""

from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, ref

import numpy as np

from ..imperative.cell import Value
from ..imperative.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable

LOCK = RLock()
#: Memories whose arrays windows may read, by the id of those arrays: a window may return an operand's own array as its result.
READ: "WeakValueDictionary[int, Memory]" = WeakValueDictionary()
#: Dead references to folding arrays are dropped when a memory has more than this many.
MOST_REFERENCES = 8


def _nobody() -> None:
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
    singles, windows
        Weak references to single pending operations that read it, and windows that do.
    leaves
        The Values that windows know it by. They live as long as a folding array does: until then no result may take the memory.
    """

    __slots__ = ("__weakref__", "arrays", "lease", "leaves", "owner", "pin", "root", "singles", "windows")

    def __init__(self, owner: np.ndarray, leaf: Value | None = None) -> None:
        self.owner = owner
        self.root: np.ndarray = owner.base if type(owner.base) is np.ndarray else owner  # from Twofold's pool: a view of a loan
        self.lease: Callable[[], np.ndarray | None] = _nobody
        self.pin: np.ndarray | None = None
        self.arrays: list[Any] = []
        self.singles: list[Any] = []
        self.windows: list[Window] = []
        self.leaves = [] if leaf is None else [leaf]

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
        if found is None:
            with LOCK:
                self.settle()
                found = self.lease()
                if found is None:
                    owner = self.owner
                    found = np.asarray((owner if owner.flags.c_contiguous else owner.T).data)
                    self.lease = ref(found)
        return found

    def close(self) -> bool:
        """Give the folding arrays' own leases back, since something is about to be pending; False if somebody else has one."""
        for r in self.arrays:
            array = r()
            if array is not None:
                array.leased = None
        return self.lease() is None

    def settle(self) -> None:
        """Compute now what would read the memory later."""
        while self.windows:
            window = self.windows.pop()
            if not window.is_done:
                window.finish()
        while self.singles:
            array = self.singles.pop()()
            if array is not None and array.single is not None:
                array.ready()

    def read_by(self, window: Window) -> None:
        """Note a window that reads it."""
        windows = self.windows
        if not windows or windows[-1] is not window:
            self.windows = [w for w in windows if not w.is_done]
            self.windows.append(window)

    def leaf(self, array: np.ndarray) -> Value:
        """A Value by which windows read an array over the memory."""
        value = Value(array)
        READ[id(array)] = self
        if self.leaves or array is not self.owner:  # a result must not be put where the others still read
            for other in self.leaves:
                other.share()
                for window in self.windows:
                    window.keep(other)
            value.share()
        self.leaves.append(value)
        return value


def is_read_elsewhere(array: np.ndarray) -> bool:
    """Whether a window's result is in fact the memory of an operand that is alive."""
    found = READ.get(id(array))
    return found is not None and np.may_share_memory(found.owner, array)
