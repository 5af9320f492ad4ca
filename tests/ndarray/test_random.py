"""`mx.nd.random` takes scalar or array parameters, `mx.random` seeds the streams and resumes them."""

import json

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import DeviceError, ParameterError, ShapeError

N = 20_000


@pytest.fixture(autouse=True)
def _seeded():
    state = mx.random.get_state()
    mx.random.seed(11)
    yield
    mx.random.set_state(state)


#: name, parameters, mean and variance of the distribution.
DISTRIBUTIONS = [
    ("uniform", {"low": 2, "high": 5}, 3.5, 9 / 12),
    ("normal", {"loc": 1, "scale": 2}, 1, 4),
    ("exponential", {"scale": 3}, 3, 9),
    ("gamma", {"alpha": 3, "beta": 2}, 6, 12),
    ("poisson", {"lam": 4}, 4, 4),
    ("negative_binomial", {"k": 3, "p": 0.4}, 3 * 0.6 / 0.4, 3 * 0.6 / 0.16),
    ("generalized_negative_binomial", {"mu": 2, "alpha": 0.3}, 2, 2 + 0.3 * 4),
]


@pytest.mark.parametrize(("name", "parameters", "mean", "variance"), DISTRIBUTIONS)
def test_scalar_parameters_give_one_distribution(name, parameters, mean, variance):
    x = getattr(nd.random, name)(**parameters, shape=(N,))
    assert (x.shape, x.dtype) == ((N,), np.float32)
    check_moments(x.asnumpy(), mean, variance)


@pytest.mark.parametrize(("name", "parameters", "mean", "variance"), DISTRIBUTIONS)
def test_array_parameters_give_one_distribution_per_element(name, parameters, mean, variance):
    arrays = {k: nd.array([v, v]) for k, v in parameters.items()}
    x = getattr(nd.random, name)(**arrays, shape=(N,))
    assert x.shape == (2, N)
    assert getattr(nd.random, name)(**arrays).shape == (2,)
    for row in x.asnumpy():
        check_moments(row, mean, variance)


def check_moments(values, mean, variance):
    """Within five standard errors; for the variance, assuming a kurtosis of at most 9."""
    assert abs(values.mean() - mean) < 5 * np.sqrt(variance / N)
    assert abs(values.var() - variance) < 5 * variance * np.sqrt(8 / N)


@pytest.mark.parametrize("name", [d[0] for d in DISTRIBUTIONS])
def test_a_draw_has_one_element_unless_told(name):
    assert getattr(nd.random, name)().shape == (1,)
    assert getattr(nd.random, name)(shape=3).shape == (3,)
    assert getattr(nd.random, name)(shape=(2, 3), dtype="float64").dtype is np.float64
    assert getattr(nd.random, name)(dtype=np.float16).dtype is np.float16


def test_draws_of_no_elements():
    assert nd.random.uniform(shape=(0, 2)).shape == (0, 2)
    assert nd.random.uniform(shape=()).shape == nd.random.randn().shape == ()


def test_draws_go_into_out():
    out = nd.zeros((2, 3))
    assert nd.random.uniform(1, 2, out=out) is out
    assert (out.asnumpy() >= 1).all()


def test_draws_are_on_the_context():
    assert nd.random.normal(ctx=mx.cpu(1)).context == mx.cpu(1)
    with mx.cpu(2):
        assert nd.random.uniform(shape=(2,)).context == mx.cpu(2)


def test_numpy_scalars_are_accepted_as_scalars():
    assert nd.random.uniform(np.float32(2), np.int64(3), shape=(4,)).asnumpy().min() >= 2


@pytest.mark.parametrize("low", [nd.array([0, 1]), "a", None, np.array([1.0])])
def test_parameters_of_mixed_kinds_are_rejected(low):
    with pytest.raises(ParameterError, match="Distribution parameters"):
        nd.random.uniform(low, 1)


def test_randn_accepts_sizes():
    x = nd.random.randn(3, 4, loc=100, scale=0.1)
    assert x.shape == (3, 4)
    assert abs(x.asnumpy().mean() - 100) < 1


def test_randint_draws_integers():
    x = nd.random.randint(-2, 3, shape=(1000,))
    assert x.dtype is np.int32
    assert set(x.asnumpy().tolist()) == {-2, -1, 0, 1, 2}
    assert nd.random.randint(0, 2**40, shape=(4,), dtype="int64").dtype is np.int64


