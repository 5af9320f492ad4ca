"""The items as programs for MXNet 1.x, which the real one and Twofold run alike; ``mx`` is one or the other."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import Case, in_a_row, pure


def _wait(out: Any) -> None:
    for a in out if isinstance(out, (tuple, list)) else [out]:
        a.wait_to_read()


def _to_numpy(a: Any) -> Any:
    return a.asnumpy()


def add(mx: Any, arrays: dict[str, Any]) -> Case:
    """``x + x``."""
    x = mx.nd.array(arrays["x"])
    return in_a_row(lambda: x + x, _to_numpy, _wait)


def add_waited(mx: Any, arrays: dict[str, Any]) -> Case:
    """``x + x``, waiting for each."""
    x = mx.nd.array(arrays["x"])
    return pure(lambda: x + x, _to_numpy, _wait)


def add_recorded(mx: Any, arrays: dict[str, Any]) -> Case:
    """``x + x`` in a record scope."""
    x = mx.nd.array(arrays["x"])
    x.attach_grad()

    rows = in_a_row(lambda: x + x, _to_numpy, _wait)

    def call() -> Any:
        with mx.autograd.record():
            return rows.call()

    return Case(call, rows.result, rows.operations)


def block_of(mx: Any, function: Callable[..., Any]) -> Any:
    """A hybridized block that computes ``function(F, *arrays)``."""

    class Chain(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, *arrays: Any) -> Any:
            return function(F, *arrays)

    block = Chain()
    block.initialize()
    block.hybridize(static_alloc=True, static_shape=True)
    return block


def chain_nd(mx: Any, function: Callable[..., Any], arrays: dict[str, Any]) -> Case:
    """A chain with functions of ``mx.nd``."""
    values = [mx.nd.array(a) for a in arrays.values()]
    return pure(lambda: function(mx.nd, *values), _to_numpy, _wait)


def chain_np(mx: Any, function: Callable[..., Any], arrays: dict[str, Any]) -> Case:
    """A chain with functions of ``mx.np``: the source of the plain NumPy program."""
    values = [mx.np.array(a) for a in arrays.values()]
    return pure(lambda: function(mx.np, *values), _to_numpy, _wait)


def chain_hybridized(mx: Any, function: Callable[..., Any], arrays: dict[str, Any]) -> Case:
    """A chain as a hybridized block."""
    values, block = [mx.nd.array(a) for a in arrays.values()], block_of(mx, function)
    return pure(lambda: block(*values), _to_numpy, _wait)


def _stepped(function: Callable[..., Any], gradient: Any, state: list[Any]) -> Case:
    """A case whose calls replace the state with the function's result."""

    def call() -> None:
        state[:] = function(gradient, *state)
        _wait(state)

    return Case(call, lambda: [a.asnumpy() for a in state])


def adam_nd(mx: Any, arrays: dict[str, Any]) -> Case:
    """Adam as a formula in ``mx.nd``."""
    gradient, *state = (mx.nd.array(a) for a in arrays.values())
    return _stepped(lambda *a: chains.adam(mx.nd, *a), gradient, state)


def adam_np(mx: Any, arrays: dict[str, Any]) -> Case:
    """Adam as a formula in ``mx.np``."""
    gradient, *state = (mx.np.array(a) for a in arrays.values())
    return _stepped(lambda *a: chains.adam(mx.np, *a), gradient, state)


def adam_hybridized(mx: Any, arrays: dict[str, Any]) -> Case:
    """Adam as a hybridized block."""
    gradient, *state = (mx.nd.array(a) for a in arrays.values())
    return _stepped(block_of(mx, chains.adam), gradient, state)


def adam_operator(mx: Any, arrays: dict[str, Any]) -> Case:
    """Adam by the operator ``adam_update``, in place."""
    gradient, *state = (mx.nd.array(a) for a in arrays.values())
    weight, mean, square = state
    options = {"lr": chains.RATE, "beta1": chains.BETA1, "beta2": chains.BETA2, "epsilon": chains.EPSILON}

    def call() -> None:
        mx.nd.adam_update(weight, gradient, mean, square, out=weight, **options)
        _wait(state)

    return Case(call, lambda: [a.asnumpy() for a in state])


