"""`ReplayBuffer`: messages that a worker keeps, so that it can go on after a message or a server is lost."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .announcement import Included
from .messages import Flag, Message, Opcode


class KeptValue(NamedTuple):
    """A value that a worker has received.

    Attributes
    ----------
    clock
        The number of this worker's pushes that it includes.
    payload
        Its bytes.
    included
        The pushes of all workers that it includes.
    """

    clock: int
    payload: bytes
    included: Included


class ReplayBuffer:
    """The last value of each part of a key that this worker has, and its pushes that this value does not include."""

    def __init__(self) -> None:
        #: By server, number of the key and number of the part, in the order of sending. Payloads have memory of their own.
        self._pushes: dict[tuple[int, int, int], list[Message]] = {}
        #: By number of the key and number of the part.
        self._values: dict[tuple[int, int], KeptValue] = {}
        #: Parts that were pulled by rows. A pull of rows confirms pushes, which are then dropped, but gives no whole value to replace them.
        self._of_rows: set[tuple[int, int]] = set()

    def sent(self, server: int, message: Message) -> None:
        """Keep the push or the value that a request carries."""
        if message.op in (Opcode.PUSH, Opcode.PUSHPULL):
            self._pushes.setdefault((server, message.key, message.shard), []).append(message)
        elif message.op == Opcode.BCAST:
            # the initial value counts as received: if the server dies before the first pull, it is sent again from here
            self._values.setdefault(
                (message.key, message.shard), KeptValue(message.clock, bytes(message.payload), Included(message.clock, {}))
            )

    def received(self, server: int, op: int, message: Message, included: np.ndarray) -> None:
        """Keep the value in a reply to a request ``op``, and drop the pushes that it includes; ``included`` is of `parted`."""
        if op not in (Opcode.PULL, Opcode.PUSHPULL, Opcode.RSP_PULL):
            return
        _, key, _, _, index, _, clock, _, _, payload = message
        place = server, key, index
        # the reply's clock counts the pushes that the server has applied, so these need no second sending even if the server dies
        self._pushes[place] = [m for m in self._pushes.get(place, ()) if m.clock > clock]
        if op == Opcode.RSP_PULL:
            self._of_rows.add((key, index))
            return
        newer = Included.of_numbers(included.tolist() or [clock])
        known = self._values.get((key, index))
        # replies may overtake each other where messages are sent twice: an older value never replaces a newer one
        if known is None or newer.version >= known.included.version:
            self._values[key, index] = KeptValue(clock, bytes(payload), newer)

    def pushes(self, place: tuple[int, int, int] | None = None) -> Iterator[tuple[int, Message]]:
        """The pushes that are kept, each with its server: of one server, key and part, or all."""
        for known, messages in self._pushes.items():
            if place in (None, known):
                for message in messages:
                    yield known[0], message

    def value(self, key: int, index: int) -> KeptValue | None:
        """The last value of a part; None if this worker never had it."""
        return self._values.get((key, index))

    def has_rows_alone(self, key: int, index: int) -> bool:
        """Whether this worker has pulled rows of a part. It then lacks the other rows, and the pushes that were confirmed."""
        return (key, index) in self._of_rows

    def move(self, dead: int, heir: int) -> None:
        """From now on, the messages that are kept for a dead server are for its heir."""
        self._pushes = {(heir if s == dead else s, key, index): messages for (s, key, index), messages in self._pushes.items()}


def parted(message: Message) -> tuple[Message, np.ndarray]:
    """A reply without the numbers of `Flag.COUNTS` at its end, and these numbers; none without the flag."""
    count = message.rows if message.flags & Flag.COUNTS else 0
    end = len(message.payload) - 8 * count
    return message._replace(payload=message.payload[:end]) if count else message, np.frombuffer(message.payload, np.int64, count, end)
