"""`clip_global_norm`: the norm over arrays of any dtype, in one operation for all arrays of a device."""

import numpy as np
import pytest

from twofold import gluon, nd
from twofold.imperative.counters import COUNTERS

SHAPES = (3, 4), (5,), (300, 400), (1,)
BOUND = 2.5


@pytest.mark.parametrize("is_checked", [True, False], ids=["now", "later"])
@pytest.mark.parametrize(
    ("dtype", "rtol"), [("float32", 1e-6), ("float64", 1e-10), ("float16", 1e-3), ("bfloat16", 1e-2)], ids=lambda value: str(value)
)
def test_the_joint_norm_is_the_bound_afterwards(dtype, rtol, is_checked):
    draw = np.random.default_rng(0)
    arrays = [nd.array(draw.normal(size=shape), dtype=dtype) for shape in SHAPES]
    before = [a.astype("float64").asnumpy() for a in arrays]
    norm = np.sqrt(sum((x**2).sum() for x in before))
    found = gluon.utils.clip_global_norm(arrays, BOUND, check_isfinite=is_checked)
    np.testing.assert_allclose(found.asnumpy() if isinstance(found, nd.NDArray) else [found], [norm], rtol=1e-6)
    for array, x in zip(arrays, before, strict=True):
        np.testing.assert_allclose(array.astype("float64").asnumpy(), x * BOUND / norm, rtol=rtol, atol=1e-7)


def test_one_array_of_double_precision_makes_the_norm_double():
    arrays = [nd.ones((2,)), nd.array([1e25], dtype="float64")]
    assert gluon.utils.clip_global_norm(arrays, 1e30) == pytest.approx(1e25, rel=1e-12)


@pytest.mark.filterwarnings("ignore:nan or inf is detected")
@pytest.mark.parametrize("is_checked", [True, False])
@pytest.mark.parametrize(("bad", "want"), [(np.nan, [[np.nan, np.nan], [np.nan]]), (np.inf, [[0, np.nan], [0]])])
def test_arrays_without_a_finite_norm_are_scaled_by_what_it_gives(bad, want, is_checked):
    # as MXNet 1.9.1: by NaN, and by 0
    arrays = [nd.array([1, bad]), nd.array([2])]
    gluon.utils.clip_global_norm(arrays, 1.0, check_isfinite=is_checked)
    assert [str(a.asnumpy().tolist()) for a in arrays] == [str([float(x) for x in row]) for row in want]


def test_squares_are_of_all_arrays_at_once():
    arrays = [nd.ones((k + 1, 3)) for k in range(50)]
    done = COUNTERS.inline + COUNTERS.deferred
    assert gluon.utils.clip_global_norm(arrays, 100) == pytest.approx(np.sqrt(3 * 50 * 51 / 2))
    assert COUNTERS.inline + COUNTERS.deferred - done <= 4
