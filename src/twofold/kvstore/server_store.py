"""`ServerStore`: the store of workers with servers. Servers hold and update the arrays, synchronously, asynchronously, or in between."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import profiler
from ..backend.loader import backend_for
from ..config import SETTINGS
from ..device import CPU
from ..dtype import NUMPY
from ..errors import ClusterError, FormatError, MXNetError, ParameterError
from ..formats.files import read_file, write_file
from ..imperative.array import adopted
from ..imperative.invoke import host_of
from ..imperative.storage import sparse_array
from ..launcher_notes import number_in
from ..ndarray.array import NDArray
from ..opdef import Sparse
from ..optimizer.base import Optimizer
from ..optimizer.states import OF_SERVERS
from ..profiler.servers import COMMAND
from .base import Entry, Key, Keys, Values
from .client import ServerClient
from .cluster import Cluster, at_exit_of_this_process
from .compression import compression_of
from .keyed import KeyedStore, check_optimizer, copy_shared
from .messages import Message
from .optimizer_json import optimizer_to_json
from .server_core import ServerCore
from .server_loop import serve
from .transports.mpi_messages import MpiTransport

#: How a file begins that a store without servers has written, as MXNet's: a pickle.
PICKLE = b"\x80"
#: The functions of a server's profiler that workers may call.
PROFILING = {f.__name__: f for f in (profiler.set_config, profiler.set_state, profiler.pause, profiler.resume, profiler.dump)}
#: Numbers of an optimizer that a program may change while the servers use it.
CHANGEABLE = ("lr", "wd", "rescale_grad")


def run_server(cluster: Cluster, staleness: float) -> None:
    """Serve the workers of a cluster until all of them have finished.

    Parameters
    ----------
    cluster
        The cluster. This process is one of its servers.
    staleness
        How many pushes a worker may be ahead of the slowest; see `ServerCore`.
    """
    everyone = range(cluster.workers, cluster.workers + cluster.servers)
    own = cluster.rank - cluster.workers
    core = ServerCore(
        cluster.workers,
        staleness,
        timeout=SETTINGS.kv_timeout,
        allowed=[name for name in os.environ.get("TWOFOLD_ALLOW", "").split(",") if name],
        on_command=lambda head, body: _obey(own, head, body),
        rank=cluster.rank,
        following=[*everyone[own + 1 :], *everyone[:own]],
    )
    assert cluster.messages is not None
    peers = [process for process in range(cluster.workers + cluster.servers) if process != cluster.rank]

    def takes(source: int, message: Message, size: int) -> bool:
        # a stuck core takes any push: it waits in memory then, but the workers go on
        return core.takes(source, message, size) or core.is_stuck

    serve(core, MpiTransport(cluster.messages, peers, SETTINGS.kv_timeout, core.limit, takes), goes_on=cluster.is_tolerant)


def profile_of(server: int, given: str) -> str:
    """The file for the profile of a server, given the name in a message: ``rank0_`` before its last part, as servers may share a folder.

    Raises
    ------
    FormatError
        If it is not below the server's working directory: whoever can send messages could have any file overwritten.
    """
    folder, file = os.path.split(given)
    path = Path(folder, f"rank{server}_{file}")
    if not path.resolve().is_relative_to(Path.cwd()):
        raise FormatError("server: a profile is written below the server's folder", given, f"pass a file below {Path.cwd()}")
    return str(path)


def _obey(server: int, head: int, body: str) -> None:
    """Carry out a command for the profiler, and log any other command."""
    if head != COMMAND:
        logging.info("server %d: command %d: %s", server, head, body)
        return
    try:
        name, arguments = json.loads(body)
        if name == "set_config":
            arguments["filename"] = profile_of(server, arguments.get("filename", "profile.json"))
        PROFILING[name](**arguments)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, MXNetError):
            raise
        raise FormatError("server: not a command of the profiler", body[:80], "send it with mx.profiler") from error


#: The client of this process, which all its stores share; and the only store that may have keys on the servers, because the servers have
#: one optimizer for all keys.
_clients: list[ServerClient] = []
_keeper: list["ServerStore"] = []


def _client_of(cluster: Cluster) -> ServerClient:
    if not _clients:
        assert cluster.messages is not None
        servers = range(cluster.workers, cluster.workers + cluster.servers)
        transport = MpiTransport(cluster.messages, servers, SETTINGS.kv_timeout, memory=lambda *reply: client.memory_for(*reply))
        bound = number_in(os.environ, "MXNET_KVSTORE_BIGARRAY_BOUND", 1_000_000)
        is_tolerant = cluster.is_tolerant and cluster.servers > 1
        client = ServerClient(transport, cluster.workers, timeout=SETTINGS.kv_timeout, bound=bound, is_tolerant=is_tolerant)
        _clients.append(client)
        at_exit_of_this_process(_leave, cluster, client)
    return _clients[0]


def _leave(cluster: Cluster, client: ServerClient) -> None:
    if not cluster.is_failed:
        client.stop()


class ServerUpdater(NamedTuple):
    """An optimizer that servers run."""

    optimizer: Optimizer


class ServerArray(NamedTuple):
    """An array that is on servers."""

    shape: tuple[int, ...]
    dtype: str
    stype: str


class ServerStore(KeyedStore[ServerArray]):
    """Arrays by key on servers, which the devices of several processes share.

    Parameters
    ----------
    kind
        ``"dist_sync"``, ``"dist_async"`` and so on.
    cluster
        The processes. This one is a worker.

    Notes
    -----
    A push returns when the server has taken it. A pull returns the value after all pushes of this worker and, in a synchronous store, after
    those of all workers.
    """

    def __init__(self, kind: str, cluster: Cluster) -> None:
        super().__init__(kind, "device" in kind, cluster)
        self._client = _client_of(cluster)
        self._optimizer: Optimizer | None = None
        #: The changeable numbers of the optimizer, as the servers were told last.
        self._sent: list[object] = []
        # so that `mx.profiler` with profile_process="server" reaches the servers
        profiler.set_kvstore_handle(self)

    # values

    def init(self, key: Keys, value: Values) -> None:
        """Initialize keys with the values of worker 0.

        Parameters
        ----------
        key
            A key, or a list of keys, the same on all workers.
        value
            An array for each key.

        Raises
        ------
        MXNetError
            If a key exists already.
        ParameterError
            If the workers disagree on it.
        ClusterError
            If another store of this process has keys on the servers, which have one optimizer for all of them.
        """
        if not _keeper:
            _keeper.append(self)
        elif _keeper[0] is not self:
            todo = "initialize all keys in one store, or launch without servers"
            raise ClusterError("KVStore.init: another store has its keys on the servers", f"key {key!r}", todo)
        for k, values in self._by_key(key, value):
            if len(values) > 1:
                raise MXNetError(f"KVStore: duplicate init of key {k}", None, "init or broadcast each key once")
            array = values[0]
            self._client.init(k, np.ascontiguousarray(_dense(array)), array.stype == "row_sparse")
            self._stored[k] = ServerArray(array.shape, array._dtype, array.stype)

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """`init`, then `pull` into ``out``."""
        self.init(key, value)
        self.pull(key, out, priority, ignore_sparse=False)

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum values over devices, and send the sums to the servers.

        Parameters
        ----------
        key
            A key, or a list of keys.
        value
            For each key an array, or a list of arrays, one per device.
        priority
            Has no effect: messages are sent in the order of the calls.

        Raises
        ------
        MXNetError
            If a key was not initialized.
        ShapeError
            If a value does not have the shape of the stored array.
        """
        self._update_optimizer()
        for k, values in self._by_key(key, value):
            self._send(k, self._total(values))

    def _send(self, k: Key, total: NDArray) -> None:
        if total.stype == "row_sparse":
            rows, numbers = total._content.hosts()
            self._client.push_rows(k, numbers, rows)
        else:
            self._client.push(k, np.ascontiguousarray(_dense(total)))

    def pull(self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy stored arrays into ``out``.

        Parameters
        ----------
        key
            A key, or a list of keys.
        out
            For each key an array, or a list of arrays, on any devices.
        priority
            Has no effect, see `push`.
        ignore_sparse
            Whether stored arrays that are row-sparse are left out, if ``out`` is row-sparse too.

        Raises
        ------
        MXNetError
            If a key was not initialized.
        ClusterTimeout
            If workers that it waits for, or the server, do not answer.
        """
        if out is None:
            raise ParameterError("KVStore.pull: out is missing", f"key {key!r}", "pass the arrays to copy into as out")
        found = []
        for k, targets in self._by_key(key, out):
            stored = self._of_key(k)
            stays = ignore_sparse and stored.stype == "row_sparse"
            targets = [x for x in targets if not (stays and x.stype == "row_sparse")]
            if targets:
                host = backend_for(CPU).empty(stored.shape, stored.dtype)
                self._client.start_pull(k, host)  # all are requested before the first is awaited
                found.append((host, targets))
        self._client.finish()
        for host, targets in found:
            array = adopted(NDArray, host)
            for target in targets:
                copy_shared(array, target)

    def pushpull(self, key: Keys, value: Values, out: Values | None = None, priority: int = 0) -> None:
        """`push`, then `pull` into ``out``, or into the values themselves if ``out`` is None."""
        (k, values), *others = self._by_key(key, value)
        stored = self._stored.get(k)
        if others or stored is None or values[0].stype != "default":
            self.push(key, value, priority)
            self.pull(key, value if out is None else out, priority, ignore_sparse=False)
            return
        self._update_optimizer()
        host = backend_for(CPU).empty(stored.shape, stored.dtype)
        self._client.pushpull(k, np.ascontiguousarray(_dense(self._total(values))), host)  # one message each way
        found = adopted(NDArray, host)
        for _, targets in self._by_key(key, value if out is None else out):
            for target in targets:
                copy_shared(found, target)

    def pushpull_list(self, keys: Sequence[Key], values: Sequence[Entry], outs: Sequence[Entry] | None = None) -> None:
        """`pushpull` for each of several keys."""
        self.pushpull(keys, values, outs)

    def row_sparse_pull(self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Values | None = None) -> None:
        """Copy rows of stored row-sparse arrays into row-sparse arrays; see `KVStore.row_sparse_pull`."""
        for k, stored, target, numbers in self._row_requests(key, out, row_ids):
            # the order and the repetitions of the numbers do not matter: the result has each row once
            ids = np.unique(host_of(numbers).astype(np.int64))
            rows = self._client.pull_rows(k, ids)
            # servers hold row-sparse arrays densely, so a row of zeros counts as one that was never stored, and is left out
            there = rows.reshape(len(ids), -1).any(axis=1) if len(ids) else np.zeros(0, bool)
            kept = [adopted(NDArray, np.ascontiguousarray(part)) for part in (rows[there].astype(NUMPY[stored.dtype]), ids[there])]
            sparse_array(Sparse("row_sparse", stored.shape, *kept), checked=True).copyto(target)

    # updates

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Have the servers update stored arrays with an optimizer: pushed values are gradients from now on.

        Parameters
        ----------
        optimizer
            The optimizer, which is sent as JSON, the same one on all workers. Its learning rate, weight decay and ``rescale_grad`` may be
            changed later, on all workers alike: servers follow the first live worker.

        Raises
        ------
        DTypeError
            If it is not an `Optimizer`, or has attributes other than numbers and texts.
        ParameterError
            If the servers do not know its class: ``twofold launch --allow module:Class`` lets them import it.
        ClusterError
            If the optimizers of the workers differ.
        """
        check_optimizer(optimizer)
        self._optimizer = optimizer
        self._sent = [getattr(optimizer, name, None) for name in CHANGEABLE]
        self._client.set_optimizer(optimizer_to_json(optimizer))

    @property
    def _updater(self) -> "ServerUpdater | None":
        """An object with the optimizer, where trainers look for it in MXNet's stores."""
        return None if self._optimizer is None else ServerUpdater(self._optimizer)

    def _update_optimizer(self) -> None:
        """Tell the servers about a learning rate that the program has changed. They follow the first live worker."""
        optimizer = self._optimizer
        if optimizer is None:
            return
        now: list[object] = [getattr(optimizer, name, None) for name in CHANGEABLE]
        if now != self._sent:
            both = zip(CHANGEABLE, now, self._sent, strict=True)
            changed = {name: value for name, value, sent in both if value != sent and isinstance(value, (int, float))}
            self._sent = now
            if changed:
                self._client.change_optimizer(**changed)

    def set_updater(self, updater: object) -> None:
        """Raise: the arrays are on servers, to which a function cannot be sent.

        Raises
        ------
        ParameterError
            Always.
        """
        todo = "use set_optimizer, or a store without servers"
        raise ParameterError("KVStore.set_updater: servers update the arrays", type(updater).__name__, todo)

    _set_updater = set_updater

    def set_gradient_compression(self, compression_params: Mapping[str, str | float]) -> None:
        """Compress values that are pushed to the servers; see `KVStore.set_gradient_compression`."""
        compression_of(compression_params)
        self._client.set_gradient_compression(compression_params)

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the servers' states of the optimizer to a file. Only the same number of servers can read it."""
        states = self._client.optimizer_states()
        sizes = json.dumps([len(s) for s in states]).encode()
        write_file(fname, [OF_SERVERS, sizes, b"\n", *states])

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Send the servers the states in a file of `save_optimizer_states`.

        Raises
        ------
        FormatError
            If the file is damaged or of another store.
        ParameterError
            If it is of another number of servers, or of a store without servers.
        """
        self._client.restore_optimizer_states(_states_in(read_file(fname)))

    # processes

    def _barrier(self) -> None:
        """Wait until all workers have called this."""
        self._client.barrier()

    barrier = _barrier

    def _live_workers(self) -> list[int]:
        """Wait at a barrier, and return the workers that came to it, the same list on all of them."""
        return self._client.barrier()

    def get_num_dead_node(self, node_id: int = 0, timeout: float = 60) -> int:
        """The number of workers that the servers consider dead; see `DistributedStore.get_num_dead_node`."""
        return len(self._client.dead_workers())

    def send_command_to_servers(self, head: int, body: str) -> None:
        """Send a number and a text to all servers, which write them to their logs."""
        self._client.send_command(head, body)

    _send_command_to_servers = send_command_to_servers


def _states_in(data: bytes) -> list[bytes]:
    head, _, rest = data.partition(b"\n")
    line, _, body = rest.partition(b"\n")
    try:
        sizes = json.loads(line)
        if head + b"\n" == OF_SERVERS and all(type(n) is int and n >= 0 for n in sizes) and sum(sizes) == len(body):
            ends = np.cumsum(sizes).tolist()
            return [body[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    except (ValueError, TypeError):
        pass
    if data[:1] == PICKLE:
        what, todo = "load_optimizer_states: states of an optimizer that ran on workers", "launch the program without servers"
        raise ParameterError(what, f"{len(data)} bytes", todo)
    raise FormatError("load_optimizer_states: not the states of servers", f"{len(data)} bytes", "pass a file of save_optimizer_states")


def _dense(array: NDArray) -> np.ndarray:
    return array._content.dense() if array.stype != "default" else host_of(array)
