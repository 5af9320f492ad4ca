"""What came before modules behaves as with the real MXNet (former.json, written by former.py)."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twofold as mx

from tests.oracle_programs import difference

SCRIPT = Path(__file__).with_name("former.py")
WANTED = json.loads(SCRIPT.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    command = [sys.executable, "-m", "twofold", "run", str(SCRIPT)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=250, check=True).stdout)


@pytest.mark.parametrize("name", WANTED)
def test_results_are_mxnets(name, found):
    assert difference(found[name], WANTED[name], 2e-4) is None


def test_no_result_is_missing(found):
    assert found.keys() == WANTED.keys()


@pytest.mark.parametrize("base", [mx.operator.NumpyOp, mx.operator.NDArrayOp])
def test_an_instance_is_an_operator(base):
    # running one crashes MXNet 1.9.1
    class Scaled(base):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * self.factor

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * self.factor

    by_two, by_three = Scaled(2), Scaled(3)
    symbol = by_three(by_two(mx.sym.Variable("x")), name="out")
    executor = symbol.simple_bind(mx.current_context(), x=(3,))
    executor.arg_dict["x"][:] = mx.nd.array([1, 2, 3])
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [6, 12, 18]
    executor.backward(mx.nd.array([1, 0, 2]))
    assert executor.grad_dict["x"].asnumpy().tolist() == [6, 0, 12]


def test_losses_read_no_head_gradients():
    class Loss(mx.operator.NumpyOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0]

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = np.sign(out_data[0])

    executor = Loss(need_top_grad=False)(mx.sym.Variable("x")).simple_bind(mx.current_context(), x=(2,))
    executor.arg_dict["x"][:] = mx.nd.array([-3, 2])
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [-1, 1]
