"""``mx.kvstore``, ``mx.kv``: weights and gradients of several devices, by key."""

from .base import KVStoreBase
from .local import KVStore, create

__all__ = ["KVStore", "KVStoreBase", "create"]
