"""`KVStoreBase`: the interface of key-value stores, and the registry of user-defined ones."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import ClassVar

from ..errors import MXNetError
from ..ndarray.array import NDArray
from ..optimizer.base import Optimizer

__all__ = ["KVStoreBase", "Key", "Keys", "Values"]

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

    def _lacks(self, method: str) -> MXNetError:
        return MXNetError(f"KVStore: {type(self).__name__} does not define {method}", None, "define it in the subclass")
