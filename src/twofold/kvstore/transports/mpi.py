"""MPI between the processes of a cluster, by mpi4py, which is imported when a cluster is joined: sums, messages, notices.

All calls may come from several threads: mpi4py initializes MPI with full support of threads, and releases the interpreter's lock in them.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import ClusterError, ClusterTimeout, FormatError, MissingDependency, ProcessGone
from ..messages import HEADER_SIZE, Message, Op, Payload, attach, decode_header, encode_header, reply_error

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Group, Intracomm

__all__ = ["Control", "MpiGroup", "MpiTransport", "all_agree", "library_version", "shrunk", "split", "world"]

#: A notice of the control channel: eight 64-bit integers.
WORDS = 8


def world() -> Intracomm:
    """A communicator of our own with all processes, whose errors are raised. The first call starts MPI.

    Raises
    ------
    MissingDependency
        If mpi4py or an MPI library is missing.
    """
    return _mpi().COMM_WORLD.Dup()


def split(comm: Intracomm, part: int, order: int | None = None) -> Intracomm:
    """A communicator with the processes that pass the same number as this one, in the order of another number, or as they are."""
    try:
        return cast("Intracomm", comm.Split(part, comm.rank if order is None else order))
    except _mpi().Exception as error:
        raise _failed(error) from None


def shrunk(comm: Intracomm) -> Intracomm:
    """A communicator with those that are left. All of them call this."""
    return cast("Intracomm", comm.Shrink())


def all_agree(comm: Intracomm, is_well: bool) -> bool:
    """Whether all pass True, and none has died: the same answer on all that are left, even if some have heard of a death and others not."""
    try:
        return bool(comm.Agree(int(is_well)))
    except _mpi().Exception:
        return False


def library_version() -> str:
    """The version of the MPI library, such as ``"Open MPI v5.0.11"``."""
    return _mpi().Get_library_version().split(",")[0].strip("\0 \n")


def _mpi() -> Any:
    # MPI begins when it is imported. Without this Open MPI sends messages above 4 KB in two steps, for which both processes must be awake.
    os.environ.setdefault("OMPI_MCA_btl_sm_eager_limit", str(2 * SMALL))
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # mpi4py raises RuntimeError if it finds no library
        raise MissingDependency.of("mpi4py", "a cluster of several processes", "twofold[dist]") from error
    return MPI


class MpiGroup:
    """Sums and copies among the processes of a communicator.

    Parameters
    ----------
    comm
        The communicator. No one else uses it.
    """

    def __init__(self, comm: Intracomm) -> None:
        self._comm = comm
        self._mpi = _mpi()
        self._in_place = self._mpi.IN_PLACE
        self._failure: type[Exception] = self._mpi.Exception
        self.rank, self.size = comm.rank, comm.size
        #: The numbers that those had at the start who are left, and that of this process.
        self.members, self._number = list(range(comm.size)), comm.rank

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        """Replace a contiguous array by the sum over workers of ``source``, or of itself if that is None."""
        if array.dtype == np.float16:  # MPI has no such type: the sum is rounded once
            wide = (array if source is None else source).astype(np.float32)
            self._call(self._comm.Allreduce, self._in_place, wide)
            array[...] = wide
            return
        try:
            self._comm.Allreduce(self._in_place if source is None else source, array)
        except self._failure as error:
            raise _failed(error) from None

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace a contiguous array by that of one worker."""
        self._call(self._comm.Bcast, _bytes_of(array), root)

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The contiguous arrays of all workers, which have equal shapes, one after the other: (size, …)."""
        found = np.empty((self.size, *array.shape), array.dtype)
        self._call(self._comm.Allgather, _bytes_of(array), _bytes_of(found))
        return found

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        self._call(self._comm.Barrier)

    def _call(self, function: Callable[..., Any], *args: object) -> None:
        try:
            function(*args)
        except self._failure as error:
            raise _failed(error) from None

    def part(self, number: int) -> MpiGroup:
        """The group of those that pass the same number. All workers call this."""
        return MpiGroup(split(self._comm, number))

    # after a process has died, under an Open MPI that was started with ``--with-ft ulfm``

    @property
    def is_broken(self) -> bool:
        """Whether another worker has found that one has died."""
        return self._comm.Is_revoked()

    def replace(self, comm: Intracomm, members: Sequence[int]) -> None:
        """Go on with another communicator, whose processes have these numbers."""
        self._comm, self.members, self._number = comm, list(members), members[comm.rank]
        self.rank, self.size = comm.rank, comm.size

    def shrink(self) -> list[int]:
        """Go on without those that have died; their numbers at the start. All that are left call this."""
        self._comm.Revoke()  # the others hear of it, whatever they wait for
        before, self._comm = self.members, shrunk(self._comm)
        self.rank, self.size = self._comm.rank, self._comm.size
        self.members = self.gather(np.array([self._number])).reshape(-1).tolist()
        return [number for number in before if number not in self.members]

    def agree(self, is_well: bool) -> bool:
        """Whether all that are left pass True, and none has died; see `all_agree`. Those that pass False end what the others wait in."""
        if not is_well:
            self._comm.Revoke()
        return all_agree(self._comm, is_well)


#: Tags: a header, with a small payload behind it; a large payload.
HEADER, DATA = 1, 2
#: Bytes of a payload that travels with its header.
SMALL = 1 << 13
#: Seconds to wait by asking again and again, and the shortest and longest nap after that: an idle process must not hold a core.
SPIN, NAP, LONGEST_NAP = 0.005, 5e-5, 1e-3


class MpiTransport:
    """Messages between workers and servers; see `Transport`.

    Parameters
    ----------
    comm
        A communicator with all processes that no one else uses.
    peers
        The processes that send to this one: servers to a worker, workers and servers to a server.
    timeout
        Seconds after which a message that is not taken counts as lost.
    limit
        The largest payload that may follow a header; None for any.
    takes
        Whether to receive a large payload now, asked with the sender, the message and the size; until then it stays with the sender.
    memory
        Where to put the large payload of a message, asked with the message and the size; None for memory of the transport.
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
        self._comm, self._mpi, self._timeout, self._limit, self._takes = comm, _mpi(), timeout, limit, takes
        self._memory = memory
        #: Headers, by place among the peers, whose payloads were not taken yet.
        self._deferred: dict[int, tuple[Message, int, int]] = {}
        self._rank, self._size = comm.rank, comm.size
        self._peers = list(peers)
        self._inbox = [bytearray(HEADER_SIZE + SMALL) for _ in self._peers]
        self._requests = [comm.Irecv(b, source, HEADER) for b, source in zip(self._inbox, self._peers, strict=True)]
        self._outbox = bytearray(HEADER_SIZE + SMALL)
        self._large = np.empty(0, np.uint8)
        self._arrived: deque[tuple[int, Message]] = deque()
        #: Processes that were found dead while a message was sent to another.
        self._lost: deque[ProcessGone] = deque()
        #: Replies to messages that were refused, perhaps while another was being sent.
        self._owed: deque[tuple[int, Message]] = deque()

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of processes, workers and servers together."""
        return self._size

    def send(self, dest: int, message: Message) -> None:
        """Send a message. Meanwhile others are received, since two processes may send each other more than MPI keeps.

        Raises
        ------
        ClusterError
            If the process is gone.
        ClusterTimeout
            If it does not take the message in time.
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
        """The error of a message that was not sent; of two requests MPI says only that one has failed."""
        found, code = _failed(error), cast("Any", error)
        if code.Get_error_class() == self._mpi.ERR_IN_STATUS:
            with suppress(NotImplementedError):  # by another MPI, which ends all processes when one dies
                if dest in _numbers_of(self._comm.Get_failed(), self._comm):
                    found = ProcessGone(f"MPI: process {dest} has died", str(error), "see the log")
        if isinstance(found, ProcessGone):
            found.process = dest
        return found

    def _complete(self, sent: list[Any], dest: int, message: Message) -> None:
        wait = Waiting()
        while not self._mpi.Request.Testall(sent):
            try:
                found = self._poll(kept=True)
            except ProcessGone as gone:
                if gone.process in (dest, -1):
                    raise
                self._lost.append(gone)  # `receive` says so; this message is for another
                continue
            if found is not None:
                self._arrived.append(found)
            elif wait.has_waited(self._timeout):
                what = f"{Op(message.op).name} of key number {message.key}: not taken within {self._timeout:g} s"
                raise ClusterTimeout(what, f"process {dest}", "see whether it still runs, or raise TWOFOLD_KV_TIMEOUT")

    def receive(self, timeout: float | None = None) -> tuple[int, Message] | None:
        """The next message and the process that sent it; None if none came in time. The payload is valid until the next call.

        Raises
        ------
        ClusterError
            If a process is gone.
        """
        if self._lost:
            raise self._lost.popleft()
        wait, found = Waiting(), None
        try:
            while not self._arrived and (found := self._poll(kept=False)) is None:
                while self._owed:
                    self.send(*self._owed.popleft())
                if wait.has_waited(timeout):
                    return None
        except self._mpi.Exception as error:
            raise _failed(error) from None
        return self._arrived.popleft() if self._arrived else found

    def _gone(self, error: Exception, source: int | None = None) -> ClusterError:
        """The error of a process that has died, which is known if it was received from; no more is expected of it."""
        found = _failed(error)
        if isinstance(found, ProcessGone):
            failed = _numbers_of(self._comm.Get_failed(), self._comm) if source is None else [source]
            found.process = next((p for p in failed if p in self._peers), -1)
            if found.process >= 0:
                k = self._peers.index(found.process)
                del self._peers[k], self._requests[k], self._inbox[k]
                self._deferred = {j - (j > k): header for j, header in self._deferred.items() if j != k}  # places move up
        return found

    def _listen(self, k: int) -> None:
        self._requests[k] = self._comm.Irecv(self._inbox[k], self._peers[k], HEADER)

    def _poll(self, *, kept: bool) -> tuple[int, Message] | None:
        """A message that has arrived, and its sender. Its payload, unless it is ``kept``, is in memory that the next call uses again."""
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
            if is_allowed or any(sender == source for sender, _ in self._arrived):  # one that has arrived may announce this one's key
                if not is_allowed or (header is None and not self._is_taken(k, message, size, check)):
                    self._deferred[k] = message, size, check  # nothing else is received from there before
                    return None
                if size:
                    message = attach(message, self._payload(k, source, message, size, kept), check)
                self._listen(k)  # at once: two processes that send each other much must both go on receiving
                return source, message
            self._refuse(source, message, size)
        except FormatError as error:
            if self._limit is None:
                raise
            self._owed.append((source, Message(Op.ERROR, payload=str(error).encode())))  # a server goes on, whatever it is sent
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
        """Discard a payload that is larger than announced, without memory for it, and tell its sender."""
        allowed = self._limit(message) if self._limit is not None else 0
        if size > SMALL:
            with suppress(self._mpi.Exception):  # MPI reports the rest that it has cut off
                self._comm.Recv([bytearray(1), 1, self._mpi.BYTE], source, DATA)
        error = FormatError("server: the payload is larger than announced", f"{size} bytes for {allowed}", "call init first")
        self._owed.append((source, reply_error(message, error)))

    def close(self) -> None:
        """Give up the connections."""
        for request in self._requests:
            if request:  # not that of a message in use
                request.Cancel()
                request.Free()
        self._requests, self._peers = [], []


