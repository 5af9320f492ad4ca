"""`PushRounds`: a server's handling of pushes and pulls. Synchronous, asynchronous and bounded-staleness stores differ only here.

A synchronous store collects pushes until all workers have pushed (`_take`); the others apply each push when it arrives. A pull waits until
every worker has made all but ``staleness`` of the pushes that its sender has made (`_reply_or_park`, `_release`).
"""

import math
from collections.abc import Callable

from ..errors import ClusterError, FormatError, MessageLost, MXNetError, ParameterError
from .announcement import Included
from .membership import Membership
from .messages import Flag, Message, Opcode, Payload, reply, reply_error
from .server_updates import ServerUpdates
from .shard import Parked, Shard

#: Messages to send, each with the process to which it goes.
Replies = list[tuple[int, Message]]
#: Seconds after which a worker that waits for a reply counts as stuck.
STUCK = 1.0


class PushRounds:
    """The keys of a server, and the pushes and pulls of each.

    Parameters
    ----------
    members
        The workers.
    staleness
        See `ServerCore`.
    updates
        Applies gradients.
    on_update
        Called after each update of a shard.

    Notes
    -----
    Sums are made in the order of workers, so that they are bitwise repeatable. A push that arrives before its turn is kept, as long as all
    pushes that are kept are together no larger than the weights: the memory of a server does not grow with the number of workers.
    """

    def __init__(self, members: Membership, staleness: float, updates: ServerUpdates, on_update: Callable[[], object]) -> None:
        self._members, self._updates, self._on_update = members, updates, on_update
        self._staleness = staleness
        self._is_synchronous = staleness == 0
        #: By number of the key, shifted, and of the part; see `shard_of`.
        self.shards: dict[int, Shard] = {}
        #: The replies to the current message. `ServerCore` replaces the list for each message.
        self.out: Replies = []
        self.now = 0.0
        #: The magnitude of compressed elements; None if pushes are not compressed.
        self.threshold: float | None = None
        #: Workers whose next push stays with the transport, because it came before its turn and there is no room for it.
        self.refused: set[int] = set()
        #: Bytes of the pushes that came before their turn, and of all values. `takes` refuses a push that would make the first the larger.
        self._kept_bytes = self._value_bytes = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of values, of sums, and of pushes that arrived before it was their turn to be added."""
        return 2 * self._value_bytes + self._kept_bytes

    def shard_of(self, message: Message) -> Shard:
        """The shard that a message is about.

        Raises
        ------
        ParameterError
            If the key was not announced.
        """
        shard = self.shards.get(message.key << 16 | message.shard)
        if shard is None:
            raise ParameterError(f"server: key number {message.key} has not been inited", f"part {message.shard}", "call init first")
        return shard

    def set_value(self, shard: Shard, message: Message, included: Included) -> None:
        """Store the initial value of a shard, which includes as many pushes of its sender as the message's clock says."""
        shard.set_value(message)
        self._value_bytes += shard.nbytes
        shard.reached, shard.version = message.clock, included.version
        # those pushes of others that its sender had received too: they do not count again when they are sent again
        counts = dict.fromkeys(shard.clocks, shard.reached) if self._is_synchronous else included.counts
        shard.clocks = {w: max(clock, counts.get(w, 0)) for w, clock in shard.clocks.items()}

    def join(self, shard: Shard, worker: int, clock: int) -> None:
        """Count the pushes of a worker that announces a shard from some clock on."""
        # For a part that another server had, a worker's clock is not 0. The part's own clock may be higher: its value may come from a
        # worker that has received a newer one.
        known = max(clock, shard.reached if self._is_synchronous else 0)
        if shard.clocks.setdefault(worker, known) == known and shard.has_value:
            self.advance(shard)

    def forget(self, worker: int) -> None:
        """Drop a worker's pushes that are not part of a sum yet, and its parked requests."""
        self.refused.discard(worker)
        for shard in self.shards.values():
            self._kept_bytes -= sum(len(m.payload) for (_, w), m in shard.kept.items() if w == worker)
            shard.forget(worker)

    # whose turn it is

    def takes(self, source: int, message: Message, size: int) -> bool:
        """Whether to receive the payload of a push now; see `ServerCore.takes`."""
        shard = self.shards.get(message.key << 16 | message.shard)
        if not self._is_synchronous or shard is None or message.op not in (Opcode.PUSH, Opcode.PUSHPULL):
            return True
        clock = message.clock + shard.lag.get(source, 0)
        is_next = clock == shard.reached + 1 and self._next_contributor(shard) == source
        # a push that repeats an earlier one, or comes from a dropped worker, takes no room: it is ignored, or answered with an error
        if is_next or clock <= shard.reached or self._kept_bytes + size <= self._value_bytes or source not in self._members:
            self.refused.discard(source)
            return True
        self.refused.add(source)
        return False

    def next_contributor(self, message: Message) -> int | None:
        """The worker whose push must come next in the sum for a message's key; None in an asynchronous store."""
        shard = self.shards.get(message.key << 16 | message.shard)
        return None if shard is None or not self._is_synchronous else self._next_contributor(shard)

    def _next_contributor(self, shard: Shard) -> int | None:
        return shard.next_contributor(self._members.live, self._members.done)

    @property
    def is_stuck(self) -> bool:
        """Whether every worker whose push is added next was refused, or has waited for a reply for a second; see `ServerCore.is_stuck`."""
        if not self.refused:
            return False
        # a worker that waits for a reply sends nothing more, so its next push will not come by itself
        stuck = {p.source for s in self.shards.values() for p in s.parked if self.now - p.since > STUCK} | self.refused
        return all(self._next_contributor(s) in stuck for s in self.shards.values() if s.contributors or s.kept)

    # pushes

    def on_push(self, message: Message) -> None:
        """Take a push. Most pushes are quiet: only an error is answered."""
        self._take(self.shard_of(message), message)
        if not message.flags & Flag.QUIET:
            self.out.append((message.worker, reply(message)))

    def on_pushpull(self, message: Message) -> None:
        """Take a push, and answer with the value once it includes the push."""
        shard = self.shard_of(message)
        self._take(shard, message)
        # parked without its payload, which is part of a sum by now or kept there
        self._reply_or_park(shard, message if not message.payload else Message(*message[:9]))

    def _take(self, shard: Shard, message: Message) -> None:
        """Add a push to the sum of its round or, in an asynchronous store, apply it. A push that was received before is ignored."""
        worker = message.worker
        clock, last = message.clock + shard.lag.get(worker, 0), shard.clocks.get(worker, 0)
        if clock <= last:
            return
        if worker in self._members.done:
            what = f"push of key {shard.name!r} by worker {worker}, which has said that its epoch has ended"
            raise ClusterError(what, None, "wait for the end of the epoch")
        if clock != last + 1:
            given = f"clock {message.clock} after {last - shard.lag.get(worker, 0)}"
            raise MessageLost(f"push of key {shard.name!r} by worker {worker}: an earlier one is missing", given, "send it again")
        # all that may fail comes before the first change: a push that is refused leaves no trace
        shard.check(message)
        if message.flags & Flag.TWO_BIT and self.threshold is None:
            raise MXNetError(f"push of key {shard.name!r}: it is compressed", None, "call set_gradient_compression first")
        if not self._is_synchronous:
            self._apply(shard, message, clock)
            return
        # before the sum is complete: a push that is kept must not be accepted a second time
        shard.clocks[worker] = clock
        if clock == shard.reached + 1 and self._next_contributor(shard) == worker:
            shard.add(worker, message, self.threshold)
        else:  # copied: the payload's memory is the transport's, which uses it again
            shard.kept[clock, worker] = message._replace(payload=bytes(message.payload))
            self._kept_bytes += len(message.payload)
        self.advance(shard)

    def _apply(self, shard: Shard, message: Message, clock: int) -> None:
        alone = shard.gradient_in(message)
        if alone is None:
            shard.add(message.worker, message, self.threshold)
        try:
            self._updates.apply(shard, shard.gradient() if alone is None else alone)
        finally:
            shard.begin_sum()
        shard.version += 1
        self._on_update()
        # after the update, unlike in a synchronous store: a push whose update failed is not counted, so it can be sent again
        shard.clocks[message.worker] = clock
        if self._staleness < math.inf and shard.passed(clock):
            self._release(shard)

    def advance(self, shard: Shard) -> None:
        """Add the pushes whose turn has come, finish sums that are complete, and answer pulls that waited for them."""
        if not self._is_synchronous:
            shard.count_clocks([w for w in self._members.live if w not in self._members.done])
        while self._is_synchronous:
            worker = self._next_contributor(shard)
            if worker is None and shard.contributors:
                self._finish(shard)
                continue
            kept = None if worker is None else shard.kept.pop((shard.reached + 1, worker), None)
            if worker is None or kept is None:
                break
            self._kept_bytes -= len(kept.payload)
            shard.add(worker, kept, self.threshold)
        if shard.parked:
            self._release(shard)

    def _finish(self, shard: Shard) -> None:
        try:
            if self._updates.is_set:
                self._updates.apply(shard, shard.gradient(), shard.contributors)
            else:
                shard.store_sum()
        except MXNetError as error:
            shard.failure = error  # no single push is at fault: every worker that pulls this key gets the error
        shard.begin_sum()
        shard.reached += 1
        self._on_update()

    # pulls

    def on_pull(self, message: Message) -> None:
        """Answer with the value once it is new enough."""
        self._reply_or_park(self.shard_of(message), message)

    def on_rsp_pull(self, message: Message) -> None:
        """Answer with some rows of the value once it is new enough."""
        shard = self.shard_of(message)
        if len(shard.ids_in(message)) * 8 != len(message.payload):
            raise FormatError(f"row_sparse_pull of key {shard.name!r}: not row ids alone", f"{len(message.payload)} bytes", "send it again")
        self._reply_or_park(shard, message)

    def _reply_or_park(self, shard: Shard, message: Message) -> None:
        clock = message.clock + shard.lag.get(message.worker, 0)
        parked = Parked(clock, message.worker, message, self.now)
        # the whole difference between synchronous, bounded and asynchronous stores: how many pushes of others a pull may miss
        if shard.has_value and clock - self._staleness <= shard.reached:
            self._answer(shard, parked)
            return
        if message.payload:  # copied: the payload is valid during this call only
            parked = parked._replace(request=message._replace(payload=bytes(message.payload)))
        shard.parked.append(parked)

    def _release(self, shard: Shard) -> None:
        if not shard.has_value:
            return
        bound = shard.reached + self._staleness
        ready = [p for p in shard.parked if p.clock <= bound]
        if ready:
            shard.parked = [p for p in shard.parked if p.clock > bound]
            for p in ready:
                self._answer(shard, p)

    def _answer(self, shard: Shard, parked: Parked) -> None:
        _, source, request, _ = parked
        op = request.op
        if op == Opcode.INIT:
            self.out.append((source, reply(request)))
            return
        try:
            if shard.failure is not None:
                raise shard.failure
            payload: Payload = shard.rows(shard.ids_in(request)) if op == Opcode.RSP_PULL else shard.value_bytes
        except MXNetError as error:
            self.out.append((source, reply_error(request, error)))
            return
        _, key, _, flags, part, worker, clock, seq, _, _ = request
        flags &= 0 if self._is_synchronous else Flag.COUNTS  # one clock says all of a synchronous store's value
        rows = 0
        if flags:
            numbers = shard.included().numbers()
            payload, rows = b"".join((payload, numbers.tobytes())), numbers.size
        self.out.append((source, Message(0, key, shard.code, flags, part, worker, clock, seq, rows, payload)))
