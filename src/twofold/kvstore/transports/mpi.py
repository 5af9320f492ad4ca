"""MPI between the processes of a cluster: sums, copies and notices. `mpi_messages.py` has the messages.

mpi4py is imported when a cluster is joined. All calls may come from several threads: mpi4py initializes MPI with full support of threads,
and releases the interpreter's lock during calls.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import ClusterError, MissingDependency, ProcessGone

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Group, Intracomm

#: A notice of the control channel: eight 64-bit integers.
WORDS = 8
#: Bytes of a message's payload that is sent together with its header.
SMALL = 1 << 13


def world() -> Intracomm:
    """A new communicator with all processes, which raises errors. The first call starts MPI.

    Raises
    ------
    MissingDependency
        If mpi4py or an MPI library is missing.
    """
    return mpi_module().COMM_WORLD.Dup()


def split(comm: Intracomm, part: int, order: int | None = None) -> Intracomm:
    """A communicator of the processes that pass the same ``part``, in the order of ``order``, or of their ranks if that is None."""
    try:
        return cast("Intracomm", comm.Split(part, comm.rank if order is None else order))
    except mpi_module().Exception as error:
        raise failed(error) from None


def shrunk(comm: Intracomm) -> Intracomm:
    """A communicator of the processes that are left. All of them call this."""
    return cast("Intracomm", comm.Shrink())


def all_agree(comm: Intracomm, is_well: bool) -> bool:
    """Whether all processes pass True and none has died. All that are left get the same answer, whichever of them has heard of a death."""
    try:
        return bool(comm.Agree(int(is_well)))
    except mpi_module().Exception:
        return False


def library_version() -> str:
    """The version of the MPI library, such as ``"Open MPI v5.0.11"``."""
    return mpi_module().Get_library_version().split(",")[0].strip("\0 \n")


def mpi_module() -> Any:
    """The module `mpi4py.MPI`. Its import starts MPI."""
    # Open MPI reads this when it starts. Without it, messages above 4 KB are sent in two steps, for which both processes must be awake.
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
        A communicator for this group only.
    """

    def __init__(self, comm: Intracomm) -> None:
        self._comm = comm
        self._mpi = mpi_module()
        self._in_place = self._mpi.IN_PLACE
        self._failure: type[Exception] = self._mpi.Exception
        self.rank, self.size = comm.rank, comm.size
        #: The numbers at the start of the processes that are left, by their present ranks; and the number of this process.
        self.members, self._number = list(range(comm.size)), comm.rank

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        """Replace a contiguous array by the sum over workers of ``source``, or of itself if that is None."""
        if array.dtype == np.float16:  # MPI has no such type. The sum in float32 is rounded once, at its end
            wide = (array if source is None else source).astype(np.float32)
            self._call(self._comm.Allreduce, self._in_place, wide)
            array[...] = wide
            return
        try:
            self._comm.Allreduce(self._in_place if source is None else source, array)
        except self._failure as error:
            raise failed(error) from None

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace a contiguous array by that of one worker."""
        self._call(self._comm.Bcast, _bytes_of(array), root)

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The contiguous arrays of all workers, which have equal shapes, as one of shape (size, …)."""
        # as bytes: MPI gathers them without knowing the type
        found = np.empty((self.size, *array.shape), array.dtype)
        self._call(self._comm.Allgather, _bytes_of(array), _bytes_of(found))
        return found

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        self._call(self._comm.Barrier)

    def _call(self, function: Callable[..., object], *args: object) -> None:
        try:
            function(*args)
        except self._failure as error:
            raise failed(error) from None

    def part(self, number: int) -> MpiGroup:
        """The group of the workers that pass the same number. All workers call this."""
        return MpiGroup(split(self._comm, number))

    # after a process has died, under an Open MPI that was started with ``--with-ft ulfm``

    @property
    def is_broken(self) -> bool:
        """Whether another worker has noticed a death, and has revoked the communicator."""
        return self._comm.Is_revoked()

    def replace(self, comm: Intracomm, members: Sequence[int]) -> None:
        """Go on with another communicator. ``members`` are the numbers of its processes."""
        self._comm, self.members, self._number = comm, list(members), members[comm.rank]
        self.rank, self.size = comm.rank, comm.size

    def shrink(self) -> list[int]:
        """Go on without the processes that have died, and return their numbers. All that are left call this."""
        self._comm.Revoke()  # whatever the others wait for in this communicator fails, so that they come here too
        before, self._comm = self.members, shrunk(self._comm)
        self.rank, self.size = self._comm.rank, self._comm.size
        self.members = self.gather(np.array([self._number])).reshape(-1).tolist()
        return [number for number in before if number not in self.members]

    def agree(self, is_well: bool) -> bool:
        """Whether all that are left pass True, and none has died; see `all_agree`."""
        if not is_well:
            self._comm.Revoke()  # the others may still wait for this process in an operation that it has left
        return all_agree(self._comm, is_well)


