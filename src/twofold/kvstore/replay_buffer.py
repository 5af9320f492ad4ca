"""`ReplayBuffer`: what a worker keeps of what it has sent and received, so that messages and servers may be lost."""

from collections.abc import Iterator

from .messages import Message, Opcode


class ReplayBuffer:
    """Pushes that are not part of any value that this worker has, and the last value of each part of a key."""

    def __init__(self) -> None:
        #: By server, number of the key and of the part; in the order of sending.
        self._pushes: dict[tuple[int, int, int], list[Message]] = {}
        #: By number of the key and of the part: how many pushes of this worker the value includes, and its bytes.
        self._values: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._of_rows: set[tuple[int, int]] = set()

    def sent(self, server: int, message: Message) -> None:
        """Keep what a request carries."""
        if message.op in (Opcode.PUSH, Opcode.PUSHPULL):
            self._pushes.setdefault((server, message.key, message.shard), []).append(message)
        elif message.op == Opcode.BCAST:
            self._values[message.key, message.shard] = message.clock, bytes(message.payload)

    def received(self, server: int, op: int, message: Message) -> None:
        """Keep what a reply to a request ``op`` carries, instead of the pushes that it confirms."""
        if op not in (Opcode.PULL, Opcode.PUSHPULL, Opcode.RSP_PULL):
            return
        _, key, _, _, index, _, clock, _, _, payload = message
        place = server, key, index
        self._pushes[place] = [m for m in self._pushes.get(place, ()) if m.clock > clock]
        if op == Opcode.RSP_PULL:
            self._of_rows.add((key, index))
        elif clock >= self._values.get((key, index), (0, b""))[0]:
            self._values[key, index] = clock, bytes(payload)

    def pushes(self, place: tuple[int, int, int] | None = None) -> Iterator[tuple[int, Message]]:
        """Each push that is kept and its server: those of one server, key and part, or all."""
        for known, messages in self._pushes.items():
            if place in (None, known):
                for message in messages:
                    yield known[0], message

    def value(self, key: int, index: int) -> tuple[int, bytes] | None:
        """The last value of a part and how many pushes it includes; None if this worker never had it."""
        return self._values.get((key, index))

    def has_rows_alone(self, key: int, index: int) -> bool:
        """Whether this worker has pulled rows of a part: it no longer has what it pushed before, nor the other rows."""
        return (key, index) in self._of_rows

    def move(self, dead: int, heir: int) -> None:
        """Send what is kept for one server to another from now on."""
        self._pushes = {(heir if s == dead else s, key, index): messages for (s, key, index), messages in self._pushes.items()}
