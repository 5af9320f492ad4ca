"""`KVStoreServer`: what a process runs that serves a distributed store."""

from .base import KVStoreBase

__all__ = ["KVStoreServer"]


class KVStoreServer:
    """The server of a key-value store.

    Parameters
    ----------
    kvstore
        The store.
    """

    def __init__(self, kvstore: KVStoreBase) -> None:
        self.kvstore = kvstore

    def run(self) -> None:
        """Serve until all workers have finished. The stores of a single process have no workers to wait for: it returns at once."""
