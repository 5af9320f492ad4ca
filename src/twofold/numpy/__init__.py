"""``twofold.np``: NumPy's namespace and semantics on any device, with gradients.

Functions with operators are recorded and run where their arrays are; every other name is NumPy's own: functions run on the host,
without a gradient (`fallback`), classes and constants are the same objects. Random numbers are in `random`.
"""

from types import FunctionType, ModuleType
from typing import Any

import numpy as _numpy

from .. import ops  # noqa: F401  (registers the operators)
from . import creation, indexing, linalg, linear, methods, operators, random, reductions, selecting, shapes  # noqa: F401
from .array import ndarray, ndarrayView  # noqa: F401  (its views are asked for by name)
from .fallback import attribute, guarded, vectorize
from .ufuncs import function_of, ufunc



def _own(module: ModuleType) -> dict[str, Any]:
    """The functions that a module defines under NumPy's names."""
    names = {n: v for n, v in vars(module).items() if n in _numpy.__all__ and isinstance(v, FunctionType)}
    return names if module is creation else {n: guarded(v, getattr(_numpy, n)) for n, v in names.items()}


for _module in (creation, reductions, shapes, selecting, linear):
    globals().update(_own(_module))

__all__ = [*_numpy.__all__, "asnumpy", "cpu", "gpu", "ndarray"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    found = getattr(_numpy, name, None)
    if found is None and name not in _numpy.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = function_of(name) if isinstance(found, _numpy.ufunc) else attribute(_numpy, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})
