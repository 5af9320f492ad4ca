"""Copies between host and devices and between devices: asynchronous, through pinned memory, on the current stream."""

import ctypes
from typing import Any

import cupy
import numpy as np

from twofold.backend.kernel import Array

from .namespace import CupyNamespace
from .operands import is_constant
from .streams import Stream

#: Up to this size CUDA copies pageable host memory into its own staging buffer before the call returns.
STAGED_BY_CUDA = 64 << 10


class Transfers:
    """The copies of an adapter; its methods are called with a stream entered.

    Parameters
    ----------
    xp
        The adapter's namespace.
    """

    def __init__(self, xp: CupyNamespace) -> None:
        self._xp, self._memory, self._streams = xp, xp.memory, xp.streams

    def from_host(self, array: np.ndarray, device: int) -> cupy.ndarray:
        """A device copy of a NumPy array, which may be changed as soon as this returns."""
        stream = self._streams.current(device)
        out = self._new(array.shape, array.dtype, stream)
        if array.nbytes == 0:
            return out
        if array.nbytes <= STAGED_BY_CUDA:
            source = np.ascontiguousarray(array)
        else:
            source = self._memory.staging(array.shape, array.dtype)
            np.copyto(source, array)
        out.data.copy_from_host_async(ctypes.c_void_p(source.ctypes.data), array.nbytes, stream.cuda)
        if array.nbytes > STAGED_BY_CUDA:
            self._memory.hold(source, stream.record())  # the pinned buffer must outlive the asynchronous copy
        return out

    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> cupy.ndarray:
        """An array that a stream fills and the compute stream uses."""
        if stream.purpose == "compute":
            return self._memory.empty(shape, dtype)
        return self._memory.empty_for_copy(shape, dtype, stream)

    def to_host(self, array: cupy.ndarray) -> np.ndarray:
        """The content as a NumPy array; waits for the copy."""
        source = self._xp.packed(array)
        out = self._memory.staging(source.shape, source.dtype)
        stream = self._streams.current(source.device.id)
        if source.nbytes:
            source.data.copy_to_host_async(ctypes.c_void_p(out.ctypes.data), source.nbytes, stream.cuda)
        stream.synchronize()
        return out

    def copy(self, array: Array, device: int) -> cupy.ndarray:
        """A new contiguous array on a device."""
        if is_constant(array) or array.device.id == device:
            stream = self._streams.current(device)
            out = self._new(array.shape, array.dtype, stream)
            self._xp.write(out, array)
            return out
        return self._from_another(array, device)

    def _from_another(self, array: cupy.ndarray, device: int) -> cupy.ndarray:
        stream, home = self._streams.current(device), self._streams.of(array.device.id)
        with home:
            source = self._xp.packed(array)
        # callers that enter a copy stream have made it wait for the array, but not for the packed copy made just now
        if source is not array or stream.purpose == "compute":
            stream.wait(home.record())
        out = self._new(source.shape, source.dtype, stream)
        if source.nbytes:
            out.data.copy_from_device_async(source.data, source.nbytes, stream.cuda)
        self._memory.hold(source, stream.record())
        return out
