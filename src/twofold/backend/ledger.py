"""Counters of a device: bytes of live arrays, allocations, work handed to other threads."""

import ctypes


class Ledger:
    """Memory accounting of one device.

    Attributes
    ----------
    live, peak
        Bytes of live arrays, now and at most since `reset_peak`.
    allocations, allocated
        Arrays allocated since then, and their bytes.
    """

    __slots__ = ("allocated", "allocations", "live", "peak")

    def __init__(self) -> None:
        self.live = 0
        self.reset_peak()

    def reset_peak(self) -> None:
        """Reset the peak to the bytes that are live now, and the other counters to 0."""
        self.peak, self.allocations, self.allocated = self.live, 0, 0

    def add(self, nbytes: int) -> None:
        """Record an allocation."""
        self.live += nbytes
        self.peak = max(self.peak, self.live)
        self.allocations += 1
        self.allocated += nbytes

    def free(self, nbytes: int) -> None:
        """Record that an array was freed."""
        self.live -= nbytes


class HandOffs:
    """The number of hand-offs of work to another thread; machine code increments the counter through ``address``."""

    __slots__ = ("_count", "address")

    def __init__(self) -> None:
        self._count = ctypes.c_int64()
        self.address = ctypes.addressof(self._count)
        # never freed: another thread's machine code may count until the process ends
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._count))

    @property
    def count(self) -> int:
        """Hand-offs since the process started."""
        return self._count.value

    @count.setter
    def count(self, value: int) -> None:
        self._count.value = value


HAND_OFFS = HandOffs()
