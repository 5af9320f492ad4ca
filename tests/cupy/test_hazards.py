"""Each wait and each memory rule is needed: without it a search over schedules finds a wrong result."""

import contextlib
import gc
import threading

import numpy as np
import pytest

from twofold.backend.kernel import ProgramTraits
from twofold.device import interned

from tests.cases import later_in_ci
from tests.cupy.conftest import SIMULATION, simulated
from tests.fakes.simulation import SCHEDULES

cupy = pytest.importorskip("cupy")
capture = pytest.importorskip("twofold_cupy.capture")
graph_io = pytest.importorskip("twofold_cupy.graph_io")
limits = pytest.importorskip("twofold_cupy.limits")
pytestmark = simulated
GPU, OTHER = interned("gpu", 0), interned("gpu", 1)
SEEDS, SEARCHED = 8, 100  # correct code is run in this many schedules; a failure is searched for in more, up to the first that shows it
X = np.arange(40_000, dtype=np.float32)


def schedules(seeds=SEEDS):
    """The schedules to try, the seeded ones last."""
    return [(SCHEDULES[0], 0), (SCHEDULES[1], 0), *[(SCHEDULES[2], seed) for seed in range(seeds)]]


def pipeline(backend):
    """Copies to a device, between devices and back, with computations in between, each in its stream, as the core issues them."""
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
    pool = cupy.cuda.MemoryPool()  # new memory is poisoned, so it holds no correct results of an earlier run
    SIMULATION.schedule(schedule, seed)
    try:
        with cupy.cuda.using_allocator(pool.malloc):
            got = run(backend)
        return all(np.array_equal(g, w) for g, w in zip(got, (X + X, (X + X) ** 2), strict=False))
    finally:
        SIMULATION.schedule("late")
        backend.trim()
        for device in range(backend.device_count()):
            with cupy.cuda.Device(device):
                pool.free_all_blocks()


def waits_of(run, backend):
    SIMULATION.ignore_wait(-1)
    assert is_right(run, backend, "late", 0)
    before = SIMULATION.counts().waits
    SIMULATION.ignore_wait(-1)  # restart the counts
    assert is_right(run, backend, "late", 0)
    assert before
    return SIMULATION.counts().waits


def test_the_pipeline_is_correct_in_every_schedule(backend):
    assert all(is_right(pipeline, backend, *s) for s in schedules())


def test_every_missing_wait_is_detected(backend):
    count = waits_of(pipeline, backend)
    assert count >= 4
    for number in range(count):
        found = False
        for schedule in schedules(SEARCHED):
            SIMULATION.ignore_wait(number)
            found = not is_right(pipeline, backend, *schedule)
            SIMULATION.ignore_wait(-1)
            if found:
                break
        assert found, f"nothing notices that wait {number} of {count} is missing"


def short_lived(backend):
    """Memory that a copy stream filled dies before the compute stream has used it, and more is copied."""
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
    """The source of a copy between devices dies, and later work on its device allocates memory."""
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
def test_a_missing_memory_rule_is_detected(backend, monkeypatch, run, rule):
    assert all(is_right(run, backend, *s) for s in schedules())
    without = {"empty_for_copy": lambda shape, dtype, stream: backend.memory.empty(shape, dtype), "hold": lambda array, mark: None}
    monkeypatch.setattr(backend.memory, rule, without[rule])
    assert not all(is_right(run, backend, *s) for s in schedules(SEARCHED))


TRAITS = ProgramTraits(9, frozenset(), frozenset(), frozenset({"matmul"}), ())
RUNS = 9


def small(backend, number):
    return backend.from_host(np.random.default_rng(number).normal(size=(8, 8)).astype(np.float32), GPU)


def chained(backend, wrap, length=2):
    """A program on a matrix and a scalar."""
    xp = backend.xp

    def run(arrays):
        x, rate = arrays
        product = xp.matmul(xp.multiply(x, backend.scalar(rate, "float32")), x)
        for _ in range(length):
            product = xp.add(product, xp.sum(product, axis=0))
        return [product]

    program = wrap(run, TRAITS)
    return lambda x, rate=2.0: backend.quietly(program, [x, rate])[0]


def moved_later(backend, wrap):
    program, inputs = chained(backend, wrap), [small(backend, k) for k in range(RUNS)]
    return [backend.to_host(program(inputs[max(0, k - 5)])) for k in range(RUNS)]


def moved_always(backend, wrap):
    program, inputs = chained(backend, wrap), [small(backend, k) for k in range(RUNS)]
    return [backend.to_host(program(x)) for x in inputs]


def kept_later(backend, wrap):
    program, x, kept = chained(backend, wrap), small(backend, 0), []
    for k in range(RUNS):
        (kept if k > 4 else []).append(program(x, 1.0 + k))
    return [backend.to_host(r) for r in kept]


def kept_always(backend, wrap):
    program, x = chained(backend, wrap), small(backend, 0)
    kept = [program(x, 1.0 + k) for k in range(RUNS)]
    return [backend.to_host(r) for r in kept]


def kept_longer_than_the_graph(backend, wrap):
    program, x = chained(backend, wrap), small(backend, 0)
    for _ in range(RUNS):
        program(x)
    result = program(x)
    del program
    backend.trim()
    others = [small(backend, 70 + k) for k in range(40)]
    return [backend.to_host(result), backend.to_host(others[-1])]


def written_over(backend, wrap):
    """A donated input at a new address each time."""
    xp, states = backend.xp, [small(backend, k) for k in range(RUNS)]

    def run(arrays):
        (state,) = arrays
        backend.write(state, ..., xp.add(state, xp.matmul(state, state)))
        return [state]

    program = wrap(run, TRAITS._replace(donated=frozenset({0}), dead=frozenset({0})))
    return [backend.to_host(backend.quietly(program, [state])[0]) for state in states]


