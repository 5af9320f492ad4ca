"""Pickles read without running anything, MXNet's optimizer states among them, and states written for MXNet to read."""

from __future__ import annotations

import collections
import os
import pickle
import tracemalloc
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.errors import FormatError
from twofold.formats.params import SHAPELESS, dump_array
from twofold.formats.pickle_records import load_pickle, load_states
from twofold.formats.pickle_writer import dump_states
from twofold.formats.records import ITEM_SIZES, ArrayRecord, DTypeRecord, ObjectRecord

from tests.formats.arrays import assert_same, to_record

if TYPE_CHECKING:
    from pathlib import Path

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**200), 2**200), st.floats(allow_nan=False), st.text(max_size=5), st.binary(max_size=5)
)
KEYS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.text(max_size=5), st.tuples(st.integers(0, 9), st.text(max_size=2))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=20,
)
STATES = ["adadelta", "adagrad", "adamax", "dcasgd", "ftml", "ftrl", "lamb", "nadam", "nag", "rmsprop", "sgd", "signum"]


class Schedule:
    """Stands for a class of a user."""

    def __init__(self, step: int) -> None:
        self.step = step


HERE = f"{Schedule.__module__}.Schedule"


class Trap:
    """Would call something when unpickled."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.call[0], self.call[1:]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(value=VALUES)
def test_plain_data_is_unpickled_unchanged(protocol: int, value: object):
    assert load_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sets_dicts_and_byte_arrays_of_every_kind_are_read(protocol: int):
    value = [{1, "a"}, frozenset([(2, 3)]), collections.OrderedDict(a=1), collections.defaultdict(list, {1: 2}), bytearray(b"ab")]
    assert load_pickle(pickle.dumps(value, protocol)) == [{1, "a"}, {(2, 3)}, {"a": 1}, {1: 2}, b"ab"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", ITEM_SIZES)
def test_numpy_arrays_of_every_element_type_are_read(protocol: int, dtype: str):
    array = (np.arange(6) % 2).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype).reshape(2, 3)
    assert_same(load_pickle(pickle.dumps(array, protocol)), array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 3, 4), (1, 3, 1, 2), (2, 0)])
def test_numpy_arrays_in_column_major_order_are_read(protocol: int, shape: tuple[int, ...]):
    array = np.asfortranarray(np.arange(np.prod(shape), dtype="int16").reshape(shape))
    assert_same(load_pickle(pickle.dumps(array, protocol)), array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numpy_scalars_and_element_types_are_read(protocol: int):
    scalar, dtype, cls = load_pickle(pickle.dumps([np.float32(2.5), np.dtype("int64"), np.bool_], protocol))
    assert_same(scalar, np.array(2.5, "float32"))
    assert (dtype, cls) == (DTypeRecord("int64"), DTypeRecord("bool"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_instances_of_allowed_classes_become_their_attributes(protocol: int):
    record = load_pickle(pickle.dumps(Schedule(3), protocol), classes=[HERE])
    assert record == ObjectRecord(Schedule.__module__, "Schedule", (), {"step": 3})


def test_a_whole_module_can_be_allowed():
    assert load_pickle(pickle.dumps(Schedule(3)), classes=[f"{Schedule.__module__}.*"]) == load_pickle(
        pickle.dumps(Schedule(3)), classes=[HERE]
    )


def test_object_identity_in_the_file_is_preserved():
    shared = {"count": 1}
    first, second = load_pickle(pickle.dumps([shared, shared]))
    assert first is second


@pytest.mark.parametrize("name", STATES)
def test_states_of_an_updater_are_arrays_by_index(shared: Path, name: str):
    states = load_states((shared / "fixtures" / f"updater_{name}.states").read_bytes())
    assert isinstance(states, dict)
    parts = states[0] if isinstance(states[0], tuple) else (states[0],)
    assert all(part is None or (isinstance(part, ArrayRecord) and (part.dtype, part.shape) == ("float32", (6,))) for part in parts)


def test_momentum_has_the_value_that_the_update_gives(shared: Path):
    (states, expected) = (shared / "fixtures" / f"updater_sgd.{end}" for end in ("states", "expected.npz"))
    gradients, weights = np.load(expected)["grads"], np.load(expected)["weights"]
    momentum = np.zeros(6, "float32")
    for gradient, weight in zip(gradients[:2], [np.linspace(-1, 1, 6, dtype="float32"), weights[0]], strict=True):
        momentum = 0.9 * momentum - 0.1 * (gradient + 0.01 * weight)
    record = load_states(states.read_bytes())[0]
    np.testing.assert_allclose(np.frombuffer(record.data, "float32"), momentum, rtol=1e-5)


def test_states_of_a_trainer_hold_the_optimizer_as_attributes(shared: Path):
    states, optimizer = load_states((shared / "fixtures" / "gluon_adam.states").read_bytes())
    assert {index: [part.shape for part in parts] for index, parts in states.items()}[5] == [(4, 3, 3, 3)] * 2
    assert (optimizer.module, optimizer.name) == ("mxnet.optimizer.optimizer", "Adam")
    assert optimizer.state["beta1"] == 0.9
    assert optimizer.state["_index_update_count"] == dict.fromkeys([0, 1, 4, 5, 6, 7], 3)


def old_ndarray(protocol: int, module: bytes = b"mxnet.ndarray") -> bytes:
    """An NDArray as Python 2 pickled it: an instance without constructor arguments, its bytes as Latin-1 text."""
    block = dump_array(to_record(np.arange(40, dtype="float32")))
    text = block.decode("latin-1").replace("\\", "\\u005c").replace("\n", "\\u000a").encode("raw-unicode-escape")
    handle = b"S'handle'\nc__builtin__\nbytearray\n(V" + text + b"\nS'latin-1'\ntR"
    if protocol < 2:
        return b"ccopy_reg\n_reconstructor\n(c" + module + b"\nNDArray\nc__builtin__\nobject\nNtR(d" + handle + b"sb."
    return b"\x80\x02c" + module + b"\nNDArray\n)\x81}" + handle + b"sb."


@pytest.mark.parametrize("protocol", [0, 2])
def test_arrays_that_python_2_pickled_are_read(protocol: int):
    assert_same(load_pickle(old_ndarray(protocol)), np.arange(40, dtype="float32"))


def test_an_ordered_dict_that_python_2_pickled_is_read():
    assert load_pickle(b"ccollections\nOrderedDict\n(]](K\x01K\x02eatR.") == {1: 2}


def test_an_array_without_a_handle_has_no_shape():
    assert load_pickle(dump_states([SHAPELESS])) == [SHAPELESS]


@pytest.mark.parametrize(
    "trap",
    [
        Trap(os.system, "true"),
        Trap(eval, "1"),
        Trap(getattr, "a", "upper"),
        Trap(__import__, "os"),
        Trap(print),
        print,
        os.path.join,
        Schedule(1),
        np.random.RandomState(0),
    ],
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_that_names_anything_else_is_rejected(trap: object, protocol: int):
    with pytest.raises(FormatError, match="pickle: "):
        load_pickle(pickle.dumps(trap, protocol))


def test_nothing_is_called_or_imported(monkeypatch: pytest.MonkeyPatch):
    calls = []
    monkeypatch.setattr(Schedule, "__init__", lambda *_: calls.append("called"))
    data = pickle.dumps(Schedule.__new__(Schedule)).replace(b"Schedule", b"Unheard_")
    with monkeypatch.context() as during:
        during.setattr("builtins.__import__", lambda *names: calls.append(names))
        record = load_pickle(data, classes=[f"{Schedule.__module__}.*"])
    assert calls == []
    assert record == ObjectRecord(Schedule.__module__, "Unheard_")


@pytest.mark.parametrize(
    "value", [np.array([1j]), np.array(["a"]), np.array([None]), np.zeros(2, "f4,i4"), np.zeros(2, ">f4"), np.dtype("O")], ids=repr
)
def test_unsupported_numpy_arrays_are_rejected(value: object):
    with pytest.raises(FormatError, match="pickle: "):
        load_pickle(pickle.dumps(value))


DAMAGED = {
    "nothing": b"",
    "no end": b"N",
    "not a pickle": b"hello",
    "nothing on the stack": b".",
    "only a mark": b"(.",
    "no mark": b"Nt.",
    "no such memo": b"h\0.",
    "an opcode that needs a callback": b"Pname\n.",
    "an extension": b"\x82\x01.",
    "a key without a value": b"(NNNd.",
    "items set on a list": b"](NNu.",
    "items appended to a dict": b"}Na.",
    "items added to a list": b"](N\x90.",
    "state set on a list": b"]}b.",
    "a call of a number": b"K\x01)R.",
    "a class on its own": b"c__builtin__\nlist\n.",
    "a call of what may only be named": b"c__builtin__\nlist\n)R.",
    "keywords": b"\x80\x04c__builtin__\nset\n)}(NNu\x92.",
    "text that cannot be bytes": b"(c__builtin__\nbytearray\n(V\\u0100\nVlatin-1\ntRl.",
    "bytes in another encoding": b"c__builtin__\nbytearray\n(Va\nVutf-16\ntR.",
    "an array that is also a list": b"cmxnet.ndarray\nNDArray\n)RNa.",
    "an array without state": b"cmxnet.ndarray\nNDArray\n)R.",
    "a list as a key": b"}]Ns.",
    "a tuple in a tuple as a key": b"}N\x85\x85Ns.",
    "an integer that is too large": b"\x8a\x80" + b"\x7f" * 128 + b".",
    "integers of one hash as keys": b"(\x8a\x09" + (2**61 - 1 << 8).to_bytes(9, "little") + b"Nd.",
    "text with an odd escape": b"S'\\q\\xff'\n.",
    "a dict's item that is no pair": b"ccollections\nOrderedDict\n(]]NaatR.",
    "a length beyond the end": b"B\xff\xff\xff\x7fabc.",
    "a length beyond all memory": b"\x8e" + b"\xff" * 8 + b".",
    "a list that contains itself": b"]q\0h\0a.",
    "a number of too many digits": b"L" + b"1" * 5000 + b"L\n.",
    "deep nesting": b"N" + b"\x85" * 200 + b".",
    "a list of a list a million times": b"]" * 1_000_000 + b".",
    "a stack that grows": b"N" + b"2" * 1_000_000 + b".",
    "a memo that grows": b"N" + b"\x94" * 1_000_000 + b".",
    "tuples that double": b"N" + b"2\x86" * 90 + b".",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_or_malicious_pickle_is_rejected_in_bounded_memory(what: str):
    data = DAMAGED[what]
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            load_pickle(data)
        assert tracemalloc.get_traced_memory()[1] <= 4 * len(data) + 2**24
    finally:
        tracemalloc.stop()


def test_nesting_hidden_by_sharing_is_rejected():
    value: object = None
    parts = []
    for _ in range(40):
        for _ in range(50):
            value = [value]
        parts.append(value)
    with pytest.raises(FormatError, match="nested too deeply"):
        load_pickle(pickle.dumps(parts))


def test_states_must_be_a_dict_or_a_dict_and_an_optimizer():
    with pytest.raises(FormatError, match="optimizer states"):
        load_states(pickle.dumps([1]))


@pytest.mark.parametrize("name", [f"updater_{name}" for name in STATES] + ["gluon_adam", "module_mlp-0002"])
def test_states_round_trip(shared: Path, name: str):
    states = load_states((shared / "fixtures" / f"{name}.states").read_bytes())
    assert load_states(dump_states(states)) == states


@given(VALUES)
def test_plain_data_round_trips(value: object):
    assert load_pickle(dump_states(value)) == value


@given(VALUES)
def test_pickle_reads_our_plain_data(value: object):
    assert pickle.loads(dump_states(value)) == value


def test_object_identity_is_preserved_in_writing():
    counts = {0: 3}
    state = pickle.loads(dump_states({"all": {0: counts}, "current": counts}))
    assert state["current"] is state["all"][0]


def test_element_types_are_written():
    for name in ITEM_SIZES:
        assert load_pickle(dump_states([DTypeRecord(name)])) == [DTypeRecord(name)]


def test_arrays_of_numpy_shapes_are_written():
    record = ArrayRecord("float32", (), np.float32(1.5).tobytes())
    assert load_states(dump_states({0: record}, numpy_arrays=True)) == {0: record}


@pytest.mark.parametrize("value", [object(), {1}, 1j, 10**1000, SHAPELESS.__class__], ids=["object", "set", "complex", "huge int", "class"])
def test_unsupported_values_are_rejected(value: object):
    with pytest.raises(FormatError, match="optimizer states"):
        dump_states([value])


def test_self_containing_data_is_rejected():
    value: list[object] = []
    value.append(value)
    with pytest.raises(FormatError, match="nested too deeply"):
        dump_states(value)


COMPARED_BY_MXNET = """
import pickle, sys
import mxnet as mx

