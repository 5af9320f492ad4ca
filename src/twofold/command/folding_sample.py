"""The gain from folding: one formula on large arrays by plain NumPy, and by Twofold in one pass over memory."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from .. import numpy as folded
from ..profiler.explanation import explain

#: Elements of the array: more than caches hold.
ELEMENTS = 1 << 22
#: Enough for the kernel to be compiled, which begins when a formula occurs again.
REPEATS = 12
FORMULA = "np.sqrt(x * x + 0.25) * 2.0 - 1.0"
#: Operations of the formula, each a pass over memory in NumPy.
OPERATIONS = 5


def formula(xp: Any, x: Any) -> Any:
    """`FORMULA`, by a library of arrays."""
    return xp.sqrt(x * x + 0.25) * 2.0 - 1.0


@dataclass(frozen=True)
class Cost:
    """The cost of a formula by one library.

    Attributes
    ----------
    seconds
        Those of the fastest of some runs.
    temporaries
        The most bytes in use during a run, beside the operand and the result.
    """

    seconds: float
    temporaries: int


@dataclass(frozen=True)
class Saving:
    """The costs of a formula in NumPy and in Twofold.

    Attributes
    ----------
    plain, fused
        Those by NumPy and by Twofold.
    steps
        The steps of Twofold's program.
    is_equal
        Whether both gave the same bits.
    """

    plain: Cost
    fused: Cost
    steps: tuple[str, ...]
    is_equal: bool


def saving() -> Saving:
    """Compute the formula in both ways."""
    x = np.random.RandomState(0).random_sample(ELEMENTS)
    array = folded.array(x)
    plain = _cost(lambda: formula(np, x))
    fused = _cost(lambda: _computed(formula(folded, array)))
    with explain() as report:
        result = formula(folded, array).asnumpy()
    steps = tuple(step for flush in report.flushes for step in flush.steps)
    return Saving(plain, fused, steps, np.array_equal(result, formula(np, x)))


def _computed(array: folded.ndarray) -> folded.ndarray:
    array.wait_to_read()
    return array


def _cost(run: Callable[[], np.ndarray | folded.ndarray]) -> Cost:
    seconds = []
    for _ in range(REPEATS):
        start = perf_counter()
        run()
        seconds.append(perf_counter() - start)
    return Cost(min(seconds), _temporaries(run))


def _temporaries(run: Callable[[], np.ndarray | folded.ndarray]) -> int:
    kept = run()  # memory that its result holds cannot be used again for the next one
    tracemalloc.start()
    try:
        result = run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.nbytes == kept.nbytes
    return max(peak - result.nbytes, 0)
