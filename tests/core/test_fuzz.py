"""Seeded random programs give NumPy's results, bitwise the same in every mode of execution, and every mode really was taken."""

import os
import threading

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold.graph.ir import drop_generation
from twofold.imperative.counters import COUNTERS
from twofold_numpy import blocked

from .random_programs import SIZE, reference, run
from tests.paths import check_paths

CASES = int(os.environ.get("FUZZ_CASES", "150"))
HUGE = 1 << 40


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)
    in_mode(monkeypatch)


def in_mode(monkeypatch, *, engine="window", defer=HUGE, block=65_536):
    monkeypatch.setattr(SETTINGS, "engine", engine)
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    monkeypatch.setattr(blocked, "BLOCK", block)


def assert_same(a, b, what):
    assert len(a) == len(b), what
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y, err_msg=what)


@pytest.mark.fuzz
def test_every_mode_gives_the_same_bits(monkeypatch, capsys):
    COUNTERS.reset()
    for seed in range(CASES):
        for record in (False, True):
            in_mode(monkeypatch, engine="naive")
            naive = run(seed, record)
            in_mode(monkeypatch)
            assert_same(naive, run(seed, record), f"inline, seed {seed}, record {record}")
            in_mode(monkeypatch, defer=8)
            assert_same(naive, run(seed, record), f"deferred, seed {seed}, record {record}")
            if seed % 10 == 0:
                drop_generation()
            in_mode(monkeypatch, defer=8, block=7)
            assert_same(naive, run(seed, record), f"blocks of 7, seed {seed}, record {record}")
            in_mode(monkeypatch, defer=8)
            assert_same(naive, run(seed, record), f"again, seed {seed}, record {record}")
    check_paths(capsys)


@pytest.mark.fuzz
@pytest.mark.parametrize("defer", [HUGE, 8])
def test_results_are_those_of_numpy(monkeypatch, defer):
    in_mode(monkeypatch, defer=defer)
    for seed in range(CASES):
        for got, want in zip(run(seed, False), reference(seed), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}")


@pytest.mark.fuzz
@pytest.mark.parametrize("defer", [HUGE, 8])
def test_gradients_are_those_of_finite_differences(monkeypatch, defer):
    in_mode(monkeypatch, defer=defer)
    checked = 0
    for seed in range(0, CASES, 2):
        got = run(seed, True, length=8, detach=False)
        if len(got) == len(reference(seed, 8, detach=False)):
            continue  # the loss depended on no variable
        grads = got[-2:]
        direction = np.random.default_rng(seed).standard_normal((2, SIZE))
        step = 1e-6
        ahead, behind = (float(reference(seed, 8, s * step * direction, detach=False)[-1].item()) for s in (1, -1))
        want = (ahead - behind) / (2 * step)
        have = sum(float((g * d).sum()) for g, d in zip(grads, direction, strict=True))
        assert have == pytest.approx(want, rel=2e-3, abs=2e-3), f"seed {seed}"
        checked += 1
    assert checked > CASES // 5


@pytest.mark.fuzz
def test_threads_do_not_disturb_one_another(monkeypatch):
    in_mode(monkeypatch, defer=8)
    seeds = range(0, CASES, 5)
    wanted = {seed: run(seed, True) for seed in seeds}
    got, failures = {}, []

    def work(part):
        try:
            for seed in part:
                got[seed] = run(seed, True)
        except Exception as error:  # reported below, in the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(list(seeds)[k::3],)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    for seed in seeds:
        assert_same(wanted[seed], got[seed], f"seed {seed}")
