"""Differentiation as anyone could write it in thirty lines, and the same by `autograd` and by symbols; loops; recording nothing."""

import gc
import tracemalloc

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd, sym

# A toy: an operation returns its value and a closure that passes a gradient on to its operands.


class Traced:
    """A NumPy array that remembers how to send gradients on."""

    def __init__(self, value, send=lambda gradient: None):
        self.value, self.send, self.gradient = np.asarray(value), send, 0.0

    def receive(self, gradient):
        self.gradient = self.gradient + gradient
        self.send(gradient)

    def __add__(self, other):
        def send(gradient):
            self.receive(gradient)
            other.receive(gradient)

        return Traced(self.value + other.value, send)

    def __mul__(self, other):
        def send(gradient):
            self.receive(gradient * other.value)
            other.receive(gradient * self.value)

        return Traced(self.value * other.value, send)

    def exp(self):
        value = np.exp(self.value)
        return Traced(value, lambda gradient: self.receive(gradient * value))


BIG = 50_000  # elements: computed at once, and far larger than what Python itself allocates

FORMULAS = {
    "a * b + a": lambda a, b, exp: a * b + a,
    "exp(a * b)": lambda a, b, exp: exp(a * b),
    "(a + b) * exp(a) * a": lambda a, b, exp: (a + b) * exp(a) * a,
}
A, B = np.array([0.5, 1.0, 2.0], np.float32), np.array([3.0, -1.0, 0.25], np.float32)


@pytest.fixture(params=FORMULAS)
def formula(request):
    return FORMULAS[request.param]


@pytest.fixture
def by_closures(formula):
    """Value and gradients of the formula by the toy."""
    a, b = Traced(A), Traced(B)
    out = formula(a, b, Traced.exp)
    out.receive(np.ones(3, np.float32))
    return out.value, a.gradient, b.gradient


def test_autograd_gives_what_the_closures_give(formula, by_closures):
    a, b = nd.array(A), nd.array(B)
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        out = formula(a, b, nd.exp)
    out.backward()
    for found, expected in zip((out, a.grad, b.grad), by_closures, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def test_a_bound_symbol_gives_what_the_closures_give(formula, by_closures):
    out = formula(sym.Variable("a"), sym.Variable("b"), sym.exp)
    arrays, gradients = {"a": nd.array(A), "b": nd.array(B)}, {"a": nd.zeros((3,)), "b": nd.zeros((3,))}
    executor = out.bind(mx.cpu(), arrays, args_grad=gradients)
    (value,) = executor.forward(is_train=True)
    executor.backward([nd.ones((3,))])
    for found, expected in zip((value, gradients["a"], gradients["b"]), by_closures, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


# A loop whose length the data say: easy imperatively, hard symbolically.


def test_python_loops_while_it_is_recorded():
    d = nd.array([3])
    x = nd.array([2])
    x.attach_grad()
    with autograd.record():
        y = nd.zeros((1,))
        for i in range(int(d.asscalar())):  # the value decides how often
            y = y + x * i
    y.backward()
    assert y.asscalar() == 2 * (0 + 1 + 2)
    assert x.grad.asscalar() == 0 + 1 + 2


def test_python_loops_over_writes_in_place():
    x = nd.array([2])
    x.attach_grad()
    with autograd.record():
        d = x * 1
        for _ in range(3):
            d += d
    d.backward()
    assert d.asscalar() == 16
    assert x.grad.asscalar() == 8


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_a_symbol_loops_by_foreach(steps):
    index, x = sym.Variable("index"), sym.Variable("x")
    _, total = sym.contrib.foreach(lambda i, total: (total, total + x * i), index, sym.Variable("start"))
    arrays = {"index": nd.arange(steps), "x": nd.array([2]), "start": nd.zeros((1,))}
    gradients = {"x": nd.zeros((1,))}
    executor = total.bind(mx.cpu(), arrays, args_grad=gradients, grad_req={"x": "write"})
    (value,) = executor.forward(is_train=True)
    executor.backward()
    assert value.asscalar() == 2 * sum(range(steps))
    assert gradients["x"].asscalar() == sum(range(steps))


def test_arrays_loop_by_foreach_too():
    outputs, total = nd.contrib.foreach(lambda i, total: (total + i, total + i), nd.arange(5), nd.zeros((1,)))
    assert total.asscalar() == 10
    assert outputs.asnumpy().ravel().tolist() == [0, 1, 3, 6, 10]


# Where no gradient is wanted nothing is kept.


def bytes_kept(scope):
    """Bytes alive after a chain of ten multiplications, each of which keeps its operand if it is recorded."""
    x = nd.full((BIG,), 1.0)
    x.attach_grad()
    x.wait_to_read()
    gc.collect()
    tracemalloc.start()
    try:
        with scope:
            y = x
            for _ in range(10):
                y = y * y
            y.wait_to_read()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_recording_keeps_what_backward_reads():
    assert bytes_kept(autograd.record()) > 9 * BIG * 4


@pytest.mark.parametrize("scope", [autograd.pause, autograd.predict_mode])
def test_without_recording_only_the_result_is_alive(scope):
    assert bytes_kept(scope()) < 2 * BIG * 4


def test_what_is_computed_in_a_pause_has_no_gradient():
    x = nd.array([1.5])
    x.attach_grad()
    with autograd.record():
        recorded = x * x
        with autograd.pause():
            apart = x * x
            assert not autograd.is_recording()
    recorded.backward()
    assert x.grad.asscalar() == 3
    with pytest.raises(mx.MXNetError):
        apart.backward()
