"""The samplers draw from their distributions; equal seeds give equal draws, deferred or not, on any schedule."""

from __future__ import annotations

import math

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.config import SETTINGS
from twofold.graph.build import apply
from twofold.graph.ir import Application, applies, leaf, topological
from twofold.graph.rewrite import lower
from twofold.opdef.registry import NAMES
from twofold.ops.ordering import shuffle
from twofold.ops.primitive_reduce import argsort

COUNT = 100_000


def drawn(name: str, *arrays, seed: int = 7, **params) -> np.ndarray:
    """One draw of an operator after a seed."""
    mx.random.seed(seed)
    return getattr(nd, name)(*[nd.array(a, dtype="float64") for a in arrays], **params).asnumpy().astype("float64")


def expect_moments(x: np.ndarray, mean: float, variance: float, excess: float = 0.0) -> None:
    """Mean and variance of independent draws lie within four standard errors; ``excess`` is the distribution's excess kurtosis."""
    n = x.size
    assert abs(x.mean() - mean) < 4 * math.sqrt(variance / n)
    assert abs(x.var() / variance - 1) < 4 * math.sqrt((2 + excess) / n)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_draws_fill_their_interval(dtype):
    x = drawn("random_uniform", low=-1, high=3, shape=(COUNT,), dtype=dtype)
    expect_moments(x, 1, 16 / 12, -1.2)
    assert x.min() >= -1
    assert x.max() < 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normal_draws_have_the_right_quantiles(dtype):
    x = drawn("random_normal", loc=1, scale=2, shape=(COUNT,), dtype=dtype)
    expect_moments(x, 1, 4)
    for k in (1, 2, 3):
        share = math.erfc(k / math.sqrt(2)) / 2
        assert abs((x > 1 + 2 * k).mean() - share) < 4 * math.sqrt(share / COUNT)


def test_exponential_draws_have_the_right_tail():
    x = drawn("random_exponential", lam=2, shape=(COUNT,))
    expect_moments(x, 0.5, 0.25, 6)
    assert abs((x > 2).mean() - math.exp(-4)) < 4 * math.sqrt(math.exp(-4) / COUNT)


@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 1), (1, 2), (2.5, 0.5), (50, 1)])
def test_gamma_draws_have_the_right_moments(alpha, beta):
    expect_moments(drawn("random_gamma", alpha=alpha, beta=beta, shape=(COUNT,)), alpha * beta, alpha * beta**2, 6 / alpha)


@pytest.mark.parametrize("lam", [0.2, 3, 9.9, 10, 25, 1000])
def test_poisson_draws_have_the_right_probabilities(lam):
    x = drawn("random_poisson", lam=lam, shape=(COUNT,), dtype="float64")
    expect_moments(x, lam, lam, 1 / lam)
    for k in {0, int(lam), int(lam) + 2}:
        p = math.exp(k * math.log(lam) - lam - math.lgamma(k + 1))
        assert abs((x == k).mean() - p) < 4 * math.sqrt(p / COUNT) + 1e-12


def test_poisson_draws_with_array_parameters_use_both_methods():
    x = drawn("sample_poisson", [0.5, 20.0], shape=COUNT)
    expect_moments(x[0], 0.5, 0.5, 2)
    expect_moments(x[1], 20, 20, 0.05)


@pytest.mark.parametrize("lam", [0.1, 1.3, 9.99, 10.0, 12.5, 300.0])
def test_poisson_draws_of_large_arrays_have_the_right_shares(lam):
    x = drawn("sample_poisson", np.full(COUNT, lam), dtype="float64")
    expect_moments(x, lam, lam, 1 / lam)
    shares = np.bincount(x.astype(int)) / COUNT
    for k in np.flatnonzero(shares):
        p = math.exp(k * math.log(lam) - lam - math.lgamma(k + 1))
        # of about a hundred shares none is off by more than this
        assert abs(shares[k] - p) < 5 * math.sqrt(p / COUNT) + 2 / COUNT