class Waiting:
    """Waits a little at each call: first by letting other processes run, after some milliseconds by naps that grow."""

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


class Control:
    """Short notices between any two processes, beside the sums: who waits, who has finished.

    Parameters
    ----------
    comm
        A communicator that no one else uses.
    """

    def __init__(self, comm: Comm) -> None:
        self._comm, self._mpi, self._lock = comm, _mpi(), RLock()
        self.rank, self.size = comm.rank, comm.size
        #: The number of each process of the communicator.
        self._members = list(range(comm.size))
        #: Processes that have died.
        self.dead: set[int] = set()

    def replace(self, comm: Comm, members: Sequence[int], size: int) -> None:
        """Go on with another communicator, whose processes have these numbers, of ``size`` in all; the rest are dead."""
        with self._lock:
            self._comm, self._members, self.rank, self.size = comm, list(members), members[comm.rank], size
            self.dead = set(range(size)) - set(members)

    def send(self, dest: int, *words: int) -> None:
        """Send a notice of at most 8 integers. It is short enough to leave at once."""
        with self._lock, suppress(self._mpi.Exception, ValueError):  # who has died needs no notice
            place = self._members.index(dest)
            self._comm.Isend(np.array([*words, *[0] * (WORDS - len(words))], np.int64), place).Free()

    def poll(self) -> tuple[int, list[int]] | None:
        """A notice that has arrived, and who sent it."""
        with self._lock:
            return self._polled()

    def _polled(self) -> tuple[int, list[int]] | None:
        status = self._mpi.Status()
        try:
            is_there = self._comm.Iprobe(status=status)
        except self._mpi.Exception:  # some process has died; from now on the others are heard again
            self._comm.Ack_failed()
            self.dead.update(self._members[k] for k in _numbers_of(self._comm.Get_failed(), self._comm))
            is_there = self._comm.Iprobe(status=status)
        if not is_there:
            return None
        words = np.empty(WORDS, np.int64)
        self._comm.Recv(words, status.Get_source())
        return self._members[status.Get_source()], words.tolist()

    def abort(self, status: int) -> None:
        """End all processes at once."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(status)


def _numbers_of(group: Group, comm: Comm) -> list[int]:
    """The numbers that the processes of a group have in a communicator."""
    return _mpi().Group.Translate_ranks(group, list(range(group.size)), comm.group)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array, for calls that only copy it: MPI does not know all of NumPy's types."""
    return array.reshape(-1).view(np.uint8)


def _failed(error: Exception) -> ClusterError:
    mpi = _mpi()
    gone = [getattr(mpi, name, None) for name in ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_REVOKED")]
    code: Any = error
    if isinstance(error, mpi.Exception) and code.Get_error_class() in gone:
        return ProcessGone("MPI: a process has died", str(error), "see the log; twofold launch --ft lets the others go on")
    return ClusterError("MPI: the processes do not make the same calls, or the network has failed", str(error), "see the other processes")
