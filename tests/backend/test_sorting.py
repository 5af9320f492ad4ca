"""The NumPy adapter's stable orders of large arrays are NumPy's stable sort."""

import numpy as np
import pytest

from twofold_numpy.sorting import FEW, LONG, MANY, first_places, stable_order

SHAPES = [
    ((MANY,), 0),
    ((MANY + 7,), -1),
    ((40, LONG), 1),
    ((LONG, 40), 0),
    ((20, LONG, 2), 1),
    ((MANY - 1,), 0),
    ((LONG - 1, 40), 0),
    ((2, 0), 0),
]


def values(dtype, shape, distinct):
    """Numbers with many equal ones unless distinct, and every special value of a dtype."""
    draw = np.random.default_rng(len(shape))
    if dtype.kind == "f":
        x = draw.normal(size=shape).astype(dtype) if distinct else draw.integers(-40, 40, shape).astype(dtype)
        for special in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
            x[draw.random(shape) < 0.02] = special
        return x
    x = draw.integers(0, 2**31 - 1 if distinct else 60, shape).astype(dtype)
    x[draw.random(shape) < 0.02] = np.iinfo(dtype).max
    x[draw.random(shape) < 0.02] = np.iinfo(dtype).min
    return x


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "uint32", "uint64", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_equal_elements_keep_their_order(shape, axis, dtype, distinct):
    x = values(np.dtype(dtype), shape, distinct)
    order = stable_order(x, axis)
    np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))
    assert order.dtype == np.int64
    assert order.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_permutations_need_no_second_sort_and_views_may_be_strided(dtype):
    x = np.random.default_rng(0).permutation(3 * MANY).astype(dtype)[::-2]
    np.testing.assert_array_equal(stable_order(x, 0), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "uint32", "uint64", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), [((MANY,), 0), ((40, 100), 1), ((100, 40), 0), ((20, 160, 2), 1)])
def test_the_first_places_are_those_of_the_whole_order(shape, axis, dtype, descending):
    x = values(np.dtype(dtype), shape, distinct=True)
    x[np.isnan(x)] = np.inf if x.dtype.kind == "f" else 0
    order = stable_order(x, axis)
    if descending:
        order = x.shape[axis] - 1 - np.flip(stable_order(np.flip(x, axis), axis), axis)
    for count in (1, 2, shape[axis] // FEW):
        first = first_places(x, axis, count, descending)
        np.testing.assert_array_equal(first, np.take(order, np.arange(count), axis))
        assert first.dtype == np.int64
        assert first.flags.c_contiguous


def test_orders_that_take_as_long_whole_are_left():
    x = np.arange(float(MANY))
    assert first_places(x, 0, MANY // 2, False) is None
    assert first_places(x[1:], 0, 1, False) is None
    assert first_places(np.zeros(MANY), 0, 3, False) is None
    assert first_places(np.where(x == 7, np.nan, x), 0, 3, True) is None
