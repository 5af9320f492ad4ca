"""MPI between the processes of a cluster, by mpi4py, which is imported when a cluster is joined.

All calls may come from several threads: mpi4py initializes MPI with full support of threads, and releases the interpreter's lock in them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ClusterError, MissingDependency

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Intracomm

__all__ = ["Control", "MpiGroup", "world"]

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


def library_version() -> str:
    """The version of the MPI library, such as ``"Open MPI v5.0.11"``."""
    return _mpi().Get_library_version().split(",")[0].strip("\0 \n")


def _mpi() -> Any:
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

    def greatest(self, array: np.ndarray) -> None:
        """Replace each element of a contiguous array by the greatest over workers."""
        self._call(self._comm.Allreduce, self._in_place, array, self._mpi.MAX)

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


class Control:
    """Short notices between any two processes, beside the sums: who waits, who has finished.

    Parameters
    ----------
    comm
        A communicator that no one else uses.
    """

    def __init__(self, comm: Comm) -> None:
        self._comm, self._mpi = comm, _mpi()
        self.rank, self.size = comm.rank, comm.size

    def send(self, dest: int, *words: int) -> None:
        """Send a notice of at most 8 integers. It is short enough to leave at once."""
        self._comm.Isend(np.array([*words, *[0] * (WORDS - len(words))], np.int64), dest).Free()

    def poll(self) -> tuple[int, list[int]] | None:
        """A notice that has arrived, and who sent it."""
        status = self._mpi.Status()
        if not self._comm.Iprobe(status=status):
            return None
        words = np.empty(WORDS, np.int64)
        self._comm.Recv(words, status.Get_source())
        return status.Get_source(), words.tolist()

    def abort(self, status: int) -> None:
        """End all processes at once."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._comm.Abort(status)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array, for calls that only copy it: MPI does not know all of NumPy's types."""
    return array.reshape(-1).view(np.uint8)


def _failed(error: Exception) -> ClusterError:
    return ClusterError("MPI: a process has failed, or the processes do not make the same calls", str(error), "see the other processes")
