"""Gradients of many slices of one array are added in place: one array for all of them, whatever its size."""

import numpy
import pytest

import twofold as mx
from twofold import nd, np
from twofold.graph.build import G
from twofold.graph.gradient import gradient
from twofold.graph.ir import applications, leaf
from twofold.ops.primitive_shape import slice_update
from twofold.program.compile import Program
from twofold_numpy import NumpyBackend

SIZE = 100_000


def sliced(x, begin, end):
    return G.slice(x, key=((begin, end, None),))


def program_of(count):
    """The gradient of a sum of products of slices with head gradients of their own, and what NumPy adds up to the same."""
    x = leaf("x", (SIZE,), "float64", True)
    heads = [leaf(("head", k), (8,), "float64") for k in range(count)]
    values = [numpy.random.default_rng(k).normal(size=8) for k in range(count)]
    (dx,) = gradient([sliced(x, 5 * k, 5 * k + 8) for k in range(count)], heads, [x])
    want = numpy.zeros(SIZE)
    for k, value in enumerate(values):
        want[5 * k : 5 * k + 8] += value
    return Program([dx], heads, NumpyBackend()), values, want


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_gradient_of_slices_takes_one_array(count):
    program, values, want = program_of(count)
    numpy.testing.assert_array_equal(program.run(values)[0], want)
    assert program.plan.outputs == [8 * SIZE]
    assert sum(n for n, _ in program.plan.buffers) <= 3 * 64
    assert program.source.count("put_") == 1  # zeros, once


def test_an_array_that_is_needed_later_is_not_updated_in_place():
    x, y = leaf("x", (SIZE,), "float64"), leaf("y", (3,), "float64")
    first = x + 1.0
    second = G.slice_update(first, y, key=((2, 5, None),))
    third = G.slice_update(second, sliced(first, 0, 3), key=((3, 6, None),))
    program = Program([second, third, G.sum(first, axis=(0,))], [x, y], NumpyBackend())
    a, b = numpy.arange(float(SIZE)), numpy.array([7.0, 8.0, 9.0])
    got = program.run([a, b])
    one = a + 1.0
    two = one.copy()
    two[2:5] = b
    three = two.copy()
    three[3:6] = one[0:3]
    assert [g.tolist() for g in got[:2]] == [two.tolist(), three.tolist()]
    assert float(got[2]) == one.sum()
    assert a[0] == 0.0


def test_an_update_with_a_view_of_the_same_array_reads_it_first():
    x = leaf("x", (12,), "float64")
    first = x * 2.0
    shifted = G.slice_update(first, sliced(first, 0, 8), key=((2, 10, None),))
    a = numpy.arange(12.0)
    want = a * 2.0
    want[2:10] = (a * 2.0)[0:8]
    assert Program([shifted], [x], NumpyBackend()).run([a])[0].tolist() == want.tolist()


def test_a_donated_array_is_updated_in_place():
    x, y = leaf("x", (SIZE,), "float64"), leaf("y", (3,), "float64")
    program = Program([G.slice_update(x, y, key=((2, 5, None),))], [x, y], NumpyBackend(), donated=[x])
    a = numpy.zeros(SIZE)
    assert program.run([a, numpy.ones(3)])[0] is a
    assert a[:6].tolist() == [0, 0, 1, 1, 1, 0]


def test_a_result_in_a_buffer_of_other_shapes_stays_there():
    x = leaf("x", (6, 8), "float64")
    y = G.exp(x)
    for shape in ((48,), (6, 8), (8, 6)):
        y = G.tanh(G.reshape(y, shape=shape))
    y = G.exp(y)
    a = numpy.linspace(0, 1, 48).reshape(6, 8)
    want = numpy.exp(numpy.tanh(numpy.tanh(numpy.tanh(numpy.exp(a))))).reshape(8, 6)
    numpy.testing.assert_array_equal(Program([y], [x], NumpyBackend()).run([a])[0], want)


def test_gradients_of_large_slices_stay_sums():
    x = leaf("x", (10,), "float64", True)
    heads = [leaf(k, (9,), "float64") for k in range(2)]
    (dx,) = gradient([sliced(x, 0, 9), sliced(x, 1, 10)], heads, [x])
    assert sum(n.bound_op.op is slice_update for n in applications([dx])) == 2


@pytest.mark.parametrize("module", [np, nd])
@pytest.mark.parametrize("size", [40, SIZE])
def test_elements_and_slices_have_first_and_second_gradients(module, size):
    values = numpy.linspace(0.5, 1.5, size).astype("float64")
    x = module.array(values, dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = x[0] * x[1] * x[1] + (x[2:6] * x[4:8]).sum() * x[5] + (x * x).sum() + x[3:7][1] * x[0]
        (dx,) = mx.autograd.grad([y], [x], create_graph=True, retain_graph=True)
        z = (dx * dx).sum()
    z.backward()
    got = x.grad.asnumpy()
    v = values[:8]
    first, hessian = numpy.zeros(8), numpy.zeros((8, 8))

    def gradient_of(v):
        g = numpy.zeros(8)
        g[0] += v[1] ** 2 + v[4]
        g[1] += 2 * v[0] * v[1]
        g[2:6] += v[4:8] * v[5]
        g[4:8] += v[2:6] * v[5]
        g[5] += (v[2:6] * v[4:8]).sum()
        g[4] += v[0]
        return g + 2 * v

    first = gradient_of(v)
    for k in range(8):
        step = numpy.zeros(8)
        step[k] = 1e-6
        hessian[:, k] = (gradient_of(v + step) - gradient_of(v - step)) / 2e-6
    numpy.testing.assert_allclose(dx.asnumpy()[:8], first, rtol=1e-12)
    numpy.testing.assert_allclose(got[:8], 2 * hessian @ first, rtol=1e-6)
    numpy.testing.assert_allclose(got[8:], 8 * values[8:], rtol=1e-12)
