"""Generation of tokens: greedy, by draws among the probable ones, up to an end."""

from typing import Any

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


def decoding_layers() -> list[Any]:
    nn = mx.gluon.nn
    return [nn.MultiHeadAttention(8, 2, causal=True, rotary=True), nn.TransformerEncoderLayer(8, 2, 16, causal=True, dropout=0.0)]


def initialized(layer: Any, units: int = 8) -> Any:
    layer.initialize(mx.init.Uniform(1.0))
    layer(mx.nd.ones((1, 2, units)))
    return layer


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("hybridized", [False, True])
def test_arrays_of_np_are_decoded_to_such_arrays(number: int, hybridized: bool) -> None:
    layer = initialized(decoding_layers()[number])
    if hybridized:
        layer.hybridize()
    x = mx.np.random.normal(size=(1, 4, 8))
    cache = getattr(layer, "attention", layer).new_cache(1, 4)
    first, cache = layer.decode(x[:, :3], cache)
    last, cache = layer.decode(x[:, 3:], cache)
    assert isinstance(first, mx.np.ndarray)
    np.testing.assert_allclose(mx.np.concatenate([first, last], 1), layer(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_a_cache_has_the_dtype_of_its_layer(dtype: str) -> None:
    layer = initialized(decoding_layers()[0])
    layer.cast(dtype)
    cache = layer.new_cache(1, 3)
    y, cache = layer.decode(mx.nd.ones((1, 2, 8), dtype=dtype), cache)
    assert cache.keys.dtype == cache.values.dtype == y.dtype == layer.key.weight.data().dtype


@pytest.mark.parametrize("arrays", [mx.nd, mx.np], ids=["nd", "np"])
@pytest.mark.parametrize("number", [0, 1])
def test_decoding_in_scan(arrays: Any, number: int) -> None:
    layer = initialized(decoding_layers()[number])
    x = arrays.array(np.random.default_rng(3).normal(size=(5, 2, 1, 8)).astype("float32"))
    cache = getattr(layer, "attention", layer).new_cache(2, 5)
    after, ys = mx.func.scan(lambda cache, part: layer.decode(part, cache)[::-1], cache, x)
    assert after.filled.asscalar() == 5
    whole = layer(arrays.array(x.asnumpy()[:, :, 0].swapaxes(0, 1)))
    np.testing.assert_allclose(ys.asnumpy()[:, :, 0].swapaxes(0, 1), whole.asnumpy(), rtol=1e-4, atol=1e-5)


def test_a_compiled_step_of_decoding_is_traced_once() -> None:
    layer = initialized(decoding_layers()[0])
    traced = []

    @mx.func.jit
    def step(part: Any, cache: Any) -> Any:
        traced.append(part.shape)
        return layer.decode(part, cache)

    x = mx.nd.random.normal(shape=(1, 4, 8))
    cache = layer.new_cache(1, 4)._replace(filled=mx.nd.zeros(1, dtype="int32"))
    parts = []
    for k in range(4):
        y, cache = step(x[:, k : k + 1], cache)
        parts.append(y)
    assert len(traced) == 1
    np.testing.assert_allclose(mx.nd.concat(*parts, dim=1).asnumpy(), layer(x).asnumpy(), rtol=1e-4, atol=1e-5)


def test_a_cache_whose_position_is_an_array_is_not_written_beyond_its_end() -> None:
    layer = initialized(decoding_layers()[0])

    def overfull() -> None:
        cache, ys = mx.func.scan(lambda cache, part: layer.decode(part, cache)[::-1], layer.new_cache(1, 4), mx.nd.ones((5, 1, 1, 8)))
        cache.keys.wait_to_read()
        ys.wait_to_read()

    # a GPU notices it when the values are read
    with pytest.raises(mx.errors.IndexingError, match="out of bounds"):
        overfull()


def test_positions_are_exact_in_half_precision() -> None:
    learned = mx.gluon.nn.LearnedPositions(300, 4)
    learned.initialize(mx.init.Uniform(1.0))
    learned.cast("bfloat16")
    added = learned(mx.nd.zeros((1, 300, 4), dtype="bfloat16")).astype("float32").asnumpy()
    np.testing.assert_array_equal(added[0], learned.weight.data().astype("float32").asnumpy())
    x = mx.nd.ones((1, 1, 300, 4))
    rotary = mx.gluon.nn.RotaryPositions()
    rotated = rotary(x.astype("bfloat16")).astype("float32").asnumpy()
    np.testing.assert_allclose(rotated, rotary(x).asnumpy(), atol=0.01)


@pytest.mark.parametrize("position", [7.0, 1e3, 1e5])
def test_rotations_of_float64_are_exact(position: float) -> None:
    x = mx.np.array([[1.0, 1.0, 0.0, 0.0]])
    angles = position * np.array([1.0, 0.01])
    found = mx.npx.rotary_embedding(x, mx.np.array([position])).asnumpy()[0]
    np.testing.assert_allclose(found, [*np.cos(angles), *np.sin(angles)], atol=1e-11)
