"""Workers and servers as threads of one process: what a worker pushes and pulls, through any number of servers."""

from __future__ import annotations

import math
from queue import SimpleQueue
from threading import Event, Thread

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ClusterError, ClusterTimeout, FormatError, MXNetError, ParameterError, ShapeError
from twofold.kvstore import requests
from twofold.kvstore.client import ServerClient
from twofold.kvstore.messages import Message, Opcode
from twofold.kvstore.optimizer_json import optimizer_to_json
from twofold.kvstore.server_core import ServerCore
from twofold.kvstore.server_loop import serve
from twofold.kvstore.server_store import ServerStore
from twofold.kvstore.transports.inprocess import connected, run_threads

from tests.kvstore.clusters import cluster


@pytest.mark.parametrize("servers", [1, 2, 3])
@pytest.mark.parametrize("shape", [(3,), (100,), (7, 5), (2, 50), (1, 64), (4, 3, 5)])
def test_tensors_of_any_shape_are_summed_on_any_number_of_servers(shape, servers):
    values = [np.random.default_rng(rank).normal(size=shape).astype(np.float32) for rank in range(2)]

    def program(client):
        out = np.empty(shape, np.float32)
        client.init("w", values[client.rank])
        client.pull("w", out)
        np.testing.assert_array_equal(out, values[0])
        client.push("w", values[client.rank])
        client.push("w", 3 * values[client.rank])
        client.pull("w", out)
        client.pushpull("w", out, out)
        return out

    for found in cluster(program, servers=servers):
        np.testing.assert_array_equal(found, 2 * (3 * values[0] + 3 * values[1]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "int64"])
def test_every_data_type_is_summed(dtype):
    def program(client):
        value = np.arange(10).astype(dtype)
        client.init(3, value)
        client.pushpull(3, value, value)
        return value

    for found in cluster(program):
        assert found.dtype == dtype
        assert found.tolist() == (np.arange(10) * 2).tolist()


@pytest.mark.parametrize("servers", [1, 3])
def test_rows_go_to_the_servers_that_have_them(servers):
    def program(client):
        client.init("w", np.zeros((10, 2), np.float32), is_row_sparse=True)
        ids = np.array([[0, 3, 9], [3, 4, 5]][client.rank])
        client.push_rows("w", ids, np.repeat(ids + 1.0, 2).reshape(-1, 2))
        return client.pull_rows("w", np.array([0, 1, 3, 9])).tolist()

    assert cluster(program, servers=servers) == [[[1, 1], [0, 0], [8, 8], [10, 10]]] * 2


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("name", ["sgd", "adam", "nag"])
def test_servers_update_as_an_optimizer_would_alone(name, servers):
    kwargs = {"momentum": 0.5} if name != "adam" else {}
    grads = np.random.default_rng(1).normal(size=(3, 2, 12)).astype(np.float32)

    def optimizer():
        schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)
        made = mx.optimizer.create(name, learning_rate=0.1, rescale_grad=0.5, wd=0.1, lr_scheduler=schedule, **kwargs)
        made.set_lr_mult({"w": 0.5})
        return made

    def program(client):
        out = np.ones(12, np.float32)
        client.init("w", out)
        client.set_optimizer(optimizer_to_json(optimizer()))
        for step in grads:
            client.pushpull("w", step[client.rank], out)
        return out

    alone, updater = mx.nd.ones((12,)), mx.optimizer.get_updater(optimizer())
    for step in grads:
        updater("w", mx.nd.array(step[0] + step[1]), alone)
    for found in cluster(program, servers=servers):
        np.testing.assert_array_equal(found, alone.asnumpy())


def test_a_changed_learning_rate_reaches_every_server():
    def program(client):
        out = np.zeros(10, np.float32)
        client.init("w", out)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=1.0)))
        client.change_optimizer(lr=0.5)
        client.pushpull("w", np.ones(10, np.float32), out)
        return out.tolist()

    assert cluster(program, workers=1, servers=2) == [[-0.5] * 10]


@pytest.mark.parametrize("servers", [1, 2])
def test_compressed_gradients_are_those_of_the_real_cluster(servers):
    def program(client):
        client.init("w", np.zeros(10, np.float32))
        client.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        found = []
        for _ in range(3):
            out = np.empty(10, np.float32)
            client.pushpull("w", np.tile(np.float32([0.3, 0.6, -0.7, 0.1, 2.0]), 2), out)
            found.append(out.tolist())
        return found

    for found in cluster(program, servers=servers):
        assert found == [[0, 1, -1, 0, 1] * 2, [1, 1, -1, 0, 1] * 2, [0, 1, -1, 0, 1] * 2]


