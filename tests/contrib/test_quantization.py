"""Quantized models compute what the float32 ones do, nearly; and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.contrib import quantization


def model():
    conv = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
    act = mx.sym.Activation(conv, act_type="relu", name="act")
    dense = mx.sym.FullyConnected(mx.sym.Pooling(act, kernel=(2, 2), stride=(2, 2), name="pool"), num_hidden=3, name="fc")
    rng = np.random.default_rng(0)
    shapes = dict(zip(dense.list_arguments(), dense.infer_shape(data=(4, 1, 8, 8))[0], strict=True))
    x = mx.nd.array(rng.normal(size=shapes.pop("data")))
    return dense, {n: mx.nd.array(rng.normal(size=s)) for n, s in shapes.items()}, x


def outputs(symbol, args, x):
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", data=x.shape)
    executor.copy_params_from(args)
    return executor.forward(data=x)[0].asnumpy()


@pytest.mark.parametrize("calib_mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("quantized_dtype", ["int8", "auto"])
def test_a_quantized_network_computes_nearly_the_same(calib_mode, quantized_dtype):
    symbol, args, x = model()
    data = None if calib_mode == "none" else mx.io.NDArrayIter(x, batch_size=2)
    options = {"calib_mode": calib_mode, "calib_data": data, "quantized_dtype": quantized_dtype}
    new, weights, _ = quantization.quantize_model(symbol, args, {}, **options)
    assert weights["conv_weight_quantize"].dtype == np.int8
    expected = outputs(symbol, args, x)
    found = outputs(new, weights, x)
    # thresholds by entropy cut off the rare large values, of which this small network has many
    bound = 0.25 if calib_mode == "entropy" else 0.05
    assert 0 < np.abs(found - expected).max() < bound * np.abs(expected).max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calib_mode": "naive"}, "must be provided"),
        ({"calib_mode": "naive", "calib_data": 3}, "DataIter"),
        ({"calib_mode": "other"}, "unknown calibration mode"),
        ({"calib_mode": "none", "quantized_dtype": "int4"}, "unknown quantized_dtype"),
        ({"calib_mode": "none", "excluded_sym_names": "conv"}, "list of strings"),
        ({"calib_mode": "none", "quantize_granularity": "other"}, "granularity"),
    ],
)
def test_invalid_options_are_refused(options, message):
    symbol, args, _ = model()
    with pytest.raises(ValueError, match=message):
        quantization.quantize_model(symbol, args, {}, **options)
