"""The layers, cells and samplers of ``gluon.contrib``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .running import real
from tests.oracle_programs import fails


def _set_parameters(mx: Any, block: Any) -> None:
    random = np.random.RandomState(3)
    for p in block.collect_params().values():
        value = random.uniform(0.5, 1.5, p.shape) if p.name.endswith(("gamma", "running_var")) else random.uniform(-0.5, 0.5, p.shape)
        p.set_data(mx.nd.array(value.astype("float32")))


def _parameters(block: Any) -> Any:
    return [[p.name, list(p.shape)] for p in block.collect_params().values()]


def _nodes(symbol: Any) -> Any:
    return [[node["op"], node["name"]] for node in json.loads(symbol.tojson())["nodes"]]


def _layer(mx: Any, make: Any, data: Any) -> Any:
    """A layer's text, parameters, graph, output and gradient, imperative and hybridized."""
    found = []
    for hybridize in (False, True):
        block = make()
        block.initialize()
        x = mx.nd.array(data)
        x.attach_grad()
        block(x)
        _set_parameters(mx, block)
        if hybridize:
            block.hybridize()
        with mx.autograd.record():
            y = block(x)
            loss = (y * mx.nd.arange(y.size).reshape(y.shape)).sum()
        loss.backward()
        found.append([y, x.grad])
    return [repr(block), _parameters(block), _nodes(block(mx.sym.Variable("x"))), found]


def concurrent(mx: Any) -> Any:
    contrib, nn = mx.gluon.contrib.nn, mx.gluon.nn

    def make(cls: Any) -> Any:
        net = cls(axis=1, prefix="a_")
        with net.name_scope():
            net.add(nn.Dense(2), contrib.Identity(), nn.Dense(1, activation="tanh"))
        return net

    net = make(contrib.Concurrent)
    net.initialize()
    _ = net(mx.nd.array(real(2, 3)))
    _set_parameters(mx, net)
    return [net(mx.nd.array(real(2, 3))), _layer(mx, lambda: make(contrib.HybridConcurrent), real(2, 3))]


def pixel_shuffle(mx: Any) -> Any:
    contrib = mx.gluon.contrib.nn
    makers = [(contrib.PixelShuffle1D, 2), (contrib.PixelShuffle1D, 3), (contrib.PixelShuffle2D, 2), (contrib.PixelShuffle2D, (2, 3))]
    data = [real(2, 4, 3), real(1, 3, 2), real(1, 8, 2, 3), real(2, 12, 2, 1)]
    outputs = [make(factor)(mx.nd.array(x)) for (make, factor), x in zip(makers, data)]  # noqa: B905  (Python 3.9 has no `strict`)
    outputs += [contrib.PixelShuffle3D((2, 3, 1))(mx.nd.array(real(1, 12, 2, 1, 2)))]
    texts = [repr(contrib.PixelShuffle1D(2)), repr(contrib.PixelShuffle2D(2)), repr(contrib.PixelShuffle3D((1, 2, 3)))]
    return [outputs, texts, fails(lambda: contrib.PixelShuffle2D((1, 2, 3))), fails(lambda: contrib.PixelShuffle2D("a"))]


def sync_batch_norm(mx: Any) -> Any:
    return _layer(mx, lambda: mx.gluon.contrib.nn.SyncBatchNorm(epsilon=1e-3, momentum=0.8, prefix="a_"), real(3, 2, 4))


def sparse_embedding(mx: Any) -> Any:
    """Two steps of training, which update the rows of their batches only."""
    block = mx.gluon.contrib.nn.SparseEmbedding(6, 2, prefix="a_")
    block.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.5, "wd": 0.1})
    found = []
    for rows in ([1, 3, 3], [5, 1]):
        x = mx.nd.array(rows)
        with mx.autograd.record():
            y = block(x)
            loss = (y * y).sum()
        loss.backward()
        trainer.step(1)
        found.append([y, block.weight.row_sparse_data(mx.nd.arange(6)).tostype("default")])
    return [repr(block), _parameters(block), found]


def deformable_convolution(mx: Any) -> Any:
    cnn = mx.gluon.contrib.cnn
    data = real(1, 4, 5, 4)
    return [
        _layer(mx, lambda: cnn.DeformableConvolution(4, (3, 3), padding=(1, 1), prefix="a_"), data),
        _layer(
            mx,
            lambda: cnn.DeformableConvolution(
                2, (3, 2), (2, 1), (1, 0), num_deformable_group=2, use_bias=False, offset_use_bias=False, in_channels=4,
                activation="relu", prefix="a_",
            ),
            data,
        ),
    ]  # fmt: skip


def modulated_deformable_convolution(mx: Any) -> Any:
    """Without gradients, which MXNet computes on GPUs only."""
    block = mx.gluon.contrib.cnn.ModulatedDeformableConvolution(2, (2, 2), in_channels=4, activation="tanh", prefix="a_")
    block.initialize()
    x = mx.nd.array(real(1, 4, 5, 4))
    block(x)
    _set_parameters(mx, block)
    return [repr(block), _parameters(block), _nodes(block(mx.sym.Variable("x"))), block(x)]


