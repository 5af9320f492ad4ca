"""8-bit integers: exact sums of any length, what MXNet computes wrongly or only on some processors, a quantized network, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx

RANDOM = np.random.default_rng(5)
nd = mx.nd


def limits(low, high):
    return nd.array([low]), nd.array([high])


def integers(shape, dtype="int8"):
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape)


@pytest.mark.parametrize("depth", [1, 500, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_of_products_are_exact(depth, dtype):
    # the largest products that there are
    rows, weight = np.full((3, depth), np.iinfo(dtype).min or 255), np.full((4, depth), -128)
    rows[1:], weight[1:] = integers((2, depth), dtype), integers((3, depth))
    arrays = nd.array(rows, dtype=dtype), nd.array(weight, dtype="int8")
    out, low, high = nd.contrib.quantized_fully_connected(*arrays, *limits(-1, 1), *limits(-2, 2), num_hidden=4, no_bias=True)
    np.testing.assert_array_equal(out.asnumpy(), rows @ weight.T)
    unit = 1 / (127 if dtype == "int8" else 255) * 2 / 127
    np.testing.assert_allclose(high.asnumpy(), [unit * (2**31 - 1)], rtol=1e-6)
    np.testing.assert_array_equal(low.asnumpy(), -high.asnumpy())


@pytest.mark.parametrize(("channels", "groups"), [(3, 1), (300, 1), (6, 2), (800, 2)])
def test_convolutions_are_exact_and_biases_are_scaled(channels, groups):
    data, weight, bias = integers((2, channels, 5, 5)), integers((4, channels // groups, 3, 3)), integers((4,))
    arrays = [nd.array(x, dtype="int8") for x in (data, weight, bias)]
    ranges = (*limits(-1, 1.5), *limits(-2, 2), *limits(-0.5, 0.6))
    out = nd.contrib.quantized_conv(*arrays, *ranges, kernel=(3, 3), num_filter=4, num_group=groups)[0].asnumpy()
    windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3), (2, 3))
    parts = np.split(windows, groups, 1), np.split(weight, groups, 0)
    sums = np.concatenate([np.einsum("ncijkl,fckl->nfij", w, k) for w, k in zip(*parts, strict=True)], 1)
    scaled = np.trunc(bias * (0.6 / 127) / (1.5 / 127.5 * 2 / 127))
    assert np.abs(out - (sums + scaled[:, None, None])).max() <= 1  # the bias is scaled in single precision
    np.testing.assert_array_equal(out - out[:1, :, :1, :1], sums - sums[:1, :, :1, :1])


@pytest.mark.parametrize("bound", [1.0, 1e-8, 0.0])
@pytest.mark.parametrize("layer", ["quantized_fully_connected", "quantized_conv"])
def test_a_bias_that_is_large_for_the_products_is_kept(bound, layer):
    shape, kernel = ((2, 3), {}) if layer == "quantized_fully_connected" else ((2, 3, 1, 1), {"kernel": (1, 1)})
    width = {"num_hidden": 2} if layer == "quantized_fully_connected" else {"num_filter": 2}
    arrays = nd.zeros(shape, dtype="int8"), nd.ones((2, *shape[1:]), dtype="int8"), nd.array([127, -64], dtype="int8")
    sums = getattr(nd.contrib, layer)(*arrays, *limits(-bound, bound), *limits(-1, 1), *limits(-2, 2), **width, **kernel)
    found = nd.contrib.dequantize(*nd.contrib.requantize(*sums)).asnumpy().reshape(2, 2)
    np.testing.assert_allclose(found, [[2, -128 / 127]] * 2, rtol=0.01)


def test_values_in_a_range_of_zeros_are_zeros():
    zeros, none = nd.zeros((2, 3), dtype="int8"), {"min_calib_range": 0, "max_calib_range": 0}
    total = nd.contrib.quantized_elemwise_add(zeros, zeros, *limits(-1, 1), *limits(-1, 1), **none)
    product = nd.contrib.quantized_elemwise_mul(zeros, zeros, *limits(-1, 1), *limits(-1, 1), **none)
    normal = nd.contrib.quantized_batch_norm(zeros, *[nd.zeros(3)] * 3, nd.ones(3), *limits(-1, 1), **none)
    for kind in ("int8", "uint8"):
        narrow = nd.contrib.requantize(zeros.astype("int32"), *limits(-1, 1), out_type=kind, **none)
        for result in (total, product, normal, narrow):
            assert nd.contrib.dequantize(*result).asnumpy().tolist() == [[0, 0, 0]] * 2


def test_equal_numbers_have_a_scale():
    found, scale, shift = (x.asnumpy().astype(np.float32) for x in nd.contrib.quantize_asym(nd.full((2, 3), -2.5)))
    np.testing.assert_allclose((found - shift) / scale, np.full((2, 3), -2.5), atol=0.5)


def test_products_beyond_the_range_are_limited():
    a = nd.array([[127, -128, 100]], dtype="int8")
    found = nd.contrib.quantized_elemwise_mul(a, a, *limits(-1, 1), *limits(-1, 1), min_calib_range=-0.5, max_calib_range=0.5)
    assert found[0].asnumpy().tolist() == [[127, 127, 127]]


@pytest.mark.parametrize(("first", "second"), [("int8", "uint8"), ("uint8", "int8"), ("uint8", "uint8")])
def test_products_of_signed_and_unsigned_numbers(first, second):
    arrays = [nd.array(integers((2, 3), kind), dtype=kind) for kind in (first, second)]
    real = [nd.contrib.dequantize(x, *limits(-end, end)).asnumpy() for x, end in zip(arrays, (1.0, 2.0), strict=True)]
    given = (*arrays, *limits(-1, 1), *limits(-2, 2))
    out, low, high = nd.contrib.quantized_elemwise_mul(*given)
    np.testing.assert_allclose(nd.contrib.dequantize(out, low, high).asnumpy(), real[0] * real[1], rtol=1e-2)
    out = nd.contrib.quantized_elemwise_mul(*given, enable_float_output=True)
    np.testing.assert_allclose(out.asnumpy(), real[0] * real[1], rtol=1e-5)


def test_sums_of_signed_and_unsigned_numbers_without_calibration():
    a, b = integers((2, 3), "uint8"), integers((2, 3))
    arrays = nd.array(a, dtype="uint8"), nd.array(b, dtype="int8")
    out, _, high = nd.contrib.quantized_elemwise_add(*arrays, *limits(0, 1), *limits(-2, 2))
    np.testing.assert_allclose(out.asnumpy() / (2**31 - 1) * high.asnumpy(), a / 255.5 + b * 2 / 127.5, atol=1e-6)


def quantized_lstm(q, scale, shift, weights, h, c):
    """An LSTM by its definition, with products of integers."""

    def product(rows, weight):
        each = 127 / np.abs(weight).max(1, keepdims=True)
        w = np.clip(np.rint(weight * each), -128, 127).astype("int64")
        return (rows.astype("int64") @ w.T - shift * w.sum(1)) / (scale * each.T)

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    outputs = []
    for row in q:
        state = np.clip(np.rint(h * scale + shift), 0, 255)
        gates = product(row, weights["input"]) + product(state, weights["state"]) + weights["bias"]
        i, f, g, o = np.split(gates, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), h, c


def test_quantized_recurrent_layers_follow_their_definition():
    x, hidden = RANDOM.uniform(-1, 1, (4, 2, 5)), 3
    weights = {"input": RANDOM.uniform(-1, 1, (12, 5)), "state": RANDOM.uniform(-1, 1, (12, 3)), "bias": RANDOM.uniform(-1, 1, 12)}
    vector = np.concatenate([weights["input"].ravel(), weights["state"].ravel(), weights["bias"], np.zeros(12)])
    h, c = RANDOM.uniform(-1, 1, (1, 2, hidden)), RANDOM.uniform(-1, 1, (1, 2, hidden))
    q, scale, shift = nd.contrib.quantize_asym(nd.array(x), min_calib_range=-1, max_calib_range=1)
    settings = {"state_size": hidden, "num_layers": 1, "mode": "lstm", "state_outputs": True}
    found = nd.contrib.quantized_rnn(q, nd.array(vector), nd.array(h), nd.array(c), scale, shift, **settings)
    want = quantized_lstm(q.asnumpy(), 127.5, 127.5, weights, h[0], c[0])
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a.asnumpy().reshape(b.shape), b, atol=1e-5)
    exact = nd.RNN(nd.array(x), nd.array(vector), nd.array(h), nd.array(c), **settings)
    assert np.abs(found[0].asnumpy() - exact[0].asnumpy()).max() < 0.03


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_quantized_network_predicts_what_its_floats_do(hybrid):
    """A program as in the tutorials: calibrate, quantize the weights, run in integers."""
    x, w, b = (RANDOM.normal(size=s).astype("float32") for s in ((64, 20), (10, 20), (10,)))
    exact = nd.FullyConnected(nd.array(x), nd.array(w), nd.array(b), num_hidden=10)
    weight, bias = nd.contrib.quantize_v2(nd.array(w)), nd.contrib.quantize_v2(nd.array(b))
    calibrated = {"min_calib_range": float(x.min()), "max_calib_range": float(x.max())}
    if hybrid:
        names = ["weight", "bias", "min_weight", "max_weight", "min_bias", "max_bias"]
        q = mx.sym.contrib.quantize_v2(mx.sym.Variable("x"), **calibrated)
        v = {n: mx.sym.Variable(n) for n in names}
        ranges = v["min_weight"], v["max_weight"], v["min_bias"], v["max_bias"]
        out = mx.sym.contrib.quantized_fully_connected(q[0], v["weight"], v["bias"], q[1], q[2], *ranges, num_hidden=10)
        narrow = mx.sym.contrib.requantize(out[0], out[1], out[2], min_calib_range=-30.0, max_calib_range=30.0)
        symbol = mx.sym.load_json(mx.sym.contrib.dequantize(narrow[0], narrow[1], narrow[2]).tojson())
        values = dict(zip(names, (weight[0], bias[0], *weight[1:], *bias[1:]), strict=True))
        found = symbol.bind(mx.current_context(), values | {"x": nd.array(x)}).forward()[0]
    else:
        q = nd.contrib.quantize_v2(nd.array(x), **calibrated)
        out = nd.contrib.quantized_fully_connected(q[0], weight[0], bias[0], *q[1:], *weight[1:], *bias[1:], num_hidden=10)
        found = nd.contrib.dequantize(*nd.contrib.requantize(*out, min_calib_range=-30.0, max_calib_range=30.0))
    error = np.abs(found.asnumpy() - exact.asnumpy())
    assert error.max() < 0.02 * np.abs(exact.asnumpy()).max() + 30 / 127
    assert (found.asnumpy().argmax(1) == exact.asnumpy().argmax(1)).mean() > 0.9


def test_types_of_quantized_variables_are_assumed():
    out = mx.sym.contrib.quantized_fully_connected(mx.sym.Variable("data"), name="f", num_hidden=3)
    bound = out[0].simple_bind(mx.current_context(), data=(2, 5))
    assert {n: np.dtype(x.dtype).name for n, x in bound.arg_dict.items()} == {
        "data": "int8", "f_weight": "int8", "f_bias": "int8", "f_min_data": "float32", "f_max_data": "float32",
        "f_min_weight": "float32", "f_max_weight": "float32", "f_min_bias": "float32", "f_max_bias": "float32",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda c, q, r: c.dequantize(nd.ones((2,)), *r), "must be quantized"),
        (lambda c, q, r: c.requantize(q, *r), "must be quantized"),
        (lambda c, q, r: c.quantized_act(q, *r, act_type="tanh"), "no quantized form"),
        (lambda c, q, r: c.quantized_pooling(q.reshape((1, 1, 2, 3)), *r, kernel=(2, 2), pool_type="sum"), "no quantized form"),
        (lambda c, q, r: c.quantized_fully_connected(q, q, *r, num_hidden=2, no_bias=True), "number of arrays"),
        (lambda c, q, r: c.quantized_fully_connected(q, q.astype("uint8"), *r, *r, num_hidden=2, no_bias=True), "weight"),
        (lambda c, q, r: c.quantized_batch_norm(q, *[nd.ones((3,))] * 4, *r), "range of the results is missing"),
        (lambda c, q, r: c.quantized_concat(q, q, *r, num_args=2), "number of arrays"),
        (lambda c, q, r: c.calibrate_entropy(nd.ones((5,)), nd.ones((6,))), "histogram does not fit"),
    ],
)
def test_bad_input_is_explained(call, says):
    with pytest.raises(mx.MXNetError, match=says):
        call(nd.contrib, nd.array(integers((2, 3)), dtype="int8"), limits(-1, 1))
