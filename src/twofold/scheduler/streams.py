"""Order between the queues of devices that have queues of their own: GPUs, whose work the host only issues.

What is computed on such a device joins its compute queue, in the order in which the host issues it. Copies have queues of their own;
a mark in one queue, for which another one waits, puts the two in order where that is needed and nowhere else.
"""

import threading
from collections.abc import Callable
from typing import Any

from ..backend.loader import backend_for
from ..device import Device
from .observers import LISTENERS, span


def run_on(device: Device, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function whose work is a device's: it joins the compute queue there, and what it reports happened there."""
    if LISTENERS:
        with span("", "", device):
            return _issued(device, function, args)
    return _issued(device, function, args)


def _issued(device: Device, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    queue = None if device.is_host else backend_for(device).stream(device)
    if queue is None:
        return function(*args)
    with queue:
        return function(*args)


class Arrival:
    """A copy into a device by a queue of its own.

    Parameters
    ----------
    copy
        Issues the copy of an array and returns the new one.
    data, source
        The array and its device.
    device
        Whose memory it goes to.

    Attributes
    ----------
    array
        The new array, in which there is nothing yet.
    """

    def __init__(self, copy: Callable[[Any], Any], data: Any, source: Device, device: Device) -> None:
        self._backend, self._device = backend_for(device), device
        queue = self._backend.stream(device, "h2d")
        if not source.is_host:  # the host's memory has been read when `copy` returns
            self._backend.wait(queue, self._backend.record(self._backend.stream(source)))
        with queue:
            self.array = copy(data)
        self._mark = self._backend.record(queue)
        if not source.is_host:
            self._backend.hold(data, self._mark)
            with _lock:
                _read_elsewhere.setdefault(source, {})[device] = self._mark

    def receive(self) -> Any:
        """The array, for the device's compute queue: from here on that waits for the copy."""
        self._backend.wait(self._backend.stream(self._device), self._mark)
        return self.array


_lock = threading.RLock()
#: For each device, and each that has copied its memory by a queue of its own, a mark after the last such copy.
_read_elsewhere: dict[Device, dict[Device, Any]] = {}


def before_overwriting(device: Device) -> None:
    """Have a device's compute queue wait for the copies that read its memory: what comes next writes over some of it."""
    with _lock:
        marks = _read_elsewhere.pop(device, None)
        if marks:
            backend = backend_for(device)
            for mark in marks.values():
                backend.wait(backend.stream(device), mark)
