"""Axes of any length: their thread blocks, the order of addition when they are split into parts, and extrema across parts."""

import math

import numpy as np
import pytest

from twofold.device import interned
from twofold.dtype import NUMPY

from tests.backend.compilers import compile_for_gpu
from tests.cases import later_in_ci, spread_in_ci
from tests.cupy.conftest import launches_of, simulated

GPU = interned("gpu", 0)
pytest.importorskip("cupy")
launch = pytest.importorskip("twofold_cupy.launch")
reductions = pytest.importorskip("twofold_cupy.reductions")
dry_run = pytest.importorskip("twofold_cupy.dry_run")
scans = pytest.importorskip("twofold_cupy.scans")
#: Outer, reduced and inner sizes: more parts than a grid has along y, more rows and columns than it has blocks along x.
HUGE = [(1, 2**32 + 1, 1), (1, 2**34, 3), (2**33, 9, 1), (2**31, 2, 2), (2**40, 1, 1), (2**36, 2, 40), (70_000, 70_000, 1), (1, 10, 2**38)]


class Nowhere:
    """Arrays without memory."""

    def empty(self, shape, dtype):
        return dry_run.placeholder(shape, dtype)


@pytest.fixture
def launched(backend, monkeypatch):
    """The (name, grid, block) of what would be launched."""
    seen = []
    for module in (reductions, scans):
        monkeypatch.setattr(module, "function", lambda text, name: lambda grid, block, arguments: seen.append((name, grid, block)))
    return seen


def on_gpu(backend, name, x, **params):
    return backend.to_host(getattr(backend.xp, name)(backend.from_host(x, GPU), **params))


