"""An infinite or undefined gradient reaches the elements that a result depends on, and no others: there it must not become 0 times it."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd

X = np.array([[-2.0, -1.0, 0.5, 3.0], [1.0, 1.5, -3.0, 2.0]], "float32")
IMAGE = X.reshape(1, 1, 2, 4)

#: Functions of X, and by MXNet 1.9.1 the elements to which their gradient goes.
SELECTING = {
    "clip": (lambda x: nd.clip(x, -1.5, 1), (X >= -1.5) & (X <= 1)),
    "np.clip": (lambda x: mx.np.clip(x.as_np_ndarray(), -1.5, 1).as_nd_ndarray(), (X >= -1.5) & (X <= 1)),
    "hard_sigmoid": (lambda x: nd.hard_sigmoid(x, alpha=0.5), np.abs(X) < 1),
    "SequenceMask": (
        lambda x: nd.SequenceMask(x.T, nd.array([2, 3]), use_sequence_length=True),
        np.arange(4) < np.array([[2], [3]]),
    ),
    "SequenceLast": (
        lambda x: nd.SequenceLast(x.T, nd.array([2, 3]), use_sequence_length=True),
        np.arange(4) == np.array([[1], [2]]),
    ),
    "softmax": (
        lambda x: nd.softmax(x, nd.array([2, 3], dtype="int32"), use_length=True),
        np.arange(4) < np.array([[2], [3]]),
    ),
    "max pooling": (
        lambda x: nd.Pooling(x.reshape(IMAGE.shape), kernel=(2, 2), stride=(2, 2), pool_type="max"),
        np.array([[0, 0, 0, 1], [0, 1, 0, 0]], bool),
    ),
}


def _gradient(function, given):
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    y.backward(nd.full(y.shape, given))
    return x.grad.asnumpy()


@pytest.mark.parametrize("given", [np.inf, np.nan])
@pytest.mark.parametrize("name", SELECTING)
def test_gradients_go_to_the_selected_elements(name, given):
    function, selected = SELECTING[name]
    found = _gradient(function, given)
    np.testing.assert_array_equal(found[~selected], 0)
    np.testing.assert_array_equal(found[selected] != 0, True)
    assert not np.isfinite(found[selected]).any()


@pytest.mark.parametrize("kind", ["leaky", "elu", "selu"])
def test_slopes_multiply_an_infinite_gradient_once(kind):
    np.testing.assert_array_equal(_gradient(lambda x: nd.LeakyReLU(x, act_type=kind), np.inf), np.inf)


def test_the_softmax_of_lengths_takes_no_gradient_beyond_them():
    x, head = nd.zeros((2, 4)), np.ones((2, 4), "float32")
    head[0, 3], head[1, 2] = np.nan, np.inf
    x.attach_grad()
    with mx.autograd.record():
        y = nd.softmax(x, nd.array([2, 2], dtype="int32"), use_length=True)
    y.backward(nd.array(head))
    np.testing.assert_array_equal(x.grad.asnumpy(), 0)


@pytest.mark.parametrize("normalization", ["null", "batch", "valid"])
def test_nan_in_an_ignored_row_gives_it_no_gradient(normalization):
    x = nd.array([[0, 0], [np.nan, 1], [np.inf, 1]])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.SoftmaxOutput(x, nd.array([0, 1, 1]), use_ignore=True, ignore_label=1, normalization=normalization)
    y.backward()
    share = 3 if normalization == "batch" else 1
    np.testing.assert_allclose(x.grad.asnumpy(), np.array([[-0.5, 0.5], [0, 0], [0, 0]]) / share, 1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_learned_slope_does_not_reach_positive_numbers(bad):
    y = nd.LeakyReLU(nd.array([[1, -1, 2], [3, 4, -2]]), nd.array([bad, 0.5, bad]), act_type="prelu")
    np.testing.assert_array_equal(y.asnumpy(), np.array([[1, -0.5, 2], [3, 4, -2 * bad]], "float32"))


def test_infinite_numbers_leave_the_gradient_of_learned_slopes_finite():
    x, slopes = nd.array([[np.inf, -1], [2, -3]]), nd.array([0.5, 0.25])
    slopes.attach_grad()
    with mx.autograd.record():
        y = nd.LeakyReLU(x, slopes, act_type="prelu")
    y.backward()
    np.testing.assert_array_equal(slopes.grad.asnumpy(), [0, -4])


@pytest.mark.parametrize("name", ["relu", "Activation", "np"])
def test_the_gradient_of_relu_does_not_hide_nan(name):
    relu = {"relu": nd.relu, "Activation": lambda x: nd.Activation(x, act_type="relu"), "np": lambda x: mx.npx.relu(x.as_np_ndarray())}
    x = nd.array([np.nan, -1, 0, 2, np.inf])
    x.attach_grad()
    with mx.autograd.record():
        y = relu[name](x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [np.nan, 0, 0, 1, 1])


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("loss", ["HingeLoss", "TripletLoss"])
def test_losses_with_a_margin_have_nan_gradients_where_they_are_nan(loss, hybrid):
    function = getattr(mx.gluon.loss, loss)()
    if hybrid:
        function.hybridize()
    pred, others = nd.array([[np.nan, 0.5], [0.5, 0.25]]), [nd.ones((2, 2))] * (2 if loss == "TripletLoss" else 1)
    pred.attach_grad()
    with mx.autograd.record():
        y = function(pred, *others)
    y.backward()
    np.testing.assert_array_equal(np.isnan(y.asnumpy()), [True, False])
    assert np.isnan(pred.grad.asnumpy()[0, 0])
    assert np.isfinite(pred.grad.asnumpy()[1]).all()
