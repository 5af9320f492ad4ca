"""Fragments that templates share: how NumPy's arrays get out of operands and into new arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..assembly import FREE, fragment
from ..config import SETTINGS
from ..dtype import BFLOAT16, NAME_OF
from ..imperative.array import Array
from ..imperative.cell import HOST, PLAIN
from ..imperative.guards import is_differentiated, is_small, plain_or_value
from ..imperative.tape import tls
from ..imperative.views import CHANGEABLE, GAPS

#: Functions that templates call often, looked up once.
quick, scalar_of, contiguous, asarray = HOST.quick, HOST.scalar, np.ascontiguousarray, np.asarray
#: The class of arrays and of their views, and that of single elements, if the front end has any.
cls: type[Array] = FREE
element: Any = FREE
#: What makes an array without a content, and an element.
new_array: Callable[[], Array] = FREE
new_element: Callable[[], Any] = FREE
#: The classes of NumPy's scalars that become elements.
native: frozenset[type] = FREE
#: Known beforehand: MXNet's convention; whether there are elements; whether NumPy's scalars become 0-d arrays instead; whether the results
#: do not depend on the operands' addresses.
legacy: bool = FREE
of_any_rank: bool = FREE
elements: bool = FREE
exact: bool = FREE


@fragment
def content(x) -> Any:
    """The result of `Viewable._operand`, without a frame for whole arrays and parts of ready memory: None for larger parts with gaps."""
    a = x._held
    if a is not None:
        pass
    elif (
        # (not ``of``, by which other threads know what a caller writes: see `writes_in_place`)
        # the root still has the content that the view was made of, and a copy of so few elements costs less than an alias
        (whole := x._of) is not None
        and whole is x._base._held
        and (a := x._seen).size < ((GAPS if a.ndim > 1 else SETTINGS.defer_elements) if exact else GAPS)
        and (whole.__class__ is PLAIN or (is_small(a) and not (is_differentiated(whole) and tls.tape is not None)))
    ):
        if a.ndim > 1 if exact else a.ndim:  # NumPy's `ascontiguousarray` would give an array without axes one
            a = contiguous(a)
    elif a is not None and whole.__class__ is PLAIN:  # a larger part of a small array
        if not a.flags.c_contiguous:
            a = None
    else:
        a = x._operand
    return a


@fragment
def part(x) -> Any:
    """NumPy's view of a part with gaps of a small array, for which `content` has given None.

    None if axes may have another order (see `view_operands`), for bfloat16, and for parts of large arrays.
    """
    return (
        gappy
        if x._of.__class__ is PLAIN
        and x._steps is None
        and ((gappy := x._seen).ndim < 2 or abs(gappy.strides[-1]) <= abs(gappy.strides[-2]))
        and gappy.dtype is not BFLOAT16
        else None
    )


@fragment
def packed(x, a) -> Any:
    """The content ``a`` of an array, or a copy of a part for which it is None."""
    return contiguous(found) if a is None and (found := part(x)) is not None else a


@fragment
def is_numpys(x, kind):
    """Whether an operand is an array of NumPy's that NumPy may compute with as it is: small, of numbers, and in row-major order."""
    return kind is PLAIN and x.size < GAPS and x.dtype in NAME_OF and x.dtype is not BFLOAT16 and x.flags.c_contiguous


@fragment
def return_array(v):
    """Return a new array around NumPy's, if it is one."""
    if v.__class__ is PLAIN:
        r = new_array()
        r._held = v
        return r


@fragment
def return_element(v):
    """Return a new element around NumPy's scalar, if it is one."""
    if v.__class__ in native:
        r = new_element()
        r._raw = v
        return r


@fragment
def return_result(v):
    """Return the result of a NumPy function as an array or element."""
    if not of_any_rank:
        return_array(v)
        if elements:
            return_element(v)
    else:  # NumPy's scalars become arrays without axes
        r = new_array()
        r._held = v if v.__class__ is PLAIN else asarray(v)
        return r


@fragment
def return_small(v):
    """Return a new array around a fresh one of NumPy's, of any size."""
    made = new_array()
    made._held = plain_or_value(v)
    if not v.ndim:
        made._key = CHANGEABLE
    return made


@fragment
def return_view(r, base, under, key, of):
    """Return a view that shows NumPy's view ``r`` of the content ``of`` of the root ``base``."""
    w = new_array()
    w._base = base
    w._under = under
    w._key = key
    w._of = of
    w._seen = r
    w._held = w._steps = w._gradient = None
    return w