class NoticeChannel:
    """Short notices between any two processes, beside the sums: which worker waits, and which has finished.

    Parameters
    ----------
    comm
        A communicator for this channel only.
    """

    def __init__(self, comm: Comm) -> None:
        self._comm, self._mpi = comm, mpi_module()
        #: Held during each use of the communicator, which `replace` exchanges while the watching thread polls. No other lock is taken
        #: inside it.
        self._lock = RLock()
        self.rank, self.size = comm.rank, comm.size
        #: The number of each process of the communicator.
        self._members = list(range(comm.size))
        #: Processes that have died.
        self.dead: set[int] = set()

    def replace(self, comm: Comm, members: Sequence[int], size: int) -> None:
        """Go on with another communicator. ``members`` are the numbers of its processes; the others of ``size`` processes are dead."""
        with self._lock:
            self._comm, self._members, self.rank, self.size = comm, list(members), members[comm.rank], size
            self.dead = set(range(size)) - set(members)

    def send(self, dest: int, *words: int) -> None:
        """Send a notice of at most 8 integers. This does not wait for the receiver."""
        # an error, or a number that is not among the members, means that the receiver has died: it needs no notice
        with self._lock, suppress(self._mpi.Exception, ValueError):
            place = self._members.index(dest)
            # MPI copies so short a message, so neither the array nor the request is needed after this
            self._comm.Isend(np.array([*words, *[0] * (WORDS - len(words))], np.int64), place).Free()

    def poll(self) -> tuple[int, list[int]] | None:
        """A notice that has arrived, and its sender."""
        with self._lock:
            return self._polled()

    def _polled(self) -> tuple[int, list[int]] | None:
        status = self._mpi.Status()
        try:
            is_there = self._comm.Iprobe(status=status)
        except self._mpi.Exception:
            self._note_dead()
            is_there = self._comm.Iprobe(status=status)
        place = status.Get_source() if is_there else None
        if place is not None and self._members[place] in self.dead:
            # its last notice cannot be received any more, and would hide those of others
            place = next((k for k, number in enumerate(self._members) if number not in self.dead and self._comm.Iprobe(k)), None)
        if place is None:
            return None
        words = np.empty(WORDS, np.int64)
        try:
            self._comm.Recv(words, place)
        except self._mpi.Exception:  # it has died since the look
            self._note_dead()
            return None
        return self._members[place], words.tolist()

    def _note_dead(self) -> None:
        """Acknowledge deaths: until then, MPI reports them instead of the notices of the others."""
        self._comm.Ack_failed()
        self.dead.update(self._members[k] for k in numbers_of(self._comm.Get_failed(), self._comm))

    def abort(self, status: int) -> None:
        """End all processes immediately."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(status)


def numbers_of(group: Group, comm: Comm) -> list[int]:
    """The ranks in a communicator of the processes of a group."""
    return mpi_module().Group.Translate_ranks(group, list(range(group.size)), comm.group)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """The bytes of a contiguous array, for calls that only copy them: MPI lacks some of NumPy's types."""
    return array.reshape(-1).view(np.uint8)


def failed(error: Exception) -> ClusterError:
    """The error to raise for an error of MPI: `ProcessGone` if a process has died."""
    mpi = mpi_module()
    gone = [getattr(mpi, name, None) for name in ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_REVOKED")]
    code: Any = error
    if isinstance(error, mpi.Exception) and code.Get_error_class() in gone:
        return ProcessGone(f"MPI: a process has died: {error}", None, "see the log; twofold launch --ft lets the others go on")
    return ClusterError(
        f"MPI: the processes do not make the same calls, or the network has failed: {error}", None, "see the other processes"
    )
