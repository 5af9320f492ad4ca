"""Matrix products with views: which of them BLAS reads where they are."""

from collections.abc import Callable
from functools import cache
from typing import Any

from ..device import CPU
from ..imperative.cell import HOST, wrap
from ..imperative.counters import COUNTERS
from ..imperative.guards import runs_inline
from ..imperative.invoke import content
from ..imperative.views import GAPS, ready_memory
from ..opdef import BoundOp
from ..ops.linear import matrix_product
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .array import ndarray
from .view_operands import permuted


def untransposed(x: ndarray) -> ndarray | None:
    """The matrix that a view transposes; None if it is not such a view."""
    found = None if x._held is not None else permuted(x)
    return found[0] if found is not None and found[1] == (1, 0) else None


@cache
def product_of(first: bool, second: bool) -> BoundOp:
    """The matrix product that reads the first operand, the second, or both with their last two axes exchanged."""
    return matrix_product.bind(transpose_a=first, transpose_b=second)


def unexchanged(x: ndarray) -> tuple[ndarray, bool]:
    """The array whose last two axes a large view exchanges, and True; anything else itself, and False."""
    found = permuted(x) if x._held is None and x.size >= GAPS else None
    if found is None or found[1] != (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2):
        return x, False
    return found[0], True


def by_vector(multiply: Callable[..., object], a: ndarray, b: ndarray) -> ndarray | None:
    """The product of a vector and a part of a large matrix, which BLAS reads in place: a copy would take longer than the product.

    None if there is no such part, the result is large and may wait, or an operand is pending, has to be recorded, or is on a device.
    """
    matrix: Any = a if len(a.shape) == 2 else b
    if matrix._held is not None or LISTENERS:
        return None
    first, second = ready_memory(a), ready_memory(b)
    if first is None or second is None or first.dtype != second.dtype:
        return None
    seen = first if matrix is a else second
    if seen.flags.c_contiguous:
        if not runs_inline(seen.shape[0 if matrix is a else 1]):
            return None
    # BLAS takes gaps between rows, but not within them; the stride of an axis of size 1 has no meaning
    elif seen.strides[1] != seen.itemsize or seen.shape[1] < 2:
        return None
    try:
        found = HOST.quick(multiply, first, second)
    except unless_signalled(Exception):  # whatever it is, `invoke` raises an error that says what to do, or finds a way
        return None
    COUNTERS.inline += 1
    return wrap(ndarray, content(HOST.as_array(found), CPU))
