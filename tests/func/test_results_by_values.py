"""Functions of NumPy whose results are indices, counts and tests, while a function is traced: steps of its program."""

import numpy as host
import pytest

import twofold as mx
from twofold.errors import AutogradError, ParameterError

np, npx, func = mx.np, mx.npx, mx.func
X = host.array([0.9, 0.2, 1.7, 1.1, 0.4, 1.7])
K = host.array([3, 0, 2, 2, 4, 0])
CALLS = {
    "searchsorted": lambda np, x, k: np.searchsorted(np.sort(x), x, side="right"),
    "method searchsorted": lambda np, x, k: np.sort(x).searchsorted(x),
    "digitize": lambda np, x, k: np.digitize(x, np.array([0.3, 1.0])),
    "bincount": lambda np, x, k: np.bincount(k, minlength=5),
    "histogram": lambda np, x, k: np.histogram(x, 3, (0.2, 1.7))[0],
    "histogram of ten bins": lambda np, x, k: np.histogram(x)[0],
    "histogram2d": lambda np, x, k: np.histogram2d(x, k, bins=(2, 3), range=[[0, 2], [0, 5]])[0],
    "isin": lambda np, x, k: np.isin(k, np.array([2, 3])),
    "isin inverted": lambda np, x, k: np.isin(k, [2, 3], invert=True),
    "lexsort": lambda np, x, k: np.lexsort((x, k % 2)),
    "argpartition": lambda np, x, k: np.sort(np.argpartition(x, 2)[:3]),
    "gcd": lambda np, x, k: np.gcd(k, 6),
    "ldexp": lambda np, x, k: np.ldexp(x, k),
    "frexp": lambda np, x, k: np.frexp(x)[1],
    "nextafter": lambda np, x, k: np.nextafter(x, 0.0),
    "matrix_rank": lambda np, x, k: np.linalg.matrix_rank(x.reshape(2, 3)),
    "packbits": lambda np, x, k: np.packbits(k > 2),
    "ravel_multi_index": lambda np, x, k: np.ravel_multi_index((k, k), (5, 5)),
    "allclose": lambda np, x, k: np.allclose(x, x + 1e-12),
    "array_equal": lambda np, x, k: np.array_equal(k, k[::-1]),
    "nanargmin": lambda np, x, k: np.nanargmin(np.where(x < 0.3, np.nan, x)),
    "astype": lambda np, x, k: np.astype(x, "int32") if hasattr(host, "astype") else x.astype("int32"),
    "roots": lambda np, x, k: np.sort(np.roots(np.array([1.0, -3.0, 1.0]) * x[0])),
    "polydiv": lambda np, x, k: np.polydiv(x, x[:3])[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_compiled_results_are_numpys(name):
    wanted = host.asarray(CALLS[name](host, X, K))
    found = func.jit(lambda x, k: CALLS[name](np, x, k))(np.array(X), np.array(K))
    assert str(found.dtype) == str(wanted.dtype)
    host.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_batches_are_numpys_of_each_example(name):
    x, k = host.stack([X, X[::-1] * 1.5]), host.stack([K, K[::-1]])
    wanted = [CALLS[name](host, *pair) for pair in zip(x, k, strict=True)]
    found = func.vmap(lambda x, k: CALLS[name](np, x, k))(np.array(x), np.array(k))
    host.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-12)


def test_a_batch_of_batches_is_one_call_for_each_example():
    table, x = host.array([0.0, 1.0, 2.0]), host.linspace(0, 2, 8).reshape(2, 2, 2)
    found = func.vmap(func.vmap(lambda v: np.searchsorted(np.array(table), v)))(np.array(x))
    assert found.tolist() == host.searchsorted(table, x).tolist()


def test_positions_are_found_anew_in_each_step_of_a_scan():
    table = np.array([0.0, 1.0, 2.0])
    _, found = func.scan(lambda c, x: (c, np.searchsorted(table, x)), np.array(0.0), np.array([0.5, 1.5, 2.5]))
    assert found.tolist() == [1, 2, 3]


def test_counts_need_a_size():
    with pytest.raises(ParameterError, match="pass minlength: more than the largest number"):
        func.jit(np.bincount)(np.array([1, 2]))


@pytest.mark.parametrize("number", [5, -1])
def test_a_number_outside_of_the_counts_raises(number):
    with pytest.raises(mx.MXNetError, match=r"out of (bounds|range)"):
        func.jit(lambda k: np.bincount(k, minlength=3))(np.array([1, number])).asnumpy()


def test_a_gradient_through_a_function_without_one_raises():
    with pytest.raises(AutogradError, match="nextafter has no gradient"):
        func.grad(lambda x: np.nextafter(x, 2.0).sum())(np.ones(2))


def test_shapes_are_read_from_arrays_without_values():
    found = func.jit(lambda x: x[np.tril_indices_from(x)] * (2 if np.isrealobj(x) else 1))(np.ones((2, 2)))
    assert found.tolist() == [2.0, 2.0, 2.0]


def test_vectorize_names_vmap():
    with pytest.raises(AutogradError, match=r"use func\.vmap"):
        func.jit(np.vectorize(lambda x: x + 1))(np.ones(2))


def test_logsumexp_is_finite_where_exponentials_overflow():
    x = np.array([[1000.0, 1000.0], [-host.inf, -host.inf]])
    assert npx.logsumexp(x, axis=1).tolist() == [1000 + host.log(2), -host.inf]
    assert func.grad(lambda v: npx.logsumexp(v))(x[0]).tolist() == [0.5, 0.5]
    assert npx.logsumexp(np.zeros((2, 3)), axis=0, keepdims=True).shape == (1, 3)


def test_functions_of_networks_keep_their_precision_far_out():
    x = np.array([-800.0, 0.0, 800.0])
    assert npx.softplus(x).tolist() == [0.0, host.log(2), 800.0]
    assert npx.log_sigmoid(x).tolist() == [-800.0, -host.log(2), 0.0]
    assert npx.silu(x).tolist() == [0.0, 0.0, 800.0]
    assert npx.logit(np.array([0.0, 0.5, 1.0])).tolist() == [-host.inf, 0.0, host.inf]
