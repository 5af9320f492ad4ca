"""``twofold.np``: NumPy's namespace and semantics on any device, with gradients.

Functions with an operator are recorded and run on the device of their arrays. Every other name is NumPy's own: functions run on the host
(`fallback`). For recorded arrays, functions with a gradient are compositions of operators (`differentiable`). Classes and constants are
NumPy's objects. Random numbers are in `random`.
"""

from typing import Any as _Any

import numpy as _numpy

from .. import ops  # noqa: F401  (registers the operators)
from . import constructor, differentiable, indexing, linalg, machine_code, methods, operators, random  # noqa: F401  (attach calls, gradients, …)
from .array import ndarray
from .fallback import vectorize
from .inspection import NamespaceInfo as __array_namespace_info__  # noqa: F401  (the array API's name)
from .namespace import array, attribute_names, find_attribute  # `array` is also the name of a module here
from .ufuncs import ufunc


def __getattr__(name: str) -> _Any:
    return find_attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *attribute_names()})


__all__ = [*_numpy.__all__, "array", "linalg", "ndarray", "random", "ufunc", "vectorize"]
