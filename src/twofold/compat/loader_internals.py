"""The parts of MXNet's `DataLoader` that libraries build their own loaders from: what pools of workers run, and the iterator over them."""

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.pool import AsyncResult, Pool, ThreadPool
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ..device import Device
from ..gluon.data import default_mp_batchify_fn
from ..imperative.array import Array
from ..numpy_extension import set_np

__all__ = ["ForkingPickler", "Pool", "ThreadPool", "default_mp_batchify_fn"]

Batchify = Callable[[list[Any]], Any]

#: The dataset of a worker process, which `_worker_initializer` sets.
_worker_dataset: Any = None


def _worker_initializer(dataset: Any, active_shape: bool, active_array: bool) -> None:
    """Prepare a worker process: its dataset, and the switches of ``npx.set_np``."""
    global _worker_dataset
    _worker_dataset = dataset
    set_np(shape=active_shape, array=active_array)


def _worker_fn(samples: Sequence[int], batchify_fn: Batchify, dataset: Any = None) -> bytes:
    """A pickled batch of the worker's dataset; ``dataset`` is not used, as in MXNet."""
    buf = io.BytesIO()
    ForkingPickler(buf, pickle.HIGHEST_PROTOCOL).dump(batchify_fn([_worker_dataset[i] for i in samples]))
    return buf.getvalue()


def _thread_worker_initializer(active_shape: bool, active_array: bool) -> None:
    """Prepare a worker thread: the switches of ``npx.set_np``."""
    set_np(shape=active_shape, array=active_array)


def _thread_worker_fn(samples: Sequence[int], batchify_fn: Batchify, dataset: Any) -> Any:
    """A batch of a dataset."""
    return batchify_fn([dataset[i] for i in samples])


def _as_in_context(data: Any, ctx: Device) -> Any:
    """The arrays in nested lists on a device; other values stay as they are."""
    if isinstance(data, Array):
        return data.as_in_context(ctx)
    return [_as_in_context(part, ctx) for part in data] if isinstance(data, (list, tuple)) else data


class _MultiWorkerIter:
    """The batches that a pool of workers makes, in order. Subclasses override `_push_next`."""

    def __init__(
        self,
        worker_pool: Pool,
        batchify_fn: Batchify,
        batch_sampler: Any,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool, self._batchify_fn, self._batch_sampler = worker_pool, batchify_fn, batch_sampler
        self._data_buffer: dict[int, AsyncResult[Any]] = {}
        self._rcvd_idx = self._sent_idx = 0
        self._iter: Iterator[Any] = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._dataset, self._data_loader, self._timeout = dataset, data_loader, timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return self

    def _push_next(self) -> None:
        """Let the workers make the next batch."""
        samples = next(self._iter, None)
        if samples is not None:
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, (samples, self._batchify_fn, self._dataset))
            self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        made = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        self._rcvd_idx += 1
        # worker processes send bytes; threads have the dataset, and return the batch itself
        batch = pickle.loads(made) if self._dataset is None else made
        return _as_in_context(batch, Device("cpu_pinned", self._pin_device_id)) if self._pin_memory else batch

    def next(self) -> Any:
        """The next batch."""
        return next(self)
