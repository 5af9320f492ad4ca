"""Times single operations on small arrays, of `twofold.np` and of NumPy alternately in one process: ``make bench-small``.

The rows are those of the table of small operations: what each costs over NumPy, in microseconds, and the Python functions it enters. The
run fails if an operation enters more functions than its limit, or if the geometric mean of the ratios to NumPy exceeds twice its target.
``--json FILE`` writes the rows.
"""

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

if __name__ == "__main__":  # the path makes this package importable from the repository
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy

from asv_benchmarks.ratios import Row, Size, count, ratio, run
from asv_benchmarks.timing import frames, medians
from twofold import np


class Case(NamedTuple):
    """A statement on the arrays of `names`.

    Attributes
    ----------
    text
        The statement.
    over
        What it may cost over NumPy, in microseconds, on a quiet machine.
    frames
        How many Python functions it may enter, NumPy's own included.
    """

    text: str
    over: float
    frames: int


CASES = (
    Case("x[5]", 0.35, 1),
    Case("A[3, 4]", 0.35, 1),
    Case("B[3, 4]", 0.35, 1),
    Case("x[1:9]", 0.32, 1),
    Case("A[3, :20]", 0.30, 1),
    Case("B[3, :20]", 0.35, 1),
    Case("x.reshape(4, 5)", 0.30, 1),
    Case("x[:10] + x[1:11]", 1.0, 5),
    Case("x + y", 0.25, 1),
    Case("x * 2.0", 0.25, 1),
    Case("x += y", 0.25, 1),
    Case("x > 0.5", 0.25, 1),
    Case("np.sqrt(x)", 0.25, 1),
    Case("np.sqrt(0.5)", 0.27, 1),
    Case("x[3] = 1.5", 0.12, 1),
    Case("x[2:6] = 0.0", 0.15, 1),
    Case("B[3, 4] = 1.5", 0.25, 1),
    Case("x.sum()", 0.35, 2),
    Case("x.sum(axis=0)", 0.35, 2),
    Case("A.max(axis=0)", 0.35, 2),
    Case("x @ y", 0.35, 2),
    Case("A @ x", 0.35, 2),
    Case("np.zeros(10)", 0.30, 1),
    Case("np.array([1.0, 2.0])", 0.30, 1),
    Case("x.copy()", 0.30, 1),
    Case("x[x > 0.5]", 0.70, 2),
    Case("for k in x: pass", 6.0, 23),
    Case("float(x[5])", 0.35, 2),
    Case("x[5] * 2.0 + y[3]", 1.0, 4),
    Case("x[5] < y[3]", 0.7, 3),
    Case("numpy.sin(x[5])", 0.9, 4),
    Case("np.where(x > 0.5, x, y)", 0.9, 2),
    Case("x.argmin()", 0.35, 1),
    Case("np.outer(x, y)", 0.6, 2),
    Case("np.concatenate([x, y])", 1.2, 5),
    Case("np.roll(x, 1)", 0.5, 11),
    Case("np.random.rand(3)", 0.35, 1),
    Case("np.fft.fft(x)", 0.5, 6),
    Case("np.linalg.inv(S)", 0.5, 12),
)
#: Seconds of all operations together may be this many times NumPy's: the geometric mean of the ratios.
TARGET = 3.0


def names(module: Any) -> dict[str, Any]:
    """The arrays that the statements name, made by NumPy or by a module in its place."""
    draw = numpy.random.default_rng(0)
    arrays = {
        "x": draw.random(20),
        "y": draw.random(20),
        "A": draw.random((10, 20)),
        "B": draw.random((1000, 1000)),
        "S": draw.random((3, 3)),
    }
    return {"np": module, "numpy": numpy} | {name: module.array(a) for name, a in arrays.items()}


def statement(text: str, module: Any) -> Callable[[], Any]:
    """A function that runs a statement; what the statement assigns is its own."""
    env = names(module)
    exec(f"def function(x=x):\n    {text}", env)
    return env["function"]


def rows(size: Size) -> Iterator[Row]:
    """The rows, as they are measured."""
    ratios = []
    for case in CASES:
        functions = [statement(case.text, module) for module in (numpy, np)]
        reference, own = medians(functions, size.repetitions, 20 * size.calls)
        ratios.append(own / reference)
        yield Row(f"{case.text}: over NumPy", (own - reference) * 1e6, "µs", case.over)
        yield count(f"{case.text}: Python frames", frames(functions[1]), "", case.frames)
    yield ratio("all of them / NumPy, geometric mean", geometric_mean(ratios), 1.0, TARGET)


main = partial(run, sections=(rows,), description="Time single operations on small arrays, of Twofold and of NumPy.")

if __name__ == "__main__":
    sys.exit(main())
