"""What type checkers find in users' programs: types of arrays, and misspelt arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

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
START = """\
import twofold as mx
import twofold.np as short
from twofold import gluon, nd, np, npx
from twofold.gluon import nn

x, y, net = mx.nd.array([1.0, 2.0]), np.zeros((2, 2)), nn.HybridSequential()
net.add(nn.Dense(3, activation="relu"), nn.Dense(2))
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What pyright says of each line after the start."""
    if find_spec("pyright") is None:
        pytest.skip("needs pyright")
    folder = tmp_path_factory.mktemp("user")
    lines = [f"reveal_type({text})" for text in TYPES] + list(MISSPELT)
    (folder / "program.py").write_text(START + "\n".join(lines) + "\n")
    config = {"extraPaths": [str(ROOT / "src")], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["generalDiagnostics"]
    first = START.count("\n")
    return {lines[d["range"]["start"]["line"] - first]: d["message"] for d in said if d["range"]["start"]["line"] >= first}


@pytest.mark.parametrize("text", TYPES)
def test_an_expression_has_the_type_of_its_value(found, text):
    assert found[f"reveal_type({text})"] == f'Type of "{text}" is "{TYPES[text]}"'


@pytest.mark.parametrize("text", MISSPELT)
def test_a_misspelt_argument_is_found(found, text):
    assert found[text] == f'No parameter named "{MISSPELT[text]}"'
