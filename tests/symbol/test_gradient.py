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


def test_the_gradient_of_lrn_before_a_convolution():
    """MXNet's executor is up to 9 % off where the channels are a multiple of 8."""
    alpha, knorm, shape = 0.01, 2.0, (2, 8, 3, 3)
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    data = sym.var("data")
    product = sym.Convolution(sym.LRN(data, nsize=3, alpha=alpha, knorm=knorm), kernel=(1, 1), num_filter=8, no_bias=True, name="c")
    executor = product.simple_bind(mx.current_context(), data=shape)
    executor.arg_dict["data"][:] = x
    executor.arg_dict["c_weight"][:] = np.eye(8).reshape(8, 8, 1, 1)
    executor.forward(is_train=True)
    executor.backward(nd.ones(shape))

    def neighbors(values):
        padded = np.pad(values, ((0, 0), (1, 1), (0, 0), (0, 0)))
        return padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]

    # y = x s^-0.75, where s = knorm + alpha / 3 * (the sum of x² over a channel and its two neighbors)
    s = knorm + alpha / 3 * neighbors(x.astype("float64") ** 2)
    expected = s**-0.75 - 2 * 0.75 * alpha / 3 * x * neighbors(x * s**-1.75)
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), expected, rtol=1e-5, atol=1e-6)


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
