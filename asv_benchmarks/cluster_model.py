"""Compares the cost model with sums of 2 to 8 processes of this machine.

Run it by hand, on a quiet machine, or before all other programs (as root, in real time)::

    chrt -f 1 python -m twofold launch -n 8 asv_benchmarks/cluster_model.py

Each worker has 24 MB of gradients, and sums them in messages of one size, by MPI or by a server. Two workers give the costs of both ways:
the seconds of a message, from a small array, and those of a byte, for each size. What more workers take is then predicted and compared.
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

import numpy as np
from mpi4py import MPI

from twofold.kvstore.cluster_forecast import WAYS, ClusterCosts
from twofold.kvstore.cost_model import Network, seconds

FIGURES = Path(__file__).parents[1] / "docs" / "how-to" / "cluster-size.json"
WORLD = MPI.COMM_WORLD
GRADIENTS = 24 << 20
SMALL, SIZES = 4 << 10, (256 << 10, 1 << 20, 4 << 20)
#: Numbers of processes. Those by a server have one more, which is the server.
WORKERS = {"sum": (2, 3, 4, 6, 8), "server": (2, 3, 4, 6)}
ROUNDS = 12
#: Seconds between two groups of processes in which other programs have the cores. Linux takes them from programs in real time otherwise.
PAUSE = 0.4
#: A network that takes no time: all processes are on one machine.
NOTHING = Network("none", 0.0, float("inf"))
CORES = os.cpu_count() or 1
Times = dict[tuple[str, int, int], float]


def meet() -> None:
    """Wait for all processes without the processor: MPI's barrier polls, which would take a core from those that are measured."""
    request = WORLD.Ibarrier()
    while not request.Test():
        sleep(0.002)


def by_server(group: MPI.Comm, array: np.ndarray, out: np.ndarray, buffers: Sequence[np.ndarray]) -> None:
    """A sum by the last process of a group, which computes nothing else."""
    server = group.size - 1
    if group.rank < server:
        group.Sendrecv(array, server, recvbuf=out, source=server)
        return
    total, *others = [buffer[: array.size] for buffer in buffers[:server]]
    MPI.Request.Waitall([group.Irecv(buffer, source) for source, buffer in enumerate([total, *others])])
    for other in others:
        total += other
    MPI.Request.Waitall([group.Isend(total, source) for source in range(server)])


def timed(group: MPI.Comm, way: str, nbytes: int, arrays: Sequence[np.ndarray]) -> float:
    """Seconds of one message, on average over those of all gradients; the slowest process's."""
    gradients, sums, *buffers = arrays
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
    arrays = [np.ones(GRADIENTS // 4, np.float32) for _ in range(2)] + [np.empty(max(SIZES) // 4, np.float32) for _ in range(6)]
    rounds: list[Times] = []
    for _ in range(ROUNDS):
        times: Times = {}
        for (way, n), group in groups.items():
            sleep(PAUSE)
            meet()
            if group != MPI.COMM_NULL:
                times |= {(way, n, nbytes): timed(group, way, nbytes, arrays) for nbytes in (SMALL, *SIZES)}
        rounds.append(times)
    return rounds[1:]  # the first allocates


def costs(way: str, latency: float, per_byte: float) -> ClusterCosts:
    """A machine where a message of either way takes so many seconds, and so many more for each byte that a core handles."""
    if way == "sum":
        return ClusterCosts(NOTHING, per_machine=max(WORKERS[way]), inside=Network("memory", latency, 1 / per_byte, CORES))
    return ClusterCosts(NOTHING, server_message=latency, server_byte=per_byte)


def predicted(way: str, workers: int, nbytes: int, latency: float, per_byte: float) -> float:
    """The forecast's seconds of a message. Open MPI sums large arrays by a ring, and small ones by recursive doubling."""
    if way == "server":
        return WAYS["servers"].of_bucket(nbytes, workers, 1, costs(way, latency, per_byte))
    if nbytes > SMALL:
        return WAYS["ring"].of_bucket(nbytes, workers, 0, costs(way, latency, per_byte))
    return seconds("recursive doubling", workers, nbytes, costs(way, latency, per_byte).inside)


def calibrated(way: str, times: Times) -> tuple[float, dict[int, float]]:
    """The seconds of a message, and for each size those of a byte, with which two workers take these times."""
    latency = times[way, 2, SMALL] / predicted(way, 2, SMALL, 1.0, 1e-30)
    carried = {nbytes: times[way, 2, nbytes] - predicted(way, 2, nbytes, latency, 1e-30) for nbytes in SIZES}
    return latency, {nbytes: time / predicted(way, 2, nbytes, 0.0, 1.0) for nbytes, time in carried.items()}


def compared(rounds: list[Times]) -> dict[str, object]:
    """The figures of the page: what was fitted, and for each cell the milliseconds that were measured, medians, and predicted."""
    times = {cell: median(found[cell] for found in rounds) for cell in rounds[0]}
    fitted = {way: calibrated(way, times) for way in WORKERS if (way, 2, SMALL) in times}
    cells: list[dict[str, object]] = []
    for (way, n, nbytes), time in times.items():
        if nbytes > SMALL and n > 2:
            expected = predicted(way, n, nbytes, fitted[way][0], fitted[way][1][nbytes])
            cells.append(
                {"way": way, "workers": n, "bytes": nbytes, "measured": round(time * 1e3, 4), "predicted": round(expected * 1e3, 4)}
            )
    shown = {
        way: {"message": round(latency, 8), "byte": {str(nbytes): float(f"{time:.4g}") for nbytes, time in per_byte.items()}}
        for way, (latency, per_byte) in fitted.items()
    }
    about = {"day": datetime.now(UTC).strftime("%Y-%m-%d"), "cores": CORES, "load": round(os.getloadavg()[0], 1), "rounds": len(rounds)}
    return {**about, "fitted": shown, "cells": cells}


def main() -> None:
    """Print the table on process 0, which takes part in everything."""
    if WORLD.size < 2:
        raise SystemExit(__doc__)
    rounds = measured()
    if WORLD.rank:
        return
    found = compared(rounds)
    print(json.dumps({name: value for name, value in found.items() if name != "cells"}))
    print("way     workers      bytes  measured ms  predicted ms  ratio")
    for cell in found["cells"]:
        ratio = cell["measured"] / cell["predicted"]
        print(f"{cell['way']:7} {cell['workers']:7} {cell['bytes']:10,} {cell['measured']:12.3f} {cell['predicted']:13.3f} {ratio:6.2f}")
    if "--write" in sys.argv[1:]:
        kept = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
        FIGURES.write_text(json.dumps({**kept, "memory": [*kept.get("memory", []), found]}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
