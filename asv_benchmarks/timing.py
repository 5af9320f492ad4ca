"""Measures functions side by side in one process: medians of interleaved repetitions, and frames counted, which do not vary."""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any


def medians(functions: Sequence[Callable[[], Any]], repetitions: int, calls: int) -> list[float]:
    """Seconds of CPU time per call of each function: what other programs do meanwhile is not in them.

    Parameters
    ----------
    functions
        What to measure. They take turns, so that what the machine does meanwhile falls on all of them alike.
    repetitions
        How many turns each has; the median is taken.
    calls
        Calls in one turn.
    """
    for function in functions:  # what is compiled at the first and second use is no part of a step
        for _ in range(3):
            function()
    seconds: list[list[float]] = [[] for _ in functions]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repetitions):
            for function, times in zip(functions, seconds, strict=True):
                times.append(_turn(function, calls))
    finally:
        if enabled:
            gc.enable()
    return [median(times) for times in seconds]


def _turn(function: Callable[[], Any], calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls


def frames(function: Callable[[], Any]) -> int:
    """How many Python functions a call enters, itself not counted."""
    entered = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered - 1