@pytest.mark.parametrize("staleness", [1, 3, math.inf])
def test_stale_and_asynchronous_workers_lose_no_push(staleness):
    def program(client):
        out = np.zeros(4, np.float32)
        client.init("w", out)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=1.0)))
        for _ in range(20):
            client.pushpull("w", -np.ones(4, np.float32), out)
        client.barrier()
        client.pull("w", out)
        return out.tolist()

    assert cluster(program, workers=3, staleness=staleness) == [[60] * 4] * 3


def test_uneven_batches_end_together():
    def program(client):
        out = np.zeros(2, np.float32)
        client.init("w", out)
        for _ in range(2):
            for _ in range(3 + 2 * client.rank):
                client.pushpull("w", np.ones(2, np.float32), out)
            client.end_epoch()
        client.pushpull("w", np.ones(2, np.float32), out)
        return out.tolist()

    assert cluster(program) == [[2, 2]] * 2


def test_states_are_saved_and_restored():
    def program(client):
        out = np.zeros(10, np.float32)
        client.init("w", out)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5)))
        client.pushpull("w", np.ones(10, np.float32), out)
        states = client.optimizer_states()
        client.pushpull("w", np.zeros(10, np.float32), out)
        client.restore_optimizer_states(states)
        client.pushpull("w", np.zeros(10, np.float32), out)
        with pytest.raises(ParameterError, match="number of servers"):
            client.restore_optimizer_states([])
        return out.tolist()

    assert cluster(program, workers=1, servers=2) == [[-2.0] * 10]


def test_states_of_servers_are_not_taken_for_those_of_workers(tmp_path):
    file = tmp_path / "s.states"
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())

    def program(client):
        client.init("w", np.zeros(10, np.float32))
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD()))
        store = ServerStore.__new__(ServerStore)
        store._client = client
        store.save_optimizer_states(file)
        with pytest.raises(ParameterError, match=r"ran on servers: given those of 2; launch the program with as many: .* -s 2"):
            updater.set_states(file.read_bytes())
        file.write_bytes(updater.get_states())
        with pytest.raises(ParameterError, match=r"ran on workers: .*; launch the program without servers"):
            store.load_optimizer_states(file)
        file.write_bytes(b"x")
        with pytest.raises(FormatError, match="not the states of servers"):
            store.load_optimizer_states(file)

    cluster(program, workers=1, servers=2)


def test_commands_reach_every_server():
    calls = SimpleQueue()
    cluster(lambda client: client.send_command(3, "text"), workers=1, servers=2, on_command=lambda *call: calls.put(call))
    assert [calls.get(), calls.get()] == [(3, "text")] * 2


# faults


def test_a_worker_that_skips_a_push_is_named():
    seen = Event()

    def program(client):
        client.init("w", np.zeros(2, np.float32))
        if client.rank == 0:
            with pytest.raises(ClusterTimeout, match=r"PUSHPULL of key 'w' at clock 1: .* missing workers: \[1\]"):
                client.pushpull("w", np.ones(2, np.float32), np.empty(2, np.float32))
            seen.set()
        assert seen.wait(10)

    cluster(program, timeout=0.5)


@pytest.mark.parametrize("servers", [1, 2])
def test_optimizers_that_differ_are_an_error_that_shows_both(servers):
    def program(client):
        client.init("w", np.zeros(2, np.float32))
        optimizer = mx.optimizer.SGD(learning_rate=0.1 if client.rank else 0.25)
        with pytest.raises(
            ClusterError, match=r"set_optimizer: the workers do not do the same: given worker 0: .*0\.25.*; worker 1: .*0\.1"
        ):
            client.set_optimizer(optimizer_to_json(optimizer))
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=1)))  # they can go on

    cluster(program, servers=servers)


@pytest.mark.parametrize("call", ["PULL", "BARRIER"])
def test_keys_that_only_one_worker_has_are_named_before_the_deadline(call):
    def go_on(client):
        if client.rank:
            client.init("v", np.zeros(3, np.float32))
        elif call == "BARRIER":
            client.barrier()
        else:
            client.push("w", np.ones(2, np.float32))
            client.pull("w", np.empty(2, np.float32))

    def program(client):
        client.init("w", np.zeros(2, np.float32))
        with pytest.raises(ClusterError, match=rf"given worker 0 waits in {call}.*; worker 1 waits in INIT of key 'v'"):
            go_on(client)

    cluster(program, timeout=4)


