"""Each wait, and each rule about memory, is needed: without it a search over schedules finds a wrong result."""

import numpy as np
import pytest

from twofold.device import Device

from tests.cupy.conftest import SIMULATION
from tests.fakes.simulation import SCHEDULES

pytestmark = pytest.mark.skipif(SIMULATION is None, reason="needs the simulation's schedules")
GPU, OTHER = Device("gpu", 0), Device("gpu", 1)
SEEDS = 8
X = np.arange(40_000, dtype=np.float32)


def schedules():
    """All schedules that are tried, the seeded ones last."""
    return [(SCHEDULES[0], 0), (SCHEDULES[1], 0), *[(SCHEDULES[2], seed) for seed in range(SEEDS)]]


def pipeline(backend):
    """Copies to a device, between devices and back, and computations in between, each in its stream, as the core issues them."""
    h2d, compute, d2h = (backend.stream(GPU, purpose) for purpose in ("h2d", "compute", "d2h"))
    arriving, there = backend.stream(OTHER, "h2d"), backend.stream(OTHER)
    with h2d:
        x = backend.from_host(X, GPU)
    backend.wait(compute, backend.record(h2d))
    with compute:
        y = backend.xp.add(x, x)
    backend.wait(arriving, backend.record(compute))
    with arriving:
        z = backend.copy(y, OTHER)
    backend.wait(there, backend.record(arriving))
    with there:
        out = backend.xp.multiply(z, z)
    backend.wait(d2h, backend.record(compute))
    with d2h:
        sums = backend.to_host(y)
    return sums, backend.to_host(out)


def is_right(run, backend, schedule, seed):
    backend.trim()  # new memory is poisoned, and holds no right numbers of an earlier run
    SIMULATION.schedule(schedule, seed)
    try:
        got = run(backend)
        return all(np.array_equal(g, w) for g, w in zip(got, (X + X, (X + X) ** 2), strict=False))
    finally:
        SIMULATION.schedule("late")


def waits_of(run, backend):
    SIMULATION.ignore_wait(-1)
    assert is_right(run, backend, "late", 0)
    before = SIMULATION.counts().waits
    SIMULATION.ignore_wait(-1)  # counts from 0 again
    assert is_right(run, backend, "late", 0)
    assert before
    return SIMULATION.counts().waits


def test_the_pipeline_is_right_in_every_schedule(backend):
    assert all(is_right(pipeline, backend, *s) for s in schedules())


def test_every_wait_that_is_left_out_is_found(backend):
    count = waits_of(pipeline, backend)
    assert count >= 4
    for number in range(count):
        found = False
        for schedule in schedules():
            SIMULATION.ignore_wait(number)
            found = not is_right(pipeline, backend, *schedule)
            SIMULATION.ignore_wait(-1)
            if found:
                break
        assert found, f"nothing notices that wait {number} of {count} is missing"


def short_lived(backend):
    """What a copy stream filled dies while the compute stream has not used it yet, and more is copied."""
    h2d, compute = backend.stream(GPU, "h2d"), backend.stream(GPU)
    sums = []
    for _ in range(3):
        with h2d:
            x = backend.from_host(X, GPU)
        backend.wait(compute, backend.record(h2d))
        with compute:
            sums.append(backend.xp.add(x, x))
        del x
        with h2d:
            backend.from_host(np.full_like(X, -1), GPU)
    return [backend.to_host(s) for s in sums[:1]]


def dying_source(backend):
    """The source of a copy between devices dies, and what comes next on its device takes memory."""
    compute = backend.stream(GPU)
    with compute:
        x = backend.from_host(X, GPU)
        y = backend.xp.add(x, x)
    there = backend.copy(y, OTHER)
    del y
    with compute:
        backend.from_host(np.full_like(X, -1), GPU)
        backend.xp.add(x, backend.scalar(-3.0, "float32"))
    return [backend.to_host(there)]


@pytest.mark.parametrize(("run", "rule"), [(short_lived, "empty_for_copy"), (dying_source, "hold")])
def test_a_rule_about_memory_that_is_left_out_is_found(backend, monkeypatch, run, rule):
    assert all(is_right(run, backend, *s) for s in schedules())
    without = {"empty_for_copy": lambda shape, dtype, stream: backend.memory.empty(shape, dtype), "hold": lambda array, mark: None}
    monkeypatch.setattr(backend.memory, rule, without[rule])
    backend.trim()
    assert not all(is_right(run, backend, *s) for s in schedules())
