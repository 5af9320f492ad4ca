"""Einstein sums as NumPy spells them: implicit results, ellipses, repeated indices."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
import twofold.ndarray

GOOD = [
    ("ij,jk", (2, 3), (3, 4)),
    (" i j , j k -> k i ", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("i,j", (2,), (3,)),
    ("ij->", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iii->i", (3, 3, 3)),
    ("iji->j", (3, 2, 3)),
    ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)),
    ("...", (2, 3)),
    ("...i->...", (2, 3, 4)),
    ("...ij,...jk", (5, 2, 3), (5, 3, 4)),
    ("...ij,jk->...k", (5, 2, 3), (3, 4)),
    ("i...,i...", (3, 2), (3, 2)),
    ("...i,...j->...ij", (3,), (2, 4)),
    ("...a,...b->...ab", (1, 2, 3), (4, 1, 5)),
    ("...a,...a->...", (2, 3), (1, 3)),
    ("ab,ab->b", (1, 3), (4, 1)),
]
BAD = [
    ("i,i", (3,)),
    ("ij", (3,)),
    ("i->j", (3,)),
    ("i->ii", (3,)),
    ("ij,jk", (2, 3), (4, 5)),
    ("b...i,b...j->bij", (2, 3, 4), (2, 3, 5)),
]


def operands(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    return [draw.uniform(-1, 1, shape) for shape in shapes]


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in GOOD])
def test_einsum_matches_numpy(subscripts: str, shapes: list[tuple[int, ...]]):
    arrays = operands(tuple(shapes))
    got = mx.nd._internal._npi_einsum(*[mx.nd.array(a, dtype="float64") for a in arrays], subscripts=subscripts)
    want = np.einsum(subscripts, *arrays)
    np.testing.assert_allclose(got.asnumpy(), want.reshape(want.shape or (1,)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in BAD])
def test_invalid_subscripts_are_rejected(subscripts: str, shapes: list[tuple[int, ...]]):
    with pytest.raises(mx.MXNetError, match="einsum"):
        mx.nd._internal._npi_einsum(*[mx.nd.ones(shape) for shape in shapes], subscripts=subscripts)


TURNED = [
    ("ij,kl->ljik", (20, 20), (20, 20)),
    ("ijk,jil->jki", (8, 8, 17), (8, 8, 30)),
    ("ij,jk->ki", (40, 30), (30, 50)),
    ("i,j->ji", (9,), (5,)),
]


@pytest.mark.parametrize(("subscripts", "shapes"), [(s, shapes) for s, *shapes in TURNED])
def test_results_have_memory_of_their_own_in_row_major_order(subscripts: str, shapes: list[tuple[int, ...]]):
    arrays = operands(tuple(shapes))
    want = np.einsum(subscripts, *arrays)
    found = mx.np.einsum(subscripts, *map(mx.np.array, arrays))
    flat = found.reshape(-1)
    flat[1] = 7.0
    found.ravel()[2] = 8.0
    assert (found.ravel()[1], flat[2]) == (7.0, 8.0)
    weight = np.random.default_rng(1).uniform(size=want.shape)
    got = (mx.np.einsum(subscripts, *map(mx.np.array, arrays)) * mx.np.array(weight) + 1.0) * 2.0
    np.testing.assert_allclose(got.asnumpy(), (want * weight + 1.0) * 2.0, rtol=1e-12)


@pytest.mark.parametrize("n", [100, 6000])
def test_operands_of_different_dtypes_are_cast_before_any_is_multiplied(n: int):
    hundred, one = np.full(n, 100, "int8"), np.ones(n)
    assert float(mx.np.einsum("i,i,i->", mx.np.array(hundred), mx.np.array(hundred), mx.np.array(one))) == 10_000.0 * n


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,kj->ik", [(2, 3), (4, 1)]),
        ("ij,kj->ik", [(2, 1), (4, 3)]),
        ("ij,j->i", [(2, 3), (1,)]),
        ("ij,ij,ij->ij", [(2, 1), (1, 3), (2, 3)]),
        ("ij,jk,ki->", [(2, 1), (3, 4), (1, 2)]),
        ("ij,ij->", [(2, 1), (2, 0)]),
        ("...i,...i->...", [(2, 3), (1, 3)]),
        ("...i,ij->...j", [(2, 1), (3, 4)]),
        ("ii,ij->j", [(3, 3), (1, 2)]),
    ],
)
def test_gradients_of_broadcast_indices_are_sums(subscripts: str, shapes: list[tuple[int, ...]]):
    random = np.random.default_rng(0)
    given = [random.integers(-4, 5, shape).astype(float) for shape in shapes]
    weights = random.integers(-4, 5, np.einsum(subscripts, *given).shape).astype(float)
    variables = [mx.np.array(a) for a in given]
    for v in variables:
        v.attach_grad()
    with mx.autograd.record():
        total = (mx.np.einsum(subscripts, *variables) * mx.np.array(weights)).sum()
    total.backward()
    for k, v in enumerate(variables):
        # the sum is linear in each operand: its change along a step is its value at that step
        step = random.integers(-4, 5, v.shape).astype(float)
        change = (np.einsum(subscripts, *given[:k], step, *given[k + 1 :]) * weights).sum()
        assert (v.grad.asnumpy() * step).sum() == change
