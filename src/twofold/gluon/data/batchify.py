"""Functions that collate samples into batches, for the ``batchify_fn`` of a `DataLoader`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ... import ndarray as nd
from ...device import current_device
from ...dtype import NAME_OF
from ...errors import DTypeError, InvalidValue, ShapeError
from ...imperative.array import Array, adopted
from ...imperative.invoke import host_of
from ...numpy_extension import is_np_array
from ..numpy_arrays import as_active_class, has_numpy, into_numpy

__all__ = ["Append", "AsList", "Group", "Pad", "Stack", "default_batchify_fn", "default_mp_batchify_fn", "stacked_rows"]

#: Types of indices that samplers yield.
INTEGERS = {int, np.int32, np.int64}
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
    return _of_the_samples_class(_stack(data), data)


#: Worker processes put batches into shared memory anyway, so their batches are collated in the same way.
default_mp_batchify_fn = default_batchify_fn


class Stack:
    """Stacks samples along a new first axis, like `default_batchify_fn`.

    Examples
    --------
    >>> from twofold.gluon.data import batchify
    >>> batchify.Stack()([[1, 2], [3, 4], [5, 6]]).shape
    (3, 2)
    """

    def __call__(self, data: Sequence[object]) -> Batch:
        """The batch."""
        return default_batchify_fn(data)


class Pad:
    """Stacks samples of different shapes, padded at the end of each axis to the size of the largest.

    Parameters
    ----------
    val
        The number to pad with.
    dtype
        Dtype of the batch; that of the samples if None.
    round_to
        The padded sizes are multiples of this number; None for the largest sizes themselves.

    Raises
    ------
    ParameterError
        If ``round_to`` is not positive.
    ShapeError
        When called, if the samples differ in their number of axes.

    Examples
    --------
    >>> from twofold.gluon.data import batchify
    >>> batchify.Pad(val=-1)([[1, 2, 3], [4]]).asnumpy().tolist()
    [[1, 2, 3], [4, -1, -1]]
    """

    def __init__(self, val: float = 0, dtype: Any = None, round_to: int | None = None) -> None:
        if round_to is not None and round_to < 1:
            raise InvalidValue("Pad: round_to must be positive", str(round_to), "pass a number of elements, or None")
        self._value, self._dtype, self._multiple = val, dtype, round_to or 1

    def __call__(self, data: Sequence[object]) -> Batch:
        """The padded batch."""
        rows = [_host(x) for x in data]
        ranks = sorted({row.ndim for row in rows})
        if len(ranks) != 1:
            raise ShapeError("Pad: samples of different numbers of axes", f"{ranks}", "reshape them to one number")
        # along each axis, the largest sample's
        sizes = np.max([row.shape for row in rows], 0)
        shape = [math.ceil(n / self._multiple) * self._multiple for n in sizes.tolist()]
        batch = np.full([len(rows), *shape], self._value, np.result_type(*rows) if self._dtype is None else self._dtype)
        for k, row in enumerate(rows):
            batch[(k, *map(slice, row.shape))] = row
        return _of_the_samples_class(_adopted(batch, data), data)


class Append:
    """Keeps samples as a list of arrays, to process them one at a time.

    Parameters
    ----------
    expand
        Whether each array gets an axis of size 1 for the batch.
    batch_axis
        The position of that axis.

    Examples
    --------
    >>> from twofold.gluon.data import batchify
    >>> [a.shape for a in batchify.Append()([[1, 2, 3], [4]])]
    [(1, 3), (1, 1)]
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0) -> None:
        self._expand, self._axis = expand, batch_axis

    def __call__(self, data: Sequence[object]) -> list[Batch]:
        """The arrays."""
        rows = [_host(x) for x in data]
        parts = [_array(np.expand_dims(row, self._axis) if self._expand else row, data) for row in rows]
        return _of_the_samples_class(parts, data)