def test_a_server_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(requests, "GRACE", 0.1)
    client = ServerClient(connected(3)[0], 1, timeout=0.1)
    with pytest.raises(ClusterTimeout, match=r"BARRIER: .* missing servers: \[1, 2\]"):
        client.barrier()


def test_an_error_of_a_push_is_raised_by_the_next_pull():
    def program(client):
        client.init("w", np.zeros(2, np.float32))
        client.push("w", np.ones(2, np.float32))
        with pytest.raises(MXNetError, match="Updater needs to be set"):
            client.pull("w", np.empty(2, np.float32))

    cluster(program, workers=1, staleness=math.inf)


def test_every_lost_and_repeated_message_is_made_good():
    """The network loses every third message and repeats every fourth, in both directions."""
    transports = connected(3)

    class Lossy:
        def __init__(self, inner):
            self.inner, self.rank, self.size, self.count = inner, inner.rank, inner.size, 0

        def send(self, dest, message):
            self.count += 1
            for _ in range(0 if self.count % 3 == 0 and message.op != Opcode.STOP else 2 if self.count % 4 == 0 else 1):
                self.inner.send(dest, message)

        def receive(self, timeout=None):
            return self.inner.receive(timeout)

        def close(self):
            self.inner.close()

    def work(rank):
        client = ServerClient(Lossy(transports[rank]), 2, timeout=5, attempts=200)
        out = np.zeros(2, np.float32)
        client.init("w", out)
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=1.0)))
        for _ in range(10):
            client.push("w", -np.ones(2, np.float32))
            client.pushpull("w", -np.ones(2, np.float32), out)
        client.barrier()
        client.pull("w", out)
        return out.tolist()

    server = Thread(target=lambda: serve(ServerCore(2), Lossy(transports[2]), every=0.05), daemon=True)
    server.start()
    assert run_threads([lambda: work(0), lambda: work(1)]) == [[40, 40]] * 2


# mistakes


@pytest.mark.parametrize(
    ("kind", "match", "mistake"),
    [
        (MXNetError, "has not been inited", lambda c: c.push("v", np.zeros(2, np.float32))),
        (MXNetError, "duplicate init", lambda c: c.init("w", np.zeros(2))),
        (ShapeError, r"\(3,\) of float32", lambda c: c.push("w", np.zeros(3, np.float32))),
        (ShapeError, "of float64", lambda c: c.push("w", np.zeros(2))),
        (ShapeError, "not contiguous", lambda c: c.pull("w", np.zeros(4, np.float32)[::2])),
        (ShapeError, "needs elements", lambda c: c.init("v", np.zeros((0, 2)))),
        (ShapeError, "ascend", lambda c: c.pull_rows("w", np.array([1, 0]))),
        (ShapeError, "wrong shape", lambda c: c.push_rows("w", np.array([1]), np.zeros(2))),
    ],
)
def test_mistakes_are_errors_on_the_worker(kind, match, mistake):
    def program(client):
        client.init("w", np.zeros(2, np.float32))
        with pytest.raises(kind, match=match):
            mistake(client)

    cluster(program, workers=1)


def test_a_store_needs_a_server():
    with pytest.raises(ParameterError, match="no server"):
        ServerClient(connected(2)[0], 2)


# transports


def test_what_is_sent_may_be_changed_afterwards():
    first, second = connected(2)
    payload = bytearray(b"before")
    first.send(1, Message(Opcode.PUSH, payload=memoryview(payload)))
    payload[:] = b"after!"
    source, message = second.receive(1)
    assert (source, bytes(message.payload)) == (0, b"before")
    assert second.receive(0) is None
    with pytest.raises(ClusterError, match="no such process"):
        first.send(2, message)


def test_all_begin_without_a_first_worker_that_died_before():
    """Its initial value and its optimizer are the next one's, and none waits until the time is over."""
    *workers, transport = connected(4)
    core = ServerCore(3, timeout=20)
    core.drop(0)

    def work(rank):
        client = ServerClient(workers[rank], 3, timeout=20)
        client.init("w", np.full(4, float(rank)))
        client.set_optimizer(optimizer_to_json(mx.optimizer.SGD(learning_rate=1.0)))
        client.pushpull("w", np.ones(4), out := np.empty(4))
        client.stop()
        return out.tolist()

    first, second, _ = run_threads([lambda: work(1), lambda: work(2), lambda: serve(core, transport, every=0.05)])
    assert first == second == [-1.0] * 4
