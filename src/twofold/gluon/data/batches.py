"""Samples made into batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...dtype import NAME_OF
from ...errors import DTypeError
from ...imperative.array import Array
from ...imperative.invoke import host_of
from ..numpy_arrays import as_numpy, as_wanted, has_numpy

__all__ = ["default_batchify_fn", "default_mp_batchify_fn"]


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Samples as one batch, on the CPU.

    Parameters
    ----------
    data
        The samples: arrays of one shape, numbers, or tuples of these.

    Returns
    -------
    NDArray or list
        The samples stacked along a new first axis; of tuples, a list with one array for each part. They are arrays of `mx.np` if
        there are such in a sample, or ``npx.set_np`` asks for them.

    Raises
    ------
    DTypeError
        If the samples are something else, or arrays of different shapes.
    """
    made = _stacked(data)
    return as_numpy(made) if has_numpy(data[:1]) else as_wanted(made)


def _stacked(data: Sequence[Any]) -> Any:
    """Samples as a batch of arrays of `mx.nd`."""
    if isinstance(data[0], tuple):
        return [_stacked(part) for part in zip(*data, strict=True)]
    try:
        rows = np.stack([host_of(x) if isinstance(x, Array) else np.asarray(x) for x in data])
    except ValueError as error:
        raise _NoBatch("DataLoader: the samples do not make a batch", str(error), "give samples of one shape, or a batchify_fn") from None
    if rows.dtype not in NAME_OF:
        kinds = ", ".join(sorted({type(x).__name__ for x in data}))
        raise _NoBatch(
            "DataLoader: the samples do not make a batch", f"samples of types {kinds}", "give arrays or numbers, or a batchify_fn"
        )
    return nd.array(rows, dtype=rows.dtype)


#: Workers are threads, which share memory: their batches are made in the same way.
default_mp_batchify_fn = default_batchify_fn


class _NoBatch(DTypeError, KeyError):
    """Samples that make no array; MXNet raises a KeyError for their type."""
