"""Speed beside busy processes, as a part of the speed without them: ``make bench-busy`` (``ARGS=--smoke`` in CI).

All figures are of one process. Its steps are measured alone, beside one process that spins, and beside two, in turns; the spinning
processes are stopped and continued by signals. The speed kept is the mean time of a step alone divided by that beside the others: means,
since the loss is in few steps that wait for a time slice. The ways of computing are in the same turns: Twofold, and NumPy with the threads
of its BLAS, as a comparison. A run fails if Twofold keeps less than `GENEROUS` of its target in the median. On a machine that runs other
programs too, "alone" is not alone, and all figures are lower bounds of the loss.
"""

# ruff: noqa: E402  (the path makes this package importable from the repository)
import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import twofold as mx
from asv_benchmarks import networks
from asv_benchmarks.hand_written import LeNet

#: Spinning processes, and the part of the speed to keep beside them on two cores.
TARGETS = {1: 0.85, 2: 0.6}
#: A run fails below this part of the target.
GENEROUS = 0.25
#: What a neighbor runs.
SPIN = "while True: pass"
Step = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """The figures of one row.

    Attributes
    ----------
    name
        What is computed.
    milliseconds
        The mean of a step alone.
    kept
        The part of its speed that is kept beside so many processes, by means.
    kept_in_the_median
        The same by medians.
    slowest
        The slowest of a hundred steps beside so many processes, in milliseconds.
    processor
        Seconds of processor time per second alone, and beside so many processes.
    """

    name: str
    milliseconds: float
    kept: dict[int, float]
    kept_in_the_median: dict[int, float]
    slowest: dict[int, float]
    processor: dict[int, float]

    @property
    def has_failed(self) -> bool:
        """Whether Twofold is far from the targets."""
        return not self.name.startswith("NumPy") and any(self.kept_in_the_median[n] < GENEROUS * t for n, t in TARGETS.items())


class Neighbors:
    """Processes that spin, of which some run at a time."""

    def __init__(self, number: int) -> None:
        self._all = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(number)]
        self.run(0)

    def run(self, number: int) -> None:
        """Let so many of them spin, and stop the others."""
        for k, process in enumerate(self._all):
            process.send_signal(signal.SIGCONT if k < number else signal.SIGSTOP)

    def end(self) -> None:
        """End all."""
        for process in self._all:
            process.kill()
            process.wait()


@contextmanager
def neighbors(number: int) -> Iterator[Neighbors]:
    """Neighbors that end with a ``with`` statement."""
    found = Neighbors(number)
    try:
        yield found
    finally:
        found.end()


def _multiply(m: int, k: int, n: int) -> tuple[Step, Step]:
    """A product of (m, k) and (k, n), by Twofold and by NumPy."""
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((m, k), np.float32), draw.standard_normal((k, n), np.float32)
    out = np.empty((m, n), np.float32)
    x, y = mx.nd.array(a), mx.nd.array(b)
    return lambda: mx.nd.dot(x, y).wait_to_read(), lambda: np.dot(a, b, out)


def _chain(elements: int) -> Step:
    x = mx.nd.array(np.linspace(-1, 1, elements, dtype="float32"))
    return lambda: mx.nd.clip(mx.nd.tanh(x * 0.5 + 1) * 2 - 1, -0.5, 0.5).wait_to_read()


def _perceptron(batch: int) -> Step:
    """Forward and backward of the network 784-128-64-10."""
    draw = np.random.default_rng(0)
    block = networks.WithLoss([mx.gluon.nn.Dense(128, "relu"), mx.gluon.nn.Dense(64, "relu"), mx.gluon.nn.Dense(10)])
    block.initialize()
    block.hybridize(static_alloc=True, static_shape=True)
    x, label = mx.nd.array(draw.random((batch, 784))), mx.nd.array(draw.integers(0, 10, batch))

    def step() -> None:
        with mx.autograd.record():
            loss = block(x, label)
        loss.backward()
        mx.nd.waitall()

    return step


