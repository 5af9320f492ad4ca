"""`ServerCore`: what a server of a distributed store does with each message. It does no input or output and has no clock of its own.

Synchronous, asynchronous and bounded-staleness stores differ in two places: `ServerCore._take` collects a push until all workers
have pushed, or applies it at once; and a pull waits until every worker has made all but ``staleness`` of the pushes that its sender
has made.
"""

import json
import logging
import math
from collections.abc import Callable, Collection, Iterable

from ..errors import ClusterError, ClusterTimeout, FormatError, MessageLost, MXNetError, ParameterError
from .announcement import NO_VALUE, announcement_in, text_in
from .compression import compression_of
from .membership import Membership
from .messages import DTYPE_OF, NO_KEY, Flag, Message, Op, Payload, reply, reply_error
from .server_updates import ServerUpdates
from .shard import Parked, Shard

__all__ = ["Replies", "ServerCore"]

#: Messages to send, each with the process to which it goes.
Replies = list[tuple[int, Message]]

#: Largest payload of messages that carry JSON or text.
TEXT_BYTES = 1 << 20
#: Largest announcement of a key.
INIT_BYTES = 1 << 14
#: Requests whose replies are kept, one per worker, so that a request that is sent again is not carried out again.
ONCE = frozenset((Op.SET_OPTIMIZER, Op.SET_COMPRESSION, Op.BARRIER, Op.DONE, Op.STOP, Op.COMMAND))


