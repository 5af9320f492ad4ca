"""Sums over axes before the last one in machine code: NumPy's bits, and what it leaves to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold_numpy import column_sums, scatter
from twofold_numpy.jit import availability
from twofold_numpy.namespace import NumpyNamespace, tree_sum

from .jit import fresh

__all__ = ["fresh"]


def sums(a, axis, keepdims=False, out=None):
    sizes = column_sums.split(a.shape, axis)
    return None if sizes is None else column_sums.column_sums(a, sizes, axis, keepdims, out)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(scatter, "is_worth_loading", lambda work: True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((64, 16), 0),
        ((1000, 3), -2),
        ((8, 39, 16), 1),
        ((4, 6, 100), (1,)),
        ((5, 7, 11, 17), (1, 2)),
        ((5, 7, 11, 17), (-2, -4, -3)),
        ((2, 3, 600, 2), 1),
        ((3, 40, 301), -2),
        ((700, 501), 0),  # chunks of rows, the last one shorter
        ((2, 9000, 5), 1),
    ],
)
def test_terms_are_added_in_numpys_order(shape, axis, keepdims, dtype, monkeypatch):
    monkeypatch.setattr(column_sums, "LEAST", 1)
    column_sums.split.cache_clear()
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    a[a > 1.5] = -0.0
    expected = np.add.reduce(a, axis, keepdims=keepdims)
    found = sums(a, axis, keepdims)
    assert found is not None
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
    out = np.full((*expected.shape, 2), 7, dtype)[..., 0]  # with gaps
    assert sums(a, axis, keepdims, out) is out
    assert out.tobytes() == expected.tobytes()
    column_sums.split.cache_clear()


def test_negative_zeros_add_up_to_numpys_zero():
    a = np.full((4, 20, 20), -0.0, np.float32)
    found = sums(a, 1)
    assert found is not None
    assert found.tobytes() == np.add.reduce(a, 1).tobytes()


def test_numbers_that_are_not_finite_are_added():
    a = np.ones((4, 20, 20), np.float32)
    a[0, 3, 5], a[1, 2, 3], a[1, 7, 3], a[2, 0, 0] = np.nan, np.inf, -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        found, expected = sums(a, 1), np.add.reduce(a, 1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((64, 39, 16), None, "f"),  # each has its own tree
        ((64, 39, 16), 2, "f"),
        ((64, 39, 16), (1, 2), "f"),
        ((64, 39, 16), (0, 2), "f"),
        ((64, 39, 16), (), "f"),
        ((64, 390, 1), 1, "f"),
        ((16, 4, 4), 1, "f"),  # small
        ((2, 3, 4000), 1, "f"),  # long runs
        ((0, 700, 4), 1, "f"),
        ((20, 0, 60), 1, "f"),
        ((64, 39, 16), 1, "i"),
        ((64, 39, 16), 1, "e"),
        ((64, 39, 16), 1, ">f4"),
    ],
)
def test_other_sums_are_numpys(shape, axis, dtype):
    a = (np.arange(np.prod(shape)).reshape(shape) % 7).astype(dtype)
    assert sums(a, axis) is None
    expected = np.add.reduce(a.astype("f"), axis).astype(a.dtype) if dtype == "e" else np.add.reduce(a, axis)
    np.testing.assert_array_equal(NumpyNamespace.sum(a, axis), expected)


def test_without_jit_numpy_adds(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    assert sums(np.ones((64, 39, 16), np.float32), 1) is None


def test_programs_add_in_machine_code(monkeypatch):
    a = np.random.default_rng(0).standard_normal((64, 39, 16)).astype("f")
    done = []
    code = column_sums._code(a.dtype)
    assert code is not None
    monkeypatch.setattr(column_sums, "_code", lambda dtype: lambda *arrays: (done.append(arrays[0].shape), code(*arrays))[1])
    x = mx.sym.Variable("x")
    bound = mx.sym.sum(mx.sym.square(x), axis=1).bind(mx.cpu(), {"x": mx.nd.array(a)})
    found = bound.forward()[0].asnumpy()
    assert found.tobytes() == np.add.reduce(a * a, 1).tobytes()
    assert done == [(64, 39, 16)]


def test_sums_of_long_runs_do_not_load_the_compiler(monkeypatch):
    monkeypatch.setattr(scatter, "is_worth_loading", availability.is_worth_loading)
    monkeypatch.setattr(availability, "is_loaded", lambda: False)
    monkeypatch.setattr(availability, "_done", [0.0])
    asked = []
    monkeypatch.setattr(column_sums, "_code", asked.append)
    tree_sum(np.ones((2000, 1000)), 0)
    assert not asked
    tree_sum(np.ones((1 << 22, 2)), 0)
    assert asked
