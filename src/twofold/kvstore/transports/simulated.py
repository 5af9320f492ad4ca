"""A cluster in virtual time: simulated workers send messages to real server cores, over a network with delays, losses and deaths."""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from ...errors import InternalError, ParameterError
from ...ndarray.array import NDArray
from ..base import Key
from ..messages import HEADER_SIZE, Message, Opcode
from ..server_core import Replies, ServerCore
from ..server_loop import Intake


class SimulatedNetwork(NamedTuple):
    """A network.

    Parameters
    ----------
    latency
        Seconds from the start of sending to the start of receiving.
    bandwidth
        Bytes per second that a process sends, and that it receives.
    jitter
        Largest random addition to the latency, in seconds. Messages of one worker to one server keep their order.
    loss, repeat
        Fractions of messages that get lost, and that arrive twice.
    patience
        Seconds after which a worker without a reply sends its requests again.
    """

    latency: float = 25e-6
    bandwidth: float = 2.9e9
    jitter: float = 0.0
    loss: float = 0.0
    repeat: float = 0.0
    patience: float = math.inf


#: 25 Gbit/s Ethernet.
ETHERNET = SimulatedNetwork()


class StepTimes(NamedTuple):
    """A step of a worker: it computes from ``start`` to ``computed``, then pushes, and waits for weights until ``end``; in seconds."""

    worker: int
    step: int
    start: float
    computed: float
    end: float


class SimulatedRun(NamedTuple):
    """The results of a simulation.

    Parameters
    ----------
    spans
        The steps of all workers.
    weights
        The final weights, summed over keys. There is one element for each worker: the number of its pushes that were applied.
    largest_lead
        The largest number of steps by which a worker was ahead of another live worker when it received its weights.
    largest_bytes
        The largest number of bytes that a server held at any time.
    model_bytes
        The size of all weights in bytes.
    """

    spans: list[StepTimes]
    weights: np.ndarray
    largest_lead: int
    largest_bytes: int
    model_bytes: int

    @property
    def duration(self) -> float:
        """Seconds until the last worker has finished."""
        return max(span.end for span in self.spans)

    @property
    def efficiency(self) -> float:
        """The fraction of their time that workers compute, until each has finished."""
        alive: dict[int, float] = {}
        for span in self.spans:
            alive[span.worker] = max(alive.get(span.worker, 0.0), span.end)
        return sum(s.computed - s.start for s in self.spans) / sum(alive.values())


def simulate(
    workers: int,
    steps: int | Sequence[int],
    staleness: float,
    compute: Callable[[int, int], float],
    *,
    servers: int = 1,
    keys: int = 1,
    network: SimulatedNetwork = ETHERNET,
    deaths: Mapping[int, float] | None = None,
    seed: int = 0,
) -> SimulatedRun:
    """Let workers train on simulated machines: each computes, pushes a gradient of each key, and waits for the new weights.

    Parameters
    ----------
    workers, servers
        How many there are.
    steps
        The number of steps, of all workers or of each.
    staleness
        See `ServerCore`.
    compute
        Seconds that a step takes, as a function of the worker and the number of the step.
    keys
        The number of weights. A weight has one element for each worker. A worker's gradient is 1 in its own element and 0 elsewhere, and
        servers add gradients to weights.
    network
        The network.
    deaths
        The workers that die, and when; the servers hear of it 1 ms later.
    seed
        Seed of the network's randomness.

    Raises
    ------
    ParameterError
        If there is no worker, or not one number of steps for each.
    InternalError
        If the workers wait for each other and no event is left.

    Examples
    --------
    >>> import math
    >>> from twofold.kvstore.transports.simulated import simulate
    >>> slow_last = lambda worker, step: 0.02 if worker == 3 else 0.01
    >>> [round(simulate(4, 10, s, slow_last).duration, 2) for s in (0, math.inf)]
    [0.2, 0.2]
    >>> [round(simulate(4, 10, s, slow_last).efficiency, 2) for s in (0, math.inf)]
    [0.62, 1.0]
    """
    counts = [steps] * workers if isinstance(steps, int) else list(steps)
    if workers < 1 or len(counts) != workers:
        raise ParameterError("simulate: one number of steps per worker", f"{len(counts)} for {workers} workers", "pass as many")
    cluster = _Simulation(counts, staleness, compute, servers, keys, network, seed)
    for worker, when in (deaths or {}).items():
        cluster.at(when, lambda worker=worker: cluster.kill(worker))
    return cluster.run()