def test_means_without_distribution_do_not_disturb_the_others():
    """They are rejected in all rounds, and must not take the place of rejected elements that are drawn again."""
    means = np.tile([math.nan, math.inf, 20.0, 1e20], COUNT // 4)
    x = drawn("sample_poisson", means, dtype="float64").reshape(-1, 4)
    expect_moments(x[:, 2], 20, 20, 0.05)
    expect_moments((x[:, 3] - 1e20) / 1e10, 0, 1)
    assert (x[:, 1] == math.inf).all()
    shapes = np.tile([math.nan, math.inf, 20.0, 1e9], COUNT // 4)
    x = drawn("sample_gamma", shapes, np.ones(shapes.size), dtype="float64").reshape(-1, 4)
    expect_moments(x[:, 2], 20, 20, 6 / 20)
    expect_moments(x[:, 3] - 1e9, 0, 1e9)
    assert np.isnan(x[:, 0]).all()
    assert (x[:, 1] == math.inf).all()


@pytest.mark.parametrize(("name", "arrays", "most"), [("poisson", 1, 6), ("gamma", 2, 4), ("negative_binomial", 2, 10)])
def test_few_words_are_drawn_for_each_element(name, arrays, most):
    """Rounds after the first are computed for rejected elements only: all rounds for all would draw 16 to 50 words each."""
    count = 1_000_000
    parameters = [leaf(k, (count,), "float32") for k in range(arrays)]
    graph = topological(lower([apply(NAMES["_sample_" + name].bind(), (*parameters, leaf("rng", (6,), "uint64")))]))
    words = [math.prod(n.shape) for n in graph if isinstance(n, Application) and n.bound_op.op.title == "random_bits"]
    assert count <= sum(words) < most * count


def test_negative_binomial_draws_have_the_right_moments():
    mean, variance = 3 * 0.6 / 0.4, 3 * 0.6 / 0.4**2
    expect_moments(drawn("random_negative_binomial", k=3, p=0.4, shape=(COUNT,)), mean, variance, 6 / 3 + 1 / variance)
    x = drawn("sample_generalized_negative_binomial", [2.0, 2.0], [0.5, 0.0], shape=COUNT)
    expect_moments(x[0], 2, 2 + 0.5 * 4, 6 * 0.5 + 1 / 4)
    expect_moments(x[1], 2, 2, 0.5)


def test_integers_are_uniform_and_exclude_the_end():
    x = drawn("random_randint", low=-2, high=3, shape=(COUNT,))
    shares = [(x == k).mean() for k in range(-2, 3)]
    assert sum(shares) == 1
    assert max(abs(s - 0.2) for s in shares) < 4 * math.sqrt(0.16 / COUNT)


def test_array_parameters_give_one_row_each():
    x = drawn("sample_normal", [0.0, 10.0], [1.0, 3.0], shape=(COUNT,))
    assert x.shape == (2, COUNT)
    expect_moments(x[0], 0, 1)
    expect_moments(x[1], 10, 9)


@pytest.mark.parametrize("classes", [1, 2, 5, 37])
def test_categorical_draws_have_the_right_probabilities(classes):
    p = np.random.default_rng(0).uniform(0, 1, (2, classes))
    p[:, classes // 2] += 0.1
    x = drawn("sample_multinomial", p, shape=COUNT)
    want = p / p.sum(1, keepdims=True)
    got = np.array([np.bincount(row.astype(int), minlength=classes) / COUNT for row in x])
    assert (abs(got - want) <= 4.5 * np.sqrt(want / COUNT)).all()


def test_classes_of_probability_0_are_never_drawn():
    assert set(drawn("sample_multinomial", [0, 0.5, 0, 0.5, 0], shape=COUNT)) == {1, 3}


def test_the_log_probability_of_a_class_has_a_gradient():
    p = nd.array([[0.25, 0.75]])
    p.attach_grad()
    with autograd.record():
        number, log_p = nd.sample_multinomial(p, shape=4, get_prob=True)
    log_p.backward()
    counts = np.bincount(number.asnumpy()[0], minlength=2)
    np.testing.assert_allclose(p.grad.asnumpy(), [counts / [0.25, 0.75]], rtol=1e-6)


@pytest.mark.parametrize("name", ["random_uniform", "random_normal", "random_gamma", "random_poisson", "random_negative_binomial"])
def test_equal_seeds_give_equal_draws_deferred_or_not(name, monkeypatch):
    params = {"k": 2, "p": 0.5} if name.endswith("binomial") else {}
    first = drawn(name, shape=(300,), **params)
    np.testing.assert_array_equal(drawn(name, shape=(300,), **params), first)
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    np.testing.assert_array_equal(drawn(name, shape=(300,), **params), first)
    assert (drawn(name, shape=(300,), seed=8, **params) != first).any()


@pytest.mark.parametrize("count", [0, 1, 2, 5, 1 << 10, COUNT])
def test_a_shuffle_is_a_permutation_by_one_sort(count):
    graph = topological(lower([apply(shuffle.bind(), (leaf(0, (count,), "float32"), leaf(1, (6,), "uint64")))]))
    # which takes three times as long as sorting words that contain the places
    assert not any(applies(node, argsort) for node in graph)
    x = drawn("shuffle", np.arange(count))
    np.testing.assert_array_equal(np.sort(x), np.arange(count))
    assert count < 10 or abs(np.corrcoef(x, np.arange(count))[0, 1]) < 4 / math.sqrt(count)


def test_all_orders_of_three_slices_are_drawn_equally_often():
    mx.random.seed(7)
    draws = [tuple(nd.random.shuffle(nd.arange(3)).asnumpy()) for _ in range(3000)]
    counts = np.unique(draws, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert max(abs(counts - 500)) < 4 * math.sqrt(500)


def test_consecutive_draws_differ():
    mx.random.seed(7)
    assert (nd.random_uniform(shape=(100,)).asnumpy() != nd.random_uniform(shape=(100,)).asnumpy()).all()


def test_changing_parameters_recompiles_nothing():
    op = mx.nd.random_normal
    op(loc=0.5, scale=1.5, shape=(7,)).asnumpy()
    before = len(NAMES["_random_normal"].bound_ops)
    for k in range(5):
        op(loc=0.25 * k, scale=1.5 + k, shape=(7,)).asnumpy()
    assert len(NAMES["_random_normal"].bound_ops) == before


# Dropout


def dropped(x: nd.NDArray, **params) -> tuple[np.ndarray, np.ndarray]:
    """The result and the gradient of its sum, while training."""
    mx.random.seed(3)
    x.attach_grad()
    with autograd.record():
        y = nd.Dropout(x, **params)
    y.backward()
    return y.asnumpy(), x.grad.asnumpy()


def test_dropout_preserves_the_mean_and_applies_its_mask_to_the_gradient():
    y, gradient = dropped(nd.ones((COUNT,)), p=0.3)
    assert abs((y == 0).mean() - 0.3) < 4 * math.sqrt(0.21 / COUNT)
    np.testing.assert_allclose(np.unique(y), [0, 1 / 0.7], rtol=1e-6)
    np.testing.assert_array_equal(gradient, y)


def test_dropout_shares_its_mask_along_axes():
    y, _ = dropped(nd.ones((50, 4, 6)), p=0.5, axes=(1, -1))
    assert (y == y[:, :1, :1]).all()
    assert {0.0, 2.0} == set(np.unique(y))


def test_dropout_applies_in_training_or_always():
    x = nd.ones((1000,))
    assert (nd.Dropout(x, p=0.5).asnumpy() == 1).all()
    assert (nd.Dropout(x, p=0.5, mode="always").asnumpy() == 0).any()
    assert (dropped(x, p=0.0)[0] == 1).all()
    assert (dropped(x, p=1.0)[0] == 0).all()


def test_rrelu_returns_its_random_slopes_second():
    # names, number of results and the zeros outside training as in MXNet, which cannot run it in training on a CPU
    x = nd.array([[1, -2, 3, -4]])
    x.attach_grad()
    out, mask = nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.125, upper_bound=0.375)
    assert (out.asnumpy().tolist(), mask.asnumpy().tolist()) == ([[1, -0.5, 3, -1]], [[0, 0, 0, 0]])
    with autograd.record():
        out, mask = nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.125, upper_bound=0.375)
    out.backward()
    slopes = mask.asnumpy()
    assert 0.125 <= slopes.min() < slopes.max() < 0.375
    np.testing.assert_allclose(out.asnumpy(), np.where(x.asnumpy() > 0, 1, slopes) * x.asnumpy(), rtol=1e-6)
    np.testing.assert_array_equal(x.grad.asnumpy(), np.where(x.asnumpy() > 0, 1, slopes))
    symbol = mx.sym.LeakyReLU(mx.sym.var("x"), act_type="rrelu", name="r")
    assert symbol.list_outputs() == ["r_output", "r_mask"]
    assert symbol.infer_shape(x=(2, 3))[1] == [(2, 3), (2, 3)]
