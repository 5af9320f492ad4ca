"""The hand-written networks compute what they are compared with: losses and gradients, whichever way Twofold runs them."""

import numpy as np
import pytest

from asv_benchmarks import networks
from asv_benchmarks.hand_written import LeNet, Perceptron

NETWORKS = {"perceptron": Perceptron, "lenet": lambda: LeNet(batch=4)}
WAYS = {
    "imperative": networks.imperative,
    "executor": networks.executor,
    "gluon": lambda net: networks.gluon(net, hybrid=False),
    "hybridized": lambda net: networks.gluon(net, hybrid=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NETWORKS)
def test_twofold_and_the_hand_written_step_agree(name, way):
    net = NETWORKS[name]()
    loss, other = net.step(), WAYS[way](net)
    np.testing.assert_allclose(other.step().asscalar(), loss, rtol=1e-5)
    found = other.gradients()
    for key, expected in networks.gradients_of(net).items():
        np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_hand_written_gradient_predicts_the_change_of_the_loss(name):
    net = NETWORKS[name]()
    before = net.step()
    weights = [net.w2, net.b1] if name == "perceptron" else [net.conv1.w, net.conv2.b, net.w3]
    gradients = [g.copy() for g in ([net.dw2, net.db1] if name == "perceptron" else [net.conv1.dw, net.conv2.db, net.dw3])]
    square = sum(float((g.astype("float64") ** 2).sum()) for g in gradients)
    length = 0.01 / square  # a change of the loss of about 0.01
    for w, g in zip(weights, gradients, strict=True):
        w -= np.float32(length) * g
    assert (before - net.step()) / (length * square) == pytest.approx(1, abs=0.1)


def test_a_hand_written_step_leaks_no_memory():
    net = Perceptron()
    memory = {id(v) for v in vars(net).values() if isinstance(v, np.ndarray)}
    net.step()
    assert {id(v) for v in vars(net).values() if isinstance(v, np.ndarray)} == memory
