"""Element-wise operations on large views that have gaps or another order of axes: what to compute instead of copying them first."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ..device import CPU
from ..imperative.cell import HOST, Content
from ..imperative.counters import COUNTERS
from ..imperative.invoke import content
from ..imperative.views import GAPS, ready_memory, view_of
from ..opdef import Op
from ..signal_handlers import unless_signalled
from .array import ndarray
from .other_operands import NUMBERS

#: Bytes from which a transposed array beside others is copied first: in tiles that takes less time than to compute from one place here and
#: one there.
TILED = 1 << 17


def below_permuted(operands: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]] | None:
    """The arrays that large operands show with their axes in one common order, beside numbers, and that order.

    An operation on transposed arrays is the transpose of the operation, which leaves the elements in the order of the operands' memory,
    as NumPy does. None if an operand is anything else.
    """
    arrays: list[Any] = []
    common = None
    for v in operands:
        if v.__class__ in NUMBERS:
            arrays.append(v)
            continue
        found = v._permuted() if v.__class__ is ndarray and v.size >= GAPS else None
        if found is None:
            return None
        under, axes = found
        if under._held is None or common not in (None, (under.shape, axes)):
            return None
        common = under.shape, axes
        # that of an array of the other dialect is seen as one of this
        arrays.append(under if under.__class__ is ndarray else view_of(ndarray, under, ()))
    return None if common is None else (arrays, common[1])


def of_views(op: Op, operands: Sequence[object]) -> Content | None:
    """The result of an operation that NumPy computes on a large view with gaps, in place: a copy of the view would take as long.

    None if there is no such view, or an operand is pending, has to be recorded, or is on a device.
    """
    arrays: list[Any] = []
    has_gaps = False
    for v in operands:
        if v.__class__ in NUMBERS:
            arrays.append(v)
            continue
        data = ready_memory(v) if isinstance(v, ndarray) else None
        if data is None:
            return None
        if not data.flags.c_contiguous:
            has_gaps = True
            if data.nbytes >= TILED and data.ndim > 1 and abs(data.strides[-1]) > abs(data.strides[-2]):  # transposed
                data = HOST.as_array(data)
        arrays.append(data)
    # operands without gaps are read where they are in every mode, and may wait to be fused
    if not has_gaps:
        return None
    try:
        found = HOST.quick(_in_row_major_order(op), *arrays)
    except unless_signalled(Exception):  # whatever it is, `invoke` raises an error that says what to do, or finds a way
        return None
    COUNTERS.inline += 1
    return content(found, CPU)


@cache
def _in_row_major_order(op: Op) -> Callable[..., Any]:
    """NumPy's ufunc of an operator, whose results have the order of axes that all contents have."""
    return partial(getattr(np, op.name), order="C")
