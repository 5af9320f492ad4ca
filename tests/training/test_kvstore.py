"""Key-value stores on several devices, user-defined stores, and mistakes. Their contents are in the programs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError, ShapeError


@pytest.mark.parametrize(("kind", "home"), [("local", "cpu(0)"), ("device", "gpu(1)"), ("nccl", "gpu(1)")])
def test_sums_are_computed_on_the_cpu_or_the_first_device(kind, home, gpus):
    store, seen = mx.kv.create(kind), []
    store.init("w", mx.nd.zeros((2,)))
    store.set_updater(lambda key, merged, stored: seen.append((str(merged.context), str(stored.context), merged.asnumpy().tolist())))
    store.push("w", [mx.nd.array([1.0, 2], ctx=gpus[1]), mx.nd.array([10.0, 20], ctx=gpus[0])])
    assert seen == [(home, home, [11, 22])]


@pytest.mark.parametrize("kind", ["local", "device", "dist_sync"])
def test_a_store_without_servers_has_a_handle_and_takes_commands(kind):
    store = mx.kv.create(kind)
    mx.profiler.set_kvstore_handle(store.handle)
    assert store._send_command_to_servers(1, "hello") is None  # as MXNet 1.9.1
    for wrong in (("a", "x"), (1, 2)):
        with pytest.raises(TypeError, match="a number and a text"):
            store._send_command_to_servers(*wrong)


@pytest.mark.parametrize("kind", ["local", "device"])
def test_devices_train_together_as_one_would(kind, gpus):
    store = mx.kv.create(kind)
    store.init(0, mx.nd.array([1.0, 2]))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    weights = [mx.nd.zeros((2,), ctx=g) for g in gpus]
    for _ in range(3):
        store.pushpull(0, [mx.nd.array([1.0, 0], ctx=gpus[0]), mx.nd.array([0.0, 1], ctx=gpus[1])], out=weights)
    alone, updater = mx.nd.array([1.0, 2]), mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    for _ in range(3):
        updater(0, mx.nd.ones((2,)), alone)
    for weight, g in zip(weights, gpus, strict=True):
        assert weight.context == g
        np.testing.assert_array_equal(weight.asnumpy(), alone.asnumpy())


@pytest.mark.parametrize("key", [3, "w"])
def test_an_updater_gets_the_key_unchanged(key):
    store, keys = mx.kv.create(), []
    store.init(key, mx.nd.ones((1,)))
    store.set_updater(lambda *arguments: keys.append(arguments[0]))
    store.push(key, mx.nd.ones((1,)))
    assert keys == [key]


@pytest.mark.parametrize("updated", [False, True])
def test_a_pushed_array_of_another_shape_names_the_key(updated):
    store = mx.kv.create()
    store.init("weight", mx.nd.ones((2, 3)))
    if updated:
        store.set_updater(lambda key, merged, stored: None)
    with pytest.raises(ShapeError, match=r"key 'weight'.*\(3, 2\).*\(2, 3\)"):
        store.push("weight", [mx.nd.ones((2, 3)), mx.nd.ones((3, 2))])


def test_pushed_arrays_are_not_kept():
    store, value = mx.kv.create(), mx.nd.array([1.0])
    store.init(0, value)
    store.push(0, value)
    value[:] = 5
    out = mx.nd.zeros((1,))
    store.pull(0, out=out)
    assert out.asscalar() == 1


def test_each_device_keeps_what_it_has_not_sent():
    store, out = mx.kv.create("device"), mx.nd.zeros((1,))
    store.set_gradient_compression({"type": "2bit", "threshold": 1.0})
    store.init(0, out)
    sums = []
    for _ in range(4):
        store.push(0, [mx.nd.array([0.5]), mx.nd.array([-0.3])])
        store.pull(0, out=out)
        sums.append(float(out.asscalar()))
    assert sums == [0, 1, 0, 0]  # 0.5 stays, then 1.0 is sent; -0.3, -0.6, -0.9 stay, -1.2 is sent, together with the second 1.0


def test_compression_can_be_switched_off():
    store, out = mx.kv.create("device"), mx.nd.zeros((1,))
    store.set_gradient_compression({"type": "2bit", "threshold": 1.0})
    store.set_gradient_compression({"type": "none"})
    store.init(0, out)
    store.push(0, mx.nd.array([0.25]))
    store.pull(0, out=out)
    assert out.asscalar() == 0.25


def test_an_unknown_kind_names_the_nearest_one():
    with pytest.warns(UserWarning, match=r"unknown kind.*did you mean 'local'"):
        store = mx.kv.create("lokal")
    store.init(1, mx.nd.ones((2,)))
    store.pushpull(1, [mx.nd.ones((2,))] * 3, out := mx.nd.zeros((2,)))
    assert (store.type, out.asnumpy().tolist()) == ("lokal", [3, 3])


UNKNOWN = (
    "kvstore.create: unknown kind of store: given {}; use one of local, local_update_cpu, local_allreduce_cpu, device, "
    "local_allreduce_device, nccl, dist, dist_sync, dist_async, dist_device_sync, dist_device_async, dist_sync_device, "
    "dist_async_device, p3, p3store_dist, p3store_dist_sync, p3store_dist_async, horovod, byteps"
)


@pytest.mark.parametrize(
    ("kind", "given"),
    [("mine", "'mine', created as 'local'"), ("p3_xyzzy", "'p3_xyzzy', created as 'dist_sync'")],
)
def test_the_warning_of_an_unknown_kind_lists_all_kinds_if_none_is_near(kind, given):
    with pytest.warns(UserWarning, match=f"^{re.escape(UNKNOWN.format(given))}\\b"):
        store = mx.kv.create(kind)
    assert store.type == kind  # as MXNet's


def test_states_need_an_optimizer_not_just_an_updater(tmp_path):
    store = mx.kv.create()
    store.set_updater(lambda key, merged, stored: None)
    with pytest.raises(MXNetError, match="no optimizer states to save"):
        store.save_optimizer_states(tmp_path / "states")


@pytest.mark.parametrize("method", ["broadcast", "pushpull", "set_optimizer", "save_optimizer_states", "load_optimizer_states"])
def test_a_users_store_says_what_it_lacks(method):
    arguments = {"broadcast": (0, 0, 0), "pushpull": (0, 0)}.get(method, (0,))
    with pytest.raises(MXNetError, match=f"does not define {method}"):
        getattr(mx.kv.KVStoreBase(), method)(*arguments)
