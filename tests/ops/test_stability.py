"""Logits of ten thousand give finite, correct losses and gradients; norms are accurate for numbers of any magnitude."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd

HUGE = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], "float32")


def value_and_gradient(function, data: np.ndarray, *others: np.ndarray, **params) -> tuple[np.ndarray, np.ndarray]:
    """The result for the data and the gradient of its sum."""
    x = nd.array(data)
    x.attach_grad()
    with autograd.record():
        y = function(x, *[nd.array(a) for a in others], **params)
    y.backward()
    return y.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize(
    ("function", "params"),
    [
        (nd.softmax, {}),
        (nd.softmin, {}),
        (nd.log_softmax, {}),
        (nd.log_softmax, {"temperature": 0.5}),
        (nd.SoftmaxActivation, {}),
        *[(nd.Activation, {"act_type": name}) for name in ("sigmoid", "tanh", "softrelu", "softsign", "relu")],
        *[(nd.LeakyReLU, {"act_type": name}) for name in ("leaky", "elu", "selu", "gelu")],
    ],
)
def test_huge_logits_give_finite_results_and_gradients(function, params):
    value, gradient = value_and_gradient(function, HUGE, **params)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


def test_cross_entropy_of_a_very_unlikely_class_is_the_logit_difference():
    value, gradient = value_and_gradient(nd.softmax_cross_entropy, HUGE[:1], np.array([1.0]))
    np.testing.assert_array_equal(value, [2e4])
    np.testing.assert_array_equal(gradient, [[1, -1, 0]])


def test_softmax_output_of_huge_logits_has_a_finite_gradient():
    _, gradient = value_and_gradient(nd.SoftmaxOutput, HUGE, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(gradient, [[1, -1, 0], [0, 0.5, -0.5]])


def test_logistic_output_of_huge_logits_has_a_finite_gradient():
    _, gradient = value_and_gradient(nd.LogisticRegressionOutput, HUGE, np.ones_like(HUGE), grad_scale=3.0)
    np.testing.assert_array_equal(gradient, [[0, -1, -0.5], [-1, 0, 0]])


def test_ctc_loss_of_huge_logits_is_finite():
    data = np.random.default_rng(0).uniform(-1e4, 1e4, (4, 2, 3)).astype("float32")
    value, gradient = value_and_gradient(nd.CTCLoss, data, np.array([[1, 2], [2, 0]]))
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient.sum(2), 0, atol=1e-6)


def test_ctc_loss_of_an_unreachable_label_is_0():
    value, gradient = value_and_gradient(nd.CTCLoss, np.zeros((2, 1, 3), "float32"), np.array([[1, 1]]))
    np.testing.assert_array_equal(value, [0])
    np.testing.assert_array_equal(gradient, np.zeros((2, 1, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("step", [0, 2])
def test_ctc_loss_of_logits_without_values_has_none(bad, step):
    logits = np.zeros((4, 2, 3), "float32")
    logits[step, 0, 1] = bad
    loss, finite = nd.CTCLoss(nd.array(logits), nd.array([[1, 2], [1, 2]])).asnumpy(), nd.CTCLoss(nd.zeros((4, 1, 3)), nd.array([[1, 2]]))
    assert np.isnan(loss[0])
    np.testing.assert_array_equal(loss[1:], finite.asnumpy())


def test_ctc_loss_is_the_sum_over_all_paths():
    data = np.random.default_rng(1).standard_normal((3, 1, 3))
    log_p = data[:, 0] - np.log(np.exp(data[:, 0]).sum(1, keepdims=True))
    paths = [p for p in np.ndindex(3, 3, 3) if [a for a, b in zip(p, (0, *p), strict=False) if a != b and a] == [1, 2]]
    want = -np.log(sum(np.exp(sum(log_p[t, s] for t, s in enumerate(p))) for p in paths))
    np.testing.assert_allclose(nd.CTCLoss(nd.array(data), nd.array([[1, 2]])).asnumpy(), [want], rtol=1e-5)


def test_masked_softmax_ignores_elements_beyond_the_length():
    data = nd.array([[1.0, 2.0, np.inf, np.nan]])
    got = nd.softmax(data, nd.array([2], dtype="int32"), use_length=True).asnumpy()
    np.testing.assert_allclose(got, [[1 / (1 + np.e), np.e / (1 + np.e), 0, 0]], rtol=1e-6)


def test_softmax_with_use_length_requires_lengths():
    with pytest.raises(mx.MXNetError, match="use_length"):
        nd.softmax(nd.ones((2, 3)), use_length=True)


#: Values, their 2-norm and its gradient, as the real MXNet gives them.
NORMS = {
    "large": ([-3e30, 4e30], 5e30, [-0.6, 0.8]),
    "small": ([1e-30, 1e-30], 1.4142136e-30, [0.70710677, 0.70710677]),
    "subnormal": ([1e-42, 1e-42], 1.415e-42, [0.7069307, 0.7069307]),
    "infinite": ([np.inf, 1], np.inf, [np.nan, 0]),
    "not a number": ([np.nan, 1], np.nan, [np.nan, np.nan]),
    "zero": ([0, 0], 0, [np.nan, np.nan]),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_is_finite_where_its_squares_are_not(name):
    data, norm, slope = NORMS[name]
    value, gradient = value_and_gradient(nd.norm, np.array(data, "float32"))
    np.testing.assert_allclose(value, [norm], rtol=1e-3 if name == "subnormal" else 1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)


def test_row_norms_are_scaled_independently():
    value, gradient = value_and_gradient(nd.norm, np.array([[3e30, 4e30], [3, 4], [3e-30, 4e-30]], "float32"), axis=1, keepdims=True)
    np.testing.assert_allclose(value, np.array([[5e30], [5], [5e-30]], "float32"), rtol=1e-6)
    np.testing.assert_allclose(gradient, [[0.6, 0.8]] * 3, rtol=1e-6)


def test_a_norm_of_large_values_has_a_second_gradient():
    x = nd.array([3e3, 4e3])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(nd.norm(x), [x], create_graph=True)
        first = (slope * nd.array([1, 0])).sum()
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [0.64 / 5e3, -0.48 / 5e3], rtol=1e-5)  # (1 - s sᵀ) / |x|, its first row


@pytest.mark.parametrize("order", [1, 2])
def test_the_norm_of_an_empty_array_is_zero(order):
    assert nd.norm(nd.zeros((2, 0)), ord=order, axis=1).asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("dtype", "data", "expected"), [("int32", [50000, 50000], 70710), ("uint8", [200, 200], 282 % 256), ("int8", [100, 100], 141 - 256)]
)
def test_squares_of_integers_do_not_overflow_in_a_norm(dtype, data, expected):
    """MXNet's values; the result itself wraps to the dtype."""
    assert nd.norm(nd.array(data, dtype=dtype)).asnumpy().tolist() == [expected]


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_the_gradient_of_an_empty_product_is_empty(axis):
    for shape in ((3, 0), (0, 3), (0, 0)):
        x = mx.np.zeros(shape)
        x.attach_grad()
        with mx.autograd.record():
            y = x.prod(axis=axis)
        assert (y.asnumpy() == 1).all()
        y.backward()
        assert x.grad.shape == shape


def test_zeros_keep_their_sign():
    x = nd.array([-0.3, -0.0, 0.0, 0.3, 0.5, -0.5])
    np.testing.assert_array_equal(nd.rint(x).asnumpy(), [-0.0, -0.0, 0.0, 0.0, 0.0, -1.0])
    np.testing.assert_array_equal(np.signbit(nd.rint(x).asnumpy()), [True, True, False, False, False, True])
    np.testing.assert_array_equal(nd.gamma(nd.array([-0.0, 0.0])).asnumpy(), [-np.inf, np.inf])
