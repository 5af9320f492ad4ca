"""Poisoned memory: new memory is filled with one byte pattern and freed memory with another, and freed memory is reused first."""

import math
import weakref

import numpy as np

FRESH, FREED = 0xCB, 0xDD


class PoisonedMemory:
    """Arrays over blocks that are returned when the last array and view of them is dead.

    Attributes
    ----------
    used
        Bytes of the blocks in use.
    """

    def __init__(self) -> None:
        self.used = 0
        self._free: dict[int, list[bytearray]] = {}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A new array filled with `FRESH`."""
        size = math.prod(shape) * dtype.itemsize
        # only a block of exactly this size: the last one that was freed, whose stale readers then see new content
        free = self._free.get(size)
        block = free.pop() if free else bytearray(max(size, 1))
        block[:] = bytes([FRESH]) * len(block)
        # NumPy makes this array, not the block, the base of all views, so it lives as long as any of them
        whole = np.frombuffer(block, np.uint8)
        self.used += size
        # not at the exit of the interpreter, when nothing reads the memory any more
        weakref.finalize(whole, self._take_back, block, size).atexit = False
        return whole[:size].view(dtype).reshape(shape)

    def _take_back(self, block: bytearray, size: int) -> None:
        block[:] = bytes([FREED]) * len(block)
        self.used -= size
        self._free.setdefault(size, []).append(block)

    def trim(self) -> None:
        """Drop the free blocks."""
        self._free.clear()
