"""``mx.kvstore``, ``mx.kv``: weights and gradients shared between devices, by key."""

from .base import KVStoreBase
from .checkpoint import ClusterCheckpoint, load_checkpoint, save_checkpoint
from .create import create
from .local import KVStore, KVStoreServer

__all__ = ["ClusterCheckpoint", "KVStore", "KVStoreBase", "KVStoreServer", "create", "load_checkpoint", "save_checkpoint"]
