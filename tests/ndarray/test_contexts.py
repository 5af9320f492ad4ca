"""Arrays on several devices: created there, copied between devices, rejected as mixed operands, and differentiated through copies."""

import copy
import pickle

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.errors import DeviceError

from tests.devices import fake_gpus, forget_backends


@pytest.fixture(autouse=True, params=["issue", "late", "eager"])
def _fake_gpus(request):
    with fake_gpus(4, request.param):
        yield


DEVICES = [mx.cpu(0), mx.cpu(1), mx.gpu(0), mx.gpu(3)]
PAIRS = [(a, b) for a in DEVICES for b in DEVICES]


@pytest.mark.parametrize("device", DEVICES)
def test_arrays_are_created_and_computed_on_a_device(device):
    x = nd.array([[1, 2], [3, 4]], ctx=device)
    for y in (x, x + 1, 2 * x, x * x, x[0], x.reshape((-1,)), x.T, x.sum(), x[[1, 0]], x.astype("int32"), x.copy(), nd.dot(x, x)):
        assert y.context == device
    for y in (nd.zeros((2,), device), nd.full((2,), 3, device), nd.arange(3, ctx=device), nd.eye(2, ctx=device), nd.empty((2,), device)):
        assert y.context == device
    np.testing.assert_array_equal((x * x + 1).asnumpy(), [[2, 5], [10, 17]])


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_is_the_default_of_its_block(device):
    with device:
        made = [nd.zeros((2,)), nd.arange(3), nd.array([1]), nd.random.uniform(shape=(2,)), nd.random.normal(shape=(2,)), nd.eye(2)]
    assert [x.context for x in made] == [device] * len(made)
    assert nd.zeros((2,)).context == mx.cpu(0)


@pytest.mark.parametrize("device", DEVICES)
def test_writes_and_views_work_on_a_device(device):
    x, host = nd.arange(12, ctx=device).reshape((3, 4)), np.arange(12.0).reshape(3, 4)
    x[0] = 7
    host[0] = 7
    x[1, 1:3] = nd.array([8, 9], ctx=device)
    host[1, 1:3] = [8, 9]
    x[1:][1] += 1
    host[2] += 1
    x.reshape(-1)[5] = -1
    host.ravel()[5] = -1
    x[[0, 2], [1, 3]] = np.array([20, 30])
    host[[0, 2], [1, 3]] = [20, 30]
    x *= 2
    np.testing.assert_array_equal(x.asnumpy(), host * 2)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_copies_go_from_any_device_to_any(source, target):
    x = nd.array([1, 2], ctx=source)
    y = x.as_in_context(target)
    assert (y is x) == (source is target)
    assert y.context == target
    z = nd.zeros((2,), ctx=target, dtype="int32")
    assert x.copyto(z) is z
    assert x.copyto(target).context == target
    z[:] = x + 1
    x[:] = 0
    assert z.asnumpy().tolist() == [2, 3]
    if y is not x:
        assert y.asnumpy().tolist() == [1, 2]


def test_operands_on_different_devices_are_rejected():
    for a, b in PAIRS:
        x, y = nd.ones((2,), a), nd.ones((2,), b)
        if a is b or "gpu" not in (a.device_type, b.device_type):
            assert (x + y).context == a
        else:
            with pytest.raises(DeviceError, match=f"{a} and {b}".replace("(", r"\(").replace(")", r"\)")):
                x + y


def test_a_missing_device_is_rejected():
    with pytest.raises(DeviceError, match="no such device"):
        nd.ones((2,), ctx=mx.gpu(4))
    with pytest.raises(DeviceError, match="no such device"):
        nd.ones((2,), ctx="tpu")


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_gradients_flow_through_copies(source, target):
    x, y = nd.array([1.0, 2.0], ctx=source), nd.array([3.0, 4.0], ctx=target)
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        z = (x * x).as_in_context(target) * y
        back = z.copyto(source) * 10
    back.backward()
    assert (x.grad.context, y.grad.context) == (source, target)
    np.testing.assert_array_equal(x.grad.asnumpy(), [60, 160])
    np.testing.assert_array_equal(y.grad.asnumpy(), [10, 40])


