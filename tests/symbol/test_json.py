"""Files: MXNet's are read and written back unchanged; ours are read by MXNet, with the same results."""

import json

import numpy as np
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold.errors import FormatError, OperatorError

sym = mx.sym
FIXTURES = ("mlp", "convnet", "multi_out", "fused_lstm", "foreach", "deconv_ups", "attrs")


@pytest.mark.parametrize("name", FIXTURES)
def test_mxnets_files_round_trip_unchanged(shared, name):
    text = (shared / f"fixtures/sym_{name}-symbol.json").read_text()
    symbol = sym.load_json(text)
    expected = json.loads((shared / f"fixtures/sym_{name}.expected.json").read_text())
    assert json.loads(symbol.tojson()) == json.loads(text)
    assert symbol.list_arguments() == expected["arguments"]
    assert symbol.list_auxiliary_states() == expected["aux"]
    assert symbol.list_outputs() == expected["outputs"]
    assert symbol.attr_dict() == expected["attr_dict"]


def test_unknown_attributes_and_keys_survive():
    text = """{"nodes": [{"op": "null", "name": "a", "inputs": [], "note": [1]},
        {"op": "exp", "name": "e", "attrs": {"__mine__": "x"}, "inputs": [[0, 0, 0]], "control_deps": [0]}],
        "arg_nodes": [0], "heads": [[1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""
    nodes = json.loads(sym.load_json(text).tojson())["nodes"]
    assert nodes[0]["note"] == [1]
    assert nodes[1]["attrs"] == {"__mine__": "x"}
    assert nodes[1]["control_deps"] == [0]


def test_an_unknown_operator_round_trips_and_cannot_be_bound():
    text = """{"nodes": [{"op": "null", "name": "a", "inputs": []}, {"op": "_strange", "name": "s", "inputs": [[0, 0, 0]]}],
        "arg_nodes": [0], "heads": [[1, 1, 0]], "node_row_ptr": [0, 1, 3], "attrs": {"mxnet_version": ["int", 10901]}}"""
    strange = sym.load_json(text)
    assert json.loads(strange.tojson())["heads"] == [[1, 1, 0]]
    with pytest.raises(OperatorError, match="_strange"):
        strange.simple_bind(mx.current_context(), a=(1,))


def test_states_missing_from_old_files_are_created():
    nodes = [{"op": "null", "name": n, "inputs": []} for n in ("a", "bn_gamma", "bn_beta")]
    nodes.append({"op": "BatchNorm", "name": "bn", "param": {"eps": "0.1"}, "inputs": [[0, 0], [1, 0], [2, 0]], "backward_source_id": -1})
    symbol = sym.load_json(json.dumps({"nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[3, 0]]}))
    assert symbol.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert symbol.list_attr() == {"eps": "0.1"}


def test_a_nonexistent_output_of_a_node_is_rejected():
    text = '{"nodes": [{"op": "null", "name": "a", "inputs": []}], "arg_nodes": [0], "heads": [[0, 3, 0]]}'
    with pytest.raises(FormatError, match="output 3 of a"):
        sym.load_json(text)


def test_a_state_used_twice_counts_its_versions():
    mean, var = sym.var("mean"), sym.var("var")
    first = sym.BatchNorm(sym.var("a"), moving_mean=mean, moving_var=var, name="p")
    second = sym.BatchNorm(first, moving_mean=mean, moving_var=var, name="q")
    nodes = {n["name"]: n["inputs"] for n in json.loads(second.tojson())["nodes"]}
    assert [e[2] for e in nodes["p"]] == [0, 0, 0, 1, 1]
    assert [e[2] for e in nodes["q"]] == [0, 0, 0, 2, 2]


def test_mixed_precision_casts_are_omitted_unless_requested():
    text = """{"nodes": [{"op": "null", "name": "a", "inputs": []}, {"op": "amp_cast", "name": "c", "attrs": {"dtype": "float16"},
        "inputs": [[0, 0, 0]]}, {"op": "exp", "name": "e", "inputs": [[1, 0, 0]]}],
        "arg_nodes": [0], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""
    symbol = sym.load_json(text)
    assert [n["op"] for n in json.loads(symbol.tojson())["nodes"]] == ["null", "exp"]
    assert [n["op"] for n in json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]] == ["null", "amp_cast", "exp"]


