"""Small models: linear regression from scratch and by Gluon, a layer of one's own whose shape is learnt from its first input."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.errors import DeferredInitializationError
from twofold.gluon import nn
from twofold.gluon.loss import L2Loss

TRUE_WEIGHT, TRUE_BIAS = np.array([2.0, -3.4], np.float32), 4.2
BATCH = 10


@pytest.fixture(scope="module")
def points():
    """A thousand points near a plane."""
    draw = np.random.RandomState(0)
    x = draw.normal(size=(1000, 2)).astype(np.float32)
    return x, x @ TRUE_WEIGHT + TRUE_BIAS + draw.normal(scale=0.01, size=1000).astype(np.float32)


def batches(points):
    x, y = points
    for start in range(0, len(x), BATCH):
        yield nd.array(x[start : start + BATCH]), nd.array(y[start : start + BATCH])


def test_linear_regression_from_scratch_finds_the_plane(points):
    weight, bias = nd.zeros((2,)), nd.zeros((1,))
    weight.attach_grad()
    bias.attach_grad()
    for _ in range(3):
        for x, y in batches(points):
            with autograd.record():
                loss = ((nd.dot(x, weight) + bias - y) ** 2).mean() / 2
            loss.backward()
            weight[:] = weight - 0.1 * weight.grad
            bias[:] = bias - 0.1 * bias.grad
    np.testing.assert_allclose(weight.asnumpy(), TRUE_WEIGHT, atol=0.01)
    np.testing.assert_allclose(bias.asnumpy(), [TRUE_BIAS], atol=0.01)


@pytest.mark.parametrize("hybridized", [False, True])
def test_linear_regression_by_gluon_finds_the_plane(points, hybridized):
    net, loss_of = nn.Dense(1), L2Loss()
    net.initialize(mx.init.Zero())
    if hybridized:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(3):
        for x, y in batches(points):
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(BATCH)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [TRUE_WEIGHT], atol=0.01)
    np.testing.assert_allclose(net.bias.data().asnumpy(), [TRUE_BIAS], atol=0.01)


class Scaled(gluon.HybridBlock):
    """A dense layer without bias whose rows are scaled; a size of 0 is inferred from the first input."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.weight = self.params.get("weight", shape=(units, 0), allow_deferred_init=True)
        self.scale = self.params.get("scale", shape=(units,), init="ones")

    def hybrid_forward(self, F, x, weight, scale):
        return F.broadcast_mul(F.FullyConnected(x, weight, num_hidden=self.units, no_bias=True), scale)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_layer_of_ones_own_learns_its_shape_from_its_first_input(hybridized):
    layer = Scaled(3)
    layer.initialize(mx.init.One())
    if hybridized:
        layer.hybridize()
    assert layer.weight.shape == (3, 0)
    with pytest.raises(DeferredInitializationError):
        layer.weight.data()
    x = nd.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    assert layer(x).asnumpy().tolist() == [[10] * 3, [26] * 3]
    assert layer.weight.shape == (3, 4)


def test_a_layer_of_ones_own_trains_inside_a_model():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), Scaled(2))
    net.initialize()
    with autograd.record():
        out = net(nd.ones((5, 3)))
    out.backward()
    layer = net[1]
    assert layer.weight.shape == (2, 4)
    assert float(nd.abs(layer.weight.grad()).sum().asscalar()) > 0
    assert layer.scale.grad().shape == (2,)
