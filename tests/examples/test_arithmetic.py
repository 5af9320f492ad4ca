"""Arithmetic written in both ways: at once, and as a graph that is planned as a whole. Memory, gradients, folding."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd, sym
from twofold.config import SETTINGS
from twofold.imperative.counters import COUNTERS

TEN = np.arange(10.0)
DOUBLES = TEN.nbytes  # 80


def textbook():
    """The textbook example: c = b * a; d = c + 1."""
    a, b = sym.Variable("a"), sym.Variable("b")
    return b * a + 1


def doubles(values):
    return nd.array(values, dtype="float64")


def test_imperative_arithmetic_computes_as_it_goes():
    a, b = doubles(np.ones(10)), doubles(np.ones(10) * 2)
    c = b * a
    assert c.asnumpy().tolist() == [2] * 10
    d = c + 1
    assert d.asnumpy().tolist() == [3] * 10


def test_symbolic_arithmetic_is_composed_compiled_and_then_called():
    f = mx.compile(textbook())
    d = f(a=doubles(np.ones(10)), b=doubles(np.ones(10) * 2))
    assert d.asnumpy().tolist() == [3] * 10


def test_the_gradient_of_a_graph_is_a_graph():
    d = textbook()
    grad_a, grad_b = d.grad(wrt=["a", "b"])
    f = mx.compile([d, grad_a, grad_b])
    value, da, db = f(a=doubles(TEN), b=doubles(TEN + 2))
    np.testing.assert_array_equal(value.asnumpy(), TEN * (TEN + 2) + 1)
    np.testing.assert_array_equal(da.asnumpy(), TEN + 2)
    np.testing.assert_array_equal(db.asnumpy(), TEN)


def test_both_ways_give_the_same_gradient():
    a, b = doubles(TEN), doubles(TEN + 2)
    a.attach_grad()
    with autograd.record():
        d = b * a + 1
    d.backward()
    symbolic = mx.compile(textbook().grad(wrt=["a"]))(a=a, b=b)
    np.testing.assert_array_equal(a.grad.asnumpy(), symbolic.asnumpy())


def test_one_step_after_another_needs_four_arrays():
    steps = [mx.compile(sym.Variable("b") * sym.Variable("a")), mx.compile(sym.Variable("c") + 1)]
    c = steps[0](a=doubles(TEN), b=doubles(TEN))
    steps[1](c=c)
    multiply, add = (f.memory_plan() for f in steps)
    assert multiply.nbytes + sum(add.outputs) == 4 * DOUBLES == 320  # a, b, c stay in sight while d is made


@pytest.mark.parametrize(("donate", "nbytes"), [([], 240), (["b"], 160)])
def test_a_plan_of_the_whole_needs_three_arrays_or_two(donate, nbytes):
    f = mx.compile(textbook(), donate=donate)
    np.testing.assert_array_equal(f(a=doubles(TEN), b=doubles(TEN)).asnumpy(), TEN * TEN + 1)
    assert f.memory_plan().nbytes == nbytes


def test_the_plan_of_a_bound_graph_says_how_many_bytes():
    executor = textbook().simple_bind(mx.cpu(), a=(10,), b=(10,), type_dict={"a": "float64", "b": "float64"}, grad_req="null")
    (plan,) = executor.memory_plan().values()
    assert plan.nbytes == 240
    assert str(plan).splitlines()[-1] == "total   240 bytes"


def sigmoid_of_small_operations(F, x):
    return 1 / (1 + F.exp(-x))


def test_sigmoid_big_or_small_has_the_same_values_and_gradients():
    x = nd.array(np.linspace(-30, 30, 61))
    x.attach_grad()
    found = []
    for f in (nd.sigmoid, lambda x: sigmoid_of_small_operations(nd, x)):
        with autograd.record():
            y = f(x)
        y.backward()
        found.append((y.asnumpy(), x.grad.asnumpy()))
    (big, big_gradient), (small, small_gradient) = found
    np.testing.assert_allclose(big, small, rtol=1e-6)
    np.testing.assert_allclose(big_gradient, small_gradient, rtol=1e-5, atol=1e-7)  # 1 - sigmoid cancels in float32


def test_sigmoid_of_small_operations_is_folded_to_one_kernel_as_the_big_one_is(monkeypatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    kernels = []
    for f in (nd.sigmoid, lambda x: sigmoid_of_small_operations(nd, x)):
        x = nd.ones((1000,))
        x.wait_to_read()
        COUNTERS.reset()
        f(x).wait_to_read()
        kernels.append(COUNTERS.kernels)
    assert kernels == [1, 1]


def test_a_graph_of_small_operations_is_the_same_program_as_the_big_one(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)  # when machine code takes over depends on how long each has run
    x = sym.Variable("x")
    big, small = mx.compile(sym.sigmoid(x)), mx.compile(sigmoid_of_small_operations(sym, x))
    big(x=nd.ones((100_000,)))
    small(x=nd.ones((100_000,)))
    assert big.explain() == small.explain()
    assert len(big.explain().splitlines()) == 1
