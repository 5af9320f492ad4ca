"""`DataLoader`: the batches of a data set, made one by one or ahead by threads."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from typing import Any

from ...device import Device
from ...errors import EngineError, ParameterError
from ...imperative.array import Array
from ...numpy_extension import is_np_array, np_array
from ..refusals import Refused
from .batches import default_batchify_fn
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader"]


class DataLoader:
    """Batches of a data set, for training and evaluation.

    Workers are threads of this process, whatever ``thread_pool`` says: they share memory, start at once, and run in parallel
    where samples are read from files or computed by NumPy and operators, which release the interpreter's lock.

    Parameters
    ----------
    dataset
        The data set: anything with ``__getitem__`` and ``__len__``.
    batch_size
        Size of a batch.
    shuffle
        Whether to take the samples in a random order.
    sampler
        The order of samples, instead of ``shuffle``.
    last_batch
        What becomes of a last batch that is not full: ``"keep"`` (if None), ``"discard"`` or ``"rollover"``.
    batch_sampler
        The batches as lists of numbers, instead of the four above.
    batchify_fn
        What makes a batch of a list of samples; `default_batchify_fn` if None.
    num_workers
        Number of threads that make batches ahead; 0 for none.
    pin_memory, pin_device_id
        Whether to put batches into page-locked memory, from which copies to that GPU are fast.
    prefetch
        How many batches are made ahead; twice the number of workers if None.
    thread_pool
        Whether workers are threads: they always are.
    timeout
        How long to wait for a worker's batch, in seconds.
    auto_reload
        Whether to begin with the next epoch's batches when an iteration ends.

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
        self._make = default_batchify_fn if batchify_fn is None else batchify_fn
        self._pinned = Device("cpu_pinned", pin_device_id) if pin_memory else None
        if timeout <= 0:
            raise Refused("timeout must be positive", f"given {timeout}", "give seconds")
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
        found, self._next = self._next or self._iterator(), None
        return self._reloading(found)

    def _reloading(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        self.refresh()

    def __len__(self) -> int:
        return len(self._batches)

    def refresh(self) -> None:
        """Begin with the batches of the next iteration."""
        self._next = self._iterator()

    def clean(self) -> None:
        """Forget the batches that were begun for the next iteration."""
        self._next = None

    def _iterator(self) -> Iterator[Any]:
        if self._pool is None:
            return (self._batch(numbers) for numbers in self._batches)
        return _Ahead(self._pool, partial(self._batch_of_worker, is_np_array()), iter(self._batches), self._prefetch + 1, self._timeout)

    def _batch_of_worker(self, numpy: bool, numbers: list[int]) -> Any:
        """A batch made by a thread, in which MXNet's switch is as where the batch was asked for."""
        with np_array(numpy):
            return self._batch(numbers)

    def _batch(self, numbers: list[int]) -> Any:
        return _moved(self._make([self._dataset[k] for k in numbers]), self._pinned)


class _Ahead(Iterator[Any]):
    """Batches in order, some of them begun ahead."""

    def __init__(
        self, pool: ThreadPoolExecutor, make: Callable[[list[int]], Any], numbers: Iterator[list[int]], most: int, timeout: float
    ) -> None:
        self._pool, self._make, self._numbers, self._timeout = pool, make, numbers, timeout
        self._begun: deque[Future[Any]] = deque()
        for _ in range(most):
            self._begin()

    def _begin(self) -> None:
        numbers = next(self._numbers, None)
        if numbers is not None:
            self._begun.append(self._pool.submit(self._make, numbers))

    def __next__(self) -> Any:
        if not self._begun:
            raise StopIteration
        first = self._begun.popleft()
        self._begin()
        try:
            return first.result(self._timeout)
        except FutureTimeoutError:
            raise EngineError(
                f"DataLoader: a worker took longer than {self._timeout} seconds", None, "set a larger timeout, or more workers"
            ) from None

    def __del__(self) -> None:
        for future in self._begun:
            future.cancel()


def _batches_of(
    dataset: Any, batch_size: int | None, shuffle: bool, sampler: Sampler | None, last_batch: str | None, batch_sampler: Any
) -> Any:
    """Lists of numbers of samples."""
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ParameterError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified", None, "leave them out"
            )
        return batch_sampler
    if batch_size is None:
        raise ParameterError("batch_size must be specified unless batch_sampler is specified", None, "give batch_size")
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    elif shuffle:
        raise ParameterError("shuffle must not be specified if sampler is specified", None, "leave one out")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _moved(batch: Any, device: Device | None) -> Any:
    """A batch with all its arrays on a device."""
    if device is None:
        return batch
    if isinstance(batch, Array):
        return batch.as_in_context(device)
    return [_moved(part, device) for part in batch] if isinstance(batch, (list, tuple)) else batch
