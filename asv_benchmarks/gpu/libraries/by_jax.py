"""The items in JAX on its first GPU, with ``jax.jit``. As in every library, float32 is computed in float32; `table` has the settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from asv_benchmarks.peers import chains, inputs
from asv_benchmarks.peers.case import REPEATED, Case
from asv_benchmarks.peers.libraries.by_jax import lenet, mean_cross_entropy

Arrays = dict[str, Any]
PLATFORM = "gpu"


class NoDevice(Exception):
    """JAX finds no usable GPU."""


def about() -> dict[str, Any]:
    """Version and device.

    Raises
    ------
    NoDevice
        If there is none.
    """
    if jax.default_backend() != PLATFORM:
        raise NoDevice(f"jax {jax.__version__} computes on {jax.default_backend()}: it needs its CUDA plugin, jax[cuda12] or jax[cuda13]")
    return {"version": jax.__version__, "device": jax.devices()[0].device_kind}


def release() -> None:
    """Release unused memory."""
    jax.clear_caches()


def _placed(arrays: Arrays) -> list[Any]:
    return [jax.device_put(a.astype(np.int32) if a.dtype.kind == "i" else a) for a in arrays.values()]


def _to_numpy(a: Any) -> Any:
    return np.asarray(a.astype(jnp.float32))


def issued(function: Callable[[], Any], result: Callable[[Any], Any], operations: int = 1) -> Case:
    """A case that calls a function. Waiting for the last result waits for all, since a device runs work in order of issue."""
    last: list[Any] = []

    def call() -> Any:
        last[:] = [function()]
        return last[0]

    def wait() -> None:
        jax.block_until_ready(last)

    return Case(call, lambda: [_to_numpy(a) for a in result(call())], operations, wait)


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def add(arrays: Arrays) -> Case:
    """An array and a scalar, without ``jit``."""
    (x,) = _placed(arrays)
    return issued(lambda: [x + (k + 0.5) for k in range(REPEATED)], list, REPEATED)


def pure(function: Callable[..., Any], arrays: Arrays, dtype: str | None = None) -> Case:
    """A case that calls a function of the arrays."""
    values = [a if dtype is None else a.astype(dtype) for a in _placed(arrays)]
    f = jax.jit(function)
    return issued(lambda: f(*values), _listed)


def gradients(forward: Callable[..., Any], arrays: Arrays) -> Case:
    """The gradients of a function of all arrays but the last, which is the gradient of the result."""
    return pure(lambda *values: jax.vjp(forward, *values[:-1])[1](values[-1]), arrays)


def layer_norm(x: Any, gamma: Any, beta: Any, dout: Any) -> Any:
    """Forward only."""
    return chains.layer_norm(jnp, x, gamma, beta)


def _stepped(function: Callable[..., Any], fixed: list[Any], state: list[Any]) -> Callable[[], Any]:
    """A call that donates the state to the function and replaces it with the result."""
    f = jax.jit(function, donate_argnums=(1,))

    def call() -> Any:
        state[:] = f(fixed, state)
        return state

    return call


def adam_many(arrays: Arrays) -> Case:
    """Update all weights in one program."""
    values, learned = dict(zip(arrays, _placed(arrays), strict=True)), inputs.parameters(arrays)
    grads, weights = ([v for name, v in values.items() if name[0] == letter] for letter in "gw")

    def update(grads: list[Any], state: list[Any]) -> list[Any]:
        count, *moments = state
        count = count + 1
        rate = chains.RATE * jnp.sqrt(1 - chains.BETA2**count) / (1 - chains.BETA1**count)
        return [count, *[adam(g, *s, rate) for g, s in zip(grads, moments, strict=True)]]

    def adam(gradient: Any, weight: Any, mean: Any, square: Any, rate: Any) -> tuple[Any, Any, Any]:
        mean = chains.BETA1 * mean + (1 - chains.BETA1) * gradient
        square = chains.BETA2 * square + (1 - chains.BETA2) * (gradient * gradient)
        return weight - rate * mean / (jnp.sqrt(square) + chains.EPSILON), mean, square

    call = _stepped(update, grads, [jnp.float32(0), *[(w, jnp.zeros_like(w), jnp.zeros_like(w)) for w in weights]])
    return issued(call, lambda state: [s[0] - old for s, old in zip(state[1:], learned.values(), strict=True)])


def lenet_step(arrays: Arrays) -> Case:
    """A training step of LeNet: forward, backward and update."""
    learned = inputs.parameters(arrays)
    fixed = _placed({name: arrays[name] for name in ("x", "label")})

    def step(fixed: list[Any], weights: list[Any]) -> list[Any]:
        x, label = fixed
        gradient = jax.grad(lambda weights: mean_cross_entropy(lenet(weights, x), label))(weights)
        return [w - inputs.LEARNING_RATE * dw for w, dw in zip(weights, gradient, strict=True)]

    call = _stepped(step, fixed, _placed(learned))
    return issued(call, lambda weights: [w - old for w, old in zip(weights, learned.values(), strict=True)])


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"eager": add},
    **{name: {"jit": partial(pure, partial(function, jnp))} for name, function in chains.PURE.items()},
    "softmax": {"jit": partial(pure, lambda x: jax.nn.softmax(x))},
    "layer_norm": {"jit": partial(pure, layer_norm)},
    "layer_norm_gradient": {"jit": partial(gradients, partial(chains.layer_norm, jnp))},
    "batch_norm_gradient": {"jit": partial(gradients, partial(chains.batch_norm, jnp))},
    "cross_entropy": {"jit": partial(pure, jax.value_and_grad(lambda x, label: len(x) * mean_cross_entropy(x, label)))},
    "adam_many": {"jit": adam_many},
    **{f"matmul_{d}": {"jit": partial(pure, jnp.matmul, dtype=d)} for d in ("float32", "float16", "bfloat16")},
    "lenet": {"jit": lenet_step},
}
