"""The key-value store, step by step: begin, push, add up over devices, an updater, pull to several, lists of keys."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd

SHAPE = (2, 3)


@pytest.fixture(params=["local", "device"])
def store(request):
    return mx.kv.create(request.param)


def filled(value, device=None):
    return nd.full(SHAPE, value, ctx=device)


def pulled(store, key):
    out = nd.zeros(SHAPE)
    store.pull(key, out=out)
    return out.asnumpy()


def test_a_key_has_the_value_it_began_with(store):
    store.init(3, filled(2))
    np.testing.assert_array_equal(pulled(store, 3), np.full(SHAPE, 2))


def test_a_pushed_value_takes_its_place(store):
    store.init(3, filled(2))
    store.push(3, filled(8))
    np.testing.assert_array_equal(pulled(store, 3), np.full(SHAPE, 8))


def test_values_of_several_devices_are_added_up_before(store, gpus):
    store.init(3, filled(2))
    store.push(3, [filled(k + 1, device) for k, device in enumerate(gpus)])
    np.testing.assert_array_equal(pulled(store, 3), np.full(SHAPE, 1 + 2 + 3 + 4))


def test_an_updater_says_how_a_push_changes_the_value(store, gpus):
    def update(key, pushed, stored):
        stored += pushed * 2

    store.init(3, filled(1))
    store._set_updater(update)
    store.push(3, filled(5))
    np.testing.assert_array_equal(pulled(store, 3), np.full(SHAPE, 1 + 5 * 2))
    store.push(3, [filled(1, device) for device in gpus])
    np.testing.assert_array_equal(pulled(store, 3), np.full(SHAPE, 11 + 4 * 2))


def test_a_value_is_pulled_to_several_devices_at_once(store, gpus):
    store.init(3, filled(4))
    outs = [nd.zeros(SHAPE, device) for device in gpus]
    store.pull(3, out=outs)
    for out, device in zip(outs, gpus, strict=True):
        assert out.context == device
        np.testing.assert_array_equal(out.asnumpy(), np.full(SHAPE, 4))


def test_lists_of_keys_go_in_one_call(store, gpus):
    keys = [5, 7, 9]
    store.init(keys, [filled(1)] * len(keys))
    store.push(keys, [filled(k) for k in keys])
    for key in keys:
        np.testing.assert_array_equal(pulled(store, key), np.full(SHAPE, key))
    store.push(keys, [[filled(1, device) for device in gpus]] * len(keys))
    outs = [[nd.zeros(SHAPE, device) for device in gpus] for _ in keys]
    store.pull(keys, out=outs)
    assert all((out.asnumpy() == 4).all() for row in outs for out in row)


def test_names_are_keys_too(store):
    store.init("weight", filled(6))
    np.testing.assert_array_equal(pulled(store, "weight"), np.full(SHAPE, 6))


def test_an_optimizer_in_the_store_updates_the_weights(store):
    store.init(0, filled(1))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.push(0, filled(1))
    np.testing.assert_allclose(pulled(store, 0), np.full(SHAPE, 1 - 0.5 * 1))
