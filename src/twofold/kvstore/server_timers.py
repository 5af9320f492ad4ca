"""`ServerTimers`: the events of a server's clock. It only finds the events; `ServerCore.tick` acts on them."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..errors import ClusterTimeout
from .membership import Membership
from .messages import Message, Opcode
from .shard import Shard


class Silent(NamedTuple):
    """A worker from which nothing has come for too long."""

    worker: int


class Overdue(NamedTuple):
    """A request that has waited too long for others, and is no longer parked.

    Attributes
    ----------
    source, request
        The request, and the worker that waits for its reply.
    place
        The place where it waits: a key and a clock; empty for a barrier.
    missing
        The workers that have not come there. Empty if the request waits for the initial value.
    """

    source: int
    request: Message
    place: str
    missing: list[int]

    def error(self, seconds: float) -> ClusterTimeout:
        """The error with which the request is answered after ``seconds``."""
        what = f"{Opcode(self.request.op).name}{self.place}: no answer within {seconds:g} s"
        todo = "see whether they still run, or raise TWOFOLD_KV_TIMEOUT"
        return ClusterTimeout(what, f"missing workers: {self.missing or 'the initial value'}", todo)


class ServerTimers(NamedTuple):
    """The deadlines of a server.

    Attributes
    ----------
    timeout
        Seconds that a request may wait for other workers.
    silence
        Seconds that a worker may be silent; None for no limit.
    """

    timeout: float
    silence: float | None

    def due(self, now: float, members: Membership, shards: Collection[Shard]) -> Iterator[Silent | Overdue]:
        """The events that are due. The caller acts on each one before it asks for the next.

        Silent workers come first: without them a request may be answered that would be overdue otherwise.
        """
        if self.silence is not None:
            yield from map(Silent, members.silent(now, self.silence))
        for shard in shards:
            for parked in shard.take_overdue(now, self.timeout):
                place = f" of key {shard.name!r} at clock {parked.clock}"
                yield Overdue(parked.source, parked.request, place, shard.missing(parked.clock, members.live, members.done))
        waiting, missing = members.late_at_barrier(now, self.timeout)
        for worker, request in waiting.items():
            yield Overdue(worker, request, "", missing)
