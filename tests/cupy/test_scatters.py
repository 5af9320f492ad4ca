"""Scatters: values for one element are added in a fixed order, by several threads if there are many."""

import numpy as np
import pytest

from twofold.device import interned
from twofold.dtype import NUMPY

from tests.backend.compilers import compile_for_gpu
from tests.cupy.conftest import launches_of, simulated

GPU = interned("gpu", 0)
pytest.importorskip("cupy")
gathers = pytest.importorskip("twofold_cupy.gathers")
CHUNK = gathers.CHUNK
SHORT = (1, 2, CHUNK - 1, CHUNK, 5, CHUNK)
#: How often each element is written: run ends and chunk boundaries meet in every combination.
LONG = [(CHUNK + 1,), (CHUNK, CHUNK + 1, CHUNK), (1000,), (1, 65, 65, 64, 1, 130, 3, 66, 67), (500, 1, 2, 1, 70), (128, 128, 129, 127)]


def writes(counts, dtype="float32", rest=(), seed=0):
    """Zeros, values of very different magnitudes, and their indices in random order."""
    draw = np.random.default_rng(seed)
    places = draw.permutation(np.repeat(np.arange(len(counts)), counts))
    values = draw.normal(size=(len(places), *rest)) * 10.0 ** draw.integers(-3, 2, (len(places), *[1] * len(rest)))
    return np.zeros((len(counts), *rest), NUMPY[dtype]), values.astype(NUMPY[dtype]), places


def written(backend, name, out, values, places):
    key = (0, *[None] * (out.ndim - 1))
    given = [backend.from_host(a, GPU) for a in (out, values, places)]
    return backend.to_host(getattr(backend.xp, name)(*given, key=key))


def added(out, values, places):
    want = out.copy()
    np.add.at(want, places, values)
    return want


def by_chunks(out, values):
    """An element's sum: first the values that fill no whole chunk, then the sums of the chunks."""
    head = (len(values) - 1) % CHUNK + 1
    for value in values[:head]:
        out = out + value
    for begin in range(head, len(values), CHUNK):
        total = values[begin]
        for value in values[begin + 1 : begin + CHUNK]:
            total = total + value
        out = out + total
    return out


@pytest.mark.sanitizer
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rest", [(), (3,), (2, 5)])
def test_short_runs_are_added_in_numpys_order(backend, dtype, rest):
    given = writes(SHORT, dtype, rest)
    np.testing.assert_array_equal(written(backend, "index_add", *given), added(*given))


@pytest.mark.sanitizer
@pytest.mark.parametrize("rest", [(), (3,)])
@pytest.mark.parametrize("counts", LONG)
def test_long_runs_are_added_by_chunks(backend, counts, rest):
    out, values, places = writes(counts, rest=rest)
    got = written(backend, "index_add", out, values, places)
    np.testing.assert_array_equal(got, [by_chunks(out[k], values[places == k]) for k in range(len(counts))])
    exact = added(out.astype(np.float64), values.astype(np.float64), places)
    np.testing.assert_allclose(got, exact, 1e-5, 1e-4)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "bool"])
@pytest.mark.parametrize("counts", LONG)
def test_integers_are_added_as_in_numpy(backend, dtype, counts):
    out, _, places = writes(counts)
    values = np.random.default_rng(1).integers(0, 100, len(places)).astype(NUMPY[dtype])
    out = out.astype(values.dtype)
    np.testing.assert_array_equal(written(backend, "index_add", out, values, places), added(out, values, places))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_runs_are_rounded_once_after_all_chunks(backend, dtype):
    out, values, places = writes((300, 20), dtype)
    whole = np.array([by_chunks(np.float32(0), values[places == k].astype(np.float32)) for k in range(2)])
    got = written(backend, "index_add", out, values, places)
    np.testing.assert_array_equal(got.view(np.uint16), whole.astype(NUMPY[dtype]).view(np.uint16))


def test_writes_to_other_elements_change_no_sum(backend):
    out, values, places = writes((300, 70, 5, 90), rest=(2,))
    together = written(backend, "index_add", out, values, places)
    for k in range(len(out)):
        alone = written(backend, "index_add", out, values[places == k], places[places == k])
        np.testing.assert_array_equal(alone[k], together[k])


@pytest.mark.sanitizer
@pytest.mark.parametrize("counts", [SHORT, *LONG])
def test_the_last_write_to_an_element_wins(backend, counts):
    out, values, places = writes(counts, rest=(2,))
    want = out.copy()
    want[places] = values
    np.testing.assert_array_equal(written(backend, "index_update", out, values, places), want)


def test_a_scalar_is_added_repeatedly(backend):
    out, places = np.zeros(3, np.float32), np.array([1] * 200 + [2])
    np.testing.assert_array_equal(written(backend, "index_add", out, np.float32(0.5), places), [0, 100, 0.5])


def test_no_thread_adds_many_elements(backend, monkeypatch):
    """32,000 values for one element: 499 sums of 64, then one thread adds the remaining 64 values and these sums."""
    threads = {}
    monkeypatch.setattr(gathers, "run", lambda kernel, count, *arguments: threads.setdefault(kernel, count))
    monkeypatch.setattr(gathers, "function", lambda text, name: name)
    monkeypatch.setattr(gathers, "argsort_rows", lambda memory, places, *, descending: places)
    written(backend, "index_add", *writes((32_000,), rest=(4,)))
    assert threads == {"tf_places": 32_000, "tf_ends": 32_000, "tf_sums": 500 * 4, "tf_add": 32_000 * 4}


@simulated
def test_plain_writes_need_no_partial_sums(backend):
    out, values, places = (backend.from_host(a, GPU) for a in writes((200,)))
    added = launches_of(lambda: backend.xp.index_add(out, values, places, key=(0,)))
    put = launches_of(lambda: backend.xp.index_update(out, values, places, key=(0,)))
    assert added is not None
    assert added - 2 == put


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize(("dtype", "given"), [("float32", "float32"), ("float16", "float32"), ("bfloat16", "bfloat16"), ("bool", "bool")])
@pytest.mark.parametrize(("rank", "rest"), [(0, 1), (1, 0), (2, 3)])
def test_scatter_sources_compile(dtype, given, adds, rank, rest):
    compile_for_gpu(gathers.write_source(dtype, given, rank, rest, adds=adds), "sm_90")
    compile_for_gpu(gathers.ENDS, "sm_90")