def test_casts_of_mixed_precision_stay_where_they_are_outputs():
    """The nodes that MXNet 1.9.1 writes for these symbols."""
    x, b = mx.sym.Variable("x"), mx.sym.Variable("b")
    first = mx.sym.amp_cast(x, dtype="float16", name="first")
    middle = mx.sym.exp(first, name="middle")
    last = mx.sym.amp_cast(middle, dtype="float32", name="last")
    both = mx.sym.amp_multicast(x, b, num_outputs=2, name="both")

    def written(*heads):
        graph = json.loads(mx.sym.Group([*heads]).tojson())
        return [node["name"] for node in graph["nodes"]], [head[:2] for head in graph["heads"]]

    assert written(last) == (["x", "middle", "last"], [[2, 0]])
    assert written(last, middle, last) == (["x", "middle", "last"], [[2, 0], [1, 0], [2, 0]])
    assert written(mx.sym.amp_cast(first, dtype="float32", name="second")) == (["x", "second"], [[1, 0]])
    assert written(*both) == (["x", "b", "both"], [[2, 0], [2, 1]])
    assert written(mx.sym.negative(both[1], name="rest")) == (["b", "rest"], [[1, 0]])
    assert mx.sym.load_json(last.tojson()).infer_type(x="float16")[1] == [np.float32]


def test_saving_and_loading_files(tmp_path):
    symbol = sym.exp(sym.var("a"), name="e")
    symbol.save(str(tmp_path / "s.json"))
    assert sym.load(str(tmp_path / "s.json")).tojson() == symbol.tojson()


def networks():
    """A few networks and the shapes of their data."""
    a, b = sym.var("a"), sym.var("b")
    with mx.name.NameManager():
        conv = sym.Activation(
            sym.BatchNorm(sym.Convolution(a, kernel=(3, 3), num_filter=4, name="c"), fix_gamma=False, name="n"), act_type="relu"
        )
        conv = sym.Pooling(sym.LeakyReLU(conv, act_type="prelu", name="p"), kernel=(2, 2), stride=(2, 2), pool_type="max")
        yield (
            "convolutions",
            sym.SoftmaxOutput(sym.FullyConnected(sym.Flatten(conv), num_hidden=3, name="f"), name="s"),
            {"a": (2, 3, 8, 8)},
        )
        arithmetic = (a + b) * 2 - b / (1 + a * a) + 3 ** (a / 9) % 2 - (a > b) + sym.maximum(a, 0.5) - sym.hypot(a, b)
        yield "arithmetic", arithmetic, {"a": (2, 3)}
        parts = sym.split(a, num_outputs=2, axis=1, name="parts")
        joined = sym.Concat(parts[1], parts[0] ** 2, dim=1, name="joined")
        joined = sym.transpose(joined.reshape((0, 2, -1)), axes=(0, 2, 1)).sum(axis=1)
        yield "shapes", sym.Group([joined, sym.BlockGrad(parts[0])]), {"a": (3, 8)}
        words = sym.Embedding(sym.var("indices"), input_dim=5, output_dim=4, name="e")
        yield "words", sym.LayerNorm(sym.softmax(words, axis=-1, temperature=2.0), name="l"), {"indices": (2, 3)}


SCRIPT = """
import sys, json, numpy as np, mxnet as mx
folder, names = sys.argv[1], sys.argv[2:]
for name in names:
    symbol, given = mx.sym.load("%s/%s.json" % (folder, name)), np.load("%s/%s.npz" % (folder, name))
    arguments = [mx.nd.array(given[n]) for n in symbol.list_arguments()]
    grads = {n: mx.nd.zeros(x.shape) for n, x in zip(symbol.list_arguments(), arguments) if n != "indices"}
    states = [mx.nd.array(given[n]) for n in symbol.list_auxiliary_states()]
    executor = symbol.bind(mx.current_context(), arguments, grads, aux_states=states)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(o.shape) for o in executor.outputs])
    found = {"out%d" % k: o.asnumpy() for k, o in enumerate(executor.outputs)}
    found.update({"grad_" + n: g.asnumpy() for n, g in grads.items()})
    found.update({"aux_" + n: s.asnumpy() for n, s in zip(symbol.list_auxiliary_states(), states)})
    np.savez("%s/%s.out.npz" % (folder, name), **found)
    open("%s/%s.back.json" % (folder, name), "w").write(symbol.tojson())
"""


@pytest.mark.oracle
def test_mxnet_reads_our_files_and_computes_the_same(oracle, tmp_path):
    ours = {}
    for name, symbol, shapes in networks():
        executor = symbol.simple_bind(mx.current_context(), **shapes)
        draw = np.random.default_rng(1)
        given = {}
        for n, array in (executor.arg_dict | executor.aux_dict).items():
            whole = n == "indices" or n.endswith("label")
            given[n] = draw.integers(0, 3, array.shape) if whole else draw.uniform(0.5, 2, array.shape)
            array[:] = given[n]
        symbol.save(str(tmp_path / f"{name}.json"))
        np.savez(tmp_path / f"{name}.npz", **{k: v.astype("float32") for k, v in given.items()})
        executor.forward(is_train=True)
        executor.backward()
        ours[name] = {f"out{k}": o.asnumpy() for k, o in enumerate(executor.outputs)}
        ours[name] |= {f"grad_{n}": g.asnumpy() for n, g in executor.grad_dict.items()}
        ours[name] |= {f"aux_{n}": a.asnumpy() for n, a in executor.aux_dict.items()}
    oracle(SCRIPT, tmp_path, *ours)
    for name, found in ours.items():
        theirs = np.load(tmp_path / f"{name}.out.npz")
        for key, value in found.items():
            if key == "grad_indices":  # MXNet has none
                continue
            np.testing.assert_allclose(value, theirs[key], rtol=2e-4, atol=2e-5, err_msg=f"{name} {key}")
        back = sym.load_json((tmp_path / f"{name}.back.json").read_text())
        assert json.loads(back.tojson()) == json.loads((tmp_path / f"{name}.json").read_text())


