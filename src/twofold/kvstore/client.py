"""`ServerClient`: a worker's side of a store with servers. It divides tensors among servers, and counts the pushes of each key."""

import json
import logging
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ClusterError, MXNetError, ParameterError, ShapeError
from ..ndarray.new_arrays import from_numpy
from .announcement import NO_VALUE
from .base import Key
from .compression import TwoBitCompression, compression_of, pack_two_bit
from .messages import Flag, Message, Opcode, bytes_of
from .parts import DividedTensor, TensorPart, divided
from .process_hosts import on_hosts
from .requests import OpenRequest, Requests
from .transports import Transport


class ServerClient:
    """Sends a worker's tensors to servers, and receives them. Tensors are NumPy arrays.

    Parameters
    ----------
    transport
        Carries messages. Its first processes are the workers, the others are the servers.
    workers
        The number of workers.
    timeout
        Seconds to wait for a reply.
    bound
        Number of elements from which a tensor is divided among all servers. A smaller tensor is on a single server.
    attempts
        How often a request is sent before its deadline. More than once is for transports that lose messages.
    is_tolerant
        Whether to go on without a server that dies, if there is another one. For that, messages are kept in a replay buffer.

    Notes
    -----
    A client belongs to one thread. All workers initialize the same keys in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kvstore.client import ServerClient
    >>> from twofold.kvstore.server_core import ServerCore
    >>> from twofold.kvstore.server_loop import serve
    >>> from twofold.kvstore.transports.inprocess import connected, run_threads
    >>> *workers, server = connected(3)
    >>> def train(transport):
    ...     client = ServerClient(transport, 2)
    ...     client.init("w", np.zeros(2))
    ...     out = np.empty(2)
    ...     client.pushpull("w", np.array([1.0, transport.rank]), out)
    ...     client.stop()
    ...     return out.tolist()
    >>> first, second, _ = run_threads([lambda: train(workers[0]), lambda: train(workers[1]), lambda: serve(ServerCore(2), server)])
    >>> first, second
    ([2.0, 1.0], [2.0, 1.0])
    """

    def __init__(
        self,
        transport: Transport,
        workers: int,
        *,
        timeout: float = 60.0,
        bound: int = 1_000_000,
        attempts: int = 1,
        is_tolerant: bool = False,
    ) -> None:
        if transport.size <= workers:
            raise ParameterError("ServerClient: there is no server", f"{transport.size} processes, {workers} workers", "launch with -s 1")
        self.rank, self._workers = transport.rank, workers
        #: The servers that are left, and those at the start. Tensors are divided among the latter, so that the parts of a key are the same
        #: on all workers, whatever each of them knows about deaths; `_home` says which server has a part now.
        self.servers = self._all_servers = tuple(range(workers, transport.size))
        self._bound, self._is_tolerant = bound, is_tolerant
        self._requests = Requests(transport, self._all_servers, timeout, attempts, is_tolerant, self._send_value, self._replace)
        self._tensors: dict[Key, DividedTensor] = {}
        #: How many times this worker has pushed each key. Servers apply the pushes of a worker in the order of these clocks, each once.
        self._clocks: dict[Key, int] = {}
        #: The value of the key that is being initialized. Servers ask for it if the workers before this one have died.
        self._initial: np.ndarray | None = None
        #: By dead server, the server that got its parts.
        self._heirs: dict[int, int] = {}
        #: Requests that wait while parts move to another server.
        self._aside: dict[int, OpenRequest] = {}
        self._is_moving = self._is_leaving = False
        self._compression: TwoBitCompression | None = None

    # tensors

    def init(self, name: Key, value: np.ndarray, is_row_sparse: bool = False) -> None:
        """Announce a key, and store the value of the first worker.

        Parameters
        ----------
        name
            The key.
        value
            The initial value. Only the first worker's is stored; other workers' values tell shape and data type.
        is_row_sparse
            Whether pushed values without an optimizer replace only their rows.

        Raises
        ------
        MXNetError
            If the key exists.
        ParameterError
            If workers disagree on it.
        """
        if name in self._tensors:
            raise MXNetError(f"KVStore: duplicate init of key {name}", None, "init or broadcast each key once")
        servers = [self._home(server) for server in self._all_servers]
        self._tensors[name] = tensor = divided(len(self._tensors), name, value, is_row_sparse, servers, self._bound)
        self._clocks[name] = 0
        self._initial = value
        for part in tensor.parts:
            self._announce(tensor, part)
            # sent without a request, which saves a message each way; the other workers send their values on request only
            if self.rank == 0:
                self._send_value(name, part.shard)
        self._requests.wait()
        self._initial = None

    def _announce(self, tensor: DividedTensor, part: TensorPart, **more: object) -> None:
        shape = [part.stop - part.start, *(tensor.shape[1:] if tensor.width > 1 else ())]
        about = {"name": tensor.name, "shape": shape, "dtype": tensor.dtype.name, "is_cut": len(tensor.parts) > 1, **more}
        if tensor.is_row_sparse:
            about["stype"] = "row_sparse"
        self._requests.ask(
            Opcode.INIT, tensor, part, json.dumps(about).encode(), None, self._clocks[tensor.name], is_move="heir_of" in more
        )

    def _send_value(self, name: Key, index: int) -> None:
        """Send the last value of a part that this worker has received, or else the part's initial value."""
        tensor = self._tensors[name]
        kept = self._requests.replay.value(tensor.key, index)
        clock, value = (0, b"") if kept is None else kept[:2]
        part = tensor.parts[index]
        if self._initial is not None and not value:
            value = bytes_of(self._slice(tensor, part, self._initial))
        self._requests.ask(Opcode.BCAST, tensor, part, value, None, clock)

    def push(self, name: Key, array: np.ndarray) -> None:
        """Send a value or gradient. The caller may change the array when this returns. The next pull raises errors of the server.

        Parameters
        ----------
        name
            The key.
        array
            An array of its shape and data type.

        Raises
        ------
        MXNetError
            If the key was not initialized.
        ShapeError
            If the array has another shape or data type.
        """
        self._push(name, array, None)

    def pushpull(self, name: Key, array: np.ndarray, out: np.ndarray) -> None:
        """`push`, then `pull`, with one message each way."""
        self._push(name, array, self._flat(self._tensor(name), out))
        self._requests.wait()

    def _push(self, name: Key, array: np.ndarray, out: np.ndarray | None) -> None:
        tensor = self._tensor(name)
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise self._unlike(tensor, array)
        flags = 0
        if self._compression is not None and array.dtype == np.float32:
            # a view, because an NDArray makes the array that it takes over unwritable, and this one is the caller's
            array, flags = self._compression(name, from_numpy(np.ascontiguousarray(array).view())).asnumpy(), Flag.TWO_BIT
        self._clocks[name] = clock = self._clocks[name] + 1
        for part in tensor.parts:
            piece = self._slice(tensor, part, array)
            payload = bytes_of(pack_two_bit(piece.reshape(-1)) if flags else piece)
            target = None if out is None else out[part.start * tensor.width : part.stop * tensor.width]
            self._requests.ask(Opcode.PUSH if out is None else Opcode.PUSHPULL, tensor, part, payload, target, clock, flags)

    def pull(self, name: Key, out: np.ndarray) -> None:
        """Copy the stored value into an array.

        Parameters
        ----------
        name
            The key.
        out
            A C-contiguous array of its shape and data type.

        Raises
        ------
        MXNetError
            If the key was not initialized.
        ShapeError
            If the array has another shape or data type.
        ClusterTimeout
            If a worker or server does not answer.
        """
        self.start_pull(name, out)
        self._requests.wait()

    def start_pull(self, name: Key, out: np.ndarray) -> None:
        """Ask for a value. It is in ``out`` after `finish`."""
        tensor = self._tensor(name)
        flat = self._flat(tensor, out)
        for part in tensor.parts:
            target = flat[part.start * tensor.width : part.stop * tensor.width]
            self._requests.ask(Opcode.PULL, tensor, part, b"", target, self._clocks[name])

    def finish(self) -> None:
        """Wait for all values that were asked for."""
        self._requests.wait()

    # rows

    def push_rows(self, name: Key, ids: np.ndarray, rows: np.ndarray) -> None:
        """Send rows of a gradient.

        Parameters
        ----------
        name
            The key.
        ids
            Row numbers, (n,), ascending.
        rows
            The rows, (n, …).
        """
        tensor = self._by_rows(name)
        rows = np.ascontiguousarray(rows, tensor.dtype)
        ids = np.ascontiguousarray(ids, np.int64)
        if rows.shape != (ids.size, *tensor.shape[1:]):
            raise ShapeError(f"push of key {name!r}: rows of the wrong shape", f"{rows.shape}", f"pass {(ids.size, *tensor.shape[1:])}")
        self._clocks[name] = clock = self._clocks[name] + 1
        for part in tensor.parts:
            first, last = tensor.places(part, ids)
            payload = (ids[first:last] - part.start).tobytes() + rows[first:last].tobytes()
            self._requests.ask(Opcode.PUSH, tensor, part, payload, None, clock, Flag.ROW_SPARSE, last - first)

    def pull_rows(self, name: Key, ids: np.ndarray) -> np.ndarray:
        """Rows of a stored value, (n, …), by ascending row numbers, (n,)."""
        tensor = self._by_rows(name)
        ids = np.ascontiguousarray(ids, np.int64)
        if ids.size and (ids[0] < 0 or ids[-1] >= tensor.shape[0] or (np.diff(ids) < 0).any()):
            raise ShapeError(f"pull of key {name!r}: row ids must ascend and be below {tensor.shape[0]}", str(ids[:8]), "sort them")
        rows = np.empty((ids.size, *tensor.shape[1:]), tensor.dtype)
        flat = rows.reshape(-1)
        for part in tensor.parts:
            first, last = tensor.places(part, ids)
            if last > first:
                target = flat[first * tensor.width : last * tensor.width]
                payload = (ids[first:last] - part.start).tobytes()
                self._requests.ask(Opcode.RSP_PULL, tensor, part, payload, target, self._clocks[name], 0, last - first)
        self._requests.wait()
        return rows

    def _by_rows(self, name: Key) -> DividedTensor:
        tensor = self._tensor(name)
        if len(tensor.parts) > 1 and tensor.width == 1 and len(tensor.shape) > 1:
            todo = "init it as a row-sparse array, or raise MXNET_KVSTORE_BIGARRAY_BOUND above its size"
            raise MXNetError(f"KVStore: key {name!r} is divided by elements, not by rows", f"shape {tensor.shape}", todo)
        return tensor

    # all servers

    def set_optimizer(self, text: str) -> None:
        """Update stored values with an optimizer, see `optimizer_to_json`. All workers call this with the same one."""
        self._ask_by_first(Opcode.SET_OPTIMIZER, text.encode())

    def change_optimizer(self, **values: float) -> None:
        """Change numbers of the servers' optimizer, such as ``lr``, from the next update on."""
        self._ask_all(Opcode.SET_OPTIMIZER, json.dumps({"change": values}).encode())

    def set_gradient_compression(self, params: Mapping[str, str | float]) -> None:
        """Compress pushed values. All workers call this."""
        self._compression = compression_of(params)
        self._ask_by_first(Opcode.SET_COMPRESSION, json.dumps(dict(params)).encode())

    def _ask_by_first(self, op: Opcode, payload: bytes) -> None:
        """Let the first worker send a request, and wait for its replies. If that worker dies before, the next sends it."""
        first, live = 0, list[int]()
        while first not in live:
            first = live[0] if live else first
            if self.rank == first:
                self._ask_all(op, payload)
            # the list is the same on all workers, so they agree on whether the sender was live, and which one sends next
            live = json.loads(self._ask_all(Opcode.BARRIER, f"{op.name} {payload.decode()}".encode())[0])

    def barrier(self) -> list[int]:
        """Wait until all workers have called this, and return the workers that were live then, the same list on all of them."""
        return json.loads(self._ask_all(Opcode.BARRIER)[0])

    def end_epoch(self) -> None:
        """Wait until all workers have pushed their last batch. Workers with fewer batches do not hold up those with more."""
        self._ask_all(Opcode.DONE)

    def send_command(self, head: int, body: str) -> None:
        """Call the function for commands on each server."""
        self._ask_all(Opcode.COMMAND, body.encode(), clock=head)

    def dead_workers(self) -> list[int]:
        """The workers that the servers consider dead."""
        found: set[int] = set()
        for text in self._ask_all(Opcode.HEARTBEAT):
            found.update(json.loads(text)["dead"])
        return sorted(found)

    def optimizer_states(self) -> list[bytes]:
        """The optimizer's states on each server that is left."""
        while True:
            servers = self.servers
            states = self._ask_all(Opcode.STATE)
            # an heir may have answered before it got the parts of a server that died meanwhile
            if servers == self.servers:
                return states

    def stop(self) -> None:
        """Leave the servers; they stop when all workers have left."""
        self._is_leaving = True
        self._ask_all(Opcode.STOP)

    def restore_optimizer_states(self, states: list[bytes]) -> None:
        """Continue with states from `optimizer_states`, of as many servers, none of which may die meanwhile."""
        servers = self.servers
        if len(states) != len(self.servers):
            given = f"{len(states)} for {len(self.servers)}"
            raise ParameterError("load_optimizer_states: the number of servers differs", given, "launch as many")
        self._ask_all(Opcode.STATE, *states)
        if servers != self.servers:
            given = f"{len(servers) - len(self.servers)} of {len(servers)}"
            raise ClusterError(
                "load_optimizer_states: a server has died meanwhile", given, "launch again, and continue from the checkpoint"
            )

    def _ask_all(self, op: Opcode, *payloads: bytes, clock: int = 0) -> list[bytes]:
        """Send a request to each server, with one payload for all or one for each, and wait for the replies."""
        requests = self._requests
        requests.texts.clear()
        # all servers get their request before the first answer is awaited, so that they work at the same time
        for k, server in enumerate(self.servers):
            requests.ask_server(server, op, payloads[k] if len(payloads) > 1 else payloads[0] if payloads else b"", clock)
        requests.wait()
        return [requests.texts[server] for server in self.servers]

    # a server that died

    def _replace(self, dead: int) -> None:
        """Go on without a server. The next server gets its parts of tensors, and the messages that are kept for it.

        Every worker does this when it finds out, without asking the others. The optimizer's states are those of the dead server's last
        snapshot.

        Raises
        ------
        ClusterError
            If this is not possible.
        """
        self._requests.gone.discard(dead)
        if dead not in self.servers:  # replaced before
            return
        logging.warning("server %d has died", dead - self._workers)
        self.servers = others = tuple([server for server in self.servers if server != dead])
        # dropped: requests to all servers, which the heir has received too, and moves to the dead server, which begin again below
        waiting = {seq: r for seq, r in self._requests.open.items() if r.server != dead or (r.name is not None and not r.is_move)}
        if self._is_leaving:
            self._requests.open = {seq: request for seq, request in waiting.items() if request.server != dead}
            return
        self._check_replaceable(dead, others)
        heir = self._heirs[dead] = next((server for server in others if server > dead), others[0])
        # first the parts move, then all other requests are sent: a server answers no pull of a part whose value it does not have
        self._requests.open = {seq: request for seq, request in waiting.items() if request.is_move}
        self._aside |= {seq: request for seq, request in waiting.items() if not request.is_move}
        for name, tensor in self._tensors.items():
            moved = [part for part in tensor.parts if part.server == dead]
            parts = tuple([part._replace(server=heir) if part.server == dead else part for part in tensor.parts])
            self._tensors[name] = tensor = tensor._replace(parts=parts)
            for part in moved:
                self._announce(tensor, part._replace(server=heir), **self._kept_value(tensor, part), heir_of=dead)
        self._requests.replay.move(dead, heir)
        if not self._is_moving:
            # only the outermost call waits: a call from inside that wait adds the parts of another dead server to those that move
            self._is_moving = True
            try:
                self._requests.wait()  # calls this method again if another server dies meanwhile: its parts are moved as well
            finally:
                self._is_moving = False
            # of requests to all servers, those to servers that have died meanwhile are dropped too
            kept = {seq: r for seq, r in self._aside.items() if r.name is not None or r.server not in self._heirs}
            self._requests.open = {seq: r._replace(server=self._home(r.server)) for seq, r in kept.items()}
            self._aside = {}
            self._requests.send_again()

    def _check_replaceable(self, dead: int, others: Sequence[int]) -> None:
        what, todo = f"server {dead - self._workers} has died{on_hosts([dead])}", "continue from a checkpoint"
        if not others:
            raise ClusterError(f"{what}: there is no other server", None, todo)
        if not self._is_tolerant:
            raise ClusterError(f"{what}: the messages sent to it are lost", None, f"{todo}; twofold launch --ft replaces servers")
        parts = [(tensor, part) for tensor in self._tensors.values() for part in tensor.parts if part.server == dead]
        for tensor, part in parts:
            if self._requests.replay.has_rows_alone(tensor.key, part.shard):
                # the worker has some rows of the part, and the pushes to them are confirmed: neither can rebuild the other rows
                raise ClusterError(f"{what}, and rows of key {tensor.name!r} were only there", "no worker pulls all of them", todo)

    def _kept_value(self, tensor: DividedTensor, part: TensorPart) -> dict[str, object]:
        """What an announcement says of the last value of a part."""
        found = self._requests.replay.value(tensor.key, part.shard)
        if found is None:
            return {"clock": NO_VALUE, "version": NO_VALUE}
        return {"clock": found.clock, "version": found.included.version, "counts": [*found.included.counts.items()]}

    def _home(self, server: int) -> int:
        """The server that now holds the parts that another server held at the start; while that one lives, it is the same server."""
        while server in self._heirs:
            server = self._heirs[server]
        return server

    # checks

    def memory_for(self, message: Message, size: int) -> memoryview | None:
        """Where the payload of a reply belongs; see `Requests.memory_for`."""
        return self._requests.memory_for(message, size)

    def _tensor(self, name: Key) -> DividedTensor:
        tensor = self._tensors.get(name)
        if tensor is None:
            raise MXNetError(f"KVStore: key {name} has not been inited", None, "call init or broadcast with it first")
        return tensor

    def _unlike(self, tensor: DividedTensor, array: np.ndarray) -> ShapeError:
        given = f"{array.shape} of {array.dtype}" + ("" if array.flags.c_contiguous else ", not contiguous")
        return ShapeError(f"KVStore: the array does not fit key {tensor.name!r}", given, f"pass one of {tensor.shape} of {tensor.dtype}")

    def _flat(self, tensor: DividedTensor, out: np.ndarray) -> np.ndarray:
        """The elements of an array to write to, as a view."""
        if out.shape != tensor.shape or out.dtype != tensor.dtype or not out.flags.c_contiguous:
            raise self._unlike(tensor, out)
        return out.reshape(-1)

    def _slice(self, tensor: DividedTensor, part: TensorPart, array: np.ndarray) -> np.ndarray:
        """A part of an array, C-contiguous."""
        array = np.ascontiguousarray(array)
        if len(tensor.parts) == 1:
            return array
        return array.reshape(-1)[part.start * tensor.width : part.stop * tensor.width]
