"""A memory pool for large arrays: the C library would map fresh pages for each, which costs more than computing the elements.

The base of a pooled array is a `_Loan`, which returns the block to the pool when the array and all its views are dead. Free blocks are
kept up to `MAX_WAITING` bytes; blocks of the least recently requested size are freed first.
"""

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from ctypes import addressof, c_char
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

#: Bytes from which arrays are pooled, and the most bytes of free blocks.
POOLED = 1 << 20
MAX_WAITING = 1 << 30
#: Bytes of the largest arrays whose memory the C library keeps: 32 MiB with its own words.
LARGEST_KEPT = (1 << 25) - (1 << 16)
#: The alignment of arrays in bytes, a cache line; and from which size on arrays have it: vectors that are stored across two lines take
#: twice as long, unless the memory is slower still.
ALIGNMENT, ALIGNED = 64, 1 << 15
#: Size classes per power of two: arrays of similar size share blocks, and waste at most an eighth of them.
SIZE_CLASSES = 8
#: Seconds to wait for the pool's lock. It is held for microseconds, unless this thread was interrupted while it held the lock.
LOCK_TIMEOUT = 1.0


def aligned(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
    """A new uninitialized C-contiguous array that begins at a cache line."""
    memory: Any = np.empty(math.prod(shape) * dtype.itemsize + ALIGNMENT, _BYTE)
    # the address, in a quarter of the time of `__array_interface__`
    return np.ndarray(shape, dtype, memory, -addressof(c_char.from_buffer(memory)) % ALIGNMENT)


def allocator(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Callable[[], np.ndarray]:
    """`Pool.empty` of the process's pool, with its arguments bound and everything looked up in advance."""
    nbytes = math.prod(shape) * dtype.itemsize
    return partial(np.empty if nbytes < ALIGNED else aligned if nbytes < POOLED else POOL.empty, shape, dtype)


class Pool:
    """Free blocks of memory by size class."""

    def __init__(self) -> None:
        #: Free blocks by size, the least recently requested size first. `_Loan` appends them at any point, even while this thread holds the
        #: lock, which guards everything else.
        self._free: OrderedDict[int, deque[np.ndarray]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """Bytes of free blocks."""
        return sum(size * len(blocks) for size, blocks in self._free.items())

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
        """A new uninitialized C-contiguous array."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes < POOLED:
            return np.empty(shape, dtype) if nbytes < ALIGNED else aligned(shape, dtype)
        # the largest power of two up to the size, in eighths
        step = (1 << nbytes.bit_length() - 1) // SIZE_CLASSES
        loan = _Loan(nbytes, *self._block(-(-nbytes // step) * step))
        return np.asarray(loan).view(dtype).reshape(shape)

    def _block(self, size: int) -> tuple[np.ndarray, deque[np.ndarray]]:
        """A block, and where it belongs when it is free again."""
        # Without blocking: a signal handler must not wait for the thread that it interrupted, and takes new memory instead.
        # By `with`: an interrupt between a call of `acquire` and the line after it would leave the lock held for ever.
        if self._lock.locked():
            blocks = self._free.get(size)
        else:
            with self._lock:
                blocks = self._free.get(size)
                if blocks is None:
                    # more are freed at once; what all sizes have together is looked at with each request
                    blocks = self._free[size] = deque(maxlen=MAX_WAITING // size)
                self._free.move_to_end(size)
                self._limit()
                if blocks:
                    return blocks.pop(), blocks
        try:
            block = np.empty(size + ALIGNMENT, _BYTE)
        except MemoryError:
            # the system may lack the memory that the pool keeps
            self.trim()
            block = np.empty(size + ALIGNMENT, _BYTE)
        return block, deque(maxlen=0) if blocks is None else blocks

    def _limit(self) -> None:
        """Free blocks beyond the limit, those of the least recently requested size first."""
        excess = self.waiting - MAX_WAITING
        if excess > 0:
            for size, blocks in self._free.items():
                while blocks and excess > 0:
                    blocks.popleft()
                    excess -= size

    def trim(self) -> None:
        """Free all unused blocks; does nothing if this thread was interrupted while it held the lock."""
        if self._lock.acquire(timeout=LOCK_TIMEOUT):
            try:
                for blocks in self._free.values():
                    blocks.clear()
            finally:
                self._lock.release()

    def after_fork(self) -> None:
        """Reset the lock in a forked child; another thread of the parent may have held it."""
        self._lock = threading.Lock()


class _Loan:
    """The base of a pooled array: returns its block when it dies.

    Parameters
    ----------
    nbytes
        Its size.
    block, home
        Its memory, and the free blocks of that size.
    """

    __slots__ = ("__array_interface__", "_give_back")
    #: Called when the last array dies. It is no function of Python: at the begin of one the interpreter would run signal handlers, and
    #: ignore what they raise, such as Ctrl-C. It is missing if Ctrl-C came before there was a block.
    __del__ = property(attrgetter("_give_back"))

    def __init__(self, nbytes: int, block: Any, home: deque[np.ndarray]) -> None:
        self._give_back = partial(home.append, block)
        # an object with this attribute becomes the base of the arrays that NumPy makes of it, and of all their views
        begin = addressof(c_char.from_buffer(block))
        begin += -begin % ALIGNMENT
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (begin, False), "version": 3}


def _keep_freed_memory() -> None:
    """Let the C library keep up to 64 MiB of freed memory for NumPy's own arrays.

    It maps every array that is larger than the largest one that has been freed, up to 32 MiB, and returns free memory beyond twice that
    size to the system. So temporary arrays of the first loop of a program may get fresh pages each time, which takes ten times as long as
    their elements. Freeing an array of 32 MiB, whose pages are never touched, is what larger programs do sooner or later.
    """
    with suppress(MemoryError):
        np.empty(LARGEST_KEPT, np.uint8)


_BYTE = np.dtype(np.uint8)
POOL = Pool()
_keep_freed_memory()
_NOTHING = np.empty(0, _BYTE)


def scratch_memory(nbytes: int) -> np.ndarray:
    """Memory that a convolution uses while it is computed."""
    return POOL.empty((nbytes,), _BYTE) if nbytes else _NOTHING
