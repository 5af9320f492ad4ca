"""A server dies at some point of a step: the next one goes on with its keys, and the weights are those of a run without the death."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache
from time import monotonic

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ClusterError, ProcessGone
from twofold.kvstore.client import ServerClient
from twofold.kvstore.messages import Message, Opcode
from twofold.kvstore.optimizer_json import optimizer_to_json
from twofold.kvstore.server_core import ServerCore
from twofold.kvstore.server_loop import serve
from twofold.kvstore.transports.inprocess import connected, run_threads
from twofold.optimizer import states as state_files

from tests.cases import later_in_ci

WORKERS, STEPS = 2, 6
SERVERS = (2, 3, 4)
SHAPES = {"a": (2,), "b": (3, 2), "c": (12,), "d": (40,), "e": (5,), "f": (1,)}


class Death(Exception):
    """What ends the thread of a server."""


class Mortal:
    """A server's transport, with which it dies after some messages."""

    def __init__(self, inner, life, dead):
        self.inner, self.rank, self.size, self.life, self.dead = inner, inner.rank, inner.size, life, dead

    def count(self):
        self.life -= 1
        if self.life < 0:
            self.dead.add(self.rank)
            raise Death

    def send(self, dest, message):
        self.count()
        self.inner.send(dest, message)

    def receive(self, timeout=None):
        found = self.inner.receive(0.01)
        if found is not None:
            self.count()
        elif self.rank in self.dead:  # the workers have failed
            raise Death
        return found


class Attentive:
    """A worker's transport, which tells of deaths, as MPI does."""

    def __init__(self, inner, dead):
        self.inner, self.rank, self.size, self.dead, self.told = inner, inner.rank, inner.size, dead, set()

    def send(self, dest, message):
        if dest in self.dead:
            raise gone(dest)
        self.inner.send(dest, message)

    def receive(self, timeout=None):
        end = monotonic() + timeout
        while True:
            found = self.inner.receive(0.01)
            if found is not None:
                return found
            for dead in self.dead - self.told:
                self.told.add(dead)
                raise gone(dead)
            if monotonic() > end:
                return None


def gone(process):
    error = ProcessGone("a process has died", str(process))
    error.process = process
    return error


def trained(staleness, lives, *, is_tolerant=True, mortals=None, paces=(1, 1)):
    """The weights after some steps, in which servers die after so many messages, and the servers that have died.

    Worker k pulls after every ``paces[k]`` steps, and once at the end.
    """
    transports, dead = connected(WORKERS + len(SERVERS)), set()

    def run_server(rank):
        following = [*range(rank + 1, SERVERS[-1] + 1), *range(SERVERS[0], rank)]
        core = ServerCore(WORKERS, staleness, rank=rank, following=following, snapshot_every=1)
        mortal = Mortal(transports[rank], lives.get(rank, 1 << 60), dead)
        if mortals is not None:
            mortals.append(mortal)
        with suppress(Death):
            serve(core, mortal, every=0.05)

    def work(rank):
        client = ServerClient(Attentive(transports[rank], dead), WORKERS, timeout=20, bound=12, is_tolerant=is_tolerant)
        rng, weights = np.random.default_rng(rank), {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}
        for name, value in weights.items():
            client.init(name, value + rank)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=0.1, rescale_grad=0.5)))
        for step in range(1, STEPS + 1):
            for name, value in weights.items():
                client.push(name, rng.normal(size=value.shape).astype(np.float32))
            if step % paces[rank] == 0:
                pull(client, weights)
        for _ in range(3):
            assert client.barrier() == [0, 1]
        if staleness:
            pull(client, weights)
            client.barrier()  # a worker that has left takes with it what it alone has received
        client.stop()
        return weights

    works = [lambda rank=rank: work(rank) for rank in range(WORKERS)]
    servers = [lambda rank=rank: run_server(rank) for rank in SERVERS]
    return run_threads(works + servers, on_failure=lambda: dead.update(SERVERS))[:WORKERS], dead


def pull(client, weights):
    for name, value in weights.items():
        client.start_pull(name, value)
    client.finish()


def after_all_pushes():
    """The weights once every push has been applied, in any order."""
    weights = {name: np.ones(shape) for name, shape in SHAPES.items()}
    for rank in range(WORKERS):
        rng = np.random.default_rng(rank)
        for _ in range(STEPS):
            for value in weights.values():
                value -= 0.1 * 0.5 * rng.normal(size=value.shape)
    return weights


@cache
def messages_of(server):
    """How many messages a server sends and receives in a run."""
    mortals = []
    trained(0, {server: 1 << 30}, mortals=mortals)
    return next((1 << 30) - mortal.life for mortal in mortals if mortal.rank == server)


@pytest.fixture(scope="module")
def expected():
    return trained(0, {})[0][0]


