"""Times single operations on small arrays, of `twofold.np` or `mx.nd` and of NumPy alternately in one process: ``make bench-small``.

The rows are those of the table of small operations: what each costs over NumPy, in microseconds, and the Python functions it enters. The
run fails if an operation enters more functions than its limit, or if the geometric mean of the ratios to NumPy exceeds twice its target.
``--json FILE`` writes the rows. Where llvmlite is installed, methods of `twofold.np` are in machine code, as after the first 60,000
operations of a program.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
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
from twofold import nd, np
from twofold.numpy.machine_code import MACHINE_CODE


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
    numpys
        NumPy's statement, if it is another one.
    """

    text: str
    over: float
    frames: int
    numpys: str = ""


CASES = (
    Case("x[5]", 0.35, 1),
    Case("A[3, 4]", 0.35, 1),
    Case("B[3, 4]", 0.35, 1),
    Case("x[1:9]", 0.32, 1),
    Case("A[3, :20]", 0.3, 1),
    Case("B[3, :20]", 0.35, 1),
    Case("x[:, None]", 0.35, 1),
    Case("x[[1, 2, 3]]", 0.35, 1),
    Case("x[I]", 0.35, 1),
    Case("x[x > 0.5]", 0.7, 2),
    Case("A[:, I[1]]", 0.6, 2),
    Case("A[I[0], I[1]]", 0.6, 3),
    Case("x[:10] + x[1:11]", 0.8, 3),
    Case("x[3] = 1.5", 0.12, 1),
    Case("x[2:6] = 0.0", 0.15, 1),
    Case("B[3, 4] = 1.5", 0.25, 1),
    Case("x[x > 0.5] = 0.0", 0.4, 2),
    Case("x[I] += 1.0", 0.6, 3),
    Case("A[:, 3] = x[:10]", 0.6, 3),
    Case("x.reshape(4, 5)", 0.3, 1),
    Case("A.T", 0.3, 1),
    Case("x.ravel()", 0.35, 1),
    Case("x + y", 0.25, 1),
    Case("x * 2.0", 0.25, 1),
    Case("1.0 - x", 0.25, 1),
    Case("x ** 2", 0.35, 1),
    Case("x += y", 0.25, 1),
    Case("-x", 0.25, 1),
    Case("abs(x)", 0.25, 1),
    Case("x > 0.5", 0.25, 1),
    Case("(x > 0.2) & (x < 0.8)", 0.75, 3),
    Case("np.sqrt(x)", 0.25, 1),
    Case("np.sqrt(0.5)", 0.27, 1),
    Case("np.maximum(x, y)", 0.35, 1),
    Case("np.maximum(x, 0.0)", 0.35, 1),
    Case("x.sum()", 0.35, 1),
    Case("x.sum(axis=0)", 0.35, 1),
    Case("A.max(axis=0)", 0.35, 1),
    Case("A.sum(axis=1)", 0.35, 1),
    Case("x.mean()", 0.35, 3),
    Case("x.std()", 0.35, 4),
    Case("x.argmin()", 0.35, 1),
    Case("A.argmax(1)", 0.35, 1),
    Case("(x > 0.5).any()", 0.6, 2),
    Case("np.sum(A, axis=0)", 0.35, 1),
    Case("np.cumsum(x)", 0.35, 1),
    Case("np.sqrt((x * x).sum())", 0.8, 3),
    Case("x @ y", 0.35, 2),
    Case("A @ x", 0.35, 2),
    Case("np.dot(S, S)", 0.35, 1),
    Case("np.outer(x, y)", 0.35, 1),
    Case("np.einsum('i,i', x, y)", 2.0, 5),
    Case("np.inner(x, y)", 0.6, 8),
    Case("np.tensordot(S, S, 1)", 5.0, 43),
    Case("np.zeros(10)", 0.3, 1),
    Case("np.zeros((3, 4))", 0.3, 1),
    Case("np.ones(10)", 0.3, 3),
    Case("np.arange(10)", 0.35, 1),
    Case("np.linspace(0, 1, 5)", 1.2, 8),
    Case("np.array([1.0, 2.0])", 0.3, 1),
    Case("np.array([[1, 2], [3, 4]])", 0.35, 1),
    Case("np.array([x[0], x[1]])", 1.0, 3),
    Case("np.zeros_like(x)", 0.3, 1),
    Case("x.copy()", 0.3, 1),
    Case("x.astype('float32')", 0.35, 1),
    Case("x.tolist()", 0.1, 2),
    Case("np.where(x > 0.5, x, y)", 0.6, 2),
    Case("np.clip(x, 0.0, 1.0)", 0.35, 4),
    Case("np.concatenate([x, y])", 0.4, 1),
    Case("np.stack([x, y])", 0.4, 6),
    Case("np.vstack([x, y])", 0.4, 5),
    Case("np.append(x, 1.0)", 0.5, 5),
    Case("np.roll(x, 1)", 1.2, 11),
    Case("np.cross(x[:3], y[:3])", 1.5, 36),
    Case("np.sort(x)", 0.35, 2),
    Case("np.argsort(x)", 0.5, 15),
    Case("np.diff(x)", 0.35, 2),
    Case("np.nonzero(x > 0.5)", 1.2, 9),
    Case("np.random.rand(3)", 0.35, 1),
    Case("np.random.randint(0, 9)", 0.35, 1),
    Case("rng.normal(size=3)", 0.4, 1),
    Case("np.fft.fft(x)", 0.5, 6),
    Case("np.linalg.inv(S)", 0.5, 11),
    Case("np.linalg.solve(S, x[:3])", 0.7, 16),
    Case("np.linalg.norm(x)", 0.5, 1),
    Case("for k in x: pass", 6.0, 22),
    Case("float(x[5])", 0.2, 1),
    Case("bool(x[5])", 0.2, 1),
    Case("len(x)", 0.15, 1),
    Case("x.shape", 0.1, 1),
    Case("x[5] * 2.0 + y[3]", 0.35, 2),
    Case("x[5] < y[3]", 0.35, 2),
    Case("round(x[3], 2)", 0.35, 1),
    Case("numpy.sin(x[5])", 0.35, 1),
    Case("x[5] = 0.5 * x[4] + 1.0", 0.4, 2),
    Case("[v for v in x]", 1.5, 23),
    Case("abs(x[3] - x[4]) < 0.1", 0.35, 2),
    Case("A[:, 3]", 0.35, 1),
    Case("x[2] * A[3]", 1.2, 3),
    Case("np.maximum.accumulate(x)", 0.6, 1),
    Case("A.transpose(1, 0)", 0.4, 5),
    Case("A.swapaxes(0, 1)", 0.4, 5),
    Case("np.squeeze(A[None])", 0.8, 8),
    Case("np.diag(S)", 5.0, 30),
    Case("A[..., 1]", 0.2, 7),
    Case("x[...] = y", 0.3, 1),
    Case("np.copyto(x, y)", 0.4, 2),
    Case("np.put(x, [1, 2], [3.0, 4.0])", 0.8, 2),
    Case("np.fill_diagonal(S, 1.0)", 0.8, 2),
    Case("x.sort()", 0.3, 1),
    Case("x.nonzero()", 0.5, 1),
    Case("np.where(x > 0.5)", 0.6, 3),
    Case("x.take(I)", 0.6, 1),
    Case("A.sum((0, 1))", 0.3, 1),
    Case("np.add.reduce(x)", 0.5, 2),
    Case("np.fabs(x)", 0.2, 1),
    Case("np.shape(x)", 0.3, 2),
    Case("x.size", 0.1, 2),
    Case("S[:1, :1].item()", 0.4, 7),
    Case("np.array(2.0)", 0.6, 1),
    Case("np.array(x, copy=True)", 0.4, 1),
    Case("np.asarray(x, dtype=float)", 0.2, 1),
    Case("np.asarray(x, dtype='float32')", 0.6, 1),
    Case("np.asanyarray(x)", 0.1, 1),
    Case("np.frombuffer(b'abcdefgh')", 0.8, 1),
    Case("x.astype(float, copy=False)", 0.8, 1),
    Case("np.copyto(x, 1.0)", 0.3, 2),
    Case("x.put([1, 2], [3.0, 4.0])", 1.0, 1),
    Case("x.partition(3)", 0.8, 1),
    Case("x.compress(x > 0.5)", 1.0, 2),
    Case("np.full((2, 2), 1)", 1.0, 3),
    Case("np.unravel_index(5, (3, 4))", 2.0, 4),
    Case("np.modf(x)", 2.0, 3),
    Case("np.ix_(I, I)", 5.0, 13),
    Case("np.r_[x, 0.5]", 4.0, 15),
    Case("np.mgrid[0:3, 0:2]", 2.0, 6),
    Case("np.divide(x, y, out=y, where=x > 0.5)", 4.0, 12),
    Case("np.linalg.norm(A, axis=1)", 0.8, 1),
    Case("np.linalg.norm(x, 1)", 0.8, 1),
    Case("np.linalg.matrix_rank(S)", 2.0, 22),
    Case("np.linalg.lstsq(S, x[:3], rcond=None)", 4.0, 22),
    Case("np.squeeze(A[None], 0)", 1.0, 8),
    Case("np.squeeze(A[None], axis=0)", 1.0, 6),
    Case("np.transpose(A[None], (1, 2, 0))", 1.5, 11),
    Case("np.transpose(A)", 0.5, 4),
    Case("np.ravel(A)", 0.5, 3),
    Case("np.reshape(A, (5, 40))", 0.5, 3),
    Case("np.imag(x)", 2.5, 9),
    Case("np.concatenate((x, [1.0]))", 1.5, 1),
    Case("np.fliplr(A)", 1.0, 8),
    Case("np.inner(A, A)", 1.5, 15),
    Case("x.flat[3]", 0.8, 2),
)
#: Those of `mx.nd`, on float32, with NumPy's statement where that is another one.
ND_CASES = (
    Case("x[5]", 0.35, 1),
    Case("A[3]", 0.35, 1),
    Case("B[3]", 0.35, 1),
    Case("x[1:9]", 0.35, 1),
    Case("x[3] = 1.5", 0.15, 1),
    Case("x[2:6] = 0.0", 0.2, 1),
    Case("x[3] += 1.0", 1.2, 4),
    Case("x[1:] - x[:-1]", 0.8, 3),
    Case("x + y", 0.25, 1),
    Case("x * 2.0", 0.25, 2),
    Case("x += y", 0.25, 1),
    Case("-x", 0.25, 1),
    Case("x > 0.5", 0.45, 2),
    Case("x > y", 0.45, 1),
    Case("nd.exp(x)", 0.35, 2),
    Case("nd.maximum(x, y)", 0.35, 2),
    Case("nd.maximum(x, 0.0)", 0.5, 3),
    Case("x.sum()", 0.6, 3),
    Case("A.max(axis=0)", 0.6, 3),
    Case("A.mean(axis=0)", 0.6, 3),
    Case("A.argmax(axis=1)", 1.0, 6),
    Case("nd.dot(A, x)", 0.6, 3),
    Case("nd.where(x > 0.5, x, y)", 1.2, 8),
    Case("nd.clip(x, 0.0, 1.0)", 0.6, 7),
    Case("nd.concat(x, y, dim=0)", 0.7, 5, "numpy.concatenate([x, y])"),
    Case("nd.stack(x, y)", 0.7, 5, "numpy.stack([x, y])"),
    Case("nd.softmax(x)", 1.0, 11, "numpy.exp(x - x.max())"),
    Case("nd.relu(x)", 0.5, 3, "numpy.maximum(x, 0)"),
    Case("x.reshape((4, 5))", 0.3, 1),
    Case("A.T", 0.5, 2, "A.T.copy()"),
    Case("A.flatten()", 0.8, 7, "A.copy()"),
    Case("x.copy()", 0.3, 2),
    Case("x.astype('float32')", 0.35, 5),
    Case("x.astype('int32')", 1.0, 9),
    Case("nd.zeros((3, 4))", 0.35, 2),
    Case("nd.ones((3, 4))", 0.35, 2),
    Case("nd.arange(10)", 0.5, 2, "numpy.arange(10, dtype='float32')"),
    Case("nd.array([1.0, 2.0])", 0.5, 2, "numpy.array([1.0, 2.0], 'float32')"),
    Case("nd.random.uniform(shape=(3,))", 6.0, 64, "numpy.random.uniform(size=3)"),
    Case("for k in x: pass", 7.0, 24),
    Case("float(x[5])", 0.6, 4),
    Case("x.asnumpy()", 0.15, 2, "x.copy()"),
)
#: Seconds of all operations together may be this many times NumPy's: the geometric mean of the ratios.
TARGET = 2.5
ND_TARGET = 4.0


