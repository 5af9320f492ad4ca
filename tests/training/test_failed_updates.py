"""An update that fails changes nothing in the optimizer, so that a program may catch the error and go on."""

import copy

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError

NAMES = sorted(name for name in mx.optimizer.Optimizer.opt_registry if name not in ("sgld", "mine") and not name.startswith("_"))


class Failing(mx.lr_scheduler.LRScheduler):
    """A constant rate; the given call raises."""

    def __init__(self, fails_at=None):
        super().__init__(0.1)
        self.calls, self.fails_at = 0, fails_at

    def __call__(self, num_update):
        self.calls += 1
        if self.calls == self.fails_at:
            raise RuntimeError("the schedule has no rate")
        return 0.1 / num_update if num_update else 0.1


def trained(name, fails_at, is_direct, dtype):
    """The weight after 4 updates, the optimizer's progress, and how many updates have raised."""
    mx.random.seed(3)
    options = {"lr_scheduler": Failing(fails_at), "learning_rate": 0.1, "multi_precision": dtype == "float16"}
    optimizer = mx.optimizer.create(name, **options, **({"batch_scale": 2} if name == "lbsgd" else {}))
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    state = optimizer.create_state_multi_precision(0, weight)
    failures = done = 0
    while done < 4:
        gradient = weight * (0.1 * done + 0.1)
        try:
            if is_direct:
                optimizer.update_multi_precision(0, weight, gradient, state)
            else:
                updater(0, gradient, weight)
            done += 1
        except RuntimeError:
            failures += 1
    progress = {key: value.asnumpy().tolist() if hasattr(value, "asnumpy") else value for key, value in optimizer.get_progress().items()}
    return weight.asnumpy(), repr(progress), failures


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_direct", [False, True], ids=["by an updater", "by the optimizer"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_schedule_that_raises_once_costs_nothing(name, is_direct, dtype):
    want, progress, _ = trained(name, None, is_direct, dtype)
    for fails_at in (1, 3):
        found, after, failures = trained(name, fails_at, is_direct, dtype)
        assert failures == (name != "test")  # which reads no rate
        np.testing.assert_array_equal(found, want)
        assert after == progress


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_that_does_not_fit_is_not_counted(name):
    optimizer = mx.optimizer.create(name, learning_rate=0.1)
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.ones((2, 3))
    updater([0, 1], [weight * 0.5, weight * 0.5], [weight, mx.nd.ones((2, 3))])
    before = copy.deepcopy(optimizer.get_progress())
    with pytest.raises(MXNetError):
        updater(0, mx.nd.ones((5, 4, 3)), weight)
    mx.nd.waitall()
    assert repr(optimizer.get_progress()) == repr(before)


def test_a_users_optimizer_that_raises_is_not_counted():
    class Refusing(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            self._update_count(index)
            if self.num_update == 2:
                raise ValueError("no")
            weight -= self._get_lr(index) * grad

    updater = mx.optimizer.get_updater(Refusing(learning_rate=0.5))
    weight = mx.nd.ones(3)
    updater("w", mx.nd.ones(3), weight)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            updater("w", mx.nd.ones(3), weight)
        assert (updater.optimizer.num_update, updater.optimizer._index_update_count) == (1, {"w": 1})
    assert weight.asnumpy().tolist() == [0.5] * 3


def test_only_the_weight_whose_update_has_raised_is_not_counted():
    optimizer = mx.optimizer.create("rmsprop", learning_rate=0.1, lr_scheduler=Failing(2))
    weights = [mx.nd.ones(3), mx.nd.ones(3)]
    with pytest.raises(RuntimeError, match="no rate"):
        mx.optimizer.get_updater(optimizer)([0, 1], [mx.nd.ones(3), mx.nd.ones(3)], weights)
    assert optimizer._index_update_count == {0: 1}
    assert weights[0].asnumpy()[0] < 1 == weights[1].asnumpy()[0]