def given_back(backend, wrap):
    """A result is the next input, whose memory is then not checked."""
    xp, state = backend.xp, small(backend, 0)
    program = wrap(lambda arrays: [xp.tanh(xp.add(xp.matmul(arrays[0], arrays[0]), arrays[0]))], TRAITS._replace(dead=frozenset({0})))
    found = []
    for _ in range(RUNS):
        (state,) = backend.quietly(program, [state])
        found.append(backend.to_host(state))
    return found


def turned(backend, wrap):
    program, x = chained(backend, wrap), small(backend, 0)
    return [backend.to_host(program(x.T if k % 2 else x)) for k in range(2 * RUNS)]


def turned_elsewhere(backend, wrap):
    program, inputs = chained(backend, wrap), [small(backend, k) for k in range(2 * RUNS)]
    return [backend.to_host(program(x[::-1] if k % 2 else x.T)) for k, x in enumerate(inputs)]


def two(backend, wrap):
    """Results of some programs are kept while another program runs."""
    first, x, kept = chained(backend, wrap, 4), small(backend, 0), []
    for _ in range(4):
        first(x)
    for length in range(4):
        other = chained(backend, wrap, length)
        for _ in range(4):
            other(x, 3.0)
        kept.append(other(x, 4.0))
    for k in range(3):
        first(x, 5.0 + k)
    return [backend.to_host(r) for r in kept]


@pytest.mark.parametrize("locked", [True, False])
def test_threads_take_turns_with_a_graph(backend, monkeypatch, locked):
    """A second thread tries to run the program between the first one's writing of scalars and its launch."""
    replays, results = [], []
    program = chained(backend, lambda run, traits: replays.append(capture.GraphRunner(backend.graphs, run, traits)) or replays[-1])
    x = small(backend, 0)
    want = [backend.to_host(program(x, 1.0 + k)) for k in range(6)]
    if not locked:
        monkeypatch.setattr(replays[0], "_lock", contextlib.nullcontext())
    second = threading.Thread(target=lambda: results.append(program(x, 4.0)))
    real = capture.copy_batch

    def copy_batch(*given):
        real(*given)
        if second.ident is None:
            second.start()
            second.join(0.3)

    monkeypatch.setattr(capture, "copy_batch", copy_batch)
    first = program(x, 2.0)
    second.join()
    assert np.array_equal(backend.to_host(first), want[1]) == locked


def test_threads_take_turns_capturing(backend):
    entered = []

    def enter():
        with backend.graphs.capturing(0):
            entered.append(True)

    second = threading.Thread(target=enter)
    with backend.graphs.capturing(0):
        second.start()
        second.join(0.2)
        assert not entered
    second.join()
    assert entered


def test_a_program_in_a_copy_stream_is_not_captured(backend):
    """Its graph would be launched among that stream's copies, unordered with its operands."""
    program, x = chained(backend, lambda run, traits: capture.GraphRunner(backend.graphs, run, traits)), small(backend, 0)
    before = backend.graphs.counts.captured
    with backend.stream(GPU, "h2d") as queue:
        backend.wait(queue, backend.record(backend.stream(GPU)))
        for _ in range(RUNS):
            program(x)
    assert backend.graphs.counts.captured == before


SCENES = (
    moved_later,
    moved_always,
    kept_later,
    kept_always,
    kept_longer_than_the_graph,
    written_over,
    given_back,
    turned,
    turned_elsewhere,
    two,
)


class Shared(cupy.cuda.MemoryPool):
    """A pool that several graphs allocate from."""

    def release(self):
        """Release nothing."""


ONE_FOR_ALL = Shared()
RULES = {
    "inputs that moved": (capture.CapturedGraph, "changed_addresses", lambda self, arrays: []),
    "results in use": (capture.CapturedGraph, "in_use", lambda self: []),
    "numbers": (capture.ScalarInputs, "stale_words", lambda self, arrays: capture.NO_WORDS),
    "copies in": (graph_io.Static, "copy_from", lambda self, array: (array.data.ptr, self.array.data.ptr, 0)),
    "copies out": (graph_io.Copied, "given", lambda self, arrays, out: self._memory.empty(self.array.shape, self.array.dtype)),
    "copies back": (graph_io.Donated, "given", lambda self, arrays, out: arrays[self._at]),
    "results that are given back": (capture, "_run", lambda program, carried, given: program(given)),
    "a loan's memory": (graph_io.Loan, "__init__", lambda self, array, pool: None),
    "strides": (capture, "_memory_layout", lambda a: "alike"),
    "memory of its own": (limits, "PrivatePool", lambda allocate: ONE_FOR_ALL),
}


@pytest.mark.parametrize("rule", later_in_ci([None, *RULES], 2))
def test_a_missing_graph_rule_is_detected(backend, monkeypatch, rule):
    def results(scene, schedule, seed, wrap):
        gc.collect()
        backend.trim()
        SIMULATION.schedule(schedule, seed)
        try:
            return scene(backend, wrap)
        finally:
            SIMULATION.schedule("late")

    def is_found(scene):
        want = results(scene, "late", 0, lambda run, traits: run)
        for schedule, seed in schedules()[:4]:
            got = results(scene, schedule, seed, lambda run, traits: capture.GraphRunner(backend.graphs, run, traits))
            if not all(np.array_equal(g, w) for g, w in zip(got, want, strict=True)):
                return True
        return False

    before = backend.graphs.counts.launched
    if rule is not None:
        monkeypatch.setattr(*RULES[rule])
    found = [scene.__name__ for scene in SCENES if is_found(scene)]
    assert bool(found) == (rule is not None), found
    assert backend.graphs.counts.launched > before + 3 * len(SCENES)
