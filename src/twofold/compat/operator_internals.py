"""The operators behind functions of `mx.image` and behind samplers of classes, under the names by which scripts call them."""

import math
from collections.abc import Sequence

import numpy as np

from .. import ndarray as nd
from ..errors import InvalidValue
from ..image.functions import imdecode as _cvimdecode
from ..image.functions import imread as _cvimread
from ..image.functions import method_of
from ..imperative.array import Array
from ..ndarray import NDArray

__all__ = ["_cvimdecode", "_cvimread", "cvimdecode", "cvimread"]


def cvimdecode(buf: bytes | NDArray, flag: int = 1, to_rgb: bool | int = True) -> Array:
    """`mx.image.imdecode` with a result of ``mx.np``."""
    return _cvimdecode(buf, flag, to_rgb).as_np_ndarray()


def cvimread(filename: str, flag: int = 1, to_rgb: bool | int = True) -> Array:
    """`mx.image.imread` with a result of ``mx.np``."""
    return _cvimread(filename, flag, to_rgb).as_np_ndarray()


def _get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """The interpolation from 0 to 4 that a number means for (old height, old width, new height, new width). Scripts call it."""
    return method_of(interp, sizes)


def _sample_unique_zipfian(range_max: int, shape: tuple[int, int]) -> list[NDArray]:
    """Rows of distinct classes, drawn from P(k) = log((k + 2) / (k + 1)) / log(range_max + 1).

    Parameters
    ----------
    range_max
        The number of classes.
    shape
        Numbers of rows and of classes in a row.

    Returns
    -------
    list of NDArray
        The classes, int64 of that shape; and how many were drawn until each row was complete, int64 (rows,).
    """
    rows, size = shape
    if size > range_max:
        raise InvalidValue("_sample_unique_zipfian: there are not so many classes", f"{size} of {range_max}", "ask for fewer")
    found = [_distinct(range_max, size) for _ in range(rows)]
    classes = np.array([row for row, _ in found], np.int64).reshape(rows, size)
    return [nd.array(classes, dtype="int64"), nd.array([tries for _, tries in found], dtype="int64")]


def _distinct(range_max: int, size: int) -> tuple[list[int], int]:
    """Distinct classes in the order in which they were drawn, and the number of draws."""
    seen: dict[int, None] = {}
    tries = 0
    while len(seen) < size:
        # many at once: a call of the sampler costs as much as hundreds of its numbers
        drawn = nd.random.uniform(0, math.log(range_max + 1), shape=(max(64, 2 * size),), dtype="float64").asnumpy()
        for k in (np.exp(drawn) - 1).astype(np.int64) % range_max:
            tries += 1
            seen.setdefault(int(k))
            if len(seen) == size:
                break
    return list(seen), tries
