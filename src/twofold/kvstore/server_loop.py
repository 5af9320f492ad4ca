"""`serve`: the loop of a server over any transport; `Intake`: the order in which it takes messages."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic

from ..errors import ClusterError, FormatError, ProcessGone
from .messages import Message, Opcode, reply_error
from .server_core import Replies, ServerCore
from .transports import Transport


class Intake:
    """Hands messages to a core: the messages of a worker in their order, and pushes when the core takes them.

    Parameters
    ----------
    core
        The core.
    """

    def __init__(self, core: ServerCore) -> None:
        self._core = core
        #: By worker, the messages that wait for a push's turn, in the order of arrival. No queue is empty.
        self._waiting: dict[int, deque[Message]] = {}

    def receive(self, source: int, message: Message) -> Iterator[Replies]:
        """Hand over a message, or keep it until others have come. The caller sends the yielded replies before it asks for the next."""
        if len(message.payload) > self._core.limit(message):
            error = FormatError("server: the payload is larger than announced", f"{len(message.payload)} bytes", "call init first")
            yield [(source, reply_error(message, error))]
            return
        # An announcement overtakes pushes that wait: the size limits of later messages depend on the key.
        if message.op == Opcode.INIT or (not self._waiting and self._core.takes(source, message, len(message.payload))):
            yield self._core.handle(source, message)
            return
        queue = self._waiting.setdefault(source, deque())
        queue.append(message)
        yield from self._take(source)
        if queue and queue[-1] is message:  # its memory is the transport's, which uses it again
            queue[-1] = message._replace(payload=bytes(message.payload))
        yield from self.go_on()

    def go_on(self) -> Iterator[Replies]:
        """Hand over a message that would otherwise wait forever."""
        while self._waiting and self._core.is_stuck:
            yield from self._take(min(self._waiting), out_of_turn=True)

    def _take(self, source: int, out_of_turn: bool = False) -> Iterator[Replies]:
        """Hand over a worker's messages up to one whose turn has not come, and those of other workers whose turn this brings."""
        ready = deque([source])
        while ready:
            worker = ready.popleft()
            queue = self._waiting.get(worker, ())
            while queue and (out_of_turn or self._core.takes(worker, queue[0], len(queue[0].payload))):
                out_of_turn = False
                message = queue.popleft()
                yield self._core.handle(worker, message)
                following = self._core.next_contributor(message)
                if following in self._waiting:
                    ready.append(following)
            if not queue:
                self._waiting.pop(worker, None)


def serve(core: ServerCore, transport: Transport, every: float = 0.5, now: Callable[[], float] = monotonic, goes_on: bool = True) -> None:
    """Receive messages, hand them to a core, and send its replies, until all workers have stopped.

    Parameters
    ----------
    core
        The core.
    transport
        Carries its messages.
    every
        Seconds between calls of `ServerCore.tick`.
    now
        The clock.
    goes_on
        Whether the others go on without a worker that has died or cannot be reached.

    Raises
    ------
    ClusterError
        If one of them has, and they do not go on.
    """
    intake = Intake(core)

    def send(replies: Replies) -> None:
        while replies:
            dest, message = replies.pop(0)
            try:
                transport.send(dest, message)
            except ClusterError:  # the receiver has died or cannot be reached
                if not goes_on and dest in core.live:
                    raise
                # a death may complete sums, whose replies the same loop sends
                replies += core.drop(dest)

    ticked = now()
    send(core.tick(ticked))
    while not core.is_stopped:
        try:
            received = transport.receive(every)
        except ProcessGone as gone:
            if gone.process < 0 or (not goes_on and gone.process in core.live):
                raise
            if gone.process in core.live:
                print(f"twofold: worker {gone.process} has died; the others go on without it", file=sys.stderr, flush=True)
            send(core.drop(gone.process))
            continue
        if received is not None:
            for replies in intake.receive(*received):
                send(replies)
        if now() - ticked >= every:
            ticked = now()
            send(core.tick(ticked))
            for replies in intake.go_on():
                send(replies)
