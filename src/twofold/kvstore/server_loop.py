"""`serve`: the loop of a server over any transport."""

from collections import deque
from collections.abc import Callable
from time import monotonic

from ..errors import ClusterError, FormatError
from .messages import Message, reply_error
from .server_core import Replies, ServerCore
from .transports import Transport

__all__ = ["serve"]


def serve(core: ServerCore, transport: Transport, every: float = 0.5, now: Callable[[], float] = monotonic) -> None:
    """Receive messages, hand them to a core, and send its replies, until all workers have stopped.

    Parameters
    ----------
    core
        The core.
    transport
        What carries its messages.
    every
        Seconds between calls of `ServerCore.tick`.
    now
        The clock.
    """
    waiting: dict[int, deque[Message]] = {}

    def send(replies: Replies) -> None:
        while replies:
            dest, message = replies.pop(0)
            try:
                transport.send(dest, message)
            except ClusterError:  # it died: the others go on
                replies += core.drop(dest)

    def take(source: int) -> None:
        """Handle a worker's messages in order, up to one whose turn has not come."""
        queue = waiting[source]
        while queue and core.takes(source, queue[0], len(queue[0].payload)):
            send(core.handle(source, queue.popleft()))
        if not queue:
            del waiting[source]

    ticked = now()
    send(core.tick(ticked))
    while not core.is_stopped:
        received = transport.receive(every)
        if received is not None:
            source, message = received
            if len(message.payload) > core.limit(message):
                error = FormatError("server: the payload is larger than announced", f"{len(message.payload)} bytes", "call init first")
                send([(source, reply_error(message, error))])
            else:
                waiting.setdefault(source, deque()).append(message)
                take(source)
                for other in tuple(waiting):
                    take(other)
        if now() - ticked >= every:
            ticked = now()
            send(core.tick(ticked))
