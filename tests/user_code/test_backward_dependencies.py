"""`CustomOpProp.declare_backward_dependency`: which arrays are kept for backward, and what happens if others are read."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError

nd = mx.nd
X = np.array([0.0, 1.0, -2.0], "f4")


class Scaled(mx.operator.CustomOp):
    """Gradients of a * b, where the property keeps only b."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
        self.assign(in_grad[1], req[1], out_grad[0] * (in_data[0] if self.reads_all else 7))


@mx.operator.register("tests_scaled")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, reads_all="False"):
        super().__init__()
        self.reads_all = reads_all == "True"

    def list_arguments(self):
        return ["a", "b"]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        op = Scaled()
        op.reads_all = self.reads_all
        return op

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[1]]


def scaled_gradients(**parameters):
    a, b = nd.array(X), nd.array(X + 1)
    a.attach_grad()
    b.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(a, b, op_type="tests_scaled", **parameters)
    y.backward()
    return a.grad.asnumpy(), b.grad.asnumpy()


def test_backward_gets_its_declared_dependencies():
    da, db = scaled_gradients()
    np.testing.assert_array_equal(da, X + 1)
    np.testing.assert_array_equal(db, [7, 7, 7])


def test_reading_an_array_that_is_not_declared_as_a_dependency_raises():
    with pytest.raises(mx.MXNetError, match="declare_backward_dependency"):
        scaled_gradients(reads_all=True)


def test_declared_dependencies_hold_in_symbols():
    executor = mx.sym.Custom(op_type="tests_scaled", name="own").simple_bind(mx.current_context(), own_a=(3,), own_b=(3,))
    executor.arg_dict["own_b"][:] = X + 1
    executor.forward(is_train=True)
    executor.backward(nd.ones(3))
    np.testing.assert_array_equal(executor.grad_dict["own_a"].asnumpy(), X + 1)


def test_an_invalid_dependency_number_raises(monkeypatch):
    monkeypatch.setattr(ScaledProp, "declare_backward_dependency", lambda self, out_grad, in_data, out_data: [99])
    with pytest.raises(ParameterError, match="unknown numbers"):
        scaled_gradients()
