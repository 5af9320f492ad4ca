"""The items in PyTorch: eager, and with ``torch.compile`` for chains and small networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional as tf

from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import Case, in_a_row, pure

Arrays = dict[str, Any]


def about() -> dict[str, Any]:
    """Version and threads."""
    blas = ["MKL"] if torch.backends.mkl.is_available() else []
    return {"version": torch.__version__, "threads": torch.get_num_threads(), "blas": blas}


def _tensors(arrays: Arrays) -> list[torch.Tensor]:
    return [torch.from_numpy(a.copy()) for a in arrays.values()]


def _to_numpy(a: Any) -> Any:
    return a.detach().numpy()


def compiled_anew(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function compiled by ``torch.compile``, specialized to the shapes of its calls."""
    torch._dynamo.reset()  # one function of each kind is enough; more would meet the limit on recompilations
    return torch.compile(function, dynamic=False)


def add(arrays: Arrays) -> Case:
    """``x + x``."""
    (x,) = _tensors(arrays)
    return in_a_row(lambda: x + x, _to_numpy)


def add_recorded(arrays: Arrays) -> Case:
    """``x + x``, recorded for backward."""
    (x,) = _tensors(arrays)
    x.requires_grad_()
    return in_a_row(lambda: x + x, _to_numpy)


def chain(function: Callable[..., Any], compiled: bool, arrays: Arrays) -> Case:
    """A stateless chain."""
    values = _tensors(arrays)
    with_torch = partial(function, torch)
    f = compiled_anew(lambda *a: with_torch(*a)) if compiled else with_torch
    return pure(lambda: f(*values), _to_numpy)


def adam(arrays: Arrays) -> Case:
    """Adam by the in-place operations that ``torch.optim`` uses."""
    g, w, m, v = _tensors(arrays)

    def call() -> None:
        m.mul_(chains.BETA1).add_(g, alpha=1 - chains.BETA1)
        v.mul_(chains.BETA2).addcmul_(g, g, value=1 - chains.BETA2)
        w.addcdiv_(m, v.sqrt().add_(chains.EPSILON), value=-chains.RATE)

    return Case(call, lambda: [_to_numpy(a) for a in (w, m, v)])


def adam_compiled(arrays: Arrays) -> Case:
    """Adam compiled, in place."""
    g, w, m, v = _tensors(arrays)

    @compiled_anew
    def update(g: Any, w: Any, m: Any, v: Any) -> None:
        for old, new in zip((w, m, v), chains.adam(torch, g, w, m, v), strict=True):
            old.copy_(new)

    return Case(lambda: update(g, w, m, v), lambda: [_to_numpy(a) for a in (w, m, v)])


def cross_entropy(compiled: bool, arrays: Arrays) -> Case:
    """Loss and gradient."""
    x, label = _tensors(arrays)
    x.requires_grad_()
    loss_of = compiled_anew(lambda x, label: tf.cross_entropy(x, label)) if compiled else tf.cross_entropy

    def call() -> Any:
        x.grad = None
        loss = loss_of(x, label)
        loss.backward()
        return loss

    return Case(call, lambda: [_to_numpy(call()), x.grad.numpy()])


def new_chain(compiled: bool, arrays: Arrays) -> Case:
    """New chains."""
    (x,) = _tensors(arrays)
    made = chains.NewChains()
    first = made()

    def call() -> None:
        chain = made()
        f = compiled_anew(lambda y: chain(torch, y)) if compiled else partial(chain, torch)
        for _ in range(chains.MET):
            f(x)

    return Case(call, lambda: [_to_numpy(first(torch, x))])


def _dense(x: Any, *weights: Any) -> Any:
    for k in range(0, len(weights), 2):
        x = tf.linear(x, weights[k], weights[k + 1])
        x = tf.relu(x) if k + 2 < len(weights) else x
    return x


