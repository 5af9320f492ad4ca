"""`DeviceSums`: sums over workers of arrays on GPUs. The devices of a machine sum by themselves, machines sum by MPI."""

from typing import Protocol
from zlib import crc32

import numpy as np

from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..backend.peers import DeviceGroup
from ..backend.protocol import Event
from ..config import SETTINGS
from ..device import Device
from .survivors import WorkerGroup

#: Bytes of the key that the members of a group share.
KEY = 128


class Divisible(WorkerGroup, Protocol):
    """Workers that can be divided into groups."""

    def part(self, number: int) -> WorkerGroup:
        """The group of the workers that pass the same number. All workers call this."""
        ...


class DeviceSums:
    """Sums over workers with one device each. All workers make the same calls in the same order.

    Parameters
    ----------
    device
        This worker's device.
    dtypes
        The data types that can be summed.
    peers
        The devices of this machine.
    leaders
        The first worker of each machine, if this is one of them and there are several machines.
    machines
        The number of machines.
    """

    def __init__(self, device: Device, dtypes: frozenset[str], peers: DeviceGroup, leaders: WorkerGroup | None, machines: int) -> None:
        self.device, self.dtypes = device, dtypes
        self._peers, self._leaders, self._machines = peers, leaders, machines

    def sum(self, array: Array, mark: Event) -> Array:
        """The sum of a contiguous array, which may be overwritten. The sum is complete when this returns.

        Parameters
        ----------
        array
            The array.
        mark
            An event after which the array has its content.
        """
        backend = backend_for(self.device)
        queue = backend.stream(self.device, "sum")
        with queue:  # beside what the device computes
            backend.wait(queue, mark)
            if self._machines == 1:
                self._peers.allreduce(array)
            else:
                # one sum per machine crosses the network, not one per device: only the leader needs it in between
                self._peers.reduce(array)
                if self._leaders is not None:
                    host = backend.to_host(array)  # in pinned memory
                    self._leaders.allreduce(host)
                    array = backend.from_host(host, self.device)
                self._peers.broadcast(array)
            backend.to_host(array[:1])  # waits for the stream: the watch measures how long this worker waits for the others
        return array


def facts_of(device: Device, machine: int) -> np.ndarray:
    """A worker's message about its device: whether it can be connected, its machine, and which device of the machine it is."""
    peering = backend_for(device).target.peering() if SETTINGS.nccl else None
    return np.array([peering is not None, machine, 0 if peering is None else crc32(peering.identity(device))])


def are_connectable(facts: np.ndarray) -> bool:
    """Whether all workers have devices of their own that can be connected."""
    return bool(facts[:, 0].all()) and len(np.unique(facts, axis=0)) == len(facts)


def connect(group: Divisible, device: Device, facts: np.ndarray) -> DeviceSums:
    """Connect the devices of all workers. All workers call this together.

    Parameters
    ----------
    group
        The workers.
    device
        This worker's device.
    facts
        The facts of all workers, (size, 3), which `are_connectable`.
    """
    peering = backend_for(device).target.peering()
    assert peering is not None
    machines = facts[:, 1]
    members = np.flatnonzero(machines == machines[group.rank]).tolist()
    is_leader = members[0] == group.rank
    own = np.frombuffer(peering.new_key() if is_leader else bytes(KEY), np.uint8)
    key = group.gather(own)[members[0]].tobytes()
    count = len(np.unique(machines))
    # a collective call, so that all workers make it; the group of the others is dropped below
    leaders = group.part(int(is_leader)) if count > 1 else None
    peers = peering.join(device, key, len(members), members.index(group.rank))
    return DeviceSums(device, peering.dtypes, peers, leaders if is_leader else None, count)
