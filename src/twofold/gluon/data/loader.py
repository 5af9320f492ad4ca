"""`DataLoader`: the batches of a dataset, loaded on demand or prefetched by threads."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import Any

from ...device import Device
from ...errors import EngineError, InvalidValue, ParameterError
from ...imperative.array import Array
from ...numpy_extension import is_np_array, np_array
from .batches import default_batchify_fn
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader"]


class DataLoader:
    """Batches of a dataset, for training and evaluation.

    Workers are always threads of this process: they share memory, start immediately, and run in parallel while samples are read
    from files or computed by NumPy and operators, which release the global interpreter lock.

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
        Number of threads that prefetch batches; 0 for none.
    pin_memory, pin_device_id
        Whether to copy batches to page-locked memory, for fast transfer to that GPU.
    prefetch
        Number of batches to prefetch; twice the number of workers if None.
    thread_pool
        Has no effect: workers are always threads.
    timeout
        Time to wait for a batch from a worker, in seconds.
    auto_reload
        Whether to start prefetching the next epoch as soon as an iteration ends.

    Raises
    ------
    ParameterError
        If parameters contradict one another.

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
    ) -> None:
        self._dataset = dataset
        self._batches = _batches_of(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._batchify = default_batchify_fn if batchify_fn is None else batchify_fn
        self._pinned = Device("cpu_pinned", pin_device_id) if pin_memory else None
        if timeout <= 0:
            raise InvalidValue("timeout must be positive", f"given {timeout}", "pass a number of seconds")
        self._timeout = timeout
        self._num_workers = max(num_workers, 0)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else prefetch)
        self._pool = ThreadPoolExecutor(self._num_workers, "DataLoader") if self._num_workers else None
        self._auto_reload = auto_reload
        self._next: Iterator[Any] | None = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        if not self._auto_reload:
            return self._iterator()
        # Taken before the first batch is: a second iteration begun meanwhile must not share the prefetched one.
        batches, self._next = self._next or self._iterator(), None
        return self._reloading(batches)

    def _reloading(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        self.refresh()

    def __len__(self) -> int:
        return len(self._batches)

    def refresh(self) -> None:
        """Start prefetching the batches of the next iteration."""
        self._next = self._iterator()

    def clean(self) -> None:
        """Drop the batches prefetched for the next iteration."""
        self._next = None

    def _iterator(self) -> Iterator[Any]:
        if self._pool is None:
            return (self._batch(indices) for indices in self._batches)
        # One more than asked for: the one being waited for is not prefetched.
        return _Prefetching(
            self._pool, partial(self._batch_in_worker, is_np_array()), iter(self._batches), self._prefetch + 1, self._timeout
        )

    def _batch_in_worker(self, numpy: bool, indices: list[int]) -> Any:
        """A batch loaded by a thread. ``npx.set_np`` is per thread, so its state is carried over from the consumer."""
        with np_array(numpy):
            return self._batch(indices)

    def _batch(self, indices: list[int]) -> Any:
        return _move(self._batchify([self._dataset[k] for k in indices]), self._pinned)


class _Prefetching(Iterator[Any]):
    """Batches in order, up to ``limit`` of them in flight."""

    def __init__(
        self, pool: ThreadPoolExecutor, load: Callable[[list[int]], Any], indices: Iterator[list[int]], limit: int, timeout: float
    ) -> None:
        self._pool, self._load, self._indices, self._timeout = pool, load, indices, timeout
        self._in_flight: deque[Future[Any]] = deque()
        for _ in range(limit):
            self._start()

    def _start(self) -> None:
        indices = next(self._indices, None)
        if indices is not None:
            self._in_flight.append(self._pool.submit(self._load, indices))

    def __next__(self) -> Any:
        if not self._in_flight:
            raise StopIteration
        first = self._in_flight.popleft()
        self._start()  # before waiting, so that the workers stay busy while the consumer computes
        try:
            return first.result(self._timeout)
        except FutureTimeoutError:
            raise EngineError(
                f"DataLoader: a worker took longer than {self._timeout} seconds", None, "set a larger timeout, or more workers"
            ) from None

    def __del__(self) -> None:
        # An abandoned iteration must not keep the pool busy
        for future in self._in_flight:
            future.cancel()


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
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    elif shuffle:
        raise ParameterError("shuffle must not be specified if sampler is specified", None, "omit one of them")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _move(batch: Any, device: Device | None) -> Any:
    """The batch with all its arrays on a device."""
    if device is None:
        return batch
    if isinstance(batch, Array):
        return batch.as_in_context(device)
    return [_move(part, device) for part in batch] if isinstance(batch, (list, tuple)) else batch
