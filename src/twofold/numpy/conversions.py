"""Conversions that leave an array alone if its memory is as asked, so that writes to the result are seen in it."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..ndarray.types import ArrayLike, DeviceLike, DTypeLike
from .array import ndarray
from .creation import Order, asarray


def asanyarray(
    a: ArrayLike, dtype: DTypeLike = None, order: Order = None, *, device: DeviceLike = None, copy: bool | None = None
) -> ndarray:
    """As `asarray`, but arrays of classes derived from NumPy's, such as matrices, are left to NumPy."""
    if isinstance(a, np.ndarray) and a.__class__ is not np.ndarray:
        return cast("ndarray", np.asanyarray(a, dtype, order, copy=copy))
    return asarray(a, dtype, order, device=device, copy=copy)


def asfortranarray(a: ArrayLike, dtype: DTypeLike = None) -> ndarray:
    """The array itself if it is in column-major order, else a copy, which is in row-major order as all arrays that are not views."""
    return asarray(a, dtype, "F")


def require(a: ArrayLike, dtype: DTypeLike = None, requirements: str | Sequence[str] | None = None, *, like: object = None) -> ndarray:
    """The array itself if it meets the requirements, else a copy.

    Parameters
    ----------
    a
        An array or nested sequence.
    dtype
        The data type; that of ``a`` if None.
    requirements
        NumPy's names of flags: ``"C"``, ``"F"``, ``"A"``, ``"W"``, ``"O"`` and ``"E"``.
    like
        Has no effect.

    Returns
    -------
    ndarray
        In row-major order if it is a copy.
    """
    names: Any = requirements
    np.require(np.empty(0), None, names)  # raises the errors of names
    asked = {name[0].upper() for name in names or ()}
    found = asanyarray(a, dtype, next((order for order in ("C", "F") if order in asked), None))
    if not isinstance(found, ndarray):
        return cast("ndarray", np.require(found, None, names))
    fits = ("W" not in asked or found.flags.writeable) and ("O" not in asked or found.base is None)
    return found if fits else found.copy()
