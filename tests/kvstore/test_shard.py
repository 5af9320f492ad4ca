"""Sums of dense, row-sparse and compressed pushes, and how much memory a server needs for them."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, ShapeError
from twofold.kvstore.compression import TwoBitCompression, pack_two_bit, unpack_two_bit
from twofold.kvstore.messages import Flag, Message, Opcode, decode, encode
from twofold.kvstore.optimizer_json import optimizer_to_json
from twofold.kvstore.server_loop import Intake

from tests.kvstore.server_driver import Server, floats


def table(server, key=0):
    [(_, found)] = server.pull(server.core.live[0], key)
    return found.reshape(-1, 2).tolist()


def sparse_server(workers=2, staleness=0.0, stype="row_sparse"):
    server = Server(workers, staleness)
    server.init(0, np.arange(8, dtype=np.float32).reshape(4, 2), stype=stype)
    return server


# rows


def test_only_pushed_rows_are_replaced_by_their_sums():
    server = sparse_server()
    server.push_rows(0, 0, [0, 2], floats(1, 1, 2, 2))
    server.push_rows(1, 0, [2, 3], floats(10, 10, 20, 20))
    assert table(server) == [[1, 1], [2, 3], [12, 12], [20, 20]]
    server.push_rows(1, 0, [3], floats(5, 5))
    server.push_rows(0, 0, [], floats())
    assert table(server) == [[1, 1], [2, 3], [12, 12], [5, 5]]


def test_rows_pushed_to_a_dense_key_replace_all_of_it():
    server = sparse_server(1, stype="default")
    for rows in ([1, 1], [3, 3]):
        server.push_rows(0, 0, [1], floats(*rows))
        assert table(server) == [[0, 0], rows, [0, 0], [0, 0]]


def test_dense_and_sparse_pushes_add_up():
    server = sparse_server()
    for _ in range(2):
        server.push_rows(0, 0, [1], floats(10, 10))
        server.push(1, 0, floats(1, 2, 3, 4, 5, 6, 7, 8))
        assert table(server) == [[1, 2], [13, 14], [5, 6], [7, 8]]
    for _ in range(2):  # a sum of rows after a dense one
        for w in (0, 1):
            server.push_rows(w, 0, [3], floats(1, 1))
        assert table(server) == [[1, 2], [13, 14], [5, 6], [2, 2]]


@pytest.mark.parametrize("staleness", [0, math.inf])
def test_a_lazy_optimizer_updates_pushed_rows_only(staleness):
    server = sparse_server(1, staleness)
    optimizer = mx.optimizer.SGD(learning_rate=1, momentum=0.5, wd=0.5)
    server.send(0, Opcode.SET_OPTIMIZER, array=optimizer_to_json(optimizer).encode())
    alone, state = mx.nd.arange(8).reshape((4, 2)), None
    state = optimizer.create_state(0, alone)
    for ids in ([0, 1], [1, 3], []):
        rows = np.full((len(ids), 2), 0.25, np.float32)
        server.push_rows(0, 0, ids, rows)
        optimizer.update(0, alone, mx.nd.sparse.row_sparse_array((rows, ids), shape=(4, 2)), state)
        assert table(server) == alone.asnumpy().tolist()
    assert table(server)[2] == [4, 5]


def test_rows_can_be_pulled_alone():
    server = sparse_server(1)
    [(_, found)] = server.send(0, Opcode.RSP_PULL, 0, np.array([3, 0, 3]), rows=3)
    assert found.tolist() == [6, 7, 0, 1, 6, 7]


@pytest.mark.parametrize("ids", [[0, 4], [-1, 2], [2, 1], [1, 1]])
def test_row_ids_that_are_out_of_range_or_order_are_rejected(ids):
    server = sparse_server(1)
    [(_, error)] = server.push_rows(0, 0, ids, floats(1, 1, 2, 2), op=Opcode.PUSHPULL)
    assert isinstance(error, ShapeError)
    assert "ascend" in str(error)


def test_rows_that_do_not_exist_cannot_be_pulled():
    [(_, error)] = sparse_server(1).send(0, Opcode.RSP_PULL, 0, np.array([4]), rows=1)
    assert isinstance(error, ShapeError)


# two bits


@pytest.mark.parametrize("count", [1, 4, 7, 1000])
def test_packed_values_are_unpacked_unchanged(count):
    values = np.random.default_rng(count).choice(floats(-0.5, 0, 0.5), count)
    found = np.empty(count, np.float32)
    packed = pack_two_bit(values)
    unpack_two_bit(packed, 0.5, found)
    assert packed.nbytes == -(-count // 4)
    np.testing.assert_array_equal(found, values)


def test_compressed_pushes_add_up_and_the_residual_is_sent_later():
    server = Server(2)
    server.init(0, np.zeros(5, np.float32))
    server.send(0, Opcode.SET_COMPRESSION, array=b'{"type": "2bit", "threshold": 0.5}')
    workers = [TwoBitCompression(0.5), TwoBitCompression(0.5)]
    for expected in ([0, 1, -1, 0, 1], [1, 1, -1, 0, 1], [0, 1, -1, 0, 1]):  # what the real cluster stores
        for w in (1, 0):
            sent = workers[w](0, mx.nd.array([0.3, 0.6, -0.7, 0.1, 2.0])).asnumpy()
            server.push(w, 0, pack_two_bit(sent), flags=Flag.TWO_BIT | Flag.QUIET, dtype=0)
        assert server.pull(0, 0)[0][1].tolist() == expected


# memory


def test_memory_does_not_grow_with_the_number_of_workers():
    """The first worker is the slowest: what the others push is kept up to the size of the model, and the rest stays with them."""
    model, held = 4000, []
    for workers in (4, 64):
        server = Server(workers)
        server.init(0, np.zeros(model // 4, np.float32))
        push = Message(Opcode.PUSH, 0, clock=1, flags=Flag.QUIET, payload=np.ones(model // 4, np.float32).tobytes())
        refused = []
        for w in reversed(range(workers)):
            message = push._replace(worker=w)
            if server.core.takes(w, message, model):
                server.core.handle(w, message)
                held.append(server.core.held_bytes)
            else:
                refused.append(message)
        assert len(refused) == workers - 2
        while refused:
            taken = [m for m in refused if server.core.takes(m.worker, m, model)]
            assert taken
            server.core.handle(taken[-1].worker, taken[-1])
            refused.remove(taken[-1])
            held.append(server.core.held_bytes)
        server.clocks[0, 0] = 1
        assert server.pull(0, 0)[0][1].tolist() == [workers] * (model // 4)
    assert max(held) <= 3 * model


def test_workers_that_push_keys_in_other_orders_do_not_block_each_other():
    server = Server(4)
    for key in (0, 1):
        server.init(key, floats(0))
    intake, one, answered = Intake(server.core), floats(1).tobytes(), []
    for step in (0, 1):
        for w, orders in enumerate(((1, 0), (0, 1), (0, 1), (0, 1))):
            message = Message(Opcode.PUSHPULL, orders[step], worker=3 - w, clock=1, seq=step + 1, payload=one)
            for replies in intake.receive(3 - w, message):
                answered += replies
    assert len(answered) == 8


def test_a_worker_that_waits_for_one_key_before_it_pushes_another_is_not_waited_for_for_ever():
    server = Server(4)
    for key in (0, 1):
        server.init(key, floats(0))
    intake, one, answered = Intake(server.core), floats(1).tobytes(), []

    def push(worker, key):
        message = Message(Opcode.PUSHPULL, key, worker=worker, clock=1, seq=key + 1, payload=one)
        return [reply for replies in intake.receive(worker, message) for reply in replies]

    server.core.tick(100)
    for worker in (1, 2, 3):  # worker 0 pushes key 0, and waits; the others push key 1 first, of which only two pushes are kept
        push(worker, 1)
    push(0, 0)
    for worker in (1, 2, 3):
        push(worker, 0)
    server.core.tick(102)
    answered = [reply for replies in intake.go_on() for reply in replies]
    assert sorted((w, m.key) for w, m in answered) == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_a_key_is_announced_while_pushes_of_its_worker_wait():
    server, waiting = Server(2), floats(1).tobytes()
    server.init(0, floats(0))
    intake = Intake(server.core)
    about = json.dumps({"name": "new", "shape": [1], "dtype": "float32"}).encode()
    messages = [Message(Opcode.PUSH, 0, worker=0, clock=clock, payload=waiting) for clock in (1, 2, 3)]  # worker 1 has pushed nothing
    messages += [Message(Opcode.INIT, 1, worker=0, seq=1, payload=about), Message(Opcode.BCAST, 1, worker=0, seq=2, payload=waiting)]
    messages += [Message(Opcode.PUSH, 0, worker=1, clock=clock, payload=waiting) for clock in (1, 2, 3)]
    answered = [m for message in messages for replies in intake.receive(message.worker, message) for _, m in replies]
    assert answered
    assert not any(m.op == Opcode.ERROR for m in answered), answered


# damaged messages


def valid_messages():
    about = json.dumps({"name": "v", "shape": [4], "dtype": "float32"}).encode()
    ids = np.array([0, 2], np.int64).tobytes()
    return [
        Message(Opcode.INIT, 1, payload=about),
        Message(Opcode.BCAST, 1, payload=bytes(16)),
        Message(Opcode.PUSH, 0, clock=1, payload=bytes(32)),
        Message(Opcode.PUSH, 0, clock=1, rows=2, flags=Flag.ROW_SPARSE, payload=ids + bytes(16)),
        Message(Opcode.PUSH, 0, clock=1, flags=Flag.TWO_BIT, payload=bytes(2)),
        Message(Opcode.PUSHPULL, 0, clock=2, payload=bytes(32)),
        Message(Opcode.PULL, 0, clock=1),
        Message(Opcode.RSP_PULL, 0, rows=2, payload=ids),
        Message(Opcode.SET_OPTIMIZER, payload=optimizer_to_json(mx.optimizer.SGD(momentum=0.5)).encode()),
        Message(Opcode.SET_COMPRESSION, payload=b'{"type": "2bit", "threshold": 0.5}'),
        Message(Opcode.BARRIER),
        Message(Opcode.STATE),
        Message(Opcode.DONE),
        Message(Opcode.HEARTBEAT),
        Message(Opcode.COMMAND, clock=3, payload=b"text"),
    ]


def mutated(rng, message):
    """A message with random fields or payload changed, whose checksums are right: what a wrong program would send."""
    names = ("op", "key", "dtype", "flags", "shard", "worker", "clock", "seq", "rows")
    bits = dict(zip(names, (8, 32, 8, 8, 16, 32, 62, 62, 32), strict=True))
    for name in rng.sample(names, rng.randrange(3)):
        value = rng.choice([rng.getrandbits(bits[name]), rng.randrange(4), (1 << bits[name]) - 1])
        message = message._replace(**{name: value})
    payload = bytearray(message.payload)
    for _ in range(rng.randrange(4)):
        if payload:
            payload[rng.randrange(len(payload))] = rng.randrange(256)
    cut = rng.choice([0, 0, 0, rng.randrange(len(payload) + 1)])
    return message._replace(payload=bytes(payload[cut:]) + rng.randbytes(rng.choice([0, 0, 0, 8, 4096])))


def test_no_mutated_message_crashes_a_server_or_takes_more_memory_than_announced():
    """2,000 messages: each is rejected when it is decoded, or answered, or waits; the server goes on serving the others."""
    rng, kinds = random.Random(17), {"rejected": 0, "answered": 0, "error": 0, "silent": 0}
    server = Server(2, rng.choice([0, 1]))
    server.init(0, np.zeros((4, 2), np.float32), stype="row_sparse")
    valid = valid_messages()
    for number in range(2000):
        data = bytearray(encode(mutated(rng, rng.choice(valid)._replace(seq=number))))
        if number % 4 == 0:  # damaged on the way
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            message = decode(bytes(data))
            if len(message.payload) > server.core.limit(message):
                raise FormatError("larger than announced")
        except FormatError:
            kinds["rejected"] += 1
            continue
        if message.op == Opcode.STOP:
            continue
        replies = server.core.handle(0, message)
        kind = "silent" if not replies else "error" if replies[0][1].op == Opcode.ERROR else "answered"
        kinds[kind] += 1
        assert server.core.held_bytes <= 2 * (32 + 1 << 14) + 32
    assert min(kinds.values()) > 50, kinds
    same = server.core.handle(1, Message(Opcode.HEARTBEAT, worker=1))
    assert same[0][1].op == Opcode.OK
