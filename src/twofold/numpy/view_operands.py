"""Element-wise operations on large views that have gaps or another order of axes: what to compute instead of copying them first."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ..config import SETTINGS
from ..device import CPU
from ..imperative.cell import ALWAYS, HOST, Content, Value, content_of
from ..imperative.counters import COUNTERS
from ..imperative.deferral import defer
from ..imperative.guards import is_exposed, is_tracked, runs_inline
from ..imperative.invoke import content
from ..imperative.sites import repeats_shape, site_runs_inline
from ..imperative.views import AXES_REVERSED, GAPS, ready_memory, view_of
from ..opdef import Op
from ..signal_handlers import unless_signalled
from .array import ndarray
from .other_operands import NUMBERS

#: Bytes from which a transposed array beside others is copied first: in tiles that takes less time than to compute from one place here and
#: one there.
TILED = 1 << 17


def permuted(x: ndarray) -> tuple[Any, tuple[int, ...]] | None:
    """The array that a view shows with its axes in another order, and that order; None for other views and arrays."""
    if x._held is not None or x._gradient is not None:
        return None
    if x._under is not None and x._key is AXES_REVERSED:
        return x._under, tuple(range(x._seen.ndim))[::-1]
    steps = x._steps  # None for views made by indexing
    if not steps or not steps[-1].op.layout.permutes:
        return None
    return x._base if len(steps) == 1 else view_of(ndarray, x._base, steps[:-1]), steps[-1].params["axes"]


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
        found = permuted(v) if v.__class__ is ndarray and v.size >= GAPS else None
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
    """The result of an operation on large views with gaps, which a copy of them would only delay: NumPy and programs read them in place.

    None if there is no such view, or an operand has to be recorded or is on a device, or one waits and a view cannot.
    """
    arrays: list[Any] = []
    views: list[np.ndarray | None] = []
    is_pending = False
    for v in operands:
        data = view = None
        if v.__class__ in NUMBERS:
            data = v
        elif not isinstance(v, ndarray):
            return None
        elif _is_pending(v):
            is_pending = True
        elif (data := ready_memory(v)) is None:
            return None
        elif not data.flags.c_contiguous:
            view = data
            if data.nbytes >= TILED and data.ndim > 1 and abs(data.strides[-1]) > abs(data.strides[-2]):  # transposed
                data = HOST.as_array(data)
        arrays.append(data)
        views.append(view)
    # operands without gaps are read where they are in every mode, and may wait to be fused
    if not any(v is not None for v in views):
        return None
    waiting = _waiting(op, operands, arrays, views, is_pending)
    if waiting is not None or is_pending:
        return waiting
    try:
        found = HOST.quick(_in_row_major_order(op), *arrays)
    except unless_signalled(Exception):  # whatever it is, `invoke` raises an error that says what to do, or finds a way
        return None
    COUNTERS.inline += 1
    return content(found, CPU)


def _is_pending(array: ndarray) -> bool:
    """Whether the content that an array has or shows waits in a window, unrecorded."""
    v = content_of(array if array._held is not None else array._base)
    return v.__class__ is Value and v.data is None and not is_tracked(v)


def _waiting(op: Op, operands: Sequence[Any], arrays: Sequence[Any], views: Sequence[np.ndarray | None], is_pending: bool) -> Value | None:
    """The result of an operation that waits, and whose program reads the views with gaps in place; None if it should run now.

    Its node is that of an operation on arrays of the views' shapes: windows that read other parts have the same program.

    Parameters
    ----------
    operands, arrays
        Arrays or numbers, and what NumPy would read in their place; None for those that wait.
    views
        For operands with gaps NumPy's view of them, which a transposed one's array is a copy of; None for others.
    is_pending
        Whether an operand waits.
    """
    shape: tuple[int, ...] = ()
    contents: list[Any] = []
    shown: list[Value] = []
    for v, data, view in zip(operands, arrays, views, strict=True):
        if v.__class__ in NUMBERS:
            contents.append(v)
            continue
        if v.size >= prod(shape):
            shape = v.shape
        if view is None:
            of = v._capture()
            contents.append(of)
        elif data is not view:
            contents.append(Value(data))
            continue
        else:
            of: Any = content_of(v._base) if v._held is None else None
            if of.__class__ is not Value or v._gradient is not None or not _is_in_order(view):
                return None
            shown.append(of)
            contents.append(Value(view, sharing=ALWAYS))
        if is_exposed(of):  # it may be written at any time, so it is read now
            return None
    runs_now = not is_pending and (runs_inline(prod(shape)) or site_runs_inline())
    if runs_now or SETTINGS.engine == "naive" or not repeats_shape(shape):
        return None
    return defer(op.bind(), contents, CPU, shown=shown)[0]


def _is_in_order(data: np.ndarray) -> bool:
    """Whether no axis has a larger stride than the one before it, as NumPy orders the axes of results."""
    steps = [abs(s) for s in data.strides]
    return 0 not in steps and all(a >= b for a, b in pairwise(steps))


@cache
def _in_row_major_order(op: Op) -> Callable[..., Any]:
    """NumPy's ufunc of an operator, whose results have the order of axes that all contents have."""
    return partial(getattr(np, op.name), order="C")
