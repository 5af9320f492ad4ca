"""``np.testing`` compares arrays of `twofold.np` wherever they stand, and totals as NumPy's scalars."""

import numpy
import pytest

from twofold import np

X = np.arange(3.0)
EQUAL = [
    (X.sum(), 3), (X.max(), 2.0), ([X, 1], [X, 1]), ({"a": (X, X.sum())}, {"a": (X, 3)}), (X, [0, 1, 2]), (numpy.ones(3).sum(), X.sum()),
    ("text", "text"),
]  # fmt: skip
DIFFERENT = [(X.sum(), 4), ([X, 1], [X, 2]), ({"a": (X, 1)}, {"a": (X + 1, 1)}), (X.sum(), "text")]


@pytest.mark.parametrize(("actual", "desired"), EQUAL, ids=str)
def test_equal_values_pass(actual, desired):
    np.testing.assert_equal(actual, desired)
    np.testing.assert_equal(actual=actual, desired=desired)


@pytest.mark.parametrize(("actual", "desired"), DIFFERENT, ids=str)
def test_different_values_fail(actual, desired):
    with pytest.raises(AssertionError, match="not equal"):
        np.testing.assert_equal(actual, desired)


def test_digits_of_totals_are_compared():
    np.testing.assert_almost_equal(X.mean(), 1.00000001)
    np.testing.assert_almost_equal([X, X.sum() + X], [X, X + 3])
    np.testing.assert_approx_equal(X.mean(), 1.00000001)
    with pytest.raises(AssertionError, match="significant"):
        np.testing.assert_approx_equal(X.mean(), 1.1)
