"""Tables and drawings of symbols."""

import importlib
import sys
from xml.etree import ElementTree

import pytest

import twofold as mx
from twofold.formats.files import folder_entries, read_file

sym = mx.sym


def network():
    with mx.name.NameManager():
        hidden = sym.Activation(sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="c"), act_type="relu", name="r")
        pooled = sym.Pooling(hidden, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p")
        return sym.SoftmaxOutput(sym.FullyConnected(sym.Flatten(pooled + 1), num_hidden=3, name="f"), name="s")


# What MXNet 1.9.1 prints for this network with shape={"data": (1, 3, 8, 8)}, line_length=72, positions=(0.4, 0.6, 0.75, 1).
TABLE = """\
________________________________________________________________________
Layer (type)                Output Shape   Param #    Previous Layer    
========================================================================
data(null)                  3x8x8          0                            
________________________________________________________________________
c(Convolution)              4x6x6          112        data              
________________________________________________________________________
r(Activation)               4x6x6          0          c                 
________________________________________________________________________
p(Pooling)                  4x3x3          0          r                 
________________________________________________________________________
_plusscalar0(_plus_scalar)  4x3x3          0          p                 
________________________________________________________________________
flatten0(Flatten)           36             0          _plusscalar0      
________________________________________________________________________
f(FullyConnected)           3              111        flatten0          
________________________________________________________________________
s(SoftmaxOutput)            3              0          f                 
========================================================================
Total params: 223
________________________________________________________________________
"""  # noqa: W291


def test_the_summary_table_matches_mxnet(capsys):
    mx.viz.print_summary(network(), shape={"data": (1, 3, 8, 8)}, line_length=72, positions=(0.4, 0.6, 0.75, 1))
    assert capsys.readouterr().out == TABLE


@pytest.mark.oracle
def test_the_stored_table_comes_from_mxnet(oracle):
    script = """
import mxnet as mx
sym = mx.sym
hidden = sym.Activation(sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="c"), act_type="relu", name="r")
pooled = sym.Pooling(hidden, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p")
net = sym.SoftmaxOutput(sym.FullyConnected(sym.Flatten(pooled + 1), num_hidden=3, name="f"), name="s")
mx.viz.print_summary(net, shape={"data": (1, 3, 8, 8)}, line_length=72, positions=(0.4, 0.6, 0.75, 1))
"""
    assert oracle(script) == TABLE


def test_every_parameter_is_counted_once(capsys):
    weight = sym.var("w")
    shared = sym.FullyConnected(sym.FullyConnected(sym.var("a"), weight, num_hidden=2, no_bias=True), weight, num_hidden=2, no_bias=True)
    mx.viz.print_summary(shared, shape={"a": (1, 2)})
    assert "Total params: 4" in capsys.readouterr().out


def test_a_drawing_without_graphviz_is_mermaid_text(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    drawing = mx.viz.plot_network(network(), shape={"data": (1, 3, 8, 8)})
    lines = drawing.source.splitlines()
    assert lines[0] == "flowchart BT"
    assert '  n0(["data"])' in lines
    assert '  n1["Convolution<br>3x3/1, 4"]' in lines
    assert "  n0 -->|3x8x8| n1" in lines
    assert drawing.render(str(tmp_path / "net")).endswith("net.mmd")
    assert (tmp_path / "net.mmd").read_text() == drawing


def test_a_drawing_with_graphviz_has_the_nodes_and_edges():
    if importlib.util.find_spec("graphviz") is None:
        pytest.skip("graphviz is not installed")
    drawing = mx.viz.plot_network(network(), title="net", node_attrs={"shape": "oval"})
    assert "c -> data" in drawing.source
    assert "c_weight" not in drawing.source
    assert 'label="Pooling\nmax, 2x2/2x2"' in drawing.source
    assert "c_weight" in mx.viz.plot_network(network(), hide_weights=False).source


def test_a_drawing_with_graphviz_is_rendered_to_a_url(tmp_path, monkeypatch):
    pytest.importorskip("graphviz")
    pytest.importorskip("fsspec")
    dot = tmp_path / "dot"  # stands for graphviz's program: writes the source, with the format that it is asked for before it
    dot.write_text('#!/bin/sh\nfor last; do :; done\n{ echo "$@"; cat "$last"; } > "$last.svg"\n')
    dot.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)
    drawing = mx.viz.plot_network(network(), save_format="svg")
    assert drawing.render("memory://drawings/net") == "memory://drawings/net.svg"
    rendered = read_file("memory://drawings/net.svg").decode()
    assert "-Tsvg" in rendered
    assert rendered.endswith(drawing.source)
    assert drawing.render("memory://drawings/cleaned", cleanup=True) == "memory://drawings/cleaned.svg"
    assert folder_entries("memory://drawings") == ["cleaned.svg", "net", "net.svg"]
    assert drawing.save("plan.gv", "memory://drawings") == "memory://drawings/plan.gv"
    assert read_file("memory://drawings/plan.gv").decode() == drawing.source
    assert drawing.render(str(tmp_path / "local")) == str(tmp_path / "local.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dot", "local", "local.svg"]


def bound():
    with mx.name.NameManager():
        hidden = sym.Activation(sym.FullyConnected(sym.var("data"), num_hidden=300, name="f"), act_type="tanh", name="t")
        return sym.SoftmaxOutput(hidden * 2 + 1, name="s").simple_bind(mx.current_context(), data=(400, 5))


def test_a_drawing_of_programs_shows_steps_and_data_flow(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    executor = bound()
    drawing = mx.viz.plot_program(executor)
    lines = drawing.source.splitlines()
    assert lines[0] == "flowchart TB"
    assert [line.strip() for line in lines if "subgraph" in line] == [
        f'subgraph c{k}["{name}"]' for k, (name, _) in enumerate(executor.programs())
    ]
    (data,) = (line.split("(")[0].strip() for line in lines if '(["data"])' in line and line.strip().startswith("p0"))
    (product,) = (line.split("[")[0].strip() for line in lines if '["matmul"]' in line and line.strip().startswith("p0"))
    assert f"    {data} -->|400x5| {product}" in lines
    assert any("tanh<br>multiply<br>add" in line for line in lines)  # a fused kernel is one box
    assert drawing.render(str(tmp_path / "p")).endswith("p.mmd")


def test_a_drawing_of_programs_with_graphviz():
    if importlib.util.find_spec("graphviz") is None:
        pytest.skip("graphviz is not installed")
    source = mx.viz.plot_program(bound(), title="net").source
    assert f"backward on {mx.current_context()}" in source
    assert "label=f_weight" in source


def test_a_drawing_of_memory_has_a_row_for_each_piece_and_a_box_for_each_value(tmp_path):
    executor = bound()
    drawing = mx.viz.plot_memory(executor)
    root = ElementTree.fromstring(drawing.source)
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    for name, plan in executor.memory_plan().items():
        assert f"{name}: {plan.nbytes} bytes" in texts
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "input 400x5 float32, 8000 bytes, steps -1 to 1" in titles
    assert any(t.startswith("matmul 400x300 float32, 480000 bytes, steps 1 to ") for t in titles)
    assert drawing._repr_svg_() == drawing
    assert drawing.render(str(tmp_path / "m")).endswith("m.svg")


@pytest.mark.parametrize("plot", [mx.viz.plot_memory, mx.viz.plot_program])
def test_only_executors_have_programs(plot):
    with pytest.raises(TypeError, match="executor"):
        plot(network())
