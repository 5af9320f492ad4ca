"""Selections whose size the caller names. What JAX computes alike is in `jax_cases`."""

import numpy as host
import pytest

from twofold import errors, func, np

X = host.array([0.0, -2.0, 3.0, 0.0, 3.0])
TABLE = host.array([[0, 1, 0], [2, 0, 3]])


@pytest.mark.parametrize("transform", [lambda f: f, func.jit, lambda f: lambda v: [r[0] for r in func.vmap(f)(v[None])]])
def test_enough_places_are_numpys(transform):
    rows, columns = transform(lambda v: np.nonzero(v, size=3))(np.array(TABLE))
    assert [rows.tolist(), columns.tolist()] == [k.tolist() for k in host.nonzero(TABLE)]
    (flat,) = transform(lambda v: (np.flatnonzero(v, size=3),))(np.array(TABLE))
    assert flat.tolist() == host.flatnonzero(TABLE).tolist()
    (pairs,) = transform(lambda v: (np.argwhere(v, size=3),))(np.array(TABLE))
    assert pairs.tolist() == host.argwhere(TABLE).tolist()
    for one, wanted in zip(
        transform(lambda v: np.unique(v, True, True, True, size=3))(np.array(X)), host.unique(X, True, True, True), strict=True
    ):
        assert one.tolist() == wanted.tolist()


def test_missing_and_surplus_places():
    assert [k.tolist() for k in np.nonzero(np.array(TABLE), size=5, fill_value=(7, 8))] == [[0, 1, 1, 7, 7], [1, 0, 2, 8, 8]]
    assert np.flatnonzero(np.array(X), size=8, fill_value=-1).tolist() == [1, 2, 4, -1, -1, -1, -1, -1]
    assert np.nonzero(np.array(X), size=2)[0].tolist() == [1, 2]
    assert np.argwhere(np.array(TABLE), size=4).tolist() == [[0, 1], [1, 0], [1, 2], [0, 0]]


def test_missing_and_surplus_elements():
    assert np.unique(np.array(X), size=4).tolist() == [-2, 0, 3, -2]
    assert np.unique(np.array(X), size=2).tolist() == [-2, 0]
    values, counts = np.unique(np.array(X), return_counts=True, size=5, fill_value=9)
    assert (values.tolist(), counts.tolist()) == ([-2, 0, 3, 9, 9], [1, 2, 2, 0, 0])


def test_numbers_that_are_none():
    x = np.array([host.nan, 1, host.nan])
    host.testing.assert_array_equal(np.unique(x, size=3, fill_value=0).asnumpy(), [1, host.nan, 0])
    host.testing.assert_array_equal(np.unique(x, size=3, equal_nan=False).asnumpy(), [1, host.nan, host.nan])


def test_empty_arrays():
    assert np.unique(np.zeros(0), size=2, fill_value=5).tolist() == [5, 5]
    assert np.nonzero(np.zeros(0), size=2, fill_value=5)[0].tolist() == [5, 5]
    assert np.unique(np.array(X), size=0).tolist() == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.nonzero(x, size=-3), "nonzero: size is not a number of results: given -3"),
        (lambda x: np.unique(x, size=2.5), r"unique: size is not a number of results: given 2\.5"),
        (lambda x: np.argwhere(x, size=2, fill_value=(1, 2)), "argwhere: another number of fill values than axes: given 2 for 1"),
        (lambda x: np.unique(x, size=3, axis=0), "unique: a fixed size is for elements.*axis=0"),
        (func.jit(lambda v: np.nonzero(v)), r"jit: the number of elements that nonzero finds is not known.*shape \(5,\); pass size="),
        (func.jit(lambda v: np.unique(v)), "jit: the number of elements that unique finds is not known.*; pass size="),
        (func.jit(lambda v: np.compress(v > 0, v)), "jit: the number of elements that compress finds.*np.where"),
        (func.jit(lambda v: np.extract(v > 0, v)), "jit: the number of elements that extract finds.*np.where"),
        (
            func.jit(lambda v: np.intersect1d(v, v)),
            "jit: intersect1d reads the values of an array, which are not known.*compute it outside",
        ),
    ],
)
def test_mistakes(call, text):
    with pytest.raises(errors.MXNetError, match=text):
        call(np.array(X))
