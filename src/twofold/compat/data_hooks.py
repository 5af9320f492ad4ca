"""The private methods of datasets and iterators that libraries override, called at MXNet's moments; see `dispatch`."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from threading import Thread

import numpy as np

from .. import ndarray as nd
from ..gluon.data.dataset import Dataset, _LazyTransformDataset, _SampledDataset, _TransformFirstClosure  # noqa: F401  (libraries make them)
from ..gluon.data.sampler import FilterSampler
from ..gluon.data.vision.datasets import Folder, _DownloadedDataset
from ..io.array_iterator import NDArrayIter, _dense_rows
from ..io.iterator import DataBatch
from ..io.wrappers import PrefetchingIter
from ..ndarray.array import NDArray
from .array_state import adopt
from .overriding import dispatch

__all__: list[str] = []

#: Named arrays of an iterator.
Sources = Sequence[tuple[str, NDArray]]


class FolderCalls(_DownloadedDataset):
    """A dataset whose ``_get_data`` may write files: its folder is there."""

    def _folder_of(self, root: Folder) -> Folder:
        # subclasses join paths to it, which do not expand it
        folder = os.path.expanduser(root)
        os.makedirs(folder, exist_ok=True)
        return folder


class _FilteredDataset(_SampledDataset):
    """The samples for which a function returns true."""

    def __init__(self, dataset: Dataset, fn: Callable[[object], object]) -> None:
        super().__init__(dataset, FilterSampler(fn, dataset))


class _IsRead:
    """Whether a batch is read, or only waited for, as an event."""

    def __init__(self, batch: "Future[DataBatch | None]", wanted: bool) -> None:
        self._batch, self._wanted = batch, wanted

    def is_set(self) -> bool:
        """Whether it is."""
        return self._batch.done() is self._wanted

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the batch is read; return `is_set`."""
        wait([self._batch], timeout)
        return self.is_set()


class PrefetchingState(PrefetchingIter):
    """State of `PrefetchingIter`."""

    #: Whether the threads run, until a program says that they are to end.
    started = True

    @property
    def next_batch(self) -> list[DataBatch | None]:
        """The batches that have been read ahead; None where an iterator is still read, or at its end."""
        return [batch.result() if batch.done() else None for batch in self._pending]

    @property
    def data_ready(self) -> list[_IsRead]:
        """For each iterator an event: its next batch is read."""
        return [_IsRead(batch, True) for batch in self._pending]

    @property
    def data_taken(self) -> list[_IsRead]:
        """For each iterator an event: its next batch is being read."""
        return [_IsRead(batch, False) for batch in self._pending]

    @property
    def prefetch_threads(self) -> list[Thread]:
        """The threads."""
        return [reader.thread for reader in self._threads]


class BatchMethods(NDArrayIter):
    """How MXNet's iterator collects a batch, step by step."""

    @property
    def _cache_data(self) -> list[NDArray] | None:
        """The rows of the data that have rolled over from the last epoch; None without any."""
        return self._left_over(self.data)

    @property
    def _cache_label(self) -> list[NDArray] | None:
        """The rows of the labels that have rolled over."""
        return self._left_over(self.label)

    def _left_over(self, sources: Sources) -> list[NDArray] | None:
        return [_dense_rows(x, self._rolled_over) for _, x in sources] if len(self._rolled_over) else None

    def _shuffle_data(self) -> None:
        """Permute the rows."""
        np.random.shuffle(self.idx)  # noqa: NPY002
        self._order = self._order[self.idx]

    def _getdata(self, data_source: Sources, start: int | None = None, end: int | None = None) -> list[NDArray]:
        """Rows of the data or the labels, in the order of the epoch."""
        assert start is not None or end is not None, "should at least specify start or end"
        # a subclass that shuffles the arrays themselves leaves the order as it was
        rows = slice(start or 0, self.num_data if end is None else end)
        return [_dense_rows(x, self._order[rows] if self.shuffle else rows) for _, x in data_source]

    def _concat(self, first_data: Sequence[NDArray], second_data: Sequence[NDArray]) -> list[NDArray]:
        """Arrays of rows followed by others."""
        return [nd.concat(first, second, dim=0) for first, second in zip(first_data, second_data, strict=True)]

    def _tile(self, data: Sequence[NDArray], repeats: int) -> list[NDArray]:
        """Arrays of rows repeated."""
        return [nd.tile(x, reps=(repeats, *[1] * (x.ndim - 1))) for x in data]

    def _batchify(self, data_source: Sources) -> list[NDArray]:
        """The current batch of the data or the labels."""
        assert self.cursor < self.num_data, "DataIter needs reset."
        end = self.cursor + self.batch_size
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            kept = self._left_over(data_source)
            first = self._getdata(data_source, end=end)
            return first if kept is None else self._concat(kept, first)
        # a whole batch, as most are
        if end <= self.num_data:
            return self._getdata(data_source, self.cursor, end)
        rest = self._getdata(data_source, start=self.cursor)
        if self.last_batch_handle != "pad":
            return rest
        # more rows than there are in all: the data again, as often as fits
        missing = end - self.num_data
        if missing > self.num_data:
            repeats, missing = divmod(missing, self.num_data)
            rest = self._concat(rest, self._tile(self._getdata(data_source, end=self.num_data), repeats))
        return self._concat(rest, self._getdata(data_source, end=missing)) if missing else rest


class BatchCalls(BatchMethods):
    """Calls them."""

    def _shuffle(self) -> None:
        if self.shuffle:
            self._shuffle_data()

    def _rows(self, sources: Sources) -> list[NDArray]:
        return self._batchify(sources)


adopt(NDArrayIter, BatchMethods)
adopt(PrefetchingIter, PrefetchingState)
dispatch(NDArrayIter, ("_shuffle_data", "_batchify", "_getdata", "_concat", "_tile"), BatchCalls)
dispatch(_DownloadedDataset, ("_get_data",), FolderCalls)
