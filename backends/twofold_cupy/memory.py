"""Device memory: when a block may be reused, and how memory is freed when the device is full.

CuPy's pool immediately returns a freed block to the stream that was current at its allocation. That is correct for memory that only this
stream uses, since its work is ordered. Memory that another stream may still use is held here until that stream has passed an event.
"""

import gc
import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import cupy
import numpy as np

from twofold.backend.kernel import Array
from twofold.config import SETTINGS
from twofold.dtype import NAME_OF
from twofold.errors import DeviceOutOfMemory

from . import limits
from .dry_run import ACTIVE, in_dry_run, placeholder
from .library import cupyx, runtime
from .library import memory as cupy_memory
from .streams import LOST, Consumer, Mark, Stream, Streams
from .views import span

Result = TypeVar("Result")

#: Arrays listed in an out-of-memory error.
LISTED = 8
MIB = 1 << 20


class Memory:
    """The allocator of an adapter: new arrays, and blocks that are held until an event."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        streams.on_created = limits.apply
        # Deques, whose append and popleft are atomic: destructors append at any point, also while this thread iterates or allocates,
        # so that no lock may be taken.
        self._held: deque[tuple[Mark, object]] = deque()
        self._returned: deque[tuple[Stream | Consumer, object]] = deque()
        #: Functions that release memory which is in use only to save time, such as captured graphs; called as a last resort.
        self.reserves: list[Callable[[], None]] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> cupy.ndarray:
        """A new array on the current device, for use by the current stream.

        Raises
        ------
        DeviceOutOfMemory
            If it does not fit even after all unused memory was released.
        """
        if ACTIVE and in_dry_run():
            return placeholder(shape, dtype)
        try:
            return cupy.ndarray(shape, dtype)
        except cupy_memory.OutOfMemoryError:
            return self.retry(lambda: cupy.ndarray(shape, dtype))

    def retry(self, allocate: Callable[[], Result]) -> Result:
        """Repeat a failed allocation after releasing unused memory, and once more after releasing the reserves.

        Raises
        ------
        DeviceOutOfMemory
            If it still fails.
        """
        self.release()
        try:
            return allocate()
        except cupy_memory.OutOfMemoryError:
            for release in self.reserves:
                release()
            self.release()
        try:
            return allocate()
        except cupy_memory.OutOfMemoryError as error:
            raise does_not_fit(error) from error

    def empty_for_copy(self, shape: tuple[int, ...], dtype: np.dtype, stream: Stream) -> cupy.ndarray:
        """A new array that a copy stream fills and the compute stream uses.

        The block belongs to the copy stream, the current one, and may be reused only when the compute stream has passed the point
        where the array died. By then the copy is complete too, because the compute stream has waited for it.
        """
        self.collect()
        nbytes = math.prod(shape) * dtype.itemsize
        block = self.empty((max(nbytes, 1),), np.dtype(np.uint8))
        loan = _Loan(block, self, self._streams.of(stream.device))
        owned = cupy_memory.UnownedMemory(block.data.ptr, max(nbytes, 1), loan, stream.device)
        return cupy.ndarray(shape, dtype, cupy_memory.MemoryPointer(owned, 0))

    def lent(self, array: cupy.ndarray, user: Stream | Consumer) -> cupy.ndarray:
        """A new array over another array's memory. The owner is kept until a stream has passed the point where the new array died.

        Used for DLPack in both directions: memory of other libraries, and memory handed to them.
        """
        low, high = span(array)
        owned = cupy_memory.UnownedMemory(array.data.ptr + low, max(high - low, 1), _Loan(array, self, user), array.data.device_id)
        return cupy.ndarray(array.shape, array.dtype, cupy_memory.MemoryPointer(owned, -low), array.strides)

    def staging(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A NumPy array in pinned memory, which makes copies to and from the device asynchronous."""
        nbytes = math.prod(shape) * dtype.itemsize
        whole: np.ndarray = cupyx.empty_pinned((max(nbytes, 1),), "u1")
        return whole[:nbytes].view(dtype).reshape(shape)

    def hold(self, array: Array, mark: Mark) -> None:
        """Keep an array's memory until a mark is reached."""
        self.collect()
        self._held.append((mark, array))

    def give_back(self, stream: Stream | Consumer, block: object) -> None:
        """Take a block whose array is dead. Called from destructors, which may run at any point: it must not lock or call CUDA."""
        self._returned.append((stream, block))

    def collect(self) -> None:
        """Record events for returned blocks, and free the blocks whose events have completed."""
        for _ in range(len(self._returned)):
            with suppress(IndexError):  # another thread took the entry
                stream, block = self._returned.popleft()
                mark = stream.record()
                # no mark can be recorded during a capture; a later call handles the block
                self._returned.extend([(stream, block)] if mark is None else [])
                self._held.extend([] if mark is None else [(mark, block)])
        for _ in range(len(self._held)):
            with suppress(IndexError):
                pair = self._held.popleft()
                self._held.extend([] if pair[0].event.done else [pair])

    def release(self) -> None:
        """Wait for all held memory, free it, and return the pools' unused blocks to CUDA."""
        # twice, as collecting reference cycles may return more blocks
        for then in (gc.collect, self.collect):
            self.collect()
            for mark in [pair[0] for pair in list(self._held)]:  # only the marks: a variable with the pair would keep its block alive
                mark.event.synchronize()
            then()
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
        limits.apply()

    def lose(self) -> None:
        """In a forked process: held blocks stay as they are, since their events cannot be queried."""
        LOST.extend([self._held, self._returned])
        self._held, self._returned = deque(), deque()

    @property
    def held(self) -> int:
        """How many blocks are held."""
        return len(self._held) + len(self._returned)


class _Loan:
    """Owner of an array's memory that is used by another stream than its block's: returns the block to `Memory` when it dies."""

    __slots__ = ("_block", "_memory", "_user")

    def __init__(self, block: object, memory: Memory, user: Stream | Consumer) -> None:
        self._block, self._memory, self._user = block, memory, user

    def __del__(self) -> None:
        if hasattr(self, "_user"):  # not if Ctrl-C came before it had a block
            self._memory.give_back(self._user, self._block)


def does_not_fit(error: BaseException) -> DeviceOutOfMemory:
    """The error for a full device, listing the largest live arrays."""
    free, total = limits.info()
    device = runtime.getDevice()
    known = (a for a in gc.get_objects() if isinstance(a, cupy.ndarray) and a.base is None and a.data is not None)
    own = (a for a in known if a.data.device_id == device)
    arrays = sorted(own, key=lambda a: -a.nbytes)
    listed = ", ".join(f"{NAME_OF.get(a.dtype, a.dtype)}{list(a.shape)} {a.nbytes / MIB:.1f} MiB" for a in arrays[:LISTED]) or "none"
    given = f"{error}; {free / MIB:.0f} of {total / MIB:.0f} MiB are free; the largest arrays: {listed}"
    todo = "use smaller batches, or free unused arrays"
    if SETTINGS.gpu_memory_reserve:
        todo += f"; TWOFOLD_GPU_MEMORY_RESERVE leaves {SETTINGS.gpu_memory_reserve} % of the memory to other processes"
    return DeviceOutOfMemory(f"gpu({device}): an array does not fit into memory", given, todo)
