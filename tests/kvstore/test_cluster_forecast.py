"""Forecasts of clusters: bounds and limits by hand, and the servers' own code in virtual time."""

from __future__ import annotations

import math
import random
from bisect import bisect_right

import pytest

from twofold.errors import ParameterError
from twofold.kvstore.cluster_forecast import (
    HOUR,
    SERVERS,
    WAYS,
    ClusterCosts,
    Forecast,
    Stragglers,
    TrainingJob,
    forecast,
    forecasts,
    recommended,
)
from twofold.kvstore.cost_model import NETWORKS, Network, TrainingStep, efficiency
from twofold.kvstore.job_failures import Failures
from twofold.kvstore.messages import HEADER_SIZE
from twofold.kvstore.transports.simulated import SimulatedNetwork, SimulatedRun, simulate

ETHERNET = NETWORKS["10GbE"]
NEVER = Failures(per_day=0)
EVEN = Stragglers(0, 1)
#: Links and nothing else.
BARE = ClusterCosts(ETHERNET, server_message=0, server_byte=0, stragglers=EVEN, failures=NEVER)
JOB = TrainingJob(TrainingStep(100_000_000, 0.2))


@pytest.mark.parametrize("way", ["ring", "Rabenseifner"])
@pytest.mark.parametrize("workers", [2, 8, 64])
def test_a_step_of_even_workers_is_the_cost_models(way: str, workers: int) -> None:
    found = forecast(JOB, way, workers, BARE)
    assert found.goodput == pytest.approx(efficiency(JOB.step, way, workers, ETHERNET))
    assert found.step == pytest.approx(JOB.step.computing / found.goodput)
    # waiting is the part of the sums that is not hidden
    assert found.step - JOB.step.computing == pytest.approx((1 - found.hidden) * found.sums)


def test_one_worker_computes_all_the_time() -> None:
    found = forecast(JOB, "ring", 1, BARE)
    assert (found.step, found.sums, found.hidden, found.goodput) == (0.2, 0, 1, 1)


def test_workers_of_a_machine_share_its_link() -> None:
    alone, shared = BARE, BARE._replace(per_machine=8)
    assert forecast(JOB, "ring", 64, shared).step == forecast(JOB, "ring", 64, alone).step  # one worker of each machine sends over its link
    assert forecast(JOB, "Rabenseifner", 64, shared).sums == pytest.approx(8 * forecast(JOB, "Rabenseifner", 64, alone).sums, rel=0.1)
    assert forecast(JOB, "servers", 64, shared, 64).sums == pytest.approx(8 * forecast(JOB, "servers", 64, alone, 64).sums, rel=0.2)
    # eight machines sum what eight workers would, after and before their own sums
    own = 2 * (7 * shared.inside.latency * 25 + 100e6 / shared.inside.bandwidth)
    assert forecast(JOB, "per machine", 64, shared).sums == pytest.approx(forecast(JOB, "Rabenseifner", 8, alone).sums + own, rel=0.01)


def test_workers_of_one_machine_use_no_network() -> None:
    slow = ClusterCosts(Network("", 1.0, 1.0), per_machine=8)
    for way in ("ring", "Rabenseifner", "per machine", "two-bit"):
        assert forecast(JOB, way, 8, slow).sums < 1


def test_rings_of_machines_pay_where_rings_of_workers_have_too_many_messages() -> None:
    costs = BARE._replace(per_machine=8)
    best = {n: min(forecasts(JOB, n, costs), key=lambda f: f.step).way for n in (8, 64, 512, 4096)}
    assert best[8] in ("ring", "Rabenseifner")
    assert [best[n] for n in (512, 4096)] == ["per machine", "per machine"]


