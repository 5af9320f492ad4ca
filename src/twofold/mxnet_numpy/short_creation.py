"""Small arrays of the dialect made by NumPy at once, where nothing but values or a shape, and a dtype, are given."""

from typing import Any

import numpy as np

from ..config import SETTINGS
from ..device import DEFAULTS
from ..imperative.cell import HOST, Value, new
from ..imperative.fast import RECOVERABLE
from ..imperative.record import tls
from ..ndarray.creation import SHAPES, TYPES
from ..scheduler.observers import LISTENERS
from .array import ndarray
from .creation import Creation

__all__ = ["ShortCreation", "at_once"]

#: What is caught where the general way finds a result, or raises an error that says what to do.
_ELSEWHERE = (*RECOVERABLE, KeyError)


def _cell(fresh: Any) -> ndarray:
    """A new array around a new array of NumPy's."""
    made = new(ndarray)
    made._v = fresh if fresh.size < SETTINGS.defer_elements else Value(fresh)
    return made


def at_once(values: Any, dtype: Any) -> ndarray | None:
    """The array of a list or of NumPy's array on the host; None if that takes more than a copy."""
    if tls.tape is not None or DEFAULTS.stack or LISTENERS:
        return None
    try:
        host = np.asarray(values)
        own = host.dtype if dtype is None and values.__class__ is np.ndarray else dtype
        return _cell(HOST.quick(host.astype, TYPES[own], "C"))  # always a copy
    except _ELSEWHERE:
        return None


class ShortCreation(Creation):
    """`Creation` of arrays, with short ways."""

    def zeros(self, shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None, device: Any = None) -> Any:
        """Zeros of a shape."""
        if ctx is None and device is None and order == "C" and shape.__class__ in SHAPES and not (DEFAULTS.stack or LISTENERS):
            try:
                return _cell(np.zeros(shape, TYPES[dtype]))
            except _ELSEWHERE:
                pass
        return super().zeros(shape, dtype, order, ctx, device)

    def ones(self, shape: Any, dtype: Any = None, order: str = "C", ctx: Any = None, device: Any = None) -> Any:
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

    def arange(
        self, start: float, stop: float | None = None, step: float = 1, dtype: Any = None, ctx: Any = None, device: Any = None
    ) -> Any:
        """``start, start + step, …`` below ``stop``; a single number is the end."""
        if start.__class__ is int and stop is None and step == 1 and ctx is None and device is None and not (DEFAULTS.stack or LISTENERS):
            try:
                return _cell(HOST.quick(np.arange(start).astype, TYPES[dtype]))
            except _ELSEWHERE:
                pass
        return super().arange(start, stop, step, dtype, ctx, device)
