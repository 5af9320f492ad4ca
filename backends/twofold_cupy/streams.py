"""Streams: one per device for kernels and one for copies in each direction, ordered only by events.

All are non-blocking streams: the legacy default stream, which synchronizes with all others and cannot be captured, is never used.
A stream is a context manager that makes its device and itself current; CuPy keeps both per thread.
"""

import threading
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import cupy

from . import failures
from .library import runtime

PURPOSES = ("compute", "h2d", "d2h")
#: CUDA's handles of the default streams: the legacy one, and the per-thread one.
LEGACY, PER_THREAD = 1, 2


#: What a forked process must neither use nor free: the streams and events of its parent. Filled in the child.
LOST: list[Any] = []


class Mark(NamedTuple):
    """An event recorded in a stream, numbered in the order of recording."""

    stream: "Stream | Consumer"
    event: Any
    number: int


class Stream:
    """One stream of a device.

    Attributes
    ----------
    device
        The device's number.
    purpose
        One of `PURPOSES`, or ``"capture"``.
    cuda
        CuPy's stream.
    waits, elided
        Requested waits for events of other streams, and how many of them an earlier wait had made redundant.
    checks
        During a capture, the list of index checks that the host repeats at each launch of the graph; None otherwise.
    """

    __slots__ = ("__weakref__", "_before", "_marks", "_waited", "checks", "cuda", "device", "elided", "purpose", "waits")

    def __init__(self, device: int, purpose: str) -> None:
        self.device, self.purpose = device, purpose
        with cupy.cuda.Device(device):
            self.cuda = cupy.cuda.Stream(non_blocking=True)
        self._marks = count(1)
        self.waits = self.elided = 0
        #: The latest mark of each other stream that this one has waited for; earlier ones need no event wait.
        self._waited: dict[Stream | Consumer, int] = {}
        self.checks: list[Any] | None = None
        self._before = _Before()

    def __enter__(self) -> "Stream":
        # CuPy's streams make themselves current, but not their device
        before = runtime.getDevice()
        if before != self.device:
            runtime.setDevice(self.device)
        self.cuda.__enter__()
        self._before.devices.append(before)
        _entered.streams.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _entered.streams.pop()
        before = self._before.devices.pop()
        # CuPy keeps the current stream by device, so the block must leave it on its own device, even if the current device has changed
        if runtime.getDevice() != self.device:
            runtime.setDevice(self.device)
        self.cuda.__exit__(*exc)
        if before != self.device:
            runtime.setDevice(before)

    def __repr__(self) -> str:
        return f"<stream {self.purpose} of gpu({self.device})>"

    def record(self) -> Mark:
        """Record an event after all work issued so far."""
        number = next(self._marks)
        with cupy.cuda.Device(self.device):
            # with block=True a waiting host thread sleeps instead of spinning on a core that the program needs
            event = cupy.cuda.Event(block=True, disable_timing=True)
            event.record(self.cuda)
        return Mark(self, event, number)

    def wait(self, mark: Mark) -> None:
        """Hold back later work until a mark is reached; no wait is issued if the order is already guaranteed."""
        if mark.stream is self:
            return
        self.waits += 1
        if self._waited.get(mark.stream, 0) >= mark.number:
            self.elided += 1
            return
        self.cuda.wait_event(mark.event)
        self._waited[mark.stream] = max(mark.number, self._waited.get(mark.stream, 0))

    def synchronize(self) -> None:
        """Block the host until all work issued so far is done."""
        self.record().event.synchronize()


class Consumer:
    """The stream of another library that received an array by DLPack, and may read it until a mark after the capsule's death.

    Parameters
    ----------
    home
        The array's own stream.
    given
        The stream argument of ``__dlpack__``; the legacy default stream if None.
    """

    __slots__ = ("_at", "_home", "_kept", "_marks")

    def __init__(self, home: Stream, given: int | None) -> None:
        current = cupy.cuda.get_current_stream()
        self._home, self._marks = home, count(1)
        self._at = given if given is not None and given > PER_THREAD else LEGACY  # covers per-thread default streams too
        self._kept = current if current.ptr == self._at else None  # keeps a CuPy stream from being destroyed before it is recorded

    def record(self) -> Mark | None:
        """Record an event after all work issued there; None during a capture, because the graph will run at an unknown time."""
        with cupy.cuda.Device(self._home.device):
            event = cupy.cuda.Event(block=True, disable_timing=True)
            try:
                if self._at != LEGACY and runtime.streamIsCapturing(self._at):
                    return None
                runtime.eventRecord(event.ptr, self._at)
            except runtime.CUDARuntimeError:  # the stream was destroyed, so its work is done
                return self._home.record()
        return Mark(self, event, next(self._marks))


class _Before(threading.local):
    """Per thread, the devices to restore when it leaves this stream."""

    def __init__(self) -> None:
        self.devices: list[int] = []


class _Entered(threading.local):
    """Per thread, the streams that it has entered, the innermost last."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []


_entered = _Entered()


def entered() -> Stream | None:
    """The innermost stream that this thread has entered."""
    streams = _entered.streams
    return streams[-1] if streams else None


def current_device() -> int:
    """The number of the thread's current device.

    Raises
    ------
    DeviceError
        In a forked process whose parent has used GPUs.
    """
    if LOST:
        raise failures.after_fork()
    return int(runtime.getDevice())


class Streams:
    """All streams of an adapter, created on first use."""

    def __init__(self) -> None:
        #: By device and purpose. Replaced in a forked process.
        self.known: dict[tuple[int, str], Stream] = {}
        self._lock = threading.RLock()  # reentrant: a finalizer run by the allocations below may ask for a stream
        #: Called after a stream was created, with its device current.
        self.on_created: Callable[[], None] = lambda: None

    def of(self, device: int, purpose: str = "compute") -> Stream:
        """The stream of a device for a purpose, the same each time.

        Raises
        ------
        DeviceError
            In a forked process whose parent has used GPUs.
        """
        found = self.known.get((device, purpose))  # without the lock, which is only taken to create a stream once
        if found is None:
            if LOST:
                raise failures.after_fork()
            with self._lock:
                found = self.known.get((device, purpose))
                if found is None:
                    found = self.known[device, purpose] = Stream(device, purpose)
            with cupy.cuda.Device(device):
                self.on_created()
        return found

    def current(self, device: int) -> Stream:
        """The stream for this thread's work on a device: the one that it has entered, else the compute stream."""
        inner = entered()
        return inner if inner is not None and inner.device == device else self.of(device)

    def lose(self) -> None:
        """In a forked process: there are no streams any more, and none can be created."""
        LOST.append(self.known)
        self.known, self._lock = {}, threading.RLock()

    def on(self, device: int) -> list[Stream]:
        """The streams of a device that exist."""
        return [stream for (number, _), stream in list(self.known.items()) if number == device]
