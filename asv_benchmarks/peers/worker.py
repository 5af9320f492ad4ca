"""A process that runs items in one library: it reads commands as lines of JSON, and answers each with one line of JSON.

Run as ``python -m asv_benchmarks.peers.worker LIBRARY`` in the repository's root. The library's output is redirected to standard error.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from asv_benchmarks.peers import inputs
from asv_benchmarks.workers import memory

if TYPE_CHECKING:
    from asv_benchmarks.peers.case import Case

#: Calls before the result is compared, so that programs compiled at the second use are compiled.
CHECKED = 3
#: Calls before launches are counted, so that graphs are captured and have reached a steady state.
SETTLED = 8
#: Maximum number of elements of a result to compare; larger results are sampled.
COMPARED = 1_000_000


class Worker:
    """Executes commands; each method implements the command of its name.

    Parameters
    ----------
    library
        Name of the module with the library's cases.
    """

    def __init__(self, library: str) -> None:
        self.module = importlib.import_module(library)
        self.cases: dict[str, Case] = {}

    def hello(self) -> dict[str, Any]:
        """Describe the library, and list its variants of each workload."""
        ways = {work: list(ways) for work, ways in self.module.CASES.items()}
        return {"about": self.module.about(), "ways": ways}

    def prepare(self, work: str, size: int, way: str) -> dict[str, Any]:
        """Create the arrays of an item without computing anything."""
        self.cases[way] = self.module.CASES[work][way](inputs.drawn(work, size))
        return {}

    def compute(self, way: str, file: str) -> dict[str, Any]:
        """Run `CHECKED` calls, store a sample of the results, and return the durations of the first and the last call."""
        case, seconds = self.cases[way], []
        for _ in range(CHECKED):
            start = time.perf_counter()
            case.call()
            case.wait()
            seconds.append(time.perf_counter() - start)
        np.savez(file, *[sample(np.asarray(a)) for a in case.result()])
        return {"first": seconds[0], "last": seconds[-1]}

    def filling(self, way: str, turn: float) -> dict[str, Any]:
        """The number of calls that fill a turn of the given duration."""
        calls, seconds = 1, 0.0
        while seconds < turn / 4:
            calls *= 4
            start = time.perf_counter()
            for _ in range(calls):
                self.cases[way].call()
            self.cases[way].wait()
            seconds = time.perf_counter() - start
        return {"calls": max(1, round(calls * turn / seconds))}

    def timed(self, way: str, calls: int, warm: int) -> dict[str, Any]:
        """Wall time and CPU time of one operation in seconds, averaged over the calls."""
        case = self.cases[way]
        gc.collect()
        gc.disable()
        try:
            for _ in range(warm):
                case.call()
            case.wait()
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                case.call()
            case.wait()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        finally:
            gc.enable()
        return {"wall": wall / calls / case.operations, "cpu": cpu / calls / case.operations}

    def memory(self, way: str) -> dict[str, Any]:
        """Growth of the peak resident memory in `CHECKED` calls, in bytes."""
        gc.collect()
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # reset the peak: proc(5)
        before = memory("VmRSS")
        for _ in range(CHECKED):
            self.cases[way].call()
        return {"bytes": memory("VmHWM") - before}

    def drop(self) -> dict[str, Any]:
        """Drop all items; libraries on a device release their memory."""
        self.cases.clear()
        gc.collect()
        if "release" in vars(self.module):
            self.module.release()
        return {}

    def counting(self) -> dict[str, Any]:
        """Start counting launches on a device, before anything is computed; do not time anything afterwards."""
        self.module.count_launches()
        return {}

    def launches(self, way: str) -> dict[str, Any]:
        """Count the launches of one call, after `SETTLED` calls."""
        for _ in range(SETTLED):
            self.cases[way].call()
        return {"launches": self.module.launches_of(self.cases[way].call)}


def sample(a: np.ndarray) -> np.ndarray:
    """The elements of a result to compare: all of them, or every n-th and the last."""
    flat = a.reshape(-1)
    stride = -(-flat.size // COMPARED)
    return flat if stride <= 1 else np.append(flat[::stride], flat[-1])


def serve(library: str) -> None:
    """Answer commands until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def answer(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=answers, flush=True)

    try:
        worker = Worker(library)
        answer(worker.hello())
    except Exception as error:
        answer({"absent": str(error)})
        return
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer(getattr(worker, command.pop("do"))(**command))
        except Exception as error:
            answer({"failed": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()})


if __name__ == "__main__":
    serve(sys.argv[1])
