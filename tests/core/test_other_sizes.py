"""Programs of windows whose arrays have another size at every call: made from those of other sizes, with the same bits."""

import random
import threading
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
import twofold.np as tnp
from twofold.backend.loader import backend_for
from twofold.device import CPU
from twofold.errors import MXNetError
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.graph.tables import drop_generation
from twofold.imperative import window_program
from twofold.imperative.counters import COUNTERS
from twofold.imperative.window_program import WindowProgram
from twofold.program import other_sizes
from twofold.program.cache import PROGRAMS
from twofold.program.compile import Program
from twofold.program.other_sizes import FORMS, LEAST, NEAR, RANGE, SAMPLES, ResizedProgram, form_of, resizer

RNG = np.random.default_rng(34)
SIZES = [70_000, 91_003, 120_001, 80_002, 150_000, 99_999]


@pytest.fixture(autouse=True)
def _no_programs():
    drop_generation()
    COUNTERS.reset()


def normal(np, x):
    """The step of a script: a chain with sums, numbers that follow from the size, and views."""
    d = x - x.mean()
    z = d / np.sqrt((d * d).mean())
    w = np.where(z > 0, np.exp(-z * z / 2) * 0.4, -z)
    return [np.clip(w, -0.5, 0.5), (w * x).sum(), w[1:] - w[:-1], d.max()]


def made_from_others():
    return [e.program for e in PROGRAMS.values() if isinstance(e, WindowProgram) and isinstance(e.program, ResizedProgram)]


def bits(results):
    return [np.asarray(r).tobytes() for r in results]


def planned(monkeypatch, function, *args):
    """The results where every program is planned."""
    drop_generation()
    with monkeypatch.context() as m:
        m.setattr(window_program, "program_of_form", Program)
        results = function(tnp, *map(tnp.asarray, args))
        return bits(results)


def test_other_sizes_reuse_the_plan_and_have_its_bits(monkeypatch):
    xs = [RNG.random(n) for n in SIZES]
    found = [bits(normal(tnp, tnp.asarray(x))) for x in xs]
    assert COUNTERS.resized == len(made_from_others()) > 0
    assert found == [planned(monkeypatch, normal, x) for x in xs]
    for x, one in zip(xs, found, strict=True):
        for got, want in zip(one, normal(np, x), strict=True):
            np.testing.assert_allclose(np.frombuffer(got).reshape(np.shape(want)), want, rtol=1e-12, atol=1e-14)


def test_a_few_samples_are_planned_and_no_more():
    for n in SIZES:
        x = tnp.asarray(RNG.random(n))
        (x * 2.5 - x).wait_to_read()
    assert COUNTERS.windows == len(SIZES)
    assert COUNTERS.compiled == SAMPLES
    assert COUNTERS.resized == len(SIZES) - SAMPLES


def test_a_size_that_comes_again_finds_its_program():
    for n in (*SIZES, *SIZES):
        (tnp.ones(n) * 2.5 + 1).wait_to_read()
    assert COUNTERS.compiled + COUNTERS.resized == len(SIZES)


def test_sizes_far_from_all_samples_are_planned():
    for n in SIZES:
        (tnp.ones(n) * 2.5 + 1).wait_to_read()
    COUNTERS.reset()
    for n in (max(SIZES) * RANGE + 1, max(SIZES) * RANGE):
        (tnp.ones(n) * 2.5 + 1).wait_to_read()
    assert (COUNTERS.compiled, COUNTERS.resized) == (1, 1)


def test_rows_and_columns(monkeypatch):
    def of_rows(np, x):
        s = x - x.max(axis=1, keepdims=True)
        e = np.exp(s)
        return [e / e.sum(axis=1, keepdims=True), (x * x).sum(axis=0), x[:, 1] * x[:, 0], x.reshape(-1) * 0.5]

    xs = [RNG.random((n, 12)).astype("float32") for n in (7000, 8001, 9500, 10_002, 7777, 11_000)]
    found = [bits(of_rows(tnp, tnp.asarray(x))) for x in xs]
    assert COUNTERS.resized > 0
    assert found == [planned(monkeypatch, of_rows, x) for x in xs]


