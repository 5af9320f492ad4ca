"""Generation of tokens: greedy, by draws among the probable ones, up to an end."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError
from twofold.gluon import generate


class Fixed:
    """The same probabilities after every token."""

    def __init__(self, *probabilities):
        self.scores = mx.nd.log(mx.nd.array([[probabilities]]))
        self.parts = []

    def new_cache(self, batch, length):
        self.batch, self.length = batch, length

    def decode(self, tokens, cache):
        self.parts.append(tokens.shape)
        return mx.nd.tile(self.scores, (self.batch, tokens.shape[1], 1)), cache


def test_greedy():
    net = Fixed(0.2, 0.5, 0.3)
    assert generate(net, [[0, 0]], 3).tolist() == [[0, 0, 1, 1, 1]]
    # the beginning is one part, then each token
    assert (net.length, net.parts) == (5, [(1, 2), (1, 1), (1, 1)])


def test_draws_are_among_the_most_probable_tokens_in_proportion():
    mx.random.seed(1)
    found = generate(Fixed(0.1, 0.5, 0.1, 0.3), np.zeros((2000, 1)), 1, top_p=0.7)[:, 1]
    assert set(found) == {1, 3}
    assert (found == 1).mean() == pytest.approx(0.5 / 0.8, abs=0.05)
    found = generate(Fixed(0.1, 0.5, 0.1, 0.3), np.zeros((2000, 1)), 1, top_p=1.0)[:, 1]
    np.testing.assert_allclose(np.bincount(found) / 2000, [0.1, 0.5, 0.1, 0.3], atol=0.05)


def test_the_most_probable_token_is_always_among_them():
    assert set(generate(Fixed(0.2, 0.5, 0.3), np.zeros((50, 1)), 1, top_p=0.01)[:, 1]) == {1}


def test_temperature_sharpens():
    found = generate(Fixed(0.4, 0.6), np.zeros((2000, 1)), 1, top_p=1.0, temperature=0.5)[:, 1]
    assert found.mean() == pytest.approx(0.36 / 0.52, abs=0.05)


def test_seeds_make_draws_reproducible():
    found = []
    for _ in range(2):
        mx.random.seed(3)
        found.append(generate(Fixed(0.5, 0.5), [[0]], 20, top_p=1.0).tolist())
    assert found[0] == found[1]


class Counter(Fixed):
    def decode(self, tokens, cache):
        return mx.nd.one_hot(tokens + 1, 9), cache


def test_sequences_end():
    assert generate(Counter(1), [[2], [4]], 6, end=5).tolist() == [[2, 3, 4, 5], [4, 5, 5, 5]]


@pytest.mark.parametrize("options", [{"top_p": 1.5}, {"temperature": 0}, {"length": -1}, {"tokens": [[]]}, {"tokens": [1, 2]}])
def test_mistakes(options):
    with pytest.raises(ParameterError, match="generate"):
        generate(Fixed(1), **{"tokens": [[1]], "length": 1, **options})
