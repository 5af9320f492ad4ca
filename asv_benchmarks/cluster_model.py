"""Compares the cost model with sums of 2 to 8 processes of this machine.

Run it by hand, on a quiet machine, or before all other programs (as root, in real time)::

    chrt -f 1 python -m twofold launch -n 8 asv_benchmarks/cluster_model.py

Each worker has 24 MB of gradients, and sums them in messages of one size, by MPI or by a server. Two workers give the costs of both ways:
the seconds of a message, from a small array, and those of a byte, for each size. What more workers take is then predicted and compared.

Whole training steps are compared too, those of two workers among them: a device computes the gradients while the processor is idle, here
one that sleeps; each bucket of a store is summed by MPI as soon as it is there, or all of them by a server after the last; and the weights
are updated, by each worker or by the server.

``--write`` adds the result to ``docs/how-to/cluster-size.json``, of which a page shows the medians. Processes that are not measured sleep.
"""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from twofold.kvstore.buckets import MOST, bucket_sizes
from twofold.kvstore.cluster_forecast import WAYS, ClusterCosts, Stragglers, TrainingJob, forecast
from twofold.kvstore.cost_model import FORWARD, Network, TrainingStep, seconds
from twofold.kvstore.job_failures import Failures

FIGURES = Path(__file__).parents[1] / "docs" / "how-to" / "cluster-size.json"
WORLD = MPI.COMM_WORLD
GRADIENTS = 24 << 20
SMALL, SIZES = 4 << 10, (256 << 10, 1 << 20, 4 << 20)
#: Numbers of processes. Those by a server have one more, which is the server.
WORKERS = {"sum": (2, 3, 4, 6, 8), "server": (2, 3, 4, 6)}
ROUNDS = 12
#: Seconds in which a device computes a step, and steps that are timed in each round.
COMPUTING, STEPS = 0.03, 3
#: Seconds between two groups of processes in which other programs have the cores. Linux takes them from programs in real time otherwise.
PAUSE = 0.4
NEVER, NO_FAILURES = Stragglers(0, 1), Failures(0)
#: A network that takes no time: all processes are on one machine.
NOTHING = Network("none", 0.0, float("inf"))
CORES = os.cpu_count() or 1
#: Seconds by way, number of workers, and bytes of a message; `STEP` for a whole step, `UPDATE` for its update alone.
Times = dict[tuple[str, int, int], float]
STEP, UPDATE = -1, -2
RATE = np.float32(0.1)


def meet() -> None:
    """Wait for all processes without the processor: MPI's barrier polls, which would take a core from those that are measured."""
    request = WORLD.Ibarrier()
    while not request.Test():
        sleep(0.002)


def by_server(
    group: MPI.Comm, array: np.ndarray, out: np.ndarray, buffers: Sequence[np.ndarray], weights: np.ndarray | None = None
) -> None:
    """A sum by the last process of a group, which computes nothing else. Workers get the sum or, given weights, those after an update."""
    server = group.size - 1
    if group.rank < server:
        group.Sendrecv(array, server, recvbuf=out, source=server)
        return
    total, *others = [buffer[: array.size] for buffer in buffers[:server]]
    MPI.Request.Waitall([group.Irecv(buffer, source) for source, buffer in enumerate([total, *others])])
    for other in others:
        total += other
    if weights is not None:
        update(weights, total)
    MPI.Request.Waitall([group.Isend(total if weights is None else weights, source) for source in range(server)])


def update(weights: np.ndarray, total: np.ndarray) -> None:
    """Plain gradient descent, which overwrites the sum."""
    total *= RATE
    weights -= total


def until(end: float) -> None:
    """Wait without the processor, as for a device that is ready at some time."""
    sleep(max(0.0, end - perf_counter()))


