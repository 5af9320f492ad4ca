"""The items in JAX, with ``jax.jit``; every call waits for its results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import Case, in_a_row, pure

Arrays = dict[str, Any]


def about() -> dict[str, Any]:
    """Version."""
    return {"version": jax.__version__, "blas": ["XLA's own"]}


def _arrays(arrays: Arrays) -> list[Any]:
    return [jnp.array(a.astype(np.int32) if a.dtype.kind == "i" else a) for a in arrays.values()]


def add(jit: bool, arrays: Arrays) -> Case:
    """``x + x``."""
    (x,) = _arrays(arrays)
    f = jax.jit(lambda x: x + x) if jit else lambda x: x + x
    return in_a_row(lambda: f(x), np.asarray, jax.block_until_ready)


def chain(function: Callable[..., Any], arrays: Arrays) -> Case:
    """A stateless chain."""
    values, f = _arrays(arrays), jax.jit(partial(function, jnp))
    return pure(lambda: f(*values), np.asarray, jax.block_until_ready)


def adam(arrays: Arrays) -> Case:
    """Adam, with donated state."""
    gradient, *state = _arrays(arrays)
    f = jax.jit(partial(chains.adam, jnp), donate_argnums=(1, 2, 3))

    def call() -> None:
        state[:] = jax.block_until_ready(f(gradient, *state))

    return Case(call, lambda: [np.asarray(a) for a in state])


def mean_cross_entropy(y: Any, label: Any) -> Any:
    """The mean over the batch of the softmax cross-entropy."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(y), label[:, None], 1))


def cross_entropy(arrays: Arrays) -> Case:
    """Loss and gradient."""
    x, label = _arrays(arrays)
    f = jax.jit(jax.value_and_grad(mean_cross_entropy))
    return pure(lambda: f(x, label), np.asarray, jax.block_until_ready)


def new_chain(arrays: Arrays) -> Case:
    """New chains."""
    (x,) = _arrays(arrays)
    made = chains.NewChains()
    first = made()

    def call() -> None:
        f = jax.jit(partial(made(), jnp))
        for _ in range(chains.MET):
            jax.block_until_ready(f(x))

    return Case(call, lambda: [np.asarray(first(jnp, x))])


def _dense(weights: list[Any], x: Any) -> Any:
    for k in range(0, len(weights), 2):
        x = x @ weights[k].T + weights[k + 1]
        x = jax.nn.relu(x) if k + 2 < len(weights) else x
    return x


def _convolved(x: Any, w: Any, padding: str) -> Any:
    return jax.lax.conv_general_dilated(x, w, (1, 1), padding)


def lenet(weights: list[Any], x: Any) -> Any:
    """The outputs of LeNet."""
    w1, b1, w2, b2, w3, b3, w4, b4 = weights
    for w, b in ((w1, b1), (w2, b2)):
        y = jnp.tanh(_convolved(x, w, "VALID") + b[:, None, None])
        x = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return jnp.tanh(x.reshape(len(x), -1) @ w3.T + b3) @ w4.T + b4


def _lstm_loss(weights: list[Any], x: Any) -> Any:
    """Half the sum of the squared outputs over the batch."""
    batch, units = x.shape[1], inputs.UNITS
    for k in range(0, len(weights), 4):
        wx, wh, bx, bh = weights[k : k + 4]

        def cell(state: Any, sums: Any, wh: Any = wh) -> Any:
            h, c = state
            i, f, z, o = jnp.split(sums + h @ wh.T, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(z)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((batch, units), x.dtype)
        _, x = jax.lax.scan(cell, (zero, zero), x @ wx.T + bx + bh)
    return (x**2).sum() * (0.5 / batch)


def perceptron(arrays: Arrays) -> Case:
    """Forward and backward."""
    x, label, *weights = _arrays(arrays)
    f = jax.jit(jax.grad(lambda weights, x, label: mean_cross_entropy(_dense(weights, x), label)))
    return pure(lambda: f(weights, x, label), np.asarray, jax.block_until_ready)


def _trained(loss: Callable[..., Any], learned: Arrays, data: list[Any]) -> Case:
    """SGD steps on a loss of weights and data."""
    state, rate = [_arrays(learned)], inputs.LEARNING_RATE
    f = jax.jit(lambda weights, *data: [w - rate * dw for w, dw in zip(weights, jax.grad(loss)(weights, *data), strict=True)])

    def call() -> None:
        state[0] = jax.block_until_ready(f(state[0], *data))

    return Case(call, lambda: [np.asarray(w) - old for w, old in zip(state[0], learned.values(), strict=True)])


def network(function: Callable[..., Any], arrays: Arrays) -> Case:
    """Forward, backward and update of a network."""
    data = _arrays({name: arrays[name] for name in ("x", "label")})
    return _trained(lambda weights, x, label: mean_cross_entropy(function(weights, x), label), inputs.parameters(arrays), data)


def lstm(arrays: Arrays) -> Case:
    """Forward, backward and update of the LSTM with ``lax.scan``."""
    return _trained(_lstm_loss, inputs.parameters(arrays), [jnp.array(arrays["x"])])


def convolution(arrays: Arrays) -> Case:
    """A 3x3 convolution, forward and backward."""
    x, w, dout = _arrays(arrays)

    @jax.jit
    def f(x: Any, w: Any, dout: Any) -> Any:
        y, backward = jax.vjp(lambda x, w: _convolved(x, w, "SAME"), x, w)
        return (y, *backward(dout))

    return pure(lambda: f(x, w, dout), np.asarray, jax.block_until_ready)


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"jit": partial(add, True), "eager": partial(add, False)},
    **{name: {"jit": partial(chain, function)} for name, function in chains.PURE.items()},
    "adam": {"jit": adam},
    "cross_entropy": {"jit": cross_entropy},
    "new_chain": {"jit": new_chain},
    "perceptron": {"jit": perceptron},
    "mlp": {"jit": partial(network, _dense)},
    "lenet": {"jit": partial(network, lenet)},
    "lstm": {"jit": lstm},
    "convolution": {"jit": convolution},
}
