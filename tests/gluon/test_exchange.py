"""Gluon's files: exchange with the real MXNet in both directions, export and import, damaged files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

READS_EXPORTED = """
import json, sys
import mxnet as mx
path = sys.argv[1]
x = mx.nd.load(path + ".x")[0]
block = mx.gluon.SymbolBlock.imports(path + "-symbol.json", ["data"], path + "-0000.params")
print(json.dumps(block(x).asnumpy().tolist()))
"""

READS_PARAMETERS = """
import json, sys
import mxnet as mx
nn, path = mx.gluon.nn, sys.argv[1]
net = nn.HybridSequential(prefix="net_")
with net.name_scope():
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(3))
net.load_parameters(path)
x = mx.nd.load(path + ".x")[0]
trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
trainer.load_states(path + ".states")
with mx.autograd.record():
    y = net(x)
y.backward()
trainer.step(4)
print(json.dumps([y.asnumpy().tolist(), net[5].weight.data().asnumpy().tolist()]))
"""


def saved_input(path: Path, x: nd.NDArray) -> None:
    nd.save(f"{path}.x", [x])


@pytest.mark.oracle
def test_mxnet_reads_exported_graphs(oracle: Callable[..., str], convnet: Callable[[], Any], images: nd.NDArray, tmp_path: Path) -> None:
    net, path = convnet(), tmp_path / "model"
    net.hybridize()
    want = net(images).asnumpy()
    net.export(path)
    saved_input(path, images)
    np.testing.assert_allclose(json.loads(oracle(READS_EXPORTED, path)), want, rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
def test_mxnet_continues_training_from_our_files(
    oracle: Callable[..., str], convnet: Callable[[], Any], images: nd.NDArray, tmp_path: Path
) -> None:
    net, path = convnet(), tmp_path / "model"
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})

    def step() -> nd.NDArray:
        with autograd.record():
            y = net(images)
        y.backward()
        trainer.step(4)
        return y

    step()
    net.save_parameters(path)
    trainer.save_states(f"{path}.states")
    saved_input(path, images)
    output, weight = json.loads(oracle(READS_PARAMETERS, path))
    np.testing.assert_allclose(step().asnumpy(), output, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(net[5].weight.data().asnumpy(), weight, rtol=1e-4, atol=1e-5)


def test_files_written_by_mxnet_are_read(shared: Path) -> None:
    expected = np.load(shared / "fixtures" / "gluon_net.expected.npz")
    files = [str(shared / "fixtures" / f"gluon_export-{end}") for end in ("symbol.json", "0003.params")]
    block = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1], ctx=mx.current_context())
    np.testing.assert_allclose(block(nd.array(expected["x"])).asnumpy(), expected["out"], rtol=1e-4, atol=1e-5)


def test_a_loaded_model_is_not_traced_again(convnet: Callable[[], Any], images: nd.NDArray, tmp_path: Path) -> None:
    net = convnet()
    net.hybridize()
    want = net(images).asnumpy()
    net.save(tmp_path / "m")
    other = convnet()
    other.load(tmp_path / "m")
    assert other._trace is not None
    assert np.array_equal(other(images).asnumpy(), want)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"a": 3}', '{"a": {"b": {}}}'])
def test_a_damaged_model_file_raises(convnet: Callable[[], Any], tmp_path: Path, text: str) -> None:
    net = convnet()
    net.save(tmp_path / "m")
    (tmp_path / "m-model.json").write_text(text)
    with pytest.raises(FormatError):
        net.load(tmp_path / "m")


def test_an_exported_recurrent_network_can_be_imported(tmp_path: Path) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Embedding(10, 4), mx.gluon.rnn.LSTM(3, num_layers=2, layout="NTC"), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = nd.array([[1, 2, 3], [4, 5, 9]])
    want = net(x).asnumpy()
    net.export(tmp_path / "m")
    block = mx.gluon.SymbolBlock.imports(tmp_path / "m-symbol.json", "data", tmp_path / "m-0000.params", ctx=mx.current_context())
    assert np.array_equal(block(x).asnumpy(), want)


def test_an_imported_block_can_be_trained(convnet: Callable[[], Any], images: nd.NDArray, tmp_path: Path) -> None:
    net = convnet()
    net.hybridize()
    net(images)
    net.export(tmp_path / "m")
    block = mx.gluon.SymbolBlock.imports(tmp_path / "m-symbol.json", ["data"], tmp_path / "m-0000.params", ctx=mx.current_context())
    for model in (net, block):
        with autograd.record():
            y = model(images)
        y.backward()
    ours, theirs = net.collect_params(), block.collect_params()
    for name, param in ours.items():
        if param.grad_req != "null":
            assert np.array_equal(theirs[name].grad().asnumpy(), param.grad().asnumpy())
        else:
            assert np.array_equal(theirs[name].data().asnumpy(), param.data().asnumpy())