def convolutional_cells(mx: Any) -> Any:
    rnn = mx.gluon.contrib.rnn
    found = []
    for name, shape, options in (
        ("Conv1DRNNCell", (3, 5), {"i2h_pad": 1}),
        ("Conv1DLSTMCell", (3, 5), {"activation": "relu"}),
        ("Conv1DGRUCell", (3, 6), {"i2h_dilate": 2, "h2h_dilate": (2,)}),
        ("Conv2DRNNCell", (2, 4, 3), {"i2h_pad": (1, 1), "activation": "softsign"}),
        ("Conv2DLSTMCell", (2, 4, 3), {"i2h_pad": (1, 1)}),
        ("Conv2DGRUCell", (2, 4, 3), {"i2h_pad": (1, 1)}),
        ("Conv3DRNNCell", (2, 3, 3, 3), {}),
        ("Conv3DLSTMCell", (2, 3, 3, 3), {"i2h_pad": 1}),
        ("Conv3DGRUCell", (2, 3, 3, 3), {}),
    ):
        cell = getattr(rnn, name)(shape, 2, 3, 3, prefix="a_", **options)
        cell.initialize()
        _set_parameters(mx, cell)
        inputs = mx.nd.array(real(2, 2, *shape))
        outputs, states = cell.unroll(2, inputs, layout="NTC", merge_outputs=True)
        symbol = mx.sym.Group([*_flat(cell.unroll(2, mx.sym.Variable("x"), layout="NTC", merge_outputs=True))])
        infos = [[list(info["shape"]), info["__layout__"]] for info in cell.state_info(4)]
        found.append([repr(cell), _parameters(cell), infos, outputs, states, _nodes(symbol)])
    bad = [
        lambda: rnn.Conv2DRNNCell((3, 8, 8), 4, 3, 2),
        lambda: rnn.Conv2DRNNCell((3, 8, 8), 4, (3, 3, 3), 3),
    ]
    return [found, [fails(b) for b in bad]]


def _flat(value: Any) -> Any:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, (list, tuple)) else [value]


def projected_lstm(mx: Any) -> Any:
    cell = mx.gluon.contrib.rnn.LSTMPCell(4, 3, input_size=2, prefix="a_")
    cell.initialize()
    _set_parameters(mx, cell)
    outputs, states = cell.unroll(3, mx.nd.array(real(2, 3, 2)), merge_outputs=True)
    symbol = mx.sym.Group(_flat(cell(mx.sym.Variable("x"), cell.begin_state(func=mx.sym.Variable))))
    return [repr(cell), _parameters(cell), outputs, states, _nodes(symbol), mx.gluon.contrib.rnn.LSTMPCell(2, 1).h2r_weight.shape]


def variational_dropout(mx: Any) -> Any:
    """Outside training nothing is dropped; the kinds of results, and what is refused."""
    rnn, contrib = mx.gluon.rnn, mx.gluon.contrib.rnn
    x, lengths = mx.nd.array(real(2, 3, 4)), mx.nd.array([2, 3])
    found = []
    for rates in ((0, 0, 0), (0.5, 0, 0), (0, 0, 0.5), (0, 0.5, 0), (0.5, 0.5, 0.5)):
        for merges in (None, True, False):
            for valid_length in (None, lengths):
                cell = contrib.VariationalDropoutCell(rnn.LSTMCell(4, input_size=4, prefix="a_"), *rates)
                cell.initialize()
                _set_parameters(mx, cell)
                outputs, states = cell.unroll(3, x, merge_outputs=merges, valid_length=valid_length)
                found.append([isinstance(outputs, list), _flat([outputs])[-1], states[-1]])

    def both_ways() -> Any:
        return rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.RNNCell(2, prefix="r_"))

    cell = contrib.VariationalDropoutCell(both_ways(), 0.5, 0, 0.5)
    cell.initialize()
    outputs, _ = cell.unroll(3, x, merge_outputs=True)
    refused = fails(lambda: contrib.VariationalDropoutCell(both_ways(), drop_states=0.1))
    return [found, repr(contrib.VariationalDropoutCell(rnn.RNNCell(2), 0.1, 0.2, 0.3)), list(outputs.shape), refused]


def dynamic_unroll(mx: Any) -> Any:
    rnn = mx.gluon.contrib.rnn
    unroll = getattr(rnn, "rnn_cell", rnn).dynamic_unroll
    found = []
    for layout in ("TNC", "NTC"):
        for lengths in (None, mx.nd.array([1, 3])):
            cell = mx.gluon.rnn.LSTMCell(3, input_size=4, prefix="a_")
            cell.initialize()
            _set_parameters(mx, cell)
            x = mx.nd.array(real(3, 2, 4) if layout == "TNC" else real(2, 3, 4))
            x.attach_grad()
            with mx.autograd.record(train_mode=False):
                outputs, states = unroll(cell, x, cell.begin_state(2), 0.5, 0.5, layout=layout, valid_length=lengths)
                loss = (outputs * mx.nd.arange(outputs.size).reshape(outputs.shape)).sum() + states[0].sum()
            loss.backward()
            found.append([outputs, list(states), x.grad])
    return found


def interval_sampler(mx: Any) -> Any:
    make = mx.gluon.contrib.data.IntervalSampler
    cases = [(5, 2), (10, 3), (6, 3, False), (3, 3), (1, 1)]
    return [[[int(i) for i in make(*case)], len(make(*case))] for case in cases] + [fails(lambda: make(3, 5))]
