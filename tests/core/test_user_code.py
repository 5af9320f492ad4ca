"""User code as operations: it may keep, write into or return its arguments, and keep what it returns."""

import numpy as np
import pytest

from twofold import autograd, gluon, nd
from twofold.errors import DTypeError

from .operators import SIZE, ramp


class Passing(autograd.Function):
    """The identity; its backward returns the array it was given."""

    def forward(self, x):
        return x

    def backward(self, dy):
        return dy


class Writing(autograd.Function):
    """Doubles its operand, writing into the copies it is given, forward and backward."""

    def forward(self, x):
        y = x.copy()
        y *= 2.0
        return y

    def backward(self, dy):
        dy *= 2.0
        return dy


class Keeping(autograd.Function):
    """The identity, which keeps every array that it sees."""

    kept: list = []  # noqa: RUF012  (one for all calls is the point)

    def forward(self, x):
        self.kept.append(x)
        return x * 1.0

    def backward(self, dy):
        self.kept += [dy, result := dy * 1.0]
        return result


def gradients(function, times=4):
    """Gradients of exp(k · function(x)) for several k, all held at once, and their expected values for the identity."""
    x = nd.array(ramp() / SIZE)
    x.attach_grad()
    got = []
    for k in range(1, times + 1):
        with autograd.record():
            y = (function()(x) * float(k)).exp()
        got += autograd.grad([y], [x])
    found = [g.asnumpy() for g in got]
    for g in got:
        g[:] = -1.0
    return found, [k * np.exp(k * ramp() / SIZE) for k in range(1, times + 1)]


def test_a_gradient_returned_unchanged_keeps_its_value(mode):
    got, want = gradients(Passing)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_writing_into_a_head_gradient_changes_nothing_else(mode):
    x, h = nd.array(ramp()), nd.array(ramp(1.0))
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = Writing()(x)
            z = y + x
        z.backward(h)
        np.testing.assert_array_equal(x.grad.asnumpy(), 3 * ramp(1.0))
        np.testing.assert_array_equal(h.asnumpy(), ramp(1.0))
        np.testing.assert_array_equal(y.asnumpy(), 2 * ramp())


def test_arrays_kept_by_user_code_do_not_change(mode):
    Keeping.kept.clear()
    _, want = gradients(Keeping)
    for k, (dy, result) in enumerate(zip(Keeping.kept[1::3], Keeping.kept[2::3], strict=True)):
        np.testing.assert_allclose(dy.asnumpy(), want[k], rtol=1e-5)
        np.testing.assert_allclose(result.asnumpy(), want[k], rtol=1e-5)


def test_returning_the_operand_gives_a_copy(mode):
    x = nd.array(ramp())
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = Passing()(x)
        y[:] = 0.0
        np.testing.assert_array_equal(x.asnumpy(), ramp())


class Tripled(autograd.Function):
    """Computes twice its input, with three times the gradient."""

    def forward(self, x):
        return x * 2

    def backward(self, dy):
        return dy * 3


class Around(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return Tripled()(x) + 1


def test_a_graph_contains_what_a_function_computes_but_not_its_gradient():
    # as in MXNet 1.9.1, which says nothing
    net, x = Around(), nd.array([1.0, 2.0])
    x.attach_grad()
    net.hybridize()
    with pytest.warns(UserWarning, match="Tripled: a graph contains what its forward computes, but not its backward"):
        np.testing.assert_array_equal(net(x).asnumpy(), [3.0, 5.0])
    with autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2.0, 2.0])


def test_a_function_is_not_traced_while_recording_which_would_lose_its_gradient():
    net = Around()
    net.hybridize()
    with autograd.record(), pytest.raises(DTypeError, match="Tripled: a graph cannot contain its backward: given Symbol while recording"):
        net(nd.array([1.0]))
