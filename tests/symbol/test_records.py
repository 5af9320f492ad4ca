"""`autograd.get_symbol`: the recorded computation as a symbol that computes the same."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import AutogradError

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "f4")


def recorded(compute):
    x = mx.nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        return compute(x)


COMPUTATIONS = {
    "operators": lambda x: mx.nd.tanh(x * 2.5 + 1) / x - 0.5,
    "reversed scalars": lambda x: (3.5 - x) * (2.0 / x),
    "layers": lambda x: mx.nd.softmax(mx.nd.FullyConnected(x, x * 1.0, no_bias=True, num_hidden=2)),
    "shapes": lambda x: x.reshape((3, 2)).T[1:2] * 2,
    "several results": lambda x: mx.nd.concat(*mx.nd.split(x, num_outputs=3, axis=1)[::-1], dim=1),
}


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_the_symbol_computes_what_was_recorded(name):
    y = recorded(COMPUTATIONS[name])
    symbol = mx.autograd.get_symbol(y)
    (argument,) = symbol.list_arguments()
    (got,) = symbol.eval(ctx=mx.current_context(), **{argument: mx.nd.array(X)})
    np.testing.assert_allclose(got.asnumpy(), y.asnumpy(), rtol=1e-6)
    assert mx.sym.load_json(symbol.tojson()).list_arguments() == [argument]


def test_a_graph_used_by_backward_is_rejected():
    y = recorded(lambda x: x * 2)
    y.backward()
    with pytest.raises(AutogradError, match="already used"):
        mx.autograd.get_symbol(y)
