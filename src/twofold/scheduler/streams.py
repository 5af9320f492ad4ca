"""Ordering between the queues (CUDA streams) of GPUs, for which the host only issues work.

Computation joins a device's compute queue in the order in which the host issues it. Copies have queues of their own. If one queue depends
on another, it waits for a mark (event) recorded in the other; only marks order the two.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..device import Device
from .observers import LISTENERS, span

Result = TypeVar("Result")


def run_on(device: Device, function: Callable[..., Result], *args: object) -> Result:
    """Call a function that issues work for a device: the work joins its compute queue, and observers hear that it ran there."""
    if LISTENERS:
        with span("", "", device):
            return _issued(device, function, args)
    return _issued(device, function, args)


def _issued(device: Device, function: Callable[..., Result], args: tuple[object, ...]) -> Result:
    # libraries issue to the thread's current stream, so the call is made within the device's own
    queue = None if device.is_host else backend_for(device).stream(device)
    if queue is None:
        return function(*args)
    with queue:
        return function(*args)


class Arrival:
    """A copy into a device, on the queue for such copies.

    Parameters
    ----------
    copy
        Issues the copy of an array and returns the new array.
    data, source
        The array and its device.
    device
        The device to copy to.

    Attributes
    ----------
    array
        The new array. Its content arrives later.
    """

    def __init__(self, copy: Callable[[Array], Array], data: Array, source: Device, device: Device) -> None:
        self._backend, self._device = backend_for(device), device
        queue = self._backend.stream(device, "h2d")  # a separate stream, so that the copy runs while the device computes
        if not source.is_host:  # otherwise the source is complete, and `copy` has read it by the time it returns
            self._backend.wait(queue, self._backend.record(self._backend.stream(source)))
        with queue:
            self.array = copy(data)
        self._mark = self._backend.record(queue)
        if not source.is_host:
            self._backend.hold(data, self._mark)  # the pool must not hand out the source's memory before the copy has passed
            with _lock:
                _read_elsewhere.setdefault(source, {})[device] = self._mark

    def receive(self) -> Array:
        """The array, for use on the device's compute queue, which waits for the copy from here on."""
        self._backend.wait(self._backend.stream(self._device), self._mark)
        return self.array


_lock = threading.RLock()
#: By source and target device: a mark after the last copy out of the source's memory.
_read_elsewhere: dict[Device, dict[Device, object]] = {}


def before_overwriting(device: Device) -> None:
    """Have a device's compute queue wait for the copies that read its memory, before a part of it is overwritten."""
    with _lock:
        # popped: the compute queue runs in order, so whatever it runs later comes after these marks too
        marks = _read_elsewhere.pop(device, None)
        if marks:
            backend = backend_for(device)
            for mark in marks.values():
                backend.wait(backend.stream(device), mark)
