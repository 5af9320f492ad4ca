"""The contest: workers started, results compared, then turns taken in rounds; medians of what the workers measured."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from asv_benchmarks.peers.environment import NOTES
from asv_benchmarks.peers.process import Process, WorkerFailed
from asv_benchmarks.peers.quiet import Patience
from asv_benchmarks.peers.table import PEERS, Library

if TYPE_CHECKING:
    from asv_benchmarks.peers.items import Item

#: Calls longer than this (in seconds) are not warmed up again before each turn: their arrays do not stay in a cache.
LONG = 0.05
#: For each unit that is counted in a process of its own, what the worker is asked before, then, and what of the answer is taken.
APART = {"B": ("", "memory", "bytes"), "launches": ("counting", "launches", "launches")}
#: Turns begun at rest that are enough to leave out the others.
ENOUGH = 3


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes
    ----------
    rounds
        Turns that every way has.
    turn
        Seconds that a turn takes at least.
    compiled
        Whether ``torch.compile`` takes part: it needs seconds for each item.
    patience
        Seconds that are waited for other programs, before one turn and in all.
    """

    rounds: int
    turn: float
    compiled: bool
    patience: tuple[float, float]


FULL = Effort(rounds=7, turn=0.1, compiled=True, patience=(2, 300))
QUICK = Effort(rounds=3, turn=0.02, compiled=False, patience=(0.5, 20))


@dataclass
class Measured:
    """What an item came to.

    Attributes
    ----------
    item
        The item.
    medians, lowest, cpu
        Seconds of wall time, the least of them, and seconds of the process' CPU time, by ``library way``; bytes where the item
        measures those.
    first
        Seconds that the first call took, compilation included.
    wrong
        What differed from the first way, NumPy's where it takes part, or failed, by ``library way``.
    reference
        The results of the first way.
    """

    item: Item
    medians: dict[str, float] = field(default_factory=dict)
    lowest: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    reference: list[np.ndarray] = field(default_factory=list)


