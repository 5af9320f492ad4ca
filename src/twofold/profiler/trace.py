"""The trace, in Chrome's trace format, which Perfetto and chrome://tracing open.

Each device and each domain is shown as a process, each Python thread as a thread in it.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

#: Maximum number of events in a trace; later ones are only counted.
MAX_EVENTS = 2_000_000


class Record(NamedTuple):
    """An event of a trace.

    Attributes
    ----------
    phase
        The format's letter: X complete, B/E begin and end on a thread, b/e begin and end of events that may overlap, C counter, i
        instant.
    name, category
        Name and category to show.
    time, duration
        In nanoseconds of `time.perf_counter_ns`. The duration of an E or e is the time since its begin.
    process
        Device or domain.
    thread
        (number, name).
    details
        Arguments to show with the event; the value of a counter.
    more
        Other fields of the format: ``id``, ``s``.
    """

    phase: str
    name: str
    category: str
    time: int
    duration: int
    process: str
    thread: tuple[int, str]
    details: Mapping[str, Any]
    more: Mapping[str, object]


class Trace:
    """The text of a trace as it grows."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._processes: dict[str, int] = {}
        self._threads: dict[tuple[int, int], str] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, record: Record) -> None:
        """Append an event."""
        if len(self._lines) >= MAX_EVENTS:
            self.dropped += 1
            return
        number, name = record.thread
        pid = self._processes.setdefault(record.process, len(self._processes))
        self._threads.setdefault((pid, number), name)
        # the format counts in microseconds
        duration = f', "dur": {record.duration / 1000}' if record.phase == "X" else ""
        more = f", {_fields(record.more)}" if record.more else ""
        details = f', "args": {{{_fields(record.details)}}}' if record.details else ""
        self._lines.append(
            f'{{"name": {_quote(record.name)}, "cat": {_quote(record.category)}, "ph": "{record.phase}", "ts": {record.time / 1000}'
            f'{duration}, "pid": {pid}, "tid": {number}{more}{details}}}'
        )

    def _names(self) -> Iterator[str]:
        for name, pid in self._processes.items():
            yield json.dumps({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})
            yield json.dumps({"name": "process_sort_index", "ph": "M", "pid": pid, "args": {"sort_index": pid}})
        for (pid, number), name in self._threads.items():
            yield json.dumps({"name": "thread_name", "ph": "M", "pid": pid, "tid": number, "args": {"name": name}})

    def chunks(self) -> Iterator[bytes]:
        """The file, in pieces."""
        lines = islice(self._lines, len(self._lines))  # not those that are recorded meanwhile
        return trace_chunks(chain(list(self._names()), lines), {"process": os.getpid(), "dropped_events": self.dropped})


@lru_cache(4096)
def _quote(text: str) -> str:
    return json.dumps(text)


def _fields(values: Mapping[str, object]) -> str:
    # objects are for listeners in this process, not for the file
    shown = {k: v for k, v in values.items() if isinstance(v, (str, int, float))}
    return ", ".join(f"{_quote(k)}: {v if v.__class__ is int else json.dumps(v)}" for k, v in shown.items())


def trace_chunks(events: Iterable[str], other: Mapping[str, object]) -> Iterator[bytes]:
    """A trace file in pieces.

    Parameters
    ----------
    events
        The events, as JSON.
    other
        Further data of the event.
    """
    yield b'{"traceEvents": [\n'
    rest, separator = iter(events), ""
    while lines := list(islice(rest, 10_000)):
        yield (separator + ",\n".join(lines)).encode()
        separator = ",\n"
    yield f'\n], "displayTimeUnit": "ms", "otherData": {json.dumps({"writer": "twofold", **other})}}}\n'.encode()
