"""What a server does with each message: sums, clocks, optimizers, faults. Sums of rows and codecs are in `test_shard`."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ClusterTimeout, DTypeError, FormatError, MessageLost, MXNetError, ParameterError, ShapeError
from twofold.kvstore.messages import Flag, Message, Opcode
from twofold.kvstore.optimizer_json import optimizer_from_json, optimizer_to_json

from tests.kvstore.server_driver import Server, floats


def same(found, *expected):
    """Whether answers are (worker, list) pairs, regardless of order."""
    plain = [(w, None if a is None else a.tolist()) for w, a in found]
    assert sorted(plain, key=str) == sorted(expected, key=str)


def optimize(server, **kwargs):
    assert server.send(0, Opcode.SET_OPTIMIZER, array=optimizer_to_json(mx.optimizer.SGD(**kwargs)).encode()) == [(0, None)]


# synchronous


def test_the_first_workers_value_is_the_initial_one_and_the_others_wait_for_it():
    server = Server(2)
    about = json.dumps({"name": "w", "shape": [2], "dtype": "float32"}).encode()
    assert server.send(1, Opcode.INIT, 0, about) == []
    same(server.send(0, Opcode.INIT, 0, about), (0, None))
    assert server.pull(1, 0) == []
    same(server.send(0, Opcode.BCAST, 0, floats(5, 6)), (0, None), (1, None), (1, [5, 6]))


@pytest.mark.parametrize("dies", ["before it announces the key", "before it sends the value", "before the others announce it"])
def test_the_next_workers_value_is_the_initial_one_if_the_first_has_died(dies):
    """At once: nobody waits until the time is over."""
    server = Server(3)
    about = json.dumps({"name": 0, "shape": [2], "dtype": "float32"}).encode()
    if dies != "before it announces the key":
        server.send(0, Opcode.INIT, 0, about)
    if dies == "before the others announce it":
        server.core.drop(0)
    assert server.send(2, Opcode.INIT, 0, about) == []
    asked = server.core.handle(1, Message(Opcode.INIT, 0, worker=1, seq=9, payload=about))
    if dies != "before the others announce it":
        assert asked == []
        asked = server.core.drop(0)
    assert [(dest, message.seq, message.flags) for dest, message in asked] == [(1, 9, Flag.SEND_VALUE)]
    answers = server.send(1, Opcode.BCAST, 0, floats(3, 4))
    assert sorted(dest for dest, _ in answers) == [1, 2]
    assert [value.tolist() for _, value in server.pull(2, 0)] == [[3, 4]]


def test_workers_that_disagree_on_a_key_are_told():
    server = Server(2)
    server.init(0, floats(1, 2))
    about = json.dumps({"name": 0, "shape": [3], "dtype": "float32"}).encode()
    [(worker, error)] = server.send(1, Opcode.INIT, 0, about)
    assert worker == 1
    assert isinstance(error, ParameterError)
    assert "(3,)" in str(error)


def test_a_push_without_updater_replaces_the_value_by_the_sum():
    server = Server(2)
    server.init(0, floats(5, 5))
    assert server.push(1, 0, floats(2, 20)) == []
    assert server.pull(1, 0) == []  # worker 0 has not pushed
    same(server.push(0, 0, floats(1, 10)), (1, [3, 30]))
    same(server.pull(0, 0), (0, [3, 30]))


def test_a_worker_that_is_ahead_does_not_change_what_others_pull():
    server = Server(2)
    server.init(0, floats(0))
    server.push(0, 0, floats(1))
    server.push(0, 0, floats(10))
    server.push(0, 0, floats(100))
    server.push(1, 0, floats(2))
    same(server.pull(1, 0), (1, [3]))
    server.push(1, 0, floats(20))
    same(server.pull(1, 0), (1, [30]))
    same(server.push(1, 0, floats(200), op=Opcode.PUSHPULL), (1, [300]))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_sums_are_made_in_the_order_of_workers(order):
    server = Server(3)
    server.init(0, floats(0))
    values = [floats(1), floats(1e8), floats(-1e8)]  # (1 + 1e8) - 1e8 is 0 in float32, 1 + (1e8 - 1e8) is 1
    for w in order:
        server.push(w, 0, values[w])
    same(server.pull(0, 0), (0, [0]))


def test_an_optimizer_updates_once_with_the_sum():
    server = Server(2)
    server.init(0, floats(1, 1))
    optimize(server, learning_rate=0.1, rescale_grad=0.5, momentum=0.5)
    for _ in range(2):
        server.push(0, 0, floats(1, 2))
        server.push(1, 0, floats(3, 4))
    [(_, found)] = server.pull(0, 0)
    np.testing.assert_allclose(found, [1 - 0.1 * 2 - 0.1 * 3, 1 - 0.1 * 3 - 0.1 * 4.5], rtol=1e-6)


def test_a_changed_learning_rate_is_used_from_the_next_update_on():
    server = Server(1)
    server.init(0, floats(1))
    optimize(server, learning_rate=0.5)
    same(server.push(0, 0, floats(1), op=Opcode.PUSHPULL), (0, [0.5]))
    server.send(0, Opcode.SET_OPTIMIZER, array=b'{"change": {"lr": 0.25}}')
    same(server.push(0, 0, floats(1), op=Opcode.PUSHPULL), (0, [0.25]))


@pytest.mark.parametrize("leaves", ["dies", "stops"])
def test_when_the_first_worker_leaves_the_next_ones_learning_rate_is_used(leaves):
    server = Server(2, staleness=math.inf)
    server.init(0, floats(1))
    optimize(server, learning_rate=0.5, momentum=0.0)
    server.send(1, Opcode.SET_OPTIMIZER, array=b'{"change": {"lr": 0.25}}')
    same(server.push(1, 0, floats(1), op=Opcode.PUSHPULL), (1, [0.5]))  # the first worker has not come there yet
    server.core.drop(0) if leaves == "dies" else server.send(0, Opcode.STOP)
    same(server.push(1, 0, floats(1), op=Opcode.PUSHPULL), (1, [0.25]))
    optimize_again = optimizer_to_json(mx.optimizer.SGD(learning_rate=1.0)).encode()
    server.send(1, Opcode.SET_OPTIMIZER, array=optimize_again)
    same(server.push(1, 0, floats(1), op=Opcode.PUSHPULL), (1, [-0.75]))


@pytest.mark.parametrize(("sent", "error"), [(b'{"change": {"lr": 0.1}}', MXNetError), (b'{"change": 5}', FormatError)])
def test_changes_of_no_optimizer_and_those_that_are_none_are_refused(sent, error):
    server = Server(1)
    if error is FormatError:
        optimize(server, learning_rate=0.5)
    [(_, found)] = server.send(0, Opcode.SET_OPTIMIZER, array=sent)
    assert type(found) is error
    server.init(0, floats(1))  # it goes on


def test_parts_of_a_tensor_on_one_server_have_counts_of_their_own():
    server = Server(1)
    about = json.dumps({"name": "w", "shape": [1], "dtype": "float32", "is_cut": True}).encode()
    for part in range(2):
        server.send(0, Opcode.INIT, 0, about, shard=part)
        server.send(0, Opcode.BCAST, 0, floats(1), shard=part)
    text = optimizer_to_json(mx.optimizer.Adam(learning_rate=0.1))
    server.send(0, Opcode.SET_OPTIMIZER, array=text.encode())
    first, second = (server.send(0, Opcode.PUSHPULL, 0, floats(2), clock=1, shard=part)[0][1].item() for part in range(2))
    assert first == second == pytest.approx(0.9, abs=1e-6)


class Tabled(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update):
        return float(self.table[num_update])


@pytest.mark.parametrize("table", [np.linspace(0, 1, 5), np.arange(6, dtype=np.int8).reshape(2, 3).T, np.zeros((0, 2)), np.array(1.5)])
def test_an_optimizer_with_numpy_arrays_reaches_the_server(table):
    scheduler = Tabled()
    scheduler.table = table
    text = optimizer_to_json(mx.optimizer.SGD(lr_scheduler=scheduler))
    found = optimizer_from_json(text, [f"{__name__}:Tabled"]).lr_scheduler.table
    assert (type(found), found.dtype, found.shape, found.tolist()) == (np.ndarray, table.dtype, table.shape, table.tolist())


@pytest.mark.parametrize(
    "damaged", [["float32", [2], "AAAA"], ["object", [1], "AAAAAAAAAAA="], ["int8", [2**70], "AA=="], ["int8", [1], "é"]]
)
def test_a_damaged_array_of_an_optimizer_is_refused(damaged):
    scheduler = Tabled()
    scheduler.table = np.zeros(1)
    fields = json.loads(optimizer_to_json(mx.optimizer.SGD(lr_scheduler=scheduler)))
    items = dict(fields["scheduler"]["attributes"]["items"]) | {"table": {"array": damaged}}
    fields["scheduler"]["attributes"]["items"] = [[name, value] for name, value in items.items()]
    with pytest.raises(FormatError):
        optimizer_from_json(json.dumps(fields), [f"{__name__}:Tabled"])


def test_a_large_update_has_read_the_gradient_when_the_server_goes_on():
    server = Server(1, staleness=math.inf)
    server.init(0, np.zeros(1 << 20, np.float32))
    optimize(server, learning_rate=1.0, momentum=0.5)
    gradient = np.ones(1 << 20, np.float32)
    server.push(0, 0, gradient)
    gradient[:] = 7  # the transport's memory is used again
    [(_, found)] = server.pull(0, 0)
    assert (found == -1).all()


def test_a_push_that_is_sent_again_counts_once():
    server = Server(2)
    server.init(0, floats(0))
    for _ in range(3):
        server.send(0, Opcode.PUSH, 0, floats(1), clock=1, flags=Flag.QUIET)
        server.send(1, Opcode.PUSH, 0, floats(2), clock=1)
    same(server.send(0, Opcode.PUSHPULL, 0, floats(1), clock=1), (0, [3]))


def test_a_push_after_a_lost_one_is_rejected():
    server = Server(1)
    server.init(0, floats(0))
    [(_, error)] = server.send(0, Opcode.PUSH, 0, floats(1), clock=2, flags=Flag.QUIET)
    assert isinstance(error, MessageLost)
    assert "clock 2 after 0" in str(error)


def test_commands_that_are_sent_again_are_carried_out_once():
    calls = []
    server = Server(1, on_command=lambda head, body: calls.append((head, body)))
    message = Message(Opcode.COMMAND, clock=7, seq=5, payload="é".encode())
    assert server.core.handle(0, message) == server.core.handle(0, message) != []
    assert calls == [(7, "é")]


# asynchronous and bounded staleness


def test_an_asynchronous_push_updates_at_once():
    server = Server(2, math.inf)
    server.init(0, floats(1))
    optimize(server, learning_rate=0.1)
    server.push(0, 0, floats(1))
    server.push(0, 0, floats(1))
    [(_, found)] = server.pull(0, 0)
    np.testing.assert_allclose(found, [0.8], rtol=1e-6)


def test_an_asynchronous_push_needs_an_updater():
    server = Server(1, math.inf)
    server.init(0, floats(1))
    [(_, error)] = server.push(0, 0, floats(1))
    assert str(error).startswith("Updater needs to be set")


def test_a_worker_may_be_ahead_by_the_staleness_and_no_more():
    server = Server(2, 2)
    server.init(0, floats(0))
    optimize(server, learning_rate=1)
    for clock in (1, 2):
        same(server.push(0, 0, floats(-1), op=Opcode.PUSHPULL), (0, [clock]))
    assert server.push(0, 0, floats(-1), op=Opcode.PUSHPULL) == []
    same(server.push(1, 0, floats(-10), op=Opcode.PUSHPULL), (1, [13]), (0, [13]))


# epochs, deaths, joins


def test_a_worker_that_is_done_is_not_waited_for():
    server = Server(2)
    server.init(0, floats(1))
    optimize(server, learning_rate=1, rescale_grad=0.5)
    server.push(0, 0, floats(1))
    server.push(1, 0, floats(1))
    server.push(0, 0, floats(0.5))
    assert server.send(1, Opcode.DONE) == []
    same(server.pull(0, 0), (0, [-0.5]))  # the mean over one worker is 0.5, not 0.25
    same(server.send(0, Opcode.DONE), (0, None), (1, None))
    # worker 1 counts one push less, and goes on from there
    server.push(0, 0, floats(1))
    same(server.push(1, 0, floats(1), op=Opcode.PUSHPULL), (1, [-1.5]))


def test_a_push_after_done_is_an_error_until_the_epoch_ends():
    server = Server(2)
    server.init(0, floats(1))
    server.send(1, Opcode.DONE)
    [(_, error)] = server.push(1, 0, floats(1))
    assert "wait for the end of the epoch" in str(error)


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_dead_worker_is_not_waited_for(staleness):
    server = Server(3, staleness)
    server.init(0, floats(0))
    if staleness:
        optimize(server, learning_rate=1)
    for _ in range(2):
        for w in (0, 1):
            server.push(w, 0, floats(-1.0))
    assert server.pull(0, 0) == []
    assert [w for w, _ in server.answers(server.core.drop(2))] == [0]
    assert server.core.live == (0, 1)
    [(_, error)] = server.push(2, 0, floats(1))
    assert "worker 2 was considered dead" in str(error)


def test_what_a_dead_worker_sent_before_its_turn_is_dropped():
    server = Server(3)
    server.init(0, floats(0))
    server.push(2, 0, floats(100))
    held = server.core.held_bytes
    server.core.drop(2)
    assert server.core.held_bytes == held - 4
    server.push(0, 0, floats(1))
    same(server.push(1, 0, floats(2), op=Opcode.PUSHPULL), (1, [3]))


def test_a_silent_worker_is_dropped_and_one_that_sends_heartbeats_is_not():
    server = Server(2, silence=5)
    server.core.tick(1000)
    server.core.tick(1004)
    server.send(1, Opcode.HEARTBEAT)
    server.core.tick(1008)
    assert server.core.live == (1,)
    [(_, reply)] = server.core.handle(1, Message(Opcode.HEARTBEAT, worker=1))
    assert json.loads(bytes(reply.payload)) == {"live": [1], "dead": [0], "done": []}


def test_a_worker_joins_at_the_end_of_an_epoch():
    server = Server(2)
    server.init(0, floats(0))
    for w in (0, 1):
        server.push(w, 0, floats(1))
    assert server.send(2, Opcode.DONE) == []
    assert "is unknown" in str(server.push(2, 0, floats(1))[0][1])
    server.clocks.clear()
    server.send(0, Opcode.DONE)
    same(server.send(1, Opcode.DONE), (0, None), (1, None), (2, None))
    for w, clock in ((0, 2), (1, 2), (2, 1)):
        server.send(w, Opcode.PUSH, 0, floats(10), clock=clock)
    same(server.send(2, Opcode.PULL, 0, clock=1), (2, [30]))


def test_a_barrier_waits_for_all_live_workers():
    server = Server(3)
    assert server.send(0, Opcode.BARRIER) == []
    assert server.send(1, Opcode.BARRIER) == []
    assert [(dest, bytes(message.payload)) for dest, message in server.core.drop(2)] == [(0, b"[0, 1]"), (1, b"[0, 1]")]
    assert server.send(0, Opcode.BARRIER) == []


def test_a_server_stops_with_its_last_worker():
    server = Server(2)
    server.send(0, Opcode.STOP)
    assert not server.core.is_stopped
    server.send(1, Opcode.STOP)
    assert server.core.is_stopped


def test_a_request_that_waits_too_long_fails_and_names_what_is_missing():
    server = Server(3, timeout=10)
    server.init(0, floats(0))
    server.core.tick(100)
    server.push(0, 0, floats(1))
    server.pull(0, 0)
    assert server.core.tick(109) == []
    [(worker, error)] = server.answers(server.core.tick(111))
    assert worker == 0
    assert isinstance(error, ClusterTimeout)
    for part in ("PULL", "key 0", "clock 1", "missing workers: [1, 2]", "10 s"):
        assert part in str(error)
    server.send(1, Opcode.BARRIER)
    [(_, error)] = server.answers(server.core.tick(200))
    assert "BARRIER" in str(error)
    assert "[0, 2]" in str(error)


def test_only_requests_that_wait_too_long_fail():
    server = Server(3, timeout=10)
    server.init(0, floats(0))
    for now, worker in ((100, 0), (106, 1)):
        server.core.tick(now)
        server.push(worker, 0, floats(1))
        server.pull(worker, 0)
    assert [worker for worker, _ in server.answers(server.core.tick(111))] == [0]
    [(worker, value)] = server.push(2, 0, floats(1))
    assert (worker, value.tolist()) == (1, [3])


def test_a_pull_of_rows_that_waits_keeps_its_indices():
    """The transport receives the next message into the same memory."""
    server = Server(2)
    numbers = np.arange(6, dtype="float32").reshape(3, 2)
    server.init(0, numbers)
    server.push(0, 0, numbers)
    received = bytearray(np.array([2, 0], np.int64).tobytes())
    ask = Message(Opcode.RSP_PULL, 0, worker=0, clock=1, seq=99, rows=2, payload=memoryview(received))
    assert server.core.handle(0, ask) == []
    received[:] = np.array([1, 1], np.int64).tobytes()
    [(worker, rows)] = server.push(1, 0, numbers)
    assert (worker, rows.tolist()) == (0, [8, 10, 0, 2])


# states


def test_states_survive_a_server_through_its_neighbour():
    alone, dying, heir = Server(1), Server(1, rank=1, following=[2], snapshot_every=2), Server(1, rank=2)
    for server in (alone, dying):
        server.init(0, floats(1, 2))
    for server in (alone, dying, heir):
        server.send(0, Opcode.SET_OPTIMIZER, array=optimizer_to_json(mx.optimizer.Adam(learning_rate=0.1)).encode())
    sent = []
    for k in range(2):
        alone.push(0, 0, floats(k, 1))
        sent += dying.core.handle(0, Message(Opcode.PUSH, 0, clock=k + 1, flags=Flag.QUIET, payload=floats(k, 1).tobytes()))
    [(neighbour, snapshot)] = sent
    assert neighbour == 2
    heir.core.handle(1, snapshot._replace(payload=bytes(snapshot.payload)))
    [(_, value)] = dying.pull(0, 0)
    about = {"name": 0, "shape": [2], "dtype": "float32", "clock": 2, "heir_of": 1}
    [(_, answer)] = heir.core.handle(0, Message(Opcode.INIT, 0, payload=json.dumps(about).encode()))
    assert answer.flags == Flag.SEND_VALUE
    heir.send(0, Opcode.BCAST, 0, value, clock=2)
    heir.clocks[0, 0] = 2
    [(_, found)] = heir.push(0, 0, floats(3, 3), op=Opcode.PUSHPULL)
    [(_, expected)] = alone.push(0, 0, floats(3, 3), op=Opcode.PUSHPULL)
    assert found.tolist() == expected.tolist()


def test_a_worker_can_save_and_restore_states():
    first, second = Server(1), Server(1)
    for server in (first, second):
        server.init(0, floats(1))
        optimize(server, learning_rate=0.5, momentum=0.5)
    first.push(0, 0, floats(1))
    [(_, states)] = first.core.handle(0, Message(Opcode.STATE))
    [(_, value)] = first.pull(0, 0)
    assert second.send(0, Opcode.STATE, array=bytes(states.payload)) == [(0, None)]
    [(_, found)] = second.push(0, 0, floats(0), op=Opcode.PUSHPULL)
    assert found - 1 == (value - 1) / 2  # the momentum goes on


# mistakes


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (ShapeError, {"array": floats(1)}),
        (DTypeError, {"array": np.zeros(2)}),
        (ParameterError, {"array": floats(1, 2), "key": 5}),
        (ParameterError, {"array": floats(1, 2), "shard": 1}),
        (MXNetError, {"array": b"\0", "flags": Flag.TWO_BIT}),
    ],
)
def test_a_wrong_push_is_answered_with_an_error_and_changes_nothing(kind, fields):
    server = Server(1)
    server.init(0, floats(7, 8))
    [(_, error)] = server.send(0, Opcode.PUSH, **{"clock": 1, **fields})
    assert type(error) is kind
    same(server.pull(0, 0), (0, [7, 8]))


def test_a_process_does_not_speak_for_another():
    server = Server(2)
    [(dest, reply)] = server.core.handle(1, Message(Opcode.BARRIER, worker=0))
    assert (dest, reply.op) == (1, Opcode.ERROR)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"name": "sgd"}', '{"name": 3, "attributes": {"items": []}}', "[" * 100_000])
def test_what_is_not_an_optimizer_is_rejected(text):
    [(_, error)] = Server(1).send(0, Opcode.SET_OPTIMIZER, array=text.encode())
    assert isinstance(error, FormatError)


@pytest.mark.parametrize("name", ["os:system", "builtins:eval", "nothing", "twofold.optimizer.sgd:each"])
def test_only_registered_or_allowed_classes_are_made(name):
    text = json.dumps({"name": name, "attributes": {"items": []}})
    [(_, error)] = Server(1).send(0, Opcode.SET_OPTIMIZER, array=text.encode())
    assert isinstance(error, ParameterError)


def halve(key, gradient, weight):
    """An updater."""
    weight[:] = weight / 2


def test_an_allowed_updater_is_used():
    name = f"{__name__}:halve"
    server = Server(1, allowed=[name])
    server.init(0, floats(8))
    server.send(0, Opcode.SET_OPTIMIZER, array=json.dumps({"updater": name}).encode())
    same(server.push(0, 0, floats(1), op=Opcode.PUSHPULL), (0, [4]))


def fail(key, gradient, weight):
    """An updater with a mistake."""
    return 1 / 0


@pytest.mark.parametrize("staleness", [0, math.inf])
def test_an_updater_that_fails_is_an_error_of_the_workers(staleness):
    server = Server(1, staleness, allowed=[f"{__name__}:fail"])
    server.init(0, floats(8))
    server.send(0, Opcode.SET_OPTIMIZER, array=json.dumps({"updater": f"{__name__}:fail"}).encode())
    [(_, error)] = server.push(0, 0, floats(1), op=Opcode.PUSHPULL)
    assert "ZeroDivisionError" in str(error)


def test_layerwise_optimizers_need_whole_tensors():
    server = Server(1)
    server.init(0, floats(1, 2), is_cut=True)
    [(_, error)] = server.send(0, Opcode.SET_OPTIMIZER, array=optimizer_to_json(mx.optimizer.LAMB()).encode())
    assert "MXNET_KVSTORE_BIGARRAY_BOUND" in str(error)


def test_keys_beyond_the_capacity_are_rejected():
    server = Server(1, capacity=100)
    about = json.dumps({"name": "w", "shape": [26], "dtype": "float32"}).encode()
    [(_, error)] = server.send(0, Opcode.INIT, 0, about)
    assert "104 bytes" in str(error)


def test_staleness_is_not_negative():
    with pytest.raises(ParameterError, match="staleness"):
        Server(1, math.nan)


@pytest.mark.parametrize(
    ("scheduler", "wrong"),
    [
        (mx.lr_scheduler.FactorScheduler(5, 0.5), {"step": 0}),
        (mx.lr_scheduler.FactorScheduler(5, 0.5), {"step": math.nan}),
        (mx.lr_scheduler.FactorScheduler(5, 0.5), {"count": -(10**18)}),
        (mx.lr_scheduler.FactorScheduler(5, 0.5), {"factor": 1.5}),
        (mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.5), {"step": [4, 2]}),
        (mx.lr_scheduler.CosineScheduler(9), {"max_update": 0}),
    ],
)
def test_a_scheduler_that_its_constructor_would_refuse_is_refused(scheduler, wrong):
    fields = json.loads(optimizer_to_json(mx.optimizer.SGD(lr_scheduler=scheduler)))
    assert optimizer_from_json(json.dumps(fields)).lr_scheduler is not None
    items = dict(fields["scheduler"]["attributes"]["items"]) | wrong
    fields["scheduler"]["attributes"]["items"] = [[name, value] for name, value in items.items()]
    with pytest.raises(ParameterError):
        optimizer_from_json(json.dumps(fields))
