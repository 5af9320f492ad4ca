"""`Membership`: the live workers of a server, and which workers have ended their epoch, wait at a barrier, or wait to join."""

from bisect import insort
from collections.abc import Iterable

from .messages import Message


class Membership:
    """The workers of a server. This class keeps count of them and holds their requests; the server sends the replies.

    Parameters
    ----------
    workers
        The number of workers, which are then numbered from 0 to ``workers - 1``; or the numbers of the live workers.

    Examples
    --------
    >>> from twofold.kvstore.membership import Membership
    >>> from twofold.kvstore.messages import Message, Opcode
    >>> members = Membership(2)
    >>> members.end_epoch(Message(Opcode.DONE, worker=0))
    >>> members.end_epoch(Message(Opcode.DONE, worker=2))  # it asks to join
    >>> sorted(members.begin_epoch()), members.live
    ([], [0, 1])
    >>> members.remove(1, has_died=True)
    >>> sorted(members.begin_epoch()), members.live
    ([0, 2], [0, 2])
    """

    def __init__(self, workers: int | Iterable[int]) -> None:
        #: The workers that are neither stopped nor dead, ascending: the order in which sums are made.
        self.live = sorted(range(workers) if isinstance(workers, int) else workers)
        self.dead: set[int] = set()
        #: Live workers that have pushed the last batch of their epoch.
        self.done: set[int] = set()
        #: The requests of live workers that have ended their epoch, and of others that wait to join.
        self._at_end: dict[int, Message] = {}
        self._at_barrier: dict[int, Message] = {}
        self._barrier_since = 0.0
        #: When each worker that waits at the barrier or for the end of an epoch began to wait.
        self._since: dict[int, float] = {}
        #: When each live worker was last heard. Its keys are the members: always the same workers as `live`.
        self._heard = dict.fromkeys(self.live, 0.0)

    def __contains__(self, worker: int) -> bool:
        return worker in self._heard

    def hear(self, worker: int, now: float) -> None:
        """Note that a message has come from a worker, if it is a member."""
        if worker in self._heard:
            self._heard[worker] = now

    def hear_all(self, now: float) -> None:
        """Note a message from each worker, so that silence is counted from now on."""
        self._heard = dict.fromkeys(self._heard, now)

    def silent(self, now: float, seconds: float) -> list[int]:
        """The workers from which nothing has come for some seconds."""
        return [worker for worker in self.live if now - self._heard[worker] > seconds]

    def remove(self, worker: int, *, has_died: bool) -> None:
        """Remove a live worker: nothing waits for it any more."""
        self.live.remove(worker)
        self.done.discard(worker)
        for table in (self._heard, self._at_barrier, self._at_end):
            table.pop(worker, None)
        if has_died:
            self.dead.add(worker)

    # barriers

    def wait(self, request: Message, now: float) -> None:
        """Let a worker wait at the barrier."""
        if not self._at_barrier:
            self._barrier_since = now
        self._at_barrier[request.worker] = request
        self._since[request.worker] = now

    def open_barrier(self) -> dict[int, Message]:
        """The requests at the barrier if all live workers wait there: the server answers them. Otherwise nothing."""
        return self._taken_from_barrier() if all(w in self._at_barrier for w in self.live) else {}

    def late_at_barrier(self, now: float, seconds: float) -> tuple[dict[int, Message], list[int]]:
        """The requests at the barrier, if one has waited for more than some seconds, and the workers that are missing there."""
        # the deadline counts from the first request: it has waited longest
        missing = [w for w in self.live if w not in self._at_barrier]
        is_late = self._at_barrier and now - self._barrier_since > seconds
        return (self._taken_from_barrier(), missing) if is_late else ({}, missing)

    def _taken_from_barrier(self) -> dict[int, Message]:
        found, self._at_barrier = self._at_barrier, {}
        return found

    def waiting(self) -> dict[int, tuple[Message, float]]:
        """The requests of workers that wait at the barrier or for the end of an epoch, and since when."""
        return {worker: (request, self._since[worker]) for worker, request in (self._at_end | self._at_barrier).items()}

    def forget_waiting(self) -> None:
        """Drop the requests that wait, whose workers are told of an error."""
        self._at_barrier, self._at_end = {}, {}
        self.done.clear()

    # epochs

    def end_epoch(self, request: Message, now: float = 0.0) -> None:
        """Note that a worker has pushed all batches of its epoch, or that another one asks to join."""
        self._at_end[request.worker] = request
        self._since[request.worker] = now
        if request.worker in self._heard:
            self.done.add(request.worker)

    def begin_epoch(self, now: float = 0.0) -> dict[int, Message]:
        """Let in the workers that wait to join, if all live workers have ended their epoch. Returns the requests of all of them."""
        if not all(w in self._at_end for w in self.live):
            return {}
        found, self._at_end = self._at_end, {}
        self.done.clear()
        for worker in found:
            if worker not in self._heard:
                insort(self.live, worker)
                self._heard[worker] = now
                # it may have been dropped for its silence, and have come back
                self.dead.discard(worker)
        return found
