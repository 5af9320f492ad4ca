"""`mx.contrib.tensorboard`: what the files that it writes contain."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.contrib.tensorboard import LogMetricsCallback, LogParametersCallback, SummaryWriter
from twofold.errors import DTypeError, MissingDependency

tensorboardX = pytest.importorskip("tensorboardX")
from tensorboardX.proto.event_pb2 import Event  # noqa: E402  after the skip
from tensorboardX.proto.graph_pb2 import GraphDef  # noqa: E402


def events(folder: Path) -> list[Event]:
    """The events of the one file in a folder: records of length, checksum, content and checksum."""
    (file,) = folder.iterdir()
    data, found = file.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        found.append(Event.FromString(data[12 : 12 + size]))
        data = data[12 + size + 4 :]
    return found


def values(folder: Path) -> dict[tuple[str, int], object]:
    """The summaries' values by tag and step."""
    return {(value.tag, event.step): value for event in events(folder) for value in event.summary.value}


def graph(folder: Path) -> dict[str, object]:
    """The nodes of the graph by name."""
    (text,) = [event.graph_def for event in events(folder) if event.graph_def]
    return {node.name: node for node in GraphDef.FromString(text).node}


def shape_of(node) -> list[int]:
    return [dim.size for dim in node.attr["_output_shapes"].list.shape[0].dim]


def module() -> mx.mod.Module:
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    return mx.mod.Module(mx.sym.SoftmaxOutput(out, name="softmax"), context=mx.cpu())


def data() -> mx.io.NDArrayIter:
    return mx.io.NDArrayIter(np.arange(8.0).reshape(4, 2), np.array([0.0, 1, 2, 0]), batch_size=2)


def test_a_metric_is_a_curve_over_epochs(tmp_path):
    callback = LogMetricsCallback(tmp_path, prefix="train")
    module().fit(data(), num_epoch=2, eval_metric="acc", batch_end_callback=callback)
    callback.summary_writer.close()
    assert {key for key in values(tmp_path) if key[0] == "train-accuracy"} == {("train-accuracy", 0), ("train-accuracy", 1)}


def test_scalars_may_be_arrays(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", mx.nd.array([0.5]), 3)
        writer.add_scalar("loss", 0.25, 4)
    assert [values(tmp_path)["loss", step].simple_value for step in (3, 4)] == [0.5, 0.25]


def test_a_modules_parameters_and_gradients_are_histograms(tmp_path):
    trained = module()
    callback = LogParametersCallback(tmp_path, trained)
    trained.fit(data(), num_epoch=2, epoch_end_callback=callback)
    callback.writer.close()
    found = values(tmp_path)
    names = {"fc1_weight", "fc1_bias", "fc1_weight/gradient", "fc1_bias/gradient"}
    assert set(found) == {(name, epoch) for name in names for epoch in (0, 1)}
    weight = trained.get_params()[0]["fc1_weight"].asnumpy()
    histogram = found["fc1_weight", 1].histo
    assert (histogram.num, histogram.min, histogram.max) == (6, weight.min(), weight.max())
    assert histogram.sum == pytest.approx(weight.sum(dtype=np.float64), rel=1e-6)


def test_a_blocks_parameters_and_gradients_are_histograms(tmp_path):
    net = mx.gluon.nn.Dense(1, in_units=2, prefix="layer_")
    net.initialize()
    with mx.autograd.record():
        net(mx.nd.array([[2.0, 5.0]])).backward()
    with SummaryWriter(tmp_path) as writer:
        writer.add_parameters(net, 7)
    found = values(tmp_path)
    gradient = found["layer_weight/gradient", 7].histo
    assert (gradient.num, gradient.min, gradient.max, gradient.sum) == (2, 2.0, 5.0, 7.0)
    assert ("layer_bias", 7) in found


def test_without_gradients_and_values_only_parameters_are_written(tmp_path):
    net = mx.gluon.nn.HybridSequential(prefix="")
    net.add(mx.gluon.nn.Dense(1, in_units=2, prefix="first_"), mx.gluon.nn.Dense(1, use_bias=False, prefix="second_"))
    net.initialize()
    callback = LogParametersCallback(tmp_path, net, has_gradients=False)
    callback(mx.model.BatchEndParam(epoch=3, nbatch=0, eval_metric=None, locals={}))
    callback.writer.close()
    assert set(values(tmp_path)) == {("first_weight", 3), ("first_bias", 3)}


def test_the_graph_of_a_block_has_its_layers_in_groups_with_shapes(tmp_path):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(3))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net, {"data": (5, 2)})
    nodes = graph(tmp_path)
    assert nodes["data"].op == "Input"
    assert nodes["net/dense0/fwd"].op == "FullyConnected"
    assert list(nodes["net/dense0/fwd"].input) == ["data", "net/dense0/weight", "net/dense0/bias"]
    assert nodes["net/dense0/fwd"].attr["num_hidden"].s == b"4"
    assert shape_of(nodes["net/dense1/fwd"]) == [5, 3]
    assert shape_of(nodes["net/dense1/weight"]) == [3, 4]


def test_the_graph_of_a_module_is_its_symbols(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(module())
    assert list(graph(tmp_path)["softmax"].input) == ["fc1", "softmax/label"]
    assert "_output_shapes" not in graph(tmp_path)["fc1"].attr


def test_later_outputs_are_read_by_their_numbers(tmp_path):
    first, second = mx.sym.split(mx.sym.var("x"), num_outputs=2, name="parts")
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(mx.sym.broadcast_add(first, second, name="sum"))
    assert list(graph(tmp_path)["sum"].input) == ["parts", "parts:1"]


def test_what_is_no_network_is_named(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(DTypeError, match="add_graph: network is no network: given int"):
            writer.add_graph(3)
        with pytest.raises(DTypeError, match="network has no parameters: given int"):
            writer.add_parameters(3, 0)


def test_without_the_package_the_error_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.contrib.tensorboard.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="pip install 'twofold\\[tensorboard\\]'"):
        SummaryWriter(tmp_path)


@pytest.mark.ci
def test_what_is_not_closed_is_written_at_exit(tmp_path):
    program = f"import twofold as mx; writer = mx.contrib.tensorboard.SummaryWriter({str(tmp_path)!r}); writer.add_scalar('loss', 0.5, 1)"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert values(tmp_path)["loss", 1].simple_value == 0.5
