"""Quantized models compute what the float32 ones do, nearly; and what they refuse."""

from __future__ import annotations

import json

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


def network():
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            mx.gluon.nn.Conv2D(4, 3, activation="relu", in_channels=1),
            mx.gluon.nn.BatchNorm(in_channels=4),
            mx.gluon.nn.MaxPool2D(),
            mx.gluon.nn.Dense(3, in_units=36),
        )
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(np.random.default_rng(0).normal(size=(8, 1, 8, 8)))
    return net, x


def nodes(net):
    return [node["op"] for node in json.loads(net._graph().symbol.tojson())["nodes"]]


@pytest.mark.parametrize("calib_mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("loader", ["iterator", "loader", "loader of labels"])
def test_a_quantized_gluon_network_computes_nearly_the_same(calib_mode, loader):
    net, x = network()
    sets = {"loader": [x], "loader of labels": [x, mx.nd.zeros((8,))]}
    dataset = mx.gluon.data.ArrayDataset(*sets.get(loader, [x]))
    data = mx.io.NDArrayIter(x, batch_size=4) if loader == "iterator" else mx.gluon.data.DataLoader(dataset, 4)
    small = quantization.quantize_net(net, quantized_dtype="int8", calib_mode=calib_mode, calib_data=data)
    expected, found = net(x).asnumpy(), small(x).asnumpy()
    bound = 0.25 if calib_mode == "entropy" else 0.05
    assert 0 < np.abs(found - expected).max() < bound * np.abs(expected).max()
    assert {"_contrib_quantized_conv", "_contrib_quantized_fully_connected"} <= {*nodes(small)}
    weights = small.collect_params()
    assert weights["net_dense0_weight_quantize"].data().dtype == weights["net_conv0_weight_quantize"].dtype == np.int8


def test_an_iterator_may_describe_its_batches_by_pairs():
    class Pairs(mx.io.NDArrayIter):  # as ImageIter does
        @property
        def provide_data(self):
            return [tuple(description) for description in super().provide_data]

    net, x = network()
    small = quantization.quantize_net(net, calib_mode="naive", calib_data=Pairs(x, batch_size=4))
    assert small(x).shape == (8, 3)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"exclude_layers": ["net_conv0_fwd"]}, "Convolution"),
        ({"exclude_layers_match": ["conv"]}, "Convolution"),
        ({"exclude_operators": ["FullyConnected"]}, "FullyConnected"),
    ],
)
def test_excluded_layers_of_a_network_remain(options, kept):
    net, x = network()
    small = quantization.quantize_net_v2(net, "int8", data_shapes=[mx.io.DataDesc("data", x.shape)], **options)
    assert {"Convolution", "FullyConnected"} & {*nodes(small)} == {kept}


def test_only_as_many_rows_are_read_as_requested():
    net, x = network()
    x[4:] = 1000  # which would widen the range
    data = mx.gluon.data.DataLoader(x, 2)
    small = quantization.quantize_net(net, calib_mode="naive", calib_data=data, num_calib_examples=4)
    (first,) = [n for n in json.loads(small._graph().symbol.tojson())["nodes"] if n["name"] == "data_quantize"]
    assert float(first["attrs"]["max_calib_range"]) == pytest.approx(float(x[:4].max().asscalar()), rel=1e-5)


def test_the_collector_of_a_user_gives_ranges():
    class Collector:
        def __init__(self):
            self.min_max_dict = {}

        def collect(self, name, array):
            self.min_max_dict[name] = -8, 8

    net, x = network()
    data = mx.gluon.data.DataLoader(x, 4)
    small = quantization.quantize_net_v2(net, "int8", calib_data=data, calib_mode="custom", LayerOutputCollector=Collector())
    ranges = {
        n["attrs"]["max_calib_range"]
        for n in json.loads(small._graph().symbol.tojson())["nodes"]
        if "max_calib_range" in n.get("attrs", {})
    }
    assert ranges == {"8.000000"}


def test_a_quantized_network_survives_its_files(tmp_path):
    net, x = network()
    small = quantization.quantize_net(net, data_shapes=[x.shape])
    small(x)
    small.export(str(tmp_path / "small"))
    again = mx.gluon.SymbolBlock.imports(str(tmp_path / "small-symbol.json"), ["data"], str(tmp_path / "small-0000.params"))
    assert (again(x).asnumpy() == small(x).asnumpy()).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "At least one of data_shapes or calib_data"),
        ({"calib_mode": "naive", "data_shapes": [(1, 1, 8, 8)]}, "must be provided"),
        ({"calib_mode": "naive", "calib_data": 3}, "DataLoader"),
        (
            {"calib_mode": "other", "data_shapes": [(1, 1, 8, 8)], "calib_data": mx.io.NDArrayIter(np.ones((2, 1, 8, 8)), batch_size=1)},
            "unknown",
        ),
    ],
)
def test_invalid_options_of_networks_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        quantization.quantize_net(network()[0], **options)


