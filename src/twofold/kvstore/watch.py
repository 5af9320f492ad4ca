"""`Watch`: a thread that sees to it that no worker waits without end for others, and that lets finished workers take part.

Each process knows the number of the collective operation that it is in. A process that has waited too long asks the others for theirs:
the answers, and those that do not come, name the workers at fault. A worker that has finished tells the others, and then takes part in
what the rest still do, with nothing of its own: workers may have different numbers of batches.
"""

import threading
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple, Protocol

__all__ = ["Channel", "Operation", "Watch", "in_words"]

#: Kinds of notices.
ASK, ANSWER, DONE, JOIN, FIGURE = range(5)
#: Seconds between looks at the channel, and to wait for answers.
LOOK, PATIENCE = 0.02, 2.0
#: More operations than there will be.
FOREVER = 1 << 62


class Channel(Protocol):
    """Notices between processes; see `transports.mpi.Control`."""

    rank: int
    size: int
    #: Processes that have died.
    dead: set[int]

    def replace(self, comm: Any, members: Sequence[int], size: int) -> None:
        """Go on with another communicator, whose processes have these numbers, of ``size`` in all; the rest are dead."""
        ...

    def send(self, dest: int, *words: int) -> None:
        """Send a notice of at most 8 integers."""
        ...

    def poll(self) -> tuple[int, list[int]] | None:
        """A notice that has arrived, and who sent it."""
        ...


