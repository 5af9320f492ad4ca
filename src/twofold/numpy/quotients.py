"""``divmod``: quotients and remainders together, by NumPy's function, which divides once, where the operands are small and ready."""

from typing import Any

import numpy as np

from ..calls.fragments import RECOVERABLE
from ..imperative.array import adopted
from ..imperative.cell import PLAIN
from ..imperative.guards import is_small
from ..imperative.views import ready_memory
from ..ndarray.types import ArrayLike
from ..signal_handlers import unless_signalled
from .array import ndarray
from .other_operands import NUMBERS, is_array_like, with_object


def divide(self: ndarray, other: ArrayLike) -> object:
    """``divmod(self, other)``."""
    if not is_array_like(other):
        return with_object(divmod, (self, other), False)
    return ready_quotients(self, other) or (self // other, self % other)


def divide_by(self: ndarray, other: ArrayLike) -> object:
    """``divmod(other, self)``."""
    if not is_array_like(other):
        return with_object(divmod, (self, other), True)
    return ready_quotients(other, self) or (other // self, other % self)


def ready_quotients(x: object, y: object) -> tuple[ndarray, ndarray] | None:
    """Quotient and remainder of small ready arrays and numbers; None for other operands."""
    given: list[Any] = [v if v.__class__ in NUMBERS else ready_memory(v) if v.__class__ is ndarray else None for v in (x, y)]
    if any(v is None or (v.__class__ is PLAIN and not (v.ndim and is_small(v))) for v in given):
        return None
    try:
        quotient, rest = np.divmod(*given)
    except unless_signalled(RECOVERABLE):  # the operators raise an error that says what to do
        return None
    return adopted(ndarray, quotient), adopted(ndarray, rest)