def same(ours, theirs):
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, mx.nd.NDArray):
        assert ours.context == theirs.context and ours.stype == theirs.stype
        assert (ours.asnumpy() == theirs.asnumpy()).all()
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            same(ours[key], theirs[key])
    elif isinstance(ours, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other)
    elif isinstance(ours, mx.optimizer.Optimizer):
        same(ours.__dict__, theirs.__dict__)
    else:
        assert ours == theirs, (ours, theirs)

for ours, theirs in zip(sys.argv[1::2], sys.argv[2::2]):
    ours, theirs = open(ours, 'rb').read(), open(theirs, 'rb').read()
    same(pickle.loads(ours), pickle.loads(theirs))
    updater = mx.optimizer.get_updater(mx.optimizer.create('sgd'))
    updater.set_states(ours)
    print(type(updater.optimizer).__name__, len(updater.states))
"""


@pytest.mark.oracle
def test_mxnet_reads_our_states(shared: Path, oracle, tmp_path: Path):
    pairs = []
    for name in [*(f"updater_{name}" for name in STATES), "gluon_adam", "module_mlp-0002"]:
        theirs, ours = shared / "fixtures" / f"{name}.states", tmp_path / f"{name}.states"
        ours.write_bytes(dump_states(load_states(theirs.read_bytes())))
        pairs += [ours, theirs]
    assert oracle(COMPARED_BY_MXNET, *pairs).split("\n") == [*["SGD 1"] * len(STATES), "Adam 6", "SGD 4", ""]


TRAINED_BY_MXNET = """
import pickle, sys
import mxnet as mx
arrays = {'csr': mx.nd.array([[0, 1], [2, 0]]).tostype('csr'), 'rsp': mx.nd.array([[0, 0], [2, 0]]).tostype('row_sparse')}
mx.nd.waitall()  # 1.9.1 saves an array that is not there yet with the shape it had before
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    scheduler = mx.lr_scheduler.FactorScheduler(step=10, factor=0.5)
    optimizer = mx.optimizer.create('sgd', learning_rate=0.25, lr_scheduler=scheduler)
    with open(f'{sys.argv[1]}/{protocol}.states', 'wb') as file:
        file.write(pickle.dumps((arrays, optimizer), protocol))
    with mx.util.np_shape(True), mx.util.np_array(True), open(f'{sys.argv[1]}/{protocol}.numpy', 'wb') as file:
        file.write(pickle.dumps({0: mx.np.array(2.5)}, protocol))
