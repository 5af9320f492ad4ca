"""The limit of device memory, which arrays and graphs share: all of it, less the percentage of the setting ``gpu_memory_reserve``.

Arrays live in CuPy's pool, graphs in private pools. The limit of CuPy's pool is lowered by the memory of graphs.
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

import cupy

from twofold.config import SETTINGS

from .library import memory as cupy_memory
from .library import runtime

#: cudaErrorMemoryAllocation.
OUT_OF_MEMORY = 2


class _Private(cupy.cuda.Memory):
    """Memory of a graph, outside CuPy's pool."""


_private: weakref.WeakSet[_Private] = weakref.WeakSet()
_limited: set[int] = set()
_lock = threading.RLock()  # reentrant: a finalizer or signal handler may interrupt the thread that holds it


def limit() -> int | None:
    """The limit in bytes for the current device, or None."""
    reserve = SETTINGS.gpu_memory_reserve
    return runtime.memGetInfo()[1] * (100 - reserve) // 100 if reserve else None


def apply() -> None:
    """Set the pool's limit on the current device; without a limit of ours, one that the user has set on CuPy's pool stays."""
    most, device, pool = limit(), runtime.getDevice(), cupy.get_default_memory_pool()
    if most is not None:
        # remembered, so that only a limit set here is removed
        _limited.add(device)
        pool.set_limit(size=max(most - _taken_by_graphs(), 1))
    elif device in _limited:
        _limited.discard(device)
        pool.set_limit(size=0)


class PrivatePool(cupy.cuda.MemoryPool):
    """The memory pool of one graph on the current device.

    Owners of its blocks must keep a reference to the pool: a block freed after its pool would never be returned to CUDA.

    Parameters
    ----------
    allocate
        Allocates as `private` does; it must not refer to the pool.
    """

    def __init__(self, allocate: Callable[[int], cupy.cuda.MemoryPointer]) -> None:
        super().__init__(allocate)
        self._device = runtime.getDevice()

    def release(self) -> None:
        """Return the free blocks to CUDA."""
        with suppress(Exception), cupy.cuda.Device(self._device):  # the context may be gone at the end of the process
            self.free_all_blocks()

    def __del__(self) -> None:
        """Return all memory."""
        self.release()


def private(size: int) -> cupy.cuda.MemoryPointer:
    """Allocate memory of the current device for a graph.

    Raises
    ------
    OutOfMemoryError
        If the device is full or the limit would be exceeded.
    """
    with _lock:
        most, taken = limit(), taken_bytes()
        # CuPy's limit holds for its own pool only
        if most is not None and taken + size > most:
            raise cupy_memory.OutOfMemoryError(size, taken, most)
        try:
            memory = _Private(size)
        except runtime.CUDARuntimeError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            raise cupy_memory.OutOfMemoryError(size, taken) from error
        _private.add(memory)
    apply()
    return cupy.cuda.MemoryPointer(memory, 0)


def taken_bytes() -> int:
    """Bytes of the current device taken by arrays, by unused blocks of CuPy's pool and by graphs."""
    return cupy.get_default_memory_pool().total_bytes() + _taken_by_graphs()


def _taken_by_graphs() -> int:
    device = runtime.getDevice()
    with _lock:
        return sum(m.size for m in _private if m.device_id == device)


def info() -> tuple[int, int]:
    """(free, total) bytes of the current device; unused blocks of the pool count as free, memory over the limit does not."""
    (free, total), most = runtime.memGetInfo(), limit()
    if most is not None:
        free = max(min(free, most - taken_bytes()), 0)
    return free + cupy.get_default_memory_pool().free_bytes(), total
