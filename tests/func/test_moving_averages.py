"""States that change in backward, such as moving averages, inside `func.checkpoint` and `func.jit`: once for each recorded call."""

import numpy as host
import pytest

import twofold as mx
from twofold import autograd, func, gluon, nd
from twofold.gluon import nn

ROWS = host.random.default_rng(5).normal(size=(8, 3)).astype("float32")


class Normalized(gluon.HybridBlock):
    """Dense layers with a layer of batch normalization that is used twice, and one that is used once."""

    def __init__(self, inside):
        super().__init__(prefix="normalized_")
        self.inside = inside
        with self.name_scope():
            self.first, self.second = nn.Dense(4, in_units=3), nn.Dense(4, in_units=4)
            self.twice, self.once = nn.BatchNorm(in_channels=4), nn.BatchNorm(in_channels=4, momentum=0.5)

    def hybrid_forward(self, F, x):
        def layers(v):
            return self.once(self.second(self.twice(F.tanh(self.twice(self.first(v))))))

        return self.inside(layers)(x)


def trained(inside, outside, hybridized):
    """Gradients and states after two steps."""
    net = Normalized(inside)
    mx.random.seed(4)
    net.initialize(mx.init.Normal(1))
    net.hybridize(hybridized)
    call = outside(net)
    for _ in range(2):
        with autograd.record():
            loss = (call(nd.array(ROWS)) ** 2 * nd.arange(4).reshape((1, 4))).sum()
        loss.backward()
    return [(p.grad() if p.grad_req != "null" else p.data()).asnumpy() for p in net.collect_params().values()]


def same(f):
    return f


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (func.checkpoint, same),
        (same, func.checkpoint),
        (func.checkpoint, func.checkpoint),
        (same, func.jit),
        (func.checkpoint, func.jit),
        (same, lambda f: func.jit(func.checkpoint(f))),
        (same, lambda f: func.checkpoint(func.jit(f))),
    ],
    ids=["inside", "outside", "both", "jit", "inside jit", "jit of checkpoint", "checkpoint of jit"],
)
def test_moving_averages_change_as_without_a_transform(inside, outside, hybridized):
    expected = trained(same, same, False)
    for one, wanted in zip(trained(inside, outside, hybridized), expected, strict=True):
        host.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transform", [func.checkpoint, func.jit])
def test_a_recorded_call_moves_the_averages_once(transform):
    net = nn.BatchNorm(in_channels=3, momentum=0.75)
    net.initialize()
    call = transform(net)
    call(nd.array(ROWS))
    with autograd.train_mode():
        call(nd.array(ROWS))
    assert net.running_mean.data().asnumpy().tolist() == [0, 0, 0]
    with autograd.record():
        loss = call(nd.array(ROWS)).sum()
    loss.backward()
    assert net.running_mean.data().asnumpy() == pytest.approx(0.25 * ROWS.mean(0), abs=1e-6)
    assert net.running_var.data().asnumpy() == pytest.approx(0.75 + 0.25 * ROWS.var(0), rel=1e-5)


def test_averages_of_a_result_that_is_not_used_stay():
    net = nn.BatchNorm(in_channels=3)
    net.initialize()
    x = nd.array(ROWS)
    x.attach_grad()
    with autograd.record():
        y = func.checkpoint(lambda v: (net(v), v * 2)[1])(x)
    y.backward()
    assert net.running_mean.data().asnumpy().tolist() == [0, 0, 0]


def test_states_that_are_arguments_change():
    mean, variance = nd.zeros((3,)), nd.ones((3,))
    scale = nd.ones((3,))
    scale.attach_grad()

    def layer(gamma, average):
        return nd.BatchNorm(nd.array(ROWS), gamma, nd.zeros((3,)), average, variance, fix_gamma=False, momentum=0.75)

    for transform in (func.checkpoint, func.jit):
        mean[:] = 0
        with autograd.record():
            loss = transform(layer)(scale, mean).sum()
        loss.backward()
        assert mean.asnumpy() == pytest.approx(0.25 * ROWS.mean(0), abs=1e-6)


def test_transforms_that_differentiate_leave_the_averages():
    net = nn.BatchNorm(in_channels=3)
    net.initialize()
    with autograd.train_mode():
        func.grad(lambda v: func.checkpoint(net)(v).sum())(nd.array(ROWS))
        func.jit(func.grad(lambda v: net(v).sum()))(nd.array(ROWS))
    assert net.running_mean.data().asnumpy().tolist() == [0, 0, 0]
