"""A cluster in one process: each worker and server is a thread. For tests, and to try distributed programs without a launcher."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from ...errors import ClusterError
from ..messages import Message
from .protocols import Transport

T = TypeVar("T")


class InProcessTransport:
    """Messages through queues. See `Transport`."""

    def __init__(self, rank: int, queues: list[SimpleQueue[tuple[int, Message]]]) -> None:
        self.rank, self.size, self._queues = rank, len(queues), queues

    def send(self, dest: int, message: Message) -> None:
        """Send a message; the payload is copied."""
        if not 0 <= dest < self.size:
            raise ClusterError("send: there is no such process", f"{dest} of {self.size}", "send to a worker or server")
        if message.payload:
            message = Message(*message[:9], bytes(message.payload))
        self._queues[dest].put((self.rank, message))

    def receive(self, timeout: float | None = None) -> tuple[int, Message] | None:
        """The next message and its sender, or None if there is none in time."""
        try:
            return self._queues[self.rank].get(timeout=timeout)
        except Empty:
            return None

    def close(self) -> None:
        """There is nothing to close."""


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
    results: dict[int, T] = {}
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
    return [results[place] for place in range(len(functions))]
