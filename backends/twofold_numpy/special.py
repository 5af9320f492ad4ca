"""Special functions on NumPy arrays, over cache-sized blocks, in the operand's floating-point dtype.

The formulas are those of `twofold.backend.special_functions`, computed in float64; only `erf` of float32 has a faster form here. Integers
and bools give the dtype that NumPy's ``exp`` gives. There are no floating-point warnings.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from twofold.backend import special_functions
from twofold.dtype import NAME_OF, NUMPY, float_of

#: Elements of a block; several arrays of this size fit a core's cache.
BLOCK = 32_768
#: The argument from which erf rounds to 1 in float32.
ERF_END = np.float32(3.95)
#: ``log(erfc(x)) / x`` on [0, ERF_END], lowest power first: minimax for the relative error of erf, 4e-8, by Lawson's iteration.
LOG_ERFC = tuple(
    -np.float32(c)
    for c in (
        1.1283792070534027,
        0.6366164966738695,
        0.1028144111953429,
        -0.019321717479086172,
        0.0002057180545572446,
        0.001251745203089543,
        -0.00038100014251476663,
        4.0707858174091314e-05,
    )
)


def _on_blocks(x: np.ndarray, run: Callable[[np.ndarray, np.ndarray], None]) -> np.ndarray:
    """Apply a function of (block, output block) block by block, with a result in the floating-point dtype of ``x``."""
    x = np.asarray(x)
    out = np.empty(x.shape, NUMPY[float_of(NAME_OF[x.dtype])])
    flat_x, flat_out = x.reshape(-1), out.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, flat_x.size, BLOCK):
            run(flat_x[start : start + BLOCK], flat_out[start : start + BLOCK])
    return out


def _in_float64(formula: Callable[..., Any], **params: Any) -> Callable[[np.ndarray, np.ndarray], None]:
    """A formula of `special_functions`, computed in float64, as a function for `_on_blocks`."""

    def run(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = formula(np, x.astype(np.float64), **params)

    return run


def _of_formula(formula: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """A formula as a function of arrays and its parameters."""

    @wraps(formula)
    def function(x: np.ndarray, **params: Any) -> np.ndarray:
        return _on_blocks(x, _in_float64(formula, **params))

    return function


def erf(x: np.ndarray) -> np.ndarray:
    """Gauss error function: 2/sqrt(pi) times the integral of exp(-t²) from 0 to x."""
    x = np.asarray(x)
    wide = x.dtype.kind in "biu" or x.dtype == np.float64
    return _on_blocks(x, _in_float64(special_functions.erf) if wide else _erf_float32)


def _erf_float32(x: np.ndarray, out: np.ndarray) -> None:
    """``sign(x) (1 - exp(g))`` with g a polynomial in |x|: within 3 ulp of float32, and monotone up to 1."""
    x = x.astype(np.float32, copy=False)
    size = np.clip(x, -ERF_END, ERF_END)
    np.abs(size, size)
    g = out if out.dtype == np.float32 else np.empty_like(size)
    np.multiply(size, LOG_ERFC[-1], g)
    for c in LOG_ERFC[-2::-1]:
        np.add(g, c, g)
        np.multiply(g, size, g)
    np.expm1(g, g)
    # g <= -0.0, so its sign bit is set; it stays set where x's is. np.copysign and np.minimum would take five times as long
    signs = np.bitwise_or(x.view(np.int32), 0x7FFFFFFF, size.view(np.int32))
    np.bitwise_and(g.view(np.int32), signs, g.view(np.int32))
    if g is not out:
        out[...] = g


#: The special functions by the names of their primitives.
FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {name: _of_formula(formula) for name, formula in special_functions.FORMULAS.items()}
FUNCTIONS["erf"] = erf
