"""Compares Twofold with NumPy in one process and with the project's targets: ``make bench`` (``ARGS=--smoke`` in CI).

The run fails if a count exceeds its limit or a ratio exceeds twice its target; a quick run measures a section that fails once more, at
full length, before it says so. Absolute times are only reported. ``--json FILE`` writes the rows. Both sides multiply matrices in one
thread: on an idle machine a second one helps both alike, and on a busy one it only adds noise.
"""

# ruff: noqa: E402  (the number of threads must be set before NumPy is loaded)
import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":  # before NumPy is loaded; the path makes this package importable from the repository
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT))

import numpy as np

import twofold as mx
from asv_benchmarks import counting, networks
from asv_benchmarks.hand_written import LeNet, Perceptron
from asv_benchmarks.timing import frames, medians
from twofold.config import SETTINGS
from twofold_numpy.jit.tiering import LATE

#: Operations in one record scope, for the overhead of recorded operations.
RECORDED = 50
#: A ratio fails above its target times this factor.
GENEROUS = 2


@dataclass(frozen=True)
class Size:
    """Size of a measurement.

    Attributes
    ----------
    repetitions, calls
        Turns, and perceptron steps per turn (or ten times as many operations).
    batch
        LeNet's batch size.
    turns
        Turns of one LeNet step each.
    steps, updates
        Steps in which memory must not grow; updates by Adam.
    imports
        New interpreters per import statement.
    """

    repetitions: int
    calls: int
    batch: int
    turns: int
    steps: int
    updates: int
    imports: int


FULL = Size(repetitions=200, calls=10, batch=64, turns=25, steps=10_000, updates=1_000, imports=9)
SMOKE = Size(repetitions=31, calls=4, batch=16, turns=9, steps=400, updates=60, imports=1)


@dataclass(frozen=True)
class Row:
    """One measurement.

    Attributes
    ----------
    name, value, unit
        The measurement.
    target
        Upper bound to reach; None if the value is only reported.
    limit
        Upper bound above which the run fails; None if it never does.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    limit: float | None = None

    @property
    def verdict(self) -> str:
        """``met``, ``missed`` or ``FAILED``; empty without a target."""
        if self.limit is not None and self.value > self.limit:
            return "FAILED"
        return "" if self.target is None else "met" if self.value <= self.target else "missed"


def ratio(name: str, seconds: float, reference: float, target: float | None) -> Row:
    """A row for a ratio, whose limit is twice its target."""
    limit = None if target is None else GENEROUS * target
    return Row(name, seconds / reference, "x", target, limit)


def count(name: str, value: float, unit: str, target: float, limit: float | None = None) -> Row:
    """A row for a count, whose limit is the target unless another is given."""
    return Row(name, value, unit, target, target if limit is None else limit)


def operations(x: Any) -> dict[str, Callable[[], Any]]:
    """The operations whose overhead is measured, for an array of `nd` or of NumPy."""
    return {"x + x": lambda: x + x, "x * 2.5": lambda: x * 2.5, "x[1:3]": lambda: x[1:3], "x.sum()": lambda: x.sum()}


def overhead_rows(size: Size) -> Iterator[Row]:
    """Overhead over NumPy of single operations on 4 float32, plain and recorded, and the Python functions they enter."""
    values = np.arange(4, dtype="float32")
    plain, marked = mx.nd.array(values), mx.nd.array(values)
    marked.attach_grad()
    for name, function in operations(plain).items():
        reference, own = medians([operations(values)[name], function], size.repetitions, 10 * size.calls)
        yield Row(f"{name}: over NumPy", (own - reference) * 1e6, "µs", 0.4)
        yield count(f"{name}: Python frames", frames(function), "", 2)
    for name, function in operations(marked).items():
        many, recorded = partial(_repeated, operations(values)[name]), partial(_recorded, function)
        reference, own = medians([many, recorded], size.repetitions, size.calls)
        yield Row(f"{name} recorded: over NumPy", (own - reference) / RECORDED * 1e6, "µs", 1.2)
        yield count(f"{name} recorded: Python frames", recorded_frames(function), "", 6)


def _repeated(function: Callable[[], Any]) -> None:
    for _ in range(RECORDED):
        function()


def _recorded(function: Callable[[], Any]) -> None:
    with mx.autograd.record():
        for _ in range(RECORDED):
            function()


def recorded_frames(function: Callable[[], Any]) -> int:
    """Count the Python functions that a recorded operation enters when it is not new."""
    for _ in range(3):
        with mx.autograd.record():
            function()
            entered = frames(function)
    return entered


def perceptron_rows(size: Size) -> Iterator[Row]:
    """A 32x64x10 perceptron's forward and backward against the hand-written step, then with the update by `Trainer.step`.

    Its kernels are small: the first steps run them as ufuncs, and thousands of steps later they are machine code. The targets hold for
    the latter, which training for a second or longer consists of; the first steps are reported.
    """
    hand = Perceptron()
    steps = {
        "imperative": networks.imperative(hand),
        "executor": networks.executor(hand),
        "imperative, Gluon": networks.gluon(hand, hybrid=False),
        "hybridized": networks.gluon(hand, hybrid=True),
    }
    targets = {"imperative": 2.2, "executor": 1.5, "hybridized": 1.5}
    alternatives = [hand.step, *(s.step for s in steps.values())]
    reference, *own = medians(alternatives, size.repetitions, size.calls)
    for name, seconds in zip(steps, own, strict=True):
        yield ratio(f"perceptron {name} / hand-written, first steps", seconds, reference, None)
    _make_machine_code(s.step for s in steps.values())
    reference, *own = medians(alternatives, size.repetitions, size.calls)
    for name, seconds in zip(steps, own, strict=True):
        yield ratio(f"perceptron {name} / hand-written", seconds, reference, targets.get(name))
    for name in ("imperative, Gluon", "hybridized"):
        trained = networks.trained(steps[name])
        _make_machine_code([trained])
        alone, updating = medians([steps[name].step, trained], size.repetitions, size.calls)
        yield ratio(f"perceptron {name}: with SGD / without", updating, alone, 1.5)


def _make_machine_code(steps: Iterable[Callable[[], Any]]) -> None:
    """Take as many steps as the smallest kernels need to become machine code, without waiting until LLVM pays for itself."""
    before, SETTINGS.jit_eager = SETTINGS.jit_eager, True
    try:
        for step in steps:
            for _ in range(LATE):
                step()
    finally:
        SETTINGS.jit_eager = before


def lenet_rows(size: Size) -> Iterator[Row]:
    """LeNet's forward and backward against the hand-written step."""
    hand = LeNet(size.batch)
    steps = {
        "imperative": networks.imperative(hand),
        "executor": networks.executor(hand),
        "hybridized": networks.gluon(hand, hybrid=True),
    }
    reference, *own = medians([hand.step, *(s.step for s in steps.values())], size.turns, 1)
    for name, seconds in zip(steps, own, strict=True):
        yield ratio(f"LeNet {name} / hand-written", seconds, reference, 1.4)


