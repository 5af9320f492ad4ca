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


RECURRENT = """
import mxnet as mx
folder = {folder!r}
for given in (False, True):
    net = mx.gluon.rnn.LSTM(4, layout="NTC", bidirectional=True, prefix="r_")
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((3, 2, 5))
    net(x, net.begin_state(3)) if given else net(x)
    net.export(f"{{folder}}/theirs{{given}}")
    mine, theirs = (mx.sym.load(f"{{folder}}/{{whose}}{{given}}-symbol.json") for whose in ("ours", "theirs"))
    assert mine.list_outputs() == theirs.list_outputs(), (mine.list_outputs(), theirs.list_outputs())
    assert mine.infer_shape(data0=x.shape) == theirs.infer_shape(data0=x.shape)
    executor = mine.simple_bind(mx.cpu(), data0=x.shape)
    arrays = mx.nd.load(f"{{folder}}/ours{{given}}-0000.params")
    executor.copy_params_from({{name.partition(":")[2]: value for name, value in arrays.items()}}, {{}})
    (want,) = mx.nd.load(f"{{folder}}/{{given}}.nd")
    assert abs(executor.forward(data0=x)[0] - want).max().asscalar() < 1e-6
"""


@pytest.mark.oracle
def test_an_exported_recurrent_layer_has_the_outputs_of_mxnets(oracle: Callable[..., str], tmp_path: Path) -> None:
    for given in (False, True):
        net = mx.gluon.rnn.LSTM(4, layout="NTC", bidirectional=True, prefix="r_")
        net.initialize()
        net.hybridize()
        x = nd.ones((3, 2, 5))
        out = net(x, net.begin_state(3))[0] if given else net(x)
        nd.save(str(tmp_path / f"{given}.nd"), [out])
        net.export(str(tmp_path / f"ours{given}"))
    oracle(RECURRENT.format(folder=str(tmp_path)))


def test_a_hybridized_recurrent_layer_returns_states_only_when_given_some(tmp_path: Path) -> None:
    net = mx.gluon.rnn.GRU(4, input_size=5)
    net.initialize()
    x, path = nd.ones((3, 2, 5)), str(tmp_path / "net.params")
    want, (state,) = net(x, net.begin_state(2))
    net.hybridize()
    for _ in range(2):
        assert np.array_equal(net(x).asnumpy(), want.asnumpy())
        out, (last,) = net(x, net.begin_state(2))
        assert np.array_equal(out.asnumpy(), want.asnumpy())
        assert np.array_equal(last.asnumpy(), state.asnumpy())
    net(x)
    net.export(str(tmp_path / "net"))
    names = ["data0", "data1"]
    block = mx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), names, str(tmp_path / "net-0000.params"), ctx=x.context)
    assert np.array_equal(block(x, *net.begin_state(2)).asnumpy(), want.asnumpy())
    net.save(path)
    again = mx.gluon.rnn.GRU(4, input_size=5)
    again.load(path)
    again.collect_params().reset_ctx(x.context)
    assert np.array_equal(again(x).asnumpy(), want.asnumpy())
    assert len(again(x, net.begin_state(2))) == 2


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


def test_exported_parameters_stand_in_the_order_of_the_graph(tmp_path: Path) -> None:
    """As in MXNet's files, in which states stand beside the other parameters of their layer."""
    net = mx.gluon.nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 3)))
    net.export(tmp_path / "m")
    kinds = ["arg", "arg", "aux", "aux", "arg", "arg"]
    expected = [f"{kind}:{name}" for kind, name in zip(kinds, net.collect_params(), strict=True)]
    assert list(nd.load(tmp_path / "m-0000.params")) == expected
    # a block of symbols has the states behind the other parameters; its files have them where they are read
    here = mx.current_context()
    block = mx.gluon.SymbolBlock.imports(tmp_path / "m-symbol.json", ["data"], tmp_path / "m-0000.params", ctx=here)
    block.hybridize()
    block(nd.ones((2, 3)))
    block.export(tmp_path / "n")
    assert list(nd.load(tmp_path / "n-0000.params")) == expected
