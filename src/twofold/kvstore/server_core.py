"""`ServerCore`: how a server of a distributed store handles each message. It does no input or output and has no clock of its own.

Pushes and pulls are in `push_rounds.py`. Here are the other requests: keys and their initial values, optimizers, barriers and epochs, and
the consequences when a worker leaves or another server dies.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterable

from ..errors import ClusterError, FormatError, MXNetError, ParameterError
from .announcement import NO_VALUE, Included, announcement_in, text_in
from .compression import compression_of
from .membership import Membership
from .messages import DTYPE_OF, NO_KEY, Flag, Message, Opcode, reply, reply_error
from .push_rounds import PushRounds, Replies
from .server_timers import Locked, ServerTimers, Silent
from .server_updates import ServerUpdates
from .shard import Parked, Shard
from .watch import disagreement

#: Largest payload of messages that carry JSON or text.
TEXT_BYTES = 1 << 20
#: Largest announcement of a key.
INIT_BYTES = 1 << 17
#: Requests with JSON or text. That of a barrier says what a worker does there, and is compared with those of the others.
WITH_TEXT = frozenset((Opcode.SET_OPTIMIZER, Opcode.SET_COMPRESSION, Opcode.COMMAND, Opcode.BARRIER))
#: Requests whose replies are kept, one per worker, so that a request that is sent again is not carried out again.
ONCE = frozenset((Opcode.SET_OPTIMIZER, Opcode.SET_COMPRESSION, Opcode.BARRIER, Opcode.DONE, Opcode.STOP, Opcode.COMMAND))


class ServerCore:
    r"""A server's state, and the replies to each message.

    Parameters
    ----------
    workers
        The number of workers, which are then numbered from 0 to ``workers - 1``; or the numbers of the live workers.
    staleness
        How many pushes of a key a worker may be ahead of the slowest and still pull the key. With 0 the store is synchronous: the sum over
        workers updates a value once. With infinity it is asynchronous: each push updates the value.
    timeout
        Seconds after which a request that waits for other workers fails, see `tick`.
    silence
        Seconds without a message after which a worker is considered dead; None to wait to be told by `drop`.
    capacity
        The largest number of bytes that all keys together may announce.
    allowed
        Classes and functions, as ``module:Class``, that workers may name as optimizers and updaters.
    on_command
        Called with the number and text of each `Opcode.COMMAND`.
    rank, following
        The number of this process, and the other servers. The first of these that lives keeps a copy of this server's optimizer states.
    snapshot_every
        Number of updates of each key between copies of the states.

    Examples
    --------
    >>> from twofold.kvstore.messages import Message, Opcode
    >>> from twofold.kvstore.server_core import ServerCore
    >>> core = ServerCore(1)
    >>> announced = b'{"name": "w", "shape": [1], "dtype": "uint8"}'
    >>> for message in (
    ...     Message(Opcode.INIT, 0, payload=announced),
    ...     Message(Opcode.BCAST, 0, dtype=3, payload=b"\x05"),
    ...     Message(Opcode.PUSH, 0, dtype=3, clock=1, payload=b"\x07"),
    ...     Message(Opcode.PULL, 0, clock=1),
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
        self._updates = ServerUpdates(allowed)
        self._rounds = rounds = PushRounds(self._members, staleness, self._updates, self._count_update)
        self._timers = ServerTimers(timeout, silence)
        self._capacity, self._on_command = capacity, on_command
        #: The last reply to each worker's request in `ONCE`. It is sent again if the request is sent again.
        self._answered: dict[int, Message] = {}
        self._rank, self._following, self._snapshot_every = rank, list(following), snapshot_every
        self._until_snapshot = snapshot_every
        #: The last optimizer states from another server, by that server's number. Only one server at a time sends its states here.
        self._snapshots: dict[int, bytes] = {}
        handlers: dict[int, Callable[[Message], None]] = {
            Opcode.INIT: self._on_init,
            Opcode.BCAST: self._on_bcast,
            Opcode.PUSH: rounds.on_push,
            Opcode.PULL: rounds.on_pull,
            Opcode.PUSHPULL: rounds.on_pushpull,
            Opcode.RSP_PULL: rounds.on_rsp_pull,
            Opcode.SET_OPTIMIZER: self._on_set_optimizer,
            Opcode.SET_COMPRESSION: self._on_set_compression,
            Opcode.BARRIER: self._on_barrier,
            Opcode.STATE: self._on_state,
            Opcode.DONE: self._on_done,
            Opcode.STOP: self._on_stop,
            Opcode.HEARTBEAT: self._on_heartbeat,
            Opcode.COMMAND: self._on_command_message,
        }
        self._handlers = [handlers.get(op, self._on_reply) for op in Opcode]

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
        return self._rounds.held_bytes

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
            Messages and the processes to which they go. Their payloads are views of the server's arrays, and valid until the next call.
        """
        self._rounds.out = out = list[tuple[int, Message]]()
        # a message of the worker has arrived, so the transport holds back none of its pushes
        self._rounds.refused.discard(source)
        try:
            self._members.hear(source, self._rounds.now)
            if message.worker != source:
                raise ClusterError("server: a process speaks for another", f"{source} for worker {message.worker}", "send from the worker")
            if message.op in ONCE:
                self._once(source, message)
            # other servers are not members, but send their states too
            elif source in self._members or message.op == Opcode.STATE:
                self._handlers[message.op](message)
            else:
                raise self._stranger(source)
        except MXNetError as error:
            out.append((source, reply_error(message, error)))
        return out

    def limit(self, message: Message) -> int:
        """The largest payload, in bytes, that a message with this header may have. A transport asks before it allocates memory."""
        op, shards = message.op, self._rounds.shards
        if op in (Opcode.PUSH, Opcode.PUSHPULL, Opcode.BCAST, Opcode.RSP_PULL):
            shard = shards.get(message.key << 16 | message.shard)
            if shard is None:
                return 0
            ids = 8 * shard.shape[0] if message.flags & Flag.ROW_SPARSE or op == Opcode.RSP_PULL else 0
            return ids if op == Opcode.RSP_PULL else shard.nbytes + ids
        if op == Opcode.STATE:  # states, with master copies, of all weights; small ones need more for names than for numbers
            return 16 * sum(s.nbytes + 1024 for s in shards.values()) + TEXT_BYTES
        if op == Opcode.INIT:
            return INIT_BYTES
        return TEXT_BYTES if op in WITH_TEXT else 0

    def takes(self, source: int, message: Message, size: int) -> bool:
        """Whether to receive the payload of a push now. If not, the push stays with its worker; ask again after each `handle`.

        Parameters
        ----------
        source
            The worker.
        message
            The push, without its payload.
        size
            The payload's size in bytes.
        """
        return self._rounds.takes(source, message, size)

    def next_contributor(self, message: Message) -> int | None:
        """The worker whose push is added next to the sum of a message's key; None in an asynchronous store."""
        return self._rounds.next_contributor(message)

    @property
    def is_stuck(self) -> bool:
        """Whether pushes were refused, and every worker whose push is added next was refused too, or has waited for a reply for a second.

        That happens if workers push keys in different orders. One of the refused pushes must then be handled out of turn.
        """
        return self._rounds.is_stuck

    def tick(self, now: float) -> Replies:
        """Let time pass: drop workers that were silent for too long, and fail requests that have waited too long.

        Parameters
        ----------
        now
            Seconds since any fixed time.
        """
        rounds, out = self._rounds, list[tuple[int, Message]]()
        if rounds.now == 0.0:  # the first tick: workers may have started long before the server's clock was known
            self._members.hear_all(now)
        rounds.now = now
        for event in self._timers.due(now, self._members, rounds.shards.values()):
            if isinstance(event, Silent):
                out += self.drop(event.worker)
            elif isinstance(event, Locked):
                out += [(source, reply_error(request, event.error())) for source, request in event.waiting]
            else:
                out.append((event.source, reply_error(event.request, event.error(self._timers.timeout))))
        return out

    def drop(self, process: int) -> Replies:
        """Forget a process that has died.

        A worker's pushes that are already part of a sum stay in it, and the sum counts the workers that have contributed. A dead server
        only leaves the list of servers that get snapshots: the workers move its keys.
        """
        self._rounds.out = out = list[tuple[int, Message]]()
        # the first server of the list gets the snapshots from now on
        self._following = [server for server in self._following if server != process]
        if process in self._members:
            self._leave(process, has_died=True)
        return out

    def _leave(self, worker: int, *, has_died: bool = False) -> None:
        self._members.remove(worker, has_died=has_died)
        if self._members.live:
            # servers use the numbers of the first live worker, which may have changed
            self._updates.follow(self._members.live[0])
        self._rounds.forget(worker)
        self._membership_changed()

    def _membership_changed(self) -> None:
        """Complete the sums, barriers and epochs that no longer wait for any worker."""
        shards = self._rounds.shards.values()
        # keys first: a worker that passes the barrier or begins an epoch finds all earlier sums complete
        for shard in shards:
            self._choose_sender(shard)
            self._rounds.advance(shard)
        live = json.dumps(self._members.live).encode()
        waiting = self._members.open_barrier()
        said = {worker: bytes(message.payload).decode(errors="replace") for worker, message in sorted(waiting.items())}
        what = " and ".join(sorted({text.partition(" ")[0].lower() or "barrier" for text in said.values()}))
        error = disagreement(what, said) if len(set(said.values())) > 1 else None
        for worker, message in waiting.items():
            self._answer(worker, reply(message, live) if error is None else reply_error(message, error))
        finished = self._members.begin_epoch(self._rounds.now)
        if finished:
            for shard in shards:
                shard.equalize(self._members.live)
            for worker, message in finished.items():
                self._answer(worker, reply(message))

    def _on_reply(self, message: Message) -> None:
        raise FormatError("server: this is a reply", Opcode(message.op).name, "send requests to servers")

    # requests that are carried out once

    def _once(self, source: int, message: Message) -> None:
        last = self._answered.get(source)
        # A worker's numbers ascend: an equal one repeats a request whose reply was lost; a smaller one was answered before the last.
        if last is not None and message.seq <= last.seq and message.seq:
            if message.seq == last.seq:
                self._send(source, last)
            return
        # a dropped worker sends DONE to join again
        if source not in self._members and message.op != Opcode.DONE:
            raise self._stranger(source)
        self._handlers[message.op](message)

    def _answer(self, worker: int, message: Message) -> None:
        self._answered[worker] = message
        self._send(worker, message)

    def _send(self, process: int, message: Message) -> None:
        self._rounds.out.append((process, message))

    def _stranger(self, source: int) -> ClusterError:
        state = "was considered dead" if source in self._members.dead else "has stopped" if source in self._answered else "is unknown"
        given, todo = f"live workers: {self._members.live}", "join at the end of an epoch with DONE"
        return ClusterError(f"server: worker {source} {state}", given, todo)

    def _on_set_optimizer(self, message: Message) -> None:
        self._updates.configure(text_in(message.payload), message.worker, self._members.live, self._rounds.shards.values())
        for shard in self._rounds.shards.values():
            # the failure was the former optimizer's; later pulls get values from the new one
            shard.failure = None
        self._answer(message.worker, reply(message))

    def _on_set_compression(self, message: Message) -> None:
        try:
            found = compression_of(json.loads(text_in(message.payload)))
        except (ValueError, TypeError, AttributeError) as error:
            raise ParameterError("set_gradient_compression: wrong parameters", text_in(message.payload)[:80], str(error)) from error
        self._rounds.threshold = None if found is None else found.threshold
        self._answer(message.worker, reply(message))

    def _on_barrier(self, message: Message) -> None:
        # the payload's memory is the transport's
        self._members.wait(message._replace(payload=bytes(message.payload)), self._rounds.now)
        self._membership_changed()

    def _on_done(self, message: Message) -> None:
        """A live worker has pushed all batches of its epoch, or another process asks to join. Both go on when all live workers are done."""
        self._members.end_epoch(message, self._rounds.now)
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
        name, shape, dtype, is_row_sparse, is_cut, clock, included, heir_of = announcement_in(message.payload)
        shard = self._rounds.shards.get(place)
        if shard is None:
            shard = Shard(name, message.shard, shape, dtype, is_row_sparse, is_cut)
            # checked before a value arrives: from here on the transport accepts payloads of this size
            announced = shard.nbytes + sum(s.nbytes for s in self._rounds.shards.values())
            if announced > self._capacity:
                raise ParameterError(f"init of key {name!r}: the server is full", f"{announced} bytes", f"it holds {self._capacity}")
            self._rounds.shards[place] = shard
        elif (shard.name, shard.shape, shard.code, shard.is_row_sparse) != (name, shape, dtype, is_row_sparse):
            given = f"worker {message.worker}: {name!r} {shape} {DTYPE_OF[dtype]}; before: {shard.name!r} {shard.shape} {shard.dtype}"
            raise ParameterError("init: workers disagree on a key", given, "initialize the same keys in the same order on all workers")
        self._rounds.join(shard, message.worker, clock)
        if shard.has_value:
            self._send(message.worker, reply(message))
        elif heir_of is None and message.worker == self._members.live[0]:  # this worker's next message is the initial value
            shard.announced[message.worker], shard.sender = Included(0, {}), message.worker
            self._send(message.worker, self._wanted(message))
        else:  # parked until another worker has sent the value, or until this one is chosen to send it
            shard.announced[message.worker] = Included(NO_VALUE, {}) if heir_of is None else included
            shard.parked.append(Parked(0, message.worker, message._replace(payload=b""), self._rounds.now))
            shard.heir_of = shard.heir_of if heir_of is None else heir_of
            if shard.sender == message.worker:  # a sender that announces the key once more has missed the reply: choose again
                shard.sender = None
            self._choose_sender(shard)

    def _choose_sender(self, shard: Shard) -> None:
        """Ask a worker for the value of a shard that has none, unless one has been asked.

        For a new key, the first live worker sends its value. For a shard of a dead server, the worker with the newest value sends it,
        once all workers have announced which value they have.
        """
        if shard.has_value or shard.sender is not None or not self._members.live:
            return
        # a new key: the first worker that lives sends its value
        if shard.heir_of is None:
            first = self._members.live[0]
            for parked in shard.take_parked(first):
                shard.sender = first
                self._send(first, self._wanted(parked.request))
            return
        # a shard of a server that died: the newest of the values that the workers kept goes on
        if any(w not in shard.announced for w in self._members.live):
            return
        newest = max(self._members.live, key=lambda worker: shard.announced[worker].version)
        if shard.announced[newest].version == NO_VALUE:
            error = ClusterError(f"no worker has the value of key {shard.name!r}", None, "continue from a checkpoint")
            for parked in shard.take_parked():
                self._send(parked.source, reply_error(parked.request, error))
            return
        shard.sender = newest
        for parked in shard.take_parked(newest):
            self._send(newest, reply(parked.request)._replace(flags=Flag.SEND_VALUE))

    @staticmethod
    def _wanted(announcement: Message) -> Message:
        """The reply that asks a worker for the initial value. Worker 0 sends it without a request, which saves a message each way."""
        found = reply(announcement)
        return found._replace(flags=Flag.SEND_VALUE) if announcement.worker else found

    def _on_bcast(self, message: Message) -> None:
        shard = self._rounds.shard_of(message)
        if not shard.has_value:  # a second value comes from a message sent twice, or from a worker that joined later
            self._rounds.set_value(shard, message, shard.announced.get(message.worker, Included(message.clock, {})))
            # the value may be newer than the snapshot, which is sent every hundred updates only
            if shard.heir_of is not None:
                self._inherit(shard, shard.heir_of)
            self._rounds.advance(shard)
        self._send(message.worker, reply(message))

    def _inherit(self, shard: Shard, dead_server: int) -> None:
        """Give a shard the optimizer's state of the server that died, as of its last snapshot."""
        snapshot = self._snapshots.get(dead_server)
        if shard.reached and (snapshot is None or self._updates.restore(snapshot, [shard])):
            what = "server: the optimizer's state of key %r was not in the last snapshot of server %d; it begins anew"
            logging.warning(what, shard.name, dead_server)

    # states

    def _on_heartbeat(self, message: Message) -> None:
        found = {"live": self._members.live, "dead": sorted(self._members.dead), "done": sorted(self._members.done)}
        self._send(message.worker, reply(message, json.dumps(found).encode()))

    def _on_state(self, message: Message) -> None:
        """A worker asks for the optimizer's states, or sends them. Another server sends its own states, in case it dies."""
        if message.worker not in self._members:
            # a server sends its states to the next live server, so only one sends them here, and an older snapshot is out of date
            self._snapshots = {message.worker: bytes(message.payload)}
        elif message.payload:
            self._updates.restore(bytes(message.payload), self._rounds.shards.values())
            self._send(message.worker, reply(message))
        else:
            self._send(message.worker, reply(message, self._updates.states(self._rounds.shards.values())))

    def _count_update(self) -> None:
        """Count an update, and send the optimizer's states to the next server every few updates of each key."""
        self._until_snapshot -= 1
        if self._following and self._until_snapshot <= 0:
            # each update of one shard counts once, so the interval grows with the number of shards
            self._until_snapshot = self._snapshot_every * len(self._rounds.shards)
            own = Message(Opcode.STATE, NO_KEY, worker=self._rank, payload=self._updates.states(self._rounds.shards.values()))
            self._send(self._following[0], own)
