"""Memory accounting: live arrays per device, total allocations and the peak."""

import gc
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter_ns
from weakref import ref

import numpy as np

from ..backend.ledger import Ledger
from ..backend.loader import backend_for
from ..device import CPU, Device, interned
from ..dtype import NUMPY
from ..imperative.cell import PLAIN, Cell, Value
from ..program.compile import Program


class Accounts:
    """A ledger per device, maintained by weak references to arrays.

    Parameters
    ----------
    changed
        Called after each change with the device, the time in nanoseconds and the live bytes.
    """

    def __init__(self, changed: Callable[[Device, int, int], None]) -> None:
        self.ledgers: dict[Device, Ledger] = {}
        self._changed = changed
        #: Weak references by the identity of their object. The identity can be reused only after `_died` has removed the entry.
        self._known: dict[int, object] = {}
        #: Frees not yet accounted for. Weak reference callbacks append to it: they may run at any point, so they must take no lock.
        self._dead: deque[tuple[Device, int, int]] = deque()
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Start over from the arrays that are alive now."""
        with self._lock:
            # dropping the references also drops their callbacks, so that no death of an array of an earlier account is counted in this one
            self._known.clear()
            self._dead.clear()
            self.ledgers.clear()
            for array, device, _ in live_arrays():
                self._add(array, device)
            for ledger in self.ledgers.values():
                ledger.reset_peak()

    def allocated(self, arrays: Iterable[object], device: Device) -> None:
        """Account for arrays that may own new memory."""
        with self._lock:
            self.settle()
            for array in arrays:
                nbytes = self._add(array, device)
                if nbytes:
                    self._changed(device, perf_counter_ns(), self.ledgers[device].live)

    def settle(self) -> None:
        """Account for arrays that have died."""
        with self._lock:
            while self._dead:
                device, time, nbytes = self._dead.popleft()
                ledger = self.ledgers.get(device)
                if ledger is not None:
                    ledger.free(nbytes)
                    self._changed(device, time, ledger.live)

    def _add(self, array: object, device: Device) -> int:
        """Track the owner of an array's memory; return its bytes, or 0 if it is tracked already or not an array."""
        owner = owner_of(array)
        key = id(owner)
        # several arrays may be views of one owner, whose bytes count once
        if owner is None or key in self._known:
            return 0
        nbytes = nbytes_of(owner, device)
        try:
            self._known[key] = ref(owner, partial(self._died, key, device, nbytes))
        except TypeError:  # without weak references its free would go unnoticed, so it is not counted as alive
            return 0
        self.ledgers.setdefault(device, Ledger()).add(nbytes)
        return nbytes

    def _died(self, key: int, device: Device, nbytes: int, _: object) -> None:
        self._known.pop(key, None)
        self._dead.append((device, perf_counter_ns(), nbytes))


def owner_of(array: object) -> object:
    """The array that owns the memory of an array; None for a scalar."""
    if isinstance(array, np.ndarray):  # views share their base's memory, which must be counted once
        while isinstance(array.base, np.ndarray):
            array = array.base
        return array
    return None if isinstance(array, (np.generic, float, int)) else array


def nbytes_of(array: object, device: Device) -> int:
    """Bytes of an array's elements."""
    if isinstance(array, np.ndarray):
        return array.nbytes
    kind = backend_for(device).type_of(array)
    return math.prod(kind.shape) * NUMPY[kind.dtype].itemsize


def live_arrays() -> Iterator[tuple[object, Device, bool]]:
    """Every backend array held by a cell, value or compiled program: (array, device, whether it is scratch memory of a program).

    They are found through the garbage collector. Scratch memory on GPUs is attributed to the first one.
    """
    # found rather than registered: an account of all arrays would cost every operation while no profiler runs
    for thing in gc.get_objects():
        kind = type(thing)
        if kind is Value:
            if thing.data is not None:
                yield thing.data, thing.device, False
        elif issubclass(kind, Cell):
            try:
                content = thing._content
            except AttributeError:  # a cell under construction in another thread
                continue
            if content.__class__ is PLAIN:
                yield content, CPU, False
        elif issubclass(kind, Program):
            for array in thing.scratch:
                yield array, interned(thing.backend.target.kind), True
