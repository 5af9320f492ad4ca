"""Sums: one fixed tree of blocks, the same bits however and wherever they are computed, and close to NumPy's."""

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.backend.loader import backend_for
from twofold.device import CPU
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.program.compile import Program
from twofold_numpy import namespace
from twofold_numpy.namespace import tree_sum

from .conftest import set_mode
from .operators import op
from tests.probe import dtype_name

CASES = [
    ((1000,), None, False),
    ((7, 50), 1, False),
    ((7, 50), 0, True),
    ((3, 4, 50), (1, 2), True),
    ((3, 4, 50), (0, 2), False),
    ((3, 4, 50), None, True),
    ((2, 1, 300), -1, False),
    ((5, 0), 1, False),
]


def values(shape, dtype="float32"):
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(dtype)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 elements, so that small rows have several."""
    monkeypatch.setattr(namespace, "BLOCK", 64)
    monkeypatch.setattr("twofold_numpy.calls.BLOCK", 64)


@pytest.mark.parametrize(("shape", "axis", "keepdims"), CASES)
def test_a_sum_is_bitwise_equal_in_every_mode(monkeypatch, small_blocks, shape, axis, keepdims):
    x, found = values(shape), []
    for name in ("naive", "inline", "inline", "deferred", "deferred"):
        set_mode(monkeypatch, name)
        found.append(op("sum", nd.array(x), axis=axis, keepdims=keepdims).asnumpy())
    below = leaf(0, shape, "float32")
    found += Program([G.sum(below, axis=axis, keepdims=keepdims)], [below], backend_for(CPU)).run([x])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    np.testing.assert_allclose(found[0], np.sum(x.astype(np.float64), axis=axis, keepdims=keepdims), rtol=1e-4, atol=1e-5)


def test_a_sum_after_other_operations_has_the_same_bits_in_every_mode(monkeypatch, small_blocks):
    x, found = values((6, 500)), []
    for name in ("naive", "inline", "deferred", "deferred"):
        set_mode(monkeypatch, name)
        a = nd.array(x)
        a.attach_grad()
        with autograd.record():
            s = op("sum", (a * 1.5 - 0.25).tanh(), axis=1)
            total = op("sum", s * s)
        total.backward()
        found.append([s.asnumpy(), total.asnumpy(), a.grad.asnumpy()])
    for other in found[1:]:
        for p, q in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_tree_of_a_row_depends_on_the_row_alone(small_blocks, rows):
    x = values((rows, 1000))
    together = tree_sum(x, 1)
    for k in range(rows):
        assert together[k] == tree_sum(x[k].copy())
        assert together[k] == tree_sum(x[k : k + 1], 1)[0]
    assert tree_sum(x, 1, True).shape == (rows, 1)


def test_the_tree_adds_numpys_block_sums_in_order():
    x = values(3 * namespace.BLOCK + 17)
    blocks = [np.add.reduce(x[k : k + namespace.BLOCK]) for k in range(0, len(x), namespace.BLOCK)]
    assert tree_sum(x) == np.add.reduce(np.array(blocks))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_the_order_of_memory_does_not_matter(small_blocks, axis):
    x = values((40, 30))
    np.testing.assert_array_equal(tree_sum(np.asfortranarray(x), axis), tree_sum(x, axis))
    np.testing.assert_array_equal(tree_sum(np.repeat(x, 2, 1)[:, ::2], axis), tree_sum(x, axis))


def test_a_large_sum_is_close_to_the_exact_one():
    x = values(400_000)
    assert float(tree_sum(x)) == pytest.approx(float(x.astype(np.float64).sum()), rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_is_summed_in_float32_and_rounded_once(mode, dtype):
    for _ in range(3):
        x = nd.array(values((4, 600)) + 1, dtype=dtype)
        got = op("sum", x, axis=1)
        assert dtype_name(got) == dtype
        want = np.add.reduce(x.asnumpy().astype(np.float32), 1).astype(x.dtype)
        np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "bool"])
def test_integers_are_summed_exactly(mode, dtype):
    x = (np.arange(100) % 2).astype(dtype)
    for _ in range(3):
        assert op("sum", nd.array(x, dtype=dtype)).asnumpy() == 50


def test_sums_into_given_memory():
    x = values((3, 400))
    out = np.empty(3, np.float32)
    np.testing.assert_array_equal(tree_sum(x, 1, False, out), tree_sum(x, 1))
    np.testing.assert_array_equal(out, tree_sum(x, 1))
