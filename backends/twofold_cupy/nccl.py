"""NCCL: sums over GPUs of several processes of one machine, without the host."""

import importlib
import warnings
from typing import Any

import cupy

from twofold.backend.kernel import Array
from twofold.device import Device
from twofold.errors import ClusterError

from .library import runtime

#: NCCL's names of data types.
TYPES = {
    "int8": "INT8",
    "uint8": "UINT8",
    "int32": "INT32",
    "uint32": "UINT32",
    "int64": "INT64",
    "uint64": "UINT64",
    "float16": "FLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
    "bfloat16": "BFLOAT16",
}


def nccl_peering() -> "NcclPeering | None":
    """NCCL through CuPy; None if the library is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is not
        nccl: Any = importlib.import_module("cupy.cuda.nccl")
    return NcclPeering(nccl) if nccl.available else None


class NcclPeering:
    """How GPUs of several processes form a group; see `Peering`.

    Parameters
    ----------
    nccl
        CuPy's module of NCCL's functions.
    """

    def __init__(self, nccl: Any) -> None:
        self._nccl = nccl
        self._codes = {dtype: getattr(nccl, f"NCCL_{name}") for dtype, name in TYPES.items() if hasattr(nccl, f"NCCL_{name}")}
        self.dtypes = frozenset(self._codes)

    def identity(self, device: Device) -> bytes:
        """The GPU's place on the bus."""
        return str(runtime.deviceGetPCIBusId(device.device_id)).encode()

    def new_key(self) -> bytes:
        """NCCL's unique identifier."""
        return bytes(self._nccl.get_unique_id())

    def join(self, device: Device, key: bytes, size: int, number: int) -> "NcclGroup":
        """Form a communicator.

        Raises
        ------
        ClusterError
            If NCCL fails.
        """
        with cupy.cuda.Device(device.device_id):
            try:
                return NcclGroup(self._nccl, self._codes, self._nccl.NcclCommunicator(size, key, number))
            except self._nccl.NcclError as error:
                raise ClusterError(
                    f"NCCL: the GPUs did not form a group: {error}", None, "set TWOFOLD_NCCL=0 to sum by the host"
                ) from error


class NcclGroup:
    """A communicator of NCCL; see `DeviceGroup`."""

    def __init__(self, nccl: Any, codes: dict[str, int], communicator: Any) -> None:
        self._nccl, self._codes, self._communicator = nccl, codes, communicator

    def allreduce(self, array: Array) -> None:
        """Replace an array by the sum over the members."""
        self._call("allReduce", array, self._nccl.NCCL_SUM)

    def reduce(self, array: Array) -> None:
        """Replace member 0's array by the sum over the members."""
        self._call("reduce", array, self._nccl.NCCL_SUM, 0)

    def broadcast(self, array: Array) -> None:
        """Replace an array by that of member 0."""
        self._call("broadcast", array, 0)

    def _call(self, name: str, array: Any, *how: int) -> None:
        at, code = array.data.ptr, self._codes[str(array.dtype)]
        try:
            # the result goes to the operand's own memory
            getattr(self._communicator, name)(at, at, array.size, code, *how, cupy.cuda.get_current_stream().ptr)
        except self._nccl.NcclError as error:
            raise ClusterError(f"NCCL: {name} failed: {error}", None, "see the other processes") from error
