"""`KVStoreBase`: the interface of key-value stores, and the registry of user-defined stores."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count as count_from
from os import PathLike
from typing import Any, ClassVar, Protocol

from ..errors import ClusterError, ParameterError, Undefined
from ..extension_points import shown_as_text, shown_in_notebooks
from ..ndarray.array import NDArray
from ..optimizer.base import Index, Optimizer
from ..optimizer.updater import Updater

__all__ = ["Give", "KVStoreBase", "Key", "Keys", "Take", "TestStore", "Values"]

Key = int | str
Keys = Key | Sequence[Key]
#: For one key an array, or a list of one per device.
Entry = NDArray | Sequence[NDArray]
#: For several keys a list of these.
Values = NDArray | Sequence[Entry]

#: Updates a stored array in place: a function of the key, the pushed sum and the stored array.
UpdateFunction = Callable[[Key, NDArray, NDArray], object]

#: A spare that joins a training needs arrays that no store has. `Give` returns them by name in a worker, `Take` uses them in the spare.
Give = Callable[[], Mapping[str, NDArray]]
Take = Callable[[Mapping[str, NDArray]], object]


class InProcessStore(Protocol):
    """A store whose arrays are in this process, so that a function of this process can update them."""

    def set_updater(self, updater: UpdateFunction) -> None:
        """Call a function with each pushed sum instead of storing the sum."""
        ...

    def replace(self, key: Key, value: NDArray) -> None:
        """Replace a stored value on this worker."""
        ...


class KVStoreBase:
    """Base class of key-value stores. `Trainer` and `Module` call `broadcast` and `pushpull`."""

    OPTIMIZER: ClassVar[str] = "optimizer"
    #: User-defined stores by lower-case name.
    #:
    #: :meta hide-value:
    kv_registry: ClassVar[dict[str, type["KVStoreBase"]]] = {}
    __repr__ = shown_as_text("store")
    _repr_html_ = shown_in_notebooks("store")

    @staticmethod
    def register(klass: type["KVStoreBase"]) -> type["KVStoreBase"]:
        """Class decorator: register a subclass with `create`, under its lower-case name."""
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    @property
    def _in_process(self) -> InProcessStore | None:
        """The store itself if its arrays are in this process. None if they are elsewhere, or the store has an updater of its own."""
        return None

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Initialize a key with a value, and copy the value into ``out``."""
        raise self._lacks("broadcast")

    def pushpull(self, key: Keys, value: Values, out: Values | None = None, priority: int = 0) -> None:
        """Sum values over devices and workers, and copy the sum into ``out``."""
        raise self._lacks("pushpull")

    def pushpull_list(self, keys: Sequence[Key], values: Sequence[Entry], outs: Sequence[Entry] | None = None) -> None:
        """`pushpull` for each of several keys. The first key has the highest priority: the next forward pass needs it first."""
        for k, key in enumerate(keys):
            if outs is None:
                self.pushpull(key, values[k], priority=-k)
            else:
                self.pushpull(key, values[k], outs[k], priority=-k)

    def update_with(self, updater: Updater, indices: Sequence[Index], grads: Sequence[NDArray], weights: Sequence[NDArray]) -> None:
        """Update weights of a device with gradients that the store has summed."""
        updater(indices, grads, weights)

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum values over devices and workers, and store the sum or update the stored array with it."""
        raise self._lacks("push")

    def row_sparse_pull(self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Values | None = None) -> None:
        """Copy rows of stored row-sparse arrays into row-sparse arrays."""
        raise self._lacks("row_sparse_pull")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update stored weights with an optimizer."""
        raise self._lacks("set_optimizer")

    def set_gradient_compression(self, compression_params: Mapping[str, str | float]) -> None:
        """Compress gradients before they are sent."""
        raise self._lacks("set_gradient_compression")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store has a capability, such as ``KVStoreBase.OPTIMIZER``."""
        return False

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file."""
        raise self._lacks("save_optimizer_states")

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file."""
        raise self._lacks("load_optimizer_states")

    @property
    def type(self) -> str:
        """The kind of store."""
        raise self._lacks("type")

    @property
    def rank(self) -> int:
        """The index of this worker."""
        raise self._lacks("rank")

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        raise self._lacks("num_workers")

    def epochs(self, count: int, arrays: Mapping[str, NDArray] | None = None) -> Iterator[int]:
        """The numbers of the epochs of a training, ``range(count)``. Spares take the places of dead workers between two epochs.

        Under ``twofold launch --ft --spares 1`` a spare waits in `mx.kv.create` until a worker has died and the other workers have
        finished their epoch. The spare then goes on with the dead worker's rank. Its program runs from `create` on: `init` and
        `broadcast` give it the newest values, `set_optimizer` the optimizer's states, and this method begins with the epoch of the other
        workers. A loop over epochs that the others have finished is empty. Without spares, and in stores other than `DistributedStore`,
        this is ``range(count)``. `Module.fit` and `Estimator.fit` do the same.

        Parameters
        ----------
        count
            The number of epochs.
        arrays
            Arrays by name, the same names on all workers. A spare overwrites its own with their newest values before its first step. Pass
            the parameters, ``{name: p.data() for name, p in net._collect_params_with_prefix().items()}``: they include the moving
            statistics of batch normalization, which no store has.

        Raises
        ------
        ClusterError
            If the workers are not in the same epoch, or have different arrays.

        Examples
        --------
        >>> import twofold as mx
        >>> kv = mx.kv.create("dist_sync")
        >>> list(kv.epochs(3))
        [0, 1, 2]
        """
        own = {} if arrays is None else arrays
        yield from self._epochs(0, count, lambda: own, partial(_write, own))

    def _epochs(self, first: int, end: int | None, give: Give, take: Take) -> Iterable[int]:
        """Numbers of epochs; endless if ``end`` is None. Spares join between epochs: workers call ``give`` for them, spares ``take``."""
        return count_from(first) if end is None else range(first, end)

    def _lacks(self, method: str) -> Undefined:
        return Undefined(f"KVStore: {type(self).__name__} does not define {method}", None, "define it in the subclass")


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that only sums over the devices of one process: the least that a user's own store must do for training.

    Examples
    --------
    >>> import twofold as mx
    >>> store = mx.kv.create("teststore")
    >>> arrays = [mx.nd.array([1, 2]), mx.nd.array([3, 4])]
    >>> store.pushpull("weight", arrays)
    >>> arrays[1].asnumpy().tolist()
    [4.0, 6.0]
    """

    __test__ = False  # not a test, whatever pytest thinks of its name

    def broadcast(self, key: Keys, value: Any, out: Any, priority: int = 0) -> None:
        """Copy a value into one array or each of a list."""
        for target in _listed(out):
            target[:] = value

    def pushpull(self, key: Keys, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sum one array per device, and copy the sum into ``out``, or back into the values if that is None."""
        first, *others = _listed(value)
        total = first.copy()
        for other in others:
            total += other.as_in_context(first.context)
        for target in _listed(value if out is None else out):
            target[:] = total

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store has a capability. This store cannot run an optimizer.

        Raises
        ------
        ParameterError
            If the capability is unknown.
        """
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise ParameterError("TestStore: Unknown capability", repr(capability), f"ask for {KVStoreBase.OPTIMIZER!r}")
        return False

    @property
    def type(self) -> str:
        """The kind of store."""
        return "teststore"

    @property
    def rank(self) -> int:
        """0: there is a single worker."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is a single worker."""
        return 1


def _write(arrays: Mapping[str, NDArray], newest: Mapping[str, NDArray]) -> None:
    """Write the arrays of other workers into those of a spare."""
    if {name: a.shape for name, a in arrays.items()} != {name: a.shape for name, a in newest.items()}:
        given = f"{list(arrays)[:8]}, they have {list(newest)[:8]}"
        raise ClusterError("epochs in a spare: the workers that it joins have other arrays", given, "run the same program")
    for name, array in newest.items():
        array.copyto(arrays[name])


def _listed(arrays: Any) -> Sequence[NDArray]:
    return arrays if isinstance(arrays, (list, tuple)) else [arrays]
