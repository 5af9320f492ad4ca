"""Updaters take arrays of every front end."""

import pytest

import twofold as mx
import twofold.np
from twofold import nd


@pytest.mark.parametrize("module", [nd, mx.np, twofold.np], ids=["nd", "mx.np", "twofold.np"])
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_updaters_of_sgd_and_adam_take_arrays_of_every_front_end(module, name):
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.5))
    weight = module.ones((3,))
    update(0, module.ones((3,)), weight)
    assert (weight.asnumpy() < 1).all()
