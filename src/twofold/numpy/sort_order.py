"""Functions of ``twofold.np`` that sort elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..device import CPU
from ..dtype import has_nan
from ..errors import ParameterError, own_error
from ..imperative import trace
from ..imperative.cell import HOST, wrap
from ..imperative.counters import COUNTERS
from ..imperative.invoke import content, host_of
from ..ndarray.types import ArrayLike
from ..ops import ordering
from .array import ndarray
from .creation import operand
from .indexing import memory_of
from .reductions import run


def _descends() -> bool:
    options: dict[str, Any] = {"descending": True}
    try:
        np.sort(np.empty(0), **options)
    except TypeError:
        return False
    return True


#: Whether NumPy sorts in descending order too, as it does from 2.5 on.
DESCENDS = _descends()


def options_of(stable: bool | None, descending: bool) -> dict[str, Any]:
    """The options of NumPy's `sort`, of which those before 2.5 do not know ``descending``."""
    return {"stable": stable, "descending": True} if descending and DESCENDS else {"stable": stable}


def is_numpys(x: ndarray, descending: bool) -> bool:
    """Whether NumPy can sort elements of an array's dtype in this direction."""
    return x.dtype.kind in "biuf" and (DESCENDS or not descending)


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> ndarray:
    """The elements sorted along an axis (flattened if None), by NumPy's algorithm for the ``kind`` unless it is recorded or on a device.

    With ``descending`` the largest element comes first, and NaN last all the same. NumPy has it from 2.5 on.

    Raises
    ------
    ParameterError
        If ``order`` is given: arrays have no fields.
    """
    x, axis = operand(a), _sortable(axis, order)
    memory = memory_of(x) if is_numpys(x, descending) else None
    if memory is not None:
        try:
            named: Any = kind  # of any text, which NumPy refuses
            found = np.sort(memory, axis, named, **options_of(stable, descending))
        except np.exceptions.AxisError:
            return run(ordering.sort_axis, x, axis=axis)  # its error says what to do
        except ValueError as error:
            raise own_error("sort: the kind is not NumPy's", error) from error
        COUNTERS.inline += 1
        return wrap(ndarray, content(HOST.as_array(found), CPU))
    _sorted(np.sort, np.empty(0), -1, kind, stable, descending)  # rejects the options that NumPy rejects
    if descending and has_nan(x._dtype):
        return -run(ordering.sort_axis, -x, axis=axis)
    return run(ordering.sort_axis, x, axis=axis, is_ascend=not descending)


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> ndarray:
    """The indices that sort the elements along an axis; parameters as for `sort`. On a device the order of equal elements is kept."""
    x, axis = operand(a), _sortable(axis, order)
    if x.context is not CPU or not is_numpys(x, descending) or trace.is_followed(x):
        _sorted(np.argsort, np.empty(0), -1, kind, stable, descending)
        if descending and has_nan(x._dtype):
            return run(ordering.argsort_axis, -x, axis=axis, dtype="int64")
        return run(ordering.argsort_axis, x, axis=axis, is_ascend=not descending, dtype="int64")
    COUNTERS.inline += 1
    return wrap(ndarray, content(_sorted(np.argsort, host_of(x), axis, kind, stable, descending), CPU))


def _sorted(
    function: Callable[..., np.ndarray], memory: np.ndarray, axis: int | None, kind: object, stable: bool | None, descending: bool
) -> np.ndarray:
    try:
        return function(memory, axis, kind, **options_of(stable, descending))
    except (ValueError, TypeError) as error:
        raise own_error(f"{function.__name__}: NumPy refuses", error) from error


def _sortable(axis: int | None, order: object) -> int | None:
    if order is not None:
        raise ParameterError("Cannot specify order when the array has no fields.", repr(order), "leave order out")
    return axis
