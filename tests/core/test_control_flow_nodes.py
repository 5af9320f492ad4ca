"""Loops and branches as nodes: results against NumPy, first and second gradients against finite differences, one compilation."""

import numpy as np
import pytest

from twofold.graph.build import G
from twofold.graph.control_flow import SubGraph, apply_foreach
from twofold.graph.gradient import gradient, ones_head
from twofold.graph.ir import leaf
from twofold.imperative.cell import HOST
from twofold.program.compile import Program

REAL = "float64"


def leaves(**shapes):
    return [leaf(name, shape, REAL, True) for name, shape in shapes.items()]


def twice_differentiated(loss, wrt):
    """The loss, its gradient, a function of the gradient, and the gradient of that."""
    first = gradient([loss], [ones_head(loss)], wrt)
    second_loss = G.sum(first[0] * first[0]) + G.sum(first[-1] * first[-1])
    return [loss, *first, second_loss, *gradient([second_loss], [ones_head(second_loss)], wrt)]


def numeric(program, arrays, output, argument, step=1e-6):
    out = np.zeros_like(arrays[argument])
    for i in np.ndindex(out.shape):
        moved = [a.copy() for a in arrays]
        moved[argument][i] += step
        ahead = program.run(moved)[output]
        moved[argument][i] -= 2 * step
        out[i] = (ahead - program.run(moved)[output]) / (2 * step)
    return out


def check_gradients(program, arrays, arguments):
    count = len(arguments)
    got = program.run(arrays)
    for order, start in ((0, 1), (1 + count, 2 + count)):
        for k, argument in enumerate(arguments):
            np.testing.assert_allclose(got[start + k], numeric(program, arrays, order, argument), rtol=1e-5, atol=1e-5)


def loop():
    x, s, w = leaves(x=(3,), s=(3,), w=(3,))
    new = G.tanh(x * w + s * w)
    return SubGraph.of([new * x, new], [x, s, w], "body")


def test_foreach_matches_a_python_loop():
    data, start, weight = leaves(X=(5, 3), S=(3,), W=(3,))
    outputs, last, _before = apply_foreach(loop(), [data], [start], [weight])
    x, s, w = (np.random.default_rng(0).standard_normal(n.shape) for n in (data, start, weight))
    got, got_last = Program([outputs, last], [data, start, weight], HOST).run([x, s, w])
    for t in range(5):
        s = np.tanh(x[t] * w + s * w)
        np.testing.assert_allclose(got[t], s * x[t])
    np.testing.assert_allclose(got_last, s)


def test_foreach_has_second_order_gradients():
    data, start, weight = leaves(X=(5, 3), S=(3,), W=(3,))
    outputs, last, _before = apply_foreach(loop(), [data], [start], [weight])
    loss = G.sum(outputs * outputs) + G.sum(last)
    program = Program(twice_differentiated(loss, [data, start, weight]), [data, start, weight], HOST)
    check_gradients(program, [np.random.default_rng(1).standard_normal(n.shape) for n in (data, start, weight)], [0, 1, 2])


def counting_loop():
    i = leaf("i", (), "int64")
    v, w = leaves(v=(3,), w=(3,))
    test = SubGraph.of([G.less(G.sum(v), 20.0)], [i, v, w], "test")
    body = SubGraph.of([v * w, i + 1, v * v * w + 1.0], [i, v, w], "body")
    count = leaf("I", (), "int64")
    start, weight = leaves(V=(3,), W=(3,))
    results = G.while_loop(count, start, weight, test=test, body=body, variables=2, limit=6)
    return count, start, weight, results


def test_while_loop_stops_when_its_condition_fails_and_pads_with_zeros():
    count, start, weight, results = counting_loop()
    program = Program([results[0], results[1], results[2], results[-1]], [count, start, weight], HOST)
    v, w = np.array([0.5, 0.6, 0.7]), np.array([1.1, 0.9, 0.5])
    stacked, n, last, steps = program.run([np.array(0), v, w])
    rows = []
    while v.sum() < 20 and len(rows) < 6:
        rows.append(v * w)
        v = v * v * w + 1.0
    assert steps == n == len(rows) == 4
    np.testing.assert_allclose(stacked[:4], rows)
    np.testing.assert_array_equal(stacked[4:], 0)
    np.testing.assert_allclose(last, v)


def test_while_loop_has_second_order_gradients():
    count, start, weight, results = counting_loop()
    loss = G.sum(results[0] * results[0]) * 1e-3 + G.sum(results[2] * results[2]) * 1e-3
    program = Program(twice_differentiated(loss, [start, weight]), [count, start, weight], HOST)
    check_gradients(program, [np.array(0), np.array([0.5, 0.6, 0.7]), np.array([1.1, 0.9, 0.5])], [1, 2])


@pytest.mark.parametrize("chosen", [True, False])
def test_cond_runs_one_branch_and_differentiates_it(chosen):
    v, w = leaves(v=(3,), w=(3,))
    then, otherwise = SubGraph.of([v * w], [v, w], "then"), SubGraph.of([G.exp(v)], [v, w], "else")
    predicate = leaf("P", (), "bool")
    result = G.cond(predicate, v, w, then=then, otherwise=otherwise)
    loss = G.sum(result * result)
    program = Program([loss, *gradient([loss], [ones_head(loss)], [v, w])], [predicate, v, w], HOST)
    a, b = np.array([0.5, 0.6, 0.7]), np.array([1.1, 0.9, 0.5])
    value, da, db = program.run([np.array(chosen), a, b])
    np.testing.assert_allclose(value, ((a * b) ** 2).sum() if chosen else np.exp(2 * a).sum())
    np.testing.assert_allclose(da, 2 * a * b * b if chosen else 2 * np.exp(2 * a))
    np.testing.assert_allclose(db, 2 * a * a * b if chosen else 0 * b)
