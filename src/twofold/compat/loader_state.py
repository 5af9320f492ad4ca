"""The private state of `DataLoader` as MXNet's class stores it, which libraries replace and build iterators on."""

from collections.abc import Collection, Sequence
from multiprocessing import get_context, get_start_method
from multiprocessing.pool import Pool, ThreadPool
from warnings import catch_warnings, filterwarnings
from weakref import finalize

from ..device import interned
from ..gluon.data.loader import DataLoader
from ..gluon.data.loading import loaded
from ..numpy_extension import is_np_array, is_np_shape
from .array_state import adopt
from .private_names import Batchify, _thread_worker_initializer, _worker_initializer

__all__: list[str] = []


class DataLoaderState(DataLoader):
    """State of `DataLoader`."""

    _iter: object = None

    @property
    def _worker_pool(self) -> object:
        """The pool that a subclass has set, or a new one for its own iterators; None without workers. The loader has workers of its own."""
        if "_pool" not in vars(self):
            vars(self)["_pool"] = pool = _pool_for(self) if self._num_workers else None
            if pool is not None:
                # not in ``__del__``, which libraries override
                finalize(self, pool.terminate)
        return vars(self)["_pool"]

    @_worker_pool.setter
    def _worker_pool(self, pool: object) -> None:
        vars(self)["_pool"] = pool

    @property
    def _batch_sampler(self) -> Collection[Sequence[int]]:
        """The batches, as lists of indices."""
        return self._batches

    @_batch_sampler.setter
    def _batch_sampler(self, sampler: Collection[Sequence[int]]) -> None:
        self._batches = sampler

    @property
    def _batchify_fn(self) -> Batchify:
        """The function that collates samples."""
        return self._load.keywords["batchify"]

    @_batchify_fn.setter
    def _batchify_fn(self, batchify: Batchify) -> None:
        # a new one: workers that run may hold the old one
        self._load = type(self._load)(loaded, *self._load.args, **{**self._load.keywords, "batchify": batchify})
        self._workers = None  # processes have the old function

    @property
    def _pin_memory(self) -> bool:
        """Whether batches are copied to page-locked memory."""
        return self._pinned is not None

    @_pin_memory.setter
    def _pin_memory(self, is_pinned: bool) -> None:
        self._pinned = interned("cpu_pinned", self._pin_device_id) if is_pinned else None

    @property
    def _pin_device_id(self) -> int:
        """The GPU for which batches are copied there."""
        return vars(self).get("_pin_device", 0) if self._pinned is None else self._pinned.device_id

    @_pin_device_id.setter
    def _pin_device_id(self, number: int) -> None:
        if self._pinned is not None:
            self._pinned = interned("cpu_pinned", number)
        vars(self)["_pin_device"] = number  # used when `_pin_memory` is set

    @property
    def auto_reload(self) -> bool:
        """Whether an iteration's end starts prefetching the next one."""
        return self._auto_reload

    @auto_reload.setter
    def auto_reload(self, reloads: bool) -> None:
        self._auto_reload = reloads


def _pool_for(loader: DataLoader) -> Pool:
    """As many workers as a loader has: threads, or processes that know its dataset."""
    switches = is_np_shape(), is_np_array()
    if loader._thread_pool:
        return ThreadPool(loader._num_workers, _thread_worker_initializer, switches)
    context = get_context(get_start_method(allow_none=True) or "fork")
    with catch_warnings():
        filterwarnings("ignore", ".*use of fork", DeprecationWarning)  # `imperative.forks` holds the locks of this library
        return context.Pool(loader._num_workers, _worker_initializer, (loader._dataset, *switches))


adopt(DataLoader, DataLoaderState)