def test_a_number_that_only_looks_like_the_size_stays():
    # the same number in all of them, close to two of the sizes
    for n in (70_000, 70_001, 91_000, 80_000, 85_000):
        x = tnp.ones(n, "int64")
        assert int((x * 3 + x).sum()) == 4 * n
        parts = tnp.where(tnp.arange(n) < 69_999, x * 7, x)
        assert int(parts.sum()) == 69_999 * 7 + (n - 69_999)


def test_two_arrays_of_different_sizes():
    # the sizes of each pair follow from one another at first, and then no more
    for n, m in [(70_000, 70_003), (80_000, 80_003), (90_000, 90_003), (95_000, 95_003), (95_000, 95_001), (99_000, 70_000)]:
        a, b = tnp.ones(n), tnp.ones(m)
        total = (a * 2 + 1).sum() + (b * 3 - 1).sum()
        assert float(total) == 3 * n + 2 * m
    assert COUNTERS.resized == 1


#: Steps of a chain: the function of two arrays of one size.
STEPS = [
    lambda np, a, b: a + b,
    lambda np, a, b: a * b,
    lambda np, a, b: np.sqrt(abs(a)),
    lambda np, a, b: np.where(a > b, a, b * 2),
    lambda np, a, b: a - a.mean(),
    lambda np, a, b: a / (b.max() + 1),
    lambda np, a, b: a[3:] - b[:-3],
    lambda np, a, b: a[::-1] + 1,
    lambda np, a, b: np.minimum(a, b.sum()),
]


def test_random_chains_have_the_bits_of_planned_ones(monkeypatch):
    resized = 0
    for seed in range(40):
        steps = random.Random(seed).choices(range(len(STEPS)), k=random.Random(-seed).randint(1, 9))

        def chain(np, x, y, steps=tuple(steps)):
            kept = [x, y]
            for k in steps:
                a, b = kept[-1], kept[-2]
                b = b[: a.shape[0]] if b.shape[0] > a.shape[0] else b
                a = a[: b.shape[0]]
                kept.append(STEPS[k](np, a, b))
            return kept[2:]

        drop_generation()
        COUNTERS.reset()
        pairs = [(RNG.random(n), RNG.random(n)) for n in SIZES]
        found = [bits(chain(tnp, *map(tnp.asarray, pair))) for pair in pairs]
        resized += COUNTERS.resized
        assert found == [planned(monkeypatch, chain, *pair) for pair in pairs], (seed, steps)
    assert resized > 40  # two or three of each six


def test_results_in_the_memory_of_inputs():
    for n in SIZES:
        x = tnp.asarray(np.arange(n, dtype="float64"))
        x = x * 2 + 1  # the input is nobody else's
        x = x - 1
        np.testing.assert_array_equal(x, np.arange(n) * 2.0)
        y = tnp.ones(n)
        y += 2.5
        y *= 2
        assert (float(y[0]), float(y[-1])) == (7.0, 7.0)
    assert COUNTERS.resized > 0


def test_an_error_names_the_line_that_issued_the_operation():
    for n in (*SIZES, 75_000):
        y = tnp.ones(n) * 2.5 + 1  # this line
        if n != 75_000:
            y.wait_to_read()
    made = ResizedProgram.__init__

    def failing(self, sample, leaves, code, planned):
        at = next(name for name in code.env if name.startswith("kernel"))

        def kernel(*arrays):
            raise ValueError("the kernel fails")

        made(self, sample, leaves, code._replace(env={**code.env, at: kernel}), planned)

    with pytest.MonkeyPatch.context() as m:
        m.setattr(ResizedProgram, "__init__", failing)
        with pytest.raises((MXNetError, ValueError), match="the kernel fails") as caught:
            y.wait_to_read()
    assert "this line" in Path(__file__).read_text().splitlines()[caught_line(caught.value) - 1]


def caught_line(error):
    (note,) = [n for n in error.__notes__ if "issued" in n]
    assert "issued at" in note
    return int(note.rpartition("line ")[2].split()[0].rstrip(",:)") if "line " in note else note.rpartition(":")[2].split()[0].rstrip(",)"))


