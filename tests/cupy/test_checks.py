"""Indices are checked by the device: nothing waits, and every read of a result computed from an invalid index raises."""

import gc

import numpy as np
import pytest

from twofold import nd
from twofold.device import interned
from twofold.errors import IndexingError

from tests.backend.compilers import ARCHITECTURES, compile_for_gpu
from tests.cupy.conftest import SIMULATION, simulated

pytest.importorskip("cupy")
checks = pytest.importorskip("twofold_cupy.checks")
GPU = interned("gpu", 0)
X = np.arange(12, dtype=np.float32).reshape(4, 3)
pytestmark = pytest.mark.usefixtures("schedule")


def taken(ctx, *places):
    return nd.take(nd.array(X, ctx=ctx), nd.array(places, ctx=ctx), mode="raise")


def test_valid_indices_are_accepted(gpus, backend):
    np.testing.assert_array_equal(taken(gpus[0], 3, 0).asnumpy(), X[[3, 0]])
    nd.waitall()
    gc.collect()
    nd.take(nd.array(X, ctx=gpus[0]), nd.array([1], ctx=gpus[0]), mode="raise").asnumpy()
    assert len(backend.checks.checks_of_array) <= 2, "what was found right is forgotten"


@simulated
def test_the_host_does_not_wait_for_the_check(backend):
    there = [backend.from_host(a, GPU) for a in (X, np.array([1, 9, 2]))]
    backend.synchronize(GPU)
    before = SIMULATION.counts().synchronisations
    places = backend.quietly(lambda: backend.xp.checked_index(there[1], size=4, negative=False))
    backend.quietly(lambda x, at: backend.xp.take(x, at, axis=0), there[0], places)
    assert SIMULATION.counts().synchronisations == before
    with pytest.raises(IndexingError, match="index 9 for size 4"):
        backend.synchronize(GPU)


def test_every_read_of_a_result_of_an_invalid_index_raises(gpus):
    wrong = taken(gpus[0], 1, -2, 7)
    below = wrong * 2
    for array in (wrong, below, wrong[0], below):
        with pytest.raises(IndexingError, match="an index is out of bounds: given index -2 for size 4; pass indices from 0 to 3"):
            array.asnumpy()
    with pytest.raises(IndexingError, match="index -2"):
        (wrong + 1).copyto(nd.zeros((3, 3))).asnumpy()
    with pytest.raises(IndexingError, match="index -2"):
        nd.waitall()  # reports the copy, a task, once more


def test_results_independent_of_the_invalid_index_are_computed(gpus):
    x = nd.array(X, ctx=gpus[0])
    before = x + 1
    before.wait_to_read()
    wrong = taken(gpus[0], 4)
    with pytest.raises(IndexingError):
        wrong.asnumpy()
    np.testing.assert_array_equal(before.asnumpy(), X + 1)
    np.testing.assert_array_equal((x * 2).asnumpy(), X * 2)
    np.testing.assert_array_equal(taken(gpus[0], 2).asnumpy(), X[[2]])


def test_waiting_for_the_device_raises_once(gpus):
    wrong = taken(gpus[0], 5)
    with pytest.raises(IndexingError, match="index 5"):
        wrong.wait_to_read()
    nd.waitall()
    with pytest.raises(IndexingError, match="index 5"):
        wrong.asnumpy()


@pytest.mark.sanitizer
def test_the_first_invalid_index_is_named(backend):
    places = np.arange(5000) % 4
    places[[70, 3000]] = -9, 11
    found = backend.xp.checked_index(backend.from_host(places, GPU), size=4, negative=True)
    with pytest.raises(IndexingError, match="index -9 for size 4"):
        backend.to_host(found)


def test_a_repeated_check_reports_again(backend):
    """As when a graph is launched again, whose kernels write the same note."""
    stream = backend.stream(GPU)
    out = backend.empty((1,), "int64")
    with stream:
        note = backend.checks.launch_check(backend.from_host(np.array([8]), GPU), out, 4, False)
    first, second = (backend.from_host(np.ones(3, np.float32), GPU) for _ in range(2))
    backend.checks.watch(note, stream, first)
    with pytest.raises(IndexingError, match="index 8"):
        backend.to_host(first)
    backend.checks.watch(note, stream, second)
    np.testing.assert_array_equal(backend.to_host(second), np.ones(3))
    with pytest.raises(IndexingError, match="index 8"):
        backend.to_host(first)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64"])
def test_index_dtypes(backend, dtype):
    given = np.array([0, 3, 2], dtype)
    found = backend.xp.checked_index(backend.from_host(given, GPU), size=300, negative=False)
    np.testing.assert_array_equal(backend.to_host(found), given)
    with pytest.raises(IndexingError):
        backend.to_host(backend.xp.checked_index(backend.from_host(given, GPU), size=3, negative=False))


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_the_source_compiles_for_gpus(dtype):
    for architecture in ARCHITECTURES:
        compile_for_gpu(checks.kernel_source(dtype), architecture)


def test_an_empty_axis_has_no_valid_index(backend):
    with pytest.raises(IndexingError, match="size 0"):
        backend.xp.checked_index(backend.from_host(np.array([0]), GPU), size=0, negative=False)
    nothing = backend.from_host(np.zeros(0, np.int64), GPU)
    assert backend.to_host(backend.xp.checked_index(nothing, size=0, negative=False)).shape == (0,)
