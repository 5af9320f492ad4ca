"""The interface to sums over devices of several processes, `Target.peering`."""

from typing import Protocol

from ..device import Device
from .kernel import Array


class DeviceGroup(Protocol):
    """Devices of several processes, one of each, on one machine. All members make the same calls in the same order.

    Each call is issued to the stream that the thread has entered, and replaces the content of a contiguous array.
    """

    def allreduce(self, array: Array) -> None:
        """Replace an array by the sum over the members, bitwise the same on each of them."""
        ...

    def reduce(self, array: Array) -> None:
        """Replace member 0's array by the sum over the members; those of the others are undefined afterwards."""
        ...

    def broadcast(self, array: Array) -> None:
        """Replace an array by that of member 0."""
        ...


class Peering(Protocol):
    """How devices of several processes form a group."""

    #: The data types that groups sum.
    dtypes: frozenset[str]

    def identity(self, device: Device) -> bytes:
        """An identifier of the device within its machine, the same in every process. A group has each device once."""
        ...

    def new_key(self) -> bytes:
        """128 bytes that one member makes and gives to all."""
        ...

    def join(self, device: Device, key: bytes, size: int, number: int) -> DeviceGroup:
        """Form a group of ``size`` members that includes this process. Returns when all members have called this.

        Raises
        ------
        MXNetError
            If the library fails.
        """
        ...
