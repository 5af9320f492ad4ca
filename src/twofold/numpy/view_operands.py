"""Element-wise operations on large views that have gaps or another order of axes: what to compute instead of copying them first."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..config import SETTINGS
from ..device import CPU
from ..dtype import BFLOAT16, INTEGERS, holds, promote
from ..errors import DTypeError
from ..imperative.cell import ALWAYS, HOST, Content, Value, content_of
from ..imperative.counters import COUNTERS
from ..imperative.deferral import defer
from ..imperative.element import NATIVE
from ..imperative.guards import is_exposed, is_tracked, runs_inline
from ..imperative.invoke import content
from ..imperative.sites import notes_same_shape, site_runs_inline
from ..imperative.views import AXES_REVERSED, CONSTANT, GAPS, ready_memory, view_of
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
    steps = x._steps  # None or `CONSTANT` for views made by indexing
    if not steps or steps is CONSTANT or not steps[-1].op.layout.permutes:
        return None
    return x._base if len(steps) == 1 else view_of(ndarray, x._base, steps[:-1]), steps[-1].params["axes"]


def below_permuted(operands: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]] | None:
    """The arrays that large operands show with their axes in one common order, beside scalars, and that order.

    An operation on transposed arrays is the transpose of the operation, which leaves the elements in the order of the operands' memory,
    as NumPy does. None if an operand is anything else.
    """
    arrays: list[Any] = []
    common = None
    for v in operands:
        if v.__class__ in NUMBERS or v.__class__ in NATIVE or (isinstance(v, ndarray) and not v.ndim):
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


class _Operand(NamedTuple):
    """An operand: what was given, what NumPy reads in its place (None if it waits), and NumPy's view if it shows one with gaps."""

    given: Any
    array: Any
    view: np.ndarray | None


def of_views(op: Op, operands: Sequence[object]) -> Content | None:
    """The result of an operation on large views with gaps: NumPy and programs read these in place, and so no copies are made.

    None if there is no such view, or an operand has to be recorded or is on a device, or one waits and a view cannot.
    """
    found: list[_Operand] = []
    has_gaps = is_pending = False
    for v in operands:
        array = view = None
        if v.__class__ in NUMBERS:
            array = v
        elif not isinstance(v, ndarray):
            return None
        elif _is_pending(v):
            is_pending = True
        elif (array := ready_memory(v)) is None:
            return None
        elif not array.flags.c_contiguous:
            has_gaps, view = True, array
            if array.nbytes >= TILED and array.ndim > 1 and abs(array.strides[-1]) > abs(array.strides[-2]):  # transposed
                array = HOST.as_array(array)
        found.append(_Operand(v, array, view))
    # operands without gaps are read where they are in every mode, and may wait to be fused
    if not has_gaps:
        return None
    if any(o.array.__class__ is float for o in found) and any(getattr(o.array, "dtype", None) is BFLOAT16 for o in found):
        return None  # NumPy would make float32 of it
    if _is_worth_waiting(op, found, is_pending) and (waiting := _contents(found)) is not None:
        contents, shown = waiting
        return defer(op.bind(), contents, CPU, shown=shown)[0]
    if is_pending:
        return None
    try:
        result = HOST.quick(_in_row_major_order(op), *[o.array for o in found])
    except unless_signalled(Exception):  # whatever it is, `invoke` raises an error that says what to do, or finds a way
        return None
    COUNTERS.inline += 1
    return content(result, CPU)


def _is_pending(array: ndarray) -> bool:
    """Whether the content that an array has or shows waits in a window of the CPU, unrecorded."""
    v = content_of(array if array._held is not None else array._base)
    return v.__class__ is Value and v.data is None and v.device is CPU and not is_tracked(v)


def _is_worth_waiting(op: Op, operands: Sequence[_Operand], is_pending: bool) -> bool:
    """Whether an operation should wait: it is large or an operand waits, its site has issued one like it, and it cannot fail later."""
    arrays = [o.given for o in operands if o.given.__class__ not in NUMBERS]
    shape = max([a.shape for a in arrays], key=prod)  # about that of the result
    if SETTINGS.engine == "naive" or (not is_pending and (runs_inline(prod(shape)) or site_runs_inline([o.array for o in operands]))):
        return False
    try:
        dtype = promote(*[a._dtype for a in arrays], "weaki")
    except DTypeError:  # NumPy finds one of its own for bfloat16 beside others
        return False
    # NumPy looks at negative exponents, and at integers out of range
    if dtype in INTEGERS and (op.python == "pow" or not all(holds(dtype, o.given) for o in operands if o.given.__class__ is int)):
        return False
    return notes_same_shape(shape)


def _contents(operands: Sequence[_Operand]) -> tuple[list[Any], list[Value]] | None:
    """The operands of an operation that waits, and the Values that its views show parts of; None if an operand must be read now.

    A view is an input of the window like an array of its shape, so windows that read other parts have the same program.
    """
    contents: list[Any] = []
    shown: list[Value] = []
    for given, array, view in operands:
        of: Any = None
        if given.__class__ in NUMBERS:
            contents.append(given)
        elif view is None:
            of = given._capture()
            contents.append(of)
        elif array is not view:
            contents.append(Value(array))
        else:
            of = content_of(given._base) if given._held is None else None
            if of.__class__ is not Value or given._gradient is not None or not _is_in_order(view):
                return None
            shown.append(of)
            contents.append(Value(view, sharing=ALWAYS))
        if of is not None and is_exposed(of):  # it may be written at any time
            return None
    return contents, shown


def _is_in_order(data: np.ndarray) -> bool:
    """Whether no axis has a larger stride than the one before it, as NumPy orders the axes of results."""
    steps = [abs(s) for s in data.strides]
    return 0 not in steps and all(a >= b for a, b in pairwise(steps))


@cache
def _in_row_major_order(op: Op) -> Callable[..., Any]:
    """NumPy's ufunc of an operator, whose results have the order of axes that all contents have."""
    return partial(getattr(np, op.name), order="C")
