"""`KeyedStore`: the keys of a store, and the sum over the devices of one process. Stores with and without servers build on it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np

from ..device import CPU
from ..errors import DTypeError, InvalidValue, MXNetError, ParameterError, ShapeError, WrongArgument, WrongType
from ..imperative.array import Array
from ..imperative.cell import Value
from ..imperative.deferral import twin_of
from ..imperative.invoke import host_of
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer
from .base import Key, Keys, KVStoreBase, Values

if TYPE_CHECKING:
    from .cluster import Cluster


class NotArrays(WrongArgument, AssertionError):
    """Something else than arrays was given; MXNet raises either class."""


class StoredArray(Protocol):
    """A store's facts about the array of a key. The array itself may be on a server."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        ...

    @property
    def stype(self) -> str:
        """The storage type: ``"default"`` or ``"row_sparse"``."""
        ...


Stored = TypeVar("Stored", bound=StoredArray)


class KeyedStore(KVStoreBase, Generic[Stored]):
    """A store of arrays by key.

    Parameters
    ----------
    kind
        The kind of store, as given to `create`.
    is_on_device
        Whether values are summed on the first device that pushes rather than on the CPU.
    cluster
        The processes that share the store; None for a single process.
    """

    def __init__(self, kind: str, is_on_device: bool, cluster: "Cluster | None" = None) -> None:
        self._kind = kind
        self._is_on_device = is_on_device
        self._cluster = cluster
        self._key_type: type | None = None
        self._stored: dict[Key, Stored] = {}

    @property
    def type(self) -> str:
        """The kind of store."""
        return self._kind

    @property
    def rank(self) -> int:
        """The number of this worker; 0 if it is the only one."""
        return 0 if self._cluster is None else self._cluster.rank

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return 1 if self._cluster is None else self._cluster.workers

    @property
    def handle(self) -> Self:
        """The argument of `mx.profiler.set_kvstore_handle`: the store itself, because there is no C library."""
        return self

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store has a capability. A keyed store can run an optimizer.

        Raises
        ------
        ParameterError
            If the capability is unknown.
        """
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise ParameterError("KVStore: Unknown capability", repr(capability), f"ask for {KVStoreBase.OPTIMIZER!r}")
        return True

    def share_figure(self, figure: float) -> list[float]:
        """Tell worker 0 a figure, such as this worker's speed, without waiting for other workers.

        Parameters
        ----------
        figure
            A number of up to three decimals.

        Returns
        -------
        list
            On worker 0, the last figure of each worker that has told one and has not finished; on other workers an empty list.
        """
        workers = None if self._cluster is None else self._cluster.collectives
        return [figure] if workers is None else workers.share(figure)

    # the devices of this process

    def _total(self, values: list[NDArray]) -> NDArray:
        """The sum of arrays on several devices. A single array that is on the right device is returned itself, not copied."""
        device = values[0].context if self._is_on_device else CPU
        total: NDArray | None = None
        for x in values:
            context = x.context
            own = x if context is device or context.shares_memory_with(device) else x.copyto(device)
            total = own if total is None else total + own  # not `+=`: the first value belongs to the caller
        assert total is not None
        return total

    # keys

    def _by_key(self, key: Any, value: Any) -> Iterable[tuple[Key, list[NDArray]]]:
        """Each distinct key with all its arrays, in order of first appearance.

        Raises
        ------
        ParameterError
            If the numbers of keys and values differ, or a key has no arrays.
        """
        single: list[NDArray] = [value]
        # a hot path: no list is made and no key is checked again
        if key.__class__ is self._key_type and isinstance(value, Array):
            return ((key, single),)  # by far the most frequent call: one key, one device
        if not isinstance(key, (list, tuple)):
            self._check_key(key)
            return ((key, _arrays(key, value)),)
        if not isinstance(value, (list, tuple)) or len(key) != len(value):
            count = len(value) if isinstance(value, (list, tuple)) else 1
            raise InvalidValue("KVStore: the numbers of keys and values differ", f"{len(key)} keys, {count} values", "pass one per key")
        found: dict[Key, list[NDArray]] = {}
        for k, x in zip(key, value, strict=True):
            self._check_key(k)
            found.setdefault(k, []).extend(_arrays(k, x))
        return found.items()

    def _of_key(self, key: Key) -> Stored:
        found = self._stored.get(key)
        if found is None:
            raise MXNetError(f"KVStore: key {key} has not been inited", None, "call init or broadcast with it first")
        return found

    def _row_requests(self, key: Keys, out: Values | None, row_ids: Values | None) -> Iterator[tuple[Key, Stored, NDArray, NDArray]]:
        """The requests of one `row_sparse_pull`: key, stored array, array to copy into, and row numbers.

        Raises
        ------
        ParameterError
            If ``out`` or ``row_ids`` is missing, or they differ in number.
        MXNetError
            If a key was not initialized, or its array or one of ``out`` is not row-sparse.
        ShapeError
            If there is no row of a number.
        """
        if out is None or row_ids is None:
            missing = "out" if out is None else "row_ids"
            raise InvalidValue(f"KVStore.row_sparse_pull: {missing} is missing", f"key {key!r}", "pass out and row_ids")
        # nested like ``out``, or flat: MXNet takes both
        ids: list[Any] = list(row_ids) if isinstance(row_ids, (list, tuple)) else [row_ids]
        ids = [i for group in ids for i in (group if isinstance(group, (list, tuple)) else [group])]
        targets = [(k, target) for k, arrays in self._by_key(key, out) for target in arrays]
        if len(ids) not in (1, len(targets)):
            given = f"{len(ids)} row_ids, {len(targets)} arrays"
            raise ParameterError("KVStore.row_sparse_pull: the numbers of row_ids and out differ", given, "pass one for each array, or one")
        if not all(isinstance(i, Array) for i in ids):
            given = ", ".join(type(i).__name__ for i in ids)
            raise NotArrays("KVStore.row_sparse_pull: row_ids should be NDArray or list of NDArray", given, "pass arrays of row numbers")
        for n, (k, target) in enumerate(targets):
            stored = self._of_key(k)
            if stored.stype != "row_sparse" or target.stype != "row_sparse":
                given = f"key {k!r}: stored {stored.stype}, out {target.stype}"
                raise MXNetError("KVStore.row_sparse_pull: an array is not row-sparse", given, "init with one, and pull into one")
            numbers = ids[n if len(ids) > 1 else 0]
            _check_rows(k, host_of(numbers), stored.shape[0])
            yield k, stored, target, numbers

    def _check_key(self, key: object) -> None:
        kind = str if isinstance(key, str) else int if isinstance(key, int) else None
        if kind is None:
            raise WrongType("KVStore: unexpected type for keys", type(key).__name__, "use integers or strings")
        if self._key_type not in (None, kind):
            raise InvalidValue(
                "KVStore: Mixed key types are not allowed",
                f"{key!r} in a store with keys of type {self._key_type.__name__}",
                "use one type",
            )
        self._key_type = kind


def _check_rows(key: Key, numbers: np.ndarray, rows: int) -> None:
    """Raise a `ShapeError` if a row does not exist: MXNet would read other memory, and the result have rows outside its shape."""
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < rows):  # NaN is no row either
        given = f"row_ids from {numbers.min():g} to {numbers.max():g}"
        raise ShapeError(f"KVStore.row_sparse_pull: key {key!r} has no such row", given, f"pass row numbers from 0 to {rows - 1}")


def _arrays(key: Key, value: Any) -> list[NDArray]:
    arrays = list(value) if isinstance(value, (list, tuple)) else [value]
    if not arrays or not all(isinstance(x, Array) for x in arrays):
        kinds = ", ".join(type(x).__name__ for x in arrays) or "an empty list"
        raise NotArrays(f"KVStore: key {key!r} needs an NDArray or a list of them", kinds, "pass arrays")
    return arrays


def check_optimizer(optimizer: object) -> None:
    """Raise a `DTypeError` unless the argument is an `Optimizer`."""
    if not isinstance(optimizer, Optimizer):
        raise DTypeError("KVStore.set_optimizer: not an optimizer", type(optimizer).__name__, "make one with mx.optimizer.create")


def check_shapes(key: Key, values: list[NDArray], stored: NDArray) -> None:
    """Raise a `ShapeError` unless pushed arrays have the shape of the stored one."""
    for x in values:
        if x.shape != stored.shape:
            given = f"shape {x.shape}"
            raise ShapeError(f"KVStore.push: the array has the wrong shape for key {key!r}", given, f"pass one of shape {stored.shape}")


def copy_shared(stored: NDArray, target: NDArray) -> None:
    """Copy a stored array into another one. The two share the memory of a large array until one of them is written to."""
    v, kind = stored._held, NDArray
    is_plain = v.__class__ is Value and v.entry is None and stored.__class__ is kind and target.__class__ is kind and not v.pinned
    if is_plain and v.device is target.context and stored.shape == target.shape and stored._dtype == target._dtype:
        # `target` has a gradient, so it is a variable, and a variable's content must be computed: a pending one gets a twin
        shared = v if v.data is not None or getattr(target, "_gradient", None) is None else twin_of(v)
        if shared is not None:
            # before `_rebind`: from here on a write to either array copies first
            v.share()
            target._rebind(shared)
            return
    stored.copyto(target)
