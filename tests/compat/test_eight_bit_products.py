"""``contrib.intgemm_*`` against their definitions in NumPy: MXNet's package from the index is built without them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from twofold.compat import mxnet_alias

from tests.alias import undone_at_the_end

DATA = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
WEIGHT = np.random.default_rng(1).normal(size=(4, 5)).astype("float32")
BIAS = np.arange(4, dtype="float32")


@pytest.fixture
def mx() -> Iterator[Any]:
    with undone_at_the_end():
        mxnet_alias.install()
        yield import_module("mxnet")


def quantized(x: np.ndarray, top: float) -> np.ndarray:
    return np.clip(np.rint(x * np.float32(127) / np.float32(top)), -127, 127).astype("int8")


def test_numbers_are_quantized_by_the_value_that_becomes_127(mx):
    op, x = mx.nd.contrib, mx.nd.array(DATA)
    top = op.intgemm_maxabsolute(x)
    assert top.shape == (1,)
    assert top.asscalar() == np.abs(DATA).max()
    for given in (top, 1.5):
        made = op.intgemm_prepare_data(x, given)
        assert made.dtype == np.int8
        assert made.shape == DATA.shape
        assert np.array_equal(made.asnumpy(), quantized(DATA, top.asscalar() if given is top else given))


def expected(data: np.ndarray, scale: float) -> np.ndarray:
    sums = data.astype("int32") @ quantized(WEIGHT, np.abs(WEIGHT).max()).astype("int32").T
    return sums * scale + BIAS


@pytest.mark.parametrize("is_quantized", [False, True])
def test_a_layer_is_the_scaled_sums_of_products(mx, is_quantized):
    op, tops = mx.nd.contrib, (np.abs(DATA).max(), np.abs(WEIGHT).max())
    weight = op.intgemm_prepare_weight(mx.nd.array(WEIGHT), float(tops[1]))
    data = op.intgemm_prepare_data(mx.nd.array(DATA), float(tops[0])) if is_quantized else mx.nd.array(DATA)
    scaling = mx.nd.array([tops[1] / 127 * (tops[0] / 127 if is_quantized else 1)])
    out = op.intgemm_fully_connected(data, weight, scaling, mx.nd.array(BIAS), num_hidden=4, flatten=False, name="n")
    whole = expected(quantized(DATA, tops[0]), tops[0] / 127 * tops[1] / 127)
    np.testing.assert_allclose(out.asnumpy(), whole, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(out.asnumpy(), DATA @ WEIGHT.T + BIAS, atol=0.15)
    sums = op.intgemm_fully_connected(data, weight, num_hidden=4, flatten=False, no_bias=True, out_type="int32")
    assert sums.dtype == np.int32
    rows = op.intgemm_take_weight(weight, mx.nd.array([2, 0]))
    part = op.intgemm_fully_connected(data, rows, num_hidden=2, flatten=False, no_bias=True, out_type="int32")
    assert np.array_equal(part.asnumpy(), sums.asnumpy()[..., [2, 0]])


def test_a_compiled_block_gives_the_same(mx):
    weight = mx.nd.contrib.intgemm_prepare_weight(mx.nd.array(WEIGHT), 2.0)

    class Layer(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, w: Any, s: Any, b: Any) -> Any:
            return F.contrib.intgemm_fully_connected(x, w, s, b, num_hidden=4, flatten=False, name="logits")

    layer = Layer()
    inputs = [mx.nd.array(DATA), weight, mx.nd.array([2 / 127]), mx.nd.array(BIAS)]
    before = layer(*inputs).asnumpy()
    layer.hybridize()
    np.testing.assert_allclose(layer(*inputs).asnumpy(), before, rtol=1e-6)


def test_a_weight_needs_its_largest_value_or_integers(mx):
    with pytest.raises(ValueError, match="maxabs is missing"):
        mx.nd.contrib.intgemm_prepare_weight(mx.nd.array(WEIGHT))
    whole = mx.nd.array(WEIGHT).astype("int8")
    assert mx.nd.contrib.intgemm_prepare_weight(whole, already_quantized=True) is whole
