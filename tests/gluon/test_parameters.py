"""Parameters: behaviour beyond MXNet's, and states that would silently give wrong results."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.errors import DeferredInitializationError, DeviceError, ParameterError, ShapeError
from twofold.gluon import Parameter, ParameterDict, nn
from twofold.gluon.copies import Copies

from ..forked import in_child


def made(**kwargs: object) -> Parameter:
    param = Parameter("w", shape=(2,), **kwargs)  # type: ignore[arg-type]
    param.initialize(mx.init.One())
    return param


def test_errors_are_those_of_mxnet_and_of_python() -> None:
    with pytest.raises(AssertionError):
        Parameter("w", grad_req="other")
    with pytest.raises(ValueError, match="grad_req"):
        Parameter("w", grad_req="other")
    with pytest.raises(RuntimeError):
        Parameter("w", shape=(2,)).data()


def test_a_dict_of_parameters_has_a_length_and_is_true_without_any() -> None:
    params = ParameterDict()
    assert len(params) == 0
    assert params
    params.get("w", shape=(2,))
    assert len(params) == 1


def test_data_raises_before_the_shape_is_known() -> None:
    param = Parameter("w", shape=(2, 0), allow_deferred_init=True)
    param.initialize()
    with pytest.raises(DeferredInitializationError, match="was deferred"):
        param.data()


def test_setting_data_finishes_deferred_initialization() -> None:
    param = Parameter("w", shape=(2, 0), allow_deferred_init=True)
    param.initialize()
    param.set_data(nd.array([[1, 2, 3], [4, 5, 6]]))
    assert param.data().asnumpy().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_missing_device_is_named() -> None:
    with pytest.raises(DeviceError, match=r"context cpu\(3\)"):
        made().data(mx.cpu(3))


def test_a_contradicting_shape_raises() -> None:
    with pytest.raises(ShapeError, match="incompatible"):
        made().set_data(nd.ones((3,)))


def test_a_parameter_without_gradient_is_a_constant_of_the_graph() -> None:
    param, x = made(), nd.ones((2,))
    x.attach_grad()
    param.grad_req = "null"
    with autograd.record():
        y = param.data() * x
        z = param.data() * 2
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="not part of a recorded graph"):
        z.backward()


def test_gradients_are_restored_when_requested_again() -> None:
    param = made()
    param.grad_req = "null"
    param.grad_req = "write"
    with autograd.record():
        y = param.data() * 3
    y.backward()
    assert param.grad().asnumpy().tolist() == [3, 3]


def test_setting_data_keeps_the_array_object() -> None:
    param = made()
    array = param.data()
    param.set_data(nd.array([5, 6]))
    assert param.data() is array
    assert array.asnumpy().tolist() == [5, 6]


def test_setting_data_keeps_the_gradient_request() -> None:
    param = made()
    param.set_data(nd.array([5, 6]))
    with autograd.record():
        y = param.data() ** 2
    y.backward()
    assert param.grad().asnumpy().tolist() == [10, 12]


def test_a_constant_keeps_its_value_in_graphs_and_files() -> None:
    constant = mx.gluon.Constant("c", [[1, 2]])
    attrs = constant.var().attr_dict()["c"]
    assert attrs["__init__"] == '["constant", {"value": [[1.0, 2.0]]}]'


def test_a_parameter_can_be_pickled() -> None:
    param = made(lr_mult=2.0)
    again = pickle.loads(pickle.dumps(param))
    assert again.data().asnumpy().tolist() == [1, 1]
    assert again.lr_mult == 2.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=["copied", "pickled"])
@pytest.mark.parametrize(("grad_req", "gradient"), [("write", [1, 2]), ("add", [2, 4])])
def test_a_copy_of_a_parameter_has_gradients_of_its_own(copied, grad_req, gradient) -> None:
    param = made(grad_req=grad_req)
    again = copied(param)
    for _ in range(2):
        with autograd.record():
            y = (again.data() * nd.array([1, 2])).sum()
        y.backward()
    assert again.grad().asnumpy().tolist() == gradient
    assert param.grad().asnumpy().tolist() == [0, 0]


def test_a_file_without_names_raises(tmp_path: object) -> None:
    path = f"{tmp_path}/list"
    nd.save(path, [nd.ones((2,))])
    with pytest.raises(ParameterError, match="no names"):
        ParameterDict().load(path)


def test_a_parameter_missing_in_a_file_is_named(tmp_path: object) -> None:
    path = f"{tmp_path}/params"
    nd.save(path, {"a": nd.ones((2,))})
    params = ParameterDict()
    params.get("b", shape=(2,))
    with pytest.raises(ParameterError, match="Parameter 'b' is missing in file"):
        params.load(path)


def test_parameters_are_read_from_safetensors(tmp_path: object) -> None:
    pytest.importorskip("safetensors")
    net, other = mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    net.save_parameters(f"{tmp_path}/m.safetensors")
    other.load_parameters(f"{tmp_path}/m.safetensors")
    assert np.array_equal(net.weight.data().asnumpy(), other.weight.data().asnumpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Dense("x"),
        lambda nn: nn.Dense(-3),
        lambda nn: nn.Dense(2.0),
        lambda nn: nn.Conv2D("x", 3),
        lambda nn: nn.Embedding(-3, 3),
        lambda nn: mx.gluon.rnn.LSTM(-3),
        lambda nn: mx.gluon.rnn.LSTMCell("x"),
    ],
)
def test_sizes_of_layers_must_be_non_negative_integers(make) -> None:
    with pytest.raises(ParameterError, match="must be a positive integer: given"):
        make(mx.gluon.nn)


def test_sizes_of_layers_may_be_numpy_integers() -> None:
    layer = mx.gluon.nn.Dense(np.int64(3))
    layer.initialize()
    assert layer(nd.ones((1, 2))).shape == (1, 3)


class Slow(mx.init.Initializer):
    """Takes long enough for other threads to come along."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def _init_weight(self, name: object, arr: nd.NDArray) -> None:
        self.made.append(str(name))
        time.sleep(0.05)
        arr[:] = len(self.made)