def add(key: Key, gradient: NDArray, weight: NDArray) -> None:
    """The servers' updater. It adds gradients without scaling them, so that weights count pushes."""
    weight += gradient


ADD = f"{__name__}:{add.__name__}"


class _SimulatedWorker:
    """Where a worker is in its training."""

    def __init__(self, number: int, steps: int) -> None:
        self.number, self.steps = number, steps
        self.step = 0
        self.seq = 0
        self.started = self.computed = 0.0
        self.is_dead = self.is_done = False
        self.pending: dict[int, tuple[int, Message]] = {}


class _Simulation:
    """The events of a simulation, in the order of their times."""

    def __init__(
        self,
        steps: Sequence[int],
        staleness: float,
        compute: Callable[[int, int], float],
        servers: int,
        keys: int,
        network: SimulatedNetwork,
        seed: int,
    ) -> None:
        count = len(steps)
        self._workers = [_SimulatedWorker(number, n) for number, n in enumerate(steps)]
        self._cores = [ServerCore(count, staleness, rank=count + k, allowed=[ADD]) for k in range(servers)]
        self._intakes = [Intake(core) for core in self._cores]
        self._compute, self._keys, self._network, self._random = compute, keys, network, random.Random(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        #: The number of events so far, which decides between events at the same time, so that a run can be repeated.
        self._made = 0
        self._now = 0.0
        #: When each process will have sent all its messages so far, and received all that have reached it.
        self._sends, self._receives = [0.0] * (count + servers), [0.0] * (count + servers)
        #: When the last message from one process to another reaches it.
        self._reached: dict[tuple[int, int], float] = {}
        self._spans: list[StepTimes] = []
        self._lead = self._bytes = 0
        #: Each worker's gradient is 1 in its own element, so the weights count its pushes and a lost or repeated one is seen.
        self._gradients = [np.eye(1, count, k).tobytes() for k in range(count)]
        self._initialize()

    def _initialize(self) -> None:
        """Initialize keys and updater, without the network."""
        count = len(self._workers)
        for core in self._cores:
            core.handle(0, Message(Opcode.SET_OPTIMIZER, payload=json.dumps({"updater": ADD}).encode()))
        for key in range(self._keys):
            about = json.dumps({"name": key, "shape": [count], "dtype": "float64"}).encode()
            core = self._cores[key % len(self._cores)]
            for worker in range(count):
                core.handle(worker, Message(Opcode.INIT, key, worker=worker, payload=about))
            core.handle(0, Message(Opcode.BCAST, key, dtype=1, payload=bytes(8 * count)))

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Let something happen at a time."""
        self._made += 1  # of two events at one time, the one that was planned first comes first
        heappush(self._events, (time, self._made, event))

    def run(self) -> SimulatedRun:
        """Carry out all events."""
        for worker in self._workers:
            self._begin_step(worker)
        while self._events:
            self._now, _, event = heappop(self._events)
            event()
        stuck = [w.number for w in self._workers if w.pending and not w.is_dead]
        if stuck:
            raise InternalError("simulate: workers wait for ever", f"workers {stuck[:8]}", "report this")
        count = len(self._workers)
        weights = np.zeros(count)
        reader = next((w.number for w in self._workers if not w.is_dead), None)
        for key in range(self._keys if reader is not None else 0):
            [(_, reply)] = self._cores[key % len(self._cores)].handle(
                reader or 0, Message(Opcode.PULL, key, worker=reader or 0, clock=-(1 << 40))
            )
            weights += np.frombuffer(reply.payload)
        return SimulatedRun(self._spans, weights, self._lead, self._bytes, 8 * count * self._keys)

    # workers

    def _begin_step(self, worker: _SimulatedWorker) -> None:
        worker.started = self._now
        if worker.step == worker.steps:
            worker.is_done = True
            self._ask(worker, [Message(Opcode.DONE, worker=worker.number)] * len(self._cores), range(len(self._cores)))
            return
        self.at(self._now + self._compute(worker.number, worker.step), lambda: self._push(worker))

    def _push(self, worker: _SimulatedWorker) -> None:
        if worker.is_dead:
            return
        worker.computed = self._now
        worker.step += 1
        push = Message(Opcode.PUSHPULL, 0, 1, 0, 0, worker.number, worker.step, payload=self._gradients[worker.number])
        self._ask(worker, [push._replace(key=key) for key in range(self._keys)], [key % len(self._cores) for key in range(self._keys)])

    def _ask(self, worker: _SimulatedWorker, messages: Sequence[Message], servers: Sequence[int]) -> None:
        for message, server in zip(messages, servers, strict=True):
            worker.seq += 1
            worker.pending[worker.seq] = len(self._workers) + server, message._replace(seq=worker.seq)
        self._send_pending(worker, worker.seq)

    def _send_pending(self, worker: _SimulatedWorker, seq: int) -> None:
        # a later request has a timer of its own
        if not worker.pending or worker.is_dead or worker.seq != seq:
            return
        for dest, message in worker.pending.values():
            self._send(worker.number, dest, message, HEADER_SIZE + len(message.payload))
        if self._network.patience < math.inf:
            self.at(self._now + self._network.patience, lambda: self._send_pending(worker, seq))

    def _receive(self, worker: _SimulatedWorker, message: Message) -> None:
        if worker.is_dead or message.seq not in worker.pending:
            return
        if message.op == Opcode.ERROR:
            raise InternalError("simulate: a server answered with an error", bytes(message.payload).decode(), "report this")
        del worker.pending[message.seq]
        if worker.pending or worker.is_done:
            return
        self._spans.append(StepTimes(worker.number, worker.step - 1, worker.started, worker.computed, self._now))
        # this worker is among them, so there is always a least step
        others = [w.step for w in self._workers if not (w.is_dead or w.is_done)]
        self._lead = max(self._lead, worker.step - min(others))
        self._begin_step(worker)

    def kill(self, number: int) -> None:
        """Let a worker die."""
        worker = self._workers[number]
        worker.is_dead = True

        def drop() -> None:
            for server, (core, intake) in enumerate(zip(self._cores, self._intakes, strict=True), len(self._workers)):
                self._reply(server, core.drop(number))
                for replies in intake.go_on():
                    self._reply(server, replies)

        self.at(self._now + 1e-3, drop)

    # the network

    def _send(self, source: int, dest: int, message: Message, size: int) -> None:
        network, rng = self._network, self._random
        # no number is drawn for a network without loss: its runs are the same as before losses could be simulated
        copies = 1
        if network.loss or network.repeat:
            chance = rng.random()
            copies = 0 if chance < network.loss else 2 if chance < network.loss + network.repeat else 1
        for _ in range(copies):
            begun = max(self._now, self._sends[source])
            self._sends[source] = begun + size / network.bandwidth
            latency = network.latency + (rng.random() * network.jitter if network.jitter else 0.0)
            # jitter must not let a later message overtake this one
            self._reached[source, dest] = reached = max(begun + latency, self._reached.get((source, dest), 0.0))
            self.at(reached, lambda: self._take_in(source, dest, message, size))

    def _take_in(self, source: int, dest: int, message: Message, size: int) -> None:
        """Receive a message, after those of all senders that have reached the process before."""
        self._receives[dest] = arrived = max(self._now, self._receives[dest]) + size / self._network.bandwidth
        self.at(arrived, lambda: self._arrive(source, dest, message))

    def _arrive(self, source: int, dest: int, message: Message) -> None:
        count = len(self._workers)
        if dest < count:
            self._receive(self._workers[dest], message)
            return
        core = self._cores[dest - count]
        for replies in self._intakes[dest - count].receive(source, message):
            self._bytes = max(self._bytes, core.held_bytes)
            self._reply(dest, replies)

    def _reply(self, server: int, replies: Replies) -> None:
        for dest, message in replies:
            size = HEADER_SIZE + len(message.payload)
            # a worker looks at no weights: those of all replies under way would be gigabytes for thousands of workers
            self._send(server, dest, message if message.op == Opcode.ERROR else message._replace(payload=b""), size)
