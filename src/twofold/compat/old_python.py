"""Restores names that Python and NumPy have removed since MXNet's time. Installed by ``twofold run`` only."""

import collections
import collections.abc
import fractions
import inspect
import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

#: Names removed in NumPy 1.24 and 2, with their values.
NUMPY_NAMES: dict[str, Any] = {
    "AxisError": np.exceptions.AxisError,
    "ComplexWarning": np.exceptions.ComplexWarning,
    "Inf": np.inf,
    "Infinity": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "PINF": np.inf,
    "PZERO": 0.0,
    "RankWarning": np.exceptions.RankWarning,
    "VisibleDeprecationWarning": np.exceptions.VisibleDeprecationWarning,
    "alltrue": np.all,
    "asscalar": lambda a: a.item(),
    "bool": bool,
    "bool8": np.bool_,
    "cfloat": np.complex128,
    "complex": complex,
    "complex_": np.complex128,
    "cumproduct": np.cumprod,
    "float": float,
    "float_": np.float64,
    "in1d": lambda ar1, ar2, assume_unique=False, invert=False: np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert),
    "infty": np.inf,
    "int": int,
    "int0": np.intp,
    "long": int,
    "mat": np.asmatrix,
    "math": math,
    "msort": lambda a: np.sort(a, axis=0),
    "object": object,
    "object0": np.object_,
    "product": np.prod,
    "round_": np.round,
    "row_stack": np.vstack,
    "singlecomplex": np.complex64,
    "sometrue": np.any,
    "str": str,
    "str0": np.str_,
    "string_": np.bytes_,
    "trapz": np.trapezoid,
    "uint0": np.uintp,
    "unicode": str,
    "unicode_": np.str_,
}
#: Names removed from Python's modules, with their values.
PYTHON_NAMES: dict[ModuleType, dict[str, Any]] = {
    collections: {name: getattr(collections.abc, name) for name in collections.abc.__all__},
    fractions: {"gcd": math.gcd},
    inspect: {"getargspec": lambda func: inspect.getfullargspec(func)[:4]},
    time: {"clock": time.perf_counter},
}


def install() -> None:
    """Restore missing names; existing ones are not changed."""
    tables = {np: NUMPY_NAMES, **PYTHON_NAMES}
    for module, names in tables.items():
        for name in names.keys() - vars(module).keys():
            setattr(module, name, names[name])
    np.fromstring = _with_binary_mode(np.fromstring)  # type: ignore[assignment]


def _with_binary_mode(fromstring: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """``np.fromstring`` that still reads binary data if no separator is given; scripts read MNIST with it."""

    def read(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: Any = None) -> np.ndarray:
        if sep == "":
            data = string.encode("latin1") if isinstance(string, str) else string
            return np.frombuffer(data, dtype, count).copy()
        return fromstring(string, dtype, count, sep=sep) if like is None else fromstring(string, dtype, count, sep=sep, like=like)

    return read