class Contest:
    """The workers of all libraries that can be had.

    Attributes
    ----------
    about
        What each library says of itself: version, threads, kernels, ways.
    absent
        Why a library takes no part, by its name.
    """

    def __init__(self, candidates: Sequence[Library], effort: Effort, scratch: Path) -> None:
        self.effort, self.scratch, self.candidates = effort, scratch, {library.name: library for library in candidates}
        self.patience = Patience(*effort.patience)
        self.about: dict[str, dict[str, Any]] = {}
        self.absent: dict[str, str] = {}
        started = {}
        for library in candidates:
            try:
                started[library.name] = self._start(library)
            except OSError as error:
                self.absent[library.name] = reason_of_absence(library, f"{type(error).__name__}: no interpreter for it")
        self.workers = {name: worker for name, worker in started.items() if self._greeted(name, worker)}

    def _start(self, library: Library) -> Process:
        folder = self.scratch / library.name.replace(" ", "-")
        folder.mkdir(exist_ok=True)
        return Process(library, os.environ, folder)

    def _greeted(self, name: str, worker: Process) -> bool:
        try:
            hello = worker.answer()
        except WorkerFailed as error:
            hello = {"absent": str(error)}
        if "absent" in hello:
            self.absent[name] = reason_of_absence(worker.library, hello["absent"])
            worker.close()
            return False
        self.about[name] = hello
        return True

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.close()

    def ways(self, item: Item) -> list[tuple[str, str]]:
        """The libraries and ways that take part in an item."""
        found = []
        for name, worker in self.workers.items():
            if (item.only and name not in item.only) or (worker.library.products_only and not item.products):
                continue
            ways = self.about[name]["ways"].get(item.work, [])
            found += [(name, way) for way in ways if way not in item.without and (self.effort.compiled or way != "compile")]
        return found

    def measured(self, item: Item) -> Measured:
        """Compare the results of all ways, then time those that are right."""
        found = Measured(item)
        if item.unit in APART:
            self._apart(found)
            return found
        self._compare(found)
        self._race(found, [(name, way) for name, way in self.ways(item) if f"{name} {way}" in found.first])
        self._dropped()
        return found

    def _dropped(self) -> None:
        """Let all workers forget their items; one that has ended, or cannot, is started anew."""
        for name, worker in list(self.workers.items()):
            try:
                worker.ask("drop")
            except WorkerFailed:
                worker.close()
                fresh = self.workers[name] = self._start(worker.library)
                if not self._greeted(name, fresh):
                    del self.workers[name]

    def _compare(self, found: Measured) -> None:
        """Compute every way's results; those that are not the first's are wrong."""
        for name, way in self.ways(found.item):
            label = f"{name} {way}"
            try:
                self.workers[name].ask("prepare", work=found.item.work, size=found.item.size, way=way)
                seconds = self._checked(self.workers[name], found, way)
            except WorkerFailed as error:
                found.wrong[label] = str(error)
                continue
            found.first[label], found.medians[label] = seconds["first"], seconds["last"]

    def _checked(self, worker: Process, found: Measured, way: str) -> dict[str, float]:
        """Let a worker compute; the seconds of its first and its last call.

        Raises
        ------
        WorkerFailed
            If it fails, or its results are not those of the first way that was asked.
        """
        file = self.scratch / "result.npz"
        seconds = worker.ask("compute", way=way, file=str(file))
        results = loaded(file)
        found.reference = found.reference or results
        difference = distance(results, found.reference)
        if difference > found.item.tolerance:
            raise WorkerFailed(f"differs by {difference:.1e} of the largest magnitude; at most {found.item.tolerance:.0e} is right")
        return seconds

    def _race(self, found: Measured, ready: Sequence[tuple[str, str]]) -> None:
        """Turns in rounds; the medians."""
        calls: dict[str, int] = {}
        turns: dict[str, list[dict[str, Any]]] = {label: [] for label in found.first}
        for k in range(self.effort.rounds):
            for name, way in ready if k % 2 == 0 else reversed(ready):
                label = f"{name} {way}"
                if label in found.wrong:
                    continue
                try:
                    calls[label] = calls.get(label) or self._calls(found, name, way)
                    turns[label].append(self._turn(found, name, way, calls[label]))
                except WorkerFailed as error:
                    found.wrong[label] = str(error)
                    del found.medians[label]
        for label in found.medians:
            times = undisturbed(turns[label])
            found.medians[label] = median(t["wall"] for t in times)
            found.lowest[label] = min(t["wall"] for t in times)
            found.cpu[label] = median(t["cpu"] for t in times)

    def _turn(self, found: Measured, name: str, way: str, calls: int) -> dict[str, Any]:
        """What one turn came to, and whether it began at rest."""
        rested = self.patience.rested()
        warm = 0 if found.item.single or found.medians[f"{name} {way}"] > LONG else 1
        return {**self.workers[name].ask("timed", way=way, calls=calls, warm=warm), "rested": rested}

    def _calls(self, found: Measured, name: str, way: str) -> int:
        """Calls that fill a turn."""
        if found.item.single or found.medians[f"{name} {way}"] > self.effort.turn:
            return 1
        return int(self.workers[name].ask("filling", way=way, turn=self.effort.turn)["calls"])

    def _apart(self, found: Measured) -> None:
        """What is counted of each way, each in a process of its own."""
        before, command, key = APART[found.item.unit]
        for name, way in self.ways(found.item):
            worker = self._start(self.candidates[name])
            try:
                worker.answer()
                if before:
                    worker.ask(before)
                worker.ask("prepare", work=found.item.work, size=found.item.size, way=way)
                counted = worker.ask(command, way=way)[key]
                self._checked(worker, found, way)
                found.medians[f"{name} {way}"] = counted
            except WorkerFailed as error:
                found.wrong[f"{name} {way}"] = str(error)
            finally:
                worker.close()


def undisturbed(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns that began on a machine at rest, if there are enough of them; else all."""
    rested = [turn for turn in turns if turn["rested"]]
    return rested if len(rested) >= min(ENOUGH, len(turns)) else list(turns)


def reason_of_absence(library: Library, said: str) -> str:
    """Why a library is not there: what its installation said, if that failed."""
    if not library.interpreter.is_relative_to(PEERS):
        return said
    notes = PEERS / NOTES
    installation = json.loads(notes.read_text()) if notes.exists() else {}
    if library.name in installation:
        return str(installation[library.name])
    return said if library.interpreter.exists() else "no environment of the peers: run `make bench-peers`"


def loaded(file: Path) -> list[np.ndarray]:
    """The arrays of a file that a worker has written; the file is removed."""
    with np.load(file) as arrays:
        results = [arrays[name] for name in arrays.files]
    file.unlink()
    return results


def distance(results: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """The largest difference of an array's elements over the largest magnitude of the reference; infinity where shapes or counts differ."""
    if len(results) != len(reference) or any(a.shape != b.shape for a, b in zip(results, reference, strict=True)):
        return float("inf")
    largest = 0.0
    for a, b in zip(results, reference, strict=True):
        magnitude = float(np.abs(b).max()) or 1.0
        difference = float(np.abs(a.astype(np.float64) - b).max()) / magnitude
        largest = max(largest, difference if np.isfinite(difference) else float("inf"))
    return largest


@contextmanager
def contest(effort: Effort, candidates: Sequence[Library]) -> Iterator[Contest]:
    """A contest of libraries, whose workers end with the context."""
    with tempfile.TemporaryDirectory() as scratch:
        running = Contest(candidates, effort, Path(scratch))
        try:
            yield running
        finally:
            running.close()