"""
READ_BACK_BY_MXNET = """
import pickle, sys
import mxnet as mx
with mx.util.np_shape(True), mx.util.np_array(True):
    array = pickle.load(open(sys.argv[1], 'rb'))[0]
print(type(array).__module__, type(array).__name__, array.shape, array.item())
"""


@pytest.mark.oracle
def test_states_of_every_protocol_and_kind_of_array_are_read(oracle, tmp_path: Path):
    oracle(TRAINED_BY_MXNET, tmp_path)
    written = sorted(tmp_path.glob("*.states"))
    assert len(written) >= 5
    for path in written:
        arrays, optimizer = load_states(path.read_bytes())
        assert {name: (record.stype, record.shape) for name, record in arrays.items()} == {
            "csr": ("csr", (2, 2)),
            "rsp": ("row_sparse", (2, 2)),
        }
        assert (optimizer.name, optimizer.state["lr_scheduler"].name) == ("SGD", "FactorScheduler")
        assert optimizer.state["lr_scheduler"].state["base_lr"] == 0.25
    for path in tmp_path.glob("*.numpy"):
        assert_same(load_states(path.read_bytes())[0], np.array(2.5, "float32"))


@pytest.mark.oracle
def test_mxnet_reads_arrays_of_numpy_shapes(oracle, tmp_path: Path):
    path = tmp_path / "ours.states"
    path.write_bytes(dump_states([ArrayRecord("float32", (), np.float32(2.5).tobytes())], numpy_arrays=True))
    assert oracle(READ_BACK_BY_MXNET, path) == "mxnet.numpy ndarray () 2.5\n"
