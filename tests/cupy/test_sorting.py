"""What the adapter does itself (sorting) or through NumPy (transforms, decompositions) instead of with NVIDIA's libraries."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd

pytest.importorskip("cupy")
DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8")


def shuffled(shape, dtype, seed=0):
    """Numbers with many duplicates; for floats also infinities and NaN."""
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 50, shape).astype(dtype)
    if np.issubdtype(x.dtype, np.floating):
        x.ravel()[::7] = [np.inf, -np.inf, np.nan, -0.0, 0.0][seed % 5]
    return x


@pytest.mark.sanitizer
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 33), (4, 5, 6), (2, 1025)])
def test_sorts_match_numpy(gpus, dtype, shape):
    for seed in range(3):
        x = shuffled(shape, dtype, seed)
        there = mx.np.array(x, ctx=gpus[0], dtype=dtype)
        for axis in range(-1, len(shape)):
            np.testing.assert_array_equal(mx.np.sort(there, axis=axis).asnumpy(), np.sort(x, axis=axis))
            np.testing.assert_array_equal(mx.np.argsort(there, axis=axis).asnumpy(), np.argsort(x, axis=axis, kind="stable"))


@pytest.mark.parametrize("shape", [(5,), (3, 70), (2, 3, 9)])
@pytest.mark.parametrize("is_ascend", [False, True])
def test_the_largest_and_the_smallest(gpus, shape, is_ascend):
    x = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape).astype(np.float32)
    order = np.argsort(x if is_ascend else -x, axis=-1, kind="stable")[..., :4]
    values, places = nd.topk(nd.array(x, ctx=gpus[0]), k=4, ret_typ="both", is_ascend=is_ascend)
    np.testing.assert_array_equal(places.asnumpy(), order)
    np.testing.assert_array_equal(values.asnumpy(), np.take_along_axis(x, order, -1))


def test_empty_rows_are_sorted(gpus):
    for shape in ((0,), (3, 0), (0, 4)):
        assert mx.np.sort(mx.np.zeros(shape, ctx=gpus[0])).shape == shape


BY_NUMPY = {
    "linalg.svd": lambda m, x: m.linalg.svd(x)[1],
    "linalg.qr": lambda m, x: m.abs(m.linalg.qr(x)[1]),
    "linalg.cholesky": lambda m, x: m.linalg.cholesky(m.matmul(x, x.T) + m.array(np.eye(5, dtype=np.float32))),
    "linalg.inv": lambda m, x: m.linalg.inv(x + m.array(9 * np.eye(5, dtype=np.float32))),
    "linalg.solve": lambda m, x: m.linalg.solve(x + m.array(9 * np.eye(5, dtype=np.float32)), x),
    "linalg.eigvalsh": lambda m, x: m.linalg.eigvalsh(x + x.T),
    "linalg.det": lambda m, x: m.linalg.det(x),
    "fft.irfft": lambda m, x: m.fft.irfft(x),
}


@pytest.mark.parametrize("name", BY_NUMPY)
def test_results_computed_by_numpy_return_to_the_device(gpus, name):
    """The operator table has no such decompositions or transforms: `mx.np` uses NumPy's, on the host."""
    x = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    function = BY_NUMPY[name]
    with gpus[0]:
        got = function(mx.np, mx.np.array(x))
    assert got.context == gpus[0]
    np.testing.assert_allclose(got.asnumpy(), function(np, x), 1e-4, 1e-5)
