"""What key-value stores hold and return."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from tests.oracle_programs import fails


def _pulled(mx: Any, store: Any, key: Any, shape: tuple[int, ...] = (2,)) -> Any:
    out = mx.nd.zeros(shape)
    store.pull(key, out=out)
    return out


def _store(mx: Any, kind: str, key: Any = 3) -> Any:
    store = mx.kv.create(kind)
    store.init(key, mx.nd.array([1.0, 2]))
    return store


def kinds(mx: Any) -> Any:
    names = ["local", "device", "local_allreduce_cpu", "local_allreduce_device", "local_update_cpu", "Local"]
    stores = [mx.kv.create(name) for name in names]
    return [[s.type, s.rank, s.num_workers, s.is_capable("optimizer")] for s in stores] + [
        fails(lambda: mx.kv.create(3)),
        fails(lambda: stores[0].is_capable("x")),
    ]


def pushes_replace_and_sum(mx: Any) -> Any:
    found = []
    for kind in ("local", "device"):
        store = _store(mx, kind)
        found.append(_pulled(mx, store, 3))
        store.push(3, mx.nd.array([5.0, 6]))
        found.append(_pulled(mx, store, 3))
        store.push(3, [mx.nd.array([1.0, 1]), mx.nd.array([2.0, 2], ctx=mx.cpu(1)), mx.nd.array([4.0, 4])], priority=-1)
        outs = [mx.nd.zeros((2,)), mx.nd.zeros((2,), ctx=mx.cpu(1))]
        store.pull(3, out=outs, priority=-1)
        found.append([outs, [str(out.context) for out in outs]])
    return found


def lists_of_keys(mx: Any) -> Any:
    store = mx.kv.create()
    store.init([5, 7], [mx.nd.array([1.0]), mx.nd.array([2.0])])
    store.push([5, 7], [[mx.nd.array([1.0]), mx.nd.array([2.0])], [mx.nd.array([3.0]), mx.nd.array([4.0])]])
    outs = [[mx.nd.zeros((1,)) for _ in range(2)] for _ in range(2)]
    store.pull([5, 7], out=outs)
    store.push([5, 5, 7], [mx.nd.array([1.0]), mx.nd.array([2.0]), mx.nd.array([3.0])])
    return [outs, _pulled(mx, store, 5, (1,)), _pulled(mx, store, 7, (1,))]


def a_store_does_not_share_memory_with_what_it_was_given(mx: Any) -> Any:
    store, value = mx.kv.create(), mx.nd.array([1.0, 2])
    store.init("w", value)
    value[:] = 9
    out = _pulled(mx, store, "w")
    out[:] = 7
    return _pulled(mx, store, "w")


def pushpull_and_broadcast(mx: Any) -> Any:
    store = _store(mx, "local", "k")
    outs = [mx.nd.zeros((2,)), mx.nd.zeros((2,), ctx=mx.cpu(1))]
    store.pushpull("k", [mx.nd.array([3.0, 4]), mx.nd.array([1.0, 1])], out=outs)
    values = [mx.nd.array([1.0, 4]), mx.nd.array([1.0, 1])]
    store.pushpull("k", values)
    copies = [mx.nd.zeros((2,)), mx.nd.zeros((2,))]
    store.broadcast("q", mx.nd.array([7.0, 8]), out=copies)
    return [outs, values, _pulled(mx, store, "k"), copies, _pulled(mx, store, "q")]


def an_updater_gets_the_sum(mx: Any) -> Any:
    store, log = _store(mx, "device"), []

    def updater(key: Any, received: Any, stored: Any) -> None:
        log.append([key, received.copy(), stored.copy()])
        stored += received

    store._set_updater(updater)
    store.push(3, [mx.nd.array([1.0, 1]), mx.nd.array([2.0, 2])])
    store.push(3, mx.nd.array([1.0, 1]))
    return [_pulled(mx, store, 3), log]


def an_optimizer_updates_what_is_stored(mx: Any) -> Any:
    found = []
    for key in (0, "w"):
        store = _store(mx, "local", key)
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
        for _ in range(2):
            store.push(key, [mx.nd.array([1.0, 1]), mx.nd.array([1.0, 3])])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states")
            store.save_optimizer_states(path, dump_optimizer=True)
            store.load_optimizer_states(path)
        store.push(key, mx.nd.array([1.0, 1]))
        found.append([_pulled(mx, store, key), list(store._updater.states), store._updater.optimizer.num_update])
    return found


def integers_are_cast_to_what_is_pulled_into(mx: Any) -> Any:
    store = mx.kv.create()
    store.init(0, mx.nd.array([1, 2], dtype="int32"))
    store.push(0, [mx.nd.array([1, 2], dtype="int32")] * 2)
    out = mx.nd.zeros((2,), dtype="int32")
    store.pull(0, out=out)
    return [out, _pulled(mx, store, 0)]


def two_bits_are_sent_and_the_rest_is_kept(mx: Any) -> Any:
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init(0, mx.nd.zeros((4,)))
    found = []
    for _ in range(5):
        store.push(0, [mx.nd.array([0.3, 0.6, -0.7, 2.0])])
        found.append(_pulled(mx, store, 0, (4,)))
    wrong = [{"type": "1bit"}, {}, {"type": "2bit", "threshold": -1}]
    failing = [fails(lambda p=p: mx.kv.create("device").set_gradient_compression(p)) for p in wrong]
    return [found, failing, fails(lambda: mx.kv.create("local").set_gradient_compression({"type": "2bit"}))]


def misuse_raises(mx: Any) -> Any:
    store, one = _store(mx, "local"), mx.nd.array([1.0, 2])
    return [
        fails(lambda: store.init("a", one)),
        fails(lambda: store.init(3, one)),
        fails(lambda: store.pull(99, out=one)),
        fails(lambda: store.pull(3, out=mx.nd.zeros((5,)))),
        fails(lambda: store.pull(3)),
        fails(lambda: store.push([3, 5], [one])),
        fails(lambda: store.push(3.5, one)),
        fails(lambda: store.push("3", one)),
        fails(lambda: store.save_optimizer_states("x")),
        fails(lambda: store.load_optimizer_states("x")),
        fails(lambda: store.set_optimizer(3)),
        fails(lambda: store.row_sparse_pull(3, out=one, row_ids=one)),
    ]


def a_registered_store_is_found_by_name(mx: Any) -> Any:
    @mx.kv.KVStoreBase.register
    class Mine(mx.kv.KVStoreBase):
        @property
        def type(self) -> str:
            return "mine"

    return [mx.kv.create("mine").type, mx.kv.create("MINE").type]


def the_test_store(mx: Any) -> Any:
    store = mx.kv.create("TestStore")
    out, values = [mx.nd.zeros((2,)), mx.nd.zeros((2,))], [mx.nd.array([1, 2]), mx.nd.array([3, 5])]
    store.broadcast("a", values[0], out=out)
    found = [x.asnumpy() for x in out]
    store.pushpull("a", values, out=out[0])
    store.pushpull("b", values)
    kinds = [store.type, store.rank, store.num_workers, store.is_capable("optimizer")]
    calls = (
        lambda: store.set_optimizer(mx.optimizer.SGD()),
        lambda: store.save_optimizer_states("x"),
        lambda: store.load_optimizer_states("x"),
        lambda: mx.kv.base.KVStoreBase().rank,
    )
    return [found, out, values, kinds, [_undefined(call) for call in calls]]


def _undefined(call: Any) -> bool:
    try:
        call()
    except NotImplementedError:
        return True
    return False


def _trained(mx: Any, contexts: Any, kvstore: Any) -> Any:
    net = mx.gluon.nn.Dense(1, in_units=2, prefix="dense_")
    net.initialize(mx.init.One(), ctx=contexts)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.125, "momentum": 0.5}, kvstore=kvstore)
    for _ in range(2):
        with mx.autograd.record():
            losses = [net(mx.nd.ones((1, 2), ctx=context)).sum() for context in contexts]
        for loss in losses:
            loss.backward()
        trainer.step(1)
    return [p.data(context) for p in net.collect_params().values() for context in contexts]


def trainers_with_a_users_store(mx: Any) -> Any:
    calls: list[Any] = []

    @mx.kv.base.KVStoreBase.register
    class Noting(mx.kv.base.TestStore):
        def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
            calls.append(["broadcast", str(key), len(out), priority])
            super().broadcast(key, value, out, priority)

        def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
            calls.append(["pushpull", str(key), len(value), out is None, priority])
            super().pushpull(key, value, out, priority)

        @staticmethod
        def is_capable(capability: str) -> bool:
            calls.append(["is_capable", capability])
            return mx.kv.base.TestStore.is_capable(capability)

    contexts = [mx.cpu(0), mx.cpu(1)]
    by_name = _trained(mx, contexts, "noting")
    by_object = _trained(mx, contexts, mx.kv.create("Noting"))
    return [by_name, by_object, _trained(mx, contexts[:1], "noting"), _trained(mx, contexts, "device"), calls]
