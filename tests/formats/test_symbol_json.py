"""Symbol JSON: every layout read, the current one written byte for byte as MXNet 1.9.1 writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.errors import FormatError
from twofold.formats.symbol_json import dump_symbol, load_symbol
from twofold.formats.symbol_records import GraphRecord, NodeRecord

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN_BY_MXNET = [
    "gluon_export",
    "module_mlp",
    "sym_attrs",
    "sym_convnet",
    "sym_deconv_ups",
    "sym_foreach",
    "sym_fused_lstm",
    "sym_mlp",
    "sym_multi_out",
]
VERSION = {"mxnet_version": ["int", 10901]}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def variable(name: str, **fields: Any) -> dict[str, Any]:
    return {"op": "null", "name": name, "inputs": [], **fields}


def relu(*inputs: list[int], **fields: Any) -> dict[str, Any]:
    return {"op": "relu", "name": "r", "inputs": list(inputs or [[0, 0, 0]]), **fields}


def graph(*nodes: dict[str, Any], **fields: Any) -> str:
    found = {"nodes": list(nodes), "arg_nodes": [], "heads": [[len(nodes) - 1, 0, 0]] if nodes else [], "attrs": VERSION, **fields}
    return json.dumps({key: value for key, value in found.items() if value is not None})


def dense_layer(attr: dict[str, str], weight: dict[str, str] | None = None, **fields: Any) -> str:
    """A fully connected layer as MXNet 0.8 laid it out, unless told otherwise."""
    nodes = [
        variable("data", param={}, backward_source_id=-1),
        variable("fc_weight", attr=weight or {}),
        variable("fc_bias"),
        {"op": "FullyConnected", "param": {"num_hidden": "3"}, "name": "fc", "inputs": [[0, 0], [1, 0], [2, 0]], "attr": attr},
    ]
    return graph(*nodes, **{"arg_nodes": [0, 1, 2], "heads": [[3, 0]], "attrs": None, **fields})


@pytest.mark.parametrize("name", WRITTEN_BY_MXNET)
def test_mxnets_symbol_files_round_trip_byte_for_byte(shared: Path, name: str):
    data = (shared / "fixtures" / f"{name}-symbol.json").read_bytes()
    assert dump_symbol(load_symbol(data)).encode() == data


@pytest.mark.parametrize("name", [name for name in WRITTEN_BY_MXNET if name.startswith("sym_")])
def test_variables_and_attributes_are_those_that_mxnet_names(shared: Path, name: str):
    expected = json.loads((shared / "fixtures" / f"{name}.expected.json").read_text())
    record = load_symbol((shared / "fixtures" / f"{name}-symbol.json").read_bytes())
    variables = [record.nodes[index].name for index in record.arg_nodes]
    assert sorted(variables) == sorted(expected["arguments"] + expected["aux"])
    # attr_dict() shows a hidden attribute under both of its spellings.
    told = {name: {key: attrs[key] for key in attrs if f"__{key}__" not in attrs} for name, attrs in expected["attr_dict"].items()}
    assert {node.name: node.attrs for node in record.nodes if node.attrs} == told


def test_a_node_has_its_operator_attributes_and_inputs():
    record = load_symbol(graph(variable("x"), relu([0, 0, 2], attrs={"a": "1"})))
    assert record.nodes == (NodeRecord("null", "x"), NodeRecord("relu", "r", {"a": "1"}, ((0, 0, 2),)))
    assert record.heads == ((1, 0, 0),)


def test_control_dependencies_and_subgraphs_are_kept(shared: Path):
    record = load_symbol((shared / "fixtures" / "sym_foreach-symbol.json").read_bytes())
    body = record.nodes[2].subgraphs[0]
    assert [node.op for node in body.nodes] == ["null", "null", "elemwise_add", "elemwise_add"]
    nodes = (*record.nodes[:2], replace(record.nodes[2], control_deps=(0, 1)))
    assert load_symbol(dump_symbol(replace(record, nodes=nodes))).nodes[2].control_deps == (0, 1)


def test_the_version_of_a_file_that_does_not_name_it_is_0_8():
    assert load_symbol(dense_layer({})).version == 800


def test_numpy_shapes_are_an_attribute_of_the_graph():
    assert load_symbol(graph(variable("x"), attrs={"is_np_shape": ["int", 1], **VERSION})).has_numpy_shapes
    assert not load_symbol(graph(variable("x"))).has_numpy_shapes


def test_entries_may_leave_out_their_version():
    assert load_symbol(dense_layer({})).nodes[3].inputs == ((0, 0, 0), (1, 0, 0), (2, 0, 0))


def test_old_parameters_and_attributes_become_one():
    assert load_symbol(dense_layer({"ctx_group": "a"})).nodes[3].attrs == {"num_hidden": "3", "__ctx_group__": "a"}


def test_the_later_of_attr_and_attrs_wins_over_param():
    node = {"op": "null", "name": "x", "attr": {"a": "1", "c": "1"}, "attrs": {"a": "2"}, "param": {"a": "3", "d": "3"}, "inputs": []}
    assert load_symbol(graph(node)).nodes[0].attrs == {"a": "2", "d": "3"}


def test_unknown_keys_are_kept():
    data = graph(variable("x", note={"by": ["us", 1]}), made_by="us")
    record = load_symbol(dump_symbol(load_symbol(data)))
    assert (record.extra, record.nodes[0].extra) == ({"made_by": "us"}, {"note": {"by": ["us", 1]}})


@pytest.mark.parametrize("pointer", [[0, 5], [0, "1"], [1, 1, 2], [0, 2, 1], 7])
def test_an_inconsistent_row_pointer_is_dropped_as_in_mxnet(pointer: object):
    assert load_symbol(graph(variable("x"), relu(), node_row_ptr=pointer)).node_row_ptr is None


def test_control_characters_stand_for_themselves_in_strings():
    record = GraphRecord((NodeRecord("null", 'q"\\/\b\n\t\r\x01ü'),), (0,), ((0, 0, 0),))
    text = dump_symbol(record)
    assert r"q\"\\/" + "\b" + r"\n\t\r" + "\x01ü" in text
    assert load_symbol(text) == record


@given(st.lists(st.tuples(TEXT, st.dictionaries(TEXT, TEXT, max_size=3)), max_size=13))
def test_graphs_round_trip(described: list[tuple[str, dict[str, str]]]):
    nodes = tuple(
        NodeRecord("op" if position else "null", name, attrs, tuple((index, 0, 0) for index in range(position)))
        for position, (name, attrs) in enumerate(described)
    )
    record = GraphRecord(
        nodes, (0,) if nodes else (), tuple((index, 0, 0) for index in range(len(nodes))), {"mxnet_version": ("int", 10901)}
    )
    assert load_symbol(dump_symbol(record)) == record


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ("1" * 5000, "a number cannot be read"),
        ("[" + "[]," * 2_000_000 + "[]]", "far more memory"),
        ("[]", "symbol: not an object with keys"),
        (graph(variable("x"), heads=None), "symbol: 'heads' is missing"),
        (graph(variable("x"), arg_nodes=None), "symbol: 'arg_nodes' is missing"),
        (graph({"op": "null", "inputs": []}), "node 0: 'name' is missing"),
        (graph({"op": "null", "name": "x"}), r"node 0 \('x'\): 'inputs' is missing"),
        (graph({"name": "x", "inputs": []}), r"node 0 \('x'\): 'op' is missing"),
        (graph(variable("x", attrs={"a": 1})), "attribute 'a': not a string"),
        (graph(variable("\ud800")), "not UTF-8"),
        (graph(variable("x"), relu([0])), "an entry is not"),
        (graph(variable("x"), relu([0, 0, 0, 0])), "an entry is not"),
        (graph(variable("x"), relu([0, -1])), "an entry is not"),
        (graph(variable("x"), relu([0, True])), "an entry is not"),
        (graph(variable("x"), relu([0, 2**31])), "an entry is not"),
        (graph(variable("x"), relu([1, 0])), r"node 1 \('r'\) reads a node that does not come before it"),
        (graph(variable("x"), relu([7, 0])), "does not come before it"),
        (graph(variable("x"), relu(control_deps=[1])), "waits for a node"),
        (graph(variable("x"), relu(), arg_nodes=[1]), "arg_nodes refers to a node that is not a variable"),
        (graph(variable("x"), arg_nodes=[5]), "arg_nodes refers to a node that is not a variable"),
        (graph(variable("x"), arg_nodes=["0"]), "not an index"),
        (graph(variable("x"), heads=[[1, 0, 0]]), "an output refers to a missing node"),
        (graph(variable("x"), {"op": "null", "name": "y", "inputs": [[0, 0]]}), "is a variable and has inputs"),
        (graph(variable("x"), attrs={"mxnet_version": 10901}), "is not .type, number"),
        (graph(variable("x"), attrs={"mxnet_version": ["str", "1"]}), "mxnet_version must be an int"),
        (graph(variable("x"), relu(subgraphs=[{"nodes": [1]}])), r"node 1 \('r'\): subgraph: "),
    ],
)
def test_invalid_symbol_files_are_rejected(data: str | bytes, reason: str):
    with pytest.raises(FormatError, match=reason):
        load_symbol(data)


def test_nesting_of_subgraphs_is_bounded():
    inner = json.loads(graph(variable("x")))
    for _ in range(40):
        inner = json.loads(graph(variable("x"), relu(subgraphs=[inner])))
    with pytest.raises(FormatError, match="nested too deeply"):
        load_symbol(json.dumps(inner))


def test_a_graph_that_could_not_be_read_is_not_written():
    with pytest.raises(FormatError, match="does not come before it"):
        dump_symbol(GraphRecord((NodeRecord("relu", "r", {}, ((0, 0, 0),)),), (), ()))


HIDDEN = {"ctx_group": "d", "weight_lr_mult": "3", "bias_wd_mult": "0", "mirror_stage": "1", "force_mirroring": "True", "lr_mult": "9"}
OLD_LAYERS = {
    "attributes of nodes and their inputs": dense_layer(HIDDEN),
    "an attribute that the input has itself": dense_layer({"weight_lr_mult": "3"}, {"lr_mult": "5"}),
    "an attribute of the data": dense_layer({"data_lr_mult": "3"}),
    "attributes that are spelt the new way": dense_layer({"__foo__": "3", "__lr_mult__": "2"}),
    "1.9.0, the last version that is upgraded": dense_layer({"wd_mult": "2"}, attrs={"mxnet_version": ["int", 10900]}),
    "argmax over the last axis in 0.9.4": graph(
        variable("x"), {"op": "argmax", "name": "a", "inputs": [[0, 0, 0]], "attrs": {"axis": "-1"}}, attrs={"mxnet_version": ["int", 904]}
    ),
    "argmax over the last axis in 0.9.5": graph(
        variable("x"), {"op": "argmax", "name": "a", "inputs": [[0, 0, 0]], "attrs": {"axis": "-1"}}, attrs={"mxnet_version": ["int", 905]}
    ),
    "attributes of a variable of 1.9.1": graph(variable("x", attrs={"lr_mult": "2", "__wd_mult__": "7"})),
}


def test_attributes_of_an_input_are_found_by_the_names_that_the_caller_gives():
    nodes = [variable("a"), variable("b"), {"op": "Concat", "name": "c", "inputs": [[0, 0], [1, 0]], "attr": {"arg1_lr_mult": "2"}}]
    data = graph(*nodes, attrs=None)
    named = load_symbol(data, input_names=lambda node, inputs: [f"arg{i}" for i in range(len(inputs))])
    assert [node.attrs for node in named.nodes] == [{}, {"__lr_mult__": "2"}, {}]
    assert load_symbol(data).nodes[2].attrs == {"arg1_lr_mult": "2"}


LOADED_BY_MXNET = """
import json, sys, mxnet as mx
print(json.dumps([mx.sym.load_json(text).tojson() for text in json.load(open(sys.argv[1]))]))
"""


@pytest.fixture(scope="module")
def loaded_by_mxnet(oracle: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[str]]:
    """What MXNet writes after it has loaded each of some symbols."""

    def load(texts: list[str]) -> list[str]:
        path = tmp_path_factory.mktemp("symbols") / "texts.json"
        path.write_text(json.dumps(texts))
        return json.loads(oracle(LOADED_BY_MXNET, path))

    return load


@pytest.mark.oracle
def test_old_files_are_upgraded_as_mxnet_upgrades_them(loaded_by_mxnet):
    for text, written in zip(OLD_LAYERS.values(), loaded_by_mxnet(list(OLD_LAYERS.values())), strict=True):
        ours, theirs = load_symbol(text), load_symbol(written)
        assert ours.nodes == theirs.nodes
        assert ours.heads == theirs.heads


@pytest.mark.oracle
def test_mxnet_round_trips_our_symbol_files(shared: Path, loaded_by_mxnet):
    records = [load_symbol((shared / "fixtures" / f"{name}-symbol.json").read_bytes()) for name in WRITTEN_BY_MXNET]
    version = {"mxnet_version": ("int", 10901)}
    names = ["x", 'tab\tquote"back\\slash\nline', "ünï", "c\x01"]
    variables = tuple(NodeRecord("null", f"{name}{i}") for i, name in enumerate(names * 3))
    entries = tuple((index, 0, 0) for index in range(12))
    total = NodeRecord("add_n", "sum", {"num_args": "12", "__z__": "ü", "__Z__": "1"}, entries, control_deps=(0,))
    records += [
        GraphRecord((*variables, total), tuple(range(12)), ((12, 0, 0), *entries), version, tuple(range(14))),
        GraphRecord((), (), (), version, (0,)),
    ]
    texts = list(map(dump_symbol, records))
    for text, written in zip(texts, loaded_by_mxnet(texts), strict=True):
        assert written == text
