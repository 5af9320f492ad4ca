"""`DataLoader`: the batches of a dataset, loaded on demand or prefetched by worker processes or threads."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import inf
from numbers import Integral
from pickle import PicklingError
from typing import Any
from zlib import crc32

import numpy as np

from ...device import Device, interned
from ...errors import DTypeError, InvalidValue, ParameterError, WrongArgument
from ...extension_points import shown_as_text, shown_in_notebooks
from ...imperative.array import Array
from ...imperative.generator import numpy_state
from ...io.skipped import SkippedSamples
from ...io.states import checked_state, whole_number
from ...numpy_extension import is_np_array
from ...origin import warn
from ...strictness import tolerate
from .batchify import default_batchify_fn
from .loading import Loaded, loaded
from .processes import BatchInProgress, WorkerProcesses, can_start
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .threads import ThreadJob, WorkerThreads


class DataLoader:
    """Batches of a dataset, for training and evaluation.

    Workers are processes, for transformations written in Python, or threads, which run in parallel only while samples are read from
    files or computed by NumPy and operators, but start immediately and see what the program changes in the dataset. Processes are forked at
    the first iteration, and again after an error that ended them; their batches come back in shared memory. Random numbers that are drawn
    in a process depend on NumPy's global state when the iteration starts and on the batch, not on the number of workers. The default
    context of these processes is ``cpu()``, also where that of the program is a GPU, which no forked process can use.

    Parameters
    ----------
    dataset
        The dataset: any object with ``__getitem__`` and ``__len__``.
    batch_size
        Number of samples in a batch.
    shuffle
        Whether to visit the samples in random order.
    sampler
        The order of the samples, instead of ``shuffle``.
    last_batch
        How to treat an incomplete last batch: ``"keep"`` (if None), ``"discard"`` or ``"rollover"``.
    batch_sampler
        The batches as lists of indices, instead of the four parameters above.
    batchify_fn
        The function that collates a list of samples into a batch; `default_batchify_fn` if None.
    num_workers
        Number of workers that prefetch batches; 0 for none. A negative number counts as 0, with a warning.
    pin_memory, pin_device_id
        Whether to copy batches to page-locked memory, for fast transfer to that GPU.
    prefetch
        Number of batches to prefetch; twice the number of workers if None.
    thread_pool
        Whether workers are threads. Threads are also used where processes cannot be forked, and where processes would be spawned (see
        ``multiprocessing.set_start_method``) but the dataset or a function cannot be pickled; a warning says so.
    timeout
        Time to wait for a batch from a worker, in seconds.
    auto_reload
        Whether to start prefetching the next epoch as soon as an iteration ends.
    worker_init
        A function that each worker process calls first, with its number.
    on_bad_sample
        What to do about a sample for which the dataset raises `FormatError`, `FileAccessError` or `ShapeError`: ``"raise"`` that error, or
        ``"skip"`` the sample. The sample's batch is then smaller, and left out if it is empty. The iteration ends with a warning that says
        how many samples were skipped and names the first ones.

    Attributes
    ----------
    skipped
        The samples that were skipped in the last iteration: ``skipped.count`` and ``skipped.first``.

    Raises
    ------
    ParameterError
        If parameters contradict one another.
    EngineError
        In an iteration, if a worker takes longer than ``timeout`` or its process dies; the message names the worker and the sample. The
        next iteration has new workers. A thread that hangs does so until the program ends.
    Exception
        In an iteration, what the dataset or ``batchify_fn`` raises; a note names the worker and the sample.

    Examples
    --------
    >>> from twofold.gluon.data import ArrayDataset, DataLoader
    >>> for data, label in DataLoader(ArrayDataset([[1, 2], [3, 4], [5, 6]], [0, 1, 0]), batch_size=2):
    ...     print(data.shape, label.asnumpy())
    (2, 2) [0 1]
    (1, 2) [0]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
        worker_init: Callable[[int], object] | None = None,
        on_bad_sample: str = "raise",
    ) -> None:
        self._policy = on_bad_sample
        self.skipped = SkippedSamples(type(self).__name__, on_bad_sample)
        self._batches = _batches_of(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        batchify = default_batchify_fn if batchify_fn is None else batchify_fn
        self._load = partial(loaded, dataset, batchify=batchify, skips=self.skipped.are_wanted)
        self._pinned = interned("cpu_pinned", pin_device_id) if pin_memory else None
        if timeout <= 0:
            raise InvalidValue("timeout must be positive", str(timeout), "pass a number of seconds")
        self._timeout = timeout
        self._num_workers = _worker_count(num_workers)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else prefetch)
        self._thread_pool = thread_pool or not can_start()
        self._worker_init = worker_init
        self._workers: WorkerThreads | WorkerProcesses | None = None
        self._auto_reload = auto_reload
        self._epoch = 0
        self._place: _Place | None = None  # of the last iteration
        self._resumed: _Place | None = None  # of the next one
        # the prefetched iteration, with `auto_reload`
        self._next: Iterator[Any] | None = None
        if auto_reload:
            self.refresh()

    @property
    def _dataset(self) -> Sequence[Any]:
        """The data set. Setting it takes effect in the next iteration."""
        return self._load.args[0]

    @_dataset.setter
    def _dataset(self, dataset: Sequence[Any]) -> None:
        self._load = partial(loaded, dataset, **self._load.keywords)
        self._workers = None  # processes have the old one

    def __iter__(self) -> Iterator[Any]:
        if not self._auto_reload:
            return self._iterator()
        # Taken before the first batch: a second iteration that begins meanwhile must not share the prefetched one.
        batches, self._next = self._next or self._iterator(), None
        return self._reloading(batches)

    def _reloading(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        self.refresh()

    def __len__(self) -> int:
        return len(self._batches)

    __repr__ = shown_as_text("loader")
    _repr_html_ = shown_in_notebooks("loader")

    def refresh(self) -> None:
        """Start prefetching the batches of the next iteration."""
        self._next = self._iterator()

    def clean(self) -> None:
        """Drop the batches prefetched for the next iteration."""
        self._next = None

    def state_dict(self) -> dict[str, object]:
        """Where the iteration is, as numbers and lists that JSON can represent; after its end, where the next one starts.

        The state has the number of returned batches, and fixes the order of the samples and the random numbers in worker processes. It does
        not include NumPy's global state, which later orders depend on, the states of user-defined samplers, or samples that roll over.
        """
        place = self._place
        if place is None:
            return {"epoch": self._epoch, "batches": 0, "numpy": None}
        kind, keys, *rest = place.numpy
        return {"epoch": place.epoch, "batches": place.batches, "numpy": [kind, np.asarray(keys).tolist(), *rest]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next iteration continue where another loader of the same dataset was. Batches that it had returned are not loaded again.

        Parameters
        ----------
        state
            A result of `state_dict`.

        Raises
        ------
        ParameterError
            If it is not that of such a loader.
        """
        # samples that rolled over may have made one batch more, and a user-defined sampler may yield any number of batches
        last = len(self._batches) + 1 if isinstance(self._batches, BatchSampler) else inf
        checked_state(type(self).__name__, state, epoch=whole_number(), batches=whole_number(0, last), numpy=_is_numpy_state)
        self._epoch = state["epoch"]
        begun = state["numpy"] is not None
        self._place = self._resumed = _Place(state["epoch"], tuple(state["numpy"]), state["batches"]) if begun else None
        if self._auto_reload:
            self.refresh()

    def _iterator(self) -> Iterator[Any]:
        place = self._resumed or _Place(self._epoch, np.random.get_state())  # noqa: NPY002  (the global generator, as in MXNet)
        indices = iter(self._batches) if self._resumed is None else place.rest_of(self._batches)
        self._epoch, self._resumed = place.epoch + 1, None
        if not self._num_workers:
            return self._delivered(map(self._load, indices), place)
        workers = self._running_workers()
        numpy = is_np_array()
        if isinstance(workers, WorkerProcesses):
            submit = partial(self._in_process, workers, place.seed, count(place.batches), numpy)
        else:
            submit = partial(self._in_thread, workers, numpy)
        # One more than requested, because the awaited batch does not count as prefetched.
        return self._delivered(_Prefetching(submit, indices, self._prefetch + 1, self._timeout), place)

    def _delivered(self, batches: Iterator[Loaded], place: "_Place") -> Iterator[Any]:
        # this is a generator: it becomes the current iteration when its first batch is requested
        self._place, self.skipped = place, SkippedSamples(type(self).__name__, self._policy)
        skipped = self.skipped
        for one in batches:
            place.batches += 1
            for index, reason in one.bad:
                skipped.add(index, reason)
            # a batch without any readable sample is left out
            if one.size or not one.bad:
                skipped.any_read = True
                yield _move(one.batch, self._pinned)
        self._place = None
        skipped.report()

    def _running_workers(self) -> WorkerThreads | WorkerProcesses:
        if self._workers is None or not self._workers.are_alive:
            self._workers = self._new_workers()
        return self._workers

    def _new_workers(self) -> WorkerThreads | WorkerProcesses:
        if not self._thread_pool:
            try:
                return WorkerProcesses(self._num_workers, self._load, self._worker_init)
            except (AttributeError, TypeError, PicklingError) as error:
                self._thread_pool = True
                warn(f"DataLoader: workers are threads, since the dataset or a function cannot be pickled: {error}")
        return WorkerThreads(self._num_workers)

    def _in_process(
        self, workers: WorkerProcesses, epoch: tuple[int, ...], numbers: Iterator[int], numpy: bool, indices: list[object]
    ) -> BatchInProgress:
        return workers.submit(indices, (*epoch, next(numbers)), numpy)

    def _in_thread(self, workers: WorkerThreads, numpy: bool, indices: list[object]) -> ThreadJob:
        return workers.submit(self._load_pinned, indices, numpy)

    def _load_pinned(self, indices: list[object], began: Callable[[int], None]) -> Loaded:
        found = self._load(indices, began=began)
        found.batch = _move(found.batch, self._pinned)
        return found


class DataLoaderV1(DataLoader):
    """`DataLoader` with fewer parameters, under the name of MXNet's first one."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
    ) -> None:
        super().__init__(
            dataset, batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers, pin_memory, pin_device_id
        )


class _Prefetching(Iterator[Any]):
    """Batches in order, up to ``limit`` of them in flight."""

    def __init__(
        self, submit: Callable[[list[Any]], ThreadJob | BatchInProgress], indices: Iterator[list[Any]], limit: int, timeout: float
    ) -> None:
        self._submit, self._indices, self._timeout = submit, indices, timeout
        self._in_flight: deque[ThreadJob | BatchInProgress] = deque()
        for _ in range(limit):
            self._start()

    def _start(self) -> None:
        indices = next(self._indices, None)
        if indices is not None:
            self._in_flight.append(self._submit(indices))

    def __next__(self) -> Any:
        if not self._in_flight:
            raise StopIteration
        first = self._in_flight.popleft()
        self._start()  # before waiting, so that the workers stay busy while the consumer computes
        return first.result(self._timeout)

    def __del__(self) -> None:
        # An abandoned iteration must not keep the workers busy
        for job in self._in_flight:
            job.cancel()


def _worker_count(given: int) -> int:
    if not isinstance(given, (int, np.integer)):
        raise DTypeError("DataLoader: num_workers is not an integer", f"{given!r}", "pass the number of workers, or 0 for none")
    if given < 0:
        tolerate("DataLoader: num_workers is negative", f"{given}", "pass 0 for no workers")
    return max(int(given), 0)


def _batches_of(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Sampler | None, last_batch: str | None, batch_sampler: Any
) -> Any:
    """The batches as lists of indices."""
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ParameterError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified", None, "omit them"
            )
        return batch_sampler
    if batch_size is None:
        raise ParameterError("batch_size must be specified unless batch_sampler is specified", None, "pass batch_size")
    # DataLoader(data, labels) is a common slip of those who know other libraries
    if isinstance(batch_size, (Array, np.ndarray)) and batch_size.ndim:
        given = f"an array of shape {batch_size.shape}"
        raise WrongArgument("DataLoader: batch_size must be an integer", given, "pass data and labels as one: ArrayDataset(data, labels)")
    if not isinstance(batch_size, (Integral, Array, np.ndarray)):
        tolerate("DataLoader: batch_size must be an integer", repr(batch_size), "pass a number of samples")
    # MXNet's defaults: in order, and a last batch that may be smaller
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    elif shuffle:
        raise ParameterError("shuffle must not be specified if sampler is specified", None, "omit one of them")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _is_numpy_state(value: Any) -> bool:
    """Whether a value is None or a result of `np.random.get_state`, in which tuples may have become lists."""
    try:
        if value is not None:
            numpy_state(value)
    except ValueError:
        return False
    return True


@dataclass
class _Place:
    """Where an iteration is: its number, NumPy's global state when it began, and how many batches it has returned."""

    epoch: int
    numpy: Any
    batches: int = 0

    @property
    def seed(self) -> tuple[int, ...]:
        """The values on which the random numbers of its workers depend."""
        return crc32(np.asarray(self.numpy[1], "uint32").tobytes()), int(self.numpy[2]), self.epoch

    def rest_of(self, batches: Any) -> Iterator[list[Any]]:
        """The batches that it has not returned yet, in the order that was drawn when it began."""
        # the sampler draws from the global state: restore the iteration's first state, and put the program's state back afterwards
        now = np.random.get_state()  # noqa: NPY002
        np.random.set_state(self.numpy)  # noqa: NPY002
        try:
            return iter(list(batches)[self.batches :])
        finally:
            np.random.set_state(now)  # noqa: NPY002


def _move(batch: Any, device: Device | None) -> Any:
    """The batch with all its arrays on a device."""
    if device is None:
        return batch
    if isinstance(batch, Array):
        return batch.as_in_context(device)
    return [_move(part, device) for part in batch] if isinstance(batch, (list, tuple)) else batch
