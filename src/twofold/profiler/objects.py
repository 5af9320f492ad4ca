"""What a program records about itself: domains with tasks, frames, counters and markers; events; scopes.

Nothing of it is recorded while the profiler is off.
"""

from itertools import count
from threading import RLock
from time import perf_counter_ns
from types import TracebackType

from ..errors import DTypeError, ParameterError
from ..scheduler.observers import span
from .recorder import RECORDER

#: Scope of a marker to how far its line reaches in the trace's view: the process, the thread, everything.
REACH = {"global": "g", "marker": "p", "process": "p", "task": "p", "thread": "t"}
_numbers = count(1)


class Domain:
    """A name under which others are shown together.

    Parameters
    ----------
    name
        As shown.
    """

    def __init__(self, name: str) -> None:
        self.name = _text(name)

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> "Task":
        """A `Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> "Frame":
        """A `Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> "Counter":
        """A `Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> "Marker":
        """A `Marker` of this domain."""
        return Marker(self, name)


class _Timed:
    """Something that starts and stops: ``start()`` … ``stop()``, as often as wanted, also in different threads."""

    _begin, _end = "b", "e"

    def __init__(self, name: str, category: str) -> None:
        self.name, self._category = _text(name), category
        self._number, self._started = next(_numbers), 0

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Begin; a second time begins anew."""
        self.stop()
        if RECORDER.is_on:
            self._started = perf_counter_ns()
            RECORDER.note(self._begin, self.name, self._category, more=self._more())

    def stop(self) -> None:
        """End; nothing happens if it has not begun."""
        started, self._started = self._started, 0
        if started:
            RECORDER.note(self._end, self.name, self._category, perf_counter_ns() - started, more=self._more())

    def _more(self) -> dict[str, int]:
        return {"id": self._number}


class Task(_Timed):
    """Work of a domain that may overlap with other work.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, _domain(domain).name)


class Frame(_Timed):
    """Work of a domain that comes again and again, such as a batch.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, f"{_domain(domain).name},frame")


class Event(_Timed):
    """Work of one thread, inside of which others are shown.

    Parameters
    ----------
    name
        As shown.
    """

    _begin, _end = "B", "E"

    def __init__(self, name: str) -> None:
        super().__init__(name, "event")

    def _more(self) -> dict[str, int]:
        return {}


class Counter:
    """A whole number whose course is shown.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    value
        To begin with; 0 if None.
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.name, self._category = _text(name), _domain(domain).name
        self._value, self._lock = 0, RLock()
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: int) -> None:
        """Set it."""
        with self._lock:
            self._value = int(value)
            RECORDER.note("C", self.name, self._category, details={self.name: self._value})

    def increment(self, delta: int = 1) -> None:
        """Add to it."""
        with self._lock:
            self.set_value(self._value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Take from it; it may fall below 0."""
        self.increment(-int(delta))

    def __iadd__(self, delta: int) -> "Counter":
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> "Counter":
        self.decrement(delta)
        return self


class Marker:
    """A point in time.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.name, self._category = _text(name), f"{_domain(domain).name},instant_marker"

    def __str__(self) -> str:
        return self.name

    def mark(self, scope: str = "process") -> None:
        """Now.

        Parameters
        ----------
        scope
            How far the mark reaches: ``"thread"``, ``"process"`` (as ``"task"`` and ``"marker"``) or ``"global"``.

        Raises
        ------
        ParameterError
            If it is none of these.
        """
        reach = REACH.get(scope)
        if reach is None:
            raise ParameterError("mark: no such scope", repr(scope), f"it is one of {', '.join(REACH)}")
        RECORDER.note("i", self.name, self._category, more={"s": reach})


class Scope:
    """``with Scope(name):`` what the block's thread runs carries the name, and the block itself is shown.

    Parameters
    ----------
    name
        As shown; by custom it ends with a colon.
    append_mode
        Whether names of scopes around it go before it.
    """

    def __init__(self, name: str = "<unk>:", append_mode: bool = True) -> None:
        self._name, self._append = _text(name), append_mode
        self._outside: list[tuple[str, span]] = []

    def __enter__(self) -> "Scope":
        outside = RECORDER.scopes.name
        full = outside + self._name if self._append else self._name
        block = span(full, "scope" if RECORDER.is_on else "")
        self._outside.append((outside, block))
        RECORDER.scopes.name = full
        block.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        outside, block = self._outside.pop()
        RECORDER.scopes.name = outside
        block.__exit__(kind, error, trace)


def scope(name: str = "<unk>:", append_mode: bool = True) -> Scope:
    """A `Scope`, as MXNet 2 spells it.

    Parameters
    ----------
    name, append_mode
        See there.
    """
    return Scope(name, append_mode)


def _text(name: str) -> str:
    if not isinstance(name, str):
        raise DTypeError("profiler: a name is no text", type(name).__name__, "give a str")
    return name


def _domain(domain: Domain) -> Domain:
    if not isinstance(domain, Domain):
        raise DTypeError("profiler: no domain", type(domain).__name__, "make one with mx.profiler.Domain(name)")
    return domain
