"""The recorder: what hears the observers' events while the profiler runs, and turns them into a trace and statistics.

Hearing is short: an event is put into a queue. What is queued is worked off now and then (`Recorder.fold`).
"""

import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from time import perf_counter_ns
from typing import Any

from ..device import Device
from ..scheduler import observers
from ..scheduler.observers import LISTENERS, NOTHING, Event, this_thread
from .accounts import Accounts
from .config import Config
from .statistics import Statistics
from .trace import Record, Trace

#: Events that wait before they are worked off.
WAITING = 50_000
#: Category of an event to the counter that it adds to, and whether its bytes count as moved.
TOTALS = {"program": ("programs", False), "operator": ("operators", True), "kernel": ("fused_kernels", True)}
MEMORY = "Device Storage"


class _Scopes(threading.local):
    name = ""


class Recorder:
    """What the profiler knows; there is one, `RECORDER`.

    Attributes
    ----------
    config
        What is recorded.
    state
        ``"run"`` or ``"stop"``; between `pause` and `resume` it is ``"run"`` though nothing is heard.
    has_run
        Whether it ever ran.
    is_traced
        Whether the trace goes on; not after `finish`.
    accounts
        Of memory.
    totals
        Counts of work while it ran.
    scopes
        Each thread's name of the scopes that it is in.
    writing
        Held while the file is written.
    """

    def __init__(self) -> None:
        self.config = Config()
        self.state, self.has_run = "stop", False
        self.accounts = Accounts(self._memory_changed)
        self.statistics, self.trace = Statistics(), Trace()
        self.scopes = _Scopes()
        self.is_traced = True
        self._queue: deque[Event | Record] = deque()
        self._lock, self.writing = threading.RLock(), threading.Lock()
        self.reset_totals()

    def reset_totals(self) -> None:
        """Count work from 0."""
        self.totals = {"fused_kernels": 0, "moved_bytes": 0, "operators": 0, "programs": 0}

    def configure(self, given: Mapping[str, Any]) -> None:
        """Take the keywords of ``set_config``; what was heard before is worked off as it was wanted then."""
        with self._lock:
            self.fold()
            followed = self.config.memory
            self.config.assign(given)
            if self.config.memory and not followed and self.state == "run":
                self.accounts.begin()

    # on and off

    @property
    def is_on(self) -> bool:
        """Whether events are heard."""
        return self in LISTENERS

    def start(self) -> None:
        """Hear events; after a finished trace begin a new one."""
        with self._lock:
            if self.state == "run":
                return
            if not self.is_traced:
                self.fold()
                self.trace, self.is_traced = Trace(), True
            if self.config.memory:
                self.accounts.begin()
            self.state, self.has_run = "run", True
            observers.listen(self)

    def stop(self) -> None:
        """Hear no more."""
        with self._lock:
            observers.forget(self)
            self.state = "stop"

    def pause(self) -> None:
        """Hear nothing for a while."""
        observers.forget(self)

    def resume(self) -> None:
        """Hear events again."""
        with self._lock:
            if self.state == "run":
                observers.listen(self)

    def finish(self) -> None:
        """Let the trace end here; statistics go on."""
        self.fold()
        self.is_traced = False

    # what is heard

    def happened(self, event: Event) -> None:
        """An event of the observers."""
        if self.config.symbolic if event.symbolic else self.config.imperative:
            scope = self.scopes.name
            self._put(event._replace(details={**event.details, "scope": scope}) if scope else event)

    def allocated(self, arrays: Iterable[Any], device: Device) -> None:
        """Arrays that may own new memory."""
        if self.config.memory:
            self.accounts.allocated(arrays, device)

    def _memory_changed(self, device: Device, time: int, live: int) -> None:
        name = f"Memory: {_place(device)}"
        self._queue.append(Record("C", name, MEMORY, time, 0, MEMORY, this_thread(), {name: live}, NOTHING))

    def note(
        self,
        phase: str,
        name: str,
        category: str,
        duration: int = 0,
        details: Mapping[str, Any] = NOTHING,
        more: Mapping[str, Any] = NOTHING,
    ) -> None:
        """An event of a user's object, which happens now; nothing while the profiler is off."""
        if self.is_on:
            self._put(Record(phase, name, category, perf_counter_ns(), duration, category, this_thread(), details, more))

    def _put(self, item: Event | Record) -> None:
        self._queue.append(item)
        if len(self._queue) > WAITING:
            self.fold()

    # what becomes of it

    def fold(self) -> None:
        """Work off what was heard."""
        self.accounts.settle()
        with self._lock:
            records = []
            for _ in range(len(self._queue)):
                item = self._queue.popleft()
                if isinstance(item, Event):
                    self._count(item)
                    item = _record(item)
                records.append(item)
            for record in sorted(records, key=lambda r: (r.time, -r.duration if r.phase == "X" else 0)):
                if self.is_traced:
                    self.trace.add(record)
                if self.config.aggregate_stats:
                    self._add(record)

    def _count(self, event: Event) -> None:
        total = TOTALS.get(event.category)
        if total is not None:
            name, is_moved = total
            self.totals[name] += 1
            self.totals["moved_bytes"] += event.nbytes * is_moved

    def _add(self, record: Record) -> None:
        if record.phase == "C":
            (value,) = record.details.values()
            self.statistics.add("Memory" if record.category == MEMORY else "Counter", record.category, record.name, value)
        elif record.phase in ("X", "E", "e", "i"):
            self.statistics.add("Time", record.category, record.name, record.duration)

    def take_statistics(self, reset: bool) -> Statistics:
        """The statistics until now; with ``reset`` they begin anew."""
        with self._lock:
            self.fold()
            found = self.statistics
            if reset:
                self.statistics = Statistics()
                self.statistics.is_kept = found.is_kept
            return found


def _place(device: Device) -> str:
    return f"{device.device_type}/{device.device_id}"


def _record(event: Event) -> Record:
    details = {"bytes": event.nbytes, **event.details} if event.nbytes else event.details
    return Record("X", event.name, event.category, event.start, event.duration, _place(event.device), event.thread, details, NOTHING)


def _after_fork() -> None:
    """A child does not go on: it would write the parent's file."""
    if RECORDER.is_on:
        observers.forget(RECORDER)
    config = RECORDER.config
    RECORDER.__init__()
    RECORDER.config = config


RECORDER = Recorder()
os.register_at_fork(after_in_child=_after_fork)
