"""What type checkers find in users' programs: types of arrays, and misspelt arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.house.sources import ROOT

pytestmark = pytest.mark.ci

#: Expressions with the types that they have.
TYPES = {
    "x": "NDArray",
    "x + 1": "NDArray",
    "2 * x[0] - x": "NDArray",
    "x > 0": "NDArray",
    "x.sum()": "NDArray",
    "x.exp().mean(axis=0)": "NDArray",
    "x.reshape((2, 1))": "NDArray",
    "nd.dot(x, x)": "NDArray",
    "nd.random.uniform(shape=2)": "NDArray",
    "x.asnumpy()": "ndarray[tuple[Any, ...], dtype[Any]]",
    "x.shape": "tuple[int, ...]",
    "y": "ndarray",
    "y @ y.T + 1": "ndarray",
    "y[0]": "ndarray",
    "y.mean(axis=0)": "ndarray",
    "np.exp(y)": "ndarray",
    "np.sum(y, axis=0)": "ndarray",
    "np.linalg.inv(y)": "ndarray",
    "np.from_dlpack(y)": "ndarray",
    "y.grad": "ndarray",
    "x.grad": "NDArray",
    "npx.softmax(y, axis=-1)": "ndarray",
    "npx.num_gpus()": "int",
    "short.zeros(2)": "ndarray",
    "nn.Dense(3).weight.data()[0]": "NDArray",
    "nn.Dense(3).weight.grad()": "NDArray",
    "net": "HybridSequential",
    "net.collect_params()": "ParameterDict",
    "trainer.step(2)": "None",
    "x.sum().backward()": "None",
    "mx.sym.FullyConnected(mx.sym.var('x'), num_hidden=2) + 1": "Symbol",
    "mx.gpu(0)": "Device",
    "nd.Convolution(x, x, kernel=(3, 3), num_filter=2, no_bias=True)": "NDArray",
    "nd.FullyConnected(x, x, x, 2)": "NDArray",
    "mx.sym.one_hot(mx.sym.var('x'), 10)": "Symbol",
    "nn.Dense(3)(x)": "NDArray",
    "nn.BatchNorm()(nn.Conv2D(3, 3)(mx.sym.var('x')))": "Symbol",
    "nn.Dense(3)(y)": "ndarray",
    "gluon.loss.L2Loss()(x, x, None)": "NDArray",
    "gluon.rnn.LSTM(3)(x)": "NDArray",
    "gluon.rnn.LSTM(3)(x, [x, x])": "tuple[NDArray, list[NDArray]]",
    "gluon.rnn.LSTMCell(3)(x, [x, x])": "tuple[Any, list[Any]]",
    "net(x)": "Any",
    "Pair()(x)": "tuple[NDArray, int]",
}
#: Calls with a misspelt argument.
MISSPELT = {
    "nn.Dense(3, activaton='relu')": "activaton",
    "nn.Conv2D(3, 3, chanels=2)": "chanels",
    "gluon.rnn.LSTM(3, num_layer=2)": "num_layer",
    "gluon.Trainer(net.collect_params(), 'sgd', learning_rate=1)": "learning_rate",
    "nd.Activation(x, act_typ='relu')": "act_typ",
    "npx.softmax(y, axs=0)": "axs",
}
#: Calls without a required argument.
MISSING = {
    "nd.slice_axis(x, axis=0, end=3)": 'Argument missing for parameter "begin"',
    "nd.Convolution(x, x, x, num_filter=3)": 'No overloads for "Convolution" match the provided arguments',
    "mx.sym.FullyConnected(mx.sym.var('x'))": 'No overloads for "FullyConnected" match the provided arguments',
}
START = """\
import twofold as mx
import twofold.np as short
from twofold import gluon, nd, np, npx
from twofold.gluon import nn

x, y, net = mx.nd.array([1.0, 2.0]), np.zeros((2, 2)), nn.HybridSequential()
net.add(nn.Dense(3, activation="relu"), nn.Dense(2))
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})


class Pair(nn.Block):
    def forward(self, x: nd.NDArray) -> tuple[nd.NDArray, int]:
        return x, 1


"""
#: Whole programs, in which type checkers find nothing.
PROGRAMS = {
    "blocks": """\
import twofold as mx
from twofold import autograd, gluon, nd
from twofold.gluon import nn


