"""Counts that adapters and observers keep of a device: bytes that are alive, allocations, work given to other threads."""

import ctypes


class Ledger:
    """Bytes of arrays on one device.

    Attributes
    ----------
    live, peak
        Bytes of arrays that are alive now; the most there were since `reset_peak`.
    allocations, allocated
        Arrays allocated since then, and their bytes.
    """

    __slots__ = ("allocated", "allocations", "live", "peak")

    def __init__(self) -> None:
        self.live = 0
        self.reset_peak()

    def reset_peak(self) -> None:
        """Count from what is alive now."""
        self.peak, self.allocations, self.allocated = self.live, 0, 0

    def add(self, nbytes: int) -> None:
        """An array was allocated."""
        self.live += nbytes
        self.peak = max(self.peak, self.live)
        self.allocations += 1
        self.allocated += nbytes

    def free(self, nbytes: int) -> None:
        """An array died."""
        self.live -= nbytes


class HandOffs:
    """How often work was given to another thread, since the program began; ``address`` is for machine code that counts."""

    __slots__ = ("_count", "address")

    def __init__(self) -> None:
        self._count = ctypes.c_int64()
        self.address = ctypes.addressof(self._count)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._count))  # for good: code of another thread may count to the process's end

    @property
    def count(self) -> int:
        """How often."""
        return self._count.value

    @count.setter
    def count(self, value: int) -> None:
        self._count.value = value


HAND_OFFS = HandOffs()
