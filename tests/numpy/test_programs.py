"""Seeded random programs on ``np`` arrays give NumPy's results and right gradients, bitwise the same in every execution mode."""

import os

import numpy
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.graph.tables import drop_generation
from twofold.imperative.counters import COUNTERS

from tests.cases import later_in_ci
from tests.numpy.random_programs import SIZE, reference, run
from tests.paths import check_paths

CASES = int(os.environ.get("FUZZ_CASES", "120"))
HUGE = 1 << 40


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)
    in_mode(monkeypatch)


def in_mode(monkeypatch, *, engine="window", defer=HUGE):
    monkeypatch.setattr(SETTINGS, "engine", engine)
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)


def assert_same(a, b, what):
    assert len(a) == len(b), what
    for x, y in zip(a, b, strict=True):
        numpy.testing.assert_array_equal(x, y, err_msg=what)


@pytest.mark.exact
@pytest.mark.fuzz
def test_every_mode_gives_the_same_bits(monkeypatch, record_property):
    COUNTERS.reset()
    for seed in range(CASES):
        for record in (False, True):
            in_mode(monkeypatch, engine="naive")
            naive = run(seed, record)
            in_mode(monkeypatch)
            assert_same(naive, run(seed, record), f"inline, seed {seed}, record {record}")
            for repetition in range(2):
                in_mode(monkeypatch, defer=8)
                assert_same(naive, run(seed, record), f"deferred, seed {seed}, record {record}, repetition {repetition}")
            if seed % 10 == 0:
                drop_generation()
    check_paths(record_property)


@pytest.mark.fuzz
def test_results_on_a_device_match_numpy(fake_gpus):
    for seed in range(0, CASES, 4):
        for got, want in zip(run(seed, seed % 8 == 0, fake_gpus[1]), reference(seed), strict=False):
            numpy.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")


@pytest.mark.fuzz
@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("defer", later_in_ci([8, HUGE]))
def test_results_match_numpy(monkeypatch, defer, record):
    in_mode(monkeypatch, defer=defer)
    for seed in range(CASES):
        want = reference(seed)
        for got, expected in zip(run(seed, record), want, strict=False):
            numpy.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")


@pytest.mark.ci
@pytest.mark.fuzz
@pytest.mark.parametrize("defer", [HUGE, 8])
def test_gradients_match_finite_differences(monkeypatch, defer):
    in_mode(monkeypatch, defer=defer)
    checked = 0
    for seed in range(0, CASES, 2):
        got = run(seed, True, length=9, detach=False)
        if len(got) == len(reference(seed, 9, detach=False)):
            continue  # the loss depended on no variable
        direction = numpy.random.default_rng(seed).standard_normal((2, SIZE))
        step = 1e-6
        ahead, behind = (float(reference(seed, 9, s * step * direction, detach=False)[-1]) for s in (1, -1))
        have = sum(float((g * d).sum()) for g, d in zip(got[-2:], direction, strict=True))
        assert have == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-4), f"seed {seed}"
        checked += 1
    assert checked > CASES // 5


def _standardized(np, x):
    mean = x.mean(1)
    return (x - mean[:, None]) / np.sqrt(((x - mean[:, None]) ** 2).mean(axis=1) + 1e-5).reshape(-1, 1), mean


ROWS = {
    "softmax": lambda np, x: (lambda e: e / e.sum(1)[:, None])(np.exp(x - x.max(axis=1)[:, None])),
    "standardized": lambda np, x: _standardized(np, x)[0],
    "its mean, too": _standardized,
    "norms": lambda np, x: x / np.expand_dims(np.sqrt((x * x).sum(-1)), -1),
    "of everything": lambda np, x: (x - x.sum()[None, None]) / x.max()[...] + np.sqrt((x * x).sum())[None],
    "range": lambda np, x: (x - x.min(-1)[..., None]) / (x.max(-1) - x.min(-1))[..., None],
}


@pytest.mark.exact
@pytest.mark.parametrize("name", ROWS)
def test_row_reductions_that_drop_their_axis_are_one_kernel(monkeypatch, name):
    x = numpy.random.default_rng(3).normal(size=(257, 31)).astype("float32")

    def got():
        found = ROWS[name](mx.np, mx.np.array(x))
        return [a.asnumpy() for a in (found if isinstance(found, tuple) else (found,))]

    in_mode(monkeypatch, engine="naive")
    naive = got()
    in_mode(monkeypatch, defer=8)
    got()
    COUNTERS.reset()
    assert_same(naive, got(), name)
    assert (COUNTERS.windows, COUNTERS.kernels) == (1, 1 if name != "of everything" else COUNTERS.kernels)
    want = ROWS[name](numpy, x)
    for a, b in zip(naive, want if isinstance(want, tuple) else (want,), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