class Group:
    """Collates each element of samples that are tuples with a function of its own.

    Parameters
    ----------
    fn
        The function of the first element, or a list of the functions of all elements.
    *args
        The functions of the other elements.

    Raises
    ------
    ParameterError
        When called, if the samples have another number of elements than there are functions.

    Examples
    --------
    >>> from twofold.gluon.data import batchify
    >>> words, labels = batchify.Group(batchify.Pad(), batchify.Stack())([([1, 2, 3], 0), ([4], 1)])
    >>> words.shape, labels.shape
    ((2, 3), (2,))
    """

    def __init__(self, fn: Any, *args: Callable[[list[Any]], Any]) -> None:
        self._functions = tuple(fn) if isinstance(fn, (list, tuple)) else (fn, *args)
        if not all(map(callable, self._functions)):
            raise DTypeError("Group: not a function", f"{self._functions}", "pass a function for each element of a sample")

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """The batches of the elements."""
        sizes = {len(sample) for sample in data}
        if sizes != {len(self._functions)}:
            raise InvalidValue(
                f"Group: {len(self._functions)} functions for samples of {sorted(sizes)} elements", None, "pass one for each element"
            )
        return [function(list(part)) for function, part in zip(self._functions, zip(*data, strict=True), strict=True)]


class AsList:
    """Keeps samples as a list.

    Examples
    --------
    >>> from twofold.gluon.data import batchify
    >>> batchify.AsList()(["a", "b"])
    ['a', 'b']
    """

    def __call__(self, data: Sequence[object]) -> list[object]:
        """The samples."""
        return list(data)


def _of_the_samples_class(batch: Any, data: Sequence[object]) -> Any:
    # only the first sample is checked: a dataset returns one kind of arrays
    return into_numpy(batch, data) if has_numpy(data[:1]) or is_np_array() else batch


def _stack(data: Sequence[Any]) -> Batch:
    """The samples as a batch of arrays of `mx.nd`."""
    if isinstance(data[0], tuple):
        return [_stack(part) for part in zip(*data, strict=True)]
    # Collated on the host and transferred once, instead of one small copy per sample.
    try:
        rows = np.stack([_host(x) for x in data])
    except ValueError as error:
        todo = "use samples of equal shape, or pass a batchify_fn; data and labels are one dataset as ArrayDataset(data, labels)"
        raise CannotStack(f"DataLoader: cannot stack the samples: {error}", None, todo) from None
    return _adopted(rows, data)


def stacked_rows(arrays: Sequence[Any], indices: Sequence[Any]) -> Batch | None:
    """The batch that `default_batchify_fn` makes of samples of an `ArrayDataset`, with one copy per array instead of one per sample.

    Parameters
    ----------
    arrays
        Its arrays.
    indices
        The samples.

    Returns
    -------
    The batch. None if an array is neither a NumPy array nor an array of `mx.nd` on the CPU, if its dtype is not one that
    batches have, or if an index is not an integer in range.
    """
    # exact types: a subclass may index differently
    rows = [host_of(x) if type(x) is nd.NDArray and x.context.is_host else x for x in arrays]
    hosts = [x for x in rows if type(x) is np.ndarray and x.dtype in NAME_OF]
    if len(hosts) < len(rows):
        return None
    if len(indices) == 0 or not set(map(type, indices)) <= INTEGERS:
        return None
    try:
        batch = [_adopted(x.take(indices, axis=0), ()) for x in hosts]
    # an index out of range: loading the samples one by one raises the dataset's own error
    except IndexError:
        return None
    return as_active_class(batch[0] if len(batch) == 1 else batch)


def _host(x: object) -> np.ndarray:
    return host_of(x) if isinstance(x, Array) else np.asarray(x)


def _array(row: np.ndarray, data: Sequence[object]) -> Array:
    """A copy of a NumPy array as an array of `mx.nd`."""
    return _adopted(row.copy(), data)


def _adopted(batch: np.ndarray, data: Sequence[object]) -> Array:
    """A new NumPy array as an array of `mx.nd`, which takes over its memory."""
    if batch.dtype not in NAME_OF:
        kinds = ", ".join(sorted({type(x).__name__ for x in data}))
        raise CannotStack(
            "DataLoader: cannot stack the samples", f"samples of types {kinds}", "use arrays or numbers, or pass a batchify_fn"
        )
    return adopted(nd.NDArray, batch, current_device())


class CannotStack(DTypeError, KeyError):
    """Raised for samples that do not form an array; MXNet raises KeyError for their type."""
