"""The items in plain NumPy: chains as users write them, networks by hand with ``out=`` (see `hand_written`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from asv_benchmarks.hand_written import LeNet, Perceptron
from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import Case, in_a_row, pure
from asv_benchmarks.peers.kernels import blas_kernels
from asv_benchmarks.peers.libraries.numpy_networks import LSTM, Convolution, MultilayerPerceptron

Arrays = dict[str, np.ndarray]


def about() -> dict[str, Any]:
    """Version, and OpenBLAS' kernel."""
    return {"version": np.__version__, "blas": blas_kernels("numpy")}


def add(arrays: Arrays) -> Case:
    """``x + x``."""
    x = arrays["x"]
    return in_a_row(lambda: x + x, np.asarray)


def chain(function: Callable[..., Any], arrays: Arrays) -> Case:
    """A stateless chain."""
    values = list(arrays.values())
    return pure(lambda: function(np, *values), np.asarray)


def adam(arrays: Arrays) -> Case:
    """Adam in place."""
    g, w, m, v = arrays.values()

    def call() -> None:
        nonlocal m, v, w
        m *= chains.BETA1
        m += (1 - chains.BETA1) * g
        v *= chains.BETA2
        v += (1 - chains.BETA2) * (g * g)
        w -= chains.RATE * m / (np.sqrt(v) + chains.EPSILON)

    return Case(call, lambda: [w, m, v])


def adam_new(arrays: Arrays) -> Case:
    """Adam written as a formula, which creates new arrays."""
    gradient, *state = arrays.values()

    def call() -> None:
        state[:] = chains.adam(np, gradient, *state)

    return Case(call, lambda: state)


def cross_entropy(arrays: Arrays) -> Case:
    """Loss and gradient of the softmax cross-entropy, averaged over rows."""
    x, label = arrays["x"], arrays["label"]
    rows = np.arange(len(x))

    def function() -> tuple[Any, Any]:
        y = x - x.max(axis=1, keepdims=True)
        p = np.exp(y)
        total = p.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - y[rows, label]).mean()
        p /= total
        p[rows, label] -= 1
        p *= np.float32(1 / len(x))
        return loss, p

    return pure(function, np.asarray)


def new_chain(arrays: Arrays) -> Case:
    """New chains."""
    x, made = arrays["x"], chains.NewChains()
    first = made()

    def call() -> None:
        f = made()
        for _ in range(chains.MET):
            f(np, x)

    return Case(call, lambda: [first(np, x)])


def perceptron(arrays: Arrays) -> Case:
    """Forward and backward of the hand-written perceptron."""
    net = Perceptron(len(arrays["x"]))
    for name, value in arrays.items():
        setattr(net, name, value)
    net.one_hot = np.eye(10, dtype=np.float32)[net.label]
    return Case(net.step, lambda: [net.dw1, net.db1, net.dw2, net.db2])


def lenet(arrays: Arrays) -> Case:
    """Forward, backward and update of the hand-written LeNet."""
    net = LeNet(len(arrays["x"]))
    net.x = arrays["x"].reshape(-1, 28, 28, 1)
    net.label = arrays["label"]
    net.one_hot = np.eye(10, dtype=np.float32)[net.label]
    net.conv1.w[:] = arrays["w1"].transpose(0, 2, 3, 1).reshape(20, -1)
    net.conv2.w[:] = arrays["w2"].transpose(0, 2, 3, 1).reshape(50, -1)
    net.w3[:] = arrays["w3"].reshape(500, 50, 4, 4).transpose(0, 2, 3, 1).reshape(500, -1)
    net.w4[:] = arrays["w4"]
    weights = [net.conv1.w, net.conv1.b, net.conv2.w, net.conv2.b, net.w3, net.b3, net.w4, net.b4]
    gradients = [net.conv1.dw, net.conv1.db, net.conv2.dw, net.conv2.db, net.dw3, net.db3, net.dw4, net.db4]
    before = [a.copy() for a in weights]

    def call() -> None:
        net.step()
        for w, dw in zip(weights, gradients, strict=True):
            dw *= inputs.LEARNING_RATE
            w -= dw

    def result() -> list[Any]:
        w1, b1, w2, b2, w3, b3, w4, b4 = (w - old for w, old in zip(weights, before, strict=True))
        w1 = w1.reshape(20, 5, 5, 1).transpose(0, 3, 1, 2)
        w2 = w2.reshape(50, 5, 5, 20).transpose(0, 3, 1, 2)
        return [w1, b1, w2, b2, w3.reshape(500, 4, 4, 50).transpose(0, 3, 1, 2).reshape(500, 800), b3, w4, b4]

    return Case(call, result)


def mlp(arrays: Arrays) -> Case:
    """Forward, backward and update of a three-layer perceptron."""
    net = MultilayerPerceptron(arrays, inputs.LEARNING_RATE)
    return Case(net.step, lambda: [net.values[k] - arrays[k] for k in net.values])


def lstm(arrays: Arrays) -> Case:
    """Forward, backward and update of a two-layer LSTM."""
    net = LSTM(arrays, inputs.LEARNING_RATE)
    return Case(net.step, lambda: [net.values[k] - arrays[k] for k in net.values])


def convolution(arrays: Arrays) -> Case:
    """Forward and backward of a 3x3 convolution by patches, image by image."""
    net = Convolution(**arrays)
    return Case(net.step, lambda: [net.y, net.dx, net.dw])


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"plain": add},
    "add_recorded": {"plain": add},
    **{name: {"plain": partial(chain, function)} for name, function in chains.PURE.items()},
    "adam": {"plain": adam, "new arrays": adam_new},
    "cross_entropy": {"plain": cross_entropy},
    "new_chain": {"plain": new_chain},
    "perceptron": {"by hand": perceptron},
    "mlp": {"by hand": mlp},
    "lenet": {"by hand": lenet},
    "lstm": {"by hand": lstm},
    "convolution": {"by hand": convolution},
}
