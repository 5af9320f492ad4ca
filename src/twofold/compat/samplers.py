"""The operator behind samplers of negative classes, under the name by which scripts call it in ``mx.nd._internal``."""

import math

import numpy as np

from .. import ndarray as nd
from ..errors import InvalidValue
from ..ndarray import NDArray

__all__: list[str] = []


def _sample_unique_zipfian(range_max: int, shape: tuple[int, int]) -> tuple[NDArray, NDArray]:
    """Rows of distinct classes, drawn from P(k) = log((k + 2) / (k + 1)) / log(range_max + 1).

    Parameters
    ----------
    range_max
        The number of classes.
    shape
        Numbers of rows and of classes in a row.

    Returns
    -------
    samples : NDArray
        int64 of that shape.
    num_tries : NDArray
        int64 (rows,): how many classes were drawn until a row was complete.
    """
    rows, size = shape
    if size > range_max:
        raise InvalidValue("_sample_unique_zipfian: there are not so many classes", f"{size} of {range_max}", "ask for fewer")
    found = [_distinct(range_max, size) for _ in range(rows)]
    classes = np.array([row for row, _ in found], np.int64).reshape(rows, size)
    return nd.array(classes, dtype="int64"), nd.array([tries for _, tries in found], dtype="int64")


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
