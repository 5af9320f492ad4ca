"""`NDArrayIter`: an iterator over batches of the rows of arrays."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InvalidValue, ParameterError, ShapeError, Undefined, WrongType
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import array
from ..ndarray.sparse_array import BaseSparseNDArray, CSRNDArray
from ..strictness import tolerate
from .iterator import DataBatch, DataDesc, DataIter, register_iterator
from .states import checked_state, rows_below, whole_number

LAST_BATCH = ("pad", "discard", "roll_over")


def sample_of_arrays(folder: Path) -> "NDArrayIter":
    """Five rows in batches of two, the last one padded; for the tests of iterators."""
    return NDArrayIter(np.arange(20.0).reshape(5, 4), np.arange(5.0), 2)


@register_iterator(sample=sample_of_arrays, rows=range(5))
class NDArrayIter(DataIter):
    """Iterates over batches of the rows of arrays, in memory or in files.

    Parameters
    ----------
    data, label
        An array (`NDArray`, or anything that NumPy accepts, converted to float32), a list of arrays, or a dict from names to arrays,
        all of equal length; otherwise a warning is issued, and the first array's length is used. A dict is traversed in sorted key order;
        the arrays of a list are named ``_0_data``, ``_1_data`` …. The rows of sparse arrays are made dense, batch by batch. Those of
        ``h5py.Dataset`` and ``numpy.memmap``, which are in files, are read and converted to float32 batch by batch.
    batch_size
        Number of rows in a batch.
    shuffle
        Whether to visit the rows in a new random order in each epoch, drawn from ``numpy.random``.
    last_batch_handle
        How to treat an incomplete last batch: ``"pad"`` fills it with rows from the start, ``"discard"`` drops it, ``"roll_over"``
        prepends its rows to the next epoch. For any other word it is dropped, with a warning.
    data_name, label_name
        Names of arrays without one.
    layout
        Layout of all arrays, see `DataDesc`.

    Raises
    ------
    ParameterError
        If ``batch_size`` is below 1, or there is no data.
    Undefined
        For csr matrices, unless incomplete batches are discarded.
    """

    _shown = ("num_data", "shuffle", "last_batch_handle")

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
            what = "NDArrayIter: an unknown last_batch_handle discards the last batch"
            tolerate(what, repr(last_batch_handle), f"use one of {', '.join(LAST_BATCH)}")
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ParameterError("NDArrayIter: a batch needs rows", f"batch_size={batch_size}", "pass 1 or more")
        self.data = named_arrays(data, data_name)
        self.label = [] if label is None else named_arrays(label, label_name)
        if not self.data:
            raise InvalidValue("NDArrayIter: there is no data", repr(data), "pass an array, or a list or dict of arrays")
        if last_batch_handle != "discard" and any(isinstance(x, CSRNDArray) for _, x in (*self.data, *self.label)):
            what = "`NDArrayIter` only supports ``CSRNDArray`` with `last_batch_handle` set to `discard`."
            raise Undefined(what, repr(last_batch_handle), "pass last_batch_handle='discard'")
        self.data_list = [x for _, x in (*self.data, *self.label)]
        self.num_source = len(self.data_list)
        self.num_data = self.data_list[0].shape[0]
        if any(x.shape[0] != self.num_data for x in self.data_list):
            lengths = {name: x.shape[0] for name, x in (*self.data, *self.label)}
            what = "NDArrayIter: arrays differ in length, and the first one's is used"
            tolerate(what, str(lengths), "pass the same number of rows of each", ShapeError)
        self.idx = np.arange(self.num_data)
        # the rows' order is a composition of permutations: `idx` permutes the order of the epoch before
        self._order = self.idx.copy()
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        #: The position of the current batch's first row; at first, that of a batch before the first one. Programs read it, as in
        # MXNet.
        self.cursor = -batch_size
        #: The rows left over from the last epoch, which begin this epoch's first batch. Only ``"roll_over"`` leaves any.
        self._rolled_over = self._order[:0]
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
        return [DataDesc(name, (self.batch_size, *x.shape[1:]), _described_dtype(x), self.layout) for name, x in sources]

    def __length_hint__(self) -> int:
        # rolled-over rows change the number from epoch to epoch
        full, rest = divmod(self.num_data, self.batch_size)
        return full + bool(rest and self.last_batch_handle == "pad")

    def hard_reset(self) -> None:
        """Start a new epoch at the first row, and drop rolled-over rows."""
        self._shuffle()
        self.cursor = -self.batch_size
        self._rolled_over = self._order[:0]

    def reset(self) -> None:
        """Start a new epoch."""
        # rows roll over only if the epoch was read to its incomplete batch; otherwise the next epoch starts at the first row
        rolls_over = self.last_batch_handle == "roll_over" and self.num_data - self.batch_size < self.cursor < self.num_data
        self._rolled_over = self._order[max(self.cursor, 0) :] if rolls_over else self._order[:0]
        self._shuffle()
        # negative: the first batch begins with the rolled-over rows, followed by row 0
        self.cursor = -self.batch_size - len(self._rolled_over)

    def _shuffle(self) -> None:
        """Permute the previous epoch's order. MXNet does the same, so that equal NumPy seeds give equal orders."""
        if self.shuffle:
            np.random.shuffle(self.idx)  # noqa: NPY002
            self._order = self._order[self.idx]

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end of the epoch.
        """
        # the cursor moves even at the end, as in MXNet: programs read it
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
        """The number of rows of the current batch that are padding, at its end, or rolled over, at its start."""
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        return len(self._rolled_over) if self.cursor < 0 else 0

    def state_dict(self) -> dict[str, object]:
        """As `DataIter.state_dict`, with the order of the rows if they are shuffled."""
        order = {"idx": self.idx.tolist(), "order": self._order.tolist()} if self.shuffle else {}
        return {"cursor": min(int(self.cursor), self._last_cursor), "rolled_over": self._rolled_over.tolist(), **order}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As `DataIter.load_state_dict`.

        Raises
        ------
        ParameterError
            If the state belongs to an iterator with another number of rows, or if only one of the two shuffles.
        """
        # in two steps: the least possible cursor depends on the number of rows that have rolled over
        rolled = checked_state("NDArrayIter", state, rolled_over=rows_below(self.num_data))["rolled_over"]
        if ("order" in state) != self.shuffle:
            given = f"shuffle={not self.shuffle}"
            raise ParameterError("NDArrayIter: the state of another iterator", given, "create it with the same data and shuffle")
        in_order = rows_below(self.num_data, is_order=True)
        orders = {"idx": in_order, "order": in_order} if self.shuffle else {}
        checked_state("NDArrayIter", state, cursor=whole_number(-self.batch_size - len(rolled), self._last_cursor), **orders)
        self.cursor = state["cursor"]
        self._rolled_over = np.array(state["rolled_over"], self._order.dtype)
        if self.shuffle:
            self.idx, self._order = (np.array(state[name], self._order.dtype) for name in ("idx", "order"))

    @property
    def _last_cursor(self) -> int:
        """The greatest position in a state: calls of `iter_next` after the end of an epoch move the cursor, but not the state."""
        return self.num_data + self.batch_size - 1

    def _rows(self, sources: list[tuple[str, NDArray]]) -> list[NDArray]:
        """The rows of the current batch; a view if they are contiguous and not shuffled."""
        start, stop = self.cursor, self.cursor + self.batch_size
        # of an incomplete batch, which `next` does not return, there are only the rows that are left: `getpad` counts none
        if self.last_batch_handle != "pad" and start < self.num_data:
            stop = min(stop, self.num_data)
        for name, x in sources:
            if x.shape[0] < min(stop, self.num_data):
                raise ShapeError(f"NDArrayIter: {name} has no rows {start} to {stop}", f"{x.shape[0]} rows", "pass as many rows of each")
        if not self.shuffle and start >= 0 and stop <= self.num_data:
            return [_dense_rows(x, slice(start, stop)) for _, x in sources]
        # the modulus wraps a padded batch around to the first rows, several times if the batch is larger than the data
        rolled_over = self._rolled_over if start < 0 else self._order[:0]
        rows = np.concatenate([rolled_over, self._order[np.arange(max(start, 0), stop) % self.num_data]])
        return [_dense_rows(x, rows) for _, x in sources]


