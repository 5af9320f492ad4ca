"""A gradient rule that reads one of an operator's several results: the second gradient goes through that result."""

import numpy as np

import twofold as mx
from twofold.imperative.cell import wrap
from twofold.imperative.invoke import invoke
from twofold.ndarray.array import NDArray
from twofold.opdef.declare import build


def pair(xp, data):
    """(exp(data), data * data), whose gradient rule reads the first result."""
    return xp.exp(data), data * data


PAIR = build(pair, (), (), {"outputs": 2})


@PAIR.grad
def _(xp, dout, out, data):
    first = 0 if dout[0] is None else dout[0] * out[0]
    return first + (0 if dout[1] is None else dout[1] * 2 * data)


def test_the_second_gradient_goes_through_the_saved_result():
    x = mx.nd.array([0.3, -0.7])
    x.attach_grad()
    with mx.autograd.record():
        y = wrap(NDArray, invoke(PAIR.bind(), (x,))[0])
        (g,) = mx.autograd.grad(y, [x], create_graph=True)
        z = g * g
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.exp(2 * x.asnumpy()), rtol=1e-6)
