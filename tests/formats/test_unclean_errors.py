"""Damaged files that parse, and names and sizes beyond all limits: each is refused by the documented class of errors."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import DeviceOutOfMemory, FileAccessError, FormatError, MissingFileError, MXNetError, ParameterError
from twofold.formats.pickle_records import load_states
from twofold.formats.pickle_writer import dump_states
from twofold.kvstore.checkpoint import checked_json

from tests.formats.mutations import CASES, mutated, outcomes

if TYPE_CHECKING:
    from pathlib import Path

    from twofold.formats.records import ObjectRecord

pytestmark = [pytest.mark.timeout(240)]
SURROGATE = "\ud800"
VALUES: list[Any] = [None, True, -1, 0, 1e308, float("nan"), "", "x", "a\0b", [], {}, [[]], {"a": 1}, 10**30, 2**63, [[[[]]]]]


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in [(value, key), *places_in(value[key])]]


def edited_json(seed: int, files: list[bytes]) -> bytes:
    """Bytes that are changed at random, or JSON in which values are replaced or left out."""
    draw = random.Random(seed)
    if draw.random() < 0.3:
        return mutated(seed, files)
    tree = json.loads(draw.choice(files))
    for _ in range(draw.choice([1, 1, 2, 4])):
        places = places_in(tree)
        if places:
            container, key = draw.choice(places if draw.random() < 0.5 else places[:20])
            if draw.random() < 0.3:
                del container[key]
            else:
                container[key] = copy.deepcopy(draw.choice(VALUES))
    return json.dumps(tree).encode()


def with_right_checksum(seed: int, files: list[bytes]) -> bytes:
    """A changed file of a checkpoint whose checksum is right: what a wrong program would write."""
    whole = json.loads(files[0])
    del whole["checksum"]
    data = edited_json(seed, [json.dumps(whole).encode()])
    try:
        tree = json.loads(data)
    except ValueError:
        return data
    return checked_json(tree) if isinstance(tree, dict) and tree else data


@pytest.mark.fuzz
def test_checkpoints_of_clusters(tmp_path: Path):
    mx.kv.save_checkpoint(tmp_path, 1, mx.kv.create("local"), {"w": mx.nd.ones((2, 3))}, own={"at": [1, 2]})
    random_state = mx.random.get_state()
    for path in tmp_path.glob("*.json"):
        whole = path.read_bytes()

        def load(data: bytes, path: Path = path) -> None:
            path.write_bytes(data)
            mx.kv.load_checkpoint(tmp_path)

        loaded, refused = outcomes([whole], load, with_right_checksum, (FormatError, MissingFileError))
        assert min(loaded, refused) > CASES // 40
        path.write_bytes(whole)
    mx.random.set_state(random_state)


@pytest.mark.parametrize("position", [-1, 625, 10**6])
def test_a_position_beyond_numpys_words_is_refused(tmp_path: Path, position: int):
    mx.kv.save_checkpoint(tmp_path, 1, mx.kv.create("local"), {})
    [path] = tmp_path.glob("*-of-1.json")
    share = json.loads(path.read_text())
    share["numpy"][2] = position  # NumPy would read words beyond its memory
    del share["checksum"]
    path.write_bytes(checked_json(share))
    before = np.random.get_state()  # noqa: NPY002
    with pytest.raises(FormatError, match="random streams"):
        mx.kv.load_checkpoint(tmp_path)
    assert np.random.get_state()[2] == before[2]  # noqa: NPY002


@pytest.mark.parametrize(
    "change",
    [{"seed": "x"}, {"streams": 3}, {"streams": {"cpu(0)": [1, -1, 0]}}, {"streams": {"cpu(0)": [1, 2, 2**64]}}, {"streams": {3: []}}],
)
def test_wrong_states_of_random_streams_change_nothing(change: dict[str, Any]):
    before = mx.random.get_state()
    with pytest.raises(ParameterError, match="not a state"):
        mx.random.set_state({**before, **change})
    assert mx.random.get_state() == before


TRACE = {
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "cpu"}},
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "main"}},
        {"ph": "X", "name": "add", "cat": "operator", "pid": 0, "tid": 1, "ts": 10.0, "dur": 5.0},
        *(
            {"ph": "X", "name": "sum", "cat": "communication", "pid": 0, "tid": 1, "ts": 9.0 * k, "dur": 5.0, "args": {"operation": k}}
            for k in range(3)
        ),
    ],
    "otherData": {"processes": ["worker 0"]},
}


@pytest.mark.fuzz
def test_traces(tmp_path: Path):
    whole, other = json.dumps(TRACE).encode(), tmp_path / "other.json"

    def load(data: bytes) -> None:
        other.write_bytes(data)
        (tmp_path / "first.json").write_bytes(whole)
        mx.profiler.merge_traces([tmp_path / "first.json", other], tmp_path / "all.json")
        mx.viz.plot_cluster(other)
        mx.viz.plot_timeline(other)

    load(whole)  # so that importing `mx.viz` is not part of the memory that a file takes
    loaded, refused = outcomes([whole], load, edited_json, (FormatError, ParameterError))
    assert min(loaded, refused) > CASES // 40


def test_a_span_of_a_trace_without_a_thread_is_refused(tmp_path: Path):
    trace = copy.deepcopy(TRACE)
    del trace["traceEvents"][2]["tid"]
    (tmp_path / "a.json").write_text(json.dumps(trace))
    with pytest.raises(FormatError, match="not an event"):
        mx.viz.plot_timeline(tmp_path / "a.json")


@pytest.mark.parametrize("create", [mx.init.create, mx.metric.create])
def test_a_configuration_with_an_unknown_parameter_is_refused(create: Any):
    name = "xavier" if create is mx.init.create else "acc"
    with pytest.raises(ParameterError, match="no_such_parameter"):
        create(json.dumps([name, {"no_such_parameter": 2}]))


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("encoding", ["utf8", "ascii", "utf-16"])
def test_word_vectors(tmp_path: Path, encoding: str):
    def load(data: bytes) -> None:
        path = tmp_path / "vectors.txt"
        path.write_bytes(data)
        mx.contrib.text.embedding.CustomEmbedding(path, encoding=encoding)

    text = "cat 1 2 3\ndog 3 4 5\n" + ("flo\u00df 4 5 6\n" if encoding != "ascii" else "")
    loaded, refused = outcomes([text.encode(encoding)], load)
    assert min(loaded, refused) > CASES // 40


def states_of(name: str) -> tuple[dict[int, Any], ObjectRecord]:
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), name, kvstore=None)
    step(net, trainer)
    states, optimizer = load_states(trainer._updaters[0].get_states(dump_optimizer=True))
    return states, optimizer


def step(net: mx.gluon.Block, trainer: mx.gluon.Trainer) -> None:
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 3)))
    loss.backward()
    trainer.step(1)
    mx.nd.waitall()


@pytest.mark.parametrize("name", ["sgd", "adam", "nag", "rmsprop", "adagrad", "ftrl", "nadam", "lamb", "lars", "signum", "dcasgd"])
def test_states_that_lack_an_attribute_are_refused_as_they_are_loaded(tmp_path: Path, name: str):
    states, optimizer = states_of(name)
    refused = 0
    for left_out in optimizer.state:
        state = {key: value for key, value in optimizer.state.items() if key != left_out}
        (tmp_path / "a.states").write_bytes(dump_states((states, dataclasses.replace(optimizer, state=state))))
        net = mx.gluon.nn.Dense(2, in_units=3)
        net.initialize()
        trainer = mx.gluon.Trainer(net.collect_params(), name)
        try:
            trainer.load_states(tmp_path / "a.states")
        except FormatError as error:
            assert left_out in str(error)  # noqa: PT017
            refused += 1
        else:
            step(net, trainer)
    assert refused > 8


@pytest.mark.parametrize(
    ("name", "value"), [("lr", "x"), ("wd", None), ("idx2name", 3), ("_all_index_update_counts", {0: 3}), ("beta1", [])]
)
def test_attributes_of_another_kind_are_refused(name: str, value: object):
    states, optimizer = states_of("adam")
    data = dump_states((states, dataclasses.replace(optimizer, state={**optimizer.state, name: value})))
    with pytest.raises(FormatError, match=f"the attribute {name} of Adam"):
        mx.optimizer.get_updater(mx.optimizer.create("adam")).set_states(data)


@pytest.mark.parametrize("state", [3, "x", (), {"a": 1}])
def test_a_state_that_the_optimizer_cannot_update_is_named(state: object):
    states, optimizer = states_of("adam")
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater.set_states(dump_states(({**states, 0: state}, optimizer)))
    with pytest.raises(FormatError, match="state of 0"):
        updater(0, mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))


DEEP = ["[" * 100_000 + "]" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000, "[" + "9" * 5000 + "]"]


@pytest.mark.parametrize("text", DEEP, ids=["list", "dict", "number"])
def test_json_that_is_too_deep_is_refused(tmp_path: Path, text: str):
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    net.save(tmp_path / "net")
    (tmp_path / "net-model.json").write_text(text)
    for load in (
        lambda: net.load(tmp_path / "net"),
        lambda: mx.init.create(text),
        lambda: mx.metric.create(text),
        lambda: mx.viz.plot_cluster(tmp_path / "net-model.json"),
    ):
        with pytest.raises(FormatError):
            load()


def test_names_that_no_file_can_hold(tmp_path: Path):
    a, symbol = mx.nd.ones((2,)), mx.sym.var(SURROGATE) + 1
    indexed = mx.recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w", key_type=str)
    for save in (
        lambda: mx.nd.save(tmp_path / "a.params", {SURROGATE: a}),
        lambda: mx.nd.save(tmp_path / "a.safetensors", {SURROGATE: a}),
        lambda: mx.npx.save(str(tmp_path / "a.npy"), {SURROGATE: mx.np.ones(2)}),
        lambda: symbol.save(tmp_path / "a.json"),
        lambda: mx.sym.var("a", attr={SURROGATE: "x"}).tojson(),
        lambda: indexed.write_idx(SURROGATE, b"record"),
    ):
        with pytest.raises(ParameterError, match="half of a surrogate pair"):
            save()
    assert indexed.tell() == 0  # no record without an entry
    for use in (mx.nd.load, mx.sym.load, mx.image.imread, lambda path: mx.nd.save(path, [a])):
        with pytest.raises(FileAccessError, match="cannot encode"):
            use(str(tmp_path / SURROGATE))


CREATIONS = {
    "zeros": lambda m, n: m.zeros((n,)),
    "ones": lambda m, n: m.ones((n,)),
    "empty": lambda m, n: m.empty((n,)),
    "full": lambda m, n: m.full((n,), 2),
    "arange": lambda m, n: m.arange(n),
    "linspace": lambda m, n: m.linspace(0, 1, n),
    "eye": lambda m, n: m.eye(n),
}
NUMPYS = {
    "bincount": lambda m, n: m.bincount(m.array([1]), minlength=n),
    "tri": lambda m, n: m.tri(n),
    "indices": lambda m, n: m.indices((n,)),
    "repeat": lambda m, n: m.repeat(m.ones(1), n),
    "tile": lambda m, n: m.tile(m.ones(1), n),
    "hanning": lambda m, n: m.hanning(n),
    "uniform": lambda m, n: m.random.uniform(0, 1, (n,)),
}
SPARSE = {"csr": lambda m, n: m.sparse.zeros("csr", (n, 2)), "rows": lambda m, n: m.sparse.zeros("row_sparse", (n, 2)).tostype("default")}


@pytest.mark.parametrize("count", [2**46, 2**62, 2**70])
@pytest.mark.parametrize(
    ("module", "name"),
    [*((m, name) for m in ("nd", "np") for name in CREATIONS), *(("np", name) for name in NUMPYS), *(("nd", name) for name in SPARSE)],
)
def test_creations_that_do_not_fit(module: str, name: str, count: int):
    make = (CREATIONS | NUMPYS | SPARSE)[name]
    with pytest.raises(MXNetError) as raised:
        make(getattr(mx, module), count).wait_to_read()
    assert isinstance(raised.value, DeviceOutOfMemory | ParameterError)


@pytest.mark.parametrize("step", [None, "a", float("nan")])
def test_steps_of_a_schedule_that_are_no_numbers(step: object) -> None:
    with pytest.raises(ParameterError, match="increasing integer list"):
        mx.lr_scheduler.FactorScheduler(step)
    with pytest.raises(ParameterError, match="increasing integer list"):
        mx.lr_scheduler.MultiFactorScheduler([step])


def test_a_negative_update_has_no_learning_rate() -> None:
    for schedule in (mx.lr_scheduler.PolyScheduler(10), mx.lr_scheduler.FactorScheduler(10)):
        with pytest.raises(ParameterError, match="negative"):
            schedule(-5)


def test_a_name_with_half_of_a_surrogate_pair_is_shown_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    mx.viz.print_summary(mx.sym.FullyConnected(mx.sym.var("a\ud800"), num_hidden=3), shape={"a\ud800": (1, 2)})
    assert "a\\ud800" in capsys.readouterr().out
