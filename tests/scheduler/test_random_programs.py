"""Random programs on several CPU devices, whose windows other threads run: the same bits as operation by operation."""

import os

import numpy as np
import pytest

import twofold as mx
from twofold.backend.ledger import HAND_OFFS
from twofold.config import SETTINGS
from twofold.imperative import window
from twofold.imperative.counters import COUNTERS
from twofold.scheduler.queue import seeded_schedule

from tests.core.random_programs import run

CASES = int(os.environ.get("FUZZ_CASES", "300"))


@pytest.mark.fuzz
@pytest.mark.parametrize("threads", [True, False], ids=["threads", "seeded schedules"])
def test_programs_of_several_cpu_devices_give_the_same_bits(threads: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(window, "LAUNCHED", 0)
    before = HAND_OFFS.count
    COUNTERS.reset()
    for seed in range(0, CASES, 3):
        for record in (False, True):
            monkeypatch.setattr(SETTINGS, "engine", "naive")
            naive = run(seed, record, mx.cpu(2))
            monkeypatch.setattr(SETTINGS, "engine", "window")
            monkeypatch.setattr(SETTINGS, "defer_elements", 8)
            if threads:
                results = run(seed, record, mx.cpu(2))
            else:
                with seeded_schedule(seed):
                    results = run(seed, record, mx.cpu(2))
            for one, other in zip(naive, results, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}, record {record}")
    if threads:
        assert HAND_OFFS.count - before > 0.02 * COUNTERS.windows, "windows are run by other threads, too"