def test_heads_on_several_devices_are_differentiated_together():
    arrays = [nd.array([1.0, 2.0], ctx=d) for d in DEVICES]
    shared = nd.array([5.0, 6.0])
    for x in [*arrays, shared]:
        x.attach_grad()
    with autograd.record():
        heads = [(x * shared.as_in_context(x.context)).sum() * (k + 1) for k, x in enumerate(arrays)]
    autograd.backward(heads)
    for k, x in enumerate(arrays):
        np.testing.assert_array_equal(x.grad.asnumpy(), [5 * (k + 1), 6 * (k + 1)])
    np.testing.assert_array_equal(shared.grad.asnumpy(), [10, 20])


def test_a_record_continued_on_two_devices_is_differentiated_once():
    x = nd.array([1.0, 2.0], ctx=mx.gpu(0))
    x.attach_grad()
    with autograd.record():
        y = x * x
        z = (y * 3).sum().as_in_context(mx.cpu()) + (y.as_in_context(mx.gpu(1)) * 5).sum().as_in_context(mx.cpu())
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [16, 32])


def test_gradients_of_gradients_flow_through_copies():
    x = nd.array([1.0, 2.0], ctx=mx.gpu(0))
    x.attach_grad()
    with autograd.record():
        y = (x * x).as_in_context(mx.gpu(1)) * x.as_in_context(mx.gpu(1))
        (g,) = autograd.grad(y, x, create_graph=True)
        z = g.as_in_context(mx.cpu()) * 2
    z.backward()
    np.testing.assert_array_equal(g.asnumpy(), [3, 12])
    np.testing.assert_array_equal(x.grad.asnumpy(), [12, 24])


def test_gradients_of_gradients_are_computed_on_the_device_of_their_variable():
    # one structure, so that all devices of a kind share its programs
    for device in [*DEVICES, *reversed(DEVICES)]:
        x = nd.array([1.0, 2.0, 3.0], ctx=device)
        x.attach_grad()
        with autograd.record():
            y = (x * x).sum()
            (g,) = autograd.grad(y, x, create_graph=True)
            penalty = (g * g).sum()
        penalty.backward()
        assert (g.context, penalty.context, x.grad.context) == (device, device, device)
        np.testing.assert_array_equal(x.grad.asnumpy(), [8, 16, 24])


def test_constant_gradients_recorded_for_another_backward_are_on_the_device_of_their_variable():
    for device in DEVICES:
        x = nd.array([1.0, 2.0], ctx=device)
        x.attach_grad()
        with autograd.record():
            (g,) = autograd.grad(x.sum(), x, create_graph=True)
        assert g.context == device
        np.testing.assert_array_equal(g.asnumpy(), [1, 1])


def test_gradients_of_gradients_through_a_loop_are_computed_on_the_device_of_their_variable():
    for device in DEVICES:
        x = nd.array([[1.0, 2.0], [3.0, 4.0]], ctx=device)
        x.attach_grad()
        with autograd.record():
            _, total = nd.contrib.foreach(lambda row, s: (row, s + row * row), x, nd.zeros((2,), ctx=device))
            (g,) = autograd.grad(total.sum(), x, create_graph=True)
            penalty = (g * g).sum()
        penalty.backward()
        assert (g.context, x.grad.context) == (device, device)
        np.testing.assert_array_equal(g.asnumpy(), [[2, 4], [6, 8]])
        np.testing.assert_array_equal(x.grad.asnumpy(), [[8, 16], [24, 32]])


def test_copies_are_recorded_again_on_a_later_tape():
    x = nd.array([3.0], ctx=mx.gpu(0))
    x.attach_grad()
    with autograd.record():
        y = (x * x).as_in_context(mx.cpu())
    with autograd.record():
        z = y * 2
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [12])