def mean_cross_entropy(F: Any, y: Any, label: Any) -> Any:
    """The softmax cross-entropy, averaged over the batch."""
    return F.negative(F.mean(F.pick(F.log_softmax(y), label)))


def _recorded(mx: Any, forward: Callable[[], Any], marked: list[Any]) -> Callable[[], Any]:
    """A call that records, runs backward, and waits for the loss and the gradients of the marked arrays."""

    def call() -> Any:
        with mx.autograd.record():
            loss = forward()
        loss.backward()
        loss.wait_to_read()
        for a in marked:
            a.grad.wait_to_read()
        return loss

    return call


def cross_entropy_nd(mx: Any, arrays: dict[str, Any]) -> Case:
    """Loss and gradient with functions of ``mx.nd``."""
    x, label = mx.nd.array(arrays["x"]), mx.nd.array(arrays["label"])
    x.attach_grad()
    call = _recorded(mx, lambda: mean_cross_entropy(mx.nd, x, label), [x])
    return Case(call, lambda: [call().asnumpy(), x.grad.asnumpy()])


def cross_entropy_hybridized(mx: Any, arrays: dict[str, Any]) -> Case:
    """Loss and gradient of a hybridized block."""
    x, label, block = mx.nd.array(arrays["x"]), mx.nd.array(arrays["label"]), block_of(mx, mean_cross_entropy)
    x.attach_grad()
    call = _recorded(mx, lambda: block(x, label), [x])
    return Case(call, lambda: [call().asnumpy(), x.grad.asnumpy()])


def new_chain(mx: Any, is_new: bool, arrays: dict[str, Any]) -> Case:
    """New chains, each called three times; or the same chain throughout, to measure the cost without compilation."""
    x, made = mx.nd.array(arrays["x"]), chains.NewChains()
    first = made()

    def call() -> Any:
        f = made() if is_new else first
        for _ in range(chains.MET):
            y = f(mx.nd, x)
            y.wait_to_read()

    return Case(call, lambda: [first(mx.nd, x).asnumpy()])


def convolution_nd(mx: Any, arrays: dict[str, Any]) -> Case:
    """Forward and backward with ``nd.Convolution``."""
    x, w, dout = (mx.nd.array(arrays[name]) for name in ("x", "w", "dout"))
    return _convolution(mx, x, w, dout, lambda: mx.nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=w.shape[0], no_bias=True))


def convolution_hybridized(mx: Any, arrays: dict[str, Any]) -> Case:
    """Forward and backward of a hybridized block."""
    x, w, dout = (mx.nd.array(arrays[name]) for name in ("x", "w", "dout"))
    count = w.shape[0]
    block = block_of(mx, lambda F, x, w: F.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=count, no_bias=True))
    return _convolution(mx, x, w, dout, lambda: block(x, w))


def _convolution(mx: Any, x: Any, w: Any, dout: Any, forward: Callable[[], Any]) -> Case:
    x.attach_grad()
    w.attach_grad()

    def call() -> Any:
        with mx.autograd.record():
            y = forward()
        y.backward(dout)
        _wait([y, x.grad, w.grad])
        return y

    return Case(call, lambda: [call().asnumpy(), x.grad.asnumpy(), w.grad.asnumpy()])


def deep(mx: Any, hybrid: bool, arrays: dict[str, Any]) -> Case:
    """Forward and backward of many dense layers with ReLU."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    layers = [nn.Dense(inputs.DEEP_WIDTH, activation="relu", use_bias=False, in_units=inputs.DEEP_WIDTH) for _ in range(len(arrays) - 1)]
    net.add(*layers)
    net.initialize()
    for k, layer in enumerate(layers):
        layer.weight.set_data(mx.nd.array(arrays[f"w{k}"]))
    if hybrid:
        net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.array(arrays["x"])

    def call() -> None:
        with mx.autograd.record():
            y = net(x)
        y.backward()
        for layer in layers:
            layer.weight.grad().wait_to_read()

    return Case(call, lambda: [layer.weight.grad().asnumpy() for layer in layers])


def deep_recomputed(mx: Any, arrays: dict[str, Any]) -> Case:
    """The same with recomputation in backward; the process cannot be used for anything else afterwards."""
    os.environ["MXNET_BACKWARD_DO_MIRROR"] = "1"
    return deep(mx, True, arrays)
