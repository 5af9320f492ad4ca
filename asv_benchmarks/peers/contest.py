"""Runs the comparison: starts workers, compares results, then times them in rounds and takes medians."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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

#: Calls longer than this (in seconds) have no warm-up call before each turn: their arrays do not fit in a cache anyway.
LONG = 0.05
#: For each unit that is counted in a separate process: the preparatory command, the command, and the key of its answer.
APART = {"B": ("", "memory", "bytes"), "launches": ("counting", "launches", "launches")}
#: If this many turns started on idle cores, the others are ignored.
ENOUGH = 3


@dataclass(frozen=True)
class Effort:
    """Extent of the measurements.

    Attributes
    ----------
    rounds
        Turns of every variant.
    turn
        Minimum duration of a turn, in seconds.
    compiled
        Whether to include ``torch.compile``, which takes seconds per item.
    patience
        Maximum time to wait for other programs, in seconds: before one turn and in total.
    """

    rounds: int
    turn: float
    compiled: bool
    patience: tuple[float, float]


FULL = Effort(rounds=5, turn=0.05, compiled=True, patience=(2, 120))
QUICK = Effort(rounds=3, turn=0.02, compiled=False, patience=(0.5, 20))


@dataclass
class Measured:
    """The results of an item.

    Attributes
    ----------
    item
        The item.
    medians, lowest, cpu
        Median and minimum of the wall time and median CPU time in seconds, by ``library way``; bytes if the item measures memory.
    first
        Duration of the first call in seconds, including compilation.
    wrong
        Why a variant failed or differs from the first (NumPy's, if included), by ``library way``.
    reference
        The arrays computed by the first variant.
    """

    item: Item
    medians: dict[str, float] = field(default_factory=dict)
    lowest: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    reference: list[np.ndarray] = field(default_factory=list)


class Contest:
    """The workers of all available libraries.

    Attributes
    ----------
    about
        Each library's description: version, threads, kernels, variants.
    absent
        Why a library is missing, by name.
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
        """The libraries and variants that implement an item."""
        found = []
        for name, worker in self.workers.items():
            if (item.only and name not in item.only) or (worker.library.products_only and not item.products):
                continue
            ways = self.about[name]["ways"].get(item.work, [])
            found += [(name, way) for way in ways if way not in item.without and (self.effort.compiled or way != "compile")]
        return found

    def measure(self, item: Item) -> Measured:
        """Compare the results of all variants, then time the correct ones."""
        found = Measured(item)
        if item.unit in APART:
            self._count(found)
            return found
        self._compare(found)
        self._race(found, [(name, way) for name, way in self.ways(item) if f"{name} {way}" in found.first])
        self._drop()
        return found

    def _drop(self) -> None:
        """Let all workers drop their items; restart those that fail or have ended."""
        for name, worker in list(self.workers.items()):
            try:
                worker.ask("drop")
            except WorkerFailed:
                worker.close()
                fresh = self.workers[name] = self._start(worker.library)
                if not self._greeted(name, fresh):
                    del self.workers[name]

    def _compare(self, found: Measured) -> None:
        """Compute the results of every variant, and compare them with the first's."""
        self._prepare(found)
        for name, way in self.ways(found.item):
            label = f"{name} {way}"
            if label in found.wrong:
                continue
            try:
                seconds = self._compute(self.workers[name], found, way)
            except WorkerFailed as error:
                found.wrong[label] = str(error)
                continue
            found.first[label], found.medians[label] = seconds["first"], seconds["last"]

    def _prepare(self, found: Measured) -> None:
        """Let all workers draw their arrays, side by side."""
        ways = self.ways(found.item)

        def prepare(name: str) -> None:
            for way in [way for other, way in ways if other == name]:
                try:
                    self.workers[name].ask("prepare", work=found.item.work, size=found.item.size, way=way)
                except WorkerFailed as error:
                    found.wrong[f"{name} {way}"] = str(error)

        with ThreadPoolExecutor() as threads:
            list(threads.map(prepare, dict.fromkeys(name for name, _ in ways)))

    def _compute(self, worker: Process, found: Measured, way: str) -> dict[str, float]:
        """Let a worker compute and compare its results; return the durations of its first and last call.

        Raises
        ------
        WorkerFailed
            If it fails, or its results differ from the reference.
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
        """Time the variants in rounds, and take the medians."""
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
        """Time one turn, and note whether it started on idle cores."""
        rested = self.patience.rested()
        warm = 0 if found.item.single or found.medians[f"{name} {way}"] > LONG else 1
        return {**self.workers[name].ask("timed", way=way, calls=calls, warm=warm), "rested": rested}

    def _calls(self, found: Measured, name: str, way: str) -> int:
        """Number of calls that fill a turn."""
        if found.item.single or found.medians[f"{name} {way}"] > self.effort.turn:
            return 1
        return int(self.workers[name].ask("filling", way=way, turn=self.effort.turn)["calls"])

    def _count(self, found: Measured) -> None:
        """Count memory or launches of each variant, in separate processes."""
        before, command, key = APART[found.item.unit]
        for name, way in self.ways(found.item):
            worker = self._start(self.candidates[name])
            try:
                worker.answer()
                if before:
                    worker.ask(before)
                worker.ask("prepare", work=found.item.work, size=found.item.size, way=way)
                counted = worker.ask(command, way=way)[key]
                self._compute(worker, found, way)
                found.medians[f"{name} {way}"] = counted
            except WorkerFailed as error:
                found.wrong[f"{name} {way}"] = str(error)
            finally:
                worker.close()


def undisturbed(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns that started on idle cores, if there are enough; otherwise all."""
    rested = [turn for turn in turns if turn["rested"]]
    return rested if len(rested) >= min(ENOUGH, len(turns)) else list(turns)


def reason_of_absence(library: Library, said: str) -> str:
    """Why a library is missing: the error of its installation, if that failed."""
    if not library.interpreter.is_relative_to(PEERS):
        return said
    notes = PEERS / NOTES
    installation = json.loads(notes.read_text()) if notes.exists() else {}
    if library.name in installation:
        return str(installation[library.name])
    return said if library.interpreter.exists() else "no environment of the peers: run `make bench-peers`"


def loaded(file: Path) -> list[np.ndarray]:
    """Load the arrays that a worker has written, and remove the file."""
    with np.load(file) as arrays:
        results = [arrays[name] for name in arrays.files]
    file.unlink()
    return results


def distance(results: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """The largest difference relative to the largest magnitude of the reference; infinity if shapes or counts differ."""
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
    """Start a comparison of libraries, whose workers end with the context."""
    with tempfile.TemporaryDirectory() as scratch:
        running = Contest(candidates, effort, Path(scratch))
        try:
            yield running
        finally:
            running.close()
