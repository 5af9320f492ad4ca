"""Predicts, for a given network, how long workers take to sum their gradients and which share of a step they compute.

A message of m bytes takes a + m/B seconds, with the latency a and the bandwidth B of a machine's link in one direction (Hockney's model).
Gradients are summed by one of the algorithms of MPI libraries, or by parameter servers.

Notes
-----
Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, 2005.
"""

import math
import re
from typing import NamedTuple

from ..errors import ParameterError
from .buckets import bucket_sizes

#: Share of a step's computing that is the forward pass: backward computes two products for each of its own.
FORWARD = 1 / 3
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "gbit/s": 1e9 / 8, "mbit/s": 1e6 / 8}


class Network(NamedTuple):
    """A network between machines.

    Attributes
    ----------
    name
        Its name.
    latency
        Seconds that an empty message takes.
    bandwidth
        Bytes per second over a machine's link, in each direction at the same time.
    cores
        The number of cores if all processes run on one machine, whose cores spend time on each byte that is sent or received; None if every
        process has a machine of its own.
    """

    name: str
    latency: float
    bandwidth: float
    cores: int | None = None


#: Usual networks. Latencies are those of MPI over TCP and of InfiniBand's verbs. Bandwidths are lower than the nominal ones, as measured.
NETWORKS = {n.name: n for n in (Network("10GbE", 40e-6, 1.17e9), Network("25GbE", 25e-6, 2.9e9), Network("IB100", 6e-6, 11e9))}


def network(text: str) -> Network:
    """A network by name, or by its figures.

    Parameters
    ----------
    text
        A name of `NETWORKS`, or ``"a=40us,B=1.17GB/s"``: a latency in us, ms or s, and a bandwidth in MB/s, GB/s, Mbit/s or Gbit/s.

    Raises
    ------
    ParameterError
        If it is neither.

    Examples
    --------
    >>> from twofold.kvstore.cost_model import network
    >>> network("a=25us,B=8Gbit/s").bandwidth
    1000000000.0
    """
    for name, known in NETWORKS.items():
        if name.lower() == text.strip().lower():
            return known
    latency = re.search(r"(?:^|,)\s*a=([\d.e+-]+)\s*(us|ms|s)\s*(?:,|$)", text)
    bandwidth = re.search(r"(?:^|,)\s*B=([\d.e+-]+)\s*([kmg]b(?:it)?/s)\s*(?:,|$)", text, re.IGNORECASE)
    try:
        a, b = (float(found[1]) * UNITS[found[2].lower()] for found in (latency, bandwidth) if found)
    except ValueError:
        a = b = 0.0
    if not (a > 0 and 0 < b < math.inf):
        raise ParameterError("network: not a network", repr(text), f"use {', '.join(NETWORKS)}, or figures: a=40us,B=1.17GB/s")
    return Network(text, a, b)


class _Cost(NamedTuple):
    """The cost of an algorithm for n workers and s servers.

    ``messages`` counts the messages that follow one another. The other two are multiples of the size of the summed arrays: ``most`` is sent
    over the busiest link in one direction, and ``total`` over all links together.
    """

    messages: float
    most: float
    total: float


def _ring(n: int, s: int) -> _Cost:
    return _Cost(2 * (n - 1), 2 * (n - 1) / n, 2 * (n - 1))


def _rabenseifner(n: int, s: int) -> _Cost:
    """Recursive halving, then recursive doubling. Workers beyond a power of two first hand their values to others."""
    extra, steps = n - (1 << n.bit_length() - 1), n.bit_length() - 1
    core = 1 << steps
    most = 2 * (core - 1) / core + (1 if extra else 0)
    return _Cost(2 * steps + (2 if extra else 0), most, 2 * (core - 1) + 2 * extra)


def _recursive_doubling(n: int, s: int) -> _Cost:
    extra, steps = n - (1 << n.bit_length() - 1), n.bit_length() - 1
    return _Cost(steps + (2 if extra else 0), steps + (1 if extra else 0), (1 << steps) * steps + 2 * extra)


def _servers(n: int, s: int) -> _Cost:
    # a server takes in one bucket while it sends another
    return _Cost(2, max(1.0, n / s), 2 * n)


#: The ways to sum. All but the last have no servers.
ALGORITHMS = {"ring": _ring, "Rabenseifner": _rabenseifner, "recursive doubling": _recursive_doubling, "servers": _servers}


def _cost(algorithm: str, workers: int, servers: int) -> _Cost:
    if algorithm not in ALGORITHMS:
        raise ParameterError("cost model: unknown algorithm", repr(algorithm), f"use one of {', '.join(ALGORITHMS)}")
    if workers < 1 or servers < (algorithm == "servers"):
        raise ParameterError("cost model: too few processes", f"{workers} workers, {servers} servers", "pass at least one of each")
    if workers == 1 and algorithm != "servers":
        return _Cost(0, 0, 0)
    return ALGORITHMS[algorithm](workers, servers)


def bytes_sent(algorithm: str, workers: int, nbytes: int, servers: int = 0) -> float:
    """The bytes that all processes together send until each worker has the sum of all workers' arrays.

    Parameters
    ----------
    algorithm
        A name of `ALGORITHMS`.
    workers, servers
        Number of processes in each role.
    nbytes
        Size of one worker's arrays.

    Examples
    --------
    >>> from twofold.kvstore.cost_model import bytes_sent
    >>> bytes_sent("ring", 4, 1000), bytes_sent("servers", 4, 1000, 2)
    (6000, 8000)
    """
    return _cost(algorithm, workers, servers).total * nbytes


def seconds(algorithm: str, workers: int, nbytes: float, over: Network, servers: int = 0) -> float:
    """The seconds that one sum takes.

    Parameters
    ----------
    algorithm, workers, nbytes, servers
        See `bytes_sent`.
    over
        The network.

    Raises
    ------
    ParameterError
        If the algorithm is unknown, or there are too few processes.
    """
    cost = _cost(algorithm, workers, servers)
    carried = cost.most if over.cores is None else _busiest_core(cost, workers, servers, over.cores)
    return cost.messages * over.latency + carried * nbytes / over.bandwidth


def _busiest_core(cost: _Cost, workers: int, servers: int, cores: int) -> float:
    """The bytes that the busiest core sends and receives, as a multiple of the arrays' size. Processes with more load are placed first."""
    own = 2 * cost.total / (2 * workers if servers else workers)  # with servers, workers handle half of the bytes
    loads = [0.0] * cores
    for load in sorted([own] * workers + [cost.total / servers for _ in range(servers)], reverse=True):
        k = loads.index(min(loads))
        loads[k] += load
    return max(loads)


class TrainingStep(NamedTuple):
    """A training step of one worker.

    Attributes
    ----------
    nbytes
        Bytes of gradients.
    computing
        Seconds of the forward and backward passes.
    """

    nbytes: int
    computing: float


def efficiency(step: TrainingStep, algorithm: str, workers: int, over: Network, servers: int = 0) -> float:
    """The share of a step's time in which a worker computes; 1 for a single worker. A bucket is summed as soon as backward has filled it.

    Parameters
    ----------
    step
        The work of one worker.
    algorithm, workers, servers
        See `bytes_sent`.
    over
        The network.
    """
    forward = step.computing * FORWARD
    filled, end = 0, forward
    for size in bucket_sizes(step.nbytes):
        filled += size
        ready = forward + (step.computing - forward) * filled / step.nbytes  # backward fills them at a constant rate
        end = max(ready, end) + seconds(algorithm, workers, size, over, servers)
    return step.computing / max(step.computing, end)
