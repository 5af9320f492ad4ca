"""Iterators over the batches of other iterators: `ResizeIter` changes the length of an epoch, `PrefetchingIter` reads ahead in threads."""

import atexit
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from itertools import filterfalse
from math import isinf
from numbers import Real
from queue import SimpleQueue
from threading import Thread
from typing import Any
from weakref import WeakSet, finalize

from ..device import Device, current_device
from ..errors import EngineError, InvalidValue, MXNetError
from ..ndarray.array import NDArray
from ..strictness import tolerate
from .array_iterator import sample_of_arrays
from .iterator import DataBatch, DataDesc, DataIter, Indices, describe, register_iterator
from .states import checked_state, is_state, whole_number

Names = Sequence[Mapping[str, str]]
#: Seconds that a thread has at the end of the program to finish the batch that it reads.
GRACE = 0.5
#: Seconds between looks whether the process that waits for a batch was forked meanwhile, as by a handler of signals.
LOOK = 1.0


class OneBatchAhead(DataIter):
    """An iterator whose `iter_next` fetches and stores the current batch."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            At the end.
        """
        if not self.iter_next() or self.current_batch is None:
            raise StopIteration
        return self.current_batch

    def getdata(self) -> Sequence[NDArray]:
        """Data of the current batch."""
        return self._current().data

    def getlabel(self) -> Sequence[NDArray] | None:
        """Labels of the current batch."""
        return self._current().label

    def getindex(self) -> Indices | None:
        """Indices of the current batch's rows in the dataset."""
        return self._current().index

    def getpad(self) -> int | None:
        """Number of padding rows at the end of the current batch."""
        return self._current().pad

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise MXNetError(f"{type(self).__name__}: there is no current batch", None, "call iter_next() or next() first")
        return self.current_batch


