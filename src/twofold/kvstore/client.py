"""`ServerClient`: a worker's side of a store with servers. It divides tensors among servers, counts pushes, and waits with deadlines."""

import json
import logging
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np

from ..errors import ClusterError, ClusterTimeout, MessageLost, MXNetError, ParameterError, ProcessGone, ShapeError
from ..ndarray.creation import from_numpy
from .announcement import NO_VALUE
from .base import Key
from .compression import TwoBitCompression, compression_of, pack_two_bit
from .kept import Kept
from .messages import NO_KEY, Flag, Message, Op, Payload, bytes_of, error_in
from .parts import Part, Tensor, divided
from .transports import Transport

__all__ = ["ServerClient"]

#: Seconds by which a server, which knows the workers that are missing, fails a request before its client does.
GRACE = 5.0


class Request(NamedTuple):
    """A request that waits for its reply."""

    server: int
    message: Message
    name: Key | None
    #: Where the reply's payload goes.
    out: memoryview | None
    #: Whether it announces a part that another server had.
    is_move: bool = False


class ServerClient:
    """Sends a worker's tensors to servers, as NumPy arrays.

    Parameters
    ----------
    transport
        What carries messages. Its processes are the workers, then the servers.
    workers
        The number of workers.
    timeout
        Seconds to wait for a reply.
    bound
        Number of elements from which a tensor is divided among all servers; a smaller one is on a single server.
    attempts
        How often a request is sent before its deadline. More than once is for transports that lose messages.
    is_tolerant
        Whether to go on without a server that dies, if there is another: what is sent and received is kept for that.

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
        self._transport, self._rank, self._workers = transport, transport.rank, workers
        #: Those that are left, and those that were there at first, by which tensors are divided.
        self._servers = self._all_servers = tuple(range(workers, transport.size))
        self._timeout, self._bound, self._attempts = timeout, bound, attempts
        self._tensors: dict[Key, Tensor] = {}
        self._clocks: dict[Key, int] = {}
        self._seq = 0
        self._pending: dict[int, Request] = {}
        self._failure: MXNetError | None = None
        self._is_tolerant, self._keeps = is_tolerant, is_tolerant or attempts > 1
        self._kept = Kept()
        #: The value of the key that is being initialized: the servers ask for it if the workers before this one have died.
        self._initial: np.ndarray | None = None
        #: Servers that were found dead and are not replaced yet; which server has the parts of a dead one.
        self._gone: set[int] = set()
        self._heirs: dict[int, int] = {}
        #: Requests that wait while parts move to another server.
        self._aside: dict[int, Request] = {}
        self._is_moving = self._is_leaving = False
        self._compression: TwoBitCompression | None = None
        self._texts: dict[int, bytes] = {}

    @property
    def rank(self) -> int:
        """The number of this worker."""
        return self._rank

    @property
    def servers(self) -> tuple[int, ...]:
        """The processes that are servers."""
        return self._servers

    # tensors

    def init(self, name: Key, value: np.ndarray, is_row_sparse: bool = False) -> None:
        """Announce a key, and store the value of the first worker.

        Parameters
        ----------
        name
            The key.
        value
            The initial value; that of workers other than the first gives shape and data type only.
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
            if self._rank == 0:
                self._send_value(tensor, part.shard)
        self._wait()
        self._initial = None

    def _announce(self, tensor: Tensor, part: Part, **more: int) -> None:
        shape = [part.stop - part.start, *(tensor.shape[1:] if tensor.width > 1 else ())]
        about = {"name": tensor.name, "shape": shape, "dtype": tensor.dtype.name, "is_cut": len(tensor.parts) > 1, **more}
        if tensor.is_row_sparse:
            about["stype"] = "row_sparse"
        self._ask(Op.INIT, tensor, part, json.dumps(about).encode(), is_move="heir_of" in more)

    def _send_value(self, tensor: Tensor, index: int) -> None:
        """Send the last value that this worker has of a part, or the initial one."""
        clock, value = self._kept.value(tensor.key, index) or (0, b"")
        part = tensor.parts[index]
        if self._initial is not None and not value:
            value = bytes_of(self._slice(tensor, part, self._initial))
        self._ask(Op.BCAST, tensor, part, value, clock=clock)

    def push(self, name: Key, array: np.ndarray) -> None:
        """Send a value or gradient. It may be changed when this returns; errors of the server are raised by the next pull.

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
        self._wait()

    def _push(self, name: Key, array: np.ndarray, out: np.ndarray | None) -> None:
        tensor = self._tensor(name)
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise self._unlike(tensor, array)
        flags = 0
        if self._compression is not None and array.dtype == np.float32:
            array, flags = self._compression(name, from_numpy(np.ascontiguousarray(array).view())).asnumpy(), Flag.TWO_BIT
        self._clocks[name] += 1
        for part in tensor.parts:
            piece = self._slice(tensor, part, array)
            payload = bytes_of(pack_two_bit(piece.reshape(-1)) if flags else piece)
            target = None if out is None else out[part.start * tensor.width : part.stop * tensor.width]
            self._ask(Op.PUSH if out is None else Op.PUSHPULL, tensor, part, payload, target, flags)

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
        self._wait()

    def start_pull(self, name: Key, out: np.ndarray) -> None:
        """Ask for a value, which is in ``out`` after `finish`."""
        tensor = self._tensor(name)
        flat = self._flat(tensor, out)
        for part in tensor.parts:
            self._ask(Op.PULL, tensor, part, b"", flat[part.start * tensor.width : part.stop * tensor.width])

    def finish(self) -> None:
        """Wait for all that was asked for."""
        self._wait()

    # rows

    def push_rows(self, name: Key, ids: np.ndarray, rows: np.ndarray) -> None:
        """Send rows of a gradient.

        Parameters
        ----------
        name
            The key.
        ids
            Their numbers, (n,), ascending.
        rows
            The rows, (n, …).
        """
        tensor = self._by_rows(name)
        rows = np.ascontiguousarray(rows, tensor.dtype)
        ids = np.ascontiguousarray(ids, np.int64)
        if rows.shape != (ids.size, *tensor.shape[1:]):
            raise ShapeError(f"push of key {name!r}: rows of the wrong shape", f"{rows.shape}", f"pass {(ids.size, *tensor.shape[1:])}")
        self._clocks[name] += 1
        for part in tensor.parts:
            first, last = np.searchsorted(ids, (part.start, part.stop)) if len(tensor.parts) > 1 else (0, ids.size)
            payload = (ids[first:last] - part.start).tobytes() + rows[first:last].tobytes()
            self._ask(Op.PUSH, tensor, part, payload, None, Flag.ROW_SPARSE, int(last - first))

    def pull_rows(self, name: Key, ids: np.ndarray) -> np.ndarray:
        """The rows of a stored value, (n, …), by their numbers (n,), which ascend."""
        tensor = self._by_rows(name)
        ids = np.ascontiguousarray(ids, np.int64)
        if ids.size and (ids[0] < 0 or ids[-1] >= tensor.shape[0] or (np.diff(ids) < 0).any()):
            raise ShapeError(f"pull of key {name!r}: row ids must ascend and be below {tensor.shape[0]}", str(ids[:8]), "sort them")
        rows = np.empty((ids.size, *tensor.shape[1:]), tensor.dtype)
        flat = rows.reshape(-1)
        for part in tensor.parts:
            first, last = np.searchsorted(ids, (part.start, part.stop)) if len(tensor.parts) > 1 else (0, ids.size)
            if last > first:
                target = flat[first * tensor.width : last * tensor.width]
                self._ask(Op.RSP_PULL, tensor, part, (ids[first:last] - part.start).tobytes(), target, 0, int(last - first))
        self._wait()
        return rows

    def _by_rows(self, name: Key) -> Tensor:
        tensor = self._tensor(name)
        if len(tensor.parts) > 1 and tensor.width == 1 and len(tensor.shape) > 1:
            todo = "init it as a row-sparse array, or raise MXNET_KVSTORE_BIGARRAY_BOUND above its size"
            raise MXNetError(f"KVStore: key {name!r} is divided by elements, not by rows", f"shape {tensor.shape}", todo)
        return tensor

    # all servers

    def set_optimizer(self, text: str) -> None:
        """Update stored values with an optimizer, see `optimizer_to_json`. All workers call this; the first one's is used."""
        self._ask_by_first(Op.SET_OPTIMIZER, text.encode())

    def change_optimizer(self, **values: float) -> None:
        """Change numbers of the servers' optimizer, such as ``lr``, from the next update on."""
        self._ask_all(Op.SET_OPTIMIZER, json.dumps({"change": values}).encode())

    def set_gradient_compression(self, params: Mapping[str, str | float]) -> None:
        """Compress what is pushed. All workers call this."""
        self._compression = compression_of(params)
        self._ask_by_first(Op.SET_COMPRESSION, json.dumps(dict(params)).encode())

    def _ask_by_first(self, op: Op, payload: bytes) -> None:
        """Send a request of the first worker, and wait until it is carried out: another one sends it if that one has died before."""
        first, live = 0, list[int]()
        while first not in live:
            first = live[0] if live else first
            if self._rank == first:
                self._ask_all(op, payload)
            live = self.barrier()

    def barrier(self) -> list[int]:
        """Wait until all workers have called this; return the workers that then were live, the same list on all of them."""
        return json.loads(self._ask_all(Op.BARRIER)[0])

    def end_epoch(self) -> None:
        """Wait until all workers have pushed their last batch; those that have more are not held up by those that have fewer."""
        self._ask_all(Op.DONE)

    def send_command(self, head: int, body: str) -> None:
        """Call the function for commands on each server."""
        self._ask_all(Op.COMMAND, body.encode(), clock=head)

    def dead_workers(self) -> list[int]:
        """The workers that the servers consider dead."""
        found: set[int] = set()
        for text in self._ask_all(Op.HEARTBEAT):
            found.update(json.loads(text)["dead"])
        return sorted(found)

    def optimizer_states(self) -> list[bytes]:
        """The optimizer's states on each server."""
        return self._ask_all(Op.STATE)

    def stop(self) -> None:
        """Leave the servers; they stop when all workers have left."""
        self._is_leaving = True
        self._ask_all(Op.STOP)

    def restore_optimizer_states(self, states: list[bytes]) -> None:
        """Continue with states from `optimizer_states`, of as many servers."""
        if len(states) != len(self._servers):
            given = f"{len(states)} for {len(self._servers)}"
            raise ParameterError("load_optimizer_states: the number of servers differs", given, "launch as many")
        self._ask_all(Op.STATE, *states)

    def _ask_all(self, op: Op, *payloads: bytes, clock: int = 0) -> list[bytes]:
        """Send a request to each server, with one payload for all or one for each, and wait for the replies."""
        self._texts.clear()
        for k, server in enumerate(self._servers):
            self._seq += 1
            payload = payloads[k] if len(payloads) > 1 else payloads[0] if payloads else b""
            message = Message(op, NO_KEY, worker=self._rank, clock=clock, seq=self._seq, payload=payload)
            self._pending[self._seq] = Request(server, message, None, None)
            self._send(server, message)
        self._wait()
        return [self._texts[server] for server in self._servers]

    # a server that died

    def _replace(self, dead: int) -> None:
        """Go on without a server. The next one gets its parts of tensors; what is kept for it is sent there.

        All workers do this, each when it finds out. The optimizer's states are those of the dead server's last snapshot.

        Raises
        ------
        ClusterError
            If this is not possible.
        """
        self._gone.discard(dead)
        if dead not in self._servers:  # that is known
            return
        logging.warning("server %d has died", dead - self._workers)
        self._servers = others = tuple([server for server in self._servers if server != dead])
        # what was asked of all servers has no meaning for a single other one
        waiting = {seq: r for seq, r in self._pending.items() if r.server != dead or (r.name is not None and not r.is_move)}
        if self._is_leaving:
            self._pending = {seq: request for seq, request in waiting.items() if request.server != dead}
            return
        self._check_replaceable(dead, others)
        heir = self._heirs[dead] = next((server for server in others if server > dead), others[0])
        self._pending = {seq: request for seq, request in waiting.items() if request.is_move}
        self._aside |= {seq: request for seq, request in waiting.items() if not request.is_move}
        for name, tensor in self._tensors.items():
            moved = [part for part in tensor.parts if part.server == dead]
            parts = tuple([part._replace(server=heir) if part.server == dead else part for part in tensor.parts])
            self._tensors[name] = tensor = tensor._replace(parts=parts)
            for part in moved:
                self._announce(tensor, part._replace(server=heir), clock=self._kept_clock(tensor, part), heir_of=dead)
        self._kept.move(dead, heir)
        if not self._is_moving:
            self._is_moving = True
            try:
                self._wait()  # if another server dies meanwhile, its parts are moved as well
            finally:
                self._is_moving = False
            self._pending = {seq: r._replace(server=self._home(r.server)) for seq, r in self._aside.items()}
            self._aside = {}
            self._send_again()

    def _check_replaceable(self, dead: int, others: Sequence[int]) -> None:
        what, todo = f"server {dead - self._workers} has died", "continue from a checkpoint"
        if not others:
            raise ClusterError(what, "there is no other server", todo)
        if not self._is_tolerant:
            raise ClusterError(what, "what was sent to it is not kept", f"{todo}; twofold launch --ft replaces servers")
        parts = [(tensor, part) for tensor in self._tensors.values() for part in tensor.parts if part.server == dead]
        for tensor, part in parts:
            if self._kept.has_rows_alone(tensor.key, part.shard):
                raise ClusterError(f"{what}, and rows of key {tensor.name!r} were only there", "no worker pulls all of them", todo)

    def _kept_clock(self, tensor: Tensor, part: Part) -> int:
        found = self._kept.value(tensor.key, part.shard)
        return NO_VALUE if found is None else found[0]

    def _home(self, server: int) -> int:
        """A server, or after its death the one that has its parts."""
        while server in self._heirs:
            server = self._heirs[server]
        return server

    # messages

    def memory_for(self, message: Message, size: int) -> memoryview | None:
        """Where the payload of a reply belongs, for transports that can receive it there; None if it is not wanted."""
        request = self._pending.get(message.seq)
        wanted = request is not None and message.op == Op.OK and request.out is not None and request.out.nbytes == size
        return request.out if request is not None and wanted else None

    def _tensor(self, name: Key) -> Tensor:
        tensor = self._tensors.get(name)
        if tensor is None:
            raise MXNetError(f"KVStore: key {name} has not been inited", None, "call init or broadcast with it first")
        return tensor

    def _unlike(self, tensor: Tensor, array: np.ndarray) -> ShapeError:
        given = f"{array.shape} of {array.dtype}" + ("" if array.flags.c_contiguous else ", not contiguous")
        return ShapeError(f"KVStore: the array does not fit key {tensor.name!r}", given, f"pass one of {tensor.shape} of {tensor.dtype}")

    def _flat(self, tensor: Tensor, out: np.ndarray) -> np.ndarray:
        """The elements of an array to write to, as a view."""
        if out.shape != tensor.shape or out.dtype != tensor.dtype or not out.flags.c_contiguous:
            raise self._unlike(tensor, out)
        return out.reshape(-1)

    def _slice(self, tensor: Tensor, part: Part, array: np.ndarray) -> np.ndarray:
        """A part of an array, C-contiguous."""
        array = np.ascontiguousarray(array)
        if len(tensor.parts) == 1:
            return array
        return array.reshape(-1)[part.start * tensor.width : part.stop * tensor.width]

    def _ask(
        self,
        op: int,
        tensor: Tensor,
        part: Part,
        payload: Payload,
        out: np.ndarray | None = None,
        flags: int = 0,
        rows: int = 0,
        clock: int | None = None,
        is_move: bool = False,
    ) -> None:
        self._seq = seq = self._seq + 1
        clock = self._clocks[tensor.name] if clock is None else clock
        if op == Op.PUSH:
            flags |= Flag.QUIET
        message = Message(op, tensor.key, tensor.code, flags, part.shard, self._rank, clock, seq, rows, payload)
        if self._keeps:
            message = message._replace(payload=bytes(payload))
            self._kept.sent(part.server, message)
        if op != Op.PUSH:
            self._pending[seq] = Request(part.server, message, tensor.name, None if out is None else bytes_of(out), is_move)
        self._send(part.server, message)

    def _send(self, server: int, message: Message) -> None:
        try:
            self._transport.send(server, message)
        except ProcessGone:
            self._gone.add(server)  # the next wait sees to it, when all that was to be sent is kept

    def _wait(self) -> None:
        """Receive the replies to all requests.

        Raises
        ------
        MXNetError
            The first error that a server answered.
        ClusterTimeout
            If a reply does not arrive in time.
        """
        patience = (self._timeout + GRACE) / self._attempts
        until, attempts = monotonic() + patience, 1
        while self._pending or self._gone:
            if self._gone:
                self._replace(min(self._gone))
                until = monotonic() + patience
                continue
            try:
                received = self._transport.receive(max(0.0, until - monotonic()))
            except ProcessGone as gone:
                if gone.process not in self._all_servers:
                    raise
                self._gone.add(gone.process)
                continue
            if received is not None:
                self._accept(*received)
            elif attempts < self._attempts:
                until, attempts = monotonic() + patience, attempts + 1
                self._send_again()
            else:
                raise self._late()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _accept(self, server: int, message: Message) -> None:
        op, key, _, _, index, _, _, seq, _, payload = message
        request = self._pending.get(seq)
        if op == Op.ERROR:
            error = error_in(message)
            if isinstance(error, MessageLost) and self._attempts > 1:
                self._send_again((server, key, index))
            elif request is not None or self._attempts == 1:  # else an answer to what was sent twice
                self._pending.pop(seq, None)
                self._failure = self._failure or error
            return
        if request is None:
            return
        del self._pending[seq]
        if self._keeps:
            self._kept.received(server, request.message.op, message)
        if message.flags & Flag.SEND_VALUE and request.name is not None:
            self._send_value(self._tensors[request.name], index)
        if request.name is None:
            self._texts[server] = bytes(payload)
        elif request.out is not None and len(payload) != request.out.nbytes:
            self._failure = ClusterError(f"server {server}: a reply of the wrong size", f"{len(payload)} bytes", "see its log")
        elif request.out is not None and payload is not request.out:  # it was not received there
            request.out[:] = payload

    def _send_again(self, place: tuple[int, int, int] | None = None) -> None:
        """Send all that was not answered, in its order: servers leave out what they have already carried out."""
        for server, message in self._kept.pushes(place):
            self._send(server, message)
        for request in tuple(self._pending.values()):
            if request.message.op != Op.PUSHPULL and place is None:
                self._send(request.server, request.message)

    def _late(self) -> ClusterTimeout:
        request = next(iter(self._pending.values()))
        servers = sorted({r.server for r in self._pending.values()})
        self._pending.clear()
        key = "" if request.name is None else f" of key {request.name!r} at clock {request.message.clock}"
        what = f"{Op(request.message.op).name}{key}: no answer within {self._timeout + GRACE:g} s"
        return ClusterTimeout(what, f"missing servers: {servers}", "see whether they still run, or raise TWOFOLD_KV_TIMEOUT")
