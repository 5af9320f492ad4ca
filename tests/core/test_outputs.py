"""Operators with several results: recorded, deferred, differentiated, with one result unused."""

import weakref

import numpy as np
import pytest

from twofold import autograd, nd

from .operators import SIZE, op, operator, pair, ramp
from tests import probe

X = np.linspace(-1.0, 1.0, SIZE)


def variable(values=X):
    x = nd.array(values)
    x.attach_grad()
    return x


def near(x, want):
    np.testing.assert_allclose(x.asnumpy(), np.broadcast_to(want, x.shape), rtol=2e-5, atol=1e-6)


def _halves(xp, data):
    return xp.take_slice(data, 0, 8, 0), xp.take_slice(data, 8, 16, 0)


#: Two views of the operand.
halves = operator(_halves, outputs=2)


def _swap(xp, lhs, rhs):
    return rhs, lhs, lhs


#: Its operands swapped, one of them twice.
swap = operator(_swap, outputs=3)


def _polar(xp, data):
    return xp.sin(data), xp.cos(data), xp.tanh(data)


polar = operator(_polar, outputs=3, visible=2)


@polar.op.grad
def _(xp, dout, out):
    parts = [d * s for d, s in ((dout[0], out[1]), (dout[1], -out[0]), (dout[2], 1 - out[2] * out[2])) if d is not None]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def test_both_results_are_computed(mode):
    a, b = pair(nd.array(X))
    near(a, np.exp(X))
    near(b, np.tanh(X))


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_gradients_of_the_results_that_are_used(mode, used):
    for _ in range(3):
        x = variable()
        with autograd.record():
            results = pair(x)
            z = sum((results[k] * (2.0 + k) for k in used), x * 1.0)
        z.backward()
        near(x.grad, 1.0 + sum((2.0 + k) * (np.exp(X), 1 - np.tanh(X) ** 2)[k] for k in used))


@pytest.mark.parametrize("dead", [0, 1])
def test_a_result_may_die_before_anything_runs(mode, dead):
    for _ in range(3):
        x = variable()
        with autograd.record():
            results = pair(x)
            del results[dead]
            z = results[0] * 3.0
            del results
        z.backward()
        near(z, 3 * (np.tanh(X), np.exp(X))[dead])
        near(x.grad, 3 * (1 - np.tanh(X) ** 2, np.exp(X))[dead])


def test_a_dead_result_is_not_kept(mode):
    for _ in range(3):
        x = variable()
        with autograd.record():
            a, b = pair(x)
            z = b * 2.0
        z.wait_to_read()
        seen = weakref.ref(probe.content(a))
        del a
        assert seen() is None
        del b
        z.backward()
        near(x.grad, 2 * (1 - np.tanh(X) ** 2))


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_a_multi_output_rule_gets_none_for_unused_results(mode, used):
    for _ in range(3):
        x = variable()
        with autograd.record():
            results = polar(x)
            assert len(results) == 2
            z = sum((results[k] * 2.0 for k in used), x * 0.0)
        z.backward()
        near(x.grad, sum(2 * (np.cos(X), -np.sin(X))[k] for k in used))


def test_both_results_can_be_heads(mode):
    for _ in range(3):
        x = variable()
        with autograd.record():
            results = pair(x)
        autograd.backward(results, [nd.array(ramp()), None])
        near(x.grad, ramp() * np.exp(X) + 1 - np.tanh(X) ** 2)


def test_writing_a_result_does_not_change_the_others(mode):
    for _ in range(3):
        a, b = nd.array(ramp()), nd.array(ramp(100.0))
        results = swap(a, b)
        results[2][:] = 0.0
        results[0] += 1.0
        near(results[1], ramp())
        near(results[0], ramp(101.0))
        near(a, ramp())
        near(b, ramp(100.0))


def test_multiple_results_that_alias_their_operand_are_copies(mode):
    for _ in range(3):
        x = nd.array(ramp())
        low, high = halves(x)
        low[:] = 0.0
        high += 1.0
        near(x, ramp())


def test_results_over_two_tapes(mode):
    x = variable()
    with autograd.record():
        a, b = pair(x)
    with autograd.record():
        z = a * b
    z.backward()
    near(x.grad, np.exp(X) * np.tanh(X) + np.exp(X) * (1 - np.tanh(X) ** 2))


def test_several_operands_give_several_results(mode):
    a, b = variable(), variable(X + 3.0)
    with autograd.record():
        y, x, _ = swap(a * 2.0, b * 3.0)
        z = op("multiply", y, y) + x
    z.backward()
    near(a.grad, 2.0)
    near(b.grad, 18 * (X + 3.0))
