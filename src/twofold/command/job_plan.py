"""``twofold launch --plan --days D``: a forecast of a job of some days, and what to choose."""

import argparse
import math
from collections.abc import Iterator

from ..kvstore.cluster_forecast import ClusterCosts, Forecast, Stragglers, TrainingJob, forecasts, recommended
from ..kvstore.cost_model import Network, TrainingStep
from ..kvstore.job_failures import DAY, Failures

#: Below this share of computing more workers are a waste.
ENOUGH = 0.5
#: The numbers of workers of a table for which none was asked.
NUMBERS = (8, 64, 512, 4096)
#: Asynchronous workers that complete this many times as many steps are worth a word.
FASTER = 1.05
#: What to do for each way to sum.
CHOICES = {
    "ring": "workers without servers, summed by a ring of all workers (algorithm 4 of Open MPI)",
    "Rabenseifner": "workers without servers, summed by halves (Rabenseifner's, algorithm 6 of Open MPI)",
    "per machine": "workers without servers, summed per machine (Open MPI's han; NCCL for GPUs)",
    "servers": "dist_sync with servers",
    "two-bit": "workers without servers, with set_gradient_compression",
    "two-bit to servers": "dist_sync with servers, and set_gradient_compression",
}


def job_plan(given: argparse.Namespace, step: TrainingStep, over: Network) -> Iterator[str]:
    """The lines of a plan: a table of ways to sum, and what to choose.

    Parameters
    ----------
    given
        The parsed arguments.
    step
        The work of one worker in a step.
    over
        The network between machines.
    """
    job, costs = TrainingJob(step, given.days, given.checkpoint), _costs(given, over)
    machine = f", {costs.per_machine} workers on a machine" if costs.per_machine > 1 else ""
    network = f"{over.name}: {over.latency * 1e6:g} us, {over.bandwidth / 1e9:g} GB/s"
    yield f"{step.nbytes / 1e6:g} MB of gradients, {step.computing * 1e3:g} ms of computing, {network}{machine}; {job.days:g} days"
    yield "workers  way to sum           servers   step ms   sums ms  hidden  server busy  stale  goodput"
    for workers in (given.workers,) if given.workers else NUMBERS:
        found = forecasts(job, workers, costs, given.servers or 0)
        chosen = recommended(found)
        for one in found:
            yield _row(one, one is chosen)
        yield from _choice(found, chosen)


def _costs(given: argparse.Namespace, over: Network) -> ClusterCosts:
    named = {"per_day": given.failures, "restart": given.restart}
    failures = Failures()._replace(**{name: value for name, value in named.items() if value is not None})
    costs = ClusterCosts(over, given.per_machine or 1, failures=failures)
    if given.storage:
        costs = costs._replace(storage=given.storage)
    return costs._replace(stragglers=Stragglers(*given.slow)) if given.slow else costs


def _row(one: Forecast, is_chosen: bool) -> str:
    servers, busy = (f"{one.servers:7}", f"{one.server_load:10.0%}") if one.servers else (" " * 7, " " * 10)
    stale = f"{one.staleness:7.0f}" if one.staleness else " " * 7
    figures = f"{servers} {_milliseconds(one.step):>9} {_milliseconds(one.sums):>9} {one.hidden:7.0%}  {busy}{stale} {one.goodput:8.1%}"
    return f"{one.workers:7}  {one.way:19} {figures}{' <' if is_chosen else ''}"


def _choice(found: list[Forecast], chosen: Forecast) -> Iterator[str]:
    """What to choose, and what failures cost."""
    servers = f": -s {chosen.servers}" if chosen.servers else ""
    yield f"  choose {CHOICES[chosen.way]}{servers}; {chosen.steps:.3g} steps"
    if not math.isinf(chosen.interval):
        yield (
            f"  {chosen.failures:.2g} failures, each costs {_duration(chosen.recovery)}; a checkpoint every {_duration(chosen.interval)} "
            f"({chosen.overhead:.2%} of the time); goodput with --ft and spares {chosen.tolerant_goodput:.1%}"
        )
    for other in found:
        if other.way == "asynchronous" and other.steps > FASTER * chosen.steps:
            more = f"{other.steps / chosen.steps:.2g} times as many steps"
            yield f"  dist_async with -s {other.servers} completes {more}, with gradients {other.staleness:.0f} updates old"
    if chosen.goodput < ENOUGH:
        todo = "use fewer, a larger batch, or a faster network"
        yield f"  warning: {chosen.workers} workers would compute {chosen.goodput:.0%} of the time: {todo}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f}" if seconds >= 0.1 else f"{seconds * 1e3:.3g}"


def _duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    for unit, size in (("days", DAY), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