class Model(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.convolution, self.dense = nn.Conv2D(8, 3, activation="relu"), nn.Dense(10)

    def forward(self, x):
        return self.dense(self.convolution(x).mean(axis=1))


net = Model()
net.initialize(mx.init.Xavier(), ctx=mx.cpu())
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
digits = gluon.data.vision.MNIST(train=True).transform_first(gluon.data.vision.transforms.ToTensor())
metric = mx.metric.Accuracy()
for epoch in range(2):
    metric.reset()
    total = 0.0
    for data, label in gluon.data.DataLoader(digits, batch_size=64, shuffle=True):
        with autograd.record():
            out = net(data.as_in_context(mx.cpu()))
            loss = loss_of(out, label)
        loss.backward()
        trainer.step(data.shape[0])
        metric.update([label], [out])
        total += loss.mean().asscalar()
    name, accuracy = metric.get()
    print(f"{epoch}: {name} {accuracy:.3f} {total:.2f}")
net.save_parameters("model.params")
logits = nn.Dense(3)(nd.ones((2, 2)))
print(logits.shape, logits.asnumpy(), logits[0] + 1, float(logits[0, 0].asscalar()))
out, states = gluon.rnn.LSTM(4)(nd.ones((2, 2, 2)), nd.ones((1, 2, 4)))
print(out.shape, len(states))
""",
    "arrays": """\
import twofold.nd as nd
import twofold.np as np
import twofold.npx as npx
import twofold.sym as sym

a = np.random.rand(3, 4)
b = np.concatenate([a, a], axis=0)
c = np.where(b > 0.5, b, 0).sum(axis=0)
print(np.linalg.norm(a), np.pi, a.T @ a, np.float32, c.mean().item(), np.percentile(a, 50), npx.relu(a))
d = np.zeros((2, 3), dtype=np.float32)
d[0] = 1
d[:, 1] += 2
for row in d:
    print(row.max(), nd.ones(2).sum(), sym.var("x").name)
""",
    "modules": """\
import numpy as np

import twofold as mx

data = mx.sym.var("data")
hidden = mx.sym.Activation(mx.sym.FullyConnected(data=data, num_hidden=128, name="fc1"), act_type="relu")
network = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=10, name="fc2"), name="softmax")
batches = mx.io.NDArrayIter({"data": np.ones((100, 20))}, {"softmax_label": np.zeros(100)}, batch_size=10, shuffle=True)
module = mx.mod.Module(symbol=network, context=mx.cpu(), data_names=["data"], label_names=["softmax_label"])
module.bind(data_shapes=batches.provide_data, label_shapes=batches.provide_label)
module.init_params(initializer=mx.init.Uniform(scale=0.1))
module.init_optimizer(optimizer="sgd", optimizer_params=(("learning_rate", 0.1),))
metric = mx.metric.create("acc")
for batch in batches:
    module.forward(batch, is_train=True)
    module.update_metric(metric, batch.label)
    module.backward()
    module.update()
print(module.get_outputs()[0].asnumpy(), module.predict(batches).shape, dict(module.score(batches, ["acc"])))
module.fit(batches, eval_data=batches, num_epoch=3, batch_end_callback=mx.callback.Speedometer(10, 5))
arg_params, aux_params = module.get_params()
executor = network.simple_bind(mx.cpu(), data=(10, 20))
executor.forward(is_train=True)
print(arg_params["fc1_weight"].shape, len(aux_params), executor.outputs[0].asnumpy(), executor.memory_plan())
""",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What pyright says of each line after the start, and of each program."""
    if find_spec("pyright") is None:
        pytest.skip("needs pyright")
    folder = tmp_path_factory.mktemp("user")
    lines = [f"reveal_type({text})" for text in TYPES] + [*MISSPELT, *MISSING]
    (folder / "expressions.py").write_text(START + "\n".join(lines) + "\n")
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text)
    config = {"extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["generalDiagnostics"]
    first = START.count("\n")
    found = {name: [d["message"] for d in said if Path(d["file"]).stem == name] for name in PROGRAMS}
    rows = [(d["range"]["start"]["line"] - first, d["message"]) for d in said if Path(d["file"]).stem == "expressions"]
    return found | {lines[row]: message for row, message in rows if row >= 0}


@pytest.mark.parametrize("text", TYPES)
def test_an_expression_has_the_type_of_its_value(found, text):
    assert found[f"reveal_type({text})"] == f'Type of "{text}" is "{TYPES[text]}"'


@pytest.mark.parametrize("text", MISSPELT)
def test_a_misspelt_argument_is_found(found, text):
    assert found[text] == f'No parameter named "{MISSPELT[text]}"'


@pytest.mark.parametrize("text", MISSING)
def test_a_missing_argument_is_found(found, text):
    assert found[text].splitlines()[0] == MISSING[text]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_without_mistakes_has_none(found, name):
    assert found[name] == []
