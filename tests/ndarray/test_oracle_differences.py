"""Results that differ from MXNet 1.9.1 on purpose; rows of docs/reference/compatibility.md say why."""

import numpy
import pytest

import twofold as mx
from twofold import mxnet_numpy


@pytest.mark.parametrize(
    ("chosen_where", "gradient"),
    [(True, [1, 0, 1]), (False, [0, 1, 0])],  # MXNet: [0, 1, 0] and [1, 0, 1]
)
def test_where_with_a_scalar_gives_its_gradient_to_the_chosen_elements(chosen_where, gradient):
    x = mxnet_numpy.array([1.0, 2.0, 3.0])
    condition = mxnet_numpy.array([1, 0, 1], dtype="bool")
    x.attach_grad()
    with mx.autograd.record():
        y = mxnet_numpy.where(condition, x, 0) if chosen_where else mxnet_numpy.where(condition, 0, x)
    y.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), gradient)


@pytest.mark.parametrize("in_place", [False, True])  # MXNet's momentum in place: [0.16735, 0.1719]
def test_nesterovs_momentum_decays_with_the_old_weight_wherever_the_result_goes(in_place):
    weight, gradient, momentum = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -1.0]), mx.nd.array([0.3, 0.2])
    out = {"out": weight} if in_place else {}
    new = mx.nd.nag_mom_update(weight, gradient, momentum, lr=0.1, momentum=0.9, wd=0.5, **out)
    numpy.testing.assert_allclose(new.asnumpy(), [1.053, 2.162], rtol=1e-6)
    numpy.testing.assert_allclose(momentum.asnumpy(), [0.17, 0.18], rtol=1e-6)


def test_bools_with_true_stay_bools():
    mask = mx.nd.array([1, 0, 1], dtype="bool")
    for result, expected in [(mask == True, [1, 0, 1]), (mask * True, [1, 0, 1]), (mask + True, [1, 1, 1])]:  # noqa: E712
        assert result.dtype == numpy.bool_
        numpy.testing.assert_array_equal(result.asnumpy(), numpy.array(expected, bool))
    numpy.testing.assert_array_equal(mx.nd.arange(3)[mask == True].asnumpy(), [0, 2])  # noqa: E712