def test_two_bits_pay_on_slow_networks_with_few_workers() -> None:
    def gain(workers: int, bandwidth: float) -> float:
        costs = ClusterCosts(Network("", 40e-6, bandwidth))
        return forecast(JOB, "Rabenseifner", workers, costs).step / forecast(JOB, "two-bit", workers, costs).step

    assert gain(4, 117e6) > 1.5
    assert gain(64, 117e6) < 0.5
    assert gain(4, 1.17e9) < 1
    # each worker takes in a sixteenth of the bytes of every other: worth it until their sum passes twice the gradients
    bare = ClusterCosts(Network("", 0.0, 1e6), encoding=0, decoding=0)
    sums = {n: (forecast(JOB, "two-bit", n, bare).sums, forecast(JOB, "ring", n, bare).sums) for n in (31, 33)}
    assert sums[31][0] < sums[31][1]
    assert sums[33][0] > sums[33][1]


def test_servers_that_have_more_to_do_than_their_links_carry() -> None:
    light, heavy = (BARE._replace(server_message=m) for m in (0, 1.0))
    assert forecast(JOB, "asynchronous", 8, light, 8).step < 1
    # a second for each of eight workers and each of 25 buckets and a bit
    assert forecast(JOB, "asynchronous", 8, heavy, 8).step == pytest.approx(8 * 25, rel=0.01)
    assert forecast(JOB, "asynchronous", 8, heavy, 8).server_load == pytest.approx(1, rel=0.01)


def test_stragglers_stop_those_who_wait_for_them() -> None:
    costs = BARE._replace(stragglers=Stragglers(0.01, 1.34))
    small = TrainingJob(TrainingStep(8, 1.0))
    slowed = {n: forecast(small, "Rabenseifner", n, costs).step for n in (1, 64, 512)}
    assert slowed[1] == pytest.approx(1 + 0.34 * 0.01)
    assert slowed[64] == pytest.approx(1 + 0.34 * (1 - 0.99**64), rel=1e-3)
    assert slowed[512] == pytest.approx(1.34, rel=2e-3)  # the published average of large jobs
    assert forecast(small, "asynchronous", 64, costs, 1).step == pytest.approx(1 + 0.34 * 0.01, rel=1e-3)


def test_figures_of_the_whole_job() -> None:
    # one failure a day, 100 s to write a checkpoint, and a reading by each of two machines
    failures = Failures(per_day=1 / 8, restart=60, detection=20)
    costs = BARE._replace(per_machine=4, storage=3e6, failures=failures)
    found = forecast(JOB, "ring", 8, costs)
    assert found.failures == pytest.approx(30)
    assert found.interval == pytest.approx(math.sqrt(2 * 100 * 86400) - 100, rel=0.02)
    assert found.overhead == pytest.approx(100 / (found.interval + 100))
    assert found.recovery == pytest.approx(60 + 2 * 100 + (found.interval + 100) / 2)
    even = forecast(JOB, "ring", 8, BARE._replace(per_machine=4))
    lost = found.overhead + found.recovery / 86400
    assert found.goodput == pytest.approx(even.goodput * (1 - lost), rel=2e-3)
    assert found.steps == pytest.approx(even.steps * found.goodput / even.goodput)
    assert even.steps == pytest.approx(30 * 86400 / even.step)
    assert found.tolerant_goodput == pytest.approx(even.goodput * HOUR / (HOUR + 100) / (1 + 20 / 86400))


def test_a_checkpoint_of_a_size_of_its_own() -> None:
    costs = BARE._replace(failures=Failures())
    assert JOB.checkpoint_bytes == 300e6
    small, large = (forecast(JOB._replace(checkpoint=size), "ring", 64, costs) for size in (1e6, 1e12))
    assert small.goodput > large.goodput


# -------------------------------------------------------------------------------------------- beside the servers' code


def played(workers: int, servers: int, keys: int, staleness: float, steps: int = 5) -> SimulatedRun:
    """The job in virtual time, on the servers' own code: each of its keys is as long on the way as its part of the gradients."""
    part = JOB.step.nbytes / keys
    network = SimulatedNetwork(ETHERNET.latency, ETHERNET.bandwidth * (8 * workers + HEADER_SIZE) / part)
    return simulate(workers, steps, staleness, lambda w, k: JOB.step.computing, servers=servers, keys=keys, network=network)


