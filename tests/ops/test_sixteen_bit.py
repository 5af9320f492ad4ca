"""16-bit floats inside composites: intermediate sums and squares do not overflow, underflow or round."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx

from tests.probe import dtype_name

nd = mx.nd
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
#: More ones than float16 can count, and a value whose square overflows.
MANY, LARGE = 300, 400.0


@pytest.fixture(params=["float16", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> str:
    return request.param


def full(shape, dtype, value=1.0):
    return nd.full(shape, value, dtype=dtype)


def wide(array):
    return array.asnumpy().astype(np.float64)


def expect(array, want, dtype):
    assert dtype_name(array) == dtype
    np.testing.assert_allclose(wide(array), np.broadcast_to(want, array.shape), rtol=EPSILON[dtype])


def gradient(function, x, head=1.0):
    """The gradient of a function's result, with a scalar head gradient."""
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward(nd.full(y.shape, head, dtype=dtype_name(y)))
    return x.grad


def test_a_mean_of_many_values(dtype):
    expect(nd.mean(full((MANY, MANY), dtype)), 1.0, dtype)


def test_moments_of_many_large_values(dtype):
    x = nd.concat(full((1, MANY), dtype, -LARGE), full((1, MANY), dtype, LARGE), dim=0)
    mean, variance = nd.moments(x * full((2, MANY), dtype, 0.5), axes=(0, 1))
    expect(mean, 0.0, dtype)
    expect(variance, (LARGE / 2) ** 2, dtype)


@pytest.mark.parametrize("window", [{"global_pool": True}, {"kernel": (MANY, MANY)}], ids=["global", "kernel"])
def test_the_mean_of_a_large_window(dtype, window):
    expect(nd.Pooling(full((1, 1, MANY, MANY), dtype), pool_type="avg", **window), 1.0, dtype)


def test_the_mean_of_windows_at_padded_borders(dtype):
    x = full((1, 1, MANY, MANY), dtype)
    expect(nd.Pooling(x, kernel=(MANY, MANY), pad=(1, 1), pool_type="avg", count_include_pad=False), 1.0, dtype)


def test_the_gradient_of_the_mean_of_windows_at_padded_borders(dtype):
    x = full((1, 1, MANY, MANY), dtype)
    got = gradient(lambda x: nd.Pooling(x, kernel=(MANY, MANY), pad=(1, 1), pool_type="avg", count_include_pad=False), x, 90000.0 / 4)
    counts = np.array([299, 300, 299]).reshape(-1, 1) * np.array([299, 300, 299])  # elements in each of the nine windows
    assert abs(wide(got)[0, 0, 150, 150] - (22500 / counts).sum()) <= EPSILON[dtype] * 4


def test_a_window_sum_whose_partial_sums_overflow():
    x = nd.array(np.array([60000, 60000, -60000, -60000]).reshape(1, 1, 4), dtype="float16")
    expect(nd.Pooling(x, kernel=(4,), pool_type="sum"), 0.0, "float16")


def test_a_sum_of_a_window_is_rounded_once(dtype):
    x = full((1, 1, 4096), dtype)
    expect(nd.Pooling(x, kernel=(4096,), pool_type="sum"), 4096.0, dtype)


def test_a_2_norm_of_a_window_of_large_values(dtype):
    expect(nd.Pooling(full((1, 1, 4, 4), dtype, LARGE), kernel=(2, 2), pool_type="lp", p_value=2), 2 * LARGE, dtype)


def test_the_gradient_of_a_2_norm_of_a_window_of_large_values(dtype):
    got = gradient(lambda x: nd.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=2), full((1, 1, 2, 2), dtype, LARGE))
    expect(got, 0.5, dtype)


@pytest.mark.parametrize(("mode", "count"), [("instance", 12), ("channel", 3), ("spatial", 4)])
def test_l2_normalization_of_large_values(dtype, mode, count):
    expect(nd.L2Normalization(full((1, 3, 4), dtype, LARGE), mode=mode), count**-0.5, dtype)


def test_l2_normalization_of_values_whose_squares_vanish(dtype):
    expect(nd.L2Normalization(full((1, 12), dtype, 2.0**-13)), 2.0**-13 / (12 * 2.0**-26 + 1e-10) ** 0.5, dtype)


def test_the_gradient_of_l2_normalization_of_large_values(dtype):
    x = nd.array(np.array([[LARGE, 0.0]]), dtype=dtype)
    expect(gradient(lambda x: nd.L2Normalization(x), x, 256.0), np.array([[0.0, 256 / LARGE]]), dtype)


def test_local_response_normalization_of_large_values(dtype):
    want = LARGE / (2 + 1e-4 / 3 * 2 * LARGE**2) ** 0.75
    expect(nd.LRN(full((1, 2, 1, 1), dtype, LARGE), nsize=3), want, dtype)


def test_the_gradient_of_local_response_normalization_of_large_values(dtype):
    response = 2 + 1e-4 * LARGE**2
    want = response**-0.75 - LARGE**2 * 2 * 1e-4 * 0.75 * response**-1.75
    assert abs(wide(gradient(lambda x: nd.LRN(x, nsize=1), full((1, 1, 1, 1), dtype, LARGE))).item() - want) <= EPSILON[dtype] * 4


def test_batch_statistics_with_float16_states(dtype):
    x = nd.concat(full((MANY, 1, 4), dtype, -LARGE), full((MANY, 1, 4), dtype, LARGE), dim=0)
    ones = full((1,), dtype)
    mean, variance = full((1,), dtype, 0), full((1,), dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.BatchNorm(x, ones, full((1,), dtype, 0), mean, variance, momentum=0.75)
    y.backward()
    expect(y[MANY:], 1.0, dtype)
    assert (dtype_name(mean), dtype_name(variance)) == (dtype, dtype)
    np.testing.assert_allclose(wide(variance), 0.75 + 0.25 * LARGE**2, rtol=EPSILON[dtype])


def test_more_labels_than_float16_can_count():
    data, label = full((MANY * MANY, 2), "float16", 0), full((MANY * MANY,), "float16", 0)
    options = {"normalization": "valid", "use_ignore": True, "grad_scale": 90000.0}
    got = gradient(lambda x: nd.SoftmaxOutput(x, label, **options), data)
    expect(got[:1], np.array([[-0.5, 0.5]]), "float16")


def test_more_losses_than_float16_can_count():
    got = gradient(lambda x: nd.MakeLoss(x, normalization="valid", grad_scale=90000.0), full((MANY, MANY), "float16"))
    expect(got, 1.0, "float16")