def test_multinomial_draws_categories():
    data = nd.array([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])
    x = nd.random.multinomial(data, shape=N)
    assert (x.shape, x.dtype) == ((2, N), np.int32)
    np.testing.assert_allclose(np.bincount(x.asnumpy()[0], minlength=3) / N, [0.1, 0.2, 0.7], atol=0.02)
    assert (x.asnumpy()[1] == 0).all()
    drawn, logarithm = nd.random.multinomial(data, get_prob=True)
    np.testing.assert_allclose(logarithm.asnumpy(), np.log([data.asnumpy()[k, i] for k, i in enumerate(drawn.asnumpy())]), rtol=1e-5)


def test_shuffle_permutes_rows():
    x = nd.arange(200).reshape((100, 2))
    y = nd.random.shuffle(x).asnumpy()
    assert (np.sort(y[:, 0]) == np.arange(0, 200, 2)).all()
    assert (y[:, 1] == y[:, 0] + 1).all()
    assert (y != x.asnumpy()).any()


def draw():
    return [
        nd.random.uniform(shape=(3,)).asnumpy(),
        nd.random.normal(shape=(2,)).asnumpy(),
        nd.random.randint(0, 100, shape=(4,)).asnumpy(),
    ]


def assert_equal(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**40, 2**200, np.int64(3)])
def test_equal_seeds_give_equal_draws(seed):
    mx.random.seed(seed)
    first = draw()
    mx.random.seed(seed)
    assert_equal(first, draw())


def test_different_seeds_give_different_draws():
    drawn = []
    for seed in (0, 1, 2, 1 << 64):
        mx.random.seed(seed)
        drawn.append(tuple(draw()[0]))
    assert len(set(drawn)) == 4


def test_two_draws_differ():
    assert (nd.random.uniform(shape=(8,)).asnumpy() != nd.random.uniform(shape=(8,)).asnumpy()).all()


@pytest.mark.parametrize("seed", ["a", 1.5, None])
def test_a_seed_is_an_integer(seed):
    with pytest.raises(ParameterError, match="int"):
        mx.random.seed(seed)


def test_an_unknown_context_is_rejected():
    with pytest.raises(DeviceError):
        mx.random.seed(1, ctx="foo")


def test_cpu_devices_share_a_stream():
    mx.random.seed(3, ctx=mx.cpu(1))
    first = draw()
    mx.random.seed(3)
    assert_equal(first, draw())


def test_the_state_survives_json_and_resumes_exactly():
    draw()
    state = json.loads(json.dumps(mx.random.get_state()))
    first = draw()
    mx.random.seed(99)
    draw()
    mx.random.set_state(state)
    assert_equal(first, draw())


@pytest.mark.parametrize("state", [None, {}, {"seed": 1}, {"seed": 1, "streams": {"cpu(0)": [1]}}, {"seed": 1, "streams": {"tpu": 3}}])
def test_an_invalid_state_is_rejected(state):
    with pytest.raises(ParameterError, match="set_state"):
        mx.random.set_state(state)
    draw()


def test_gpus_draw_different_numbers_and_the_first_matches_the_cpu():
    from twofold.imperative.generator import Streams

    streams = Streams(5)
    keys = {d: streams.of(d).next_key().tolist() for d in (mx.cpu(0), mx.cpu(1), mx.gpu(0), mx.gpu(1), mx.gpu(2))}
    assert keys[mx.cpu(0)] == keys[mx.gpu(0)]
    assert keys[mx.cpu(1)] != keys[mx.cpu(0)]  # the second draw of one stream
    assert len({tuple(keys[mx.gpu(k)]) for k in range(3)}) == 3
    streams.seed(5, mx.gpu(2))
    assert streams.of(mx.gpu(2)).next_key().tolist() == keys[mx.gpu(0)]


def test_the_functions_match_mx_nd_random():
    for name in ("uniform", "normal", "randn", "randint", "exponential", "gamma", "poisson", "multinomial", "shuffle", "negative_binomial"):
        assert getattr(mx.random, name) is getattr(nd.random, name)
    assert nd.random.uniform_like(nd.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "poisson"])
def test_a_negative_size_is_rejected_by_name(draw):
    with pytest.raises(ShapeError, match=rf"random\.{draw}: .*a size of the result is negative: given"):
        getattr(nd.random, draw)(shape=(-2, 3))