def rows(batch: int, side: int) -> dict[str, Step]:
    """What is measured: name to step."""
    small, large = _multiply(64, 784, 128), _multiply(side, side, side)
    return {
        f"LeNet, batch {batch}, hybridized": networks.gluon(LeNet(batch), hybrid=True).step,
        f"LeNet, batch {batch}, imperative": networks.imperative(LeNet(batch)).step,
        f"784-128-64-10, batch {batch}": _perceptron(batch),
        "(64, 784) by (784, 128)": small[0],
        f"({side}, {side}) by ({side}, {side})": large[0],
        "chain of 1e6 elements": _chain(1_000_000),
        "NumPy: (64, 784) by (784, 128)": small[1],
        f"NumPy: ({side}, {side}) by ({side}, {side})": large[1],
    }


def measure(steps: dict[str, Step], rounds: int, seconds: float) -> Iterator[Row]:
    """Measure the steps in turns; each turn takes about ``seconds``."""
    for step in steps.values():
        for _ in range(4):  # compiled by then
            step()
    for name, step in steps.items():
        times: dict[int, list[float]] = {n: [] for n in (0, *TARGETS)}
        processor: dict[int, list[float]] = {n: [] for n in times}
        with neighbors(max(TARGETS)) as others:
            for _ in range(rounds):
                for n in times:
                    others.run(n)
                    time.sleep(0.02)
                    _turn(step, seconds, times[n], processor[n])
        yield _row(name, times, processor)


def _turn(step: Step, seconds: float, times: list[float], processor: list[float]) -> None:
    """Repeat a step for some time, and add the time of each step, and processor seconds per second."""
    step()
    first, first_used = time.perf_counter(), time.process_time()
    now = first
    while now < first + seconds:
        before = now
        step()
        now = time.perf_counter()
        times.append(now - before)
    processor.append((time.process_time() - first_used) / (now - first))


def _row(name: str, times: dict[int, list[float]], processor: dict[int, list[float]]) -> Row:
    kept = {n: mean(times[0]) / mean(times[n]) for n in TARGETS}
    in_the_median = {n: median(times[0]) / median(times[n]) for n in TARGETS}
    slowest = {n: 1e3 * float(np.quantile(times[n], 0.99)) for n in times}
    return Row(name, 1e3 * mean(times[0]), kept, in_the_median, slowest, {n: mean(found) for n, found in processor.items()})


def line(row: Row) -> str:
    """Format a row."""
    kept = "".join(f"{row.kept[n]:8.2f}{row.kept_in_the_median[n]:8.2f}" for n in TARGETS)
    slowest = "".join(f"{row.slowest[n]:8.1f}" for n in row.slowest)
    cpu = "".join(f"{found:6.2f}" for found in row.processor.values())
    met = all(row.kept[n] >= target for n, target in TARGETS.items())
    return f"{row.name:<34}{row.milliseconds:9.3f}{kept}{slowest} {cpu}  {'FAILED' if row.has_failed else 'met' if met else 'missed'}"


def header() -> str:
    """The first line of the table."""
    kept = "".join(f"{'mean ' + str(n):>8}{'med. ' + str(n):>8}" for n in TARGETS)
    slowest, processor = ("".join(f"{what + str(n):>{width}}" for n in (0, *TARGETS)) for what, width in (("99% ", 8), ("cpu ", 6)))
    return f"{'':<34}{'ms alone':>9}{kept}{slowest} {processor}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a row failed."""
    parser = argparse.ArgumentParser(description="Measure the speed that is kept beside busy processes.")
    parser.add_argument("--smoke", action="store_true", help="small and quick, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to a file")
    options = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}. Speed kept beside one and two processes, by means and by medians;")
    print("the slowest of 100 steps in milliseconds and processor time per second, beside none, one and two.")
    print(f"To reach by means: {', '.join(f'{target:g} beside {n}' for n, target in TARGETS.items())}.")
    print(header())
    found = []
    steps, rounds, seconds = (rows(16, 512), 3, 0.06) if options.smoke else (rows(64, 1024), 12, 0.25)
    for row in measure(steps, rounds, seconds):
        found.append(row)
        print(line(row), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n")
    failed = [row.name for row in found if row.has_failed]
    print("failed: " + "; ".join(failed) if failed else "nothing failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