def drawn(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(NUMPY[dtype])


# axes apart from one another


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("axes", [(0, 2), (0, 2, 3), (1, 3), (), None])
def test_axes_that_are_apart_are_reduced_one_after_the_other(backend, axes, dtype):
    x = (np.maximum(drawn(3, 4, 5, 6) - 1.5, 0) * 8).astype(dtype)  # mostly zeros, so that `any` is False for some of them
    for name in ("sum", "max", "any"):
        want = getattr(np, name)(x.astype("float64") if name == "sum" else x, axis=axes, keepdims=True)
        got = on_gpu(backend, name, x, axis=axes, keepdims=True)
        relative, absolute = (1e-3, 1e-2) if dtype == "float16" else (1e-6, 1e-5)
        np.testing.assert_allclose(got.astype(float), want.astype(float), relative, absolute)


def test_halves_are_accumulated_across_axes_before_they_are_rounded(backend):
    x = np.full((64, 2, 64), 1 / 3, np.float16)
    (first, _) = on_gpu(backend, "sum", x, axis=(0, 2))
    assert first == np.float16(np.float64(np.float16(1 / 3)) * 64 * 64)


def test_long_columns_are_cut_into_parts(backend):
    x = drawn(3, 2 * reductions.COLUMN_PART + 7, 5)
    np.testing.assert_allclose(on_gpu(backend, "sum", x, axis=1), x.astype("float64").sum(1), 1e-5, 1e-4)


# grids


@pytest.mark.parametrize("shape", HUGE)
def test_grids_cover_all_sizes(launched, shape):
    outer, n, inner = shape
    x = dry_run.placeholder(shape, np.dtype(np.int8))
    rows = dry_run.placeholder((outer * inner, n), np.dtype(np.int8))
    small, large = (dry_run.placeholder((outer, inner), np.dtype(dtype)) for dtype in (np.int8, np.int64))
    reductions.reduce_middle(Nowhere(), "max", x, *shape, small)
    reductions.reduce_middle(Nowhere(), "sum", x, *shape, large)
    reductions.arg_extremum(Nowhere(), "argmax", x, *shape, large)
    scans.scan(Nowhere(), "sum", rows, dry_run.placeholder(rows.shape, np.dtype(np.int64)))
    names = {name.removesuffix("_rows").removesuffix("_columns") for name, _, _ in launched}
    assert names == {"tf_max", "tf_sum", "tf_argmax", "tf_running_sum"}
    for _, (blocks,), block in launched:
        assert 0 < blocks <= 2**31 - 1
        assert math.prod(block) <= 1024


def test_long_axes_use_many_blocks(launched):
    x, out = (dry_run.placeholder((1, 2**20), np.dtype(dtype)) for dtype in (np.float32, np.float32))
    reductions.arg_extremum(Nowhere(), "argmax", x, 1, 2**20, 1, out)
    assert launched == [("tf_argmax_rows", (256,), (256, 1)), ("tf_argmax_rows", (1,), (32, 8))]
    launched.clear()
    scans.scan(Nowhere(), "sum", x, out)
    assert [grid for _, grid, _ in launched] == [(256,), (1,), (256,)]


def test_a_block_handles_several_short_rows(launched):
    x, out = (dry_run.placeholder((1000, 10), np.dtype(dtype)) for dtype in (np.float32, np.float32))
    reductions.arg_extremum(Nowhere(), "argmax", x, 1000, 10, 1, out)
    scans.scan(Nowhere(), "sum", x, out)
    assert launched == [("tf_argmax_rows", (8,), (2, 128)), ("tf_running_sum", (63,), (16, 16))]


@pytest.mark.sanitizer
def test_blocks_loop_if_there_is_more_work_than_a_grid_holds(backend, monkeypatch):
    x, programs = drawn(70, 9, 40), [("sum", 1), ("max", 2), ("argmax", 0), ("argmin", 2), ("cumulative_sum", 2), ("cumulative_prod", 0)]
    want = [on_gpu(backend, name, x, axis=axis) for name, axis in programs]
    monkeypatch.setattr(launch, "MAX_BLOCKS", 3)
    for (name, axis), result in zip(programs, want, strict=True):
        np.testing.assert_array_equal(on_gpu(backend, name, x, axis=axis), result)


# reductions


@pytest.mark.parametrize(("inner", "order"), [((), (0, 1, 2)), ((2,), (0, 2, 1))])
def test_a_long_sum_adds_the_sums_of_its_parts(backend, inner, order):
    """Parts have 65,536 elements. One thread adds a row's three sums in turn; for columns three threads have one each and combine them."""
    x = drawn(3 * 65_536, *inner)
    sums = [on_gpu(backend, "sum", part, axis=0) for part in np.split(x, 3)]
    first, second, third = (sums[k] for k in order)
    np.testing.assert_array_equal(on_gpu(backend, "sum", x, axis=0), first + second + third)


# indices of extrema


@pytest.mark.sanitizer
@pytest.mark.parametrize("dtype", later_in_ci(["float32", "int8", "bool", "float64", "float16", "int64", "uint8"], 3))
@pytest.mark.parametrize(
    ("shape", "axis"), [((9000,), 0), ((3, 9000), 1), ((4097, 3), 0), ((2, 4100, 2), 1), ((300, 3), 1), ((40, 2, 5), 1)]
)
def test_extrema_have_numpys_indices(backend, dtype, shape, axis):
    x = np.random.default_rng(1).integers(0, 100, shape).astype(NUMPY[dtype])  # many elements are equal, in all parts
    np.testing.assert_array_equal(on_gpu(backend, "argmax", x, axis=axis), np.argmax(x, axis=axis))
    np.testing.assert_array_equal(on_gpu(backend, "argmin", x, axis=axis), np.argmin(x, axis=axis))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("places", [(8999,), (5000, 8999), (0, 5000), (4096,), (4095, 4096)])
def test_the_first_nan_of_a_long_row_wins(backend, name, places):
    x = drawn(2, 9000)
    x[:, [7, 8000]] = np.array([math.inf, -math.inf], np.float32)
    x[0, list(places)] = math.nan
    np.testing.assert_array_equal(on_gpu(backend, name, x, axis=1), getattr(np, name)(x, axis=1))


def test_extrema_of_parts_are_reduced_in_parts(backend, monkeypatch):
    monkeypatch.setattr(reductions, "SEARCH_PART", 8)
    for shape in ((2, 500), (500, 3)):
        x = np.random.default_rng(2).integers(0, 30, shape).astype(np.float32)
        axis = shape.index(500)
        np.testing.assert_array_equal(on_gpu(backend, "argmax", x, axis=axis), x.argmax(axis))
        np.testing.assert_array_equal(on_gpu(backend, "argmin", x, axis=axis), x.argmin(axis))


@simulated
@pytest.mark.parametrize(("length", "searches", "scanned"), [(4096, 1, 1), (4097, 2, 3), (100_000, 2, 3)])
def test_a_long_row_takes_few_launches(backend, length, searches, scanned):
    x = backend.from_host(drawn(length), GPU)
    assert launches_of(lambda: backend.xp.argmax(x)) == searches
    assert launches_of(lambda: backend.xp.cumulative_sum(x, axis=0)) == scanned


# running sums


def by_pieces(x):
    """The running sum of a row in the kernel's order: segments of 256, each scanned by doubling, plus the prefix before it."""
    out, carried = [], np.float32(0)
    for begin in range(0, len(x), 256):
        piece = x[begin : begin + 256].copy()
        step = 1
        while step < 256:
            piece[step:] = piece[:-step] + piece[step:]
            step *= 2
        out.append(carried + piece)
        carried = carried + piece[-1]
    return np.concatenate(out)


@pytest.mark.sanitizer
@pytest.mark.parametrize("length", [1, 2, 3, 10, 255, 256, 257, 1000, 4096])
def test_running_sums_of_unsplit_rows_go_segment_by_segment(backend, length):
    x = drawn(5, length)
    np.testing.assert_array_equal(on_gpu(backend, "cumulative_sum", x, axis=1), np.stack([by_pieces(row) for row in x]))


@pytest.mark.sanitizer
@pytest.mark.parametrize("dtype", later_in_ci(["int8", "uint8", "int32", "bool"], 2))
@pytest.mark.parametrize(("shape", "axis"), [((3, 9000), 1), ((4097, 2), 0), ((8192,), 0), ((1000, 10), 1)])
def test_running_sums_of_integers_match_numpy(backend, dtype, shape, axis):
    x = np.random.default_rng(3).integers(0, 100, shape).astype(NUMPY[dtype])
    for name, run in (("cumulative_sum", np.cumsum), ("cumulative_prod", np.cumprod)):
        want = run(x, axis=axis)
        got = on_gpu(backend, name, x, axis=axis)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-13), ("float16", 2e-3), ("bfloat16", 1e-2)])
