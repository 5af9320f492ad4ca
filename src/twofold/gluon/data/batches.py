"""Collates samples into batches."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ... import ndarray as nd
from ...dtype import NAME_OF
from ...errors import DTypeError
from ...imperative.array import Array
from ...imperative.invoke import host_of
from ..numpy_arrays import as_active_class, as_numpy, has_numpy

__all__ = ["default_batchify_fn", "default_mp_batchify_fn"]

#: An array, or nested lists of arrays for samples that are tuples.
Batch: TypeAlias = "Array | list[Batch]"


def default_batchify_fn(data: Sequence[object]) -> Batch:
    """Collate samples into a batch on the CPU.

    Parameters
    ----------
    data
        The samples: arrays of equal shape, numbers, or tuples of these.

    Returns
    -------
    NDArray or list
        The samples stacked along a new first axis; for tuples, a list with one array per element. They are arrays of `mx.np` if a
        sample contains one or ``npx.set_np`` is in effect.

    Raises
    ------
    DTypeError
        If the samples are anything else, or arrays of different shapes.
    """
    batch = _stack(data)
    return as_numpy(batch) if has_numpy(data[:1]) else as_active_class(batch)


def _stack(data: Sequence[Any]) -> Batch:
    """The samples as a batch of arrays of `mx.nd`."""
    if isinstance(data[0], tuple):
        return [_stack(part) for part in zip(*data, strict=True)]
    # Collated on the host and transferred once, instead of one small copy per sample.
    try:
        rows = np.stack([host_of(x) if isinstance(x, Array) else np.asarray(x) for x in data])
    except ValueError as error:
        raise _CannotStack(
            "DataLoader: cannot stack the samples", str(error), "use samples of equal shape, or pass a batchify_fn"
        ) from None
    if rows.dtype not in NAME_OF:
        kinds = ", ".join(sorted({type(x).__name__ for x in data}))
        raise _CannotStack(
            "DataLoader: cannot stack the samples", f"samples of types {kinds}", "use arrays or numbers, or pass a batchify_fn"
        )
    return nd.array(rows, dtype=rows.dtype)


#: Workers are threads and share memory, so their batches are collated the same way.
default_mp_batchify_fn = default_batchify_fn


class _CannotStack(DTypeError, KeyError):
    """Samples that do not form an array, for whose type MXNet raises KeyError."""
