"""The hand-written networks in Twofold, with the same weights: imperative, as executors and as Gluon blocks.

Every function returns an object whose ``step()`` computes the loss and all gradients, and waits for them to be ready.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import twofold as mx
from asv_benchmarks.hand_written import LeNet, Perceptron

#: ``mx.nd`` or ``mx.sym``.
Functions = Any


class Step:
    """A training step without the update.

    Attributes
    ----------
    step
        Computes the loss and the gradients.
    gradients
        The gradients after a step, by parameter name.
    parameters
        The parameters by name; for a Gluon network, what `Trainer` accepts.
    """

    def __init__(self, step: Callable[[], Any], gradients: Callable[[], dict[str, np.ndarray]], parameters: Any) -> None:
        self.step, self.gradients, self.parameters = step, gradients, parameters


def perceptron(F: Functions, x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    """Apply the perceptron."""
    h = F.relu(F.FullyConnected(x, w1, b1, num_hidden=32))
    return F.FullyConnected(h, w2, b2, num_hidden=10)


def lenet(F: Functions, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any) -> Any:
    """Apply LeNet."""
    h = F.tanh(F.Convolution(x, w1, b1, kernel=(5, 5), num_filter=20))
    h = F.Pooling(h, pool_type="max", kernel=(2, 2), stride=(2, 2))
    h = F.tanh(F.Convolution(h, w2, b2, kernel=(5, 5), num_filter=50))
    h = F.Pooling(h, pool_type="max", kernel=(2, 2), stride=(2, 2))
    h = F.tanh(F.FullyConnected(h, w3, b3, num_hidden=500))
    return F.FullyConnected(h, w4, b4, num_hidden=10)


def cross_entropy(F: Functions, y: Any, label: Any) -> Any:
    """Softmax cross-entropy, averaged over the batch."""
    return F.negative(F.mean(F.pick(F.log_softmax(y), label)))


def values_of(net: Perceptron | LeNet) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The input and the parameters of a hand-written network, in the layout of Twofold's operators."""
    if isinstance(net, Perceptron):
        return net.x, {"w1": net.w1, "b1": net.b1, "w2": net.w2, "b2": net.b2}
    parts = [net.conv1.w, net.conv1.b, net.conv2.w, net.conv2.b, net.w3, net.b3, net.w4, net.b4]
    return net.x.transpose(0, 3, 1, 2), _channels_first(parts)


def gradients_of(net: Perceptron | LeNet) -> dict[str, np.ndarray]:
    """The gradients that a hand-written network has computed, in the layout of Twofold's operators."""
    if isinstance(net, Perceptron):
        return {"w1": net.dw1, "b1": net.db1, "w2": net.dw2, "b2": net.db2}
    return _channels_first([net.conv1.dw, net.conv1.db, net.conv2.dw, net.conv2.db, net.dw3, net.db3, net.dw4, net.db4])


def _channels_first(parts: list[np.ndarray]) -> dict[str, np.ndarray]:
    w1, b1, w2, b2, w3, b3, w4, b4 = parts
    w1 = w1.reshape(20, 5, 5, 1).transpose(0, 3, 1, 2)
    w2 = w2.reshape(50, 5, 5, 20).transpose(0, 3, 1, 2)
    w3 = w3.reshape(500, 4, 4, 50).transpose(0, 3, 1, 2).reshape(500, 800)
    return {"w1": w1, "b1": b1, "w2": w2, "b2": b2, "w3": w3, "b3": b3, "w4": w4, "b4": b4}


def _function_of(net: Perceptron | LeNet) -> Callable[..., Any]:
    return perceptron if isinstance(net, Perceptron) else lenet


def imperative(net: Perceptron | LeNet) -> Step:
    """The network as imperative code under ``autograd.record``."""
    data, values = values_of(net)
    x, label = mx.nd.array(data), mx.nd.array(net.label)
    parameters = {name: mx.nd.array(value) for name, value in values.items()}
    for p in parameters.values():
        p.attach_grad()
    function, arrays = _function_of(net), list(parameters.values())

    def step() -> Any:
        with mx.autograd.record():
            loss = cross_entropy(mx.nd, function(mx.nd, x, *arrays), label)
        loss.backward()
        loss.wait_to_read()
        for p in arrays:
            p.grad.wait_to_read()
        return loss

    return Step(step, lambda: {name: p.grad.asnumpy() for name, p in parameters.items()}, parameters)


