"""`NDArrayIter`: batches of the rows of arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..ndarray.creation import array
from .iterator import DataBatch, DataDesc, DataIter

__all__ = ["NDArrayIter"]

LAST_BATCH = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of the rows of arrays that fit into memory.

    Parameters
    ----------
    data, label
        An array (`NDArray`, or anything that NumPy makes one of, which becomes float32), a list of them, or a dict of name to array;
        all of one length. A dict's arrays come in the order of their names, a list's are named ``_0_data``, ``_1_data`` ….
    batch_size
        Number of rows of a batch.
    shuffle
        Whether each epoch goes through the rows in a new random order, drawn from ``numpy.random``.
    last_batch_handle
        What happens to rows that do not fill a batch: ``"pad"`` fills it with rows from the start, ``"discard"`` leaves them out,
        ``"roll_over"`` puts them before the next epoch's.
    data_name, label_name
        Names of arrays that are given without.
    layout
        Layout of all arrays, see `DataDesc`.

    Raises
    ------
    ParameterError
        For another ``last_batch_handle``, a batch of no rows, or no data.
    ShapeError
        If the arrays are not of one length.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
    ) -> None:
        super().__init__(batch_size)
        if last_batch_handle not in LAST_BATCH:
            raise ParameterError("NDArrayIter: unknown last_batch_handle", repr(last_batch_handle), f"use one of {', '.join(LAST_BATCH)}")
        if batch_size < 1:
            raise ParameterError("NDArrayIter: a batch needs rows", f"batch_size={batch_size}", "give 1 or more")
        self.data = _named_arrays(data, data_name)
        self.label = [] if label is None else _named_arrays(label, label_name)
        if not self.data:
            raise ParameterError("NDArrayIter: there is no data", repr(data), "give an array, a list or a dict of arrays")
        self.data_list = [x for _, x in (*self.data, *self.label)]
        self.num_source = len(self.data_list)
        self.num_data = self.data_list[0].shape[0]
        if any(x.shape[0] != self.num_data for x in self.data_list):
            lengths = {name: x.shape[0] for name, x in (*self.data, *self.label)}
            raise ShapeError("NDArrayIter: arrays differ in length", str(lengths), "give as many rows of each")
        self.idx = np.arange(self.num_data)
        self._order = self.idx.copy()
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self.cursor = -batch_size
        self._left_over = self._order[:0]
        self.reset()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of a batch's data."""
        return self._descriptions(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of a batch's labels."""
        return self._descriptions(self.label)

    def _descriptions(self, sources: list[tuple[str, NDArray]]) -> list[DataDesc]:
        return [DataDesc(name, (self.batch_size, *x.shape[1:]), x.dtype, self.layout) for name, x in sources]

    def hard_reset(self) -> None:
        """Start a new epoch at the first row, without what rolled over."""
        self._shuffle()
        self.cursor = -self.batch_size
        self._left_over = self._order[:0]

    def reset(self) -> None:
        """Start a new epoch."""
        rolls_over = self.last_batch_handle == "roll_over" and self.num_data - self.batch_size < self.cursor < self.num_data
        self._left_over = self._order[max(self.cursor, 0) :] if rolls_over else self._order[:0]
        self._shuffle()
        self.cursor = -self.batch_size - len(self._left_over)

    def _shuffle(self) -> None:
        """A new order of the rows: of those of the epoch before, as MXNet does, so that equal seeds of numpy.random give equal orders."""
        if self.shuffle:
            np.random.shuffle(self.idx)  # noqa: NPY002
            self._order = self._order[self.idx]

    def iter_next(self) -> bool:
        """Move to the next batch; whether there is one."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        is_partial = self.iter_next() and self.cursor + self.batch_size > self.num_data and self.last_batch_handle != "pad"
        if self.cursor >= self.num_data or is_partial:
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def getdata(self) -> list[NDArray]:
        """Data of the current batch."""
        return self._rows(self.data)

    def getlabel(self) -> list[NDArray]:
        """Labels of the current batch."""
        return self._rows(self.label)

    def getpad(self) -> int:
        """How many rows of the current batch come from elsewhere: in its end with ``"pad"``, in its start after a roll-over."""
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        return len(self._left_over) if self.cursor < 0 else 0

    def _rows(self, sources: list[tuple[str, NDArray]]) -> list[NDArray]:
        """Rows of the current batch; of arrays in their own order a view if they lie together."""
        start, stop = self.cursor, self.cursor + self.batch_size
        if not self.shuffle and start >= 0 and stop <= self.num_data:
            return [x[start:stop] for _, x in sources]
        left_over = self._left_over if start < 0 else self._order[:0]
        rows = np.concatenate([left_over, self._order[np.arange(max(start, 0), stop) % self.num_data]])
        return [x[rows] for _, x in sources]


def _named_arrays(given: Any, default_name: str) -> list[tuple[str, NDArray]]:
    """Pairs of name and array.

    Raises
    ------
    DTypeError
        If something is no array.
    """
    if isinstance(given, Mapping):
        return [(name, _array_of(given[name])) for name in sorted(given)]
    if isinstance(given, Sequence) and not isinstance(given, str) and given and not _is_row(given[0]):
        names = [default_name] if len(given) == 1 else [f"_{k}_{default_name}" for k in range(len(given))]
        return [(name, _array_of(x)) for name, x in zip(names, given, strict=True)]
    if isinstance(given, Sequence) and not isinstance(given, str) and not given:
        return []
    return [(default_name, _array_of(given))]


def _is_row(x: Any) -> bool:
    """Whether a list that starts with this is one array's rows, and not a list of arrays."""
    return isinstance(x, (int, float, np.generic))


def _array_of(x: Any) -> Any:
    if isinstance(x, Array):
        return x
    if isinstance(x, (str, bytes)) or x is None:
        raise DTypeError("NDArrayIter: not an array", type(x).__name__, "give NDArray, numpy.ndarray, a list of them or a dict of them")
    return array(np.asarray(x))
