"""Restores names that Python and NumPy have removed since MXNet's time. Installed by ``twofold run`` only."""

import collections
import collections.abc
import fractions
import functools
import inspect
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

#: Names removed in NumPy 1.24 and 2, with their values: first the names that NumPy has under another name, which is given too.
NUMPY_NAMES: dict[str, Any] = {
    second: getattr(np, name)
    for name, names in {
        "inf": "Inf Infinity PINF infty",
        "nan": "NAN NaN",
        "all": "alltrue",
        "any": "sometrue",
        "asmatrix": "mat",
        "bool_": "bool8",
        "bytes_": "string_",
        "complex128": "cfloat complex_",
        "complex64": "singlecomplex",
        "cumprod": "cumproduct",
        "float64": "float_",
        "intp": "int0",
        "object_": "object0",
        "prod": "product",
        "round": "round_",
        "str_": "str0 unicode_",
        "trapezoid": "trapz",
        "uintp": "uint0",
        "vstack": "row_stack",
    }.items()
    for second in names.split()
}
NUMPY_NAMES |= {kind.__name__: kind for kind in (bool, complex, float, int, object, str)}
NUMPY_NAMES |= {name: getattr(np.exceptions, name) for name in ("AxisError", "ComplexWarning", "RankWarning", "VisibleDeprecationWarning")}
NUMPY_NAMES |= {
    "NINF": -np.inf,
    "NZERO": -0.0,
    "PZERO": 0.0,
    "asscalar": lambda a: a.item(),
    "in1d": lambda ar1, ar2, assume_unique=False, invert=False: np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert),
    "long": int,
    "math": math,
    "msort": lambda a: np.sort(a, axis=0),
    "unicode": str,
}
#: Names removed from Python's modules, with their values.
PYTHON_NAMES: dict[ModuleType, dict[str, Any]] = {
    collections: {name: getattr(collections.abc, name) for name in collections.abc.__all__},
    fractions: {"gcd": math.gcd},
    inspect: {"getargspec": lambda func: inspect.getfullargspec(func)[:4]},
    time: {"clock": time.perf_counter},
}


#: NumPy's set operations, which are in its root now.
SETS = ModuleType("numpy.lib.arraysetops", "NumPy's set operations.")
vars(SETS).update({name: getattr(np, name) for name in ("ediff1d", "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique")})
vars(SETS)["in1d"] = NUMPY_NAMES["in1d"]


@functools.cache
def install(names_only: bool = False) -> None:
    """Restore missing names; existing ones are not changed, but take what they took.

    Parameters
    ----------
    names_only
        Leave existing functions alone, for programs that shall see what NumPy gives.
    """
    tables = {np: NUMPY_NAMES, np.lib: {"arraysetops": SETS}, **PYTHON_NAMES}
    sys.modules.setdefault(SETS.__name__, SETS)
    for module, names in tables.items():
        for name in names.keys() - vars(module).keys():
            setattr(module, name, names[name])
    if names_only:
        return
    json.loads = _without_encoding(json.loads)
    np.fromstring = _with_binary_mode(np.fromstring)  # type: ignore[assignment]
    for name in ("array", "asanyarray", "asarray"):
        setattr(np, name, _with_ragged_rows(getattr(np, name)))


def _without_encoding(loads: Callable[..., Any]) -> Callable[..., Any]:
    """``json.loads`` that takes ``encoding`` again, which had no effect in Python 3 and was removed in 3.9."""

    @functools.wraps(loads)
    def load(s: str | bytes | bytearray, *, encoding: str | None = None, **options: Any) -> Any:
        return loads(s, **options)

    return load


def _with_ragged_rows(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A function that makes an array of objects of rows of different lengths again: libraries batch boxes and sentences with it."""

    @functools.wraps(make)
    def array(*data: object, **options: object) -> np.ndarray:
        try:
            return make(*data, **options)
        except ValueError as error:
            if len(data) > 1 or options.get("dtype") is not None or "inhomogeneous shape" not in str(error):
                raise
        text = "an array of rows of different lengths has dtype object; pass dtype=object if that is meant"
        warnings.warn(text, np.exceptions.VisibleDeprecationWarning, stacklevel=2)
        return make(*data, **{**options, "dtype": object})

    return array


def _with_binary_mode(fromstring: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """``np.fromstring`` that still reads binary data if no separator is given; scripts read MNIST with it."""

    def read(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: Any = None) -> np.ndarray:
        if sep == "":
            data = string.encode("latin1") if isinstance(string, str) else string
            return np.frombuffer(data, dtype, count).copy()
        return fromstring(string, dtype, count, sep=sep) if like is None else fromstring(string, dtype, count, sep=sep, like=like)

    return read
