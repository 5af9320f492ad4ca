"""Forecasts a training job on a cluster: the time of a step, waiting, failures and checkpoints, for each way to sum gradients.

`cost_model` knows how long one sum takes on a network. Here are the rest of a step and of a job: workers that share a machine's link, the
work of servers and of compression, slow workers, and failures.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import ParameterError
from .buckets import bucket_sizes
from .cost_model import FORWARD, Network, TrainingStep, seconds
from .job_failures import DAY, Failures, checkpoint_interval, useful_share

#: The memory of one machine as a network between its workers. Open MPI's sums by shared memory were measured on two cores.
SHARED_MEMORY = Network("shared memory", 6e-6, 5e9)
#: Part of a gradient's bytes that two-bit codes take.
CODED = 1 / 16
#: Seconds of training between checkpoints of a job that goes on after failures: it needs one only if several processes fail at once.
HOUR = 3600.0
#: The numbers of servers that are tried.
SERVERS = (1, 2, 4, 8, 16, 32, 64)
#: Gains below this share of a step are not worth a choice.
WORTH = 0.02


class Stragglers(NamedTuple):
    """Workers that are slow for a while.

    Attributes
    ----------
    share
        The share of its time in which a worker is slow.
    factor
        How many times as long it computes then.

    Notes
    -----
    Wu et al., Greyhound: hunting fail-slows in hybrid-parallel training at scale, USENIX ATC 2025: large jobs took 1.34 times as long on
    average. The default factor gives this for workers that wait for each other, if there are so many that one is always slow. The share is
    assumed: with one in a hundred, this begins at some 500 workers.
    """

    share: float = 0.01
    factor: float = 1.34

    def any_slow(self, workers: int) -> float:
        """The share of the time in which at least one worker is slow."""
        return 1 - (1 - self.share) ** workers


class ClusterCosts(NamedTuple):
    """What a cluster's work costs. The defaults of the times per message and per byte are measured on one core of a server's processor.

    Attributes
    ----------
    network
        The network between machines.
    per_machine
        The number of workers of a machine, which share its link.
    inside
        The network between the workers of a machine: its memory, or links between GPUs.
    server_message
        Seconds of a server's core for each push and its reply.
    server_byte
        Seconds of a server's core for each byte of a gradient that it takes in, adds and sends back.
    encoding, decoding
        Seconds of a core to compress a byte of gradients to two-bit codes, and to add a byte of another worker's decoded gradients.
    storage
        Bytes per second that all processes together write to, and read from, the storage of checkpoints.
    stragglers, failures
        How often workers are slow, and how often they fail.
    """

    network: Network
    per_machine: int = 1
    inside: Network = SHARED_MEMORY
    server_message: float = 35e-6
    server_byte: float = 0.45e-9
    encoding: float = 1.4e-9
    decoding: float = 0.14e-9
    storage: float = 2e9
    stragglers: Stragglers = Stragglers()
    failures: Failures = Failures()


class TrainingJob(NamedTuple):
    """A training job.

    Attributes
    ----------
    step
        The work of one worker in a step.
    days
        How long the job has its machines.
    checkpoint
        Bytes of a checkpoint; by default three times those of the gradients, for weights and the two moments of Adam.
    """

    step: TrainingStep
    days: float = 30.0
    checkpoint: float | None = None

    @property
    def checkpoint_bytes(self) -> float:
        """The bytes of a checkpoint."""
        return 3.0 * self.step.nbytes if self.checkpoint is None else self.checkpoint


class Forecast(NamedTuple):
    """What is to be expected of a job.

    Attributes
    ----------
    way
        A name of `WAYS`.
    workers, servers
        Number of processes in each role.
    step
        Mean seconds of a step, slow workers included.
    sums
        Seconds that a step's sums take by themselves.
    hidden
        The share of them that passes while workers compute.
    server_load
        The share of the time in which a server is busy; 0 without servers.
    staleness
        Updates by other workers between a worker's reading of the weights and its own update; 0 if workers wait for each other.
    failures
        The expected number of failures in the job's days.
    interval
        Seconds of training between two checkpoints; infinity if nothing ever fails.
    overhead
        The share of the time in which checkpoints are written.
    recovery
        Mean seconds that a failure costs: starting again, reading the checkpoint, and computing again what was lost.
    goodput
        The share of its workers' time that the job computes, and keeps what it has computed.
    tolerant_goodput
        The same if the job goes on after failures, with ``--ft`` and enough spares.
    steps
        Steps that a worker completes in the job's days.
    """

    way: str
    workers: int
    servers: int
    step: float
    sums: float
    hidden: float
    server_load: float
    staleness: float
    failures: float = 0.0
    interval: float = math.inf
    overhead: float = 0.0
    recovery: float = 0.0
    goodput: float = 0.0
    tolerant_goodput: float = 0.0
    steps: float = 0.0


# ------------------------------------------------------------------------------------------------------ sums of a bucket


def _ring(nbytes: float, workers: int, servers: int, costs: ClusterCosts) -> float:
    # neighbors in the ring are neighbors on a machine: only one worker of each sends over the machine's link
    return seconds("ring", workers, nbytes, costs.network if workers > costs.per_machine else costs.inside)


def _rabenseifner(nbytes: float, workers: int, servers: int, costs: ClusterCosts) -> float:
    if workers <= costs.per_machine:
        return seconds("Rabenseifner", workers, nbytes, costs.inside)
    # the large messages go to the workers that are furthest away, and all workers of a machine send them over one link
    return seconds("Rabenseifner", workers, nbytes * costs.per_machine, costs.network)


def _per_machine(nbytes: float, workers: int, servers: int, costs: ClusterCosts) -> float:
    """The workers of a machine sum, the machines' first workers sum with each other, and hand the sum to the others."""
    machines, inside = -(-workers // costs.per_machine), min(workers, costs.per_machine)
    own = 2 * ((inside - 1) * costs.inside.latency + nbytes / costs.inside.bandwidth) if inside > 1 else 0.0
    return own + min(seconds(name, machines, nbytes, costs.network) for name in ("ring", "Rabenseifner"))


def _of_server(nbytes: float, workers: int, servers: int, costs: ClusterCosts, core: float) -> float:
    """The seconds of a server's busiest part, its link or its core, for the pushes of all workers."""
    share = nbytes / servers
    return workers * max(share / costs.network.bandwidth, costs.server_message + core * share)


def _servers(nbytes: float, workers: int, servers: int, costs: ClusterCosts) -> float:
    link = min(workers, costs.per_machine) * nbytes / costs.network.bandwidth
    return 2 * costs.network.latency + max(link, _of_server(nbytes, workers, servers, costs, costs.server_byte))


def _coded_servers(nbytes: float, workers: int, servers: int, costs: ClusterCosts) -> float:
    # only gradients are compressed: the weights that come back take as long as without
    link = min(workers, costs.per_machine) * nbytes / costs.network.bandwidth
    busy = max(link, _of_server(nbytes, workers, servers, costs, costs.decoding))
    return 2 * costs.network.latency + costs.encoding * nbytes + busy


def _coded_gathering(nbytes: float, workers: int, servers: int, costs: ClusterCosts) -> float:
    """Every worker gets the codes of all others, from neighbor to neighbor, and adds them."""
    over = costs.network if workers > costs.per_machine else costs.inside
    sent = (workers - 1) * (over.latency + nbytes * CODED / over.bandwidth)
    return costs.encoding * nbytes + sent + workers * costs.decoding * nbytes


BucketSeconds = Callable[[float, int, int, ClusterCosts], float]


class _Way(NamedTuple):
    """How gradients are summed: the seconds of a bucket, and whether workers compute meanwhile, have servers and wait for each other."""

    of_bucket: BucketSeconds
    overlaps: bool = True
    has_servers: bool = False
    waits: bool = True


#: The ways to sum gradients, by their names in tables.
WAYS = {
    "ring": _Way(_ring),
    "Rabenseifner": _Way(_rabenseifner),
    "per machine": _Way(_per_machine),
    "servers": _Way(_servers, overlaps=False, has_servers=True),
    "asynchronous": _Way(_servers, overlaps=False, has_servers=True, waits=False),
    "two-bit": _Way(_coded_gathering, overlaps=False),
    "two-bit to servers": _Way(_coded_servers, overlaps=False, has_servers=True),
}


# ----------------------------------------------------------------------------------------------------------- forecasts


def forecast(job: TrainingJob, way: str, workers: int, costs: ClusterCosts, servers: int = 0) -> Forecast:
    """What is to be expected of a job.

    Parameters
    ----------
    job
        The job.
    way
        How gradients are summed: a name of `WAYS`.
    workers, servers
        Number of processes in each role.
    costs
        What the cluster's work costs.

    Raises
    ------
    ParameterError
        If the way is unknown, there are too few processes, or the step computes nothing.

    Examples
    --------
    >>> from twofold.kvstore.cluster_forecast import ClusterCosts, TrainingJob, forecast
    >>> from twofold.kvstore.cost_model import NETWORKS, TrainingStep
    >>> job = TrainingJob(TrainingStep(nbytes=102_200_000, computing=0.18))
    >>> found = forecast(job, "ring", 8, ClusterCosts(NETWORKS["10GbE"]))
    >>> round(found.hidden, 2), round(found.goodput, 2)
    (0.69, 0.77)
    """
    kind = WAYS.get(way)
    if kind is None:
        raise ParameterError("cluster forecast: unknown way to sum", repr(way), f"use one of {', '.join(WAYS)}")
    if workers < 1 or servers < kind.has_servers or job.step.computing <= 0:
        given = f"{workers} workers, {servers} servers, {job.step.computing:g} s of computing"
        raise ParameterError("cluster forecast: nothing to forecast", given, "pass at least one of each, and what a step computes")
    work = _work(job.step, way, workers, servers if kind.has_servers else 0, costs)
    usual, delayed = (_step(job.step, kind, work, factor) for factor in (1.0, costs.stragglers.factor))
    # workers that wait for each other are as slow as the slowest
    share = costs.stragglers.any_slow(workers if kind.waits else 1)
    sums = sum(work.times)
    return _of_job(
        job,
        costs,
        Forecast(
            way=way,
            workers=workers,
            servers=servers if kind.has_servers else 0,
            step=(1 - share) * usual + share * delayed,
            sums=sums,
            hidden=max(0.0, 1 - (usual - job.step.computing) / sums) if sums else 1.0,
            server_load=work.busy / usual,
            staleness=0.0 if kind.waits else workers - 1.0,
        ),
    )


class _Work(NamedTuple):
    """The sums of a step: the sizes of its buckets, the seconds of each, the seconds that a server is busy for all workers, and these."""

    sizes: list[int]
    times: list[float]
    busy: float
    workers: int


def _work(step: TrainingStep, way: str, workers: int, servers: int, costs: ClusterCosts) -> _Work:
    kind, sizes = WAYS[way], list(bucket_sizes(step.nbytes))
    if workers == 1 and not servers:
        return _Work(sizes, [0.0] * len(sizes), 0.0, workers)
    # a worker that waits for no other finds the servers idle, unless they are overloaded
    times = [kind.of_bucket(size, workers if kind.waits else 1, servers, costs) for size in sizes]
    if not servers:
        return _Work(sizes, times, 0.0, workers)
    core = costs.decoding if kind.of_bucket is _coded_servers else costs.server_byte
    # a server sends the sums of one bucket while it takes in the next, so those of the last bucket come after all else
    times[-1] += (workers if kind.waits else 1) * sizes[-1] / servers / costs.network.bandwidth
    return _Work(sizes, times, sum(_of_server(size, workers, servers, costs, core) for size in sizes), workers)


def _queueing(alone: float, service: float, workers: int) -> float:
    """Mean seconds that a worker waits in a step while a server serves others.

    Parameters
    ----------
    alone
        Seconds of a step if no other worker were there.
    service
        Seconds of a server for one worker's step.
    workers
        Number of workers.

    Notes
    -----
    Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks, 1980: a worker that comes to a server finds as many
    others there as there were on average without it.
    """
    waiting = there = 0.0
    for count in range(1, workers + 1):
        waiting = service * there
        there = count * (service + waiting) / (alone + waiting)
    return waiting


def _step(step: TrainingStep, kind: _Way, work: _Work, factor: float) -> float:
    """Seconds of a step whose computing takes ``factor`` times as long."""
    computing = step.computing * factor
    if not kind.waits:
        return computing + sum(work.times) + _queueing(computing + sum(work.times), work.busy / work.workers, work.workers)
    if not kind.overlaps:
        return computing + sum(work.times)
    filled, end = 0, computing * FORWARD
    for size, time in zip(work.sizes, work.times, strict=True):
        filled += size
        ready = computing * (FORWARD + (1 - FORWARD) * filled / step.nbytes)  # backward fills buckets at a constant rate
        end = max(ready, end) + time
    return max(computing, end)


def _of_job(job: TrainingJob, costs: ClusterCosts, found: Forecast) -> Forecast:
    """The forecast with its figures of the whole job."""
    failures, machines = costs.failures, -(-found.workers // costs.per_machine)
    between = failures.between(found.workers + found.servers)
    write = job.checkpoint_bytes / costs.storage
    interval = checkpoint_interval(write, between)
    # the workers of a machine read the checkpoint once, and find it in memory after that
    restart = failures.restart + machines * job.checkpoint_bytes / costs.storage
    computing = job.step.computing / found.step
    useful = useful_share(interval, write, restart, between)
    going_on = HOUR / (HOUR + write) / (1 + failures.detection / between)
    return found._replace(
        failures=job.days * DAY / between,
        interval=interval,
        overhead=0.0 if math.isinf(interval) else write / (interval + write),
        recovery=restart + (0.0 if math.isinf(interval) else (interval + write) / 2),
        goodput=computing * useful,
        tolerant_goodput=computing * going_on,
        steps=job.days * DAY * useful / found.step,
    )


def forecasts(job: TrainingJob, workers: int, costs: ClusterCosts, servers: int = 0) -> list[Forecast]:
    """The forecasts of all ways to sum.

    Parameters
    ----------
    job
        The job.
    workers
        Number of workers.
    costs
        What the cluster's work costs.
    servers
        Number of servers; 0 for the fewest of `SERVERS` with which a step is about as short as with any.

    Returns
    -------
    list
        One forecast for each of `WAYS`, in their order; without "per machine" if no machine has several workers.
    """
    found: list[Forecast] = []
    for name, kind in WAYS.items():
        if name == "per machine" and min(workers, costs.per_machine) == 1:
            continue
        numbers: list[int] = [servers] if servers else [s for s in SERVERS if s <= workers]
        tried = [forecast(job, name, workers, costs, s) for s in (numbers if kind.has_servers else [0])]
        shortest = min(f.step for f in tried)
        found.append(next(f for f in tried if f.step <= (1 + WORTH) * shortest))
    return found


def recommended(found: Sequence[Forecast]) -> Forecast:
    """The forecast of the synchronous way to choose: the simplest of those whose goodput is about the best.

    Updates of asynchronous workers are based on old weights, which no forecast can weigh against time.

    Parameters
    ----------
    found
        Forecasts of one job and number of workers, simplest first, as `forecasts` returns them.
    """
    synchronous = [f for f in found if WAYS[f.way].waits]
    best = max(f.goodput for f in synchronous)
    return next(f for f in synchronous if f.goodput >= (1 - WORTH) * best)
