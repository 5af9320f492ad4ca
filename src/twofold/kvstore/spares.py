"""`SparePool`: the workers of a cluster and its spares, which take the places of workers that have died. It needs MPI with ULFM.

A spare is part of MPI's world from the start, because no process can join the world later. It takes part in no sum, and naps until the
workers call it.
"""

from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ProcessGone
from .transports.mpi import MpiGroup, NoticeChannel, all_agree, shrunk, split

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

#: Kinds of notices.
CALL, END = range(2)
#: Seconds between a spare's looks for notices, and that the end of the workers waits for the spares' answers.
NAP, PATIENCE = 0.02, 2.0


class Joined(NamedTuple):
    """The workers after spares have joined.

    Attributes
    ----------
    comm, notices
        Communicators of the workers, in the order of their numbers, for sums and for notices.
    members
        Their numbers.
    facts
        The largest of each of the numbers that the workers have passed.
    has_newcomers
        Whether spares have become workers.
    """

    comm: "Intracomm"
    notices: "Intracomm"
    members: list[int]
    facts: list[int]
    has_newcomers: bool


class SparePool:
    """The workers and spares of a cluster.

    Parameters
    ----------
    comm
        A communicator of all workers and spares for this pool only.
    workers
        The number of workers, which have the lowest ranks.
    """

    def __init__(self, comm: "Intracomm", workers: int) -> None:
        self._comm, self._workers, self._place = comm, workers, comm.rank
        self._notices = NoticeChannel(comm.Dup())
        #: The worker's number of each process that is a worker, by its rank at the start. A spare gets one when it joins.
        self._numbers = {rank: rank for rank in range(workers)}
        #: The ranks at the start of the processes that are spares now. All workers know the same ones.
        self._spares = set(range(workers, comm.size))
        #: How often the workers have regrouped. A call names this number: calls of earlier times may still be on their way.
        self._times = 0

    @property
    def has_spares(self) -> bool:
        """Whether a spare was left when the workers last regrouped."""
        return bool(self._spares)

    def call(self) -> None:
        """Wake the spares, which then take part in `regroup`. All workers do this, since a single one might die before it has."""
        for spare in self._spares:
            self._notices.send(spare, CALL, self._times)

    def regroup(self, *facts: int) -> Joined | None:
        """Give the numbers of dead workers to spares. All workers and spares that live call this.

        Parameters
        ----------
        facts
            Numbers of the workers, 0 of spares.

        Returns
        -------
        Joined or None
            The workers; None in a spare that was not needed.
        """
        before = self._comm
        while True:
            comm = shrunk(before)
            try:
                found = self._agreed(comm, facts)
            except ProcessGone:  # another process has died meanwhile
                found = None
                comm.Revoke()  # others may wait for this process in an operation that it has left
            if all_agree(comm, found is not None) and found is not None:
                self._comm, self._times = comm, self._times + 1
                joined, self._numbers, self._spares = found
                return joined
            comm.Revoke()
            before = comm

    def _agreed(self, comm: "Intracomm", facts: tuple[int, ...]) -> tuple[Joined | None, dict[int, int], set[int]]:
        rows = MpiGroup(comm).gather(np.array([self._place, *facts], np.int64))
        places = rows[:, 0].tolist()
        # every process computes this from the same table, so all agree on the numbers without another message
        numbers = {place: self._numbers[place] for place in places if place in self._numbers}
        vacant = sorted(set(range(self._workers)) - set(numbers.values()))
        spares = sorted(set(places) - set(numbers))
        newcomers = dict(zip(spares, vacant, strict=False))
        numbers |= newcomers
        # order by number, not by rank: collective operations and sums follow the numbers of workers
        own = numbers.get(self._place)
        group, notices = [split(comm, int(own is None), self._place if own is None else own) for _ in range(2)]
        most = rows[:, 1:].max(axis=0).tolist()
        joined = None if own is None else Joined(group, notices, sorted(numbers.values()), most, bool(newcomers))
        return joined, numbers, set(spares) - set(numbers)

    # a spare

    def wait(self) -> bool:
        """Nap until the workers call or have finished. Whether they have called.

        Raises
        ------
        ProcessGone
            If all workers have died.
        """
        while True:
            sleep(NAP)
            notice = self._notices.poll()
            if notice is not None:
                _, (kind, times, *_) = notice
                if kind == END:
                    for worker in self._numbers:  # one of the workers waits for this answer
                        self._notices.send(worker, END)
                    return False
                # a call of an earlier time may arrive late; this spare has taken part in that regrouping already
                if times == self._times:
                    return True
            if set(self._numbers) <= self._notices.dead:
                raise ProcessGone("all workers have died", f"{self._workers} workers", "see the log")

    # the end

    def release(self, waits: bool) -> None:
        """Tell the spares that all workers have finished. All workers call this, and one ``waits`` for the answers."""
        for spare in self._spares:
            self._notices.send(spare, END)
        end = monotonic() + PATIENCE
        waiting = set(self._spares) if waits else set()
        while waiting - self._notices.dead and monotonic() < end:
            notice = self._notices.poll()
            if notice is None:
                sleep(NAP / 4)
            else:
                waiting.discard(notice[0])
