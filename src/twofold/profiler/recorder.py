"""The recorder listens to events while the profiler runs, and turns them into a trace and statistics.

Listening must be cheap, so events are only queued. `Recorder.fold` processes the queue from time to time.
"""

import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from time import perf_counter_ns

from ..device import Device
from ..scheduler import observers
from ..scheduler.observers import LISTENERS, NOTHING, Event, this_thread
from .accounts import Accounts
from .config import Config
from .statistics import Statistics
from .trace import Record, Trace

#: Length of the queue at which it is processed.
MAX_QUEUED = 50_000
#: Category of an event to the counter that it increments, and whether its bytes count as moved.
TOTALS = {"program": ("programs", False), "operator": ("operators", True), "kernel": ("fused_kernels", True)}
MEMORY = "Device Storage"


class _Scopes(threading.local):
    name = ""


class Recorder:
    """The state of the profiler. There is one instance, `RECORDER`.

    Attributes
    ----------
    config
        The configuration.
    state
        ``"run"`` or ``"stop"``. Between `pause` and `resume` it is ``"run"`` although nothing is recorded.
    has_run
        Whether the profiler ever ran.
    is_traced
        Whether the trace continues; False after `finish`.
    accounts
        The memory accounting.
    totals
        Work counters.
    scopes
        The label of each thread's current scopes.
    writing
        Lock held while the file is written.
    """

    def __init__(self) -> None:
        self.config = Config()
        self.state, self.has_run = "stop", False
        self.accounts = Accounts(self._memory_changed)
        self.statistics, self.trace = Statistics(), Trace()
        self.scopes = _Scopes()
        self.is_traced = True
        self._queue: deque[Event | Record] = deque()  # appending takes no lock: observers call from any thread
        self._lock, self.writing = threading.RLock(), threading.Lock()
        self.reset_totals()

    def reset_totals(self) -> None:
        """Reset the work counters."""
        self.totals = {"fused_kernels": 0, "moved_bytes": 0, "operators": 0, "programs": 0}

    def configure(self, given: Mapping[str, object]) -> None:
        """Apply the options of ``set_config``. Queued events are processed first, under the old configuration."""
        with self._lock:
            self.fold()
            was_tracked = self.config.memory
            self.config.assign(given)
            if self.config.memory and not was_tracked and self.state == "run":
                self.accounts.begin()

    # on and off

    @property
    def is_on(self) -> bool:
        """Whether events are recorded."""
        return self in LISTENERS

    def start(self) -> None:
        """Start recording; after a finished trace begin a new one."""
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
        """Stop recording."""
        with self._lock:
            observers.forget(self)
            self.state = "stop"

    def pause(self) -> None:
        """Suspend recording."""
        observers.forget(self)

    def resume(self) -> None:
        """Resume recording."""
        with self._lock:
            if self.state == "run":
                observers.listen(self)

    def finish(self) -> None:
        """End the trace; statistics continue."""
        self.fold()
        self.is_traced = False

    # listening

    def happened(self, event: Event) -> None:
        """Record an event."""
        if self.config.symbolic if event.symbolic else self.config.imperative:
            scope = self.scopes.name
            self._put(event._replace(details={**event.details, "scope": scope}) if scope else event)

    def allocated(self, arrays: Iterable[object], device: Device) -> None:
        """Record arrays that may own new memory."""
        if self.config.memory:
            self.accounts.allocated(arrays, device)

    def _memory_changed(self, device: Device, time: int, live: int) -> None:
        name = f"Memory: {_place(device)}"
        # not by `_put`, which may call `fold`: that calls this, through `Accounts.settle`
        self._queue.append(Record("C", name, MEMORY, time, 0, MEMORY, this_thread(), {name: live}, NOTHING))

    def note(
        self,
        phase: str,
        name: str,
        category: str,
        duration: int = 0,
        details: Mapping[str, object] = NOTHING,
        more: Mapping[str, object] = NOTHING,
    ) -> None:
        """Record an event of a user annotation; has no effect while the profiler is off."""
        if self.is_on:
            self._put(Record(phase, name, category, perf_counter_ns(), duration, category, this_thread(), details, more))

    def _put(self, item: Event | Record) -> None:
        # processed in batches: an observer must cost the program as little as possible while it runs
        self._queue.append(item)
        if len(self._queue) > MAX_QUEUED:
            self.fold()

    # processing

    def fold(self) -> None:
        """Process the queued events."""
        self.accounts.settle()  # deaths of arrays queue events too, which belong to this batch
        with self._lock:
            records = []
            for _ in range(len(self._queue)):  # the events that are queued by now: other threads keep appending
                item = self._queue.popleft()
                if isinstance(item, Event):
                    self._count(item)
                    item = record_of(item)
                records.append(item)
            # events are queued when they end, but a trace lists the outer of two that begin together first
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
        """Return the statistics, and reset them if ``reset``."""
        with self._lock:
            self.fold()
            found = self.statistics
            if reset:
                self.statistics = Statistics()
                self.statistics.is_kept = found.is_kept
            return found


def _place(device: Device) -> str:
    return f"{device.device_type}/{device.device_id}"


def record_of(event: Event) -> Record:
    """The record of an event."""
    details = {"bytes": event.nbytes, **event.details} if event.nbytes else event.details
    return Record("X", event.name, event.category, event.start, event.duration, _place(event.device), event.thread, details, NOTHING)


def _after_fork() -> None:
    """Stop in a child process, which would otherwise overwrite the parent's file."""
    if RECORDER.is_on:
        observers.forget(RECORDER)
    # a fresh state, locks included: a thread of the parent may have held them at the fork
    config = RECORDER.config
    RECORDER.__init__()
    RECORDER.config = config


RECORDER = Recorder()
os.register_at_fork(after_in_child=_after_fork)
