"""The formulas of the element-wise chains, written once for every library with NumPy's function names.

``xp`` is ``numpy``, ``jax.numpy``, ``torch``, ``mx.nd``, ``mx.np`` or ``mx.sym``. In all of them Python numbers do not promote float32.
"""

from __future__ import annotations

import itertools
from typing import Any

#: Adam's learning rate, decay rates and epsilon.
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8

#: The steps of new chains: formulas of ``y``, with values between -3 and 3.
STEPS = (
    "xp.tanh(y)",
    "y * 0.5 + 0.25",
    "xp.exp(y * -0.5) - 1.0",
    "xp.sqrt(y * y + 1.0)",
    "y * y - 0.75",
    "y / (y * y + 1.0)",
)


def black_scholes(xp: Any, price: Any, strike: Any, time: Any) -> Any:
    """Price of a European call: 22 operations, rate 5 %, volatility 30 %.

    The normal distribution is ``0.5 tanh(0.851 d) + 0.5``, a form that every library supports: NumPy has no erf.
    """
    spread = 0.3 * xp.sqrt(time)
    d1 = (xp.log(price / strike) + 0.095 * time) / spread
    d2 = d1 - spread
    return price * (0.5 * xp.tanh(0.851 * d1) + 0.5) - strike * xp.exp(-0.05 * time) * (0.5 * xp.tanh(0.851 * d2) + 0.5)


def gelu(xp: Any, x: Any) -> Any:
    """GELU in its tanh approximation: 8 operations. Source: Hendrycks & Gimpel, 2016."""
    return 0.5 * (x * (1.0 + xp.tanh(0.79788456 * (x * (1.0 + 0.044715 * (x * x))))))


def clip(xp: Any, x: Any) -> Any:
    """``2 x - 0.5``, clipped to [0, 1]."""
    return xp.clip(2.0 * x - 0.5, 0.0, 1.0)


def adam(xp: Any, gradient: Any, weight: Any, mean: Any, square: Any) -> tuple[Any, Any, Any]:
    """Weight and moments after one Adam update, without bias correction. Source: Kingma & Ba, 2015."""
    mean = BETA1 * mean + (1 - BETA1) * gradient
    square = BETA2 * square + (1 - BETA2) * (gradient * gradient)
    return weight - RATE * mean / (xp.sqrt(square) + EPSILON), mean, square


#: The stateless chains, by name.
PURE = {"black_scholes": black_scholes, "gelu": gelu, "clip": clip}


def softmax(xp: Any, x: Any) -> Any:
    """Softmax over the last axis."""
    e = xp.exp(x - xp.max(x, -1, keepdims=True))
    return e / xp.sum(e, -1, keepdims=True)


def layer_norm(xp: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """Layer norm over the last axis. Source: Ba et al., 2016."""
    away = x - xp.mean(x, -1, keepdims=True)
    return away / xp.sqrt(xp.mean(away * away, -1, keepdims=True) + 1e-5) * gamma + beta


def batch_norm(xp: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """Batch norm of (n, c, h, w) with the statistics of the batch. Source: Ioffe & Szegedy, 2015."""
    away = x - xp.mean(x, (0, 2, 3), keepdims=True)
    scaled = away / xp.sqrt(xp.mean(away * away, (0, 2, 3), keepdims=True) + 1e-5)
    return scaled * gamma[:, None, None] + beta[:, None, None]


#: Calls of a new chain: the first, the one that compiles, and one more.
MET = 3


class NewChains:
    """Creates functions ``f(xp, y)`` whose structure is new to the process: each has another order of `STEPS`.

    All are created in advance, so that parsing their source is not timed.
    """

    def __init__(self) -> None:
        self._functions = iter([_chain(order) for order in itertools.permutations(STEPS)])

    def __call__(self) -> Any:
        """Return the next function."""
        return next(self._functions)


def _chain(steps: tuple[str, ...]) -> Any:
    namespace: dict[str, Any] = {}
    exec("\n".join(["def chain(xp, y):", *[f"    y = {step}" for step in steps], "    return y"]), namespace)
    return namespace["chain"]