@pytest.mark.parametrize("hybridized", [False, True])
def test_threads_that_run_a_new_network_at_once_initialize_it_once(hybridized: bool) -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.Dense(2))
    slow = Slow()
    net.initialize(slow)
    if hybridized:
        net.hybridize()
    x = mx.nd.ones((2, 4))
    with ThreadPoolExecutor(4) as pool:
        outputs = [found.asnumpy().tolist() for found in pool.map(net, [x] * 8)]
    assert sorted(slow.made) == sorted(name for name in net.collect_params() if name.endswith("weight"))
    assert outputs == [net(x).asnumpy().tolist()] * 8


def test_a_parameter_has_its_gradient_before_threads_can_see_its_array(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = nn.Dense(2, in_units=3)
    seen: list[object] = []
    attach = Copies.attach
    monkeypatch.setattr(Copies, "attach", lambda *args: (seen.append((layer.weight._data, layer.bias._data)), attach(*args)))
    layer.initialize()
    weight = layer.weight._data
    assert weight is not None
    assert seen == [(None, None), (weight, None)]
    assert layer.weight.grad().shape == (2, 3)


def test_a_parameter_that_another_thread_has_just_initialized_is_asked_again() -> None:
    layer = nn.Dense(2, in_units=3)
    layer.initialize()
    assert isinstance(layer.weight._missing(), DeferredInitializationError)


class Waiting(mx.init.Initializer):
    """Waits within an initialization until it is let on."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def _init_weight(self, name: object, arr: nd.NDArray) -> None:
        self.has_begun.set()
        assert self.may_end.wait(30)
        arr[:] = 2


def test_a_fork_beside_an_initialization_does_not_wait_and_its_child_initializes() -> None:
    layer, waiting = nn.Dense(2, in_units=3), Waiting()

    def check() -> None:
        layer.initialize(mx.init.One(), force_reinit=True)
        assert layer(nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]

    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(layer.initialize, waiting)
        assert waiting.has_begun.wait(30)
        in_child(check)
        waiting.may_end.set()
        made.result()
    assert layer(nd.ones((1, 3))).asnumpy().tolist() == [[6, 6]]


@pytest.mark.parametrize("shape", [(-1, 3), (2, -1), (-1, -1)])
def test_unknown_sizes_may_be_minus_1(shape) -> None:
    param = Parameter("w", shape=shape, allow_deferred_init=True)
    param.initialize(mx.init.One())
    param.shape = (2, 3)
    param._finish_deferred_init()
    assert param.data().shape == (2, 3)


def test_parameters_without_axes_are_0_d_with_numpy_shapes() -> None:
    """Shapes and numbers are those of MXNet 1.9.1, whose initializers write ``arr[:]`` there."""
    with mx.util.np_shape(True):
        param = Parameter("t", shape=(), init=mx.init.Constant(2))
        param.initialize()
        assert (param.shape, param.data().shape, param.grad().shape) == ((), (), ())
        param.set_data(nd.array(3))
        with autograd.record():
            total = (nd.ones((2, 3)) * param.data()).sum()
        total.backward()
        assert (param.data().asscalar(), param.grad().asscalar(), param.grad().shape) == (3, 6, ())
