"""Counts quantities that do not vary between runs: programs compiled, scratch memory, memory that stays allocated."""

import gc
import os
import statistics
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from twofold.program.compile import Program


@contextmanager
def programs() -> Iterator[list[Program]]:
    """List the programs compiled within the context, in order."""
    compiled: list[Program] = []
    construct = Program.__init__

    def counted(self: Program, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        compiled.append(self)

    Program.__init__ = counted  # type: ignore[method-assign]
    try:
        yield compiled
    finally:
        Program.__init__ = construct  # type: ignore[method-assign]


def buffer_bytes(program: Program) -> int:
    """Bytes of a program's scratch memory."""
    return sum(size for size, _ in program.plan.buffers)


def allocated_per_step(step: Callable[[], Any], steps: int) -> float:
    """Bytes that stay allocated per step, as `tracemalloc` counts them: the median of five runs.

    A leak shows in every run; one-time allocations, such as a kernel compiled at its thousandth use, in one of them.

    Parameters
    ----------
    step
        The step, which must have reached a steady state.
    steps
        Number of steps; a multiple of 5.
    """
    sizes = []
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        step()  # the first traced step allocates more, before the baseline is taken
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
        for _ in range(5):
            for _ in range(steps // 5):
                step()
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        if not tracing:
            tracemalloc.stop()
    return statistics.median(after - before for before, after in pairwise(sizes)) / (steps // 5)


def resident_per_step(step: Callable[[], Any], steps: int) -> float:
    """Growth of the resident memory per step, from the end of the first quarter on, because allocators round up.

    Parameters
    ----------
    step
        The step, which must have reached a steady state.
    steps
        Number of steps; a multiple of 4.
    """
    sizes = []
    for _ in range(4):
        for _ in range(steps // 4):
            step()
        gc.collect()
        sizes.append(_resident())
    return (sizes[-1] - sizes[0]) / (steps * 3 / 4)


def _resident() -> int:
    """Bytes of resident memory (0 if the system does not report it)."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
