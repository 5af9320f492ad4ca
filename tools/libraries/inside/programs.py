"""Trains on generated data until a loss is reached: what the programs beside this module share."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from answers import answer_lines


def answer_with(train: Callable[[str], tuple[float, float]]) -> None:
    """Answer a library's version with the loss that its program ends with, the one to be reached, and the seconds."""

    def answer(version: str) -> dict[str, Any]:
        import mxnet as mx  # not before the library, which may have to come first

        np.random.seed(5)  # noqa: NPY002  (libraries draw from it)
        mx.random.seed(5)
        begin, cpu = time.perf_counter(), time.process_time()
        loss, goal = train(version)
        return {
            "loss": float(loss),
            "goal": goal,
            "reached": bool(loss <= goal),
            "seconds": time.perf_counter() - begin,
            "cpu": time.process_time() - cpu,
        }

    warnings.simplefilter("ignore")
    answer_lines(answer)
