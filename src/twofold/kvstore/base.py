"""`KVStoreBase`: the interface of key-value stores, and the registry of user-defined ones."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar

from ..errors import ParameterError, Undefined
from ..ndarray.array import NDArray
from ..optimizer.base import Index, Optimizer
from ..optimizer.updater import Updater

__all__ = ["KVStoreBase", "Key", "Keys", "TestStore", "Values"]

Key = int | str
Keys = Key | Sequence[Key]
#: For one key an array, or a list of one per device; for several keys a list of these.
Values = NDArray | Sequence[NDArray | Sequence[NDArray]]


class KVStoreBase:
    """Base class of key-value stores. `Trainer` and `Module` call `broadcast` and `pushpull`."""

    OPTIMIZER: ClassVar[str] = "optimizer"
    #: User-defined stores by lower-case name.
    kv_registry: ClassVar[dict[str, type["KVStoreBase"]]] = {}

    @staticmethod
    def register(klass: type["KVStoreBase"]) -> type["KVStoreBase"]:
        """Class decorator: register a subclass with `create`, under its lower-case name."""
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Initialize a key with a value, and copy the value into ``out``."""
        raise self._lacks("broadcast")

    def pushpull(self, key: Keys, value: Values, out: Values | None = None, priority: int = 0) -> None:
        """Sum values over devices and workers, and copy the sum into ``out``."""
        raise self._lacks("pushpull")

    def pushpull_list(self, keys: Sequence[Key], values: Sequence[Any], outs: Sequence[Any] | None = None) -> None:
        """`pushpull` for each of several keys. The first have the highest priority: the next forward pass needs them first."""
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

    def _lacks(self, method: str) -> Undefined:
        return Undefined(f"KVStore: {type(self).__name__} does not define {method}", None, "define it in the subclass")


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that only sums over the devices of one process: the least that training needs of a user's own store.

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
        """Whether the store has a capability; it cannot run an optimizer.

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


def _listed(arrays: Any) -> Sequence[NDArray]:
    return arrays if isinstance(arrays, (list, tuple)) else [arrays]
