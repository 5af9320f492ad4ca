"""Tables and drawings of symbols."""

import importlib
import sys
from xml.etree import ElementTree

import pytest

import twofold as mx
from twofold.formats.files import folder_entries, read_file
from twofold.visualization.drawing import size_text

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


@pytest.mark.ci
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


def texts_of(svg):
    return [t.text for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_drawing_without_graphviz_is_svg(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    drawing = mx.viz.plot_network(network(), shape={"data": (1, 3, 8, 8)})
    texts = texts_of(drawing)
    assert texts[texts.index("data") + 1] == "input"
    assert texts[texts.index("c") + 1] == "Convolution 3x3/1, 4"
    assert "3x8x8" in texts
    assert "c_weight" not in texts
    assert "c_weight" in texts_of(mx.viz.plot_network(network(), hide_weights=False))
    assert drawing.render(str(tmp_path / "net")).endswith("net.svg")
    assert (tmp_path / "net.svg").read_text() == drawing


def test_a_drawing_without_the_program_dot_is_svg(monkeypatch, tmp_path):
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", str(tmp_path))
    drawing = mx.viz.plot_network(network(), shape={"data": (1, 3, 8, 8)})
    shown = drawing._repr_mimebundle_()
    assert "Convolution 3x3/1, 4" in texts_of(shown["image/svg+xml"])
    assert drawing.render(str(tmp_path / "net")) == str(tmp_path / "net.svg")
    assert (tmp_path / "net.svg").read_text() == shown["image/svg+xml"]


def perceptron(kind):
    net = kind()
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(3))
    return net


@pytest.mark.parametrize("kind", [mx.gluon.nn.Sequential, mx.gluon.nn.HybridSequential])
def test_blocks_are_drawn_as_symbols_are(kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    texts = texts_of(mx.viz.plot_network(perceptron(kind), shape={"data": (1, 4)}))
    assert [t for t in texts if t.startswith(("FullyConnected", "Activation"))] == [
        "FullyConnected 8",
        "Activation relu",
        "FullyConnected 3",
    ]
    assert sorted(t for t in texts if t.isdigit()) == ["4", "8", "8"]


def test_a_traced_block_of_two_inputs_is_drawn_as_it_was_traced(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)

    class Sum(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.broadcast_add(x, y), F.relu(x)

    net = Sum()
    assert {"left", "right"} <= set(texts_of(mx.viz.plot_network(net, shape={"left": (2, 3), "right": (2, 3)})))
    net.hybridize()
    net(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    assert {"data0", "data1", "broadcast_add", "relu"} <= set(texts_of(mx.viz.plot_network(net)))


def test_boxes_of_a_drawing_are_as_wide_as_their_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    name = "a_layer_with_quite_a_long_name"
    root = ElementTree.fromstring(mx.viz.plot_network(mx.sym.relu(mx.sym.var("x"), name=name)))
    widths = {g[0].text: float(g[1].get("width")) for g in root.iter("{http://www.w3.org/2000/svg}g")}
    assert widths[name] >= 7 * len(name) > widths["x"]


def test_what_is_neither_symbol_nor_block_is_not_drawn():
    with pytest.raises(TypeError, match="symbol must be a Symbol"):
        mx.viz.plot_network("net")


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
    texts = texts_of(drawing)
    assert [t for t in texts if " on " in t] == [name for name, _ in executor.programs()]
    assert texts[texts.index("data") + 1] == "input"
    assert texts[texts.index("s_output") + 1] == "result"
    assert {"gradient of data", "gradient of f_weight", "gradient of f_bias"} <= set(texts)
    assert {"matmul", "400x5"} <= set(texts)
    assert any(t.startswith("add + tanh + multiply") for t in texts), "a fused kernel is one box"
    assert any(t.startswith("fused kernel of") for t in texts)
    assert drawing.render(str(tmp_path / "p")).endswith("p.svg")


def test_a_program_and_a_report_are_drawn(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    x = mx.np.ones((500, 500))
    with mx.explain() as report:
        (mx.np.exp(x * 2.0) + 1.0).wait_to_read()
    (flush,) = report.flushes
    assert {f"{flush.line}  window", "multiply + exp + add"} <= set(texts_of(mx.viz.plot_program(report)))
    assert "multiply + exp + add" in texts_of(mx.viz.plot_program(flush.program))


def test_a_drawing_of_programs_with_graphviz():
    if importlib.util.find_spec("graphviz") is None:
        pytest.skip("graphviz is not installed")
    source = mx.viz.plot_program(bound(), title="net").source
    assert f"backward on {mx.current_context()}" in source
    assert "label=f_weight" in source
    assert 'label="gradient of f_weight"' in source


def test_a_drawing_of_memory_has_a_row_for_each_piece_and_a_box_for_each_value(tmp_path):
    executor = bound()
    drawing = mx.viz.plot_memory(executor)
    root = ElementTree.fromstring(drawing.source)
    texts = texts_of(drawing)
    assert [t for t in texts if " on " in t] == [f"{name}: {size_text(plan.nbytes)}" for name, plan in executor.memory_plan().items()]
    assert {"data, 7.81 KiB", "f_weight, 5.86 KiB", "step", "memory"} <= set(texts)
    assert any(t.startswith("matmul, ") and t.endswith(", 469 KiB") for t in texts)
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "data 400x5 float32, 8000 bytes, steps -1 to 1" in titles
    assert any(t.startswith("matmul 400x300 float32, 480000 bytes, steps 1 to ") for t in titles)
    assert drawing._repr_svg_() == drawing
    assert drawing.render(str(tmp_path / "m")).endswith("m.svg")


@pytest.mark.parametrize("plot", [mx.viz.plot_memory, mx.viz.plot_program])
def test_only_executors_have_programs(plot):
    with pytest.raises(TypeError, match="executor"):
        plot(network())


def test_the_course_of_training_has_a_panel_for_each_metric():
    history = {"train loss": [2.0, 1.0, 0.5], "validation loss": [2.0, 1.5, 1.0], "accuracy": [0.1, float("nan"), 0.9], "lr": []}
    drawing = mx.viz.plot_training(history, x="epoch")
    texts = texts_of(drawing)
    assert {"loss", "train", "validation", "accuracy", "lr"} <= set(texts)
    assert texts.count("epoch") == 3
    train, *_, accuracy, empty = (p.get("d") for p in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}path"))
    heights = [float(part.split()[1]) for part in train.replace("h0", "")[1:].split("L")]
    assert heights == sorted(heights), "losses fall, and pixels count downwards"
    assert (accuracy.count("M"), accuracy.count("L")) == (2, 0), "a gap where a number is not finite"
    assert empty == ""


def test_long_curves_are_averaged_and_logarithms_need_positive_numbers():
    drawing = mx.viz.plot_training({"a": [1.0, 3.0] * 300, "b": [1e-3, 1.0, 1e3]}, log=True)
    flat, _ = (p.get("d") for p in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}path"))
    assert len({part.split()[1] for part in flat.replace("h0", "")[1:].split("L")}) == 1, "means of 1 and 3"
    assert {"0.001", "1", "1e+03"} <= set(texts_of(drawing))
    assert "-1" in texts_of(mx.viz.plot_training({"b": [-1.0, 1.0]}, log=True))


@pytest.mark.parametrize("history", [{}, [1.0]])
def test_there_must_be_something_to_draw_of_training(history):
    with pytest.raises((TypeError, ValueError), match="plot_training"):
        mx.viz.plot_training(history)
