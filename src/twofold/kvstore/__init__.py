"""``mx.kvstore``, ``mx.kv``: weights and gradients shared between devices, by key."""

from .base import KVStoreBase
from .create import create
from .local import KVStore
from .server import KVStoreServer

__all__ = ["KVStore", "KVStoreBase", "KVStoreServer", "create"]
