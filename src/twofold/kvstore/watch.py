"""`Watch`: a thread of each worker that ends waits that last too long, and lets finished workers take part in operations of the others.

Each worker knows the number of the collective operation that it is in. A worker that has waited too long asks the others for their numbers:
the answers, and the answers that do not come, name the workers at fault. A worker that has finished tells the others, and then takes part
in their operations with zeros, because workers may have different numbers of batches.
"""

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple, Protocol

from ..errors import ClusterError
from .process_hosts import on_hosts

#: Kinds of notices.
ASK, ANSWER, DONE, JOIN, FIGURE = range(5)
#: Seconds between looks at the channel, and to wait for answers.
LOOK, PATIENCE = 0.02, 2.0
#: More operations than there will be.
FOREVER = 1 << 62


class Channel(Protocol):
    """Notices between processes; see `transports.mpi.NoticeChannel`."""

    rank: int
    size: int
    #: Processes that have died.
    dead: set[int]

    def replace(self, comm: Any, members: Sequence[int], size: int) -> None:
        """Go on with another communicator. ``members`` are the numbers of its processes; the others of ``size`` processes are dead."""
        ...

    def send(self, dest: int, *words: int) -> None:
        """Send a notice of at most 8 integers."""
        ...

    def poll(self) -> tuple[int, list[int]] | None:
        """A notice that has arrived, and its sender."""
        ...


class CollectiveCall(NamedTuple):
    """The facts about a collective operation with which a finished worker takes part with zeros.

    Attributes
    ----------
    kind, dtype, size
        Code of the operation, number of the NumPy dtype, number of elements.
    """

    kind: int
    dtype: int = 0
    size: int = 0


