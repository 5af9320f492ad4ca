"""The chains in numba: loops over elements, or over rows, in parallel and with ``fastmath``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from asv_benchmarks.peers import chains
from asv_benchmarks.peers.case import Case, in_a_row, pure

Arrays = dict[str, Any]
_f = np.float32
_HALF, _ONE, _TWO = _f(0.5), _f(1), _f(2)
_BETA1, _BETA2, _RATE, _EPSILON = _f(chains.BETA1), _f(chains.BETA2), _f(chains.RATE), _f(chains.EPSILON)
_REST1, _REST2 = _f(1 - chains.BETA1), _f(1 - chains.BETA2)
_parallel = numba.njit(parallel=True, fastmath=True)


def about() -> dict[str, Any]:
    """Version and threads."""
    return {"version": numba.__version__, "threads": numba.get_num_threads()}


@numba.njit
def _add(x: Any) -> Any:
    return x + x


@_parallel
def _black_scholes(price: Any, strike: Any, time: Any) -> Any:
    out = np.empty_like(price)
    for i in numba.prange(price.size):
        spread = _f(0.3) * math.sqrt(time[i])
        d1 = (math.log(price[i] / strike[i]) + _f(0.095) * time[i]) / spread
        d2 = d1 - spread
        bought = price[i] * (_HALF * math.tanh(_f(0.851) * d1) + _HALF)
        out[i] = bought - strike[i] * math.exp(_f(-0.05) * time[i]) * (_HALF * math.tanh(_f(0.851) * d2) + _HALF)
    return out


@_parallel
def _gelu(x: Any) -> Any:
    out = np.empty_like(x)
    for i in numba.prange(x.size):
        y = x[i]
        out[i] = _HALF * (y * (_ONE + math.tanh(_f(0.79788456) * (y * (_ONE + _f(0.044715) * (y * y))))))
    return out


@_parallel
def _clip(x: Any) -> Any:
    out = np.empty_like(x)
    for i in numba.prange(x.size):
        out[i] = min(max(_TWO * x[i] - _HALF, _f(0)), _ONE)
    return out


@_parallel
def _adam(g: Any, w: Any, m: Any, v: Any) -> None:
    for i in numba.prange(g.size):
        m[i] = _BETA1 * m[i] + _REST1 * g[i]
        v[i] = _BETA2 * v[i] + _REST2 * (g[i] * g[i])
        w[i] -= _RATE * m[i] / (math.sqrt(v[i]) + _EPSILON)


@_parallel
def _cross_entropy(x: Any, label: Any) -> Any:
    gradient, losses, scale = np.empty_like(x), np.empty(len(x), x.dtype), _f(1 / len(x))
    for i in numba.prange(len(x)):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        total = _f(0)
        for j in range(x.shape[1]):
            gradient[i, j] = math.exp(x[i, j] - top)
            total += gradient[i, j]
        losses[i] = math.log(total) - (x[i, label[i]] - top)
        for j in range(x.shape[1]):
            gradient[i, j] *= scale / total
        gradient[i, label[i]] -= scale
    return losses.mean(), gradient


def pure_case(function: Callable[..., Any]) -> Callable[[Arrays], Case]:
    """Creates the case of a stateless function."""

    def made(arrays: Arrays) -> Case:
        values = list(arrays.values())
        return pure(lambda: function(*values), np.asarray)

    return made


def add(arrays: Arrays) -> Case:
    """``x + x``."""
    x = arrays["x"]
    return in_a_row(lambda: _add(x), np.asarray)


def adam(arrays: Arrays) -> Case:
    """Adam in place."""
    g, w, m, v = arrays.values()
    return Case(lambda: _adam(g, w, m, v), lambda: [w, m, v])


CASES: dict[str, dict[str, Callable[[Arrays], Case]]] = {
    "add": {"njit": add},
    "black_scholes": {"njit": pure_case(_black_scholes)},
    "gelu": {"njit": pure_case(_gelu)},
    "clip": {"njit": pure_case(_clip)},
    "adam": {"njit": adam},
    "cross_entropy": {"njit": pure_case(_cross_entropy)},
}
