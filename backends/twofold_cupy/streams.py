"""Queues of GPUs: for each device one for computing and one for copies in each direction, in order only where someone waits.

All are non-blocking streams: the legacy stream, which waits for all others and cannot be captured, is never used. A stream is a
context manager that makes its device and itself current in this thread, which CuPy keeps for each thread apart.
"""

import threading
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import cupy

from .library import runtime

PURPOSES = ("compute", "h2d", "d2h")
#: What stands for CUDA's default streams: the legacy one, and that of each thread.
LEGACY, PER_THREAD = 1, 2


class Mark(NamedTuple):
    """A place in a stream: reached when what was issued before it is done."""

    stream: "Stream | Consumer"
    event: Any
    number: int


class Stream:
    """One queue of a device.

    Attributes
    ----------
    device
        The device's number.
    purpose
        One of `PURPOSES`.
    cuda
        CuPy's stream.
    waits, elided
        How many marks of other streams it was made to wait for, and how many of them it had waited for before.
    checks
        While it is captured what the host is to look at whenever that was launched; None else.
    """

    __slots__ = ("__weakref__", "_before", "_marks", "_waited", "checks", "cuda", "device", "elided", "purpose", "waits")

    def __init__(self, device: int, purpose: str) -> None:
        self.device, self.purpose = device, purpose
        with cupy.cuda.Device(device):
            self.cuda = cupy.cuda.Stream(non_blocking=True)
        self._marks = count(1)
        self.waits = self.elided = 0
        self._waited: dict[Stream | Consumer, int] = {}
        self.checks: list[Any] | None = None
        self._before = _Before()

    def __enter__(self) -> "Stream":
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
        if runtime.getDevice() != self.device:
            runtime.setDevice(self.device)
        self.cuda.__exit__(*exc)
        if before != self.device:
            runtime.setDevice(before)

    def __repr__(self) -> str:
        return f"<stream {self.purpose} of gpu({self.device})>"

    def record(self) -> Mark:
        """A mark after all that was issued here."""
        number = next(self._marks)
        with cupy.cuda.Device(self.device):
            event = cupy.cuda.Event(block=True, disable_timing=True)  # the host sleeps when it waits: few cores have nothing to spare
            event.record(self.cuda)
        return Mark(self, event, number)

    def wait(self, mark: Mark) -> None:
        """Do nothing more here before a mark is reached; nothing is issued where the order stands already."""
        if mark.stream is self:
            return
        self.waits += 1
        if self._waited.get(mark.stream, 0) >= mark.number:
            self.elided += 1
            return
        self.cuda.wait_event(mark.event)
        self._waited[mark.stream] = max(mark.number, self._waited.get(mark.stream, 0))

    def synchronize(self) -> None:
        """Have the host wait for all that was issued here."""
        self.record().event.synchronize()


class Consumer:
    """A stream of another library that was given an array, from which it may read until it lets go and has passed the mark then.

    Parameters
    ----------
    home
        The array's own stream.
    given
        The stream as DLPack tells of it; the legacy one if it does not.
    """

    __slots__ = ("_at", "_home", "_kept", "_marks")

    def __init__(self, home: Stream, given: int | None) -> None:
        current = cupy.cuda.get_current_stream()
        self._home, self._marks = home, count(1)
        self._at = given if given is not None and given > PER_THREAD else LEGACY  # which waits for those of threads, too
        self._kept = current if current.ptr == self._at else None  # CuPy destroys its streams when nobody has them

    def record(self) -> Mark | None:
        """A mark after all that was issued there; None while it is captured: then it cannot be told when that will have run."""
        with cupy.cuda.Device(self._home.device):
            event = cupy.cuda.Event(block=True, disable_timing=True)
            try:
                if self._at != LEGACY and runtime.streamIsCapturing(self._at):
                    return None
                runtime.eventRecord(event.ptr, self._at)
            except runtime.CUDARuntimeError:  # there is no such stream any more
                return self._home.record()
        return Mark(self, event, next(self._marks))


class _Before(threading.local):
    """Devices that were current when a thread entered a stream."""

    def __init__(self) -> None:
        self.devices: list[int] = []


class _Entered(threading.local):
    """Streams whose blocks a thread is in, the innermost last."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []


_entered = _Entered()


def entered() -> Stream | None:
    """The stream of the innermost block that this thread is in."""
    streams = _entered.streams
    return streams[-1] if streams else None


class Streams:
    """All streams of an adapter, made when first asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], Stream] = {}
        self._lock = threading.RLock()  # of this thread too: what is collected meanwhile may ask for a stream
        #: Called when there is a new stream, whose device is current.
        self.begun: Callable[[], None] = lambda: None

    def of(self, device: int, purpose: str = "compute") -> Stream:
        """The stream of a device for a purpose, the same each time."""
        found = self._known.get((device, purpose))
        if found is None:
            with self._lock:
                found = self._known.get((device, purpose))
                if found is None:
                    found = self._known[device, purpose] = Stream(device, purpose)
            with cupy.cuda.Device(device):
                self.begun()
        return found

    def current(self, device: int) -> Stream:
        """The stream that this thread's work for a device joins: that of the block that it is in, else the compute stream."""
        inner = entered()
        return inner if inner is not None and inner.device == device else self.of(device)

    def on(self, device: int) -> list[Stream]:
        """The streams of a device that there are."""
        return [stream for (number, _), stream in list(self._known.items()) if number == device]
