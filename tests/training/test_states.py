"""Optimizer states in files: exchanged with the real MXNet, never executed, including classes of users."""

from __future__ import annotations

import base64
import json
import pickle

import ml_dtypes
import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError
from twofold.optimizer import states

NAMES = [
    "sgd",
    "nag",
    "adam",
    "rmsprop",
    "adagrad",
    "adadelta",
    "ftrl",
    "signum",
    "lamb",
    "adamax",
    "ftml",
    "dcasgd",
    "lars",
    "lbsgd",
    "nadam",
]
GRADIENT = np.linspace(1, -2, 6, dtype=np.float32)
START = np.linspace(-1, 1, 6, dtype=np.float32)


def parameters(name):
    return {"learning_rate": 0.1, "wd": 0.01, **({"momentum": 0.9} if name in ("sgd", "nag", "lars", "lbsgd") else {})}


def trained(name, steps):
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **parameters(name)))
    weight = mx.nd.array(START)
    for _ in range(steps):
        updater(0, mx.nd.array(GRADIENT), weight)
    return updater, weight


SCRIPT = """
import base64, json, sys
import mxnet as mx, numpy as np
results = {}
for name, (data, weight, gradient) in json.load(open(sys.argv[1])).items():
    updater = mx.optimizer.get_updater(mx.optimizer.create(name))
    updater.set_states(base64.b64decode(data))
    w = mx.nd.array(weight)
    updater(0, mx.nd.array(gradient), w)
    results[name] = [w.asnumpy().tolist(), updater.optimizer.num_update, type(updater.optimizer).__name__,
                     base64.b64encode(updater.get_states(True)).decode()]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def exchanged(oracle, tmp_path_factory):
    """For each optimizer: MXNet's result of a third step from our states after two steps, saved with the optimizer."""
    files = {}
    for name in NAMES:
        updater, weight = trained(name, 2)
        files[name] = [base64.b64encode(updater.get_states(True)).decode(), weight.asnumpy().tolist(), GRADIENT.tolist()]
    path = tmp_path_factory.mktemp("states") / "files.json"
    path.write_text(json.dumps(files))
    return json.loads(oracle(SCRIPT, path))


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_mxnet_continues_from_our_states(name, exchanged):
    weight, count, kind, _ = exchanged[name]
    _, expected = trained(name, 3)
    assert (count, kind.lower()) == (3, name)
    np.testing.assert_allclose(weight, expected.asnumpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_we_continue_from_mxnets_states(name, exchanged):
    weight, _, _, data = exchanged[name]
    updater = mx.optimizer.get_updater(mx.optimizer.create("test"))
    updater.set_states(base64.b64decode(data))
    found = mx.nd.array(weight)
    updater(0, mx.nd.array(GRADIENT), found)
    np.testing.assert_allclose(found.asnumpy(), trained(name, 4)[1].asnumpy(), rtol=1e-4, atol=1e-6)
    assert type(updater.optimizer).__name__.lower() == name


def test_states_and_optimizer_round_trip():
    schedule = mx.lr_scheduler.MultiFactorScheduler([2, 5], 0.5, base_lr=0.3)
    updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.3, lr_scheduler=schedule, param_idx2name={0: "a_weight"}, wd=0.1))
    weight = mx.nd.array(START)
    for _ in range(3):
        updater(0, mx.nd.array(GRADIENT), weight)
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(updater.get_states(True))
    optimizer = other.optimizer
    assert (optimizer.lr_scheduler.base_lr, optimizer.lr_scheduler.cur_step_ind) == (0.15, 1)
    assert (optimizer.num_update, optimizer._index_update_count, optimizer.idx2name) == (3, {0: 3}, {0: "a_weight"})
    assert optimizer._index_update_count is optimizer._all_index_update_counts[0]
    assert not other.aggregate_updates
    assert [x.asnumpy().tolist() for x in other.states[0]] == [x.asnumpy().tolist() for x in updater.states[0]]


