"""Matrix products as users ask for them against NumPy: dtypes, transposes, broadcast batches, empty and strided operands.

No float32 product uses TF32. 16-bit floats are multiplied exactly and summed in float32, then rounded once: tolerances are that
rounding's. Numbers below the smallest normal float32 may be flushed to 0 (``-ftz=true``), so none are drawn.
"""

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.device import interned
from twofold.dtype import NUMPY

pytest.importorskip("cupy")
GPU = interned("gpu", 0)
#: Largest difference relative to the largest magnitude.
TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-14}
sanitizer = pytest.mark.sanitizer


def drawn(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(NUMPY[dtype])


def close(got, want, dtype):
    want = np.asarray(want, np.float64)
    assert got.shape == want.shape
    scale = np.abs(want).max(initial=0) or 1.0
    np.testing.assert_allclose(got.astype(np.float64), want, 0, TOLERANCE[dtype] * scale)


@sanitizer
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_dot_and_batch_dot(gpus, dtype, transpose_a, transpose_b):
    a, b = drawn(3, 33, 65, dtype=dtype), drawn(3, 65, 17, dtype=dtype, seed=1)
    want = np.matmul(a.astype(np.float64), b.astype(np.float64))
    left, right = (np.ascontiguousarray(np.swapaxes(x, 1, 2)) if t else x for x, t in ((a, transpose_a), (b, transpose_b)))
    left, right = (nd.array(x, ctx=gpus[0], dtype=dtype) for x in (left, right))
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    close(nd.batch_dot(left, right, **options).asnumpy(), want, dtype)
    close(nd.dot(left[0], right[0], **options).asnumpy(), want[0], dtype)


BROADCAST = [
    ((4, 1, 5, 6), (3, 6, 2)),
    ((1, 5, 6), (7, 6, 2)),
    ((7, 5, 6), (6, 2)),
    ((2, 1, 3, 5, 6), (1, 4, 1, 6, 2)),
    ((6,), (3, 6, 2)),
    ((5, 6), (6,)),
]
EMPTY = [((0, 4), (4, 3)), ((3, 0), (0, 2)), ((2, 0, 4), (2, 4, 3)), ((0, 2, 4), (0, 4, 3)), ((3, 4), (4, 0))]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("left", "right"), BROADCAST)
def test_batch_axes_broadcast(gpus, dtype, left, right):
    """With strides of 0: no operand is materialized."""
    a, b = drawn(*left, dtype=dtype), drawn(*right, dtype=dtype, seed=1)
    got = mx.np.matmul(*(mx.np.array(x, ctx=gpus[0], dtype=dtype) for x in (a, b)))
    close(got.asnumpy(), np.matmul(a.astype(np.float64), b.astype(np.float64)), dtype)


@sanitizer
@pytest.mark.parametrize(("left", "right"), EMPTY)
def test_empty_products(gpus, left, right):
    a, b = drawn(*left), drawn(*right)
    got = mx.np.matmul(*(mx.np.array(x, ctx=gpus[0]) for x in (a, b))).asnumpy()
    np.testing.assert_array_equal(got, np.matmul(a, b))


VIEWS = {
    "every second row": lambda x: x[::2],
    "every second column": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1],
    "a cut": lambda x: x[1:5, 2:6],
    "transposed": lambda x: x.T,
    "a cut, transposed": lambda x: x[1:5, 2:6].T,
}


@sanitizer
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("view", VIEWS)
def test_operands_lie_as_they_like(backend, dtype, view):
    look = VIEWS[view]
    a, b = look(drawn(8, 8, dtype=dtype)), look(drawn(8, 8, dtype=dtype, seed=1)).T
    there = [look(backend.from_host(drawn(8, 8, dtype=dtype, seed=seed), GPU)) for seed in (0, 1)]
    got = backend.to_host(backend.quietly(backend.xp.matmul, there[0], there[1].T))
    close(got, a.astype(np.float64) @ b.astype(np.float64), dtype)


def test_integers_are_multiplied_by_a_kernel(gpus):
    a, b = (np.random.default_rng(k).integers(-9, 9, shape) for k, shape in enumerate(((2, 5, 7), (7, 3))))
    np.testing.assert_array_equal(mx.np.matmul(*(mx.np.array(x, ctx=gpus[0], dtype="int64") for x in (a, b))).asnumpy(), a @ b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gemm_adds_to_a_matrix(gpus, dtype):
    a, b, c = drawn(2, 4, 5, dtype=dtype), drawn(2, 3, 5, dtype=dtype, seed=1), drawn(2, 4, 3, dtype=dtype, seed=2)
    there = [nd.array(x, ctx=gpus[0], dtype=dtype) for x in (a, b, c)]
    product = a.astype(np.float64) @ np.swapaxes(b, 1, 2).astype(np.float64)
    close(nd.linalg.gemm(*there, transpose_b=True, alpha=0.5, beta=2.0).asnumpy(), 0.5 * product + 2.0 * c, dtype)
    close(nd.linalg.gemm2(*there[:2], transpose_b=True, alpha=3.0).asnumpy(), 3.0 * product, dtype)
