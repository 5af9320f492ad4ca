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
