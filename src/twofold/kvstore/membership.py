"""`Membership`: which workers a server counts on, who of them has ended its epoch, and who waits at a barrier or to join."""

from bisect import insort
from collections.abc import Iterable

from .messages import Message


class Membership:
    """The workers of a server. It only keeps account: the server sends the replies to the requests that it gives back.

    Parameters
    ----------
    workers
        The number of workers, whose numbers are 0 to ``workers - 1``, or the numbers of those that are alive.

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
        #: The workers that are neither stopped nor dead, in the order in which sums are made.
        self.live = sorted(range(workers) if isinstance(workers, int) else workers)
        self.dead: set[int] = set()
        #: Live workers that have pushed the last batch of their epoch.
        self.done: set[int] = set()
        #: Workers at the end of their epoch, and those that wait to join at it.
        self._at_end: dict[int, Message] = {}
        self._at_barrier: dict[int, Message] = {}
        self._barrier_since = 0.0
        self._heard = dict.fromkeys(self.live, 0.0)

    def __contains__(self, worker: int) -> bool:
        return worker in self._heard

    def hear(self, worker: int, now: float) -> None:
        """Note that a message has come from a worker, if it is a member."""
        if worker in self._heard:
            self._heard[worker] = now

    def hear_all(self, now: float) -> None:
        """Note a message from each worker: their silence counts from now on."""
        self._heard = dict.fromkeys(self._heard, now)

    def silent(self, now: float, seconds: float) -> list[int]:
        """The workers from which nothing has come for some seconds."""
        return [worker for worker in self.live if now - self._heard[worker] > seconds]

    def remove(self, worker: int, *, has_died: bool) -> None:
        """Wait no longer for a live worker."""
        self.live.remove(worker)
        self.done.discard(worker)
        for table in (self._heard, self._at_barrier, self._at_end):
            table.pop(worker, None)
        if has_died:
            self.dead.add(worker)

    # barriers

    def wait(self, request: Message, now: float) -> None:
        """A worker waits at the barrier."""
        if not self._at_barrier:
            self._barrier_since = now
        self._at_barrier[request.worker] = request

    def open_barrier(self) -> dict[int, Message]:
        """If all live workers wait at the barrier, their requests, which are to be answered now."""
        return self._taken_from_barrier() if all(w in self._at_barrier for w in self.live) else {}

    def late_at_barrier(self, now: float, seconds: float) -> tuple[dict[int, Message], list[int]]:
        """If a worker has waited at the barrier for more than some seconds: the requests there, given up, and the workers missing."""
        missing = [w for w in self.live if w not in self._at_barrier]
        is_late = self._at_barrier and now - self._barrier_since > seconds
        return (self._taken_from_barrier(), missing) if is_late else ({}, missing)

    def _taken_from_barrier(self) -> dict[int, Message]:
        found, self._at_barrier = self._at_barrier, {}
        return found

    # epochs

    def end_epoch(self, request: Message) -> None:
        """A worker has pushed all batches of its epoch, or one that is not live asks to join."""
        self._at_end[request.worker] = request
        if request.worker in self._heard:
            self.done.add(request.worker)

    def begin_epoch(self, now: float = 0.0) -> dict[int, Message]:
        """If all live workers have ended their epoch, let in those that wait to join; the requests of all, to be answered now."""
        if not all(w in self._at_end for w in self.live):
            return {}
        found, self._at_end = self._at_end, {}
        self.done.clear()
        for worker in found:
            if worker not in self._heard:
                insort(self.live, worker)
                self._heard[worker] = now
                self.dead.discard(worker)
        return found
