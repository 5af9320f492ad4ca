"""Tables and drawings of symbols."""

import importlib
import sys

import pytest

import twofold as mx

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


def test_the_table_is_mxnets(capsys):
    mx.viz.print_summary(network(), shape={"data": (1, 3, 8, 8)}, line_length=72, positions=(0.4, 0.6, 0.75, 1))
    assert capsys.readouterr().out == TABLE


@pytest.mark.oracle
def test_the_stored_table_is_mxnets(oracle):
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
