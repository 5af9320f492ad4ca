"""Runs the scripts in rounds, each run in a process of its own, and compares what they print."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from asv_benchmarks.scripts.table import NUMPY, Script, Way

ROOT = Path(__file__).resolve().parents[2]
#: Seconds after which a script is stopped.
LIMIT = 120
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")


@dataclass
class Runs:
    """What one way of running a script gave.

    Attributes
    ----------
    wall, cpu, whole
        Seconds per round: of the script's own code, its CPU time, and of the whole process.
    output
        What it printed in the first round.
    failure
        Why it stopped, if it did.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    output: str = ""
    failure: str | None = None


@dataclass
class Result:
    """A script's runs by the ways' names, and how each one's output compares with NumPy's."""

    script: Script
    runs: dict[str, Runs]

    def seconds(self, way: str) -> float:
        """The median wall time of the script's own code."""
        return median(self.runs[way].wall) if self.runs[way].wall else math.nan

    def ratio(self, way: str, kind: str = "wall") -> float:
        """The median time relative to NumPy's, of a ``kind`` in `Runs`."""
        own, base = getattr(self.runs[way], kind), getattr(self.runs[NUMPY.name], kind)
        return median(own) / median(base) if own and base else math.nan

    def verdict(self, way: str) -> str:
        """``same`` text, ``close`` (within the script's tolerance), or how the output differs."""
        if self.runs[way].failure is not None:
            return f"stopped: {str(self.runs[way].failure).strip().splitlines()[-1]}"
        return difference(self.runs[NUMPY.name].output, self.runs[way].output, self.script.tolerance)


def difference(want: str, got: str, tolerance: float) -> str:
    """Compare two outputs.

    Parameters
    ----------
    want, got
        The texts.
    tolerance
        Relative difference allowed between numbers in the same place.

    Returns
    -------
    str
        ``same``, ``close``, or the first line that differs.
    """
    if want == got:
        return "same"
    for expected, line in zip(want.splitlines(), got.splitlines(), strict=False):
        words, others = _NUMBER.sub("#", expected).split(), _NUMBER.sub("#", line).split()
        numbers = zip(_NUMBER.findall(expected), _NUMBER.findall(line), strict=False)
        if words != others or not all(_close(float(a), float(b), tolerance) for a, b in numbers):
            return f"differs: {line!r} instead of {expected!r}"
    return "close" if len(want.splitlines()) == len(got.splitlines()) else "differs: another number of lines"


def _close(a: float, b: float, tolerance: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(abs(a), abs(b))


def run_once(script: Script, way: Way, runs: Runs) -> None:
    """Run a script in a new process and add what it took."""
    command = [sys.executable, "-m", "asv_benchmarks.scripts.child", way.name, str(script.file)]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        runs.failure = f"still running after {LIMIT} s"
        return
    whole = time.perf_counter() - start
    if done.returncode:
        runs.failure = done.stderr.strip() or f"exit status {done.returncode}"
        return
    answer = json.loads(done.stdout.splitlines()[-1])
    runs.failure = runs.failure or answer["failure"]
    runs.output = runs.output or answer["output"]
    runs.wall.append(answer["wall"])
    runs.cpu.append(answer["cpu"])
    runs.whole.append(whole)


def _environment() -> dict[str, str]:
    """The environment, with one thread for BLAS: its second one waits for a time slice on a busy machine."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def measured(script: Script, ways: Sequence[Way], rounds: int) -> Result:
    """Run a script in rounds, in which the ways take turns, in alternating order. A way that fails is not run again."""
    result = Result(script, {way.name: Runs() for way in ways})
    for k in range(rounds):
        for way in ways if k % 2 == 0 else reversed(ways):
            runs = result.runs[way.name]
            if runs.failure is None:
                run_once(script, way, runs)
    return result


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of the values that are known."""
    known = [math.log(v) for v in values if not math.isnan(v)]
    return math.exp(sum(known) / len(known)) if known else math.nan
