"""Small ONNX files that would expand to far more nodes or bytes than they have are refused, or computed when the network runs."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold.contrib.onnx import expansion
from twofold.errors import FormatError

if TYPE_CHECKING:
    import onnx

onnx_helper = pytest.importorskip("onnx.helper")
T = pytest.importorskip("onnx").TensorProto


def value(name: str, dtype: int = T.FLOAT, shape: tuple[int, ...] = (2,)) -> onnx.ValueInfoProto:
    return onnx_helper.make_tensor_value_info(name, dtype, shape)


def written(path: str, nodes: list, initializers: tuple = (), **parts) -> str:
    graph = onnx_helper.make_graph(nodes, "g", [value("x")], [value("y")], list(initializers))
    sets = [onnx_helper.make_opsetid("", 17), onnx_helper.make_opsetid("own", 1)]
    with open(path, "wb") as file:
        file.write(onnx_helper.make_model(graph, opset_imports=sets, **parts).SerializeToString())
    return path


def with_functions(path: str, levels: int, width: int) -> str:
    """A function that calls the next one some times, and so on; the last one is Relu."""
    node, sets = onnx_helper.make_node, [onnx_helper.make_opsetid("", 17), onnx_helper.make_opsetid("own", 1)]
    functions = []
    for k in range(levels):
        names = ["a", *(f"v{w}" for w in range(width))]
        kind, domain = ("Relu", "") if k == levels - 1 else (f"f{k + 1}", "own")
        calls = [node(kind, [a], [b], domain=domain) for a, b in pairwise(names)]
        functions.append(onnx_helper.make_function("own", f"f{k}", ["a"], [names[-1]], calls, sets))
    return written(path, [node("f0", ["x"], ["y"], domain="own")], functions=functions)


def with_loops(path: str, depth: int, count: int) -> str:
    """Loops within loops, each of the same number of iterations; the innermost adds 1."""
    node = onnx_helper.make_node

    def body(level: int):
        inputs = [value(f"i{level}", T.INT64, ()), value(f"c{level}", T.BOOL, ()), value(f"s{level}")]
        outputs = [value(f"d{level}", T.BOOL, ()), value(f"o{level}")]
        inner = node("Loop", ["M", "", f"s{level}"], [f"o{level}"], body=body(level + 1)) if level < depth - 1 else None
        step = inner or node("Add", [f"s{level}", "one"], [f"o{level}"])
        held = [] if inner else [onnx_helper.make_tensor("one", T.FLOAT, [2], [1.0, 1.0])]
        return onnx_helper.make_graph([node("Identity", [f"c{level}"], [f"d{level}"]), step], f"b{level}", inputs, outputs, held)

    count_tensor = onnx_helper.make_tensor("M", T.INT64, [], [count])
    return written(path, [node("Loop", ["M", "", "x"], ["y"], body=body(0))], (count_tensor,))


def outputs(path: str) -> list[float]:
    symbol, args, aux = mx.contrib.onnx.import_model(path)
    given: dict[str, Any] = {"x": mx.nd.array([-1.0, 2.0]), **args, **aux}
    return symbol.eval(**given)[0].asnumpy().tolist()


def test_functions_and_loops_of_a_usual_size_are_read(path: str):
    assert outputs(with_functions(path, 4, 4)) == [0.0, 2.0]
    assert outputs(with_loops(path, 2, 10)) == [99.0, 102.0]


def test_the_arrays_of_a_body_become_one_parameter(path: str):
    assert len(mx.contrib.onnx.import_model(with_loops(path, 2, 5))[1]) == 1


@pytest.mark.parametrize("write", [lambda path: with_functions(path, 15, 8), lambda path: with_functions(path, 17, 1)])
def test_functions_are_refused_before_they_are_expanded(path: str, write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(expansion.Expansion, "read")
    with pytest.raises(FormatError, match=r"onnx: the model's functions (expand to too many nodes|are nested too deeply)"):
        mx.contrib.onnx.import_model(write(path))


def test_a_function_that_calls_itself_is_refused(path: str):
    node, sets = onnx_helper.make_node, [onnx_helper.make_opsetid("own", 1)]
    function = onnx_helper.make_function("own", "f", ["a"], ["b"], [node("f", ["a"], ["b"], domain="own")], sets)
    with pytest.raises(FormatError, match="nested too deeply"):
        mx.contrib.onnx.import_model(written(path, [node("f", ["x"], ["y"], domain="own")], functions=[function]))


def test_loops_within_loops_are_bounded_in_total(path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(expansion, "MOST_NODES", 1000)
    assert outputs(with_loops(path, 2, 10)) == [99.0, 102.0]
    with pytest.raises(FormatError, match="loops and functions expand to too many nodes: given more than 1000"):
        mx.contrib.onnx.import_model(with_loops(path, 3, 10))


def test_constants_in_a_body_are_bounded_in_total(path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(expansion, "ALLOWANCE", 0)
    node = onnx_helper.make_node
    large = onnx_helper.make_tensor("t", T.FLOAT, [1000], np.ones(1000, "float32"))
    nodes = [
        node("Identity", ["c"], ["d"]),
        node("Constant", [], ["large"], value=large),
        node("ReduceSum", ["large"], ["sum"], keepdims=0),
    ]
    ends = [value("i", T.INT64, ()), value("c", T.BOOL, ()), value("s")], [value("d", T.BOOL, ()), value("o")]
    body = onnx_helper.make_graph([*nodes, node("Add", ["s", "sum"], ["o"])], "b", *ends)
    count = onnx_helper.make_tensor("M", T.INT64, [], [30])
    with pytest.raises(FormatError, match="expand to far more bytes than the file has"):
        mx.contrib.onnx.import_model(written(path, [node("Loop", ["M", "", "x"], ["y"], body=body)], (count,)))


def constants(path: str, count: int, size: int) -> str:
    node = onnx_helper.make_node
    nodes = [node("ConstantOfShape", ["s"], [f"c{k}"], value=onnx_helper.make_tensor("v", T.DOUBLE, [1], [k])) for k in range(count)]
    return written(path, [*nodes, node("Relu", ["x"], ["y"])], (onnx_helper.make_tensor("s", T.INT64, [1], [size]),))


def test_folded_arrays_are_bounded_in_total(path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(expansion, "ALLOWANCE", 1 << 22)
    tracemalloc.start()
    try:
        assert outputs(constants(path, 40, 1 << 18)) == [0.0, 2.0]
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["Add", "Gather"])
def test_results_that_are_far_larger_than_their_operands_are_not_folded(path: str, kind: str):
    node, n = onnx_helper.make_node, 1 << 13
    column = onnx_helper.make_tensor("column", T.FLOAT, [n, 1] if kind == "Add" else [1, n], np.zeros(n, "float32"))
    row = onnx_helper.make_tensor("row", T.FLOAT if kind == "Add" else T.INT64, [n], np.zeros(n, "int64"))
    nodes = [node(kind, ["column", "row"], ["large"]), node("Relu", ["x"], ["y"])]
    tracemalloc.start()
    try:
        assert outputs(written(path, nodes, (column, row))) == [0.0, 2.0]
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------------------------------------------------- arrays in other files


def external(count: int, size: int, dtype: int = T.FLOAT, **entries: object) -> list:
    found = []
    for k in range(count):
        tensor = T(name=f"w{k}", data_type=dtype, dims=[size], data_location=T.EXTERNAL)
        for key, given in {"location": "model.onnx", **entries}.items():
            tensor.external_data.add(key=key, value=str(given))
        found.append(tensor)
    return found


def test_an_external_array_of_another_size_is_refused_before_it_is_read(path: str):
    file = written(path, [onnx_helper.make_node("Relu", ["x"], ["y"])], tuple(external(3, 2)), doc_string="A" * 100_000)
    with pytest.raises(FormatError, match="the array 'w0' has another size in its file"):
        mx.contrib.onnx.import_model(file)


def test_external_arrays_may_share_a_part_but_not_without_end(path: str):
    node, pad = onnx_helper.make_node("Relu", ["x"], ["y"]), "A" * (1 << 20)
    few = external(2, 1 << 18, offset=0, length=1 << 20)
    assert outputs(written(path, [node], tuple(few), doc_string=pad)) == [0.0, 2.0]
    many = external(20, 1 << 18, offset=0, length=1 << 20)
    with pytest.raises(FormatError, match="shares its part of a file with too many others"):
        mx.contrib.onnx.import_model(written(path, [node], tuple(many), doc_string=pad))


@pytest.mark.parametrize("dtype", [T.BFLOAT16, T.FLOAT16, T.DOUBLE, T.BOOL, T.INT4, T.UINT8, T.INT64])
def test_the_size_of_an_external_array_follows_from_its_dtype(path: str, dtype: int):
    bits = {T.BFLOAT16: 16, T.FLOAT16: 16, T.DOUBLE: 64, T.BOOL: 8, T.INT4: 4, T.UINT8: 8, T.INT64: 64}[dtype]
    node = onnx_helper.make_node("Relu", ["x"], ["y"])
    assert outputs(written(path, [node], tuple(external(1, 9, dtype, offset=0, length=-(-9 * bits // 8))), doc_string="A" * 99))


def test_a_shape_of_very_many_axes_is_refused_at_once(path: str):
    tensor = T(name="w", data_type=T.FLOAT, dims=[1 << 62] * 1000)
    with pytest.raises(FormatError, match="too many axes"):
        mx.contrib.onnx.import_model(written(path, [onnx_helper.make_node("Relu", ["x"], ["y"])], (tensor,)))