def seconds_of_a_step(run: SimulatedRun) -> float:
    """Without the first, in which all workers begin at once."""
    last = max(span.step for span in run.spans)
    begin, end = (max(span.end for span in run.spans if span.step == k) for k in (0, last))
    return (end - begin) / last


@pytest.mark.parametrize(("workers", "servers"), [(4, 1), (8, 2), (16, 4), (32, 32)])
def test_synchronous_steps_last_as_long_as_simulated_ones(workers: int, servers: int) -> None:
    found = forecast(JOB, "servers", workers, BARE, servers)
    assert found.step == pytest.approx(seconds_of_a_step(played(workers, servers, 8 * servers, 0)), rel=0.2)


@pytest.mark.parametrize(("workers", "servers"), [(4, 1), (16, 1), (16, 4), (64, 8)])
def test_asynchronous_steps_last_as_long_as_simulated_ones(workers: int, servers: int) -> None:
    found, run = forecast(JOB, "asynchronous", workers, BARE, servers), played(workers, servers, 8 * servers, math.inf)
    assert found.step == pytest.approx(seconds_of_a_step(run), rel=0.2)
    ends = sorted(span.end for span in run.spans)
    middle = [span for span in run.spans if span.step == 2]
    between = sum(bisect_right(ends, span.end) - bisect_right(ends, span.start) - 1 for span in middle)
    assert found.staleness == pytest.approx(between / len(middle), rel=0.05)


@pytest.mark.parametrize(("way", "staleness"), [("servers", 0), ("asynchronous", math.inf)])
def test_slow_workers_cost_as_much_as_simulated_ones(way: str, staleness: float) -> None:
    workers, steps, slow, rng = 32, 60, Stragglers(0.02, 2.0), random.Random(5)
    factors = [[slow.factor if rng.random() < slow.share else 1.0 for _ in range(steps)] for _ in range(workers)]
    job = TrainingJob(TrainingStep(80_000, 0.2))
    run = simulate(workers, steps, staleness, lambda w, k: 0.2 * factors[w][k], servers=4, keys=4)
    mean = run.duration / steps if staleness == 0 else sum(s.end - s.start for s in run.spans) / len(run.spans)
    assert forecast(job, way, workers, BARE._replace(stragglers=slow), 4).step == pytest.approx(mean, rel=0.05)


# --------------------------------------------------------------------------------------------------------- the choice


def test_every_way_is_forecast_with_the_fewest_servers_that_do() -> None:
    found = forecasts(JOB, 64, BARE._replace(per_machine=8))
    assert [f.way for f in found] == list(WAYS)
    for f in found:
        assert (f.servers in SERVERS) == WAYS[f.way].has_servers
        if f.servers:
            more = [forecast(JOB, f.way, 64, BARE._replace(per_machine=8), s).step for s in SERVERS if s > f.servers]
            assert f.step <= 1.02 * min([f.step, *more])
    assert "per machine" not in [f.way for f in forecasts(JOB, 64, BARE)]
    assert {f.servers for f in forecasts(JOB, 64, BARE, 3)} == {0, 3}


def test_the_simplest_of_the_best_is_recommended() -> None:
    def of(way: str, goodput: float) -> Forecast:
        return Forecast(way, 8, 0, 1, 0, 1, 0, 0, goodput=goodput)

    assert recommended([of("ring", 0.70), of("Rabenseifner", 0.71), of("asynchronous", 0.99)]).way == "ring"
    assert recommended([of("ring", 0.60), of("Rabenseifner", 0.71), of("two-bit", 0.70)]).way == "Rabenseifner"


def test_nothing_to_forecast() -> None:
    with pytest.raises(ParameterError, match="use one of ring, Rabenseifner, per machine"):
        forecast(JOB, "butterfly", 8, BARE)
    for way, workers, servers, job in (
        ("ring", 0, 0, JOB),
        ("servers", 8, 0, JOB),
        ("ring", 8, 0, TrainingJob(TrainingStep(8, 0.0))),
    ):
        with pytest.raises(ParameterError, match="nothing to forecast"):
            forecast(job, way, workers, BARE, servers)
