"""Generators of ``np.random`` in the hands of NumPy and of libraries, which take them for NumPy's."""

from __future__ import annotations

import copy
import pickle

import numpy as onp
import pytest

from twofold import np

MAKERS = [pytest.param("default_rng", id="Generator"), pytest.param("RandomState", id="RandomState")]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_generator_says_that_it_is_numpys(maker):
    made = getattr(np.random, maker)(0)
    assert isinstance(made, type(getattr(onp.random, maker)(0)))
    assert isinstance(made, getattr(np.random, type(made).__name__))
    assert not isinstance(made, onp.random.BitGenerator)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("of", [np, onp], ids=["of np", "of NumPy"])
def test_default_rng_of_a_generator_draws_from_its_stream(maker, of):
    ours, numpys = getattr(np.random, maker)(3), getattr(onp.random, maker)(3)
    both = [of.random.default_rng(ours), onp.random.default_rng(numpys)]
    drawn, expected = [[g.random(), first.normal(), g.integers(99)] for g, first in zip(both, (ours, numpys), strict=True)]
    assert drawn == expected


def test_numpys_generator_over_one_of_ours_spawns_and_has_its_state():
    ours, numpys = np.random.default_rng(3), onp.random.default_rng(3)
    made = onp.random.default_rng(ours)
    assert made.bit_generator.state == numpys.bit_generator.state
    assert [g.random() for g in made.spawn(2)] == [g.random() for g in numpys.spawn(2)]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("maker", MAKERS)
def test_a_generator_is_pickled_as_ours(maker, protocol):
    drawn = getattr(np.random, maker)(3)
    drawn.normal(size=3)
    for again in (pickle.loads(pickle.dumps(drawn, protocol)), copy.deepcopy(drawn)):
        assert type(again) is type(drawn)
    assert again.normal(size=2).tolist() == drawn.normal(size=2).tolist()


@pytest.mark.parametrize("maker", MAKERS)
def test_scipy_draws_from_a_generator(maker):
    stats = pytest.importorskip("scipy.stats")
    ours, numpys = getattr(np.random, maker)(5), getattr(onp.random, maker)(5)
    for draw in (
        lambda g: stats.norm.rvs(1, 2, size=(2, 3), random_state=g),
        lambda g: stats.multivariate_normal.rvs([0, 1], size=4, random_state=g),
        lambda g: stats.poisson.rvs(3, size=3, random_state=g),
        lambda g: stats.gaussian_kde([1.0, 2.0, 4.0]).resample(3, seed=g),
        lambda g: stats.bootstrap(([1.0, 2.0, 4.0, 5.0],), onp.mean, n_resamples=9, rng=onp.random.default_rng(g)).standard_error,
    ):
        assert onp.asarray(draw(ours)).tolist() == onp.asarray(draw(numpys)).tolist()


def test_pandas_and_scikit_learn_draw_from_a_generator():
    pandas = pytest.importorskip("pandas")
    utils = pytest.importorskip("sklearn.utils")
    frame = pandas.DataFrame({"a": range(9)})
    rows = [frame.sample(4, random_state=m.random.default_rng(2)).index.tolist() for m in (np, onp)]
    assert rows[0] == rows[1]
    mixed = [utils.shuffle(list(range(9)), random_state=m.random.RandomState(2)) for m in (np, onp)]
    assert mixed[0] == mixed[1]
