"""Clusters in virtual time: no push is lost or applied twice, and no worker is further ahead than it may be, in any schedule."""

from __future__ import annotations

import math
import os
import random
from typing import Any

import numpy as np
import pytest

from twofold.errors import ParameterError
from twofold.kvstore.transports.simulated import SimulatedNetwork, simulate

#: Of these schedules, 10,000 were tried.
CASES = int(os.environ.get("FUZZ_CASES", "300"))


def random_schedule(seed: int) -> tuple[list[int], float, dict[str, Any]]:
    """The steps of each worker, the staleness, and the other arguments of `simulate`."""
    rng = random.Random(seed)
    workers = rng.randint(1, 5)
    steps = [rng.randint(1, 6)] * workers if rng.random() < 0.5 else [rng.randint(0, 6) for _ in range(workers)]
    speeds = [rng.choice([1, 1, 1, 3, 10]) for _ in range(workers)]
    durations = {(w, k): speeds[w] * rng.uniform(0.5, 1.5) * 1e-3 for w in range(workers) for k in range(6)}
    network = SimulatedNetwork(jitter=rng.choice([0, 1e-3]), bandwidth=10 ** rng.uniform(5, 9))
    if rng.random() < 0.5:
        network = network._replace(loss=0.2, repeat=0.2, patience=20e-3)
    return (
        steps,
        rng.choice([0, 0, 1, 2, 3, math.inf]),
        {
            "compute": lambda w, k: durations[w, k],
            "servers": rng.randint(1, 3),
            "keys": rng.randint(1, 4),
            "network": network,
            "deaths": {w: rng.uniform(0, 0.02) for w in range(1, workers) if rng.random() < 0.15},
            "seed": seed,
        },
    )


def check(seed: int) -> None:
    """Run a random schedule, and check that what servers promise was kept."""
    steps, staleness, rest = random_schedule(seed)
    run = simulate(len(steps), steps, staleness, **rest)
    keys, deaths = rest["keys"], rest["deaths"]
    assert run.largest_lead <= staleness
    # pushes that are sent again come in other orders, and one that waits for another may then be kept beyond the limit
    assert run.largest_bytes <= (4 if rest["network"].loss else 3) * run.model_bytes
    for worker, count in enumerate(steps):
        applied = run.weights[worker]
        assert applied <= count * keys if worker in deaths else applied == count * keys, (seed, worker)


@pytest.mark.fuzz
def test_random_schedules_keep_every_promise():
    for seed in range(CASES):
        check(seed)


@pytest.mark.parametrize("staleness", [0, 3, math.inf])
def test_a_thousand_workers(staleness):
    rng = random.Random(7)
    hiccups = [[0.18 * (3 if rng.random() < 0.01 else 1) for _ in range(5)] for _ in range(1000)]
    run = simulate(1000, 5, staleness, lambda w, k: hiccups[w][k])
    np.testing.assert_array_equal(run.weights, 5)
    assert run.largest_lead <= staleness
    assert run.largest_bytes <= 3 * run.model_bytes
    assert len(run.spans) == 5000


@pytest.mark.parametrize("staleness", [0, math.inf])
@pytest.mark.parametrize("servers", [1, 64])
def test_sixty_four_servers_divide_what_one_takes_in(servers, staleness):
    """A single server's link carries the gradients of all 32 workers, one after the other; with 64 a worker's own is the busiest."""
    network = SimulatedNetwork(latency=0.0, bandwidth=1e6)
    run = simulate(32, 1, staleness, lambda w, k: 0.0, servers=servers, keys=64, network=network)
    np.testing.assert_array_equal(run.weights, 64)
    assert run.largest_bytes <= 3 * run.model_bytes / servers
    key = (64 + 8 * 32) * 1e-6  # seconds of a key: a header and 32 elements
    busiest = max(64, 32 * 64 / servers) * key
    assert 0.999 * busiest <= run.duration <= 2.5 * busiest  # gradients go there while weights come back, or before these do


def test_bounded_staleness_hides_hiccups():
    """One step in 30 takes three times as long; synchronous workers wait for each of these, others for few."""
    rng = random.Random(3)
    durations = [[0.1 * (3 if rng.random() < 1 / 30 else 1) for _ in range(30)] for _ in range(32)]
    efficiency = [simulate(32, 30, s, lambda w, k: durations[w][k]).efficiency for s in (0, 2, 8, math.inf)]
    slowest = [max(d[k] for d in durations) for k in range(30)]
    assert efficiency[0] == pytest.approx(np.mean(durations) * 30 / sum(slowest), rel=0.01)  # by hand: each step lasts as its slowest
    assert efficiency == sorted(efficiency)
    assert efficiency[2] > 0.85
    assert efficiency[3] > 0.99


def test_a_lasting_straggler_only_stops_synchronous_and_stale_workers():
    def compute(worker, step):
        return 0.2 if worker == 0 else 0.1

    durations = {s: {span.worker: span.end for span in simulate(4, 20, s, compute).spans} for s in (0, 2, math.inf)}
    assert durations[0][1] == pytest.approx(4.0, rel=0.01)
    assert durations[2][1] == pytest.approx(3.6, rel=0.05)  # two steps ahead at the end
    assert durations[math.inf][1] == pytest.approx(2.0, rel=0.01)


def test_time_on_the_network_is_that_of_its_bytes():
    network = SimulatedNetwork(latency=1e-3, bandwidth=1e6)
    run = simulate(1, 1, 0, lambda w, k: 0.5, network=network)
    # there and back: a header of 64 bytes and 8 of payload, sent and received at a byte per microsecond
    assert run.duration == pytest.approx(0.5 + 2 * (1e-3 + 72e-6), rel=1e-9)


def test_a_run_can_be_repeated():
    steps, staleness, rest = random_schedule(11)
    first, second = (simulate(len(steps), steps, staleness, **rest) for _ in range(2))
    assert first.spans == second.spans


def test_each_worker_has_a_number_of_steps():
    with pytest.raises(ParameterError, match="number of steps"):
        simulate(3, [1, 2], 0, lambda w, k: 1.0)