def memory_rows(size: Size) -> Iterator[Row]:
    """Memory growth per step of imperative training."""
    step = networks.trained(networks.gluon(Perceptron(), hybrid=False))
    for _ in range(100):
        step()
    yield Row("memory that stays, resident", counting.resident_per_step(step, size.steps), "B/step", 16)
    yield count("memory that stays, allocated", counting.allocated_per_step(step, size.steps), "B/step", 16)


def compilation_rows(size: Size) -> Iterator[Row]:
    """Programs compiled by training with Adam and a schedule, after the first two steps."""
    step = networks.trained(networks.gluon(Perceptron(), hybrid=True), *networks.adam())
    step(), step()
    with counting.programs() as compiled:
        for _ in range(size.updates - 2):
            step()
    yield count(f"programs compiled by steps 3 to {size.updates} of Adam", len(compiled), "", 0)


def import_rows(size: Size) -> Iterator[Row]:
    """Import times in new interpreters, without their start-up."""
    statements = ["pass", "import numpy", "import twofold", "import twofold as mx; mx.nd.ones((2,)) + 1"]
    seconds: list[list[float]] = [[] for _ in statements]
    for _ in range(size.imports):
        for statement, times in zip(statements, seconds, strict=True):
            times.append(_import_seconds(statement))
    start, numpy_only, twofold, used = map(median, seconds)
    yield Row("import twofold", twofold - start, "s", 0.25)
    yield Row("import twofold and add: beyond import numpy", used - numpy_only, "s", 0.25)
    yield Row("import numpy", numpy_only - start, "s")


def _import_seconds(statement: str) -> float:
    timed = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True).stdout)


SECTIONS = (overhead_rows, perceptron_rows, lenet_rows, compilation_rows, memory_rows, import_rows)


def line(row: Row) -> str:
    """Format a row."""
    value = f"{row.value:.0f}" if row.unit == "" else f"{row.value:.2f}"
    target = "" if row.target is None else f"{row.target:g}"
    return f"{row.name:<56} {value:>9} {row.unit:<6} {target:>7}  {row.verdict}".rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if a row failed."""
    return run(arguments, sections=SECTIONS, description="Compare Twofold with NumPy in one process.")


def run(arguments: list[str] | None = None, *, sections: Sequence[Callable[[Size], Iterator[Row]]], description: str) -> int:
    """Print the rows of sections as they are measured; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="small and quick, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to a file")
    options = parser.parse_args(arguments)
    print(f"{'':<56} {'measured':>9} {'':<6} {'target':>7}")
    rows: list[Row] = []
    for section in sections:
        found = _printed(section(SMOKE if options.smoke else FULL))
        if options.smoke and any(row.verdict == "FAILED" for row in found):
            print("once more, at full length:")
            found = _printed(section(FULL))
        rows += found
    if options.json is not None:
        options.json.write_text(json.dumps([{**asdict(row), "verdict": row.verdict} for row in rows], indent=2) + "\n")
    failed = [row.name for row in rows if row.verdict == "FAILED"]
    print("failed: " + "; ".join(failed) if failed else "nothing failed")
    return 1 if failed else 0


def _printed(rows: Iterator[Row]) -> list[Row]:
    """Print rows as they are measured."""
    found = []
    for row in rows:
        found.append(row)
        print(line(row), flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
