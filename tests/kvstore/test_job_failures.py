"""Failures of a job: intervals are the published ones, and shares those of jobs that are played through."""

from __future__ import annotations

import math
import random

import pytest

from twofold.errors import ParameterError
from twofold.kvstore.job_failures import Failures, checkpoint_interval, useful_share

DAY = 24 * 60.0


@pytest.mark.parametrize(("between", "published"), [(24 * 60, 117), (6 * 60, 57), (15, 9.1)])
def test_intervals_are_those_that_daly_published(between: float, published: float) -> None:
    # minutes, with five to write a checkpoint: captions of figures 3 to 5
    assert checkpoint_interval(5, between) == pytest.approx(published, rel=0.006)


def test_the_interval_is_the_best_one() -> None:
    best = checkpoint_interval(5, 360)
    assert useful_share(best, 5, 10, 360) > max(useful_share(best * factor, 5, 10, 360) for factor in (0.8, 1.25))
    assert checkpoint_interval(1, 1e6) == pytest.approx(math.sqrt(2e6), rel=2e-3)  # Young's, if failures are rare
    assert checkpoint_interval(50, 20) == 20


def played(rng: random.Random, work: float, interval: float, write: float, recovery: float, between: float) -> float:
    """Minutes until a job has done its work: event after event, with failures at random times."""
    now, failure, done, is_down = 0.0, rng.expovariate(1 / between), 0.0, False
    while done < work:
        end = now + (recovery if is_down else interval + write)
        if failure < end:
            now, is_down = failure, True
            failure = now + rng.expovariate(1 / between)
            continue
        done += 0 if is_down else interval
        now, is_down = end, False
    return now


@pytest.mark.parametrize("between", [360.0, 60.0])
def test_the_useful_share_is_that_of_jobs_with_random_failures(between: float) -> None:
    interval, rng = checkpoint_interval(5, between), random.Random(3)
    work = 20_000 * interval
    assert useful_share(interval, 5, 10, between) == pytest.approx(work / played(rng, work, interval, 5, 10, between), rel=0.02)


def test_rates_are_those_of_the_published_job() -> None:
    assert 54 * 86400 / Failures().between(16384) == pytest.approx(419)
    assert Failures(0).between(8) == math.inf


def test_a_job_that_never_fails_writes_nothing_and_loses_nothing() -> None:
    assert checkpoint_interval(5, math.inf) == math.inf
    assert useful_share(math.inf, 5, 10, math.inf) == 1
    assert useful_share(95, 5, 10, math.inf) == 0.95


def test_a_job_that_fails_all_the_time_gets_nowhere() -> None:
    assert useful_share(1e6, 5, 10, 60) < 1e-100


@pytest.mark.parametrize(("write", "between"), [(0, 1), (-1, 1), (1, 0), (math.nan, 1)])
def test_times_are_above_0(write: float, between: float) -> None:
    with pytest.raises(ParameterError, match="not above 0"):
        checkpoint_interval(write, between)
