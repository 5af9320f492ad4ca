"""Damaged files: each mutation of a real one loads or raises FormatError, in bounded time and memory, and nothing else happens.

Each through the parser of its format, and through the functions that users call.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import twofold as mx
from twofold.errors import MXNetError
from twofold.formats.datasets import load_idx
from twofold.formats.images import load_image
from twofold.formats.params import load_params
from twofold.formats.pickle_records import load_states
from twofold.formats.recordio import RecordReader, dump_record, load_index
from twofold.formats.safetensors import dump_safetensors, load_safetensors
from twofold.formats.symbol_json import dump_symbol, load_symbol

from tests.formats.mutations import CASES, contents, mutated, outcomes

if TYPE_CHECKING:
    from pathlib import Path

#: What a node's entries may become where a file's JSON stays well-formed.
VALUES = ["", "x", "-1", "0", "3", "99999999999", "1e999", "(2, 2)", "((((", "None", "True", "[0, 1]", "nan", "(-1,)", "9" * 5000]


def node_edit(draw: random.Random, graph: dict) -> None:
    """One change of a node that parses: an attribute, the inputs, the operator, a body's."""
    node = draw.choice(graph["nodes"])
    if node.get("subgraphs") and draw.random() < 0.5:
        return node_edit(draw, draw.choice(node["subgraphs"]))
    attrs = node.setdefault(next((k for k in ("attrs", "attr", "param") if k in node), "attrs"), {})
    match draw.randrange(8):
        case 0 if attrs:
            del attrs[draw.choice(list(attrs))]
        case 1 | 2 if attrs:
            attrs[draw.choice(list(attrs))] = draw.choice(VALUES)
        case 3:
            attrs[draw.choice(["foo", "__foo__", "__shape__", "__dtype__", "num_args", "axis", "no_bias"])] = draw.choice(VALUES)
        case 4:
            node["inputs"] = node["inputs"] * draw.randint(0, 2)
        case 5 if node["inputs"]:
            del node["inputs"][draw.randrange(len(node["inputs"]))]
        case 6:
            node["op"] = (
                draw.choice(graph["nodes"])["op"] if draw.random() < 0.8 else draw.choice(["Custom", "_cond", "Concat", "NoSuchOp"])
            )
        case _:
            node["inputs"] = [[draw.randrange(len(graph["nodes"])), draw.randint(0, 1), 0] for _ in range(draw.randint(0, 3))]
    return None


def edited_symbol(seed: int, files: list[bytes]) -> bytes:
    """A symbol's file that is well-formed JSON, with changed nodes."""
    draw = random.Random(seed)
    graph = json.loads(draw.choice(files))
    for _ in range(draw.choice([1, 1, 2])):
        node_edit(draw, graph)
    return json.dumps(graph).encode()


def written_again(data: bytes) -> str:
    return dump_symbol(load_symbol(data))


def touched(data: bytes) -> list[bytes]:
    return [bytes(array.data) for array in load_params(data).arrays]


def in_use(symbol: mx.sym.Symbol) -> None:
    """Use a symbol from a file: only errors in its shapes may surface this late, as errors of the library."""
    symbol.list_arguments(), symbol.list_outputs(), symbol.list_auxiliary_states(), symbol.get_internals().list_outputs()
    assert mx.sym.load_json(symbol.tojson()).list_inputs() == symbol.list_inputs()
    for ask in (symbol.infer_type_partial, symbol.infer_shape_partial):
        with contextlib.suppress(MXNetError):
            ask()


