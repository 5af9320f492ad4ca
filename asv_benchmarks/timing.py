"""Times functions side by side in one process with interleaved repetitions, and counts the Python functions they enter."""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any


def medians(functions: Sequence[Callable[[], Any]], repetitions: int, calls: int) -> list[float]:
    """Median CPU time per call of each function, in seconds; CPU time excludes other programs.

    Parameters
    ----------
    functions
        The functions, which take turns so that disturbances affect all of them alike.
    repetitions
        Turns of each function.
    calls
        Calls per turn.
    """
    for function in functions:  # exclude what is compiled at the first and second use
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
    """Count the Python functions that a call enters, excluding the function itself."""
    return len(entered(function))


def entered(function: Callable[[], Any]) -> list[str]:
    """Names of the Python functions that a call enters, excluding the function itself."""
    found: list[str] = []

    def profile(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append(frame.f_code.co_name)

    collects = gc.isenabled()
    gc.disable()  # a collection calls what libraries have registered with it, such as Hypothesis, which times it
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return found[1:]
