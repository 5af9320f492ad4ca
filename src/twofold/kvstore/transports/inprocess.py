"""A cluster in one process: each worker and server is a thread. For tests, and to try distributed programs without a launcher."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any, TypeVar

import numpy as np

from ...errors import ClusterError
from ..messages import Message
from .protocols import Group, Transport

T = TypeVar("T")


class InProcessTransport:
    """Messages through queues. See `Transport`."""

    def __init__(self, rank: int, queues: list[SimpleQueue[tuple[int, Message]]]) -> None:
        self._rank, self._queues = rank, queues

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of processes."""
        return len(self._queues)

    def send(self, dest: int, message: Message) -> None:
        """Send a message; the payload is copied."""
        if not 0 <= dest < len(self._queues):
            raise ClusterError("send: there is no such process", f"{dest} of {len(self._queues)}", "send to a worker or server")
        if message.payload:
            message = Message(*message[:9], bytes(message.payload))
        self._queues[dest].put((self._rank, message))

    def receive(self, timeout: float | None = None) -> tuple[int, Message] | None:
        """The next message and its sender, or None if there is none in time."""
        try:
            return self._queues[self._rank].get(timeout=timeout)
        except Empty:
            return None

    def close(self) -> None:
        """There is nothing to close."""


class InProcessGroup:
    """Sums in the order of workers. See `Group`."""

    def __init__(self, rank: int, slots: list[Any], barrier: Barrier) -> None:
        self._rank, self._slots, self._barrier = rank, slots, barrier

    @property
    def rank(self) -> int:
        """The number of this worker."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of workers."""
        return len(self._slots)

    def allreduce(self, array: np.ndarray) -> None:
        """Replace an array by its sum over workers."""
        self._slots[self._rank] = array
        self.barrier()
        total = self._slots[0].copy()
        for other in self._slots[1:]:
            total += other
        self.barrier()  # all have read before any writes
        array[...] = total

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        """Replace an array by that of one worker."""
        self._slots[self._rank] = array
        self.barrier()
        if self._rank != root:
            array[...] = self._slots[root]
        self.barrier()

    def barrier(self) -> None:
        """Wait until all workers have called this.

        Raises
        ------
        ClusterError
            If a worker has failed.
        """
        try:
            self._barrier.wait()
        except BrokenBarrierError:
            raise ClusterError("barrier: a worker has failed", None, "see its error") from None


def connected(size: int) -> list[Transport]:
    """Transports between ``size`` threads.

    Examples
    --------
    >>> from twofold.kvstore.messages import Message, Opcode
    >>> from twofold.kvstore.transports.inprocess import connected
    >>> first, second = connected(2)
    >>> first.send(1, Message(Opcode.PULL, key=3))
    >>> source, message = second.receive()
    >>> source, message.key
    (0, 3)
    """
    queues: list[SimpleQueue[tuple[int, Message]]] = [SimpleQueue() for _ in range(size)]
    return [InProcessTransport(rank, queues) for rank in range(size)]


def grouped(workers: int) -> list[Group]:
    """Groups of ``workers`` threads."""
    slots: list[Any] = [None] * workers
    barrier = Barrier(workers)
    return [InProcessGroup(rank, slots, barrier) for rank in range(workers)]


def run_threads(functions: list[Callable[[], T]], on_failure: Callable[[], object] = lambda: None) -> list[T]:
    """Run functions in threads, and return their results in order.

    Parameters
    ----------
    functions
        The functions.
    on_failure
        Called once for each function that raises, to release the others.

    Raises
    ------
    Exception
        The first error that a function raised.
    """
    results: list[Any] = [None] * len(functions)
    errors: list[BaseException] = []

    def run(place: int) -> None:
        try:
            results[place] = functions[place]()
        except BaseException as error:
            errors.append(error)
            on_failure()

    threads = [Thread(target=run, args=(place,), daemon=True) for place in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
