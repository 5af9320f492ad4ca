"""The NumPy adapter's special functions: accuracy against stored values, limits and poles, dtypes, no warnings."""

import json
import math
from functools import partial
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from twofold_numpy import special

VALUES = json.loads(Path(__file__).with_name("special_values.json").read_text(encoding="utf-8"))
CASES = [(name, label) for name, ranges in VALUES.items() for label in ranges]
#: Largest error in units in the last place of the result. Below 0 the functions have zeros between their poles: there the error
#: is measured relative to the magnitude of the terms.
ULPS = {
    "erf": 3,
    "erfinv": 6,
    "gammaln": 6,
    "digamma": 6,
    "polygamma 1": 6,
    "polygamma 2": 6,
    "polygamma 3": 8,
    "polygamma 5": 10,
    "polygamma 10": 24,
}
ERFINV, GAMMALN, POLYGAMMA = (special.FUNCTIONS[name] for name in ("erfinv", "gammaln", "polygamma"))
DIGAMMA = partial(POLYGAMMA, order=0)
#: The parameters with which a function is tested; none for the others.
PARAMETERS = {"polygamma": [{"order": 0}, {"order": 1}]}
UNARY = [partial(function, **params) for name, function in special.FUNCTIONS.items() for params in PARAMETERS.get(name, [{}])]


def function(name):
    base, _, order = name.partition(" ")
    if base == "digamma":
        return DIGAMMA
    return partial(POLYGAMMA, order=int(order)) if order else special.FUNCTIONS[base]


def stored(name, label):
    table = np.array([[float.fromhex(x), float.fromhex(y)] for x, y in VALUES[name][label]])
    return table[:, 0], table[:, 1]


def largest_term(name, x):
    """The largest term of the reflection formula, whose rounding errors enter the result at x < 0."""
    order = int(name.partition(" ")[2] or 0)
    if name == "gammaln":
        return GAMMALN(-x)
    return math.factorial(order) / np.abs(x - np.round(x)) ** (order + 1) + np.abs(POLYGAMMA(1 - x, order=order))


@pytest.mark.parametrize(("name", "label"), CASES)
def test_results_are_within_a_few_units_in_the_last_place(name, label):
    x, want = stored(name, label)
    got = function(name)(x)
    size = np.abs(want) if label != "negative" else np.maximum(np.abs(want), largest_term(name, x))
    assert np.max(np.abs(got - want) / np.spacing(size)) <= ULPS[name]


@pytest.mark.parametrize(("name", "label"), [c for c in CASES if c[1] != "negative"])
def test_float32_results_are_correctly_rounded_but_for_erf(name, label):
    x, _ = stored(name, label)
    x = x[(np.abs(x) > 1e-30) & (np.abs(x) < 1e30)].astype(np.float32)
    got, want = function(name)(x), function(name)(x.astype(np.float64)).astype(np.float32)
    assert got.dtype == np.float32
    np.testing.assert_array_max_ulp(got, want, 3 if name == "erf" else 0)


def test_erf_of_float32_is_within_three_units_and_monotone():
    x = np.linspace(-4.5, 4.5, 50_001, dtype=np.float32)
    got = special.erf(x)
    np.testing.assert_array_max_ulp(got, special.erf(x.astype(np.float64)).astype(np.float32), 3)
    assert np.max(np.abs(got)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf_is_odd_and_reaches_its_limits(dtype):
    got = special.erf(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5.95], dtype))
    assert np.array_equal(got, np.array([0, 0, 1, -1, np.nan, 1], dtype), equal_nan=True)
    assert list(np.signbit(got[:2])) == [False, True]


@pytest.mark.parametrize(
    ("call", "places", "want"),
    [
        (ERFINV, [-1, 1, 2, -2, np.nan, np.inf, 0], [-np.inf, np.inf, np.nan, np.nan, np.nan, np.nan, 0]),
        (GAMMALN, [0, -1, -7, np.inf, -np.inf, np.nan, 1, 2], [np.inf] * 5 + [np.nan, 0, 0]),
        (DIGAMMA, [0.0, -0.0, -1, -2, np.inf, -np.inf, np.nan], [-np.inf, np.inf, np.nan, np.nan, np.inf, np.nan, np.nan]),
        (partial(POLYGAMMA, order=1), [0, -1, -2, np.inf, np.nan], [np.inf, np.inf, np.inf, 0, np.nan]),
        (partial(POLYGAMMA, order=2), [0, -1, -2, np.inf, np.nan], [-np.inf, -np.inf, -np.inf, 0, np.nan]),
    ],
)
def test_results_at_limits_and_poles(call, places, want):
    assert np.array_equal(call(np.array(places)), want, equal_nan=True)


@pytest.mark.parametrize("call", UNARY)
@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float16),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
        (np.int32, np.float64),
        (np.int16, np.float32),
        (np.uint8, np.float16),
        (bool, np.float16),
    ],
)
def test_results_have_the_dtype_of_numpys_exp(call, dtype, result):
    assert call(np.array([0, 1]).astype(dtype)).dtype == result


@pytest.mark.parametrize("call", UNARY)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_floats_are_computed_wider_and_rounded_once(call, dtype):
    x = np.linspace(0.1, 0.9, 33).astype(dtype)
    assert np.array_equal(call(x), call(x.astype(np.float32)).astype(dtype))


@pytest.mark.parametrize("call", UNARY)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 3)])
def test_results_have_the_operands_shape(call, shape):
    assert call(np.full(shape, 0.5)).shape == shape


@pytest.mark.parametrize("call", UNARY)
def test_strided_operands_and_several_blocks(call):
    x = np.linspace(0.01, 0.99, 2 * special.BLOCK + 2).reshape(-1, 2)
    assert np.array_equal(call(x.T), np.stack([call(x[:, 0].copy()), call(x[:, 1].copy())]))