def network_of_states() -> mx.gluon.Block:
    """The network whose trainer has written the states among the fixtures."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3, in_channels=3), mx.gluon.nn.BatchNorm(in_channels=4), mx.gluon.nn.Dense(5, in_units=36))
    net.initialize()
    return net


def all_records(data: bytes) -> None:
    """Read a file of records to its end, and find the same by an index of it."""
    reader = RecordReader(io.BytesIO(data))
    records = list(iter(reader.read, None))
    assert b"".join(map(dump_record, records)) == data or len(records) == len(list(reader.offsets()))


pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(120)]


def test_parameter_files(shared: Path):
    loaded, refused = outcomes(contents(shared / "fixtures", "*.params", "*.nd"), touched)
    assert min(loaded, refused) > CASES // 20


def test_symbol_files(shared: Path):
    loaded, refused = outcomes(contents(shared / "fixtures", "*-symbol.json"), written_again)
    assert min(loaded, refused) > CASES // 20


def test_record_files(shared: Path):
    loaded, refused = outcomes(contents(shared / "fixtures", "*.rec"), all_records)
    assert min(loaded, refused) > CASES // 20


def test_indexes_of_record_files(shared: Path):
    loaded, refused = outcomes(contents(shared / "fixtures", "*.idx"), load_index)
    assert min(loaded, refused) > CASES // 20


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("channels", [None, 1, 3])
def test_images(shared: Path, channels: int | None):
    file = mx.recordio.MXIndexedRecordIO(shared / "fixtures" / "images.idx", shared / "fixtures" / "images.rec", "r")
    images = [mx.recordio.unpack(file.read_idx(key))[1] for key in range(6)]
    loaded, refused = outcomes(images, lambda data: load_image(data, channels))
    assert min(loaded, refused) > CASES // 20


def test_optimizer_state_files(shared: Path):
    loaded, refused = outcomes(contents(shared / "fixtures", "*.states"), load_states)
    assert min(loaded, refused) > CASES // 20


def test_safetensors_files(shared: Path):
    files = [load_params(data) for data in contents(shared / "fixtures", "gluon_*.params", "np_shape_semantics.params")]
    loaded, refused = outcomes([dump_safetensors(dict(zip(file.names, file.arrays, strict=True))) for file in files], load_safetensors)
    assert min(loaded, refused) > CASES // 20


def test_idx_files(shared: Path):
    loaded, refused = outcomes(contents(shared / "fixtures", "tiny-*-ubyte"), load_idx)
    assert min(loaded, refused) > CASES // 20


# through what users call


def test_parameter_files_through_load(shared: Path, tmp_path: Path):
    def load(data: bytes) -> None:
        path = tmp_path / "damaged.params"
        path.write_bytes(data)
        found = mx.nd.load(path)
        for array in found.values() if isinstance(found, dict) else found:
            array.asnumpy()

    mx.context.num_gpus()  # a damaged file may name a GPU: importing its adapter is not part of the memory that loading takes
    loaded, refused = outcomes(contents(shared / "fixtures", "*.params", "*.nd"), load)
    assert min(loaded, refused) > CASES // 20


@pytest.mark.parametrize("mutate", [mutated, edited_symbol])
def test_symbol_files_through_load(shared: Path, tmp_path: Path, mutate: Callable[[int, list[bytes]], bytes]):
    def load(data: bytes) -> None:
        path = tmp_path / "damaged-symbol.json"
        path.write_bytes(data)
        in_use(mx.sym.load(path))

    loaded, refused = outcomes(contents(shared / "fixtures", "*-symbol.json"), load, mutate)
    assert min(loaded, refused) > CASES // 40


def test_optimizer_states_through_set_states(shared: Path):
    def load(data: bytes) -> None:
        mx.optimizer.get_updater(mx.optimizer.create("adam")).set_states(data)

    loaded, refused = outcomes(contents(shared / "fixtures", "*.states"), load)
    assert min(loaded, refused) > CASES // 20


def test_optimizer_states_through_a_trainer(shared: Path, tmp_path: Path):
    net = network_of_states()

    def load(data: bytes) -> None:
        path = tmp_path / "damaged.states"
        path.write_bytes(data)
        mx.gluon.Trainer(net.collect_params(), "adam").load_states(path)

    loaded, refused = outcomes(contents(shared / "fixtures", "gluon_*.states"), load)
    assert min(loaded, refused) > CASES // 20
