"""Copies between the host and devices, and between devices: asynchronous, through pinned memory, by the stream that is current."""

import ctypes
from typing import Any

import cupy
import numpy as np

from .namespace import CupyNamespace
from .operands import is_constant
from .streams import Stream

#: Up to so many bytes CUDA stages a copy from the host by itself, before the call returns.
STAGED_BY_CUDA = 64 << 10


class Transfers:
    """Copies of an adapter; its methods run inside the block of a stream.

    Parameters
    ----------
    xp
        The adapter's namespace.
    """

    def __init__(self, xp: CupyNamespace) -> None:
        self._xp, self._memory, self._streams = xp, xp.memory, xp.streams

    def from_host(self, array: np.ndarray, device: int) -> cupy.ndarray:
        """A copy of a NumPy array, which has been read when this returns."""
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
            self._memory.hold(source, stream.record())
        return out

    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> cupy.ndarray:
        """Memory that a stream fills and the compute stream uses."""
        if stream.purpose == "compute":
            return self._memory.empty(shape, dtype)
        return self._memory.empty_for_copy(shape, dtype, stream)

    def to_host(self, array: cupy.ndarray) -> np.ndarray:
        """A NumPy array with the content, which is there when this returns."""
        source = self._xp.packed(array)
        out = self._memory.staging(source.shape, source.dtype)
        stream = self._streams.current(source.device.id)
        if source.nbytes:
            source.data.copy_to_host_async(ctypes.c_void_p(out.ctypes.data), source.nbytes, stream.cuda)
        stream.synchronize()
        return out

    def copy(self, array: Any, device: int) -> cupy.ndarray:
        """A new array on a device, in row-major order."""
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
        if source is not array or stream.purpose == "compute":  # who enters a stream for copies waits for what he copies
            stream.wait(home.record())
        out = self._new(source.shape, source.dtype, stream)
        if source.nbytes:
            out.data.copy_from_device_async(source.data, source.nbytes, stream.cuda)
        self._memory.hold(source, stream.record())
        return out
