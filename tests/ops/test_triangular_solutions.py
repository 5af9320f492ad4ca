"""Solutions of triangular equations by parts: any shape of operands, gradients, and what is left to a general solution."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.ops.linear_algebra import ROWS_AT_ONCE, solve_triangular

SIDES = list(product((False, True), repeat=3))


def triangular(shape, lower):
    """Well-conditioned triangular matrices (…, n, n)."""
    draw, n = np.random.default_rng(shape[-1]), shape[-1]
    a = draw.uniform(-1, 1, (*shape, n)) + n * np.eye(n)
    return np.tril(a) if lower else np.triu(a)


@pytest.mark.parametrize(("transpose", "rightside", "lower"), SIDES)
@pytest.mark.parametrize("shape", [(65,), (2, 150), (3, 2, 130)])
def test_solutions_and_gradients_are_those_of_general_equations(shape, transpose, rightside, lower):
    a, n = triangular(shape, lower), shape[-1]
    draw = np.random.default_rng(0)
    b, dout = (draw.normal(size=(*shape[:-1], *((5, n) if rightside else (n, 5)))) for _ in range(2))
    A, B = nd.array(a, dtype="float64"), nd.array(b, dtype="float64")
    for x in (A, B):
        x.attach_grad()
    with mx.autograd.record():
        # the other triangle is not read
        full = A + nd.array(np.swapaxes(triangular(shape, lower), -1, -2), dtype="float64") * (1 - nd.array(a != 0, dtype="float64"))
        found = nd.linalg.trsm(full, B, transpose=transpose, rightside=rightside, lower=lower, alpha=2.0)
    found.backward(nd.array(dout, dtype="float64"))
    op = np.linalg.inv(np.swapaxes(a, -1, -2) if transpose else a)
    back = np.swapaxes(op, -1, -2)
    want = 2 * (b @ op if rightside else op @ b)
    db = 2 * (dout @ back if rightside else back @ dout)
    # dA = -dB · Xᵀ for A · X = B (Giles, 2.3.1), and its transposes
    da = -np.swapaxes(want, -1, -2) @ db if rightside else -db @ np.swapaxes(want, -1, -2)
    da = np.swapaxes(da, -1, -2) if transpose else da
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(B.grad.asnumpy(), db, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(A.grad.asnumpy(), (np.tril if lower else np.triu)(da / 2), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["potrf", "gelqf"])
def test_gradients_of_large_factors_match_finite_differences(name):
    draw, n, step = np.random.default_rng(1), 100, 1e-6
    a, direction, weight = (draw.normal(size=(n, n)) for _ in range(3))
    a, direction = a @ a.T + n * np.eye(n), direction + direction.T

    def loss(host):
        x = nd.array(host, dtype="float64")
        x.attach_grad()
        with mx.autograd.record():
            result = getattr(nd.linalg, name)(x)
            value = ((result[0] if isinstance(result, list) else result) * nd.array(weight, dtype="float64")).sum()
        value.backward()
        return value.asscalar(), x.grad.asnumpy()

    slope = (loss(a + step * direction)[0] - loss(a - step * direction)[0]) / (2 * step)
    assert (loss(a)[1] * direction).sum() == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize("lower", [False, True])
def test_only_few_rows_on_the_diagonal_are_solved_as_general_equations(lower):
    class Counting:
        """The few functions that are called, of NumPy."""

        solved, matmul = [], staticmethod(np.matmul)

        def solve(self, a, b):
            self.solved.append(a.shape[-1])
            return np.linalg.solve(a, b)

        def take_slice(self, x, start, stop, axis):
            return np.take(x, range(start, stop), axis)

        def concat(self, *arrays, axis):
            return np.concatenate(arrays, axis)

    a, b, counting = triangular((500,), lower), np.ones((500, 3)), Counting()
    np.testing.assert_allclose(solve_triangular(counting, a, b, lower), np.linalg.solve(a, b), rtol=1e-9)
    assert sum(counting.solved) == 500
    assert max(counting.solved) <= ROWS_AT_ONCE
    assert len(counting.solved) == -(-500 // ROWS_AT_ONCE)
