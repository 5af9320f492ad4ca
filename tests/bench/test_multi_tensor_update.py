"""Several weights updated by one program: the same results as one after the other, and only where that holds."""

import numpy as np
import pytest

import twofold as mx
from twofold.imperative.counters import COUNTERS
from twofold.optimizer.multi_tensor import are_independent


def arrays(seed):
    draw = np.random.default_rng(seed)
    return [mx.nd.array(draw.standard_normal(shape)) for shape in [(3, 4), (3,), (2, 3), (2,)]]


def trained(optimizer, lists):
    """Weights after three updates, all given at once or one by one."""
    updater, weights = mx.optimizer.get_updater(optimizer), arrays(0)
    for step in range(3):
        grads = arrays(step + 1)
        if lists:
            updater(list(range(4)), grads, weights)
        else:
            for k in range(4):
                updater(k, grads[k], weights[k])
    return [w.asnumpy() for w in weights]


@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.9}, {"clip_gradient": 0.5, "wd": 0.1}, {"momentum": 0.9, "wd": 0.1, "rescale_grad": 0.25}]
)
def test_joint_updates_are_bitwise_equal_to_single_ones(options):
    made = [mx.optimizer.SGD(learning_rate=0.1, param_idx2name={0: "a_weight", 1: "a_bias"}, **options) for _ in range(2)]
    for together, alone in zip(trained(made[0], True), trained(made[1], False), strict=True):
        np.testing.assert_array_equal(together, alone)


def test_weights_keep_their_own_learning_rates():
    made = [mx.optimizer.SGD(learning_rate=0.1) for _ in range(2)]
    for optimizer in made:
        optimizer.set_lr_mult({1: 3.0})
    for together, alone in zip(trained(made[0], True), trained(made[1], False), strict=True):
        np.testing.assert_array_equal(together, alone)


def test_a_weight_given_twice_is_updated_twice():
    w, g = mx.nd.ones((2,)), mx.nd.ones((2,))
    mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.25))([0, 1], [g, g], [w, w])
    assert w.asnumpy().tolist() == [0.5, 0.5]


def test_a_view_is_written_through():
    base, other, g = mx.nd.ones((2, 2)), mx.nd.ones((2,)), mx.nd.ones((2,))
    mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.25))([0, 1], [g, g], [base[0], other])
    assert base.asnumpy().tolist() == [[0.75, 0.75], [1, 1]]


def test_an_exported_weight_is_written_in_place():
    w, other, g = mx.nd.ones((2,)), mx.nd.ones((2,)), mx.nd.ones((2,))
    seen = np.from_dlpack(w)
    mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.25))([0, 1], [g, g], [w, other])
    assert seen.tolist() == [0.75, 0.75]


def test_a_weight_on_another_device_stays_there():
    weights = [mx.nd.ones((2,), ctx=mx.cpu(1)) for _ in range(2)]
    grads = [mx.nd.ones((2,), ctx=mx.cpu(1)) for _ in range(2)]
    mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.25))([0, 1], grads, weights)
    assert [w.context for w in weights] == [mx.cpu(1)] * 2
    assert weights[1].asnumpy().tolist() == [0.75, 0.75]


def test_a_user_s_update_of_one_weight_is_called_for_each():
    class Half(mx.optimizer.SGD):
        def update(self, index, weight, grad, state):
            weight[:] = weight * 0.5

    w = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    mx.optimizer.get_updater(Half())([0, 1], w, w)
    assert [x.asnumpy().tolist() for x in w] == [[0.5] * 2, [0.5] * 3]


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_large_weights_are_updated_by_one_operation_in_their_own_memory(name):
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
    weights = [mx.nd.ones((600, 500)), mx.nd.ones((5,)), mx.nd.ones((300, 200))]
    for step in range(3):
        grads = [mx.nd.ones(w.shape) * (step + 1) for w in weights]
        mx.nd.waitall()
        COUNTERS.reset()
        updater([0, 1, 2], grads, weights)
        assert COUNTERS.deferred == 1
        mx.nd.waitall()
    assert COUNTERS.donated >= len(weights)
    assert all(len(np.unique(w.asnumpy())) == 1 for w in weights)


def test_weights_on_several_devices_are_not_updated_together():
    assert are_independent([mx.nd.ones((4,)), mx.nd.ones((300, 300))])
    assert not are_independent([mx.nd.ones((4,)), mx.nd.ones((4,), ctx=mx.cpu(1))])
