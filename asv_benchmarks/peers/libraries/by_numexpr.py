"""The chains in numexpr; constants are float32, which it needs to compute in float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numexpr
import numpy as np

from asv_benchmarks.peers import chains
from asv_benchmarks.peers.case import Case, in_a_row, pure

Arrays = dict[str, Any]

_D1 = "((log(price / strike) + c095 * time) / (c3 * sqrt(time)))"
_CALL = f"price * (c5 * tanh(c851 * {_D1}) + c5)"
_CHAINS = {
    "black_scholes": f"{_CALL} - strike * exp(m05 * time) * (c5 * tanh(c851 * ({_D1} - c3 * sqrt(time))) + c5)",
    "gelu": "c5 * (x * (c1 + tanh(c797 * (x * (c1 + c044 * (x * x))))))",
    "clip": "where(c2 * x - c5 < c0, c0, where(c2 * x - c5 > c1, c1, c2 * x - c5))",
}
_NUMBERS = {"c0": 0, "c1": 1, "c2": 2, "c3": 0.3, "c5": 0.5, "c044": 0.044715, "c095": 0.095, "c797": 0.79788456, "c851": 0.851}
_CONSTANTS = {name: np.float32(value) for name, value in {**_NUMBERS, "m05": -0.05}.items()}
_ADAM = {
    "mean": "b1 * mean + a1 * gradient",
    "square": "b2 * square + a2 * (gradient * gradient)",
    "weight": "weight - rate * mean / (sqrt(square) + epsilon)",
}


def about() -> dict[str, Any]:
    """Version and threads."""
    return {"version": numexpr.__version__, "threads": numexpr.nthreads}


def add(arrays: Arrays) -> Case:
    """``x + x``."""
    return in_a_row(lambda: numexpr.evaluate("x + x", local_dict=arrays, global_dict={}), np.asarray)


def chain(text: str, arrays: Arrays) -> Case:
    """A stateless chain, into a new array."""
    names = {**_CONSTANTS, **arrays}
    return pure(lambda: numexpr.evaluate(text, local_dict=names, global_dict={}), np.asarray)


def adam(arrays: Arrays) -> Case:
    """Adam in place: three expressions."""
    f = np.float32
    numbers = {"b1": f(chains.BETA1), "a1": f(1 - chains.BETA1), "b2": f(chains.BETA2), "a2": f(1 - chains.BETA2)}
    names = {**numbers, "rate": f(chains.RATE), "epsilon": f(chains.EPSILON), **arrays}

    def call() -> None:
        for name, text in _ADAM.items():
            numexpr.evaluate(text, local_dict=names, global_dict={}, out=names[name])

    return Case(call, lambda: [names[name] for name in ("weight", "mean", "square")])


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"evaluate": add},
    **{name: {"evaluate": partial(chain, text)} for name, text in _CHAINS.items()},
    "adam": {"evaluate": adam},
}
