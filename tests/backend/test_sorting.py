"""The NumPy adapter's stable orders of large arrays are NumPy's stable sort."""

import numpy as np
import pytest

from twofold_numpy.sorting import LONG, MANY, stable_order

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
