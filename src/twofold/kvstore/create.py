"""`create` makes a store by its kind. `store_for` decides which store a training uses, and whether the optimizer runs in the store."""

import math
from collections.abc import Iterable
from os import environ

from ..errors import DTypeError, MXNetError, ParameterError
from ..launcher_notes import launched
from ..ndarray.array import NDArray
from ..strictness import tolerate
from ..suggestions import did_you_mean
from .base import Key, KVStoreBase
from .local import KINDS, KVStore

#: How the names of stores of several processes begin, and those that are not misspelled.
MULTI_MACHINE = ("dist", "p3", "horovod", "byteps")
SPANNING = (
    *("dist", "dist_sync", "dist_async", "dist_device_sync", "dist_device_async", "dist_sync_device", "dist_async_device"),
    *("p3", "p3store_dist", "p3store_dist_sync", "p3store_dist_async", "horovod", "byteps"),
)
#: Number of elements above which an array is updated on the devices, because a "local" store would update it on the CPU.
BIG = 16 * 1024 * 1024


def create(name: str = "local", *, staleness: float | None = None) -> KVStoreBase:
    """Create a key-value store.

    Parameters
    ----------
    name
        ``"local"``, ``"device"``, ``"nccl"`` (see `KVStore`); ``"dist_sync"``, ``"dist_device_sync"``, ``"horovod"``, and ``"nccl"`` among
        several workers (see `DistributedStore`); or the name of a class registered with `KVStoreBase.register`. Any other name is
        accepted with a warning: if it begins with ``dist``, as ``"dist_sync"`` or ``"dist_async"``; otherwise as a local store.
    staleness
        For ``"dist_async"``: how many pushes of a key a worker may be ahead of the slowest worker before its pulls wait. With 0 the store
        is as synchronous as ``"dist_sync"``; with None there is no limit.

    Raises
    ------
    ParameterError
        If a store that is not asynchronous is given a staleness, or an asynchronous one has no servers.
    SystemExit
        In a server process, when all workers have finished.
    ClusterError
        If the kind spans several processes, and they are not one cluster.
    """
    if not isinstance(name, str):
        raise DTypeError("kvstore.create: name must be a string", type(name).__name__, "pass the kind of store")
    check_kvstore(name)
    return _created(name, staleness)


def _created(name: str, staleness: float | None = None) -> KVStoreBase:
    kind = name.lower()
    if kind in KVStoreBase.kv_registry:  # first: a user's store may replace a built-in kind
        return KVStoreBase.kv_registry[kind]()
    if spans(kind):
        return _spanning(kind, _staleness_of(kind, staleness))
    if staleness is not None:
        raise ParameterError("kvstore.create: this kind of store has no staleness", repr(name), "create 'dist_async'")
    return KVStore(kind) if kind in KINDS else KVStore(name, _like(name))


def _like(name: str) -> str:
    """The kind of store that an unknown name makes, as in MXNet: a misspelled kind trains all the same."""
    kind = name.lower()
    if spans(kind):
        return "dist_async" if "async" in kind else "dist_sync"
    return "device" if "device" in kind else "local"


def spans(kind: str) -> bool:
    """Whether a kind of store spans several processes. ``"nccl"`` does if a launcher has started several workers."""
    return kind.startswith(MULTI_MACHINE) or (kind == "nccl" and launched()[1] > 1)


def _staleness_of(kind: str, given: float | None) -> float:
    """How many pushes a worker may be ahead of the slowest worker, by the kind of store."""
    if "async" in kind:
        return math.inf if given is None else given
    if given:
        raise ParameterError("kvstore.create: only asynchronous stores have a staleness", f"{kind!r}, {given}", "create 'dist_async'")
    return 0


def _spanning(kind: str, staleness: float) -> KVStoreBase:
    """A store of several processes. A server process serves here and then ends: the program runs in workers only."""
    from .cluster import join  # here: programs of one process do not load the modules of clusters

    cluster = join()
    if cluster.is_server:
        from .server_store import run_server

        run_server(cluster, staleness)
        # the rest of the program is for workers
        raise SystemExit(0)
    if cluster.servers:
        from .server_store import ServerStore

        return ServerStore(kind, cluster)
    from .distributed import DistributedStore

    return DistributedStore(kind, cluster)


def store_for(
    kvstore: str | KVStoreBase | None, devices: int, params: Iterable[NDArray], update_on_store: bool | None = None
) -> tuple[KVStoreBase | None, bool]:
    """The store that sums gradients, and whether the optimizer runs in it.

    Parameters
    ----------
    kvstore
        A store, a kind of store, or None. A kind creates a store only for several devices or several machines.
    devices
        Number of devices.
    params
        The parameters.
    update_on_store
        Whether the optimizer runs in the store. With None it does if the store is capable of it, unless the environment variable
        ``MXNET_UPDATE_ON_KVSTORE`` is 0 or a large parameter would be updated on the CPU.
    """
    store = _created(kvstore) if isinstance(kvstore, str) and (devices > 1 or spans(kvstore.lower())) else kvstore
    if store is None or isinstance(store, str):
        return None, False
    if not isinstance(store, KVStoreBase):
        raise DTypeError("kvstore must be KVStore, str or None", type(store).__name__, "pass mx.kv.create(kind), or its kind")
    if update_on_store is not None:
        return store, update_on_store
    # MXNet's rule, see `BIG`
    is_cpu_bound = kvstore == "local" and any(p.size > BIG for p in params)
    return store, environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0" and not is_cpu_bound and store.is_capable(KVStoreBase.OPTIMIZER)


class InitialValues:
    """Sends initial values to a store, so that all workers start from those of the first one."""

    def __init__(self) -> None:
        #: The key that was sent last, perhaps in part.
        self._begun: Key | None = None

    def send(self, store: KVStoreBase, key: Key, arrays: list[NDArray]) -> None:
        """Send one to a store, and write the value of the first worker into the arrays. Can be called again after an interrupt."""
        if key == self._begun and isinstance(store, KVStore) and store.num_workers == 1 and key in store._stored:
            store.pull(key, arrays, ignore_sparse=False)
            return
        self._begun = key
        try:
            store.broadcast(key, arrays[0], arrays)
        except MXNetError:  # the key may be another program's
            self._begun = None
            raise


def check_kvstore(kvstore: object) -> None:
    """Raise `DTypeError` unless the argument is a store, a kind of store, or None; warn of a kind that does not exist.

    A program on one device creates no store, and would not notice otherwise.
    """
    if kvstore is not None and not isinstance(kvstore, (str, KVStoreBase)):
        raise DTypeError("kvstore must be KVStore, str or None", type(kvstore).__name__, "pass a kind of store or mx.kv.create(...)")
    known = [*KINDS, *SPANNING, *KVStoreBase.kv_registry]
    if isinstance(kvstore, str) and kvstore.lower() not in known:
        todo = did_you_mean(kvstore.lower(), known, f"use one of {', '.join(known)}")
        tolerate("kvstore.create: unknown kind of store", f"{kvstore!r}, created as {_like(kvstore)!r}", todo)
