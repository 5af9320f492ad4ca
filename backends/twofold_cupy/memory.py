"""Memory of GPUs: when it is free again, and what happens when there is none left.

CuPy's pool gives freed memory back at once to the stream that was current when it was allocated. That is right for what this stream
alone uses, as its work is in order. Memory that another stream may still use is kept here until that has passed a mark.
"""

import gc
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import cupy
import cupyx
import numpy as np

from twofold.config import SETTINGS
from twofold.dtype import NAME_OF
from twofold.errors import DeviceOutOfMemory

from . import limits
from .library import memory as cupy_memory
from .library import runtime
from .rehearsal import ACTIVE, phantom, rehearses
from .streams import Consumer, Mark, Stream, Streams
from .views import span

#: How many arrays an error of full memory lists.
LISTED = 8
MIB = 1 << 20


class Memory:
    """New arrays, and those that are kept until a mark."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        streams.begun = limits.apply
        self._held: deque[tuple[Mark, Any]] = deque()
        self._returned: deque[tuple[Stream | Consumer, Any]] = deque()
        #: What gives memory up that is needed, if only to be fast, when there is no other.
        self.reserves: list[Callable[[], None]] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cupy.ndarray:
        """A new array on the current device, for the current stream's use.

        Raises
        ------
        DeviceOutOfMemory
            If it does not fit after what is not in use was given back.
        """
        if ACTIVE and rehearses():
            return phantom(shape, dtype)
        try:
            return cupy.ndarray(shape, dtype)
        except cupy_memory.OutOfMemoryError:
            return self.found(lambda: cupy.ndarray(shape, dtype))

    def found(self, allocate: Callable[[], Any]) -> Any:
        """What an allocation gives after what is not in use was given back, and then the reserves.

        Raises
        ------
        DeviceOutOfMemory
            If there is not enough even then.
        """
        self.release()
        try:
            return allocate()
        except cupy_memory.OutOfMemoryError:
            for give_up in self.reserves:
                give_up()
            self.release()
        try:
            return allocate()
        except cupy_memory.OutOfMemoryError as error:
            raise does_not_fit(error) from error

    def empty_for_copy(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> cupy.ndarray:
        """A new array that a copy stream fills and the compute stream uses: it becomes free when both have done so."""
        self.collect()
        nbytes = math.prod(shape) * dtype.itemsize
        block = self.empty((max(nbytes, 1),), np.dtype(np.uint8))
        loan = _Loan(block, self, self._streams.of(stream.device))
        owned = cupy_memory.UnownedMemory(block.data.ptr, max(nbytes, 1), loan, stream.device)
        return cupy.ndarray(shape, dtype, cupy_memory.MemoryPointer(owned, 0))

    def lent(self, array: cupy.ndarray, user: Stream | Consumer) -> cupy.ndarray:
        """An array over one's memory, which its owner gets back when a stream has passed the point where this one died.

        So is another library's memory that this one uses, and the other way round.
        """
        low, high = span(array)
        owned = cupy_memory.UnownedMemory(array.data.ptr + low, max(high - low, 1), _Loan(array, self, user), array.data.device_id)
        return cupy.ndarray(array.shape, array.dtype, cupy_memory.MemoryPointer(owned, -low), array.strides)

    def staging(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """A NumPy array in pinned memory, from and to which copies are asynchronous."""
        nbytes = math.prod(shape) * dtype.itemsize
        whole: Any = cupyx.empty_pinned((max(nbytes, 1),), "u1")  # type: ignore[arg-type]
        return whole[:nbytes].view(dtype).reshape(shape)

    def hold(self, array: Any, mark: Mark) -> None:
        """Keep what an array looks into until a mark is reached."""
        self.collect()
        self._held.append((mark, array))

    def give_back(self, stream: Stream | Consumer, block: Any) -> None:
        """Take a block whose array is dead; called from destructors, which may run in the middle of anything."""
        self._returned.append((stream, block))

    def collect(self) -> None:
        """Let go what the marks of are reached."""
        for _ in range(len(self._returned)):
            with suppress(IndexError):  # another thread was quicker
                stream, block = self._returned.popleft()
                mark = stream.record()
                self._returned.extend([(stream, block)] if mark is None else [])
                self._held.extend([] if mark is None else [(mark, block)])
        for _ in range(len(self._held)):
            with suppress(IndexError):
                pair = self._held.popleft()
                self._held.extend([] if pair[0].event.done else [pair])

    def release(self) -> None:
        """Wait for what is kept, let it go, and give the pools' unused memory back."""
        for look in (gc.collect, self.collect):
            self.collect()
            for mark in [pair[0] for pair in list(self._held)]:  # no variable that keeps a block
                mark.event.synchronize()
            look()
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
        limits.apply()

    @property
    def held(self) -> int:
        """How many arrays are kept."""
        return len(self._held) + len(self._returned)


class _Loan:
    """What an array looks into that a stream other than its block's uses: gives the block back when it dies."""

    __slots__ = ("_block", "_memory", "_user")

    def __init__(self, block: Any, memory: Memory, user: Stream | Consumer) -> None:
        self._block, self._memory, self._user = block, memory, user

    def __del__(self) -> None:
        self._memory.give_back(self._user, self._block)


def does_not_fit(error: BaseException) -> DeviceOutOfMemory:
    """Full memory as an error that lists the largest arrays that are alive."""
    free, total = limits.info()
    device = runtime.getDevice()
    known = (a for a in gc.get_objects() if isinstance(a, cupy.ndarray) and a.base is None and a.data is not None)
    own = (a for a in known if a.data.device_id == device)
    arrays = sorted(own, key=lambda a: -a.nbytes)
    listed = ", ".join(f"{NAME_OF.get(a.dtype, a.dtype)}{list(a.shape)} {a.nbytes / MIB:.1f} MiB" for a in arrays[:LISTED]) or "none"
    given = f"{error}; {free / MIB:.0f} of {total / MIB:.0f} MiB are free; the largest arrays: {listed}"
    todo = "use smaller batches, or free unused arrays"
    if SETTINGS.gpu_memory_reserve:
        todo += f"; TWOFOLD_GPU_MEMORY_RESERVE leaves {SETTINGS.gpu_memory_reserve} % of the memory to others"
    return DeviceOutOfMemory(f"gpu({device}): an array does not fit into memory", given, todo)