class ServerCore:
    r"""A server's state, and the replies to each message.

    Parameters
    ----------
    workers
        The number of workers, whose numbers are 0 to ``workers - 1``, or the numbers of those that are alive.
    staleness
        How many pushes of a key a worker may be ahead of the slowest and still pull it: 0 for a synchronous store, in which a value is
        updated once with the sum over workers; infinity for an asynchronous one, in which each push updates it.
    timeout
        Seconds after which a request that waits for other workers fails, see `tick`.
    silence
        Seconds without a message after which a worker is considered dead; None to wait to be told by `drop`.
    capacity
        The largest number of bytes that all keys together may announce.
    allowed
        Classes and functions, as ``module:Class``, that workers may name as optimizers and updaters.
    on_command
        Called with the number and text of each `Op.COMMAND`.
    rank, following
        The process that this server is, and the other servers, of which the first one that lives keeps a copy of its optimizer's states.
    snapshot_every
        Number of updates of each key between copies of the states.

    Examples
    --------
    >>> from twofold.kvstore.messages import Message, Op
    >>> from twofold.kvstore.server_core import ServerCore
    >>> core = ServerCore(1)
    >>> announced = b'{"name": "w", "shape": [1], "dtype": "uint8"}'
    >>> for message in (
    ...     Message(Op.INIT, 0, payload=announced),
    ...     Message(Op.BCAST, 0, dtype=3, payload=b"\x05"),
    ...     Message(Op.PUSH, 0, dtype=3, clock=1, payload=b"\x07"),
    ...     Message(Op.PULL, 0, clock=1),
    ... ):
    ...     [(worker, answer)] = core.handle(0, message)
    >>> worker, bytes(answer.payload)
    (0, b'\x07')
    """

    def __init__(
        self,
        workers: int | Iterable[int],
        staleness: float = 0,
        *,
        timeout: float = 60.0,
        silence: float | None = None,
        capacity: int = 1 << 40,
        allowed: Collection[str] = (),
        on_command: Callable[[int, str], object] | None = None,
        rank: int = 0,
        following: Iterable[int] = (),
        snapshot_every: int = 100,
    ) -> None:
        if not staleness >= 0:
            raise ParameterError("server: staleness must not be negative", str(staleness), "use 0, a number of pushes, or math.inf")
        self._members = Membership(workers)
        self._staleness = staleness
        self._is_synchronous = staleness == 0
        self._timeout, self._silence, self._capacity = timeout, silence, capacity
        self._on_command = on_command
        self._updates = ServerUpdates(allowed)
        self._threshold: float | None = None
        self._shards: dict[int, Shard] = {}
        self._answered: dict[int, Message] = {}
        self._rank, self._following, self._snapshot_every = rank, list(following), snapshot_every
        self._until_snapshot = snapshot_every
        self._snapshots: dict[int, bytes] = {}
        self._refused: set[int] = set()
        self._kept_bytes = self._value_bytes = 0
        self._now = 0.0
        self._out: Replies = []
        handlers: dict[int, Callable[[Message], None]] = {
            Op.INIT: self._on_init,
            Op.BCAST: self._on_bcast,
            Op.PUSH: self._on_push,
            Op.PULL: self._on_pull,
            Op.PUSHPULL: self._on_pushpull,
            Op.RSP_PULL: self._on_rsp_pull,
            Op.SET_OPTIMIZER: self._on_set_optimizer,
            Op.SET_COMPRESSION: self._on_set_compression,
            Op.BARRIER: self._on_barrier,
            Op.STATE: self._on_state,
            Op.DONE: self._on_done,
            Op.STOP: self._on_stop,
            Op.HEARTBEAT: self._on_heartbeat,
            Op.COMMAND: self._on_command_message,
        }
        self._handlers = [handlers.get(op, self._on_reply) for op in Op]

    # what a transport calls

    @property
    def is_stopped(self) -> bool:
        """Whether all workers have stopped or died."""
        return not self._members.live

    @property
    def live(self) -> tuple[int, ...]:
        """The workers that are neither stopped nor dead."""
        return tuple(self._members.live)

    @property
    def held_bytes(self) -> int:
        """Bytes of values, of sums, and of pushes that arrived before it was their turn to be added."""
        return 2 * self._value_bytes + self._kept_bytes

    def handle(self, source: int, message: Message) -> Replies:
        """Carry out a message.

        Parameters
        ----------
        source
            The process that sent it.
        message
            The message. Its payload is not needed after the call.

        Returns
        -------
        list
            Messages and the processes to which they go. Their payloads are views of what the server stores, and valid until the next call.
        """
        out: Replies = []
        self._out = out
        self._refused.discard(source)
        try:
            self._members.hear(source, self._now)
            if message.worker != source:
                raise ClusterError("server: a process speaks for another", f"{source} for worker {message.worker}", "send from the worker")
            if message.op in ONCE:
                self._once(source, message)
            elif source in self._members or message.op == Op.STATE:
                self._handlers[message.op](message)
            else:
                raise self._stranger(source)
        except MXNetError as error:
            out.append((source, reply_error(message, error)))
        return out

    def limit(self, message: Message) -> int:
        """The largest payload, in bytes, that a message with this header may have. A transport asks before it allocates memory."""
        op = message.op
        if op in (Op.PUSH, Op.PUSHPULL, Op.BCAST, Op.RSP_PULL):
            shard = self._shards.get(message.key << 16 | message.shard)
            if shard is None:
                return 0
            ids = 8 * shard.shape[0] if message.flags & Flag.ROW_SPARSE or op == Op.RSP_PULL else 0
            return ids if op == Op.RSP_PULL else shard.nbytes + ids
        if op == Op.STATE:  # states, with master copies, of all weights; small ones need more for names than for numbers
            return 16 * sum(s.nbytes + 1024 for s in self._shards.values()) + TEXT_BYTES
        return INIT_BYTES if op == Op.INIT else TEXT_BYTES if op in (Op.SET_OPTIMIZER, Op.SET_COMPRESSION, Op.COMMAND) else 0

    def takes(self, source: int, message: Message, size: int) -> bool:
        """Whether to receive the payload of a push now; if not, ask again after each `handle`, while it stays with its worker.

        Sums are made in the order of workers, so that they are bitwise repeatable. A push that arrives before its turn is kept, as long
        as all that are kept together are no larger than the weights: what a server holds does not grow with the number of workers.

        Parameters
        ----------
        source
            The worker.
        message
            The push, without its payload.
        size
            The payload's size in bytes.
        """
        shard = self._shards.get(message.key << 16 | message.shard)
        if not self._is_synchronous or shard is None or message.op not in (Op.PUSH, Op.PUSHPULL):
            return True
        clock = message.clock + shard.lag.get(source, 0)
        is_next = clock == shard.reached + 1 and self._next_contributor(shard) == source
        if is_next or clock <= shard.reached or self._kept_bytes + size <= self._value_bytes or source not in self._members:
            self._refused.discard(source)
            return True
        self._refused.add(source)
        return False

    def next_contributor(self, message: Message) -> int | None:
        """The worker whose push is added next to the sum of a message's key; None in an asynchronous store."""
        shard = self._shards.get(message.key << 16 | message.shard)
        return None if shard is None or not self._is_synchronous else self._next_contributor(shard)

    def _next_contributor(self, shard: Shard) -> int | None:
        return shard.next_contributor(self._members.live, self._members.done)

    @property
    def is_stuck(self) -> bool:
        """Whether pushes were refused, and everybody whose push is added next was refused too, or has waited for a reply for a second.

        That happens if workers push keys in other orders. Then one of the refused pushes must be handled in spite of its turn.
        """
        if not self._refused:
            return False
        stuck = {p.source for s in self._shards.values() for p in s.parked if self._now - p.since > 1.0} | self._refused
        return all(self._next_contributor(s) in stuck for s in self._shards.values() if s.contributors or s.kept)

    def tick(self, now: float) -> Replies:
        """Let time pass: fail requests that have waited too long, and drop workers that were silent for too long.

        Parameters
        ----------
        now
            Seconds since any fixed time.
        """
        out: Replies = []
        if self._now == 0.0:
            self._members.hear_all(now)
        self._now = now
        if self._silence is not None:
            for worker in self._members.silent(now, self._silence):
                out += self.drop(worker)
        self._out = out
        for shard in self._shards.values():
            late = [p for p in shard.parked if now - p.since > self._timeout]
            if late:
                shard.parked = [p for p in shard.parked if now - p.since <= self._timeout]
                for p in late:
                    missing = [w for w in self._members.live if shard.clocks.get(w, 0) < p.clock and w not in self._members.done]
                    if shard.heir_of is not None and not shard.has_value:
                        missing = [w for w in self._members.live if w not in shard.announced]
                    what = f"{Op(p.request.op).name} of key {shard.name!r} at clock {p.clock}"
                    out.append((p.source, reply_error(p.request, self._late(what, missing or "the initial value"))))
        waiting, missing = self._members.late_at_barrier(now, self._timeout)
        out += [(w, reply_error(m, self._late("BARRIER", missing))) for w, m in waiting.items()]
        return out

    def _late(self, what: str, missing: object) -> ClusterTimeout:
        todo = "see whether they still run, or raise TWOFOLD_KV_TIMEOUT"
        return ClusterTimeout(f"{what}: no answer within {self._timeout:g} s", f"missing workers: {missing}", todo)

    def drop(self, worker: int) -> Replies:
        """Go on without a worker that died. What is already part of a sum stays in it; the sum then counts those who contributed.

        Of a server that died nothing more is expected; the workers see to its keys.
        """
        self._out = out = []
        self._following = [server for server in self._following if server != worker]
        if worker in self._members:
            self._leave(worker, has_died=True)
        return out

    def _leave(self, worker: int, *, has_died: bool = False) -> None:
        self._members.remove(worker, has_died=has_died)
        self._refused.discard(worker)
        if self._members.live:
            self._updates.follow(self._members.live[0])
        for shard in self._shards.values():
            self._kept_bytes -= sum(len(m.payload) for (_, w), m in shard.kept.items() if w == worker)
            shard.forget(worker)
        self._membership_changed()

    def _membership_changed(self) -> None:
        """Complete what no longer waits for anybody."""
        for shard in self._shards.values():
            self._choose_sender(shard)
            self._advance(shard)
        live = json.dumps(self._members.live).encode()
        for worker, message in self._members.open_barrier().items():
            self._answer(worker, reply(message, live))
        finished = self._members.begin_epoch(self._now)
        if finished:
            for shard in self._shards.values():
                shard.equalize(self._members.live)
            for worker, message in finished.items():
                self._answer(worker, reply(message))

    def _on_reply(self, message: Message) -> None:
        raise FormatError("server: this is a reply", Op(message.op).name, "send requests to servers")

    # requests that are carried out once

    def _once(self, source: int, message: Message) -> None:
        last = self._answered.get(source)
        if last is not None and message.seq <= last.seq and message.seq:
            if message.seq == last.seq:
                self._out.append((source, last))
            return
        if source not in self._members and message.op != Op.DONE:
            raise self._stranger(source)
        self._handlers[message.op](message)

    def _answer(self, worker: int, message: Message) -> None:
        self._answered[worker] = message
        self._out.append((worker, message))

    def _stranger(self, source: int) -> ClusterError:
        state = "was considered dead" if source in self._members.dead else "has stopped" if source in self._answered else "is unknown"
        given, todo = f"live workers: {self._members.live}", "join at the end of an epoch with DONE"
        return ClusterError(f"server: worker {source} {state}", given, todo)

    def _on_set_optimizer(self, message: Message) -> None:
        self._updates.configure(text_in(message.payload), message.worker, self._members.live, self._shards.values())
        for shard in self._shards.values():
            shard.failure = None
        self._answer(message.worker, reply(message))

    def _on_set_compression(self, message: Message) -> None:
        try:
            found = compression_of(json.loads(text_in(message.payload)))
        except (ValueError, TypeError, AttributeError) as error:
            raise ParameterError("set_gradient_compression: wrong parameters", text_in(message.payload)[:80], str(error)) from error
        self._threshold = None if found is None else found.threshold
        self._answer(message.worker, reply(message))

    def _on_barrier(self, message: Message) -> None:
        self._members.wait(message, self._now)
        self._membership_changed()

    def _on_done(self, message: Message) -> None:
        """A worker has pushed all batches of its epoch, or one that is not live asks to join: both go on when all live ones are done."""
        self._members.end_epoch(message)
        self._membership_changed()

    def _on_stop(self, message: Message) -> None:
        self._answer(message.worker, reply(message))
        self._leave(message.worker)

    def _on_command_message(self, message: Message) -> None:
        if self._on_command is None:
            raise ClusterError("server: it has no commands", f"command {message.clock}", "start it with a function for commands")
        self._on_command(message.clock, text_in(message.payload))
        self._answer(message.worker, reply(message))

    # keys

    def _on_init(self, message: Message) -> None:
        place = message.key << 16 | message.shard
        name, shape, dtype, is_row_sparse, is_cut, clock, heir_of = announcement_in(message.payload)
        shard = self._shards.get(place)
        if shard is None:
            shard = Shard(name, message.shard, shape, dtype, is_row_sparse, is_cut)
            announced = shard.nbytes + sum(s.nbytes for s in self._shards.values())
            if announced > self._capacity:
                raise ParameterError(f"init of key {name!r}: the server is full", f"{announced} bytes", f"it holds {self._capacity}")
            self._shards[place] = shard
        elif (shard.name, shard.shape, shard.code, shard.is_row_sparse) != (name, shape, dtype, is_row_sparse):
            given = f"{name!r} {shape} {DTYPE_OF[dtype]} for {shard.name!r} {shard.shape} {shard.dtype}"
            raise ParameterError("init: workers disagree on a key", given, "initialize the same keys in the same order on all workers")
        # of a part that another server had, a worker's clock is not 0; the part's may be that of a worker with a newer value
        known = max(clock, shard.reached if self._is_synchronous else 0)
        if shard.clocks.setdefault(message.worker, known) == known and shard.has_value:
            self._advance(shard)
        if shard.has_value:
            self._out.append((message.worker, reply(message)))
        elif heir_of is None and message.worker == self._members.live[0]:  # the first worker sends its value next
            shard.announced[message.worker], shard.sender = 0, message.worker
            self._out.append((message.worker, self._wanted(message)))
        else:  # wait for that
            shard.announced[message.worker] = NO_VALUE if heir_of is None else clock
            shard.parked.append(Parked(0, message.worker, message._replace(payload=b""), self._now))
            shard.heir_of = shard.heir_of if heir_of is None else heir_of
            if shard.sender == message.worker:  # it asks again
                shard.sender = None
            self._choose_sender(shard)

    def _choose_sender(self, shard: Shard) -> None:
        """Ask the worker with the newest value for it, when all have said what they have of a part that a dead server had.

        If the worker has died whose initial value was to come, ask the next one.
        """
        if shard.has_value or shard.sender is not None or not self._members.live:
            return
        if shard.heir_of is None:
            first = self._members.live[0]
            for parked in shard.take_parked(first):
                shard.sender = first
                self._out.append((first, self._wanted(parked.request)))
            return
        if any(w not in shard.announced for w in self._members.live):
            return
        newest = max(self._members.live, key=shard.announced.__getitem__)
        if shard.announced[newest] == NO_VALUE:
            error = ClusterError(f"no worker has the value of key {shard.name!r}", None, "continue from a checkpoint")
            self._out += [(p.source, reply_error(p.request, error)) for p in shard.take_parked()]
            return
        shard.sender = newest
        self._out += [(newest, reply(p.request)._replace(flags=Flag.SEND_VALUE)) for p in shard.take_parked(newest)]

    @staticmethod
    def _wanted(announcement: Message) -> Message:
        """The reply to the worker whose initial value is stored. Worker 0 sends it without being asked, which saves a message each way."""
        found = reply(announcement)
        return found._replace(flags=Flag.SEND_VALUE) if announcement.worker else found

    def _on_bcast(self, message: Message) -> None:
        shard = self._shard(message)
        if not shard.has_value:  # else it is sent again, or this worker joined later
            shard.set_value(message)
            self._value_bytes += shard.nbytes
            shard.reached = message.clock
            if self._is_synchronous:
                shard.clocks = {w: max(clock, shard.reached) for w, clock in shard.clocks.items()}
            if shard.heir_of is not None:
                self._inherit(shard, shard.heir_of)
            self._advance(shard)
        self._out.append((message.worker, reply(message)))

    def _inherit(self, shard: Shard, dead_server: int) -> None:
        snapshot = self._snapshots.get(dead_server)
        if shard.reached and (snapshot is None or self._updates.restore(snapshot, [shard])):
            what = "server: the optimizer's state of key %r was not in the last snapshot of server %d; it begins anew"
            logging.warning(what, shard.name, dead_server)

    def _shard(self, message: Message) -> Shard:
        shard = self._shards.get(message.key << 16 | message.shard)
        if shard is None:
            raise ParameterError(f"server: key number {message.key} has not been inited", f"part {message.shard}", "call init first")
        return shard

    def _on_push(self, message: Message) -> None:
        self._take(self._shard(message), message)
        if not message.flags & Flag.QUIET:
            self._out.append((message.worker, reply(message)))

    def _on_pushpull(self, message: Message) -> None:
        shard = self._shard(message)
        self._take(shard, message)
        self._reply_or_park(shard, message if not message.payload else Message(*message[:9]))

    def _on_pull(self, message: Message) -> None:
        self._reply_or_park(self._shard(message), message)

    def _on_rsp_pull(self, message: Message) -> None:
        shard = self._shard(message)
        if len(shard.ids_in(message)) * 8 != len(message.payload):
            raise FormatError(f"row_sparse_pull of key {shard.name!r}: not row ids alone", f"{len(message.payload)} bytes", "send it again")
        self._reply_or_park(shard, message)

    def _take(self, shard: Shard, message: Message) -> None:
        """Add a push to the sum of its round, or apply it at once; neither if it was received before."""
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
        shard.check(message)
        if message.flags & Flag.TWO_BIT and self._threshold is None:
            raise MXNetError(f"push of key {shard.name!r}: it is compressed", None, "call set_gradient_compression first")
        if not self._is_synchronous:
            self._apply(shard, message, clock)
            return
        shard.clocks[worker] = clock
        if clock == shard.reached + 1 and self._next_contributor(shard) == worker:
            shard.add(worker, message, self._threshold)
        else:
            shard.kept[clock, worker] = message._replace(payload=bytes(message.payload))
            self._kept_bytes += len(message.payload)
        self._advance(shard)

    def _apply(self, shard: Shard, message: Message, clock: int) -> None:
        alone = shard.gradient_in(message)
        if alone is None:
            shard.add(message.worker, message, self._threshold)
        try:
            self._updates.apply(shard, shard.gradient() if alone is None else alone)
        finally:
            shard.begin_sum()
        self._updated()
        shard.clocks[message.worker] = clock
        if self._staleness < math.inf and shard.passed(clock):
            self._release(shard)

    def _advance(self, shard: Shard) -> None:
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
            shard.add(worker, kept, self._threshold)
        if shard.parked:
            self._release(shard)

    def _finish(self, shard: Shard) -> None:
        try:
            if self._updates.is_set:
                self._updates.apply(shard, shard.gradient(), shard.contributors)
            else:
                shard.store_sum()
        except MXNetError as error:
            shard.failure = error  # all workers that pull this key hear of it
        shard.begin_sum()
        shard.reached += 1
        self._updated()

    def _reply_or_park(self, shard: Shard, message: Message) -> None:
        clock = message.clock + shard.lag.get(message.worker, 0)
        parked = Parked(clock, message.worker, message, self._now)
        if shard.has_value and clock - self._staleness <= shard.reached:
            self._answer_pull(shard, parked)
            return
        if message.payload:  # it is valid during this call only
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
                self._answer_pull(shard, p)

    def _answer_pull(self, shard: Shard, parked: Parked) -> None:
        _, source, request, _ = parked
        op = request.op
        if op == Op.INIT:
            self._out.append((source, reply(request)))
            return
        try:
            if shard.failure is not None:
                raise shard.failure
            payload: Payload = shard.rows(shard.ids_in(request)) if op == Op.RSP_PULL else shard.value_bytes
        except MXNetError as error:
            self._out.append((source, reply_error(request, error)))
            return
        _, key, _, _, part, worker, clock, seq, _, _ = request
        self._out.append((source, Message(0, key, shard.code, 0, part, worker, clock, seq, 0, payload)))

    # states

    def _on_heartbeat(self, message: Message) -> None:
        found = {"live": self._members.live, "dead": sorted(self._members.dead), "done": sorted(self._members.done)}
        self._out.append((message.worker, reply(message, json.dumps(found).encode())))

    def _on_state(self, message: Message) -> None:
        """A worker asks for the states, or sends them; a server sends its own, in case it dies."""
        if message.worker not in self._members:
            self._snapshots = {message.worker: bytes(message.payload)}
        elif message.payload:
            self._updates.restore(bytes(message.payload), self._shards.values())
            self._out.append((message.worker, reply(message)))
        else:
            self._out.append((message.worker, reply(message, self._updates.states(self._shards.values()))))

    def _updated(self) -> None:
        """Send the states to the next server after so many updates of all keys."""
        self._until_snapshot -= 1
        if self._following and self._until_snapshot <= 0:
            self._until_snapshot = self._snapshot_every * len(self._shards)
            own = Message(Op.STATE, NO_KEY, worker=self._rank, payload=self._updates.states(self._shards.values()))
            self._out.append((self._following[0], own))
