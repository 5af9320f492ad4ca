"""Gradients as symbols."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError

sym, nd = mx.sym, mx.nd


def evaluated(symbol, **arrays):
    return [o.asnumpy() for o in symbol.eval(**{n: nd.array(v, dtype="float64") for n, v in arrays.items()})]


def test_gradients_of_any_order():
    x = np.linspace(-1, 2, 5)
    v = sym.var("x")
    f = sym.exp(v) * v
    for order in range(1, 4):
        f = f.grad(["x"])
        np.testing.assert_allclose(evaluated(f, x=x)[0], np.exp(x) * (x + order), rtol=1e-12)


def test_one_output_for_each_variable_in_their_shapes():
    product = sym.dot(sym.var("a"), sym.var("b"))
    grads = product.grad(["b", "a"])
    assert grads.infer_shape(a=(2, 3), b=(3, 4))[1] == [(3, 4), (2, 3)]
    a, b = np.random.default_rng(0).normal(size=(2, 2, 2))
    for got, expected in zip(evaluated(grads, a=a, b=b), (a.T @ np.ones((2, 2)), np.ones((2, 2)) @ b.T), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_gradient_is_an_ordinary_symbol():
    x = sym.var("x")
    penalty = sym.sum(sym.square(sym.square(x).grad(["x"])))  # sum (2x)²
    executor = penalty.simple_bind(mx.current_context(), x=(3,))
    executor.forward(is_train=True, x=nd.array([1, 2, 3]))
    executor.backward()
    assert executor.outputs[0].asnumpy().tolist() == [4 * 14]
    assert executor.grad_dict["x"].asnumpy().tolist() == [8, 16, 24]


def test_a_gradient_can_be_saved_and_loaded():
    grad = sym.exp(2 * sym.var("x")).grad("x")
    np.testing.assert_allclose(evaluated(sym.load_json(grad.tojson()), x=[0.5])[0], [2 * np.e], rtol=1e-12)


def test_the_gradient_of_an_unstable_formula_is_finite():
    grad = sym.log(sym.softmax(sym.var("x"))).grad(["x"])
    assert np.isfinite(evaluated(grad, x=[[1e4, -1e4]])[0]).all()


def test_a_name_that_is_not_an_argument_is_rejected():
    with pytest.raises(ParameterError, match="it has x"):
        sym.exp(sym.var("x")).grad(["y"])
