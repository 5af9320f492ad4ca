"""`mx.operator.CustomOp` and `autograd.Function`: forward, gradient, state, errors; on arrays, in symbols, from JSON."""

import subprocess
import sys

import numpy as np
import pytest

import twofold as mx
from twofold.errors import OperatorError, ParameterError

nd = mx.nd


class Logistic(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 1 / (1 + nd.exp(-in_data[0])))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))


@mx.operator.register("tests_logistic")
class LogisticProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Logistic()


class Counting(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + in_data[1])
        self.assign(out_data[1], req[1], in_data[0] * aux[0])
        aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])
        self.assign(in_grad[1], req[1], out_grad[0] * 2)


@mx.operator.register("tests_counting")
class CountingProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__()
        assert isinstance(scale, str)

    def list_arguments(self):
        return ["a", "b"]

    def list_outputs(self):
        return ["sum", "scaled"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0]], [[1]]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Counting()


X = np.array([0.0, 1.0, -2.0], "f4")
LOGISTIC = 1 / (1 + np.exp(-X))


def test_a_custom_operator_computes_and_differentiates():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type="tests_logistic")
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), LOGISTIC, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), LOGISTIC * (1 - LOGISTIC), rtol=1e-6)


def test_several_results_and_a_state_that_forward_changes():
    a, b, count = nd.array(X), nd.array(X), nd.array([3.0])
    b.attach_grad()
    with mx.autograd.record():
        total, scaled = nd.Custom(a, b, count, op_type="tests_counting", scale=2)
    total.backward()
    np.testing.assert_allclose(total.asnumpy(), 2 * X)
    np.testing.assert_allclose(scaled.asnumpy(), 3 * X)
    assert count.asscalar() == 4
    np.testing.assert_allclose(b.grad.asnumpy(), np.full(3, 2.0))


def test_a_custom_operator_in_a_symbol_and_from_its_json():
    symbol = mx.sym.Custom(mx.sym.var("x") * 2, op_type="tests_logistic", name="own")
    assert symbol.list_outputs() == ["own_output"]
    again = mx.sym.load_json(symbol.tojson())
    for s in (symbol, again):
        executor = s.simple_bind(mx.cpu(), x=(3,))
        executor.arg_dict["x"][:] = X / 2
        np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), LOGISTIC, rtol=1e-6)
        executor.backward(nd.ones(3))
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * LOGISTIC * (1 - LOGISTIC), rtol=1e-6)


def test_variables_are_made_for_arguments_left_out():
    assert mx.sym.Custom(op_type="tests_logistic", name="own").list_arguments() == ["own_data"]


def test_an_unknown_type_is_named():
    with pytest.raises(OperatorError, match="no_such_type"):
        nd.Custom(nd.ones(1), op_type="no_such_type")


class Product(mx.autograd.Function):
    def forward(self, x, y):
        self.save_for_backward(x, y)
        return x * y, x + y

    def backward(self, dproduct, dsum):
        x, y = self.saved_tensors
        return dproduct * y + dsum, dproduct * x + dsum


def test_a_function_with_several_results():
    x, y = nd.array(X), nd.array(X + 1)
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        product, total = Product()(x, y)
        z = product * product + total
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X * (X + 1) * (X + 1) + 1, rtol=1e-6)
    np.testing.assert_allclose(y.grad.asnumpy(), 2 * X * (X + 1) * X + 1, rtol=1e-6)


def test_two_calls_keep_their_own_state():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        first, _ = Product()(x, nd.array([2.0, 2, 2]))
        second, _ = Product()(x, nd.array([5.0, 5, 5]))
        z = first + second
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [7, 7, 7])


def test_an_exception_of_user_code_is_the_cause():
    class Broken(mx.autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            raise ZeroDivisionError("mine")

    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = Broken()(x)
    with pytest.raises(mx.MXNetError, match="Broken") as caught:
        y.backward()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (nd.ones(2) + 1).asnumpy().tolist() == [2, 2]


def test_auxiliary_states_in_symbols_are_refused():
    with pytest.raises(ParameterError, match="auxiliary states"):
        mx.sym.Custom(mx.sym.var("a"), mx.sym.var("b"), op_type="tests_counting")


class Square(mx.autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        return 2 * dy * x


def test_the_gradient_of_a_functions_gradient():
    x = nd.ones(3) * 2
    x.attach_grad()
    with mx.autograd.record():
        (g,) = mx.autograd.grad(Square()(x), [x], create_graph=True)
        q = g * g + x
    q.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.full(3, 17.0))


def test_the_gradient_of_a_custom_operators_gradient_is_refused():
    x = nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type="tests_logistic")
        with pytest.raises(mx.base.AutogradError, match="cannot be differentiated"):
            mx.autograd.grad(y, [x], create_graph=True)


def test_errors_of_forward_and_of_a_property_are_wrapped():
    class Broken(mx.autograd.Function):
        def forward(self, x):
            raise ZeroDivisionError("mine")

    with pytest.raises(mx.MXNetError, match="Broken: forward") as caught:
        Broken()(nd.ones(2))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)

    @mx.operator.register("tests_bad_shapes")
    class BadProp(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            raise KeyError("mine")

    with pytest.raises(mx.MXNetError, match="infer_shape") as caught:
        nd.Custom(nd.ones(2), op_type="tests_bad_shapes")
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_number_among_a_functions_inputs_is_refused():
    with pytest.raises(mx.base.DTypeError, match="no array"):
        Square()(3)


def test_the_front_ends_have_custom_before_anything_is_registered():
    program = "from twofold.ndarray import Custom; from twofold.symbol import Custom as S; import twofold as mx; "
    program += "assert (mx.nd.Custom, mx.sym.Custom) == (Custom, S) and 'Custom' in dir(mx.nd) and 'Custom' in dir(mx.sym)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_dtypes_reach_create_operator_as_mxnets_codes():
    seen = []

    @mx.operator.register("tests_dtypes")
    class Dtypes(LogisticProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            seen.append(in_dtypes)
            return Logistic()

    for dtype in ("float32", "float64", "float16", "int32"):
        nd.Custom(nd.ones(2, dtype=dtype), op_type="tests_dtypes")
    assert seen == [[0], [1], [2], [4]]
