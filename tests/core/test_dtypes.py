"""Dtypes in every mode: Python scalars are weak, 0-d stays 0-d, 16-bit floats are for storage only, integers follow NumPy."""

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.dtype import NUMPY
from twofold.graph.build import G
from twofold.graph.gradient import gradient, ones_head
from twofold.graph.ir import leaf
from twofold.imperative.counters import COUNTERS

from .conftest import MODES, set_mode
from .operators import SIZE, free, op, ramp, soft
from tests.probe import dtype_name, is_pending, is_plain

FLOATS = ("float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", FLOATS)
def test_python_scalars_do_not_promote_dtypes(mode, dtype):
    for _ in range(3):
        x = nd.array(ramp(1.0) / 8, dtype=dtype)
        x.attach_grad()
        with autograd.record():
            y = (2.0 - x) * 0.5 / x + x * 3 - True + (x - 1).exp()
        y.backward()
        assert {dtype_name(y), dtype_name(x.grad)} == {dtype}
        v = x.asnumpy().astype(np.float64)
        tolerance = {"float16": 1e-2, "bfloat16": 1e-1}.get(dtype, 1e-5)
        np.testing.assert_allclose(
            y.asnumpy().astype(np.float64), (2 - v) * 0.5 / v + v * 3 - 1 + np.exp(v - 1), rtol=tolerance, atol=tolerance
        )
        np.testing.assert_allclose(x.grad.asnumpy().astype(np.float64), -1 / v**2 + 3 + np.exp(v - 1), rtol=tolerance, atol=4 * tolerance)


def test_a_head_gradient_has_the_dtype_of_its_head():
    for dtype in FLOATS:
        x = leaf("x", (3,), dtype, True)
        y = G.sum(x * 2.5)
        (g,) = gradient([y], [ones_head(y)], [x])
        assert (ones_head(y).dtype, g.dtype) == (dtype, dtype)


def test_folded_constants_stay_weakly_typed():
    x = leaf("x", (3,), "float16")
    assert (x * (G.multiply(2.0, 3.5))).dtype == "float16"
    assert G.add(1, 2.5).dtype == "weakf"
    assert G.negative(G.add(1, 2)).dtype == "weaki"
    assert (x + G.divide(1, 2)).dtype == "float16"


def test_zero_d_arrays_stay_arrays(mode):
    for _ in range(3):
        x = nd.array(ramp())
        x.attach_grad()
        with autograd.record():
            s = free("sum", free("multiply", x, x))
            t = free("add", free("exp", free("multiply", s, -0.001)), free("multiply", s, 2))
            u = free("negative", t)
        u.backward()
        for y in (s, t, u):
            assert y.shape == ()
            assert y.dtype is np.float32
            assert y.asnumpy().__class__ is np.ndarray
        np.testing.assert_allclose(x.grad.asnumpy(), -2 * ramp() * (2 - 0.001 * np.exp(-0.001 * (ramp() ** 2).sum())), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_products_are_computed_in_float32(mode, dtype):
    a, b = (np.random.default_rng(k).uniform(-1, 1, (SIZE, SIZE)).astype(NUMPY[dtype]) for k in (1, 2))
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(NUMPY[dtype])
    for _ in range(3):
        got = op("matmul", nd.array(a, dtype=dtype), nd.array(b, dtype=dtype))
        assert dtype_name(got) == dtype
        np.testing.assert_array_equal(got.asnumpy(), want)
    got = op("einsum", nd.array(a, dtype=dtype), nd.array(b, dtype=dtype), subscripts="ij,jk->ik")
    np.testing.assert_allclose(got.asnumpy().astype(np.float32), want.astype(np.float32), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_mode_gives_the_same_bits(monkeypatch, dtype):
    found = []
    for name in (*MODES, *MODES):
        set_mode(monkeypatch, name)
        x = nd.array((ramp(1.0) / 16).reshape(4, 4), dtype=dtype)
        x.attach_grad()
        with autograd.record():
            y = soft(x * 1.5 - 0.25) * x.exp()
            z = op("sum", y, axis=1) + op("matmul", y, x)[0]
        z.backward()
        found.append([y.asnumpy(), z.asnumpy(), x.grad.asnumpy()])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers_wrap_like_numpys(mode, dtype):
    x = np.array([0, 1, 5, 100, 120, 127] * 3).astype(dtype)
    for _ in range(3):
        a = nd.array(x, dtype=dtype)
        np.testing.assert_array_equal((a * a + a - 3).asnumpy(), x * x + x - np.array(3, dtype))
        assert dtype_name(a * a) == dtype


def test_a_cast_is_undone_by_the_gradient(mode):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    with autograd.record():
        y = x.astype("float64") * nd.array(ramp(), dtype="float64")
        z = y.astype("float16")
    z.backward()
    assert dtype_name(x.grad) == "float32"
    np.testing.assert_array_equal(x.grad.asnumpy(), ramp())


def test_operations_without_gradients_are_not_tracked(mode):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    with autograd.record():
        places = op("argmax", x.reshape((4, 4)), axis=1)
        whole = (x.astype("int32") * 2).astype("float32")
        y = whole * x
    assert dtype_name(places) == "int64"
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * ramp(1.0))


# modes


def test_every_mode_takes_its_own_execution_path(mode):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = soft(x.reshape((4, 4))) * 2.0
        y.backward()
        ((x * 2.0 + 1.0) * x).wait_to_read()
    taken = {name for name, count in COUNTERS.as_dict().items() if count}
    folding = {"deferred", "windows", "kernels", "fused"}
    assert taken & folding == (folding if mode == "deferred" else set())
    assert "inline" in taken or mode == "deferred"
    assert "recorded" in taken


def test_the_deferral_threshold_is_read_at_run_time(monkeypatch):
    set_mode(monkeypatch, "inline")
    x = nd.array(ramp())
    assert is_plain(x * 2.0)
    set_mode(monkeypatch, "deferred")
    x = nd.array(ramp())
    assert is_pending(x * 2.0)
    monkeypatch.setattr(SETTINGS, "defer_elements", SIZE + 1)
    assert is_plain(nd.array(ramp()) * 2.0)


def test_the_naive_engine_runs_everything_at_once(monkeypatch):
    set_mode(monkeypatch, "naive")
    x = nd.array(ramp())
    x.attach_grad()
    with autograd.record():
        y = (x * 2.0).exp()
        assert not is_pending(y)
        z = x.reshape((4, 4)) + 1.0
        assert not is_pending(z)
    y.backward()
    assert COUNTERS.deferred == COUNTERS.windows == COUNTERS.kernels == 0


def test_the_naive_engine_can_read_deferred_results(monkeypatch):
    set_mode(monkeypatch, "deferred")
    x = nd.array(ramp())
    y = x * 2.0
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    z = y + 1.0
    assert not is_pending(z)
    np.testing.assert_array_equal(z.asnumpy(), ramp() * 2 + 1)
