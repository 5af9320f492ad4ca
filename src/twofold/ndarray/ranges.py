"""``mx.nd.linspace`` and ``mx.nd.eye``: evenly spaced values, and ones on a diagonal."""

import numpy as np

from ..device import chosen_device
from ..dtype import NUMPY, dtype_name
from ..errors import ParameterError
from ..imperative.array import adopted
from ..imperative.cell import HOST
from .array import NDArray
from .keywords import check_keywords
from .types import DeviceLike, DTypeLike


def linspace(start: float, stop: float, num: int, endpoint: bool = True, ctx: DeviceLike = None, dtype: DTypeLike = np.float32) -> NDArray:
    """``num`` evenly spaced values from start to stop; with ``endpoint`` the last one is stop."""
    if num < 0:
        raise ParameterError("linspace: the number of values is negative", f"num={num}", "pass 0 or more")
    values = HOST.quietly(np.linspace, start, stop, num, endpoint)
    return adopted(NDArray, HOST.quietly(values.astype, NUMPY[dtype_name(dtype)]), chosen_device(ctx))


def eye(
    N: int, M: int = 0, k: int = 0, ctx: DeviceLike = None, dtype: DTypeLike = None, *, out: NDArray | None = None, **attributes: object
) -> NDArray:
    """Ones on a diagonal, zeros elsewhere.

    Parameters
    ----------
    N, M
        Numbers of rows and columns; ``M=0`` for a square array.
    k
        The diagonal: 0 for the main one, positive above it, negative below it.
    ctx
        The device; the current one if None.
    dtype
        float32 if None.
    out, **attributes
        As for `zeros`.
    """
    if attributes:
        check_keywords(eye, attributes)
    ones = HOST.quietly(np.eye, N, M or None, k)
    new = adopted(NDArray, HOST.quietly(ones.astype, NUMPY[dtype_name("float32" if dtype is None else dtype)]), chosen_device(ctx))
    if out is None:
        return new
    out[:] = new
    return out
