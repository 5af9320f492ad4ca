"""Compares the cost model with sums of 2, 3 and 4 processes of this machine, over its loopback interface.

Run it by hand, on a quiet machine::

    OMPI_MCA_btl=self,tcp python -m twofold launch -n 4 asv_benchmarks/cluster_model.py

Two figures are fitted, from sums of two processes: the latency, from the smallest array, and the bandwidth that all processes share, from
the largest. What three and four processes take is then predicted, for sums by MPI and by a server, and printed beside what is measured.
All take turns, and the least of many times is compared: what a sum takes while no other program runs.
"""

import os
from collections.abc import Callable
from time import perf_counter

import numpy as np
from mpi4py import MPI

from twofold.kvstore.cost_model import Network, seconds

WORLD = MPI.COMM_WORLD
SIZES = (4 << 10, 256 << 10, 1 << 20, 4 << 20)
#: From this size Open MPI sums with a ring; it sums small arrays by recursive doubling.
LARGE = 10 << 10
ROUNDS = 60


def timed(group: MPI.Comm, action: Callable[[], object], count: int) -> float:
    """Seconds that an action of all processes of a group takes, the slowest process's."""
    group.Barrier()
    start = perf_counter()
    for _ in range(count):
        action()
    return group.allreduce((perf_counter() - start) / count, op=MPI.MAX)


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


def measured() -> dict[tuple[str, int, int], float]:
    """The least seconds of each algorithm, number of workers and size, among those in which this process takes part."""
    groups = {n: WORLD.Split(0 if n > WORLD.rank else MPI.UNDEFINED, WORLD.rank) for n in (2, 3, 4) if n <= WORLD.size}
    times: dict[tuple[str, int, int], list[float]] = {}
    for _ in range(ROUNDS):
        for n, group in groups.items():
            WORLD.Barrier()
            if group == MPI.COMM_NULL:
                continue
            for nbytes in SIZES:
                array, count = np.ones(nbytes // 4, np.float32), 50 if nbytes < LARGE else 2
                buffers = [np.empty_like(array) for _ in range(n)]
                sums = timed(group, lambda group=group, array=array: group.Allreduce(MPI.IN_PLACE, array), count)
                times.setdefault(("sum", n, nbytes), []).append(sums)
                if n > 2 and nbytes > LARGE:
                    served = timed(group, lambda group=group, array=array, buffers=buffers: by_server(group, array, buffers), count)
                    times.setdefault(("server", n - 1, nbytes), []).append(served)
    return {key: min(values) for key, values in times.items()}


def main() -> None:
    """Print the table on process 0, which takes part in everything."""
    found = measured()
    if WORLD.rank:
        return
    latency = found["sum", 2, SIZES[0]]
    bandwidth = 2 * SIZES[-1] / (found["sum", 2, SIZES[-1]] - 2 * latency)
    network = Network("loopback", latency, bandwidth, is_shared=True)
    print(f"a = {network.latency * 1e6:.1f} us, B = {network.bandwidth / 1e9:.2f} GB/s shared; load {os.getloadavg()[0]:.1f}")
    print("algorithm  workers       bytes  measured ms  predicted ms  ratio")
    for (name, n, nbytes), time in found.items():
        algorithm = "servers" if name == "server" else "ring" if nbytes > LARGE else "recursive doubling"
        predicted = seconds(algorithm, n, nbytes, network, int(name == "server"))
        print(f"{name:9} {n:8} {nbytes:11,} {time * 1e3:12.3f} {predicted * 1e3:13.3f} {time / predicted:6.2f}")


if __name__ == "__main__":
    main()
