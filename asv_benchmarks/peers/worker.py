"""A process that does items in one library: it reads commands as lines of JSON, and answers each with one line of JSON.

Run as ``python -m asv_benchmarks.peers.worker LIBRARY`` in the repository's root. What the library prints goes to standard error.
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

if TYPE_CHECKING:
    from asv_benchmarks.peers.case import Case

#: Calls before the result is compared: programs that are compiled at the second use are.
CHECKED = 3
#: Calls before launches are counted: graphs are captured, and what changes in the first runs has changed.
SETTLED = 8
#: Elements of a result that are compared; of larger ones, every n-th and the last.
COMPARED = 1_000_000


class Worker:
    """What a worker can be told to do; each method answers a command of its name.

    Parameters
    ----------
    library
        The name of the module that has the library's cases.
    """

    def __init__(self, library: str) -> None:
        self.module = importlib.import_module(library)
        self.cases: dict[str, Case] = {}

    def hello(self) -> dict[str, Any]:
        """What the library says of itself, and the ways it has for each kind of work."""
        ways = {work: list(ways) for work, ways in self.module.CASES.items()}
        return {"about": self.module.about(), "ways": ways}

    def prepare(self, work: str, size: int, way: str) -> dict[str, Any]:
        """Make the arrays of an item; nothing is computed yet."""
        self.cases[way] = self.module.CASES[work][way](inputs.drawn(work, size))
        return {}

    def compute(self, way: str, file: str) -> dict[str, Any]:
        """Do the work `CHECKED` times, store a sample of the results, and say how many seconds the first and the last call took."""
        case, seconds = self.cases[way], []
        for _ in range(CHECKED):
            start = time.perf_counter()
            case.call()
            case.wait()
            seconds.append(time.perf_counter() - start)
        np.savez(file, *[sample(np.asarray(a)) for a in case.result()])
        return {"first": seconds[0], "last": seconds[-1]}

    def filling(self, way: str, turn: float) -> dict[str, Any]:
        """How many calls fill a turn of so many seconds."""
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
        """Seconds of wall time, and of this process' CPU time, for one operation, over so many calls."""
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
        """Bytes by which three calls raise the largest resident memory above what there is before them."""
        gc.collect()
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")  # forget the peak so far: proc(5)
        before = _status("VmRSS")
        for _ in range(CHECKED):
            self.cases[way].call()
        return {"bytes": _status("VmHWM") - before}

    def drop(self) -> dict[str, Any]:
        """Forget all items; a library on a device gives their memory back."""
        self.cases.clear()
        gc.collect()
        if "release" in vars(self.module):
            self.module.release()
        return {}

    def counting(self) -> dict[str, Any]:
        """Count from now on what is launched on a device. Nothing may have been computed before, and nothing is timed after."""
        self.module.count_launches()
        return {}

    def launches(self, way: str) -> dict[str, Any]:
        """How much one call launches, after so many that programs are captured."""
        for _ in range(SETTLED):
            self.cases[way].call()
        return {"launches": self.module.launches_of(self.cases[way].call)}


def sample(a: np.ndarray) -> np.ndarray:
    """What is compared of a result: a vector of its elements, or of every n-th and the last."""
    flat = a.reshape(-1)
    stride = -(-flat.size // COMPARED)
    return flat if stride <= 1 else np.append(flat[::stride], flat[-1])


def _status(field: str) -> int:
    """Bytes that the system gives for a field of this process' status."""
    with open("/proc/self/status") as f:
        line = next(line for line in f if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


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
