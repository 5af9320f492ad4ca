"""`ServerTimers`: the events of a server's clock. It only finds the events; `ServerCore.tick` acts on them."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..errors import ClusterError, ClusterTimeout
from .membership import Membership
from .messages import Message, Opcode
from .process_hosts import on_hosts
from .shard import Shard

#: Seconds that all workers have waited for one another before they are told, and the most that this takes of their deadline.
LOCKED, SHARE = 5.0, 0.25


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
        return ClusterTimeout(what, f"missing workers: {self.missing or 'the initial value'}{on_hosts(self.missing)}", todo)


class Locked(NamedTuple):
    """All live workers wait for one another, each in a request that is no longer parked.

    Attributes
    ----------
    waiting
        The workers and their requests.
    places
        Where each worker waits.
    """

    waiting: list[tuple[int, Message]]
    places: dict[int, str]

    def error(self) -> ClusterError:
        """The error with which all of these requests are answered."""
        given = "; ".join(f"worker {worker} waits in {place}" for worker, place in sorted(self.places.items()))
        return ClusterError("the workers wait for one another", given, "initialize, push and pull the same keys on all workers")


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

    def due(self, now: float, members: Membership, shards: Collection[Shard]) -> Iterator[Silent | Overdue | Locked]:
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
        locked = _locked(now - min(LOCKED, SHARE * self.timeout), members, shards)
        if locked is not None:
            members.forget_waiting()
            yield locked


def _locked(since: float, members: Membership, shards: Collection[Shard]) -> Locked | None:
    """The requests of all live workers, if each of them has waited since then or longer.

    A worker that waits sends nothing else, and its messages keep their order: nothing that could end the waits is on its way.
    """
    if any(shard.heir_of is not None and not shard.has_value for shard in shards):
        return None  # workers that have not heard of a server's death still wait for other things
    waits = dict[int, tuple[str, float]]()
    for worker, (request, began) in members.waiting().items():
        waits[worker] = Opcode(request.op).name, began
    for shard in shards:
        for parked in shard.parked:
            waits[parked.source] = f"{Opcode(parked.request.op).name} of key {shard.name!r}", parked.since
    if not members.live or any(worker not in waits or waits[worker][1] > since for worker in members.live):
        return None
    waiting = [(worker, request) for worker, (request, _) in members.waiting().items()]
    for shard in shards:
        waiting += [(parked.source, parked.request) for parked in shard.take_parked()]
    return Locked(waiting, {worker: place for worker, (place, _) in waits.items()})
