"""Memory exported to other libraries: everything that changes an array shows there."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.imperative.counters import COUNTERS

SIZES = [3, 100_000]  # computed at once; joins a window


def batch():
    return nd.array([[1, 2], [3, 5], [4, 4]])


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("size", SIZES)
def test_gradients(grad_req, size):
    x = nd.ones((size,))
    x.attach_grad(grad_req)
    seen = np.from_dlpack(x.grad)
    for expected in (2, 2 if grad_req == "write" else 4):
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        np.testing.assert_array_equal(seen, np.full(size, expected))
        np.testing.assert_array_equal(x.grad.asnumpy(), seen)


@pytest.mark.parametrize("size", SIZES)
def test_gradients_in_a_part_of_an_array(size):
    x, gradients = nd.ones((size,)), nd.zeros((2, size))
    autograd.mark_variables([x], [gradients[1]])
    seen = np.from_dlpack(gradients)
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    np.testing.assert_array_equal(seen, [[0] * size, [2] * size])


@pytest.mark.parametrize("size", SIZES)
def test_recorded_writes_to_a_variable(size):
    x = nd.ones((size,))
    seen = np.from_dlpack(x)
    x.attach_grad()
    with autograd.record():
        x[:1] = 5
        x *= 2
        y = x.sum()
    y.backward()
    np.testing.assert_array_equal(seen, [10] + [2] * (size - 1))
    np.testing.assert_array_equal(x.asnumpy(), seen)


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_weights_and_states_of_update_operators(size, attached):
    w, state = nd.ones((size,)), nd.zeros((size,))
    seen = np.from_dlpack(w), np.from_dlpack(state)
    if attached:
        w.attach_grad()
        state.attach_grad()
    nd.sgd_mom_update(w, nd.ones((size,)), state, lr=0.5, momentum=0.5, out=w)
    nd.sgd_mom_update(w, nd.ones((size,)), state, lr=0.5, momentum=0.5, out=w)
    np.testing.assert_array_equal(seen[1], np.full(size, -0.75))  # 0.5 * -0.5 - 0.5
    np.testing.assert_array_equal(seen[0], np.full(size, -0.25))  # 1 - 0.5 - 0.75


@pytest.mark.parametrize("hybridized", [False, True])
def test_parameters_of_a_trained_layer(hybridized):
    layer = gluon.nn.BatchNorm(in_channels=2)
    layer.initialize()
    if hybridized:
        layer.hybridize()
    layer(batch())
    arrays = {name: p.data() for name, p in layer.collect_params().items()}
    arrays |= {name + " grad": p.grad() for name, p in layer.collect_params().items() if p.grad_req != "null"}
    seen = {name: np.from_dlpack(a) for name, a in arrays.items()}
    before = {name: a.copy() for name, a in seen.items()}
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    for _ in range(2):
        with autograd.record():
            y = (layer(batch()) * batch()).sum()
        y.backward()
        trainer.step(1)
    for name, a in arrays.items():
        np.testing.assert_array_equal(seen[name], a.asnumpy(), err_msg=name)
        assert (seen[name] != before[name]).any(), name


def normalized():
    """A batch normalization, and its arrays: data, scale, shift, mean, variance."""
    symbol = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False, momentum=0.5)
    names = ("data", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var")
    return symbol, dict(zip(names, (batch(), nd.ones((2,)), nd.zeros((2,)), nd.zeros((2,)), nd.ones((2,))), strict=True))


MEAN = np.array([8, 11]) / 3 / 2  # half of the way from 0 to the batch's mean


@pytest.mark.parametrize("exported", ["itself", "the array that it is a view of"])
def test_states_of_compiled_symbols(exported):
    symbol, arrays = normalized()
    root = nd.zeros((2, 2))
    if exported != "itself":
        arrays["bn_moving_mean"] = root[1]
    seen = np.from_dlpack(arrays["bn_moving_mean"] if exported == "itself" else root)
    arrays["data"].attach_grad()
    with autograd.record():
        y = mx.compile(symbol)(**arrays)
    y.backward()
    np.testing.assert_allclose(seen if exported == "itself" else seen[1], MEAN, rtol=1e-6)


@pytest.mark.parametrize("attached", [False, True])
def test_states_and_gradients_of_executors(attached):
    symbol, arrays = normalized()
    states = {name: arrays.pop(name) for name in ("bn_moving_mean", "bn_moving_var")}
    gradients = {name: nd.zeros(a.shape) for name, a in arrays.items()}
    seen = np.from_dlpack(states["bn_moving_mean"])
    slopes = np.from_dlpack(gradients["bn_beta"])
    if attached:
        states["bn_moving_mean"].attach_grad()
    executor = symbol.bind(mx.cpu(), arrays, gradients, aux_states=states)
    executor.forward(is_train=True)
    executor.backward(nd.array([[1, 2], [3, 4], [5, 6]]))
    np.testing.assert_allclose(seen, MEAN, rtol=1e-6)
    np.testing.assert_array_equal(slopes, [9, 12])


def test_states_stay_on_their_device():
    symbol, arrays = normalized()
    arrays = {name: a.as_in_context(mx.cpu(1)) for name, a in arrays.items()}
    arrays["bn_moving_mean"] = nd.zeros((2,))
    arrays["data"].attach_grad()
    with autograd.record():
        y = mx.compile(symbol)(**arrays)
    y.backward()
    assert arrays["bn_moving_mean"].context == mx.cpu(0)
    assert arrays["bn_moving_var"].context == mx.cpu(1)


@pytest.mark.parametrize("key", [slice(None), slice(1, 3), 1, [0, 2]], ids=str)
def test_a_write_to_exported_memory_copies_nothing(key):
    x = nd.zeros((4, 3))
    seen = np.from_dlpack(x)
    COUNTERS.reset()
    x[key] = 2.0
    expected = np.zeros((4, 3))
    expected[key] = 2.0
    assert seen.tolist() == expected.tolist()
    assert (COUNTERS.in_place, COUNTERS.copied) == (1, 0)


@pytest.mark.parametrize("size", SIZES)
def test_an_equal_result_does_not_see_writes_from_outside(size):
    """Two equal operations in a window are computed once; an exported result must not share its memory with the other."""
    x = nd.ones((size,))
    exported, other = x + x, x + x
    np.from_dlpack(exported)[:] = 7
    exported[:1] = 9
    np.testing.assert_array_equal(exported.asnumpy(), [9] + [7] * (size - 1))
    np.testing.assert_array_equal(other.asnumpy(), np.full(size, 2))


@pytest.mark.parametrize("saved", ["an input", "the output"])
@pytest.mark.parametrize("size", SIZES)
def test_backward_does_not_see_writes_from_outside(size, saved):
    x = nd.ones((size,))
    x.attach_grad()
    with autograd.record():
        y = x * 3 if saved == "an input" else nd.sqrt(x)
        z = y * y if saved == "an input" else y * 2
    np.from_dlpack(y)[:] = 99
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full(size, 18 if saved == "an input" else 1))
    np.testing.assert_array_equal(y.asnumpy(), np.full(size, 99))


@pytest.mark.parametrize("key", [(..., slice(1)), slice(1), slice(2, 5), 0], ids=str)
@pytest.mark.parametrize("recorded", [False, True])
def test_what_waits_does_not_see_writes_to_a_small_view(key, recorded):
    x, exported = mx.np.ones(100_000), mx.np.arange(100_000.0)
    seen = np.from_dlpack(exported)
    if recorded:
        x.attach_grad()
    with autograd.record() if recorded else autograd.pause():
        waiting = x * 2
        result = waiting[:3] * exported[key] if key == slice(2, 5) else waiting * exported[key]
    expected = 2 * np.ones(result.shape) * seen[key]
    seen[:] = 99
    np.testing.assert_array_equal(result.asnumpy(), expected)
