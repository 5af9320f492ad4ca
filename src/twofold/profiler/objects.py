"""User annotations: domains with tasks, frames, counters and markers; events; scopes.

They record nothing while the profiler is off.
"""

from itertools import count
from threading import RLock
from time import perf_counter_ns
from types import TracebackType

from ..errors import DTypeError, ParameterError
from ..scheduler.observers import span
from .recorder import RECORDER

#: Scope of a marker to its scope in the trace format: process, thread or global.
REACH = {"global": "g", "marker": "p", "process": "p", "task": "p", "thread": "t"}
_numbers = count(1)


class Domain:
    """A named group of annotations.

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
    """An annotation with ``start()`` and ``stop()``, which may be called repeatedly and from different threads."""

    _begin, _end = "b", "e"

    def __init__(self, name: str, category: str) -> None:
        self.name, self._category = _text(name), category
        self._number, self._started = next(_numbers), 0

    def __str__(self) -> str:
        return self.name

    def start(self) -> None:
        """Start; if already started, stop first."""
        self.stop()
        if RECORDER.is_on:
            self._started = perf_counter_ns()
            RECORDER.note(self._begin, self.name, self._category, more=self._more())

    def stop(self) -> None:
        """Stop; has no effect if not started."""
        started, self._started = self._started, 0
        if started:
            RECORDER.note(self._end, self.name, self._category, perf_counter_ns() - started, more=self._more())

    def _more(self) -> dict[str, int]:
        return {"id": self._number}


class Task(_Timed):
    """A task of a domain, which may overlap with others.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, _domain(domain).name)


class Frame(_Timed):
    """A recurring unit of work of a domain, such as a batch.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, f"{_domain(domain).name},frame")


class Event(_Timed):
    """A span of time on one thread; spans may nest.

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
    """An integer whose value is plotted over time.

    Parameters
    ----------
    domain, name
        Where and how it is shown.
    value
        Initial value; 0 if None.
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None) -> None:
        self.name, self._category = _text(name), _domain(domain).name
        self._value, self._lock = 0, RLock()
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        return self.name

    def set_value(self, value: int) -> None:
        """Set the value."""
        with self._lock:
            self._value = int(value)
            RECORDER.note("C", self.name, self._category, details={self.name: self._value})

    def increment(self, delta: int = 1) -> None:
        """Increase the value."""
        with self._lock:
            self.set_value(self._value + int(delta))

    def decrement(self, delta: int = 1) -> None:
        """Decrease the value, which may become negative."""
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
        """Record the current time.

        Parameters
        ----------
        scope
            Extent of the mark: ``"thread"``, ``"process"`` (also ``"task"`` and ``"marker"``) or ``"global"``.

        Raises
        ------
        ParameterError
            If the scope is unknown.
        """
        reach = REACH.get(scope)
        if reach is None:
            raise ParameterError("mark: unknown scope", repr(scope), f"use one of {', '.join(REACH)}")
        RECORDER.note("i", self.name, self._category, more={"s": reach})


class Scope:
    """``with Scope(name):`` labels everything that this thread runs inside the block, and records the block itself.

    Parameters
    ----------
    name
        The label, which by convention ends with a colon.
    append_mode
        Whether to prepend the labels of enclosing scopes.
    """

    def __init__(self, name: str = "<unk>:", append_mode: bool = True) -> None:
        self._name, self._append = _text(name), append_mode
        # a stack: the same scope may be entered again inside itself
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
    """A `Scope`, under its MXNet 2 name.

    Parameters
    ----------
    name, append_mode
        See `Scope`.
    """
    return Scope(name, append_mode)


def _text(name: str) -> str:
    if not isinstance(name, str):
        raise DTypeError("profiler: a name must be a string", type(name).__name__, "pass a str")
    return name


def _domain(domain: Domain) -> Domain:
    if not isinstance(domain, Domain):
        raise DTypeError("profiler: not a domain", type(domain).__name__, "create one with mx.profiler.Domain(name)")
    return domain