@pytest.mark.parametrize("device", DEVICES)
def test_results_are_written_into_out(device):
    out = nd.zeros((2,), ctx=device)
    nd.exp(nd.array([0, 1], ctx=device), out=out)
    np.testing.assert_allclose(out.asnumpy(), np.exp([0, 1]), rtol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_pickles_and_files_remember_gpus(device, tmp_path):
    x = nd.array([1, 2], ctx=device)
    assert pickle.loads(pickle.dumps(x)).context == device
    nd.save(str(tmp_path / "a"), x)
    (y,) = nd.load(str(tmp_path / "a"))
    assert y.context == (device if device.device_type == "gpu" else mx.cpu(0))
    assert y.asnumpy().tolist() == [1, 2]


def test_an_array_of_a_missing_gpu_is_loaded_on_the_cpu(tmp_path, monkeypatch):
    nd.save(str(tmp_path / "a"), nd.ones((2,), ctx=mx.gpu(3)))
    nd.waitall()
    monkeypatch.setenv("TWOFOLD_FAKE_GPUS", "2")
    forget_backends()
    assert nd.load(str(tmp_path / "a"))[0].context == mx.cpu(0)


def test_the_number_of_gpus_is_asked():
    assert mx.num_gpus() == mx.context.num_gpus() == 4


def test_waitall_runs_pending_work_on_all_devices():
    pending = [nd.ones((3,), ctx=d) * 2 for d in DEVICES]
    nd.waitall()
    assert all(x.asnumpy().tolist() == [2, 2, 2] for x in pending)


def test_a_program_changes_its_contexts_and_no_other():
    x, c = nd.ones((2,), ctx=mx.cpu(1)), mx.cpu(1)
    seen = {c: "a"}
    c.device_typeid, c.device_id = 2, 3
    assert (str(c), c.device_type, c == mx.gpu(3), hash(c) == hash(mx.gpu(3)), c in seen) == ("gpu(3)", "gpu", True, True, False)
    assert x.context == mx.cpu(1) != c
    assert nd.ones((2,), ctx=c).context == mx.gpu(3)
    copied = mx.Context(c)
    c.device_id = 0
    with c:
        assert mx.current_context() == mx.gpu(0) == nd.ones(1).context
    c.note = "mine"
    assert [str(d) for d in (copied, c, copy.copy(c), pickle.loads(pickle.dumps(c)))] == ["gpu(3)", "gpu(0)", "gpu(0)", "gpu(0)"]
    assert copy.deepcopy(c).note == pickle.loads(pickle.dumps(c)).note == "mine"
    assert type(c) is type(x.context) is mx.Context
    with pytest.raises(mx.MXNetError, match="no such device"):
        c.device_typeid = 4
    with pytest.raises(AttributeError, match=r"device_type cannot be set: given gpu\(0\); set device_typeid"):
        c.device_type = "cpu"


@pytest.mark.parametrize("name", ["device_id", "device_type", "device_typeid", "note"])
def test_the_context_of_an_array_cannot_become_another_one(name):
    x = nd.ones((2,), ctx=mx.cpu(1))
    with pytest.raises(AttributeError, match=f"{name} cannot be set: given cpu\\(1\\); arrays share this object: change a copy"):
        setattr(x.context, name, 2)
    assert str(x.context) == "cpu(1)"


def test_an_array_that_is_on_an_equal_context_of_a_derived_class_stays_itself():
    class Labelled(mx.Context):
        pass

    here, elsewhere = Labelled("cpu", 0), Labelled("cpu", 1)
    for array in (nd.ones((2,), ctx=mx.cpu()), mx.np.ones((2,), ctx=mx.cpu())):
        assert array.as_in_ctx(here) is array
        assert array.as_in_context(here) is array
        moved = array.as_in_context(elsewhere)
        assert moved is not array
        assert moved.context == mx.cpu(1)


def test_the_kind_and_number_of_a_context_of_a_derived_class_can_be_set():
    class Numbered(mx.Context):
        def __init__(self, number):
            self.device_typeid = 1
            self.device_id = number

    c = Numbered(1)
    assert c == mx.cpu(1)
    assert hash(c) == hash(mx.cpu(1))
    assert nd.ones((2,), ctx=c).context == mx.cpu(1)
    c.device_typeid = 3
    assert (c.device_type, c.is_host, str(c), c == mx.cpu_pinned(1)) == ("cpu_pinned", True, "cpu_pinned(1)", True)
    c.device_typeid, c.device_id = 2, 0
    assert c == mx.gpu(0)
    with pytest.raises(mx.MXNetError, match="no such device"):
        c.device_typeid = 4
    assert c == mx.gpu(0)