def _dense_rows(x: NDArray, rows: slice | np.ndarray) -> NDArray:
    """Rows of an array, given as a slice or by their numbers. Rows of a sparse array are made dense, as in MXNet."""
    if _is_in_file(x):
        return array(_stored_rows(x, rows))
    if not isinstance(x, BaseSparseNDArray):
        return x[rows]
    if x.stype == "csr":
        # a csr array takes a slice of rows as an index, but no array of their numbers
        return (x[rows] if isinstance(rows, slice) else x.take(array(rows, dtype="int64"))).tostype("default")
    # row-sparse arrays cannot be indexed, so the whole array is made dense for each batch
    return x.tostype("default")[rows]


def _is_in_file(x: object) -> bool:
    """Whether an array is read batch by batch."""
    h5py = sys.modules.get("h5py")  # if h5py is not imported, no array is of its classes
    return isinstance(x, np.memmap) or (h5py is not None and isinstance(x, h5py.Dataset))


def _stored_rows(x: Any, rows: Any) -> np.ndarray:
    """Rows of an array in a file, given as a slice or by their numbers."""
    if isinstance(rows, slice) or isinstance(x, np.memmap):
        return np.asarray(x[rows])
    # h5py reads several rows at once only if their numbers increase without repeats
    numbers, places = np.unique(rows, return_inverse=True)
    return x[numbers][places]


def _described_dtype(x: Any) -> Any:
    """The dtype in the description of an array: for a dataset of h5py the file's, as in MXNet, though its batches are float32."""
    return np.float32 if isinstance(x, np.memmap) else x.dtype


def named_arrays(given: object, default_name: str) -> list[tuple[str, NDArray]]:
    """(name, array) pairs.

    Raises
    ------
    DTypeError
        If a value is not an array.
    """
    if isinstance(given, Mapping):
        return [(name, _array_of(given[name])) for name in sorted(given)]
    if isinstance(given, Sequence) and not isinstance(given, str) and given and not _is_row(given[0]):
        names = [default_name] if len(given) == 1 else [f"_{k}_{default_name}" for k in range(len(given))]
        return [(name, _array_of(x)) for name, x in zip(names, given, strict=True)]
    if isinstance(given, Sequence) and not isinstance(given, str) and not given:
        return []
    return [(default_name, _array_of(given))]


def _is_row(x: object) -> bool:
    """Whether a list starting with this element is the rows of a single array, not a list of arrays."""
    return isinstance(x, (int, float, np.generic))


def _array_of(x: Any) -> Any:
    if isinstance(x, Array) or _is_in_file(x):
        return x
    if isinstance(x, (str, bytes, int, float)) or x is None or (isinstance(x, (list, tuple)) and any(isinstance(i, Array) for i in x)):
        raise WrongType("NDArrayIter: not an array", type(x).__name__, "pass an NDArray, a numpy.ndarray, or a list or dict of these")
    return array(np.asarray(x))
