"""Observers: layers report what they run; by default there are no listeners.

Code that takes microseconds anyway tests `LISTENERS`, which is empty while nothing listens. Shorter code (the generated callables for small
arrays) tests nothing: the function that it calls is replaced by a timed one while there are listeners (`exchangeable`).
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from time import perf_counter_ns
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from ..device import CPU, Device


class Event(NamedTuple):
    """Something that ran.

    Attributes
    ----------
    name, category
        What it was: ``"add"``, ``"operator"``.
    start, duration
        In nanoseconds of `time.perf_counter_ns`.
    nbytes
        Bytes read and written, if known; else 0.
    device
        Where.
    symbolic
        Whether a graph (an executor, a hybridized block, ``mx.compile``) ran it, rather than a line of imperative code.
    thread
        Number and name of the thread; numbers are never reused.
    details
        Further facts, by name.
    """

    name: str
    category: str
    start: int
    duration: int
    nbytes: int
    device: Device
    symbolic: bool
    thread: tuple[int, str]
    details: Mapping[str, Any]


class Listener(Protocol):
    """Receives events, in the thread that ran them, right afterwards."""

    def happened(self, event: Event) -> None:
        """Something ran."""
        ...

    def allocated(self, arrays: Iterable[object], device: Device) -> None:
        """These arrays may own newly allocated memory of a device; an array may be reported several times."""
        ...


class _Here(threading.local):
    """What this thread is doing."""

    def __init__(self) -> None:
        self.device, self.symbolic = CPU, False
        self.thread = next(_threads), threading.current_thread().name


#: The listeners. Always the same list, since other modules and generated code bind it.
LISTENERS: list[Listener] = []
NOTHING: Mapping[str, object] = {}
_threads = count(1)
_here = _Here()
_lock = threading.RLock()
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def this_thread() -> tuple[int, str]:
    """Number and name of the thread."""
    return _here.thread


def report(name: str, category: str, start: int, nbytes: int = 0, details: Mapping[str, object] = NOTHING) -> None:
    """Tell the listeners of something that began at `start` and ends now, on the device of the innermost `span`."""
    event = Event(name, category, start, perf_counter_ns() - start, nbytes, _here.device, _here.symbolic, _here.thread, details)
    for listener in tuple(LISTENERS):
        listener.happened(event)


def report_arrays(arrays: Iterable[object], device: Device | None = None) -> None:
    """Tell the listeners of arrays that may own new memory, by default on the device of the innermost `span`."""
    for listener in tuple(LISTENERS):
        listener.allocated(arrays, device or _here.device)


class span:
    """``with span(...)``: reports its block, and sets the device for everything reported inside it.

    Parameters
    ----------
    name, category, nbytes, details
        As for `Event`; without a category the block itself is not reported.
    device, symbolic
        As for `Event`; None to inherit from the enclosing block.
    """

    __slots__ = ("_category", "_details", "_device", "_name", "_nbytes", "_start", "_symbolic", "_was")

    def __init__(
        self,
        name: str,
        category: str,
        device: Device | None = None,
        *,
        symbolic: bool | None = None,
        nbytes: int = 0,
        details: Mapping[str, object] = NOTHING,
    ) -> None:
        self._name, self._category, self._device, self._symbolic = name, category, device, symbolic
        self._nbytes, self._details = nbytes, details

    def __enter__(self) -> None:
        self._was = _here.device, _here.symbolic
        if self._device is not None:
            _here.device = self._device
        if self._symbolic is not None:
            _here.symbolic = self._symbolic
        self._start = perf_counter_ns()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._category:
            details = self._details if kind is None else {**self._details, "error": kind.__name__}
            report(self._name, self._category, self._start, self._nbytes, details)
        _here.device, _here.symbolic = self._was


# functions that are exchanged


class _Place:
    """A function that generated code finds under a name in its globals, and the timed one that replaces it while there are listeners."""

    def __init__(self, env: dict[str, Callable[..., object]], key: str, name: str, size: Callable[[object], int]) -> None:
        self._env, self._key, self._name, self._size = env, key, name, size
        self._plain: Callable[..., object] = env[key]

    def timed(self) -> None:
        """Install the timed function."""
        self._env[self._key] = self._run

    def plain(self) -> None:
        """Put the function back."""
        self._env[self._key] = self._plain

    def _run(self, *operands: object) -> object:
        start = perf_counter_ns()
        result = self._plain(*operands)
        report(self._name, "operator", start, sum(map(self._size, operands)) + self._size(result))
        report_arrays((result,))
        return result


class Exchanged(Protocol):
    """Functions that are others while there are listeners."""

    def timed(self) -> None:
        """Install those that tell listeners."""
        ...

    def plain(self) -> None:
        """Install the others."""
        ...


_places: list[Exchanged] = []


def exchangeable(env: dict[str, Callable[..., object]], key: str, name: str, size: Callable[[object], int]) -> None:
    """Time a function of generated code while there are listeners.

    Parameters
    ----------
    env, key
        Globals of the code, and the function's name there.
    name
        What its runs are called.
    size
        Bytes of an operand or result.
    """
    exchange(_Place(env, key, name, size))


def exchange(functions: Exchanged) -> None:
    """Install functions now, and others whenever there are listeners."""
    with _lock:
        _places.append(functions)
        if LISTENERS:
            functions.timed()
        else:
            functions.plain()


def listen(listener: Listener) -> None:
    """Report events to a listener from now on."""
    with _lock:
        if listener in LISTENERS:
            return
        LISTENERS.append(listener)
        for place in _places:
            place.timed()


def forget(listener: Listener) -> None:
    """Stop reporting to a listener; events that other threads are reporting right now may still arrive."""
    with _lock:
        if listener in LISTENERS:
            LISTENERS.remove(listener)
        for place in () if LISTENERS else _places:
            place.plain()
