"""`Requests`: a worker's requests to servers. They are sent again if messages are lost, and their replies have deadlines."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import NamedTuple

import numpy as np

from ..errors import ClusterError, ClusterTimeout, MessageLost, MXNetError, ProcessGone
from .base import Key
from .messages import NO_KEY, Flag, Message, Opcode, Payload, bytes_of, error_in
from .parts import DividedTensor, TensorPart
from .process_hosts import on_hosts
from .replay_buffer import ReplayBuffer, parted
from .transports import Transport

#: Seconds by which a server, which knows the workers that are missing, fails a request before its client does.
GRACE = 5.0


class OpenRequest(NamedTuple):
    """A request that waits for its reply.

    Attributes
    ----------
    server, message
        The request, and where it was sent.
    name
        The key; None for a request to all servers.
    out
        Where the reply's payload goes.
    is_move
        Whether it announces a part that another server had.
    """

    server: int
    message: Message
    name: Key | None
    out: memoryview | None
    is_move: bool = False


class Requests:
    """Sends requests, and receives their replies.

    Parameters
    ----------
    transport
        Carries messages.
    servers
        The processes that are servers.
    timeout
        Seconds to wait for a reply.
    attempts
        How often a request is sent before its deadline. More than once is for transports that lose messages.
    is_tolerant
        Whether the worker goes on without a server that dies.
    send_value
        Called with the name of a key and the number of a part if a server asks for the value of that part.
    replace
        Called with the number of a server that has died, once every message for that server is in the replay buffer.
    """

    def __init__(
        self,
        transport: Transport,
        servers: Iterable[int],
        timeout: float,
        attempts: int,
        is_tolerant: bool,
        send_value: Callable[[Key, int], object],
        replace: Callable[[int], object],
    ) -> None:
        self._transport, self._rank, self._servers = transport, transport.rank, frozenset(servers)
        self._timeout, self._attempts = timeout, attempts
        self._send_value, self._replace = send_value, replace
        #: The number of the last request. A server takes the numbers of a worker's requests to it in ascending order.
        self._seq = 0
        #: The requests that wait for replies, by number, in the order of sending: they are sent again in that order.
        self.open: dict[int, OpenRequest] = {}
        #: The first error that a server has answered, raised when all replies have come.
        self._failure: MXNetError | None = None
        #: Messages that may have to be sent again, and the last values received. The payloads that are kept are copies.
        self.replay = ReplayBuffer()
        self._is_tolerant, self._keeps_messages = is_tolerant, is_tolerant or attempts > 1
        #: Servers that were found dead and are not replaced yet.
        self.gone: set[int] = set()
        #: The replies to a request to all servers, by server.
        self.texts: dict[int, bytes] = {}

    def ask(
        self,
        op: int,
        tensor: DividedTensor,
        part: TensorPart,
        payload: Payload,
        out: np.ndarray | None,
        clock: int,
        flags: int = 0,
        rows: int = 0,
        is_move: bool = False,
    ) -> None:
        """Send a request about a part of a key. Pushes are quiet: nothing waits for a reply to them."""
        self._seq = seq = self._seq + 1
        if op == Opcode.PUSH:
            flags |= Flag.QUIET
        elif op in (Opcode.PULL, Opcode.PUSHPULL) and self._is_tolerant:
            flags |= Flag.COUNTS
        message = Message(op, tensor.key, tensor.code, flags, part.shard, self._rank, clock, seq, rows, payload)
        if self._keeps_messages:
            # a copy: the caller may change its array as soon as this returns, and the message may be sent again
            message = message._replace(payload=bytes(payload))
            self.replay.sent(part.server, message)
        if op != Opcode.PUSH:
            self.open[seq] = OpenRequest(part.server, message, tensor.name, None if out is None else bytes_of(out), is_move)
        self._send(part.server, message)

    def ask_server(self, server: int, op: Opcode, payload: bytes, clock: int) -> None:
        """Send a request that is not about a key. `texts` has its reply after `wait`."""
        self._seq += 1
        message = Message(op, NO_KEY, worker=self._rank, clock=clock, seq=self._seq, payload=payload)
        self.open[self._seq] = OpenRequest(server, message, None, None)
        self._send(server, message)

    def _send(self, server: int, message: Message) -> None:
        try:
            self._transport.send(server, message)
        except ProcessGone:
            # not replaced here: the caller may be in the middle of several messages, and the next `wait` does it when all of them are kept
            self.gone.add(server)

    def wait(self) -> None:
        """Receive the replies to all requests.

        Raises
        ------
        MXNetError
            The first error that a server has answered.
        ClusterTimeout
            If a reply does not arrive in time.
        """
        # all attempts together take as long as one would
        patience = (self._timeout + GRACE) / self._attempts
        until, attempts = monotonic() + patience, 1
        while self.open or self.gone:
            if self.gone:
                self._replace(min(self.gone))
                until = monotonic() + patience
                continue
            try:
                received = self._transport.receive(max(0.0, until - monotonic()))
            except ProcessGone as gone:
                if gone.process not in self._servers:
                    raise
                self.gone.add(gone.process)
                continue
            if received is not None:
                self._accept(*received)
            elif attempts < self._attempts:
                until, attempts = monotonic() + patience, attempts + 1
                self.send_again()
            else:
                raise self._late()
        # raised only when all replies have come: until then servers may still write into the arrays of the caller
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def memory_for(self, message: Message, size: int) -> memoryview | None:
        """Where the payload of a reply belongs, for transports that can receive it there; None if it is not wanted."""
        request = self.open.get(message.seq)
        wanted = request is not None and message.op == Opcode.OK and request.out is not None and request.out.nbytes == size
        return request.out if request is not None and wanted else None

    def _accept(self, server: int, message: Message) -> None:
        message, included = parted(message)
        op, key, _, _, index, _, _, seq, _, payload = message
        request = self.open.get(seq)
        if op == Opcode.ERROR:
            # an error may answer a quiet push, which is not among the open requests
            error = error_in(message)
            if isinstance(error, MessageLost) and self._attempts > 1:
                self.send_again((server, key, index))
            elif request is not None or self._attempts == 1:  # otherwise it answers a message that was sent twice
                self.open.pop(seq, None)
                # the first error is raised: later ones often follow from it
                self._failure = self._failure or error
            return
        if request is None:
            return
        del self.open[seq]
        if self._keeps_messages:
            self.replay.received(server, request.message.op, message, included)
        if request.name is None:
            self.texts[server] = bytes(payload)
            return
        if message.flags & Flag.SEND_VALUE:
            self._send_value(request.name, index)
        if request.out is not None and len(payload) != request.out.nbytes:
            self._failure = ClusterError(f"server {server}: a reply of the wrong size", f"{len(payload)} bytes", "see its log")
        elif request.out is not None and payload is not request.out:  # the transport has not received it there, see `memory_for`
            request.out[:] = payload

    def send_again(self, place: tuple[int, int, int] | None = None) -> None:
        """Send everything that was not answered once more, in the same order. Servers ignore requests that they have already carried out.

        Parameters
        ----------
        place
            A server, key and part whose pushes alone are sent; None for everything.
        """
        for server, message in self.replay.pushes(place):
            self._send(server, message)
        for request in tuple(self.open.values()):
            if request.message.op != Opcode.PUSHPULL and place is None:  # a PUSHPULL is among the pushes
                self._send(request.server, request.message)

    def _late(self) -> ClusterTimeout:
        request = next(iter(self.open.values()))
        servers = sorted({r.server for r in self.open.values()})
        # a reply that comes too late finds no request, and cannot write into an array that the caller has taken back
        self.open.clear()
        key = "" if request.name is None else f" of key {request.name!r} at clock {request.message.clock}"
        what = f"{Opcode(request.message.op).name}{key}: no answer within {self._timeout + GRACE:g} s"
        return ClusterTimeout(
            what, f"missing servers: {servers}{on_hosts(servers)}", "see whether they still run, or raise TWOFOLD_KV_TIMEOUT"
        )
