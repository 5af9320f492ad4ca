"""What the programs cannot test of optimizers: compilation, devices, noise, mistakes."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError, ParameterError, ShapeError, WrongArgument
from twofold.imperative import residuals

from tests.probe import dtype_name

NAMES = sorted(name for name in mx.optimizer.Optimizer.opt_registry if name not in ("sgld", "mine") and not name.startswith("_"))


@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_compiles_nothing(name, monkeypatch):
    schedule = mx.lr_scheduler.CosineScheduler(100, base_lr=0.1)
    updater = mx.optimizer.get_updater(
        mx.optimizer.create(name, learning_rate=0.1, lr_scheduler=schedule, wd=0.0 if "group" in name else 0.1)
    )
    weight = mx.nd.ones((3, 4))
    for _ in range(3):
        updater(0, mx.nd.ones((3, 4)), weight)
    made = []
    original = residuals.Program
    monkeypatch.setattr(residuals, "Program", lambda *args, **kwargs: made.append(args) or original(*args, **kwargs))
    for _ in range(5):
        updater(0, mx.nd.ones((3, 4)), weight)
    assert made == []


@pytest.mark.parametrize("name", NAMES)
def test_weights_on_a_gpu_are_updated_as_on_the_cpu(name, gpus):
    results = []
    for device in (mx.cpu(), gpus[1]):
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
        weight = mx.nd.array(np.linspace(-1, 1, 12).reshape(3, 4), ctx=device)
        for k in range(3):
            updater(0, mx.nd.array(np.linspace(1, k, 12).reshape(3, 4), ctx=device), weight)
        assert weight.context == device
        results.append(weight.asnumpy())
    np.testing.assert_allclose(*results, rtol=1e-5 if name == "muon" else 1e-6)  # muon: products of matrices


def test_weights_with_gradients_stay_variables():
    weight = mx.nd.array([1.0, 2.0])
    weight.attach_grad()
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    for _ in range(3):
        with mx.autograd.record():
            loss = (weight * weight).sum()
        loss.backward()
        updater(0, weight.grad, weight)
    # by hand: mom = 0.9 mom - 0.2 w; w = w + mom
    expected, mom = np.array([1.0, 2.0]), 0.0
    for _ in range(3):
        mom = 0.9 * mom - 0.2 * expected
        expected = expected + mom
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)


def test_langevin_steps_are_half_the_gradient_plus_noise_of_variance_lr():
    mx.random.seed(5)
    weight = mx.nd.zeros((200, 200))
    mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=0.04))(0, mx.nd.ones((200, 200)), weight)
    steps = weight.asnumpy()
    assert steps.mean() == pytest.approx(-0.02, abs=0.004)
    assert steps.std() == pytest.approx(0.2, rel=0.02)


def test_delayed_descent_has_momentum():
    updater = mx.optimizer.get_updater(mx.optimizer.DCASGD(learning_rate=0.1, momentum=0.5, lamda=2.0))
    weight, gradient = mx.nd.array([1.0]), mx.nd.array([1.0])
    updater(0, gradient, weight)  # step -0.1
    updater(0, gradient, weight)  # mom = 0.5 · -0.1 - 0.1 · (1 + 2 · (0.9 - 1)) = -0.13
    assert weight.asscalar() == pytest.approx(0.77)


def test_lars_corrects_the_momentum_of_all_weights_of_a_step():
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
    updater = mx.optimizer.get_updater(mx.optimizer.LARS(learning_rate=1.0, lr_scheduler=schedule, eta=0.01, momentum=0.9))
    weights = [mx.nd.array([1.0, 2.0]) for _ in range(3)]
    for _ in range(3):
        updater([0, 1, 2], [mx.nd.ones((2,))] * 3, weights)
    assert weights[0].asnumpy().tolist() == weights[1].asnumpy().tolist() == weights[2].asnumpy().tolist()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_lars_updates_the_rows_of_a_row_sparse_gradient_alone(momentum):
    rates = {"learning_rate": 1.0, "eta": 0.5, "wd": 0.1, "momentum": momentum}
    rows = [mx.nd.sparse.row_sparse_array((np.full((1, 2), 2, "float32"), [row]), shape=(3, 2)) for row in (0, 2)]
    weight, updater = mx.nd.ones((3, 2)), mx.optimizer.get_updater(mx.optimizer.LARS(**rates))
    updater(0, rows[0], weight)
    first = 1 - 0.5 * 6**0.5 / (8**0.5 + 0.1 * 6**0.5) * (2 + 0.1)
    np.testing.assert_allclose(weight.asnumpy(), [[first] * 2, [1, 1], [1, 1]], rtol=1e-6)
    updater(0, rows[1], weight)
    norm = (4 + 2 * first**2) ** 0.5
    second = 1 - 0.5 * norm / (8**0.5 + 0.1 * norm) * (2 + 0.1)
    np.testing.assert_allclose(weight.asnumpy(), [[first] * 2, [1, 1], [second] * 2], rtol=1e-6)


@pytest.mark.parametrize("bound", [0, -1])
def test_lars_takes_a_bound_that_is_not_positive_for_none(bound):
    weights = [mx.nd.array([1.0, 2.0]) for _ in range(2)]
    for weight, clip_gradient in zip(weights, (None, bound), strict=True):
        mx.optimizer.get_updater(mx.optimizer.LARS(clip_gradient=clip_gradient))(0, mx.nd.array([3.0, -4.0]), weight)
    np.testing.assert_array_equal(weights[1].asnumpy(), weights[0].asnumpy())


@pytest.mark.parametrize("factor", [1, 1 - 2**-53, 0.999, 0.5, -1, math.nan])
def test_a_schedule_catches_up_with_any_count_of_updates(factor):
    def schedule():
        return mx.lr_scheduler.FactorScheduler(3, factor, base_lr=0.7, stop_factor_lr=1e-3)

    slow, fast = schedule(), schedule()
    found = [slow(n) for n in range(400)]
    assert str(fast(399)) == str(found[-1])  # a text, as NaN is not equal to itself
    assert fast.count == slow.count == 396
    assert str(fast(400)) == str(slow(400))
    begin = time.process_time()
    fast(2**60)
    assert time.process_time() - begin < 10
    assert 0 < 2**60 - fast.count <= 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_weights_without_a_master_copy_warn(dtype):
    with pytest.warns(UserWarning, match="multi_precision=True"):
        mx.optimizer.SGD().create_state_multi_precision(0, mx.nd.ones((1,), dtype=dtype))


@pytest.mark.parametrize("name", ["sgd", "adam", "lars"])
def test_steps_too_small_for_float16_accumulate_in_the_master_copy(name):
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=1e-4, multi_precision=True))
    weight = mx.nd.ones((2, 2), dtype="bfloat16")
    for _ in range(100):
        updater(0, mx.nd.ones((2, 2), dtype="bfloat16"), weight)
    assert weight.asnumpy().astype("float32")[0, 0] < 1 or name == "lars"  # its steps are smaller by another factor of eta
    assert weight.dtype == mx.nd.ones((1,), dtype="bfloat16").dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_lamb_accepts_weights_of_any_dtype(dtype):
    weight = mx.nd.ones((2, 2), dtype=dtype)
    optimizer = mx.optimizer.LAMB()
    state = optimizer.create_state(0, weight)
    for _ in range(3):
        optimizer.update(0, weight, mx.nd.ones((2, 2), dtype=dtype), state)
    np.testing.assert_allclose(weight.asnumpy(), 0.997003, rtol=1e-3 if dtype == "float16" else 1e-6)  # MXNet's result
    assert {dtype_name(x) for x in (weight, *state)} == {dtype}


def test_an_explicit_learning_rate_overrides_the_schedules():
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.7)
    with pytest.warns(UserWarning, match="overwritten by learning_rate 0.1"):
        mx.optimizer.SGD(learning_rate=0.1, lr_scheduler=schedule)
    assert schedule.base_lr == 0.1


def test_groups_of_weights_have_one_dtype_and_a_size_limit():
    groups = []

    class Watcher(mx.optimizer.Optimizer):
        aggregate_num = 2

        def update(self, index, weight, grad, state):
            groups.append(index)

    weights = [mx.nd.ones((1,), dtype=dtype) for dtype in ("float32", "float64", "float32", "float32")]
    mx.optimizer.get_updater(Watcher())(["a", "b", "c", "d"], weights, weights)
    assert groups == [("a", "c"), ("d",), ("b",)]


def test_an_empty_list_of_weights_updates_nothing():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())
    updater([], [], [])
    assert updater.states == {}


def test_row_sums_require_rows():
    with pytest.raises(ShapeError, match="two axes"):
        mx.optimizer.GroupAdaGrad().create_state(0, mx.nd.ones((2,)))


def test_the_old_name_for_multipliers_points_to_the_new_one():
    with pytest.raises(MXNetError, match="use set_lr_mult"):
        mx.optimizer.SGD().set_lr_scale({})


def test_an_unknown_optimizer_names_those_that_are_known():
    with pytest.raises(ParameterError, match=r"Cannot find optimizer nope; use one of .*adam"):
        mx.optimizer.create("nope")


@pytest.mark.parametrize(("scale", "weights"), [(1, [0.99, 0.88, 0.67, 0.36, -0.05]), (2, [1.0, 0.835, 0.835, 0.215, 0.215])])
def test_lbsgd_reads_its_schedule_before_it_counts_an_update(scale, weights):
    """The weights are MXNet 1.9.1's."""
    asked = []

    class Rising(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            asked.append(num_update)
            return 0.1 * num_update + 0.01

    optimizer = mx.optimizer.create("lbsgd", lr_scheduler=Rising(), batch_scale=scale, warmup_epochs=1, updates_per_epoch=4)
    weight, found = mx.nd.array([1.0]), []
    for _ in weights:
        optimizer.update(0, weight, mx.nd.array([1.0]), None)
        found.append(weight.asscalar())
    np.testing.assert_allclose(found, weights, rtol=1e-5)
    assert asked == [0, 1, 2, 3, 4]


def test_lbsgd_adds_gradients_that_come_in_one_array():
    """MXNet keeps the array itself, as a module passes it each time: the second gradient counts twice."""
    optimizer = mx.optimizer.create("lbsgd", learning_rate=0.1, batch_scale=2, warmup_epochs=1, updates_per_epoch=4)
    weight, gradient, found = mx.nd.array([1.0]), mx.nd.array([0.0]), []
    for value in range(4):
        gradient[:] = value
        optimizer.update(0, weight, gradient, None)
        found.append(weight.asscalar())
    # two steps with the means 0.5 and 2.5 of two gradients each; the warm-up multiplies the rate by 1.5 and 2
    np.testing.assert_allclose(found, [1.0, 1.0 - 0.1 * 1.5 * 0.5, 0.925, 0.925 - 0.1 * 2 * 2.5], rtol=1e-5)


@pytest.mark.parametrize(
    ("scale", "momentum", "expected"),
    [(1, 0.9, [0.32, -0.241, -0.051, 1.0]), (2, 0.0, [0.745, 0.590625, 0.643125, 1.0]), (2, 0.9, [0.653875, 0.5450625, 0.5064375, 1.0])],
)
def test_lbsgd_updates_the_rows_of_a_row_sparse_gradient_only(scale, momentum, expected):
    """Values of the real MXNet 1.9.1."""
    optimizer = mx.optimizer.create("lbsgd", learning_rate=0.1, momentum=momentum, batch_scale=scale, wd=0.0)
    update, weight = mx.optimizer.get_updater(optimizer), mx.nd.ones((4, 1))
    for step in range(4):
        gradient = np.full((4, 1), step + 1.0)
        gradient[[step % 3, 3]] = 0
        update(0, mx.nd.array(gradient).tostype("row_sparse"), weight)
    np.testing.assert_allclose(weight.asnumpy().ravel(), expected, rtol=1e-5)


def test_a_tuple_as_the_name_of_one_weight_is_a_mistake():
    update = mx.optimizer.get_updater(mx.optimizer.SGD())
    with pytest.raises(WrongArgument, match=r"stands for several weights.*\(0, 'w'\).*name one weight by a string"):
        update((0, "w"), mx.nd.ones((2,)), mx.nd.ones((2,)))


@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "adagrad", "rmsprop", "lamb", "ftrl"])
def test_what_is_no_array_is_refused_as_an_assertion(name):
    """MXNet asserts that weight and gradient are arrays, in each update."""
    optimizer, weight = mx.optimizer.create(name), mx.nd.ones(3)
    state = optimizer.create_state(0, weight)
    for given in (np.ones(3), [1, 1, 1], None, 1.0):
        with pytest.raises(AssertionError):
            optimizer.update(0, weight, given, state)
        with pytest.raises(AssertionError):
            optimizer.update(0, given, weight, state)
    assert weight.asnumpy().tolist() == [1, 1, 1]
    assert optimizer.num_update == 0


@pytest.mark.parametrize("params", [{}, {"upper_bound": 1.0}])
def test_lamb_makes_all_of_a_weight_nan_after_a_gradient_with_nan(params):
    # as MXNet 1.9.1: the norm of the step is NaN, and with it the rate
    weight = mx.nd.array([1, 2])
    update = mx.optimizer.get_updater(mx.optimizer.create("lamb", **params))
    update(0, mx.nd.array([1, np.nan]), weight)
    assert np.isnan(weight.asnumpy()).all()
