"""A memory pool for large arrays: the C library would map fresh pages for each, which costs more than computing the elements.

The base of a pooled array is a `_Loan`, which returns the block to the pool when the array and all its views are dead. Free blocks are
kept up to `MAX_WAITING` bytes; blocks of the least recently requested size are freed first.
"""

import math
import threading
from collections import OrderedDict, deque
from contextlib import suppress

import numpy as np

#: Bytes from which arrays are pooled, and the most bytes of free blocks.
POOLED = 1 << 20
MAX_WAITING = 1 << 30
#: Bytes of the largest arrays whose memory the C library keeps: 32 MiB with its own words.
LARGEST_KEPT = (1 << 25) - (1 << 16)
#: The alignment of arrays in bytes: a cache line.
ALIGNMENT = 64
#: Size classes per power of two: arrays of similar size share blocks, and waste at most an eighth of them.
SIZE_CLASSES = 8
#: Seconds to wait for the pool's lock. It is held for microseconds, unless this thread was interrupted while it held the lock.
LOCK_TIMEOUT = 1.0


def aligned(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
    """A new uninitialized C-contiguous array that begins at a cache line, which makes steps over cached arrays a quarter faster."""
    nbytes = math.prod(shape) * dtype.itemsize
    memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    begin = _padding(memory)
    return memory[begin : begin + nbytes].view(dtype).reshape(shape)


def _padding(block: np.ndarray) -> int:
    """Bytes from the begin of a block to the next cache line."""
    return -block.__array_interface__["data"][0] % ALIGNMENT


class Pool:
    """Free blocks of memory by size class."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[int, list[np.ndarray]] = OrderedDict()
        self._waiting = 0
        self._lock = threading.Lock()
        #: Blocks from `_Loan.__del__`, which may run at any point, even while this thread holds the lock; a deque needs none.
        self._returned: deque[np.ndarray] = deque()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
        """A new uninitialized C-contiguous array."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes < POOLED:
            return np.empty(shape, dtype)
        # the largest power of two up to the size, in eighths
        step = (1 << nbytes.bit_length() - 1) // SIZE_CLASSES
        loan = _Loan(self._block(-(-nbytes // step) * step), nbytes, self)
        return np.asarray(loan).view(dtype).reshape(shape)

    def _block(self, size: int) -> np.ndarray:
        # Without blocking: a signal handler must not wait for the thread that it interrupted, and takes new memory instead.
        # By `with`: an interrupt between a call of `acquire` and the line after it would leave the lock held for ever.
        if not self._lock.locked():
            with self._lock:
                self._collect()
                found = self._blocks.pop(size, None)
                if found:
                    block = found.pop()
                    self._waiting -= size
                    if found:
                        # re-inserted at the end: the dictionary is in order of last use, least recent first
                        self._blocks[size] = found
                    return block
        try:
            return np.empty(size + ALIGNMENT, np.uint8)
        except MemoryError:
            # the system may lack the memory that the pool keeps
            self.trim()
            return np.empty(size + ALIGNMENT, np.uint8)

    def _collect(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            size = block.size - ALIGNMENT
            if size <= MAX_WAITING:
                self._blocks.setdefault(size, []).append(block)
                self._waiting += size
        while self._waiting > MAX_WAITING:
            if not self._blocks:  # an interrupt has come between a block and its count
                self._waiting = 0
                break
            size, blocks = next(iter(self._blocks.items()))
            if blocks:
                blocks.pop()
                self._waiting -= size
            else:
                del self._blocks[size]

    def trim(self) -> None:
        """Free all unused blocks; does nothing if this thread was interrupted while it held the lock."""
        if self._lock.acquire(timeout=LOCK_TIMEOUT):
            try:
                self._returned.clear()
                self._blocks.clear()
                self._waiting = 0
            finally:
                self._lock.release()

    def after_fork(self) -> None:
        """Reset the lock in a forked child; another thread of the parent may have held it."""
        self._lock = threading.Lock()

    def give_back(self, block: np.ndarray) -> None:
        """Take back a block that no array uses any more."""
        self._returned.append(block)
        if not self._lock.locked():  # else it is collected at the next request
            with self._lock:
                self._collect()


class _Loan:
    """The base of a pooled array: returns its block when it dies."""

    __slots__ = ("__array_interface__", "_block", "_pool")

    def __init__(self, block: np.ndarray, nbytes: int, pool: Pool) -> None:
        self._block, self._pool = block, pool
        # an object with this attribute becomes the base of the arrays that NumPy makes of it, and of all their views
        begin = block.__array_interface__["data"][0] + _padding(block)
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (begin, False), "version": 3}

    def __del__(self) -> None:
        if hasattr(self, "_pool"):  # not if Ctrl-C came before it had a block
            self._pool.give_back(self._block)


def _keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB of freed memory for NumPy's own arrays.

    It maps every array that is larger than the largest one that has been freed, up to 32 MiB, and returns free memory beyond twice that
    size to the system. So temporary arrays of the first loop of a program may get fresh pages each time, which takes ten times as long as
    their elements. Freeing an array of 32 MiB, whose pages are never touched, is what larger programs do sooner or later.
    """
    with suppress(MemoryError):
        np.empty(LARGEST_KEPT, np.uint8)


POOL = Pool()
_keep_freed_memory()
_NOTHING = np.empty(0, np.uint8)


def scratch_memory(nbytes: int) -> np.ndarray:
    """Memory that a convolution uses while it is computed."""
    return POOL.empty((nbytes,), np.dtype(np.uint8)) if nbytes else _NOTHING