def executor(net: Perceptron | LeNet) -> Step:
    """The network as a symbol bound to arrays."""
    data, values = values_of(net)
    symbols = [mx.sym.var(name) for name in values]
    loss = cross_entropy(mx.sym, _function_of(net)(mx.sym, mx.sym.var("data"), *symbols), mx.sym.var("label"))
    arrays = {name: mx.nd.array(value) for name, value in [("data", data), ("label", net.label), *values.items()]}
    gradients = {name: mx.nd.zeros(arrays[name].shape) for name in values}
    bound = loss.bind(mx.cpu(), arrays, gradients, {name: "write" if name in values else "null" for name in arrays})

    def step() -> Any:
        (out,) = bound.forward(is_train=True)
        bound.backward()
        out.wait_to_read()
        for g in gradients.values():
            g.wait_to_read()
        return out

    return Step(step, lambda: {name: g.asnumpy() for name, g in gradients.items()}, arrays)


class WithLoss(mx.gluon.HybridBlock):
    """Layers in sequence and the mean cross-entropy of their output: a single graph when hybridized.

    Parameters
    ----------
    layers
        The layers.
    """

    def __init__(self, layers: list[Any]) -> None:
        super().__init__()
        with self.name_scope():
            self.body = mx.gluon.nn.HybridSequential()
            self.body.add(*layers)

    def hybrid_forward(self, F: Functions, x: Any, label: Any) -> Any:
        """The loss."""
        return cross_entropy(F, self.body(x), label)


def gluon(net: Perceptron | LeNet, hybrid: bool) -> Step:
    """The network as Gluon layers, imperative or hybridized."""
    data, values = values_of(net)
    block = WithLoss(_perceptron_layers() if isinstance(net, Perceptron) else _lenet_layers())
    block.initialize()
    if hybrid:
        block.hybridize(static_alloc=True, static_shape=True)
    x, label = mx.nd.array(data), mx.nd.array(net.label)
    block(x, label)
    parameters = list(block.collect_params().values())
    for p, value in zip(parameters, values.values(), strict=True):
        p.set_data(mx.nd.array(value))

    def step() -> Any:
        with mx.autograd.record():
            loss = block(x, label)
        loss.backward()
        loss.wait_to_read()
        for p in parameters:
            p.grad().wait_to_read()
        return loss

    def gradients() -> dict[str, np.ndarray]:
        return {name: p.grad().asnumpy() for name, p in zip(values, parameters, strict=True)}

    return Step(step, gradients, block.collect_params())


def _perceptron_layers() -> list[Any]:
    nn = mx.gluon.nn
    return [nn.Dense(32, activation="relu"), nn.Dense(10)]


def _lenet_layers() -> list[Any]:
    nn = mx.gluon.nn
    return [
        nn.Conv2D(20, 5, activation="tanh"),
        nn.MaxPool2D(),
        nn.Conv2D(50, 5, activation="tanh"),
        nn.MaxPool2D(),
        nn.Dense(500, activation="tanh"),
        nn.Dense(10),
    ]


def adam() -> tuple[str, dict[str, Any]]:
    """Arguments of `trained` for Adam with a schedule."""
    return "adam", {"learning_rate": 1e-3, "lr_scheduler": mx.lr_scheduler.CosineScheduler(max_update=1000, base_lr=1e-3)}


def trained(net: Step, optimizer: str = "sgd", options: dict[str, Any] | None = None) -> Callable[[], Any]:
    """A Gluon network's step followed by the update of its parameters."""
    trainer = mx.gluon.Trainer(net.parameters, optimizer, options or {"learning_rate": 1e-4})

    def step() -> None:
        net.step()
        trainer.step(1)
        for p in net.parameters.values():
            p.data().wait_to_read()

    return step