def test_long_running_sums_are_accurate(backend, dtype, tolerance):
    x = np.random.default_rng(4).uniform(0, 1, (2, 20_000)).astype(NUMPY[dtype])
    got = on_gpu(backend, "cumulative_sum", x, axis=1).astype(np.float64)
    np.testing.assert_allclose(got, np.cumsum(x.astype(np.float64), axis=1), tolerance)
    x = np.random.default_rng(5).uniform(0.99, 1.01, (2, 9000)).astype(NUMPY["float64"])
    np.testing.assert_allclose(on_gpu(backend, "cumulative_prod", x, axis=1), np.cumprod(x, axis=1), 1e-12)


def test_a_rows_order_of_addition_ignores_other_rows(backend):
    x = drawn(4, 9000)
    together = on_gpu(backend, "cumulative_sum", x, axis=1)
    for row, alone in zip(together, x, strict=True):
        np.testing.assert_array_equal(on_gpu(backend, "cumulative_sum", alone, axis=0), row)


def test_the_sums_of_very_many_parts_are_scanned_in_parts(backend, monkeypatch):
    monkeypatch.setattr(scans, "PART", 16)
    x = np.random.default_rng(6).integers(-9, 9, (3, 5000))
    np.testing.assert_array_equal(on_gpu(backend, "cumulative_sum", x, axis=1), np.cumsum(x, axis=1))


# sources


@pytest.mark.parametrize("dtype", spread_in_ci(["float32", "float64", "float16", "bfloat16", "int8", "bool"], 3))
@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize(("among_found", "finds"), [(False, True), (True, True), (True, False)])
def test_arg_reductions_of_parts_compile(dtype, rows, among_found, finds):
    compile_for_gpu(reductions.extremum_source("argmax", dtype, among_found, finds, rows=rows), "sm_90")
