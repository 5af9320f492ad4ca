"""Products of 8-bit integers: machine code and products of floats give the sums of integer arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.backend import integer_products as by_floats
from twofold.config import SETTINGS
from twofold_numpy import convolution, integer_products
from twofold_numpy.jit import integer_products as machine_code
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.namespace import NumpyNamespace

XP = NumpyNamespace()
WAYS = ("machine code", "floats")


def drawn(rng, shape, dtype):
    """8-bit integers, half of them the least and the largest."""
    info = np.iinfo(dtype)
    return np.clip(rng.integers(info.min - 64, info.max + 65, shape), info.min, info.max).astype(dtype)


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Both ways to compute."""
    own = compiler()
    if request.param == "floats":
        monkeypatch.setattr(SETTINGS, "jit", False)
    elif own is None or not own.has_integer_products:
        pytest.skip("this processor has no instructions for products of 8-bit integers")
    return request.param


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_of_any_size_are_exact(way, dtype):
    rng = np.random.default_rng(1)
    for _ in range(60):
        m, n, k = rng.integers(1, [40, 40, 300])
        rows, weight = drawn(rng, (m, 2 * k), dtype), drawn(rng, (n, k), "int8")
        rows = rows[:, :k] if m % 2 else rows[:, ::2]  # rows apart, and elements apart
        found = XP.integer_matmul(rows, weight)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, rows.astype(np.int64) @ weight.astype(np.int64).T)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_convolutions_of_any_geometry_are_exact(way, dtype):
    rng = np.random.default_rng(2)
    for _ in range(60):
        dims = rng.integers(1, 3)
        groups = int(rng.choice([1, 1, 2, 3]))
        n, depth, per = (int(x) for x in rng.integers(1, [4, 20, 12]))
        kernel, stride, dilate, pad = (tuple(map(int, rng.integers(low, 4, dims))) for low in (1, 1, 1, 0))
        size = tuple(map(int, rng.integers(7, 30, dims)))
        params = {"stride": stride, "dilate": dilate, "pad": pad, "groups": groups}
        data, weight = drawn(rng, (n, groups * depth, *size), dtype), drawn(rng, (groups * per, depth, *kernel), "int8")
        found = XP.integer_convolve(data, weight, **params)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, XP.convolve(data.astype(float), weight.astype(float), **params), str((size, kernel, params)))


def test_floats_are_not_transformed(monkeypatch):
    """Winograd's algorithm, which is chosen for floats of these sizes without a compiler, would round."""
    monkeypatch.setattr(SETTINGS, "jit", False)
    rng, params = np.random.default_rng(3), {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
    data, weight = drawn(rng, (8, 64, 28, 28), "int8"), drawn(rng, (64, 64, 3, 3), "int8")
    exact = XP.convolve(data.astype(float), weight.astype(float), **params)
    convolution.chosen.cache_clear()
    try:
        assert (XP.convolve(data.astype(np.float32), weight.astype(np.float32), **params).astype(np.int32) != exact).any()
        np.testing.assert_array_equal(XP.integer_convolve(data, weight, **params), exact)
    finally:
        convolution.chosen.cache_clear()


@pytest.mark.parametrize("bits", [256, 512])
def test_every_width_of_vectors_gives_the_same_sums(bits, monkeypatch):
    own = compiler()
    if own is None or not own.has_integer_products or own.machine.vector_bits < bits:
        pytest.skip("this processor has no such instructions")
    assert own.assembly(machine_code._product_text(bits)).count("vpdpbusd") == 16 + 16 + 4


def test_a_large_product_is_shared_by_threads(monkeypatch):
    shared = []
    monkeypatch.setattr(machine_code, "run_all", lambda tasks: shared.extend(tasks) or [task() for task in tasks])
    monkeypatch.setattr(machine_code.workers, "count", lambda: 3)
    own = machine_code.integer_products()
    if own is None:
        pytest.skip("this processor has no instructions for products of 8-bit integers")
    rng = np.random.default_rng(4)
    rows, weight = drawn(rng, (64, 1000), "int8"), drawn(rng, (1003, 1000), "int8")
    np.testing.assert_array_equal(own.matmul(rows, weight), rows.astype(np.int64) @ weight.astype(np.int64).T)
    assert len(shared) == 3
    own.matmul(rows[:2], weight)
    assert len(shared) == 3, "small ones are not"


def test_few_columns_and_many_axes_are_products_of_floats(monkeypatch):
    taken = []
    monkeypatch.setattr(by_floats, "matmul", lambda *args: taken.append("matmul"))
    monkeypatch.setattr(by_floats, "convolve", lambda *args, **params: taken.append("convolve"))
    rng = np.random.default_rng(5)
    integer_products.matmul(XP, drawn(rng, (5, 6), "int8"), drawn(rng, (3, 6), "int8"))
    steps = {"stride": (1, 1, 1), "dilate": (1, 1, 1), "pad": (0, 0, 0), "groups": 1}
    integer_products.convolve(XP, drawn(rng, (1, 2, 3, 3, 3), "int8"), drawn(rng, (2, 2, 2, 2, 2), "int8"), **steps)
    assert taken == ["matmul", "convolve"]
