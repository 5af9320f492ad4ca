"""The networks of the model zoo, recurrent networks and attention, written to files, run elsewhere, and read back."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.gluon.model_zoo.vision import get_model

#: Networks by name, with the size of image that they need.
SMALL = {"squeezenet1.1": 224, "mobilenetv2_0.25": 32, "resnet18_v2": 32}
LARGE = {
    "alexnet": 224,
    "densenet121": 224,
    "densenet161": 224,
    "densenet169": 224,
    "densenet201": 224,
    "inceptionv3": 299,
    **dict.fromkeys([f"mobilenet{w}" for w in ("1.0", "0.75", "0.5", "0.25")], 32),
    **dict.fromkeys([f"mobilenetv2_{w}" for w in ("1.0", "0.75", "0.5")], 32),
    **dict.fromkeys([f"resnet{n}_v{v}" for n in (18, 34, 50, 101, 152) for v in (1, 2) if (n, v) != (18, 2)], 32),
    "squeezenet1.0": 224,
    **dict.fromkeys([f"vgg{n}{norm}" for n in (11, 13, 16, 19) for norm in ("", "_bn")], 32),
}


def round_trip(block, inputs, path, run, tolerance=1e-4, **options):
    """Compare a block with its file: run by others, read as a symbol, and read as a block. Returns the file's nodes."""
    import onnx

    block.hybridize()
    wanted = block(*inputs)
    wanted = [a.asnumpy() for a in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
    prefix = path.removesuffix(".onnx")
    block.export(prefix)
    names = ["data"] if len(inputs) == 1 else [f"data{k}" for k in range(len(inputs))]
    shapes = [a.shape for a in inputs]
    mx.onnx.export_model(f"{prefix}-symbol.json", f"{prefix}-0000.params", shapes, np.float32, path, **options)
    feed = {n: a.asnumpy() for n, a in zip(names, inputs, strict=True)}
    symbol, args, states = mx.contrib.onnx.import_model(path)
    again = symbol.bind(mx.cpu(), {**args, **{n: nd.array(a) for n, a in feed.items()}}, aux_states=states).forward()
    read = mx.contrib.onnx.import_to_gluon(path, ctx=mx.cpu())(*inputs)
    for found in (run(path, feed), [a.asnumpy() for a in again], [a.asnumpy() for a in (read if isinstance(read, list) else [read])]):
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == b.shape
            assert np.abs(a - b).max() <= tolerance * np.abs(b).max()
    return [n.op_type for n in onnx.load(path).graph.node]


def check_network(name, side, path, run):
    mx.random.seed(0)
    net = get_model(name, classes=10)
    net.initialize(mx.init.Xavier())
    image = nd.array(np.random.default_rng(0).normal(size=(2, 3, side, side)))
    nodes = round_trip(net, [image], path, run)
    assert {"Conv", "Flatten"} & set(nodes)


@pytest.mark.ci
@pytest.mark.parametrize("name", SMALL)
def test_a_network_of_the_zoo_survives_the_round_trip(name, path, run):
    check_network(name, SMALL[name], path, run)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_every_network_of_the_zoo_survives_the_round_trip(name, path, run):
    check_network(name, LARGE[name], path, run)


def test_all_networks_of_the_zoo_are_tested():
    from twofold.gluon.model_zoo.model_store import NETWORKS

    assert {*SMALL, *LARGE} == set(NETWORKS)


class Reader(gluon.HybridBlock):
    """Words, a recurrent layer with initial states of zeros, and a dense layer for every step."""

    def __init__(self, layer):
        super().__init__()
        self.embedding = gluon.nn.Embedding(11, 5)
        self.layer = layer
        self.dense = gluon.nn.Dense(3, flatten=False)

    def hybrid_forward(self, F, words):
        return self.dense(self.layer(self.embedding(words)))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_are_those_of_onnx(kind, layers, bidirectional, path, run):
    mx.random.seed(1)
    net = Reader(getattr(gluon.rnn, kind)(4, num_layers=layers, bidirectional=bidirectional, layout="NTC"))
    net.initialize(mx.init.Uniform(0.5))
    words = nd.array(np.random.default_rng(1).integers(0, 11, (2, 6)))
    nodes = round_trip(net, [words], path, run)
    assert nodes.count(kind) == layers


class Attention(gluon.HybridBlock):
    """A layer of a transformer: self-attention by interleaved products, normalization, and GELU."""

    def __init__(self, heads, units):
        super().__init__()
        self.heads = heads
        self.qkv = gluon.nn.Dense(3 * units, flatten=False)
        self.out = gluon.nn.Dense(units, flatten=False)
        self.norm = gluon.nn.LayerNorm()
        self.gelu = gluon.nn.GELU()

    def hybrid_forward(self, F, x):
        packed = self.qkv(x)
        scores = F.contrib.interleaved_matmul_selfatt_qk(packed, heads=self.heads)
        values = F.contrib.interleaved_matmul_selfatt_valatt(packed, F.softmax(scores), heads=self.heads)
        return self.gelu(self.norm(x + self.out(values)))


@pytest.mark.parametrize("opset", [13, 17, 20])
def test_attention_is_written_in_every_version(opset, path, run):
    mx.random.seed(2)
    net = Attention(2, 8)
    net.initialize(mx.init.Uniform(0.5))
    nodes = round_trip(net, [nd.array(np.random.default_rng(2).normal(size=(5, 3, 8)))], path, run, opset_version=opset)
    assert nodes.count("LayerNormalization") == int(opset >= 17)
    assert nodes.count("Gelu") == int(opset >= 20)