def test_observers_see_the_program_of_the_size_itself():
    for n in SIZES:
        (tnp.ones(n) * 2.5 + 1).wait_to_read()
    x = tnp.ones(SIZES[-1])
    with mx.explain() as report:
        (x * 2.5 + 1).wait_to_read()
    (flush,) = report.flushes
    assert flush.program.leaves[0].shape == (SIZES[-1],)
    assert flush.program.steps[0].nodes[0].shape == (SIZES[-1],)


def test_programs_of_many_sizes_keep_no_scratch_memory():
    def masked(np, x):
        b = x > 0
        return np.where(b, x * b.sum(), 1) + x

    for n in (110_000, 110_001, 110_002, 400_000, 120_000, 110_010):
        x = np.arange(n, dtype="float32") - 9.0
        np.testing.assert_array_equal(masked(tnp, tnp.asarray(x)), masked(np, x))
    made = made_from_others()
    assert len(made) == 3
    assert any(p.code.scratch for p in made)
    assert [p.scratch for p in made] == [[], [], []]


def test_observers_see_a_program_in_stages():
    for n in SIZES:
        (tnp.ones(n) * 2.5 + 1).wait_to_read()
    (*_, program) = made_from_others()
    size = program.leaves[0].shape[0]
    wanted = np.full(size, 3.5)
    for k in range(3):
        told = []
        arrays = [np.ones(size) if n.shape else 2.5 for n in program.leaves]
        with mx.explain() if k == 1 else nullcontext():
            (found,) = program.run_in_stages(arrays, ((0,),), lambda *given, told=told: told.append(given))
        np.testing.assert_array_equal(found, wanted)
        ((number, results),) = told
        assert number == 0
        assert results[0] is found
        assert ("program" in vars(program._planned)) == (k > 0)  # while observers listen the program of the size itself runs


def test_settings_that_programs_depend_on_forget_the_forms():
    for n in SIZES:
        (tnp.ones(n) * 2.5 + 1).wait_to_read()
    assert FORMS
    drop_generation()
    assert not FORMS


def test_threads():
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            n = int(rng.integers(70_000, 90_000))
            got = (tnp.asarray(np.full(n, 2.0)) * 3 + 1).sum()
            if float(got) != 7.0 * n:
                failures.append((n, float(got)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    assert COUNTERS.resized > 0


# values and sizes


@pytest.mark.parametrize("value", [(5000, 3), (10_000, 2.5, 5000.0), [("a", 4990)], {"shape": (15_001, 7), "axis": 1}, (True, None, -5000)])
def test_numbers_that_follow_from_a_size_are_changed(value):
    for new in (5000, 6000, 1_000_000):
        change = resizer(value, 5000)
        again = value if change is None else change(new)
        assert again.__class__ is value.__class__
        assert form_of(again, new) == form_of(value, 5000)
        assert (again == value) == (new == 5000 or change is None)


@pytest.mark.parametrize("value", [3, 2.5, float("inf"), float("nan"), -70_000, True, None, "shape", 70_000 + NEAR + 1, LEAST, 69_000.5])
def test_other_values_stay(value):
    assert resizer(value, 70_000) is None
    assert form_of(value, 70_000) == form_of(value, 80_000)


def test_numbers_of_other_types_are_other_forms():
    forms = [form_of(v, 70_000) for v in (0.0, -0.0, 0, False, 1, 1.0, True, 70_000, 70_000.0, 70_001)]
    assert len(set(forms)) == len(forms)


def test_programs_that_differ_in_more_than_the_size_are_no_pattern():
    form = other_sizes._Form()
    for n, factor in ((70_000, 2.5), (80_000, 2.5), (90_000, 3.5)):
        form.add(_program(n, factor), n)
    assert form.state == "none"
    assert form.samples == []


def _program(n, factor):
    x = leaf("x", (n,), "float64")
    return Program([G.multiply(G.sqrt(x), factor)], [x], backend_for(CPU))