def test_states_move_to_the_weights_device(gpus):
    updater, weight = trained("sgd", 1)
    other = mx.optimizer.get_updater(mx.optimizer.create("sgd", **parameters("sgd")))
    other.set_states(updater.get_states())
    on_gpu = weight.as_in_context(gpus[0])
    other(0, mx.nd.array(GRADIENT, ctx=gpus[0]), on_gpu)
    updater(0, mx.nd.array(GRADIENT), weight)
    assert other.states[0].context == gpus[0]
    np.testing.assert_allclose(on_gpu.asnumpy(), weight.asnumpy(), rtol=1e-6)


class Halves(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update):
        return self.base_lr / 2


@pytest.fixture
def users_optimizer():
    class Users(mx.optimizer.Optimizer):
        def __init__(self, scale=1.0, **kwargs):
            super().__init__(**kwargs)
            self.scale = scale

        def update(self, index, weight, grad, state):
            self._update_count(index)
            weight[:] = weight - self._get_lr(index) * self.scale * grad

    Users.__module__, Users.__qualname__ = __name__, "Users"
    return Users


def test_user_classes_round_trip_if_they_are_defined(users_optimizer):
    updater = mx.optimizer.get_updater(users_optimizer(scale=3.0, lr_scheduler=Halves(0.4)))
    weight = mx.nd.zeros((1,))
    updater("w", mx.nd.ones((1,)), weight)
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(updater.get_states(True))
    other("w", mx.nd.ones((1,)), weight)
    assert type(other.optimizer) is users_optimizer
    assert weight.asscalar() == pytest.approx(-2 * 0.2 * 3)


class Tabled(mx.lr_scheduler.LRScheduler):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def __call__(self, num_update):
        return float(self.table[num_update])


TABLES = [
    np.linspace(0.1, 0.5, 5),
    np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    np.arange(3, dtype=">i4"),
    np.arange(12, dtype=np.uint64)[::-3],
    np.array(2.5, np.float16),
    np.zeros((0, 3), np.int8),
    np.array([True, False]),
    np.array([1.5, -2], ml_dtypes.bfloat16),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.dtype}{table.shape}")
def test_numpy_arrays_of_schedules_and_optimizers_round_trip(table):
    optimizer = mx.optimizer.SGD(lr_scheduler=Tabled(table))
    optimizer.own = [{np.int64(3): table}, np.float32(0.5)]
    _, found, _ = states.load(states.dump({}, optimizer))
    for array in (found.lr_scheduler.table, found.own[0][3]):
        assert (type(array), array.dtype, array.shape) == (np.ndarray, table.dtype.newbyteorder("="), table.shape)
        assert array.tolist() == table.tolist()
        assert array.flags.writeable
    assert (found.own[1], type(found.own[1])) == (0.5, float)


def test_training_goes_on_with_a_schedule_of_a_numpy_array(tmp_path):
    def trained_for(steps, file=None):
        net = mx.gluon.nn.Dense(1, use_bias=False, in_units=2)
        net.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"lr_scheduler": Tabled(np.linspace(0.1, 0.5, 9))}, kvstore=None)
        if file is not None:
            trainer.load_states(file)
        for _ in range(steps):
            with mx.autograd.record():
                loss = net(mx.nd.ones((1, 2))).sum()
            loss.backward()
            trainer.step(1)
        return trainer, net.weight.data().asnumpy()

    file = str(tmp_path / "trainer.states")
    trained_for(3)[0].save_states(file)
    # the rates of steps 4 and 5 are the table's
    np.testing.assert_allclose(trained_for(2, file)[1], [[1 - 0.3 - 0.35] * 2], rtol=1e-5)


def test_a_key_value_store_keeps_numpy_arrays_of_a_schedule(tmp_path):
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(lr_scheduler=Tabled(np.linspace(0.1, 0.5, 5))))
    file = str(tmp_path / "store.states")
    store.save_optimizer_states(file, dump_optimizer=True)
    other = mx.kv.create("local")
    other.set_optimizer(mx.optimizer.SGD())
    other.load_optimizer_states(file)
    assert other._updater.optimizer.lr_scheduler.table.tolist() == np.linspace(0.1, 0.5, 5).tolist()