class Watch:
    """Watches the collective operations of a worker.

    Parameters
    ----------
    channel
        The channel to the other workers.
    timeout
        Seconds after which an operation is given up.
    fail
        Called, in the watching thread, with the reason why the cluster cannot go on.
    """

    def __init__(self, channel: Channel, timeout: float, fail: Callable[[str], None]) -> None:
        self._channel, self._timeout, self._fail = channel, timeout, fail
        #: Guards `count`, `_current`, `_finished` and `_invitations` together, so that a worker that finishes while an operation begins is
        #: invited to it exactly once. The channel's lock may be taken while this lock is held, never the reverse.
        self._lock = threading.RLock()
        #: The number of operations that this worker has begun. It is the same on all workers in the same operation.
        self.count = 0
        #: Number, label, time of beginning and kind of the operation that this worker is in.
        self._current: tuple[int, object, float, CollectiveCall] | None = None
        #: Labels of operations that were completed once: from then on they have the short deadline.
        self._begun: set[object] = set()
        #: The operations that each finished worker had begun; `FOREVER` of a dead worker, which is invited to nothing.
        self._finished: dict[int, int] = {}
        self._lost: set[int] = set()
        #: When the last worker was lost: the others begin the operation again.
        self._lost_at = 0.0
        #: The number of the operation of each worker that has answered, and whether the worker is in it.
        self._answers: dict[int, tuple[int, int]] = {}
        #: After this worker has finished: operations of the others that it takes part in, with their numbers.
        self._invitations: list[tuple[int, CollectiveCall]] = []
        self._figures: dict[int, int] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="twofold watch", daemon=True)
        self._thread.start()

    # operations

    def begin(self, label: object, operation: CollectiveCall) -> int:
        """Note that this worker begins a collective operation. Return the operation's number, which is the same on all workers."""
        with self._lock:
            self.count += 1
            self._current = self.count, label, monotonic(), operation
            if self._finished:
                self._invite(self._finished)
            return self.count

    def end(self) -> None:
        """The operation is done."""
        current = self._current
        if current is not None:
            # only completed operations count: the first attempt keeps its long deadline to the end
            self._begun.add(current[1])
        self._current = None

    def _invite(self, workers: "dict[int, int] | list[int]") -> None:
        """Invite finished workers to the current operation. Only the first of the workers that have not finished does so."""
        current, me = self._current, self._channel.rank
        # by one worker only: a finished worker that is invited twice would take part twice
        if current is None or any(rank not in self._finished for rank in range(me)):
            return
        number, _, _, operation = current
        for rank in workers:
            if number > self._finished[rank]:
                self._channel.send(rank, JOIN, number, *operation)

    # the end of a worker

    def lose(self, worker: int) -> None:
        """Note that a worker has died: no worker waits for it any more."""
        with self._lock:
            self._finished[worker] = FOREVER
            if worker not in self._lost:
                self._lost_at = monotonic()
            self._lost.add(worker)

    def regroup(self, notices: Any, members: Sequence[int], workers: int, count: int) -> None:
        """Go on with other workers, after spares have joined. None of the workers has finished.

        Parameters
        ----------
        notices
            The communicator for notices.
        members, workers
            The numbers of the workers that live, and the number of all workers.
        count
            The largest number of operations that a worker has begun. Newcomers have begun none.
        """
        with self._lock:
            self._channel.replace(notices, members, workers)
            self.count = count
            self._lost = set(range(workers)) - set(members)
            self._finished = dict.fromkeys(self._lost, FOREVER)
            self._figures = {rank: told for rank, told in self._figures.items() if rank in members}
            self._begun.clear()  # newcomers do everything for the first time

    def finish(self, take_part: Callable[[CollectiveCall], None], poll_recovery: Callable[[], bool]) -> None:
        """Tell the others that this worker has finished, and take part in their operations until all have finished.

        Parameters
        ----------
        take_part
            Takes part in an operation with zeros.
        poll_recovery
            Called repeatedly meanwhile; see `Survivors.poll_recovery`.
        """
        everyone = range(self._channel.size)
        with self._lock:
            # noted before the others are told, so that this worker invites nobody from now on
            self._finished[self._channel.rank] = self.count
        for rank in everyone:
            if rank != self._channel.rank:
                self._channel.send(rank, DONE, self.count)
        asked = monotonic()
        while len(self._finished) < self._channel.size or self._invitations:
            if monotonic() - asked > self._timeout:  # the others may compute for long, but their watches must answer
                silent, asked = self.silent(), monotonic()
                if silent:
                    self._fail(f"waiting for the other workers to finish: {_not_answering(silent)}")
            with self._lock:
                invited = next((op for number, op in self._invitations if number == self.count + 1), None)
                self._invitations = [(number, op) for number, op in self._invitations if number > self.count + 1]
            if invited is None:
                # a recovery may complete the operation in which a worker has died: it counts as one that this worker took part in
                self.count += poll_recovery()
                self._stopped.wait(LOOK / 4)
                continue
            self.count += 1
            take_part(invited)
        self.stop()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    @property
    def finished(self) -> frozenset[int]:
        """The workers that have finished."""
        return frozenset(self._finished)

    @property
    def lost(self) -> frozenset[int]:
        """The workers that have died."""
        return frozenset(self._lost)

    # figures

    def share(self, figure: int) -> list[int]:
        """Tell worker 0 a figure without waiting. On worker 0, return the last figure of each worker that has not finished."""
        if self._channel.rank:
            self._channel.send(0, FIGURE, figure)
            return []
        self._figures[0] = figure
        return [told for rank, told in list(self._figures.items()) if rank not in self._finished]

    # the thread

    def _serve(self) -> None:
        while not self._stopped.wait(LOOK):
            self._listen()
            current = self._current
            if current is not None and monotonic() - max(current[2], self._lost_at) > self._patience(current[1]):
                self._give_up(current)
                return

    def _patience(self, label: object) -> float:
        """Seconds for an operation: ten times as many for the first of a label, when programs are compiled and data is loaded."""
        return self._timeout if label in self._begun else 10 * self._timeout

    def _listen(self) -> None:
        # first: an answer that a dead worker cannot give must not be waited for
        for worker in self._channel.dead - self._lost:
            self.lose(worker)
        while (notice := self._channel.poll()) is not None:
            source, (kind, *words) = notice
            if kind == ASK:
                self._channel.send(source, ANSWER, self.count, self._current is not None)
            elif kind == ANSWER:
                self._answers[source] = words[0], words[1]
            elif kind == FIGURE:
                self._figures[source] = words[0]
            else:
                with self._lock:
                    if kind == DONE:
                        # if the end of `source` makes this worker the first one, it invites all: `source` may not have done so
                        was_first = all(rank in self._finished for rank in range(self._channel.rank))
                        self._finished[source] = words[0]
                        self._invite([source] if was_first else [r for r in self._finished if r != self._channel.rank])
                    else:
                        self._invitations.append((words[0], CollectiveCall(*words[1:4])))

    def silent(self, seconds: float = PATIENCE) -> list[int]:
        """The other workers that do not answer within some seconds."""
        others = [rank for rank in range(self._channel.size) if rank != self._channel.rank and rank not in self._finished]
        # answers to an earlier question would hide a worker that has died since
        self._answers.clear()
        for rank in others:
            self._channel.send(rank, ASK)
        end = monotonic() + seconds
        while len(self._answers) < len(others) and monotonic() < end:
            if threading.current_thread() is self._thread:
                self._listen()
            self._stopped.wait(LOOK)
        return [rank for rank in others if rank not in self._answers]

    def _give_up(self, current: tuple[int, object, float, CollectiveCall]) -> None:
        number, label, begun, _ = current
        silent = self.silent()
        if self._current is None or self._current[0] != number:  # it has ended meanwhile
            return self._serve()
        faults = [_not_answering(silent)] if silent else []
        for rank, (theirs, waits) in sorted(self._answers.items()):
            if theirs < number:
                where = f"its last operation is {theirs}{', in which it waits' if waits else ''}"
                faults.append(f"worker {rank}{on_hosts([rank])} has not begun it ({where})")
        seconds = monotonic() - begun
        self._fail(
            f"{in_words(label)} (operation {number}) has waited for {seconds:.0f} s: {'; '.join(faults) or 'all workers wait in it'}; "
            "TWOFOLD_KV_TIMEOUT sets the limit"
        )
        return None


def _not_answering(silent: list[int]) -> str:
    return f"no answer from worker {', '.join(map(str, silent))}{on_hosts(silent)}"


def in_words(label: object) -> str:
    """A label in words: ``("push", (1, 2, 3))`` is "push of keys 1, 2, 3"."""
    if not isinstance(label, tuple):
        return str(label)
    what, keys = label
    shown = ", ".join(map(repr, keys[:4])) + (f", … ({len(keys)} keys)" if len(keys) > 4 else "")
    return f"{what} of key{'s' * (len(keys) > 1)} {shown}"


def disagreement(label: object, said: dict[int, str]) -> ClusterError:
    """The error of workers that state different facts, which are given by worker."""
    first = next(iter(said.values()))
    other, theirs = next((rank, text) for rank, text in said.items() if text != first)
    at = next((k for k, (a, b) in enumerate(zip(first, theirs, strict=False)) if a != b), min(len(first), len(theirs)))
    # texts list all keys; the error shows only the part around the first difference
    start = max(0, at - 60)
    given = f"worker {next(iter(said))}: …{first[start : at + 60]}…; worker {other}: …{theirs[start : at + 60]}…"
    return ClusterError(f"{in_words(label)}: the workers do not do the same", given, "run the same program with the same parameters on all")
