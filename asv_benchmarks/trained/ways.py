"""Steps of training by all libraries, whose losses agree, and the memory that they take."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from asv_benchmarks.workers import ORACLE, Worker, many, seconds

from . import LIBRARIES, STEPS
from .inputs import TASKS
from .worker import made

#: Seconds that the steps of one turn take, at least.
LEAST = 0.1


class Remote:
    """Steps of training in another process.

    Parameters
    ----------
    worker
        The process, which has been told what to train.
    steps
        How many make up one turn.
    """

    def __init__(self, worker: Worker, steps: int) -> None:
        self.worker, self.steps = worker, steps

    def seconds(self) -> list[float]:
        """The wall time and the CPU time of a turn."""
        return self.worker.ask(str(self.steps))

    def close(self) -> None:
        """End the process."""
        self.worker.close()


def _process(library: str) -> Worker:
    return Worker.of_library(library, 1, "asv_benchmarks.trained.worker")


def check(library: str, losses: list[list[float]], expected: list[list[float]], tolerance: float) -> None:
    """Raise AssertionError if a library's losses are not those of Twofold."""
    np.testing.assert_allclose(losses, expected, rtol=tolerance, atol=tolerance / 10, err_msg=f"losses of {library} and twofold")


def ways(name: str) -> tuple[dict[str, Callable[[], Any] | Remote], int]:
    """Turns of training a network, by library, and the number of steps in each."""
    ours = made("twofold", name)
    weights, losses = ours.weights(), [ours.step() for _ in range(STEPS)]
    steps = max(1, round(LEAST / seconds(ours.step)[0]))
    found: dict[str, Any] = {"twofold": many(ours.step, steps)}
    for library in ("torch", "torch.compile"):
        net = made(library, name)
        net.take(weights)
        try:
            theirs = [net.step() for _ in range(STEPS)]
        except Exception as error:  # whatever torch's compilers raise
            if library == "torch":
                raise
            print(f"{name}: {library}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        check(library, theirs, losses, TASKS[name].tolerance)
        found[library] = many(net.step, steps)
    if ORACLE.exists():
        worker = _process("mxnet")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "weights.npz"
            np.savez(file, *weights)
            answer = worker.ask(f"train {name} {file}")
        if isinstance(answer, str):
            raise RuntimeError(f"mxnet: {answer}")
        check("mxnet", answer, losses, TASKS[name].tolerance)
        found["mxnet"] = Remote(worker, steps)
    return found, steps


def peaks(name: str) -> dict[str, float]:
    """The memory of training a network in MB, by library, each in a new process."""
    found = {}
    for library in LIBRARIES:
        if library != "mxnet" or ORACLE.exists():
            worker = _process(library)
            answer = worker.ask(f"peak {name}")
            worker.close()
            if not isinstance(answer, str):
                found[library] = answer
    return found
