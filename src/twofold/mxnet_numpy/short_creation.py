"""Small arrays of the dialect that NumPy makes directly, for calls that give nothing but values or a shape, and a dtype."""

from typing import Any

import numpy as np

from ..assembly import inlined
from ..calls.fragments import RECOVERABLE
from ..device import CPU, DEFAULTS
from ..imperative.cell import HOST, PLAIN, Value, new
from ..imperative.guards import plain_or_value
from ..imperative.tape import tls
from ..ndarray.new_arrays import SHAPES, TYPES
from ..ndarray.types import DeviceLike, DTypeLike, Shape
from ..scheduler.observers import LISTENERS
from .array import ndarray
from .new_arrays import Creation

__all__ = ["ShortCreation", "short_array"]

#: Exceptions after which the general call is made: it gives a result, or raises an error that says what to do.
_ELSEWHERE = (*RECOVERABLE, KeyError)
#: Classes of numbers that fill arrays; bools have a dtype of their own.
NUMBERS = (int, float)


@inlined
def _cell(fresh: object) -> ndarray:
    """A new array around a new NumPy array, whose memory it takes over."""
    made = new(ndarray)
    made._content = plain_or_value(fresh)
    return made


def short_array(values: object, dtype: DTypeLike) -> ndarray | None:
    """An array on the host from a list or a NumPy array; None if making it takes more than a copy."""
    if tls.tape is not None or DEFAULTS.stack or LISTENERS:
        return None
    try:
        host = np.asarray(values)
        # numbers give float32, arrays of NumPy's keep their dtype
        own = host.dtype if dtype is None and values.__class__ is np.ndarray else dtype
        return _cell(HOST.quick(host.astype, TYPES[own], "C"))  # always a copy
    except _ELSEWHERE:
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


def _like(a: Any, value: Any, dtype: DTypeLike) -> ndarray | None:
    """An array of one number in the shape of another array; None if that array is not ready on the host."""
    if a.__class__ is not ndarray or tls.tape is not None or DEFAULTS.stack or LISTENERS:
        return None
    v: Any = a._content
    if v.__class__ is Value:
        # a pending Value has no data, and what is on a device takes the general call
        v = v.data if v.device is CPU else None
    if v.__class__ is not PLAIN:
        return None
    try:
        return _filled(v.shape, value, v.dtype if dtype is None else TYPES[dtype])
    except _ELSEWHERE:
        return None