@register_iterator(sample=lambda folder: ResizeIter(sample_of_arrays(folder), 2), rows=range(4))
class ResizeIter(OneBatchAhead):
    """Wraps an iterator so that an epoch has a given number of batches.

    Parameters
    ----------
    data_iter
        The iterator. It is reset whenever it ends within an epoch.
    size
        Number of batches per epoch.
    reset_internal
        Whether `reset` also resets the wrapped iterator; otherwise the next epoch continues where this one ended.
    """

    _shown = ("size",)

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__()
        if isinstance(size, str) or (isinstance(size, Real) and not isinf(size) and size % 1 != 0):
            # such as the quotient of samples and batch size, which was a whole number in Python 2
            todo = "pass a whole number of batches, such as samples // batch_size"
            tolerate("ResizeIter: an epoch never ends if its size is not a whole number", repr(size), todo)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        self.batch_size = data_iter.batch_size
        if isinstance(data_iter, DataIter):  # iterators of users need not derive from it
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Start a new epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True

    def state_dict(self) -> dict[str, object]:
        """As `DataIter.state_dict`, with the state of the wrapped iterator."""
        return {"cur": self.cur, "data_iter": self.data_iter.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As `DataIter.load_state_dict`."""
        checked_state("ResizeIter", state, cur=whole_number(0, self.size), data_iter=is_state)
        self.data_iter.load_state_dict(state["data_iter"])
        self.cur = state["cur"]


@register_iterator(sample=lambda folder: PrefetchingIter(sample_of_arrays(folder)), rows=range(5))
class PrefetchingIter(OneBatchAhead):
    """Prefetches one batch from each of several iterators, in one thread each, and combines their arrays into one batch.

    Parameters
    ----------
    iters
        An iterator, or a list of iterators of equal length.
    rename_data, rename_label
        For each iterator a dict from its names to new ones, to avoid collisions.

    Raises
    ------
    ParameterError
        If there is no iterator, or not one dict per iterator.
    """

    def __init__(self, iters: Any, rename_data: Names | None = None, rename_label: Names | None = None) -> None:
        super().__init__()
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        self.n_iter = len(self.iters)
        for what, names in (("rename_data", rename_data), ("rename_label", rename_label)):
            if not self.n_iter or (names is not None and len(names) != self.n_iter):
                raise InvalidValue(f"PrefetchingIter: one {what} per iterator is needed", f"{self.n_iter} iterators", "pass equally many")
        self.rename_data = rename_data
        self.rename_label = rename_label
        # of a description or a (name, shape) pair alike: the shape is the second item, and its first axis is the batch's
        self.batch_size = self.provide_data[0][1][0]
        self._device = current_device()
        self._pending: list[Future[DataBatch | None]] = []
        self._start_threads()
        self._begin_epoch()

    def _start_threads(self) -> None:
        self._threads = [_Reader(x, self._device) for x in self.iters]
        self._process = os.getpid()

    def _check_process(self) -> None:
        """Start new threads in a forked process, which has none of its parent's.

        Raises
        ------
        EngineError
            If one of them was reading when the process was forked: nobody ends that read here.
        """
        if self._process == os.getpid():
            return
        if not all(future.done() for future in self._pending):
            todo = "make the iterator in the process that reads it"
            raise EngineError("PrefetchingIter: the process was forked while a batch was being read", None, todo)
        self._start_threads()

    def _begin_epoch(self) -> None:
        """Prefetch the first batch, after noting where the iterators are: later they are always a batch ahead."""
        # a batch is prefetched below, so an iterator's own state would be one batch ahead of the program
        self._batches = 0
        try:
            self._began = [x.state_dict() for x in self.iters if isinstance(x, DataIter)]
        except MXNetError:  # it does not define it
            self._began = []
        self._pending = self._fetch()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of a batch's data, under the new names."""
        return _rename([x.provide_data for x in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of a batch's labels, under the new names."""
        return _rename([x.provide_label for x in self.iters], self.rename_label)

    def _fetch(self) -> list[Future[DataBatch | None]]:
        # one thread each: the iterators' reads overlap, and no iterator is ever read by two threads
        for reader, future in zip(self._threads, self._pending, strict=False):
            reader.took(future)
        return [reader.next() for reader in self._threads]

    def _wait(self) -> None:
        """Wait for the batches that are read, but not for threads that stayed in this process's parent."""
        while not all(future.done() for future in self._pending):
            wait(self._pending, LOOK)
            self._check_process()

    def _drop_batches(self) -> None:
        """Wait for the threads, which must not read while their iterators are moved, and drop what they have read."""
        self._wait()
        for reader in self._threads:
            reader.drop()

    def reset(self) -> None:
        """Start a new epoch."""
        self._check_process()
        self._drop_batches()
        for x in self.iters:
            x.reset()
        self._begin_epoch()

    def state_dict(self) -> dict[str, object]:
        """As `DataIter.state_dict`: where the iterators were when the epoch began, and the number of batches since.

        Raises
        ------
        MXNetError
            If one of the iterators cannot tell.
        """
        if len(self._began) < self.n_iter:
            raise self._undefined("state_dict")
        return {"batches": self._batches, "iters": self._began}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As `DataIter.load_state_dict`. The batches since the beginning of the epoch are read again."""
        before, batch = self.state_dict(), self.current_batch
        checked_state("PrefetchingIter", state, batches=whole_number(), iters=self._are_states)
        try:
            self._go_to(state)
        except BaseException:
            # `DataIter.load_state_dict` promises that a state that is refused changes nothing
            self._go_to(before)
            self.current_batch = batch
            raise

    def _are_states(self, value: object) -> bool:
        return isinstance(value, (list, tuple)) and len(value) == self.n_iter and all(map(is_state, value))

    def _go_to(self, state: Mapping[str, Any]) -> None:
        self._check_process()
        self._drop_batches()
        for x, began in zip(self.iters, state["iters"], strict=True):
            x.load_state_dict(began)
        self._begin_epoch()
        for k in range(state["batches"]):
            if not self.iter_next():
                # raises the error: there are only k batches
                checked_state("PrefetchingIter", state, batches=whole_number(0, k))

    def iter_next(self) -> bool:
        """Advance to the next batch; return whether there is one.

        Raises
        ------
        MXNetError
            If the iterators differ in length or padding, or the process was forked while a batch was being read. Exceptions of an iterator
            propagate.
        """
        self._check_process()
        # waits for all before an error of one is raised: no thread may still read when `reset` is called
        self._wait()
        batches = [future.result() for future in self._pending]
        found = [batch for batch in batches if batch is not None]
        if len(found) not in (0, self.n_iter):
            raise InvalidValue("PrefetchingIter: iterators differ in length", f"{len(found)} of {self.n_iter} go on", "use equal lengths")
        if not found:
            return False
        if len({batch.pad for batch in found}) > 1:
            raise InvalidValue("PrefetchingIter: Different pad in the data batches", str([b.pad for b in found]), "use equal lengths")
        self.current_batch = DataBatch(
            [x for batch in found for x in batch.data],
            [x for batch in found for x in batch.label or ()],
            found[0].pad,
            found[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._batches += 1
        self._pending = self._fetch()
        return True


Batches = SimpleQueue[Future[DataBatch | None] | None]


class _Reader:
    """A thread that reads an iterator, one batch for each call of `next`.

    It is a daemon: one that waits for data for ever does not keep the program from ending.
    """

    def __init__(self, source: Any, device: Device) -> None:
        self._wanted: Batches = SimpleQueue()
        #: The batch that was asked for last, until `took`.
        self._asked: list[Future[DataBatch | None]] = []
        # the thread holds the queue and not `self`, whose end ends it
        self.thread = Thread(target=_read, args=(source, device, self._wanted), name="prefetch", daemon=True)
        self.end = finalize(self, self._wanted.put, None)
        self.thread.start()
        _readers.add(self)

    def next(self) -> "Future[DataBatch | None]":
        """The next batch, once it is read; None at the end. The same one until `took`."""
        if not self._asked:
            # asked for and noted by a single call of built-in functions: an interrupt between the two would lose a batch
            self._asked.extend(filterfalse(self._wanted.put, (Future(),)))
        return self._asked[0]

    def took(self, future: "Future[DataBatch | None]") -> None:
        """Note that a batch is used."""
        if self._asked and self._asked[0] is future:
            self._asked.clear()

    def drop(self) -> None:
        """Wait for the batch that was asked for, and drop it."""
        wait(self._asked)
        self._asked.clear()


_readers: "WeakSet[_Reader]" = WeakSet()


def _read(source: Any, device: Device, wanted: Batches) -> None:
    while (future := wanted.get()) is not None:
        try:
            with device:  # the current device is per thread: use the one of the thread that created the iterator
                future.set_result(source.next())
        except StopIteration:
            future.set_result(None)
        except BaseException as error:
            future.set_exception(error)
        del future  # it holds the batch


@atexit.register
def _end_all() -> None:
    """End all threads. The interpreter stops daemons wherever they are, so those that are at work get time to finish."""
    readers = list(_readers)
    for reader in readers:
        reader.end()
    for reader in readers:
        reader.thread.join(GRACE)


def _rename(descriptions: Sequence[Sequence[Any]], names: Names | None) -> list[DataDesc]:
    if names is None:
        return [each for listed in descriptions for each in listed]
    pairs = [(new, desc) for listed, new in zip(descriptions, names, strict=True) for desc in describe(listed)]
    return [DataDesc(new.get(desc.name, desc.name), desc.shape, desc.dtype, desc.layout) for new, desc in pairs]
