"""`MpiTransport`: messages between workers and servers by MPI."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import ClusterError, ClusterTimeout, FormatError, ProcessGone
from ..messages import HEADER_SIZE, Message, Opcode, Payload, attach, decode_header, encode_header, reply_error
from ..process_hosts import on_hosts
from .mpi import SMALL, failed, mpi_module, numbers_of

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

#: Tags: a header, followed by a small payload; a large payload.
HEADER, DATA = 1, 2
#: Seconds of polling, and the shortest and longest nap after that: an idle process must not hold a core.
SPIN, NAP, LONGEST_NAP = 0.005, 5e-5, 1e-3


class MpiTransport:
    """Messages between workers and servers; see `Transport`.

    Parameters
    ----------
    comm
        A communicator of all processes for this transport only.
    peers
        The processes that send to this one. To a worker these are the servers; to a server, the workers and the other servers.
    timeout
        Seconds after which a message that the receiver does not take counts as lost.
    limit
        Returns the largest payload that may follow a header; None to allow any.
    takes
        Function of the sender, the message and the payload's size: whether to receive a large payload now. Until then it stays with the
        sender.
    memory
        Function of the message and the payload's size: where to put a large payload. None for memory of the transport.

    Notes
    -----
    A small payload travels in the same MPI message as its header. A large one follows as a second MPI message, which stays in the sender's
    memory until this process asks for it.
    """

    def __init__(
        self,
        comm: Intracomm,
        peers: Sequence[int],
        timeout: float,
        limit: Callable[[Message], int] | None = None,
        takes: Callable[[int, Message, int], bool] | None = None,
        memory: Callable[[Message, int], memoryview | None] | None = None,
    ) -> None:
        self._comm, self._mpi, self._timeout, self._limit, self._takes = comm, mpi_module(), timeout, limit, takes
        self._memory = memory
        #: Headers whose payloads were not received yet, by position among the peers. Nothing else is received from such a peer before:
        #: its header is still in the inbox, and messages of a process keep their order.
        self._deferred: dict[int, tuple[Message, int, int]] = {}
        self.rank, self.size = comm.rank, comm.size
        #: These three have the same length and order; `_gone` removes a peer from all of them.
        self._peers = list(peers)
        #: For each peer, memory for its next header: MPI writes there at any time while the peer's request is open.
        self._inbox = [bytearray(HEADER_SIZE + SMALL) for _ in self._peers]
        self._requests = [comm.Irecv(b, source, HEADER) for b, source in zip(self._inbox, self._peers, strict=True)]
        #: The header, followed by the small payload, of the message that is being sent. `send` returns when MPI has taken them.
        self._outbox = bytearray(HEADER_SIZE + SMALL)
        #: Memory of the last large payload that `receive` returned, used again by the next: the payload is valid until the next call.
        self._large = np.empty(0, np.uint8)
        #: Messages that arrived while another was being sent. Their payloads have memory of their own.
        self._arrived: deque[tuple[int, Message]] = deque()
        #: Processes that were found dead while a message was sent to another.
        self._lost: deque[ProcessGone] = deque()
        #: Replies to refused messages. They are sent by the next `receive`, because a message may be refused during `send`.
        self._owed: deque[tuple[int, Message]] = deque()

    def send(self, dest: int, message: Message) -> None:
        """Send a message. Others are received meanwhile: two processes may send each other more than MPI keeps.

        Raises
        ------
        ClusterError
            If the receiver is gone.
        ClusterTimeout
            If the receiver does not take the message in time.
        """
        payload = message.payload
        size = len(payload)
        encode_header(message, memoryview(self._outbox)[:HEADER_SIZE])
        is_small = size <= SMALL
        if is_small:
            self._outbox[HEADER_SIZE : HEADER_SIZE + size] = payload
        try:
            sent = [self._comm.Isend([self._outbox, HEADER_SIZE + size * is_small, self._mpi.BYTE], dest, HEADER)]
            if not is_small:
                sent.append(self._comm.Isend([payload, size, self._mpi.BYTE], dest, DATA))
            if not self._mpi.Request.Testall(sent):
                self._complete(sent, dest, message)
        except self._mpi.Exception as error:
            raise self._refused(error, dest) from None

    def _refused(self, error: Exception, dest: int) -> ClusterError:
        """The error of a message that was not sent. Of two MPI requests that failed together, MPI does not say which one."""
        found, code = failed(error), cast("Any", error)
        if code.Get_error_class() == self._mpi.ERR_IN_STATUS:
            with suppress(NotImplementedError):  # an MPI without ULFM ends all processes when one dies
                if dest in numbers_of(self._comm.Get_failed(), self._comm):
                    found = ProcessGone(f"MPI: process {dest} has died: {error}", None, "see the log")
        if isinstance(found, ProcessGone):
            found.process = dest
        return found

    def _complete(self, sent: list[Any], dest: int, message: Message) -> None:
        wait = Backoff()
        while not self._mpi.Request.Testall(sent):
            try:
                found = self._poll(kept=True)
            except ProcessGone as gone:
                if gone.process in (dest, -1):
                    raise
                self._lost.append(gone)  # the next `receive` reports it: this message goes to another process
                continue
            if found is not None:
                self._arrived.append(found)
            elif wait.has_waited(self._timeout):
                what = f"{Opcode(message.op).name} of key number {message.key}: not taken within {self._timeout:g} s"
                raise ClusterTimeout(what, f"process {dest}{on_hosts([dest])}", "see whether it still runs, or raise TWOFOLD_KV_TIMEOUT")

    def receive(self, timeout: float | None = None) -> tuple[int, Message] | None:
        """The next message and the process that sent it; None if none came in time. The payload is valid until the next call.

        Raises
        ------
        ClusterError
            If a process is gone.
        """
        if self._lost:
            raise self._lost.popleft()
        wait, found = Backoff(), None
        try:
            while not self._arrived and (found := self._poll(kept=False)) is None:
                # here, and not where a message is refused: `send` polls too, and would call itself
                while self._owed:
                    self.send(*self._owed.popleft())
                if wait.has_waited(timeout):
                    return None
        except self._mpi.Exception as error:
            raise failed(error) from None
        return self._arrived.popleft() if self._arrived else found

    def _gone(self, error: Exception, source: int | None = None) -> ClusterError:
        """The error of a process that has died, which is no longer a peer. ``source`` is the process that was received from, if known."""
        found = failed(error)
        if isinstance(found, ProcessGone):
            dead = numbers_of(self._comm.Get_failed(), self._comm) if source is None else [source]
            found.process = next((p for p in dead if p in self._peers), -1)
            if found.process >= 0:
                k = self._peers.index(found.process)
                del self._peers[k], self._requests[k], self._inbox[k]
                self._deferred = {j - (j > k): header for j, header in self._deferred.items() if j != k}  # places move up
        return found

    def _listen(self, k: int) -> None:
        self._requests[k] = self._comm.Irecv(self._inbox[k], self._peers[k], HEADER)

    def _poll(self, *, kept: bool) -> tuple[int, Message] | None:
        """A message that has arrived, and its sender. With ``kept`` its payload is a copy."""
        k = next((k for k, header in self._deferred.items() if self._is_taken(k, *header)), -1) if self._deferred and not kept else -1
        header = self._deferred.pop(k, None)
        if header is None:
            try:
                k, is_there = self._mpi.Request.Testany(self._requests)
            except self._mpi.Exception as error:
                raise self._gone(error) from None
            if not is_there or k < 0:
                return None
        source = self._peers[k]
        try:
            message, size, check = header or decode_header(memoryview(self._inbox[k])[:HEADER_SIZE])
            is_allowed = self._limit is None or size <= self._limit(message)
            # not refused while messages from the same process are not handled: one of them may announce this one's key
            if is_allowed or any(sender == source for sender, _ in self._arrived):
                if not is_allowed or (header is None and not self._is_taken(k, message, size, check)):
                    self._deferred[k] = message, size, check
                    return None
                if size:
                    message = attach(message, self._payload(k, source, message, size, kept), check)
                self._listen(k)  # before the message is handled: two processes that send each other much must both go on receiving
                return source, message
            self._refuse(source, message, size)
        except FormatError as error:
            if self._limit is None:
                raise
            # a server answers damaged messages, and goes on
            self._owed.append((source, Message(Opcode.ERROR, payload=str(error).encode())))
        self._listen(k)
        return None

    def _is_taken(self, k: int, message: Message, size: int, _check: int) -> bool:
        return size <= SMALL or self._takes is None or self._takes(self._peers[k], message, size)

    def _payload(self, k: int, source: int, message: Message, size: int, kept: bool) -> Payload:
        if size <= SMALL:
            return bytes(memoryview(self._inbox[k])[HEADER_SIZE : HEADER_SIZE + size])
        payload = None if self._memory is None else self._memory(message, size)
        if payload is None:
            memory = np.empty(size, np.uint8) if kept or self._large.size < size else self._large
            if not kept:
                self._large = memory
            payload = memory[:size].data
        try:
            self._comm.Recv([payload, size, self._mpi.BYTE], source, DATA)
        except self._mpi.Exception as error:
            raise self._gone(error, source) from None
        return payload

    def _refuse(self, source: int, message: Message, size: int) -> None:
        """Discard a payload that is larger than announced, without memory for it, and owe its sender an error."""
        allowed = self._limit(message) if self._limit is not None else 0
        if size > SMALL:
            with suppress(self._mpi.Exception):  # MPI reports that it has cut the message off
                self._comm.Recv([bytearray(1), 1, self._mpi.BYTE], source, DATA)
        error = FormatError("server: the payload is larger than announced", f"{size} bytes for {allowed}", "call init first")
        self._owed.append((source, reply_error(message, error)))

    def close(self) -> None:
        """Give up the connections."""
        for request in self._requests:
            # MPI must not write into memory that is given up
            if request:  # null if a deferred header is in the inbox
                request.Cancel()
                request.Free()
        self._requests, self._peers = [], []


class Backoff:
    """Waits a little at each call: first by yielding to other processes, after some milliseconds by naps that grow."""

    def __init__(self) -> None:
        self._start = monotonic()
        self._nap = NAP

    def has_waited(self, timeout: float | None) -> bool:
        """Wait; whether that has taken longer than some seconds in all."""
        waited = monotonic() - self._start
        if waited < SPIN:
            os.sched_yield()
        else:
            sleep(self._nap)
            self._nap = min(2 * self._nap, LONGEST_NAP)
        return timeout is not None and waited > timeout
