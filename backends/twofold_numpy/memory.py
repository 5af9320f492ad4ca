"""A pool for large arrays: the C library maps fresh pages for each of them, which costs more than computing their elements.

An array of the pool looks into a `_Loan`; when nobody sees the array any more, nor its views, the loan's block goes back. Blocks that
wait for a new array are kept up to `KEPT` bytes; those of the size that was asked for longest ago go first.
"""

import math
import threading
from collections import OrderedDict, deque
from typing import Any

import numpy as np

#: Bytes from which an array comes from the pool, and most bytes that wait in it.
POOLED = 1 << 20
KEPT = 1 << 30
#: Arrays begin at multiples of this (bytes): a cache line's size.
ALIGNED = 64
#: Sizes of blocks between one power of two and the next: arrays of like size share blocks, at most an eighth of which is not used.
SIZES = 8
#: Seconds for which another thread may keep the pool's lock; it needs a few microseconds.
LONGEST = 1.0


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """A new C-contiguous array of undefined content that begins at a cache line: steps over it in cache are a quarter faster."""
    nbytes = math.prod(shape) * dtype.itemsize
    memory = np.empty(nbytes + ALIGNED, np.uint8)
    begin = -memory.__array_interface__["data"][0] % ALIGNED
    return memory[begin : begin + nbytes].view(dtype).reshape(shape)


class Pool:
    """Blocks of memory by size."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, list[np.ndarray]] = OrderedDict()
        self._waiting = 0
        self._lock = threading.Lock()
        #: What `_Loan.__del__` gives back, also in the middle of anything else of this thread: so without the lock.
        self._returned: deque[np.ndarray] = deque()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """A new C-contiguous array of undefined content."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes < POOLED:
            return np.empty(shape, dtype)
        step = (1 << nbytes.bit_length() - 1) // SIZES
        loan = _Loan(self._block(-(-nbytes // step) * step), nbytes, self)
        return np.asarray(loan).view(dtype).reshape(shape)

    def _block(self, size: int) -> np.ndarray:
        if self._lock.acquire(blocking=False):  # a signal handler must not wait for the thread that it interrupted: it takes new memory
            try:
                self._collect()
                found = self._blocks.pop(size, None)
                if found:
                    self._waiting -= size
                    block = found.pop()
                    if found:
                        self._blocks[size] = found
                    return block
            finally:
                self._lock.release()
        try:
            return np.empty(size + ALIGNED, np.uint8)
        except MemoryError:
            self.trim()
            return np.empty(size + ALIGNED, np.uint8)

    def _collect(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            size = block.size - ALIGNED
            if size <= KEPT:
                self._blocks.setdefault(size, []).append(block)
                self._waiting += size
        while self._waiting > KEPT:
            size, blocks = next(iter(self._blocks.items()))
            if blocks:
                blocks.pop()
                self._waiting -= size
            else:
                del self._blocks[size]

    def trim(self) -> None:
        """Give what waits back to the system; nothing if this thread was interrupted while it took a block."""
        if self._lock.acquire(timeout=LONGEST):
            try:
                self._returned.clear()
                self._blocks.clear()
                self._waiting = 0
            finally:
                self._lock.release()

    def after_fork(self) -> None:
        """In a child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def give_back(self, block: np.ndarray) -> None:
        """Take a block that no array looks into any more."""
        self._returned.append(block)
        if self._lock.acquire(blocking=False):  # else whoever has it, perhaps this thread, sees to it at the next request
            try:
                self._collect()
            finally:
                self._lock.release()


class _Loan:
    """What an array of the pool looks into: gives its block back when it dies."""

    __slots__ = ("__array_interface__", "_block", "_pool")

    def __init__(self, block: np.ndarray, nbytes: int, pool: Pool) -> None:
        self._block, self._pool = block, pool
        address = block.__array_interface__["data"][0]
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (-(-address // ALIGNED) * ALIGNED, False), "version": 3}

    def __del__(self) -> None:
        self._pool.give_back(self._block)


POOL = Pool()
