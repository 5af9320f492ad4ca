"""Arrays of bools in ``mx.nd``: what is no truth value does not come as one."""

import numpy as np
import pytest

from twofold import nd

VALUES = np.array([False, False, True])


def bools():
    return nd.array(VALUES, dtype="bool")


@pytest.mark.parametrize("name", ["exp", "sqrt", "log1p", "sin", "tanh", "arctan", "cbrt", "radians"])
def test_functions_with_real_results_give_floats(name):
    found = getattr(nd, name)(bools())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.asnumpy(), getattr(np, name)(VALUES.astype("float32")), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "wanted"), [("softsign", [0, 0, 0.5]), ("hard_sigmoid", [0.5, 0.5, 0.7]), ("reciprocal", [np.inf, np.inf, 1])]
)
def test_functions_composed_of_quotients_give_floats(name, wanted):
    found = getattr(nd, name)(bools())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)


def test_quotients_are_floats():
    found = bools() / nd.array([1, 0, 1], dtype="bool")
    assert found.dtype == np.float32
    assert found.asnumpy().tolist()[::2] == [0, 1]
    assert np.isnan(found.asnumpy()[1])


@pytest.mark.parametrize(("name", "wanted"), [("argmax", 2), ("argmin", 0)])
def test_the_place_of_an_extremum_is_a_number(name, wanted):
    found = getattr(nd, name)(bools(), axis=0)
    assert (found.dtype, found.asscalar()) == (np.float32, wanted)


def test_the_channel_of_the_maximum_is_a_number():
    found = nd.argmax_channel(bools().reshape((1, 3)))
    assert (found.dtype, found.asscalar()) == (np.float32, 2)


@pytest.mark.parametrize("size", [3, 30_000])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("b / 1.5", [0, 0, 1]),
        ("b / -1.5", [0, 0, -1]),
        ("b % 1.5", [0, 0, 0]),
        ("b - 0.5", [0, 0, 1]),
        ("b < 1.5", [1, 1, 0]),
        ("b == 1.5", [0, 0, 1]),
    ],
)
def test_numbers_beside_bools_are_integers(text, wanted, size):
    # MXNet 1.9.1 with b = nd.array([0, 0, 1], dtype="bool"): int64, and the number is converted to it
    b = nd.array(VALUES.tolist() * (size // 3), dtype="bool")
    for _ in range(2):
        found = eval(text, {"nd": nd, "b": b})
        assert (found.dtype, found[:3].asnumpy().tolist()) == (np.int64, wanted)


def test_minus_gives_integers():
    # MXNet 1.9.1: -nd.array([0, 0, 1]).astype("bool"); its function nd.negative raises
    found = -bools()
    assert (found.dtype, found.asnumpy().tolist()) == (np.int64, [0, 0, -1])
