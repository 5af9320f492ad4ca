"""The trace: records as the text of Chrome's trace format, which Perfetto and chrome://tracing open.

Each device and each domain is a process of the trace, each Python thread a thread in it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

#: Events that a trace holds at most; later ones are only counted.
MOST = 2_000_000


class Record(NamedTuple):
    """One event of a trace.

    Attributes
    ----------
    phase
        Chrome's letter: X complete, B/E begin and end on a thread, b/e of what may overlap, C counter, i instant.
    name, category
        As shown.
    time, duration
        In nanoseconds of `time.perf_counter_ns`; of an E or e the time since its begin, of others 0.
    process
        Device or domain.
    thread
        Number and name.
    details
        Shown beside it; of a counter its value.
    more
        Fields of the format: ``id``, ``s``.
    """

    phase: str
    name: str
    category: str
    time: int
    duration: int
    process: str
    thread: tuple[int, str]
    details: Mapping[str, Any]
    more: Mapping[str, Any]


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
        """One more event."""
        if len(self._lines) >= MOST:
            self.dropped += 1
            return
        number, name = record.thread
        pid = self._processes.setdefault(record.process, len(self._processes))
        self._threads.setdefault((pid, number), name)
        duration = f', "dur": {record.duration / 1000}' if record.phase == "X" else ""
        more = f", {_fields(record.more)}" if record.more else ""
        details = f', "args": {{{_fields(record.details)}}}' if record.details else ""
        self._lines.append(
            f'{{"name": {_quoted(record.name)}, "cat": {_quoted(record.category)}, "ph": "{record.phase}", "ts": {record.time / 1000}'
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
        yield b'{"traceEvents": [\n'
        separator = ""
        for group in (list(self._names()), self._lines):
            for k in range(0, len(group), 10_000):
                yield (separator + ",\n".join(group[k : k + 10_000])).encode()
                separator = ",\n"
        other = {"writer": "twofold", "process": os.getpid(), "dropped_events": self.dropped}
        yield f'\n], "displayTimeUnit": "ms", "otherData": {json.dumps(other)}}}\n'.encode()


@lru_cache(4096)
def _quoted(text: str) -> str:
    return json.dumps(text)


def _fields(values: Mapping[str, Any]) -> str:
    shown = {k: v for k, v in values.items() if isinstance(v, (str, int, float))}  # others are for listeners in this process
    return ", ".join(f"{_quoted(k)}: {v if v.__class__ is int else json.dumps(v)}" for k, v in shown.items())
