"""``mx.np.linalg``: decompositions, equations, norms; what has no operator runs on the host, without a gradient."""

from typing import Any

import numpy as np

from ..errors import OperatorError
from ..opdef.frontend import named
from .array_functions import FUNCTIONS, host_result
from .linear import LinearAlgebra

__all__ = ["FALLBACKS"]

#: Functions that MXNet computes with NumPy.
FALLBACKS = frozenset({"cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"})
FACE = LinearAlgebra(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name in FALLBACKS:
        numpys = getattr(np.linalg, name)

        @named(name, f"NumPy's ``{name}``, computed on the host, without a gradient.\n\n{numpys.__doc__}")
        def found(*args: Any, **options: Any) -> Any:
            return host_result(numpys, args, options)

    elif name.startswith("_") or not hasattr(FACE, name):
        raise OperatorError(f"module 'mxnet.numpy.linalg' has no attribute {name!r}", None, "see dir() of it")
    else:
        found = getattr(FACE, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*FALLBACKS, *(n for n in dir(FACE) if not n.startswith("_"))})
