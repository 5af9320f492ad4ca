"""Functions of ``np`` in pickles, which name them."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import numpy as onp
import pytest

from twofold import np


def is_pickled_by_numpy(name: str) -> bool:
    """Whether a public name of NumPy is a function that ``pickle`` takes."""
    found = getattr(onp, name)
    try:
        return name != "test" and callable(found) and not isinstance(found, type) and pickle.loads(pickle.dumps(found)) is found
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def test_functions_are_themselves_after_pickling():
    names = [name for name in onp.__all__ if is_pickled_by_numpy(name)]
    assert len(names) > 300
    lost = [name for name in names if pickle.loads(pickle.dumps(getattr(np, name))) is not getattr(np, name)]
    assert lost == []


def test_a_function_with_arguments_can_be_pickled_and_copied():
    total = pickle.loads(pickle.dumps(partial(np.sum, axis=0)))
    assert total(np.ones((2, 3))).tolist() == [2, 2, 2]
    assert copy.deepcopy(np.add) is np.add


@pytest.mark.parametrize("again", [lambda g: pickle.loads(pickle.dumps(g)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_goes_on_in_its_copy(make, again):
    drawn = make(3)
    drawn.normal(size=2)
    other = again(drawn)
    assert type(other) is type(drawn)
    assert other.normal(size=2).tolist() == drawn.normal(size=2).tolist()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_shallow_copy_of_a_generator_draws_from_the_same_state(make):
    one, drawn = make(3), make(3)
    drawn.normal()
    both = [copy.copy(drawn).random(), drawn.random()]
    one.normal()
    assert both == [one.random(), one.random()]


@pytest.mark.parametrize("again", [lambda a: pickle.loads(pickle.dumps(a)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_only_totals_are_immutable_after_a_copy(again):
    for made, want in ((np.array(1.0), 2.0), (np.ones(1).reshape(()), 2.0), (np.ones(3).sum(), 3.0)):
        found = same = again(made)
        found += 1
        assert float(same) == want
