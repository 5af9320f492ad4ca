"""`KVStoreBase`: what a key-value store must offer, and the registry of users' own."""

from os import PathLike
from typing import Any, ClassVar

from ..errors import MXNetError

__all__ = ["KVStoreBase"]


class KVStoreBase:
    """The base of all key-value stores. `Trainer` and `Module` need `broadcast` and `pushpull`, or a store with an optimizer."""

    OPTIMIZER: ClassVar[str] = "optimizer"
    #: Users' stores by lower-case name.
    kv_registry: ClassVar[dict[str, type["KVStoreBase"]]] = {}

    @staticmethod
    def register(klass: type["KVStoreBase"]) -> type["KVStoreBase"]:
        """Register a subclass under its name in lower case, for `create`; a class decorator."""
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Start a key from a value, and copy that into arrays."""
        raise self._lacks("broadcast")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sum values over devices and workers, and copy the sum into arrays."""
        raise self._lacks("pushpull")

    def set_optimizer(self, optimizer: Any) -> None:
        """Update stored weights by an optimizer."""
        raise self._lacks("set_optimizer")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can do something, such as ``KVStoreBase.OPTIMIZER``."""
        return False

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states into a file."""
        raise self._lacks("save_optimizer_states")

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file."""
        raise self._lacks("load_optimizer_states")

    @property
    def type(self) -> str:
        """Name of the kind of store."""
        raise self._lacks("type")

    @property
    def rank(self) -> int:
        """Number of this worker."""
        raise self._lacks("rank")

    @property
    def num_workers(self) -> int:
        """Number of workers."""
        raise self._lacks("num_workers")

    def _lacks(self, method: str) -> MXNetError:
        return MXNetError(f"KVStore: {type(self).__name__} does not define {method}", None, "define it in the subclass")