def edited(symbol, **fields):
    """A symbol's JSON with some fields of its last node replaced."""
    graph = json.loads(symbol.tojson())
    graph["nodes"][-1].update(fields)
    return json.dumps(graph)


def dense():
    return sym.FullyConnected(sym.var("a"), num_hidden=3, name="fc")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attrs": {}}, r"node 'fc' \(FullyConnected\): Required parameter num_hidden"),
        ({"attrs": {"num_hidden": "x"}}, r"node 'fc' \(FullyConnected\): parameter num_hidden must be an int: given 'x'"),
        ({"attrs": {"num_hidden": "3", "foo": "1"}}, r"node 'fc' \(FullyConnected\): Cannot find argument: given foo"),
        (
            {"inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]] * 2},
            r"node 'fc' .*more inputs than the operator has: given 6; .*data, weight, bias",
        ),
        ({"op": "Custom"}, r"node 'fc' \(Custom\): Required parameter op_type"),
        ({"op": "_foreach"}, r"node 'fc' \(_foreach\): number of subgraphs: given 0"),
        ({"op": "_gradient"}, r"node 'fc' \(_gradient\): num_variables"),
        ({"op": "SliceChannel", "inputs": [[0, 0, 0]], "attrs": {"num_outputs": "99999999"}}, r"node 'fc' .*num_outputs .*more than 32768"),
        (
            {"op": "_split_v2", "inputs": [[0, 0, 0]], "attrs": {"indices": "()", "sections": "99999999"}},
            r"node 'fc' .*sections .*more than 32768",
        ),
        (
            {"op": "_split_v2", "inputs": [[0, 0, 0]], "attrs": {"indices": str(tuple(range(70_000)))}},
            r"node 'fc' .*more outputs",
        ),
    ],
)
def test_a_node_that_does_not_match_its_operator_is_named(fields, message, tmp_path):
    assert mx.operator.get_all_registered_operators is not None  # importing this module registers the user's operators
    text = edited(dense(), **fields)
    with pytest.raises(FormatError, match=message):
        sym.load_json(text)
    path = tmp_path / "damaged-symbol.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=f"damaged-symbol.json: .*{message}"):
        sym.load(path)


@pytest.mark.parametrize(("name", "value"), [("__shape__", "zzz"), ("__dtype__", "99"), ("__dtype__", "x")])
def test_a_variable_whose_type_is_none_is_named(name, value):
    graph = json.loads(dense().tojson())
    graph["nodes"][0]["attrs"] = {name: value}
    with pytest.raises(FormatError, match=f"node 'a' .*parameter {name} must be"):
        sym.load_json(json.dumps(graph))


def test_attributes_other_than_parameters_survive():
    # MXNet 1.9.1 accepts them too: names of the form __foo__ anywhere, others on variables and operators without parameters
    text = edited(dense(), attrs={"num_hidden": "3", "__foo__": "1"})
    assert sym.load_json(text).attr_dict()["fc"] == {"num_hidden": "3", "__foo__": "1"}
    again = sym.load_json(sym.load_json(edited(sym.var("a") + sym.var("b"), attrs={"foo": "1"})).tojson())
    assert again.attr("foo") == "1"


def test_a_loop_from_a_file_without_a_row_pointer_has_all_its_outputs():
    out, _ = sym.contrib.foreach(lambda d, s: (d + s, s + d), sym.var("x"), sym.var("s"))
    graph = json.loads(out.tojson())
    del graph["node_row_ptr"]
    again = sym.load_json(json.dumps(graph))
    assert again.infer_shape(x=(3, 2), s=(2,)) == out.infer_shape(x=(3, 2), s=(2,))


def frames_of(act) -> int:
    """The Python frames that a warm call enters, its own left out."""
    act()
    return frames(act)


def test_what_writing_and_reading_a_node_costs_is_independent_of_the_others():
    def chain(length: int):
        x = sym.Variable("x")
        for k in range(length):
            x = sym.exp(x, name=f"e{k}")
        return x

    written, read = [], []
    for length in (20, 40, 60):
        symbol = chain(length)
        text = symbol.tojson()
        written.append(frames_of(lambda symbol=symbol: symbol.tojson()))
        read.append(frames_of(lambda text=text: sym.load_json(text)))
    assert written[2] - written[1] == written[1] - written[0]
    assert read[2] - read[1] == read[1] - read[0]
