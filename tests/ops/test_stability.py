"""Logits of ten thousand give finite losses and gradients, and the right ones."""

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


def test_cross_entropy_of_a_hopeless_class_is_the_difference_of_the_logits():
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


def test_ctc_loss_of_a_label_that_no_path_spells_is_0():
    value, gradient = value_and_gradient(nd.CTCLoss, np.zeros((2, 1, 3), "float32"), np.array([[1, 1]]))
    np.testing.assert_array_equal(value, [0])
    np.testing.assert_array_equal(gradient, np.zeros((2, 1, 3)))


def test_ctc_loss_is_the_sum_over_all_paths():
    data = np.random.default_rng(1).standard_normal((3, 1, 3))
    log_p = data[:, 0] - np.log(np.exp(data[:, 0]).sum(1, keepdims=True))
    paths = [p for p in np.ndindex(3, 3, 3) if [a for a, b in zip(p, (0, *p), strict=False) if a != b and a] == [1, 2]]
    want = -np.log(sum(np.exp(sum(log_p[t, s] for t, s in enumerate(p))) for p in paths))
    np.testing.assert_allclose(nd.CTCLoss(nd.array(data), nd.array([[1, 2]])).asnumpy(), [want], rtol=1e-5)


def test_masked_softmax_does_not_see_what_is_behind_the_length():
    data = nd.array([[1.0, 2.0, np.inf, np.nan]])
    got = nd.softmax(data, nd.array([2], dtype="int32"), use_length=True).asnumpy()
    np.testing.assert_allclose(got, [[1 / (1 + np.e), np.e / (1 + np.e), 0, 0]], rtol=1e-6)


def test_lengths_that_softmax_needs_are_asked_for():
    with pytest.raises(mx.MXNetError, match="use_length"):
        nd.softmax(nd.ones((2, 3)), use_length=True)
