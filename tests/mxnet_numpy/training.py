"""Trains small networks with Gluon under ``npx.set_np()`` and prints, as JSON, losses, gradients and parameters.

    ../shared/tools/oracle tests/mxnet_numpy/training.py > tests/mxnet_numpy/training.json

`test_training` runs it as a script that imports ``mxnet``.
"""

import json

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(0)
points = rng.randn(24, 6).astype("float32")
classes = (points[:, 0] * points[:, 1] > 0).astype("int32") + (points[:, 2] > 0.5)
images = rng.randn(8, 1, 6, 6).astype("float32")


class Gate(nn.HybridBlock):
    """A layer written with NumPy's functions and its own parameters."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units, 0), allow_deferred_init=True)
            self.scale = self.params.get("scale", shape=(units,), init=mx.init.Constant(0.5))

    def hybrid_forward(self, F, x, weight, scale):
        y = F.npx.fully_connected(x, weight, None, num_hidden=4, no_bias=True)
        gate = F.npx.sigmoid(y * scale) + F.np.tanh(F.np.sum(x, axis=1, keepdims=True)) * 0.1
        return F.np.concatenate([y * gate, F.np.maximum(y, 0), F.np.expand_dims(F.np.mean(x, axis=-1), 1)], axis=1)


def perceptron():
    net = nn.HybridSequential()
    net.add(nn.Dense(5, activation="tanh"), nn.BatchNorm(), nn.LayerNorm(), Gate(4), nn.Dense(3))
    return net, points, classes


def convolutional():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Flatten(), nn.Dropout(0.0), nn.Dense(2))
    return net, images, (images.mean(axis=(1, 2, 3)) > 0).astype("int32")


def initialize(net, data):
    """Set every parameter to fixed values; its shape is known after the first call."""
    net.initialize()
    net(np.array(data))
    draw = onp.random.RandomState(1)
    for name, param in net.collect_params().items():
        if "running" not in name and param.shape:
            value = draw.randn(*param.shape) * 0.4 + (1 if "gamma" in name else 0)
            param.set_data(np.array(value, dtype="float32"))


def digits(array):
    return [float(f"{x:.5g}") for x in array.asnumpy().ravel().astype("float64")]


def trained(make, optimizer, options, hybridized):
    net, data, labels = make()
    if hybridized:
        net.hybridize()
    initialize(net, data)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), optimizer, options)
    x, y = np.array(data), np.array(labels)
    losses = []
    for _ in range(4):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(len(x))
        losses.append(loss.mean())
    out = net(x)
    metric = mx.metric.Accuracy()
    metric.update([y.as_nd_ndarray()], [out.as_nd_ndarray()])  # MXNet has metrics of such arrays only
    params = {str(k): digits(p.data()) for k, (_, p) in enumerate(net.collect_params().items())}
    kinds = [
        isinstance(v, np.ndarray) and isinstance(v, mx.nd.NDArray)
        for v in (x, out, loss, losses[0], next(iter(net.collect_params().values())).data())
    ]
    return {"losses": [digits(v)[0] for v in losses], "out": digits(out), "params": params, "kinds": kinds, "accuracy": metric.get()[1]}


def recurrent(hybridized):
    layer = gluon.rnn.LSTM(3, input_size=2)
    if hybridized:
        layer.hybridize()
    initialize(layer, onp.zeros((4, 2, 2), "float32"))
    x = np.array(onp.random.RandomState(2).randn(4, 2, 2), dtype="float32")
    x.attach_grad()
    with autograd.record():
        out = layer(x)
        loss = (out * out).sum()
    loss.backward()
    return {"out": digits(out), "grad": digits(x.grad), "kind": isinstance(out, np.ndarray), "loss": [loss.shape, digits(loss)]}


results = {}
for hybridized in (False, True):
    for make in (perceptron, convolutional):
        for optimizer, options in (("sgd", {"learning_rate": 0.3, "momentum": 0.9}), ("adam", {"learning_rate": 0.02})):
            results[f"{make.__name__}, {optimizer}, {hybridized}"] = trained(make, optimizer, options, hybridized)
    results[f"lstm, {hybridized}"] = recurrent(hybridized)
print(json.dumps(results, indent=0))