def train_step(group: MPI.Comm, way: str, arrays: Sequence[np.ndarray]) -> None:
    """Compute the gradients, sum them in the buckets of a store, and update the weights."""
    gradients, sums, weights, *buffers = arrays
    computed, filled = perf_counter() + COMPUTING, 0
    for nbytes in bucket_sizes(GRADIENTS):
        part, filled = slice(filled // 4, (filled + nbytes) // 4), filled + nbytes
        if way == "sum":
            until(computed - COMPUTING * (1 - FORWARD) * (1 - filled / GRADIENTS))
            group.Allreduce(gradients[part], sums[part])
        else:
            until(computed)
            by_server(group, gradients[part], sums[part], buffers, weights[part])
    if way == "sum":
        update(weights, sums)


def timed_steps(group: MPI.Comm, way: str, arrays: Sequence[np.ndarray]) -> float:
    """Seconds of a step, on average over some; the slowest process's."""
    group.Barrier()
    begin = perf_counter()
    for _ in range(STEPS):
        train_step(group, way, arrays)
    return group.allreduce((perf_counter() - begin) / STEPS, op=MPI.MAX)


def timed_update(group: MPI.Comm, way: str, arrays: Sequence[np.ndarray]) -> float:
    """Seconds of the update of all weights; by a server, those of its buckets."""
    _, sums, weights, *buffers = arrays
    buffers[0].fill(1)  # updates made small what it held
    group.Barrier()
    begin = perf_counter()
    if way == "sum":
        update(weights, sums)
    elif group.rank == group.size - 1:
        for start in range(0, weights.size, MOST // 4):
            part = weights[start : start + MOST // 4]
            update(part, buffers[0][: part.size])
    return group.allreduce(perf_counter() - begin, op=MPI.MAX)


def timed(group: MPI.Comm, way: str, nbytes: int, arrays: Sequence[np.ndarray]) -> float:
    """Seconds of one message, on average over those of all gradients; the slowest process's."""
    gradients, sums, _, *buffers = arrays
    size = nbytes // 4
    starts = range(0, gradients.size if nbytes > SMALL else 50 * size, size)
    group.Barrier()
    begin = perf_counter()
    for start in starts:
        array, out = gradients[start : start + size], sums[start : start + size]
        if way == "sum":
            group.Allreduce(array, out)
        else:
            by_server(group, array, out, buffers)
    return group.allreduce((perf_counter() - begin) / len(starts), op=MPI.MAX)


def measured() -> list[Times]:
    """In each round the seconds of each way, number of workers and size, among those in which this process takes part."""
    groups: dict[tuple[str, int], MPI.Comm] = {}
    for way, numbers in WORKERS.items():
        for n in numbers:
            count = n + (way == "server")
            if count <= WORLD.size:
                groups[way, n] = WORLD.Split(0 if count > WORLD.rank else MPI.UNDEFINED, WORLD.rank)
    arrays = [np.ones(GRADIENTS // 4, np.float32) for _ in range(3)] + [np.ones(max(SIZES) // 4, np.float32) for _ in range(6)]
    rounds: list[Times] = []
    for _ in range(ROUNDS):
        times: Times = {}
        for (way, n), group in groups.items():
            sleep(PAUSE)
            meet()
            if group != MPI.COMM_NULL:
                times |= {(way, n, nbytes): timed(group, way, nbytes, arrays) for nbytes in (SMALL, *SIZES)}
                times |= {(way, n, STEP): timed_steps(group, way, arrays), (way, n, UPDATE): timed_update(group, way, arrays)}
        rounds.append(times)
    return rounds[1:]  # the first allocates


class Fit(NamedTuple):
    """What a way to sum costs on this machine.

    Attributes
    ----------
    message
        Seconds of a message.
    byte
        Seconds of each byte that a core handles. They depend on the bytes that are handled at once, which caches hold or do not hold.
    """

    message: float
    byte: dict[int, float]

    def costs(self, way: str, workers: int, nbytes: int) -> ClusterCosts:
        """The costs for messages of some bytes, of which Open MPI's ring sends each worker's part at a time."""
        at_once = nbytes // workers if way == "sum" else nbytes
        per_byte = float(np.interp(np.log(at_once), np.log([*self.byte]), [*self.byte.values()]))
        if way == "sum":
            inside = Network("memory", self.message, 1 / per_byte, CORES)
            return ClusterCosts(NOTHING, per_machine=max(WORKERS[way]), inside=inside, stragglers=NEVER, failures=NO_FAILURES)
        return ClusterCosts(NOTHING, server_message=self.message, server_byte=per_byte, stragglers=NEVER, failures=NO_FAILURES)


def predicted(way: str, workers: int, nbytes: int, fit: Fit) -> float:
    """The forecast's seconds of a message. Open MPI sums large arrays by a ring, and small ones by recursive doubling."""
    costs = fit.costs(way, workers, nbytes)
    if way == "server":
        return WAYS["servers"].of_bucket(nbytes, workers, 1, costs)
    return (
        WAYS["ring"].of_bucket(nbytes, workers, 0, costs)
        if nbytes > SMALL
        else seconds("recursive doubling", workers, nbytes, costs.inside)
    )


def predicted_step(way: str, workers: int, fit: Fit, updating: float) -> float:
    """The forecast's seconds of a step, and its update: of a server, or of each worker, which share the cores."""
    job = TrainingJob(TrainingStep(GRADIENTS, COMPUTING))
    name, servers, shared = ("ring", 0, max(1.0, workers / CORES)) if way == "sum" else ("servers", 1, 1.0)
    return forecast(job, name, workers, fit.costs(way, workers, MOST), servers).step + updating * shared


def calibrated(way: str, times: Times) -> Fit:
    """The costs with which two workers take these times."""
    parts = 2 if way == "sum" else 1
    message = times[way, 2, SMALL] / predicted(way, 2, SMALL, Fit(1.0, {1: 1e-30}))
    carried = {nbytes: times[way, 2, nbytes] - predicted(way, 2, nbytes, Fit(message, {1: 1e-30})) for nbytes in SIZES}
    return Fit(message, {nbytes // parts: time / predicted(way, 2, nbytes, Fit(0.0, {1: 1.0})) for nbytes, time in carried.items()})


def compared(rounds: list[Times]) -> dict[str, object]:
    """The figures of the page: what was fitted, and for each cell the milliseconds that were measured, medians, and predicted."""
    times = {cell: median(found[cell] for found in rounds) for cell in rounds[0]}
    fitted = {way: calibrated(way, times) for way in WORKERS if (way, 2, SMALL) in times}
    cells: list[dict[str, object]] = []
    steps: list[dict[str, object]] = []
    for (way, n, nbytes), time in times.items():
        if nbytes == STEP:
            expected = predicted_step(way, n, fitted[way], times[way, 2, UPDATE])
            steps.append({"way": way, "workers": n, "measured": round(time * 1e3, 3), "predicted": round(expected * 1e3, 3)})
        if nbytes > SMALL and n > 2:
            expected = predicted(way, n, nbytes, fitted[way])
            cells.append(
                {"way": way, "workers": n, "bytes": nbytes, "measured": round(time * 1e3, 4), "predicted": round(expected * 1e3, 4)}
            )
    shown = {
        way: {"message": round(fit.message, 8), "byte": {str(nbytes): float(f"{time:.4g}") for nbytes, time in fit.byte.items()}}
        for way, fit in fitted.items()
    }
    about = {"day": datetime.now(UTC).strftime("%Y-%m-%d"), "cores": CORES, "load": round(os.getloadavg()[0], 1), "rounds": len(rounds)}
    about["updating"] = {way: round(times[way, 2, UPDATE], 5) for way in fitted}
    return {**about, "fitted": shown, "cells": cells, "steps": steps}


def main() -> None:
    """Print the table on process 0, which takes part in everything."""
    if WORLD.size < 2:
        raise SystemExit(__doc__)
    rounds = measured()
    if WORLD.rank:
        return
    found = compared(rounds)
    print(json.dumps({name: value for name, value in found.items() if name not in ("cells", "steps")}))
    print("way     workers      bytes  measured ms  predicted ms  ratio")
    for cell in found["cells"]:
        ratio = cell["measured"] / cell["predicted"]
        print(f"{cell['way']:7} {cell['workers']:7} {cell['bytes']:10,} {cell['measured']:12.3f} {cell['predicted']:13.3f} {ratio:6.2f}")
    for cell in found["steps"]:
        ratio = cell["measured"] / cell["predicted"]
        print(f"{cell['way']:7} {cell['workers']:7}       step {cell['measured']:12.3f} {cell['predicted']:13.3f} {ratio:6.2f}")
    if "--write" in sys.argv[1:]:
        kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
        FIGURES.write_text(json.dumps({**kept, "memory": [*kept.get("memory", []), found]}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