def names(module: Any, dtype: str) -> dict[str, Any]:
    """The arrays that the statements name, made by NumPy or by a module in its place."""
    draw = numpy.random.default_rng(0)
    square = draw.random((3, 3))
    values = {
        "x": draw.random(20),
        "y": draw.random(20),
        "A": draw.random((10, 20)),
        "B": draw.random((1000, 1000)),
        "S": square + square.T + 3 * numpy.eye(3),
    }
    arrays = {name: module.array(a, dtype=dtype) for name, a in values.items()}
    arrays["I"] = module.array([1, 2, 3], dtype="int64")
    generators = {} if module is nd else {"rng": module.random.default_rng(0)}
    return {"np": module, "nd": module, "numpy": numpy} | arrays | generators


def statement(text: str, module: Any, dtype: str) -> Callable[[], Any]:
    """A function that runs a statement; what the statement assigns is its own."""
    env = names(module, dtype)
    exec(f"def function(x=x):\n    {text}", env)
    return env["function"]


def rows_of(cases: Sequence[Case], module: Any, dtype: str, target: float, size: Size) -> Iterator[Row]:
    """The rows of a module's cases, as they are measured."""
    ratios, prefix = [], "nd: " if module is nd else ""
    for case in cases:
        functions = [statement(case.numpys or case.text, numpy, dtype), statement(case.text, module, dtype)]
        reference, own = medians(functions, size.repetitions, 20 * size.calls)
        ratios.append(own / reference)
        yield Row(f"{prefix}{case.text}: over NumPy", (own - reference) * 1e6, "µs", case.over)
        yield count(f"{prefix}{case.text}: Python frames", frames(functions[1]), "", case.frames)
    yield ratio(f"{prefix}all of them / NumPy, geometric mean", geometric_mean(ratios), 1.0, target)


SECTIONS = (partial(rows_of, CASES, np, "float64", TARGET), partial(rows_of, ND_CASES, nd, "float32", ND_TARGET))
main = partial(run, sections=SECTIONS, description="Time single operations on small arrays, of Twofold and of NumPy.")

if __name__ == "__main__":
    if MACHINE_CODE is not None:
        MACHINE_CODE.install()
    sys.exit(main())