class Operation(NamedTuple):
    """A collective operation, as a worker without data of its own needs to know it.

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
        self._lock = threading.RLock()
        self._count = 0
        #: Number, label, time of beginning and kind of the operation that this worker is in.
        self._current: tuple[int, object, float, Operation] | None = None
        self._begun: set[object] = set()
        self._finished: dict[int, int] = {}
        self._lost: set[int] = set()
        self._answers: dict[int, tuple[int, int]] = {}
        self._joins: list[tuple[int, Operation]] = []
        self._figures: dict[int, int] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="twofold watch", daemon=True)
        self._thread.start()

    # operations

    def begin(self, label: object, operation: Operation) -> int:
        """Note that this worker begins a collective operation; return its number, which is the same on all workers."""
        with self._lock:
            self._count += 1
            self._current = self._count, label, monotonic(), operation
            if self._finished:
                self._invite(self._finished)
            return self._count

    def end(self) -> None:
        """The operation is done."""
        current = self._current
        if current is not None:
            self._begun.add(current[1])
        self._current = None

    def _invite(self, workers: "dict[int, int] | list[int]") -> None:
        """Tell finished workers what to take part in. The first of those that have not finished does so."""
        current, me = self._current, self._channel.rank
        if current is None or any(rank not in self._finished for rank in range(me)):
            return
        number, _, _, operation = current
        for rank in workers:
            if number > self._finished[rank]:
                self._channel.send(rank, JOIN, number, *operation)

    # the end of a worker

    def lose(self, worker: int) -> None:
        """Note that a worker has died: nobody waits for it."""
        with self._lock:
            self._finished[worker] = FOREVER
            self._lost.add(worker)

    def regroup(self, notices: Any, members: Sequence[int], workers: int, count: int) -> None:
        """Go on with other workers, of which none has finished, after so many operations.

        Parameters
        ----------
        notices
            The communicator for notices.
        members
            The numbers of the workers that there are, of ``workers`` in all.
        count
            The number of operations of those that have done the most; newcomers have done none.
        """
        with self._lock:
            self._channel.replace(notices, members, workers)
            self._count = count
            self._lost = set(range(workers)) - set(members)
            self._finished = dict.fromkeys(self._lost, FOREVER)
            self._figures = {rank: told for rank, told in self._figures.items() if rank in members}
            self._begun.clear()  # newcomers do everything for the first time

    @property
    def count(self) -> int:
        """The number of operations so far."""
        return self._count

    def finish(self, take_part: Callable[[Operation], None], look: Callable[[], bool]) -> None:
        """Tell the others that this worker has finished, and take part in what they still do until all have.

        Parameters
        ----------
        take_part
            Takes part in an operation with nothing of its own.
        look
            Called again and again meanwhile. True if an operation has been completed by that.
        """
        everyone = range(self._channel.size)
        with self._lock:
            self._finished[self._channel.rank] = self._count
        for rank in everyone:
            if rank != self._channel.rank:
                self._channel.send(rank, DONE, self._count)
        asked = monotonic()
        while len(self._finished) < self._channel.size or self._joins:
            if monotonic() - asked > self._timeout:  # they may compute for long, but they must be there
                silent, asked = self.silent(), monotonic()
                if silent:
                    self._fail(f"waiting for the other workers to finish: {_not_answering(silent)}")
            with self._lock:
                invited = next((op for number, op in self._joins if number == self._count + 1), None)
                self._joins = [(number, op) for number, op in self._joins if number > self._count + 1]
            if invited is None:
                self._count += look()
                self._stopped.wait(LOOK / 4)
                continue
            self._count += 1
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
        """Tell worker 0 a figure, without waiting; there, return the last figure of each worker that has told one and goes on."""
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
            if current is not None and monotonic() - current[2] > self._patience(current[1]):
                self._give_up(current)
                return

    def _patience(self, label: object) -> float:
        """Seconds for an operation: ten times as long at its first time, when programs are compiled and data is loaded."""
        return self._timeout if label in self._begun else 10 * self._timeout

    def _listen(self) -> None:
        for worker in self._channel.dead - self._lost:
            self.lose(worker)
        while (notice := self._channel.poll()) is not None:
            source, (kind, *words) = notice
            if kind == ASK:
                self._channel.send(source, ANSWER, self._count, self._current is not None)
            elif kind == ANSWER:
                self._answers[source] = words[0], words[1]
            elif kind == FIGURE:
                self._figures[source] = words[0]
            else:
                with self._lock:
                    if kind == DONE:
                        was_first = all(rank in self._finished for rank in range(self._channel.rank))
                        self._finished[source] = words[0]
                        self._invite([source] if was_first else [r for r in self._finished if r != self._channel.rank])
                    else:
                        self._joins.append((words[0], Operation(*words[1:4])))

    def silent(self, seconds: float = PATIENCE) -> list[int]:
        """The other workers that do not answer within some seconds."""
        others = [rank for rank in range(self._channel.size) if rank != self._channel.rank and rank not in self._finished]
        self._answers.clear()
        for rank in others:
            self._channel.send(rank, ASK)
        end = monotonic() + seconds
        while len(self._answers) < len(others) and monotonic() < end:
            if threading.current_thread() is self._thread:
                self._listen()
            self._stopped.wait(LOOK)
        return [rank for rank in others if rank not in self._answers]

    def _give_up(self, current: tuple[int, object, float, Operation]) -> None:
        number, label, begun, _ = current
        silent = self.silent()
        if self._current is None or self._current[0] != number:  # it has ended meanwhile
            return self._serve()
        faults = [_not_answering(silent)] if silent else []
        for rank, (theirs, waits) in sorted(self._answers.items()):
            if theirs < number:
                faults.append(f"worker {rank} has not begun it (its last operation is {theirs}{', in which it waits' if waits else ''})")
        seconds = monotonic() - begun
        self._fail(
            f"{in_words(label)} (operation {number}) has waited for {seconds:.0f} s: {'; '.join(faults) or 'all workers wait in it'}; "
            "TWOFOLD_KV_TIMEOUT sets the limit"
        )
        return None


def _not_answering(silent: list[int]) -> str:
    return f"no answer from worker {', '.join(map(str, silent))}"


def in_words(label: object) -> str:
    """A label in words: ``("push", (1, 2, 3))`` is "push of keys 1, 2, 3"."""
    if not isinstance(label, tuple):
        return str(label)
    what, keys = label
    shown = ", ".join(map(repr, keys[:4])) + (f", … ({len(keys)} keys)" if len(keys) > 4 else "")
    return f"{what} of key{'s' * (len(keys) > 1)} {shown}"