def test_only_hybrid_blocks_are_quantized():
    with pytest.raises(TypeError, match="HybridBlock"):
        quantization.quantize_net(mx.gluon.nn.Sequential(), data_shapes=[(1, 2)])


def test_fixed_factors_of_a_normalization_count_as_one():
    norm = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, name="bn")
    symbol = mx.sym.FullyConnected(norm, num_hidden=2, name="fc")
    x = mx.nd.array(np.random.default_rng(0).normal(size=(4, 3)))
    args = {"bn_gamma": mx.nd.array([9, 9, 9]), "bn_beta": mx.nd.zeros(3), "fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    states = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
    data = mx.io.NDArrayIter(x, batch_size=4)
    new, weights, _ = quantization.quantize_model(symbol, args, states, calib_mode="naive", calib_data=data, quantize_mode="full")
    executor = new.simple_bind(mx.cpu(), grad_req="null", data=x.shape)
    executor.copy_params_from(weights, states)
    found = executor.forward(data=x)[0].asnumpy()
    assert np.allclose(found, x.asnumpy().sum(axis=1, keepdims=True), atol=0.1)


def test_layers_that_stay_in_float32_can_be_trained():
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(4, in_units=3), mx.gluon.nn.Dense(2, in_units=4))
    net.initialize(mx.init.One())
    small = quantization.quantize_net(net, data_shapes=[(4, 3)], exclude_layers_match=["dense1"])
    params = small.collect_params()
    assert {name for name, p in params.items() if p.grad_req != "null"} == {"net_dense1_weight", "net_dense1_bias"}
    x = mx.nd.array(np.random.default_rng(0).random((4, 3)))
    with mx.autograd.record():
        loss = small(x).sum()
    loss.backward()
    hidden = np.broadcast_to(x.asnumpy().sum(), (2, 4))
    np.testing.assert_allclose(params["net_dense1_weight"].grad().asnumpy(), hidden, rtol=0.05)


class Gated(mx.gluon.HybridBlock):
    """x · sigmoid(x) of a layer's results: a factor of either sign, and one that is never negative."""

    def __init__(self):
        super().__init__()
        self.layer = mx.gluon.nn.Dense(8, in_units=4)

    def hybrid_forward(self, F, x):
        x = self.layer(x)
        return x * F.sigmoid(x)


@pytest.mark.parametrize("quantized_dtype", ["int8", "uint8", "auto"])
def test_factors_of_either_dtype_are_multiplied(quantized_dtype):
    net, x = Gated(), mx.nd.array(np.random.default_rng(0).uniform(size=(16, 4)))
    net.initialize(mx.init.Constant(0.25))
    net.hybridize()
    wanted = net(x)
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x), batch_size=8)
    found = quantization.quantize_net(net, quantized_dtype, calib_data=loader, calib_mode="naive", ctx=mx.cpu())(x)
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), atol=0.02 * float(wanted.max().asscalar()))


@pytest.mark.parametrize("calib_mode", ["none", "naive", "entropy"])
def test_layers_whose_values_or_weights_are_zeros_keep_their_bias(calib_mode):
    net = mx.gluon.nn.HybridSequential()
    for weight in ("zeros", "ones", "zeros"):
        layer = mx.gluon.nn.Conv2D(2, 1, in_channels=2, weight_initializer=weight)
        net.add(layer, mx.gluon.nn.BatchNorm(in_channels=2), mx.gluon.nn.Activation("relu"))
    net.initialize()
    # the first layers give zeros, the second ones the number 1, the last ones 2 and 0
    net[3].bias.set_data(mx.nd.ones(2))
    net[6].bias.set_data(mx.nd.array([2, -1]))
    net.hybridize()
    x = mx.nd.array(np.random.default_rng(0).uniform(size=(4, 2, 3, 3)))
    loader = None if calib_mode == "none" else mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x), 2)
    small = quantization.quantize_net(net, "auto", calib_mode=calib_mode, calib_data=loader, data_shapes=[x.shape], quantize_mode="full")
    wanted = np.broadcast_to(np.array([2, 0]).reshape(2, 1, 1), (4, 2, 3, 3))
    np.testing.assert_allclose(small(x).asnumpy(), wanted, atol=0.05)
