"""Restores names that Python and NumPy have removed since MXNet's time. Installed by ``twofold run`` only."""

import collections
import collections.abc
import fractions
import functools
import inspect
import json
import math
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterable, MutableSequence
from types import ModuleType
from typing import Any, NamedTuple

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


class ArgSpec(NamedTuple):
    """What `getargspec` gives."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[object, ...] | None


def getargspec(func: Callable[..., object]) -> ArgSpec:
    """The arguments of a function without keyword-only ones and annotations.

    Raises
    ------
    ValueError
        If it has them.
    """
    args, varargs, keywords, defaults, keyword_only, _, annotations = inspect.getfullargspec(func)
    if keyword_only or annotations:
        raise ValueError("Function has keyword-only parameters or annotations, use inspect.signature() API which can support them")
    return ArgSpec(args, varargs, keywords, defaults)


#: Names removed from Python's modules, with their values.
PYTHON_NAMES: dict[ModuleType, dict[str, object]] = {
    collections: {name: getattr(collections.abc, name) for name in collections.abc.__all__},
    fractions: {"gcd": math.gcd},
    inspect: {"ArgSpec": ArgSpec, "getargspec": getargspec},
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
    for name, restored in (("sample", _of_sets(random.Random.sample)), ("shuffle", _by_numbers(random.Random.shuffle))):
        setattr(random.Random, name, restored)
        setattr(random, name, restored.__get__(getattr(random, name).__self__))  # the module's functions are methods of one object
    np.fromstring = _with_binary_mode(np.fromstring)  # type: ignore[assignment]
    for name in ("array", "asanyarray", "asarray"):
        setattr(np, name, _with_ragged_rows(getattr(np, name)))


def _without_encoding(loads: Callable[..., object]) -> Callable[..., object]:
    """``json.loads`` that takes ``encoding`` again, which had no effect in Python 3 and was removed in 3.9."""

    @functools.wraps(loads)
    def load(s: str | bytes | bytearray, *, encoding: str | None = None, **options: object) -> object:
        return loads(s, **options)

    return load


def _of_sets(sample: Callable[..., list[object]]) -> Callable[..., list[object]]:
    """``random.sample`` that takes sets again, in the order of their iteration."""

    @functools.wraps(sample)
    def draw(self: random.Random, population: Iterable[object], k: int, **options: object) -> list[object]:
        return sample(self, tuple(population) if isinstance(population, collections.abc.Set) else population, k, **options)

    return draw


def _by_numbers(shuffle: Callable[..., None]) -> Callable[..., None]:
    """``random.shuffle`` that takes a function of random numbers again."""

    @functools.wraps(shuffle)
    def shuffled(self: random.Random, x: MutableSequence[object], random: Callable[[], float] | None = None) -> None:
        if random is None:
            shuffle(self, x)
            return
        for i in reversed(range(1, len(x))):
            j = int(random() * (i + 1))
            x[i], x[j] = x[j], x[i]

    return shuffled


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
