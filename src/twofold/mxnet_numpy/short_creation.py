"""Small arrays of the dialect that NumPy makes directly, for calls that give nothing but values or a shape, and a dtype."""

from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from ..assembly import Function, assembled_text, fragment, inlined
from ..calls.fragments import RECOVERABLE
from ..device import CPU, DEFAULTS, ENTERED
from ..imperative.cell import HOST, PLAIN, Value, new
from ..imperative.guards import plain_or_value
from ..imperative.tape import tls
from ..ndarray.new_arrays import SHAPES, TYPES
from ..ndarray.types import DTypeLike, Shape
from ..opdef.frontend import LazyMethod, parameter_text
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .array import ndarray
from .new_arrays import Creation

#: Exceptions after which the general call is made: it gives a result, or raises an error that says what to do.
_ELSEWHERE = (*RECOVERABLE, KeyError)
#: Functions that the short paths call, looked up once.
quick, host_empty, host_zeros, host_eye, host_arange = HOST.quick, np.empty, np.zeros, np.eye, np.arange
#: Classes of numbers that fill arrays; bools have a dtype of their own.
NUMBERS = (int, float)


@inlined
def _cell(fresh: object) -> ndarray:
    """A new array around a new NumPy array, whose memory it takes over."""
    made = new(ndarray)
    made._held = plain_or_value(fresh)
    return made


def short_array(values: object, dtype: DTypeLike) -> ndarray | None:
    """An array on the host from a list or a NumPy array; None if making it takes more than a copy."""
    if LISTENERS or (ENTERED and DEFAULTS.stack) or tls.tape is not None:
        return None
    try:
        host = np.asarray(values)
        # numbers give float32, arrays of NumPy's keep their dtype
        own = host.dtype if dtype is None and values.__class__ is np.ndarray else dtype
        return _cell(HOST.quick(host.astype, TYPES[own], "C"))  # always a copy
    except unless_signalled(_ELSEWHERE):
        return None


def _filled(shape: Shape, value: object, dtype: np.dtype) -> ndarray | None:
    """A new array of one number, if the dtype represents it in a way that needs no rule: a float, or an integer that fits."""
    v = np.empty(shape, dtype)
    # bools and floats are converted to integers by rules of the general call
    if dtype.kind != "f" and not (dtype.kind in "iu" and value.__class__ is int):
        return None
    try:
        HOST.quick(v.fill, value)
    except OverflowError:
        return None
    return _cell(v)


def _like(a: Any, value: float, dtype: DTypeLike) -> ndarray | None:
    """A new array of one number in the shape of another array; None if that array is not ready on the host."""
    if a.__class__ is not ndarray or tls.tape is not None:
        return None
    v: Any = a._held if a._held is not None else a._content
    if v.__class__ is Value:
        # a pending Value has no data, and arrays on a device take the general call
        v = v.data if v.device is CPU else None
    return _filled(v.shape, value, v.dtype if dtype is None else TYPES[dtype]) if v.__class__ is PLAIN else None


class ShortCreation(Creation[ndarray]):
    """`Creation` for arrays, with short paths."""


def _short(path: Function) -> Function:
    """Decorator: put a short path before the function of `Creation` whose name it has after an underscore.

    The path returns an array if it can make one of the arguments that it names; the others must have their defaults, and no other device
    than the host's may be current. After an exception, too, the general function is called.
    """
    name = path.__name__.removeprefix("_")
    setattr(ShortCreation, name, LazyMethod(ShortCreation, name, partial(_with_general, fragment(path), name)))
    return path


def _with_general(path: Function, name: str) -> Function:
    """The method: the short path, then the general function, whose signature and docstring it has."""
    general = getattr(Creation, name)
    given = signature(general).parameters
    tests = [f"{p} is None" for p in ("ctx", "device", "out") if p in given] + ["order == 'C'"] * ("order" in given)
    lines = [
        f"def {name}({', '.join(map(parameter_text, given.values()))}):",
        f"    if {' and '.join(tests)} and not (LISTENERS or (ENTERED and DEFAULTS.stack)):",
        f"        try: path({', '.join(signature(path).parameters)})",
        "        except unless_signalled(ELSEWHERE): pass",
        f"    return general({', '.join(given)})",
    ]
    env = {"path": path, "general": general, "ENTERED": ENTERED, "DEFAULTS": DEFAULTS, "LISTENERS": LISTENERS}
    env |= {"ELSEWHERE": _ELSEWHERE, "unless_signalled": unless_signalled}
    method = assembled_text("\n".join(lines), name, {"__name__": __name__, **env})
    method.__doc__, method.__annotations__ = general.__doc__, general.__annotations__
    return method


@_short
def _zeros(shape, dtype):
    if shape.__class__ in SHAPES:
        return _cell(host_zeros(shape, TYPES[dtype]))


@_short
def _ones(shape, dtype):
    if shape.__class__ in SHAPES:
        v = host_empty(shape, TYPES[dtype])
        v.fill(1)
        return _cell(v)


@_short
def _full(shape, fill_value, dtype):
    is_simple = fill_value.__class__ in NUMBERS and shape.__class__ in SHAPES
    if is_simple and (found := _filled(shape, fill_value, TYPES[dtype])) is not None:
        return found


@_short
def _full_like(a, fill_value, dtype):
    if fill_value.__class__ in NUMBERS and (found := _like(a, fill_value, dtype)) is not None:
        return found


@_short
def _zeros_like(a, dtype):
    if (found := _like(a, 0, dtype)) is not None:
        return found


@_short
def _ones_like(a, dtype):
    if (found := _like(a, 1, dtype)) is not None:
        return found


@_short
def _empty_like(prototype, dtype, shape):
    if shape is None and (found := _like(prototype, 0, dtype)) is not None:
        return found


@_short
def _arange(start, stop, step, dtype):
    if start.__class__ is int and stop is None and step == 1:
        return _cell(quick(host_arange(start).astype, TYPES[dtype]))


@_short
def _linspace(start, stop, num, endpoint, retstep, dtype, axis):
    is_simple = start.__class__ in NUMBERS and stop.__class__ in NUMBERS and num.__class__ is int and num > 0
    if is_simple and axis == 0 and not retstep:
        kind = TYPES[dtype]
        if kind.kind == "f":
            return _cell(quick(_spaced, start, stop, num, num - 1 if endpoint else num).astype(kind))


@_short
def _eye(N, M, k, dtype):
    if N.__class__ is int and (M is None or M.__class__ is int) and k.__class__ is int:
        return _cell(host_eye(N, M, k, TYPES[dtype]))


def _spaced(start: float, stop: float, num: int, parts: int) -> np.ndarray:
    """The arithmetic of the operator ``_linspace``, operation by operation."""
    weight = np.arange(num, dtype=np.float64) / max(1, parts)
    return (1 - weight) * start + weight * stop