@pytest.mark.parametrize(
    "table",
    [np.array([None]), np.array(["a"]), np.array([1j]), np.zeros(2, "f4,i4"), np.zeros(2, "M8[s]"), np.ma.masked_array([1.0], [True])],
    ids=lambda table: f"{type(table).__name__} {table.dtype}",
)
def test_numpy_arrays_of_other_things_than_numbers_cannot_be_saved(table):
    with pytest.raises(FormatError, match=r"a NumPy array that cannot be written: given \w+ of .*; store arrays of class numpy\.ndarray"):
        states.dump({}, mx.optimizer.SGD(lr_scheduler=Tabled(table)))


TABLES_OF_MXNET = """
import pickle, sys
import mxnet as mx, numpy as np
class Tabled(mx.lr_scheduler.LRScheduler):
    pass
Tabled.__module__ = sys.argv[2]
sys.modules[sys.argv[2]] = sys.modules["__main__"]
found = pickle.load(open(sys.argv[1], "rb"))[1].lr_scheduler.table
print([(type(table).__name__, table.dtype.name, table.shape, table.tolist()) for table in found])
scheduler = Tabled()
scheduler.table = found + [np.int64(3)]
pickle.dump(({}, mx.optimizer.SGD(lr_scheduler=scheduler)), open(sys.argv[1], "wb"), 4)
"""


@pytest.mark.oracle
def test_numpy_arrays_are_exchanged_with_mxnet(oracle, tmp_path):
    tables = [table for table in TABLES if table.dtype != ml_dtypes.bfloat16]
    expected = [("ndarray", table.dtype.name, table.shape, table.tolist()) for table in tables]
    path = tmp_path / "optimizer.states"
    path.write_bytes(states.dump({}, mx.optimizer.SGD(lr_scheduler=Tabled(tables))))
    assert oracle(TABLES_OF_MXNET, path, __name__) == f"{expected}\n"
    _, optimizer, _ = states.load(path.read_bytes())
    *found, number = optimizer.lr_scheduler.table
    assert [(type(table).__name__, table.dtype.name, table.shape, table.tolist()) for table in found] == expected
    assert (number, type(number)) == (3, int)


class Planted:
    ran = False

    def __reduce__(self):
        return _run, ()


def _run():
    Planted.ran = True
    return {}


@pytest.mark.parametrize("value", [Planted(), {0: Planted()}, ({}, Planted())])
def test_no_code_in_a_file_is_run(value):
    with pytest.raises(FormatError):
        mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(pickle.dumps(value))
    assert not Planted.ran


def test_an_undefined_optimizer_is_rejected():
    data = pickle.dumps(({}, 0)).replace(b"K\x00", b"cmxnet.optimizer.optimizer\nUnheard\n)\x81}b")
    with pytest.raises(FormatError, match=r"mxnet\.optimizer\.optimizer\.Unheard"):
        mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(data)


def test_an_optimizer_with_attributes_other_than_data_cannot_be_saved():
    optimizer = mx.optimizer.SGD()
    optimizer.hook = print
    with pytest.raises(FormatError, match="cannot be written"):
        mx.optimizer.get_updater(optimizer).get_states(True)


@pytest.mark.parametrize("state", [(None, None), ("array", None), None, ("array",)], ids=str)
def test_states_of_adam_without_an_array_are_refused_at_the_first_update(state):
    whole = mx.nd.zeros(6)
    given = tuple(whole if part == "array" else part for part in state) if state else state
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    updater.set_states(states.dump({0: given}, None))
    with pytest.raises(FormatError, match=r"the state of 0 is not one of this optimizer: given .*, expected \(array, array\)"):
        updater(0, mx.nd.array(GRADIENT), mx.nd.array(START))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_states_without_a_momentum_are_taken_as_in_mxnet(momentum):
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, wd=0.0, momentum=momentum))
    updater.set_states(states.dump({0: None}, None))
    weight = mx.nd.array(START)
    updater(0, mx.nd.array(GRADIENT), weight)
    np.testing.assert_allclose(weight.asnumpy(), START - 0.1 * GRADIENT, rtol=1e-6)
