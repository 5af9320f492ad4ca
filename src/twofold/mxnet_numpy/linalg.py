"""``mx.np.linalg``: decompositions, equations, norms; functions without an operator run on the host, without a gradient."""

from typing import Any

import numpy as np

from ..suggestions import missing_name
from .array_functions import FUNCTIONS, on_host
from .linear import LinearAlgebra

__all__ = ["FALLBACKS"]

#: Functions that MXNet computes with NumPy.
FALLBACKS = frozenset({"cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"})


def _lstsq(a: np.ndarray, b: np.ndarray, rcond: float | str | None = "warn") -> object:
    """NumPy's ``lstsq``, which takes the default of older ones, the precision of the dtype, as -1."""
    return np.linalg.lstsq(a, b, -1 if isinstance(rcond, str) else rcond)


FACE = LinearAlgebra(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name in FALLBACKS:
        found = on_host(_lstsq if name == "lstsq" else getattr(np.linalg, name), name)
        found.__module__, found.__qualname__ = __name__, name  # pickles look for it there
    elif name.startswith("_") or not hasattr(FACE, name):
        raise missing_name("mxnet.numpy.linalg", name, __dir__())
    else:
        found = getattr(FACE, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*FALLBACKS, *(n for n in dir(FACE) if not n.startswith("_"))})
