"""Operators that update a weight take arrays of its shape, as MXNet's do: others would broadcast."""

from __future__ import annotations

import pytest

from twofold import nd, sym
from twofold.errors import ShapeError

#: An update's states, by the operator.
STATES = {
    "sgd_update": 0,
    "signsgd_update": 0,
    "sgd_mom_update": 1,
    "nag_mom_update": 1,
    "signum_update": 1,
    "mp_sgd_update": 1,
    "rmsprop_update": 1,
    "adam_update": 2,
    "ftrl_update": 2,
    "rmspropalex_update": 3,
}
CASES = [(name, place) for name, count in STATES.items() for place in range(1, 2 + count)]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_an_array_of_another_shape_is_refused(name, place):
    arrays = [nd.ones((2, 3)) for _ in range(2 + STATES[name])]
    settings = {"momentum": 0.9} if name in ("sgd_mom_update", "nag_mom_update", "signum_update") else {}
    update = getattr(nd, name)
    update(*arrays, lr=0.1, **settings)
    before = arrays[0].asnumpy()
    arrays[place] = nd.ones((1, 3))
    with pytest.raises(ShapeError, match=r"the arrays must have one shape.*\(2, 3\).*\(1, 3\)"):
        update(*arrays, lr=0.1, **settings)
    assert (arrays[0].asnumpy() == before).all()


def test_symbols_infer_the_shapes_of_gradients_and_states():
    weight, grad, mom = (sym.var(name) for name in ("weight", "grad", "mom"))
    arguments, _, states = sym.sgd_mom_update(weight, grad, mom, lr=0.1).infer_shape(weight=(2, 3))
    assert [*arguments, *states] == [(2, 3)] * 3
