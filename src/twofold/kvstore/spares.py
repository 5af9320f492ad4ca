"""`Pool`: the workers of a cluster and the spare processes that take the places of those that have died, by MPI with ULFM.

A spare is part of MPI's world from the start, as no process can join that later. It takes part in no sum, and naps until it is called.
"""

from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ProcessGone
from .transports.mpi import Control, MpiGroup, all_agree, shrunk, split

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

__all__ = ["Joined", "Pool"]

#: Kinds of notices.
CALL, END = range(2)
#: Seconds between a spare's looks for notices, and for which the end waits for spares to hear of it.
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
        The largest of each of the numbers that they have passed.
    has_newcomers
        Whether spares are among them that were not before.
    """

    comm: "Intracomm"
    notices: "Intracomm"
    members: list[int]
    facts: list[int]
    has_newcomers: bool


class Pool:
    """The workers and spares of a cluster.

    Parameters
    ----------
    comm
        A communicator with all of them that no one else uses.
    workers
        The number of workers, which have the lower ranks.
    """

    def __init__(self, comm: "Intracomm", workers: int) -> None:
        self._comm, self._workers, self._place = comm, workers, comm.rank
        self._notices = Control(comm.Dup())
        #: The number of each worker by its rank at the start.
        self._numbers = {rank: rank for rank in range(workers)}
        self._spares = set(range(workers, comm.size))
        #: How often all have regrouped: notices of earlier times may still be on their way.
        self._times = 0

    @property
    def has_spares(self) -> bool:
        """Whether a spare was left when this was last known to all workers."""
        return bool(self._spares)

    def call(self) -> None:
        """Wake the spares, which then take part in `regroup`. All workers call this: a single one might die before it has."""
        for spare in self._spares:
            self._notices.send(spare, CALL, self._times)

    def regroup(self, *facts: int) -> Joined | None:
        """Give the numbers of dead workers to spares. All workers and spares that are left call this.

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
                comm.Revoke()  # others may wait for this one
            if all_agree(comm, found is not None) and found is not None:
                self._comm, self._times = comm, self._times + 1
                joined, self._numbers, self._spares = found
                return joined
            comm.Revoke()
            before = comm

    def _agreed(self, comm: "Intracomm", facts: tuple[int, ...]) -> tuple[Joined | None, dict[int, int], set[int]]:
        rows = MpiGroup(comm).gather(np.array([self._place, *facts], np.int64))
        places = rows[:, 0].tolist()
        numbers = {place: self._numbers[place] for place in places if place in self._numbers}
        vacant = sorted(set(range(self._workers)) - set(numbers.values()))
        spares = sorted(set(places) - set(numbers))
        newcomers = dict(zip(spares, vacant, strict=False))
        numbers |= newcomers
        own = numbers.get(self._place)
        group, notices = [split(comm, int(own is None), self._place if own is None else own) for _ in range(2)]
        most = rows[:, 1:].max(axis=0).tolist()
        joined = None if own is None else Joined(group, notices, sorted(numbers.values()), most, bool(newcomers))
        return joined, numbers, set(spares) - set(numbers)

    # a spare

    def wait(self) -> bool:
        """Nap until the workers call, or are at their end. True if they call; False if they have finished.

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
                    for worker in self._numbers:  # one of them waits for it
                        self._notices.send(worker, END)
                    return False
                if times == self._times:
                    return True
            if set(self._numbers) <= self._notices.dead:
                raise ProcessGone("all workers have died", f"{self._workers} workers", "see the log")

    # the end

    def release(self, waits: bool) -> None:
        """Tell the spares that the workers have finished. All workers call this, when all have, and one ``waits`` for the answers."""
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