def lenet(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any) -> Any:
    """The outputs of LeNet."""
    x = tf.max_pool2d(torch.tanh(tf.conv2d(x, w1, b1)), 2)
    x = tf.max_pool2d(torch.tanh(tf.conv2d(x, w2, b2)), 2).flatten(1)
    return tf.linear(torch.tanh(tf.linear(x, w3, b3)), w4, b4)


def network(function: Callable[..., Any], update: bool, compiled: bool, arrays: Arrays) -> Case:
    """Forward and backward of a network and, if requested, SGD's update."""
    x, label, *weights = _tensors(arrays)
    for w in weights:
        w.requires_grad_()
    before = [w.detach().clone() for w in weights]
    optimizer = torch.optim.SGD(weights, lr=inputs.LEARNING_RATE)
    f = compiled_anew(lambda *a: function(*a)) if compiled else function

    def call() -> None:
        optimizer.zero_grad(set_to_none=True)
        tf.cross_entropy(f(x, *weights), label).backward()
        if update:
            optimizer.step()

    def result() -> list[Any]:
        if update:
            return [_to_numpy(w - old) for w, old in zip(weights, before, strict=True)]
        return [w.grad.numpy() for w in weights]

    return Case(call, result)


def lstm(arrays: Arrays) -> Case:
    """``torch.nn.LSTM``: forward, backward and update."""
    x = torch.from_numpy(arrays["x"])
    net = torch.nn.LSTM(inputs.UNITS, inputs.UNITS, inputs.LAYERS)
    names = {"wx": "weight_ih_l", "wh": "weight_hh_l", "bx": "bias_ih_l", "bh": "bias_hh_l"}
    learned = inputs.parameters(arrays)
    by_name = {name: net.get_parameter(names[name[:2]] + name[2:]) for name in learned}
    with torch.no_grad():
        for name, value in learned.items():
            by_name[name].copy_(torch.from_numpy(value))
    optimizer, scale = torch.optim.SGD(net.parameters(), lr=inputs.LEARNING_RATE), 0.5 / x.shape[1]

    def call() -> None:
        optimizer.zero_grad(set_to_none=True)
        y, _ = net(x)
        ((y**2).sum() * scale).backward()
        optimizer.step()

    return Case(call, lambda: [_to_numpy(by_name[name]) - old for name, old in learned.items()])


def convolution(arrays: Arrays) -> Case:
    """``conv2d``, forward and backward."""
    x, w, dout = _tensors(arrays)
    x.requires_grad_()
    w.requires_grad_()

    def call() -> Any:
        x.grad = w.grad = None
        y = tf.conv2d(x, w, padding=1)
        y.backward(dout)
        return y

    return Case(call, lambda: [_to_numpy(call()), x.grad.numpy(), w.grad.numpy()])


def deep(arrays: Arrays) -> Case:
    """Forward and backward of many dense layers with ReLU."""
    x, *weights = _tensors(arrays)
    for w in weights:
        w.requires_grad_()

    def call() -> None:
        y = x
        for w in weights:
            w.grad = None
            y = tf.relu(tf.linear(y, w))
        y.sum().backward()

    return Case(call, lambda: [w.grad.numpy() for w in weights])


def _ways(function: Callable[..., Case], *arguments: Any) -> dict[str, Callable[[Arrays], Case]]:
    return {"eager": partial(function, *arguments, False), "compile": partial(function, *arguments, True)}


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"eager": add},
    "add_recorded": {"eager": add_recorded},
    **{name: _ways(chain, function) for name, function in chains.PURE.items()},
    "adam": {"eager": adam, "compile": adam_compiled},
    "cross_entropy": _ways(cross_entropy),
    "new_chain": _ways(new_chain),
    "perceptron": _ways(network, _dense, False),
    "mlp": _ways(network, _dense, True),
    "lenet": {"eager": partial(network, lenet, True, False)},
    "lstm": {"eager": lstm},
    "convolution": {"eager": convolution},
    "deep": {"eager": deep},
}
