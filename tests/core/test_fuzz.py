"""Seeded random programs give NumPy's results, bitwise the same in every execution mode, and every mode was really exercised.

``FUZZ_CASES`` programs, recorded and not; long searches are split into parts, which several processes can share.
"""

import os
import threading

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold.graph.tables import drop_generation
from twofold.imperative.counters import COUNTERS
from twofold_numpy import blocked
from twofold_numpy.jit.availability import is_installed

from .random_programs import SIZE, reference, run
from tests.cases import later_in_ci
from tests.conftest import absent
from tests.devices import fake_gpus
from tests.paths import check_device_paths, check_paths

CASES = int(os.environ.get("FUZZ_CASES", "700"))
#: Approximate number of programs per part.
PART = 250
PARTS = range(max(1, CASES // PART))
HUGE = 1 << 40


def seeds_of(part):
    return range(part, CASES, len(PARTS))


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
@pytest.mark.parametrize("part", later_in_ci(PARTS))
def test_every_mode_gives_the_same_bits(monkeypatch, record_property, part):
    COUNTERS.reset()
    for number, seed in enumerate(seeds_of(part)):
        for record in (False, True):
            in_mode(monkeypatch, engine="naive")
            naive = run(seed, record)
            in_mode(monkeypatch)
            assert_same(naive, run(seed, record), f"inline, seed {seed}, record {record}")
            in_mode(monkeypatch, defer=8)
            assert_same(naive, run(seed, record), f"deferred, seed {seed}, record {record}")
            if number % 10 == 0:
                drop_generation()
            in_mode(monkeypatch, defer=8, block=7)
            assert_same(naive, run(seed, record), f"blocks of 7, seed {seed}, record {record}")
            in_mode(monkeypatch, defer=8)
            assert_same(naive, run(seed, record), f"again, seed {seed}, record {record}")
    check_paths(record_property)


@pytest.mark.fuzz
@pytest.mark.parametrize("schedule", later_in_ci(["late", "issue", "eager"]))
def test_a_device_gives_the_same_bits(monkeypatch, record_property, schedule):
    with fake_gpus(1, schedule) as (gpu,):
        COUNTERS.reset()
        for seed in range(0, CASES, 3):
            for record in (False, True):
                in_mode(monkeypatch, engine="naive")
                naive = run(seed, record, wanders=False)
                in_mode(monkeypatch, defer=8)
                assert_same(naive, run(seed, record, gpu, wanders=False), f"{schedule}, seed {seed}, record {record}")
        check_device_paths(record_property, "donated", "fused")


@pytest.mark.fuzz
@pytest.mark.parametrize("schedule", later_in_ci(["late", "issue", "eager"]))
def test_several_devices_give_the_same_results(monkeypatch, record_property, schedule):
    """Bitwise, except for gradients: contributions from another device are added last."""
    with fake_gpus(2, schedule) as (gpu, _):
        COUNTERS.reset()
        for seed in range(1, CASES, 6):
            in_mode(monkeypatch, engine="naive")
            count, naive = len(reference(seed)), run(seed, True)
            in_mode(monkeypatch, defer=8)
            got = run(seed, True, gpu)
            assert_same(naive[:count], got[:count], f"{schedule}, seed {seed}")
            for have, want in zip(got[count:], naive[count:], strict=True):
                np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4, err_msg=f"{schedule}, seed {seed}")
        check_device_paths(record_property, "copies", "donated")


@pytest.mark.fuzz
def test_machine_code_is_within_its_tolerance(monkeypatch, tmp_path):
    if not is_installed():
        absent("no llvmlite: install twofold[jit]")
    from twofold_numpy.jit import tiering

    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path))
    monkeypatch.setattr(tiering, "WORTH", 0)  # compiles small kernels, too, at their second use
    monkeypatch.setattr(tiering, "LOADED_FROM", 0)
    for seed in range(0, CASES, 50):
        in_mode(monkeypatch, engine="naive")
        naive = run(seed, True)
        monkeypatch.setattr(SETTINGS, "jit", True)
        for defer in (8, HUGE):
            in_mode(monkeypatch, defer=defer)
            for _ in range(3):
                for got, want in zip(run(seed, True), naive, strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=f"seed {seed}, from {defer}")
        monkeypatch.setattr(SETTINGS, "jit", False)
    assert tiering.Stats.compiled + tiering.Stats.loaded > 0


@pytest.mark.fuzz
@pytest.mark.parametrize("defer", later_in_ci([8, HUGE]))
def test_results_match_numpy(monkeypatch, defer):
    in_mode(monkeypatch, defer=defer)
    for seed in range(CASES):
        for got, want in zip(run(seed, False), reference(seed), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}")


@pytest.mark.fuzz
@pytest.mark.parametrize("defer", later_in_ci([8, HUGE]))
def test_gradients_match_finite_differences(monkeypatch, defer):
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
def test_threads_do_not_interfere(monkeypatch):
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
