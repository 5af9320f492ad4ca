"""How much of a GPU's memory arrays and graphs may take together: all of it, but for what the setting ``gpu_memory_reserve`` leaves.

CuPy's pool, which has the arrays, and the memory of graphs, which is nobody else's, have one limit: what graphs take the pool may not.
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import cupy

from twofold.config import SETTINGS

from .library import memory as cupy_memory
from .library import runtime

OUT_OF_MEMORY = 2


class _Private(cupy.cuda.Memory):  # type: ignore[misc]
    """Memory that no pool of arrays has."""


_private: weakref.WeakSet[_Private] = weakref.WeakSet()
_limited: set[int] = set()
_lock = threading.RLock()  # a finalizer or signal handler of the thread that holds it may come here


def limit() -> int | None:
    """Bytes that may be taken of the current device; None if all."""
    reserve = SETTINGS.gpu_memory_reserve
    return runtime.memGetInfo()[1] * (100 - reserve) // 100 if reserve else None


def apply() -> None:
    """Hold the pool to the current device's limit, less what graphs have; a limit that somebody else set stays where there is none."""
    most, device, pool = limit(), runtime.getDevice(), cupy.get_default_memory_pool()
    if most is not None:
        _limited.add(device)
        pool.set_limit(size=max(most - _taken_by_graphs(), 1))
    elif device in _limited:
        _limited.discard(device)
        pool.set_limit(size=0)


class PrivatePool(cupy.cuda.MemoryPool):  # type: ignore[misc]
    """A graph's memory on the current device. Whoever has a block of it keeps the pool, whose free blocks CuPy would forget.

    Parameters
    ----------
    allocate
        As `private`; nothing that keeps the pool.
    """

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        super().__init__(allocate)
        self._device = runtime.getDevice()

    def give_up(self) -> None:
        """Give the blocks that nobody has back to CUDA."""
        with suppress(Exception), cupy.cuda.Device(self._device):  # the device may be gone, at the process' end
            self.free_all_blocks()

    def __del__(self) -> None:
        """Give everything back."""
        self.give_up()


def private(size: int) -> Any:
    """New memory of the current device for a graph.

    Raises
    ------
    OutOfMemoryError
        If there is no more, or there would be more than the limit.
    """
    with _lock:
        most, taken = limit(), taken_bytes()
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
    """What arrays, unused blocks of the pool and graphs have of the current device."""
    return cupy.get_default_memory_pool().total_bytes() + _taken_by_graphs()


def _taken_by_graphs() -> int:
    device = runtime.getDevice()
    with _lock:
        return sum(m.size for m in _private if m.device_id == device)


def info() -> tuple[int, int]:
    """(free, total) bytes of the current device; what the pool has and does not use is free, and what is over the limit is not."""
    (free, total), most = runtime.memGetInfo(), limit()
    if most is not None:
        free = max(min(free, most - taken_bytes()), 0)
    return free + cupy.get_default_memory_pool().free_bytes(), total
