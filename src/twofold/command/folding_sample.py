"""The gain from folding: one formula on large arrays by plain NumPy, and by Twofold in one pass over memory."""

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
#: Operations of the formula. Each writes an array; all but its last result are temporary.
OPERATIONS = 5


def formula(xp: Any, x: Any) -> Any:
    """`FORMULA`, by a library of arrays."""
    return xp.sqrt(x * x + 0.25) * 2.0 - 1.0


@dataclass(frozen=True)
class Saving:
    """The cost of a formula in NumPy and in Twofold.

    Attributes
    ----------
    plain, fused
        Seconds of the fastest of some runs, by NumPy and by Twofold.
    temporaries
        Bytes of the arrays between NumPy's operations.
    steps
        The steps of Twofold's program.
    is_equal
        Whether both gave the same bits.
    """

    plain: float
    fused: float
    temporaries: int
    steps: tuple[str, ...]
    is_equal: bool


def saving() -> Saving:
    """Compute the formula in both ways."""
    x = np.random.RandomState(0).random_sample(ELEMENTS)
    array = folded.array(x)
    plain = _fastest(lambda: formula(np, x))
    fused = _fastest(lambda: formula(folded, array).wait_to_read())
    with explain() as report:
        result = formula(folded, array).asnumpy()
    steps = tuple(step for flush in report.flushes for step in flush.steps)
    return Saving(plain, fused, (OPERATIONS - 1) * x.nbytes, steps, np.array_equal(result, formula(np, x)))


def _fastest(run: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = perf_counter()
        run()
        seconds.append(perf_counter() - start)
    return min(seconds)
