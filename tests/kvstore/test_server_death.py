"""A server dies at some point of a step: the next one goes on with its keys, and the weights are those of a run without the death."""

from __future__ import annotations

import random
from contextlib import suppress
from threading import Event

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ClusterError
from twofold.kvstore.client import ServerClient
from twofold.kvstore.optimizer_json import optimizer_to_json
from twofold.kvstore.server_core import ServerCore
from twofold.kvstore.server_loop import serve
from twofold.kvstore.transports.inprocess import connected, grouped, run_threads

WORKERS, DYING, STEPS = 2, 3, 6
SERVERS = (2, 3, 4)
SHAPES = {"a": (2,), "b": (3, 2), "c": (12,), "d": (40,), "e": (5,), "f": (1,)}


class Death(Exception):
    """What ends the thread of a server."""


class Mortal:
    """A server's transport, with which it dies after some messages."""

    def __init__(self, inner, life, armed, dead):
        self.inner, self.rank, self.size, self.life, self.armed, self.dead = inner, inner.rank, inner.size, life, armed, dead

    def count(self):
        if self.armed.is_set():
            self.life -= 1
            if self.life < 0:
                self.dead.set()
                raise Death

    def send(self, dest, message):
        self.count()
        self.inner.send(dest, message)

    def receive(self, timeout=None):
        found = self.inner.receive(0.01 if self.armed.is_set() else timeout)
        if found is not None:
            self.count()
        return found


class Attentive:
    """A worker's transport, which tells of the death, as MPI does."""

    def __init__(self, inner, dead):
        self.inner, self.rank, self.size, self.dead, self.is_told = inner, inner.rank, inner.size, dead, False

    def send(self, dest, message):
        if dest == DYING and self.dead.is_set():
            raise ClusterError("a process is gone", str(dest))
        self.inner.send(dest, message)

    def receive(self, timeout=None):
        for _ in range(1000):
            found = self.inner.receive(0.01)
            if found is not None:
                return found
            if self.dead.is_set() and not self.is_told:
                self.is_told = True
                raise ClusterError("a process is gone", str(DYING))
        return None


def trained(staleness, life):
    """The weights after some steps, in which a server dies after so many messages."""
    transports, groups = connected(WORKERS + len(SERVERS)), grouped(WORKERS)
    armed, dead, clocks = Event(), Event(), [{} for _ in range(WORKERS)]
    following = {2: 3, 3: 4, 4: 2}

    def run_server(rank):
        core = ServerCore(WORKERS, staleness, rank=rank, neighbour=following[rank], snapshot_every=1)
        transport = Mortal(transports[rank], life if rank == DYING else 1 << 60, armed, dead)
        with suppress(Death):
            serve(core, transport, every=0.05)

    def work(rank):
        client = ServerClient(Attentive(transports[rank], dead), WORKERS, timeout=20, bound=12, attempts=2)
        rng, weights = np.random.default_rng(rank), {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}
        for name, value in weights.items():
            client.init(name, value)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=0.1, rescale_grad=0.5)))
        groups[rank].barrier()
        armed.set()

        def guarded(wait):
            try:
                wait()
            except ClusterError:
                clocks[rank] = client.clocks_of(DYING)
                groups[rank].barrier()
                newest = {part: max(range(WORKERS), key=lambda w, part=part: clocks[w][part]) for part in clocks[0]}
                client.replace_server(DYING, newest, weights.__getitem__)
                client.finish()

        for _ in range(STEPS):
            for name, value in weights.items():
                client.push(name, rng.normal(size=value.shape).astype(np.float32))
            for name, value in weights.items():
                client.start_pull(name, value)
            guarded(client.finish)
        guarded(client.barrier)
        with suppress(ClusterError):  # it may die now
            client.stop()
        return weights

    works = [lambda rank=rank: work(rank) for rank in range(WORKERS)]
    return run_threads(works + [lambda rank=rank: run_server(rank) for rank in SERVERS])[:WORKERS], dead.is_set()


@pytest.mark.parametrize("life", random.Random(0).sample(range(60), 8))
def test_a_synchronous_run_is_not_changed_by_the_death_of_a_server(life):
    # states may be some updates older, so the optimizer has none
    (expected, _), _ = trained(0, 1 << 60)
    found, has_died = trained(0, life)
    assert has_died
    for weights in found:
        for name in SHAPES:
            np.testing.assert_array_equal(weights[name], expected[name], err_msg=name)