@pytest.mark.parametrize("life", [0, 1, 3, *random.Random(0).sample(range(5, 80), 9)])
def test_a_synchronous_run_is_not_changed_by_the_death_of_a_server(expected, life):
    # states may be some updates older, so the optimizer has none
    found, dead = trained(0, {3: life})
    assert dead == {3}
    for weights in found:
        for name in SHAPES:
            np.testing.assert_array_equal(weights[name], expected[name], err_msg=name)


@pytest.mark.parametrize("messages_left", [3, 5, 7, 10, 14])
def test_a_barrier_ends_though_a_server_dies_in_it(expected, messages_left):
    """The last messages of a server are three barriers' and those with which two workers leave, four each."""
    found, dead = trained(0, {2: messages_of(2) - messages_left})
    assert dead == {2}
    assert all((weights[name] == expected[name]).all() for weights in found for name in SHAPES)


def test_an_asynchronous_run_loses_no_push_with_two_servers():
    """Of the second death the workers learn while they move the parts of the first server, in a barrier."""
    for lives in ({3: 61, 4: 110}, {4: 104, 3: 56}, {3: 49, 2: 96}):
        found, dead = trained(float("inf"), lives, paces=(6, 1))
        assert dead <= set(lives)
        for weights in found:
            for name, want in after_all_pushes().items():
                np.testing.assert_allclose(weights[name], want, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("lives", [{3: 40, 4: 40}, {4: 90, 2: 60}, {2: 2, 4: 100}, {3: 70, 4: 80}])
def test_nor_by_the_deaths_of_two(expected, lives):
    found, dead = trained(0, lives)
    assert dead == set(lives)
    for weights in found:
        for name in SHAPES:
            np.testing.assert_array_equal(weights[name], expected[name], err_msg=name)


@pytest.mark.parametrize("paces", [(1, 1), (1, 3), (2, 1)])
@pytest.mark.parametrize("life", later_in_ci([20, 60, 30, 40, 50, 70, 80, 90], 2))
def test_an_asynchronous_run_loses_no_push_and_applies_none_twice(life, paces):
    found, dead = trained(float("inf"), {3: life}, paces=paces)
    assert dead == {3}
    for weights in found:
        for name, want in after_all_pushes().items():
            np.testing.assert_allclose(weights[name], want, rtol=1e-5, atol=1e-5, err_msg=name)


def test_the_death_of_the_last_server_is_an_error():
    with pytest.raises(ClusterError, match=r"server [012] has died.*there is no other server"):
        trained(0, {2: 40, 3: 60, 4: 80})


def test_without_tolerance_a_death_is_an_error():
    with pytest.raises(ClusterError, match=r"server 1 has died.*--ft replaces servers"):
        trained(0, {3: 30}, is_tolerant=False)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_server_ends_with_a_worker_that_cannot_be_reached_unless_the_others_go_on(goes_on):
    class Cut:
        """A server's transport that has lost a worker."""

        rank, size = 2, 3

        def __init__(self):
            self.arrived = [(1, Message(Opcode.STOP, worker=1))]

        def send(self, dest, message):
            pass

        def receive(self, timeout=None):
            if self.arrived[-1][0] == 1 and len(self.arrived) == 1:
                self.arrived.append((0, Message(Opcode.STOP, worker=0)))
                raise gone(0)
            return self.arrived.pop(0)

    core = ServerCore(WORKERS)
    if goes_on:
        serve(core, Cut())
        assert core.is_stopped
        return
    with pytest.raises(ProcessGone):
        serve(core, Cut(), goes_on=False)


@pytest.mark.parametrize("staleness", [0, float("inf")])
@pytest.mark.parametrize("life", later_in_ci([*range(40, 110, 7)]))
def test_states_of_a_server_that_dies_while_they_are_asked_for_are_those_of_its_heir(staleness, life):
    transports, dead = connected(WORKERS + len(SERVERS)), set()

    def run_server(rank):
        following = [*range(rank + 1, SERVERS[-1] + 1), *range(SERVERS[0], rank)]
        core = ServerCore(WORKERS, staleness, rank=rank, following=following, snapshot_every=1)
        with suppress(Death):
            serve(core, Mortal(transports[rank], life if rank == SERVERS[0] else 1 << 60, dead), every=0.05)

    def work(rank):
        client = ServerClient(Attentive(transports[rank], dead), WORKERS, timeout=20, bound=12, is_tolerant=True)
        weights, found = {name: np.ones(shape, np.float32) for name, shape in SHAPES.items()}, []
        for name, value in weights.items():
            client.init(name, value)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)))
        for _ in range(4):
            for name, value in weights.items():
                client.push(name, np.ones_like(value))
            pull(client, weights)
            client.barrier()
            found.append({key for states in client.optimizer_states() for key in state_files.load(states)[0]})
            client.barrier()
        client.stop()
        return found

    works = [lambda rank=rank: work(rank) for rank in range(WORKERS)] + [lambda rank=rank: run_server(rank) for rank in SERVERS]
    found = run_threads(works)[:WORKERS]
    # of the first step there may be no snapshot, and the states begin anew
    assert all(len(keys) == len(found[0][-1]) for steps in found for keys in steps[1:])
