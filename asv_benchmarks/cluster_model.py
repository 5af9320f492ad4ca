"""Compares the cost model with sums of 2, 3 and 4 processes of this machine, over its loopback interface.

Run it by hand, on a quiet machine::

    OMPI_MCA_btl=self,tcp python -m twofold launch -n 4 asv_benchmarks/cluster_model.py

In each round two figures are fitted for both ways to sum, by MPI and by a server, from two processes: the latency, from the smallest
array, and the bandwidth of a core, from the largest. What three and four processes take is then predicted, and compared with what the same
round measures. The medians over all rounds are printed. Processes that are not measured sleep.
"""

import os
from collections.abc import Callable
from time import perf_counter, sleep

import numpy as np
from mpi4py import MPI

from twofold.kvstore.cost_model import Network, seconds

WORLD = MPI.COMM_WORLD
SIZES = (4 << 10, 256 << 10, 1 << 20, 4 << 20)
#: From this size Open MPI sums with a ring; it sums small arrays by recursive doubling.
LARGE = 10 << 10
ROUNDS = 60
CORES = os.cpu_count() or 1


def timed(group: MPI.Comm, action: Callable[[], object], count: int) -> float:
    """Seconds that an action of all processes of a group takes, the slowest process's."""
    group.Barrier()
    start = perf_counter()
    for _ in range(count):
        action()
    return group.allreduce((perf_counter() - start) / count, op=MPI.MAX)


def meet() -> None:
    """Wait for all processes without the processor: MPI's barrier polls, which would take a core from those that are measured."""
    request = WORLD.Ibarrier()
    while not request.Test():
        sleep(0.002)


def by_server(group: MPI.Comm, array: np.ndarray, buffers: list[np.ndarray]) -> None:
    """A sum by the last process of a group, which computes nothing else."""
    server = group.size - 1
    if group.rank < server:
        group.Sendrecv(array, server, recvbuf=buffers[0], source=server)
        return
    requests = [group.Irecv(buffer, source) for source, buffer in enumerate(buffers[:server])]
    MPI.Request.Waitall(requests)
    total = buffers[0]
    for other in buffers[1:server]:
        total += other
    MPI.Request.Waitall([group.Isend(total, source) for source in range(server)])


def measured() -> list[dict[tuple[str, int, int], float]]:
    """In each round the seconds of each algorithm, number of workers and size, among those in which this process takes part."""
    groups = {n: WORLD.Split(0 if n > WORLD.rank else MPI.UNDEFINED, WORLD.rank) for n in (2, 3, 4) if n <= WORLD.size}
    rounds: list[dict[tuple[str, int, int], float]] = []
    for _ in range(ROUNDS):
        times: dict[tuple[str, int, int], float] = {}
        for n, group in groups.items():
            meet()
            if group == MPI.COMM_NULL:
                continue
            for nbytes in SIZES:
                array, count = np.ones(nbytes // 4, np.float32), 50 if nbytes < LARGE else 4
                buffers = [np.empty_like(array) for _ in range(n)]
                times["sum", n, nbytes] = timed(group, lambda group=group, array=array: group.Allreduce(MPI.IN_PLACE, array), count)
                served = timed(group, lambda group=group, array=array, buffers=buffers: by_server(group, array, buffers), count)
                times["server", n - 1, nbytes] = served
        rounds.append(times)
    return rounds


def algorithm_of(name: str, nbytes: int) -> str:
    """What the cost model calls it."""
    return "servers" if name == "server" else "ring" if nbytes > LARGE else "recursive doubling"


def calibrated(name: str, times: dict[tuple[str, int, int], float]) -> Network:
    """The network on which two processes take these times."""
    workers, servers = (1, 1) if name == "server" else (2, 0)
    small, large = (times[name, workers, nbytes] for nbytes in (SIZES[0], SIZES[-1]))
    messages = seconds(algorithm_of(name, SIZES[0]), workers, 0, Network("", 1.0, 1.0, CORES), servers)
    waits = seconds(algorithm_of(name, SIZES[-1]), workers, 0, Network("", 1.0, 1.0, CORES), servers)
    carried = seconds(algorithm_of(name, SIZES[-1]), workers, 1, Network("", 0.0, 1.0, CORES), servers)
    latency = small / messages
    return Network("loopback", latency, carried * SIZES[-1] / (large - waits * latency), CORES)


def main() -> None:
    """Print the table on process 0, which takes part in everything."""
    if WORLD.size < 2:
        raise SystemExit(__doc__)
    rounds = measured()
    if WORLD.rank:
        return
    print(f"{CORES} cores, load {os.getloadavg()[0]:.1f}; medians")
    print("way        workers       bytes  measured ms  predicted ms  ratio")
    for way in ("sum", "server"):
        networks = [calibrated(way, times) for times in rounds]
        a, b = (np.median(figures) for figures in zip(*[n[1:3] for n in networks], strict=True))
        print(f"{way}: a = {a * 1e6:.0f} us, B = {b / 1e9:.1f} GB/s")
        for name, n, nbytes in rounds[0]:
            if name != way:
                continue
            predicted = np.array([seconds(algorithm_of(name, nbytes), n, nbytes, network, int(name == "server")) for network in networks])
            found = np.array([times[name, n, nbytes] for times in rounds])
            ratio = np.median(found / predicted)
            print(f"{name:9} {n:8} {nbytes:11,} {np.median(found) * 1e3:12.3f} {np.median(predicted) * 1e3:13.3f} {ratio:6.2f}")


if __name__ == "__main__":
    main()