class ShortCreation(Creation[ndarray]):
    """`Creation` for arrays, with short paths."""

    def zeros(self, shape: Shape, dtype: DTypeLike = None, order: str = "C", ctx: DeviceLike = None, device: DeviceLike = None) -> ndarray:
        """Zeros of a shape."""
        if ctx is None and device is None and order == "C" and shape.__class__ in SHAPES and not (DEFAULTS.stack or LISTENERS):
            try:
                return _cell(np.zeros(shape, TYPES[dtype]))
            except _ELSEWHERE:
                pass
        return super().zeros(shape, dtype, order, ctx, device)

    def ones(self, shape: Shape, dtype: DTypeLike = None, order: str = "C", ctx: DeviceLike = None, device: DeviceLike = None) -> ndarray:
        """Ones of a shape."""
        if ctx is None and device is None and order == "C" and shape.__class__ in SHAPES and not (DEFAULTS.stack or LISTENERS):
            try:
                v = np.empty(shape, TYPES[dtype])
            except _ELSEWHERE:
                pass
            else:
                v.fill(1)
                return _cell(v)
        return super().ones(shape, dtype, order, ctx, device)

    def full(
        self, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None
    ) -> ndarray:
        """One value in a shape; an array is broadcast to it. The dtype of a bool is bool, of other numbers float32."""
        is_simple = fill_value.__class__ in NUMBERS and shape.__class__ in SHAPES and order == "C"
        if is_simple and ctx is None and device is None and out is None and not (DEFAULTS.stack or LISTENERS):
            try:
                found = _filled(shape, fill_value, TYPES[dtype])
            except _ELSEWHERE:
                found = None
            if found is not None:
                return found
        return super().full(shape, fill_value, dtype, order, ctx, out, device)

    def full_like(
        self, a: Any, fill_value: float, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None
    ) -> ndarray:
        """One value in the shape of an array, in its dtype unless another is given."""
        if fill_value.__class__ in NUMBERS and ctx is None and device is None and out is None and order == "C":
            found = _like(a, fill_value, dtype)
            if found is not None:
                return found
        return super().full_like(a, fill_value, dtype, order, ctx, out, device)

    def zeros_like(self, a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None) -> Any:
        """Zeros in the shape of an array, in its dtype unless another is given."""
        found = _like(a, 0, dtype) if ctx is None and device is None and out is None and order == "C" else None
        return super().zeros_like(a, dtype, order, ctx, out, device) if found is None else found

    def ones_like(self, a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None) -> Any:
        """Ones in the shape of an array, in its dtype unless another is given."""
        found = _like(a, 1, dtype) if ctx is None and device is None and out is None and order == "C" else None
        return super().ones_like(a, dtype, order, ctx, out, device) if found is None else found

    def empty_like(self, prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None) -> Any:
        """Zeros in the shape of an array (or another one), in its dtype unless another is given. ``subok`` has no effect."""
        found = _like(prototype, 0, dtype) if shape is None and order == "C" else None
        return super().empty_like(prototype, dtype, order, subok, shape) if found is None else found

    def arange(
        self, start: float, stop: float | None = None, step: float = 1, dtype: object = None, ctx: object = None, device: object = None
    ) -> ndarray:
        """``start, start + step, …`` below ``stop``; a single number is the end."""
        if start.__class__ is int and stop is None and step == 1 and ctx is None and device is None and not (DEFAULTS.stack or LISTENERS):
            try:
                return _cell(HOST.quick(np.arange(start).astype, TYPES[dtype]))
            except _ELSEWHERE:
                pass
        return super().arange(start, stop, step, dtype, ctx, device)

    def linspace(
        self,
        start: float,
        stop: float,
        num: int = 50,
        endpoint: bool = True,
        retstep: bool = False,
        dtype: DTypeLike = None,
        axis: int = 0,
        ctx: DeviceLike = None,
        device: DeviceLike = None,
    ) -> ndarray | tuple[ndarray, float]:
        """``num`` evenly spaced values from ``start`` to ``stop``; with ``retstep`` the distance too."""
        is_simple = start.__class__ in NUMBERS and stop.__class__ in NUMBERS and num.__class__ is int and num > 0 and axis == 0
        if is_simple and not retstep and ctx is None and device is None and not (DEFAULTS.stack or LISTENERS):
            try:
                kind = TYPES[dtype]
                if kind.kind == "f":
                    return _cell(HOST.quick(_spaced, start, stop, num, num - 1 if endpoint else num).astype(kind))
            except _ELSEWHERE:
                pass
        return super().linspace(start, stop, num, endpoint, retstep, dtype, axis, ctx, device)

    def eye(self, N: int, M: int | None = None, k: int = 0, dtype: Any = None, ctx: Any = None, device: Any = None) -> Any:
        """Ones on the diagonal ``k`` of an (N, M) matrix, square if ``M`` is None; zeros elsewhere."""
        is_simple = N.__class__ is int and (M is None or M.__class__ is int) and k.__class__ is int
        if is_simple and ctx is None and device is None and not (DEFAULTS.stack or LISTENERS):
            try:
                return _cell(np.eye(N, M, k, TYPES[dtype]))
            except _ELSEWHERE:
                pass
        return super().eye(N, M, k, dtype, ctx, device)


def _spaced(start: float, stop: float, num: int, parts: int) -> np.ndarray:
    """The arithmetic of the operator ``_linspace``, operation by operation."""
    weight = np.arange(num, dtype=np.float64) / max(1, parts)
    return (1 - weight) * start + weight * stop
