"""Tolerances, and assertions with what they print and say."""

from __future__ import annotations

from typing import Any

import numpy as np

from .told import passes, told

A, B = np.array([1, 2, 3.0]), np.array([1, 2.5, 3.1])
DTYPES = ("float16", "float32", "float64", "bool", "int8", "uint8", "int32", "int64")


def tolerances_of_dtypes(mx: Any) -> Any:
    tu = mx.test_utils
    tables = (tu.default_rtols(), tu.default_atols())
    steps = [tu.default_numeric_eps()[np.dtype(name)] for name in DTYPES[:3]]
    return [[table[np.dtype(name)] for name in DTYPES] for table in tables], steps, tu.get_etol(), tu.get_etol(0.5)


def tolerances_of_pairs(mx: Any) -> Any:
    tu, half, whole = mx.test_utils, np.ones(2, "float16"), np.ones(2, "int32")
    pairs = [(half, np.ones(2)), (whole, whole), (half, whole), (1.0, half), (mx.nd.ones(2), whole)]
    given = [tu.get_tols(half, whole, 0.5, None), tu.get_tols(half, whole, {np.dtype("float16"): 0.25}, {np.dtype("int32"): 2})]
    return [tu.get_tols(x, y, None, None) for x, y in pairs], given, tu.get_rtol(), tu.get_atol(), tu.get_rtol(None, np.dtype("float16"))


def equality(mx: Any) -> Any:
    tu, nan = mx.test_utils, np.array([1, np.nan])
    near = np.float32([1, 2]) * np.float32(1 + 5e-5)
    return [
        tu.same(nan, nan),
        tu.same(mx.nd.ones(2), mx.nd.ones(2)),
        tu.same(mx.nd.ones(2), mx.nd.ones(3)),
        tu.almost_equal(A, B),
        tu.almost_equal(A, B, rtol=1),
        tu.almost_equal(A, B[:1], 1, 3),
        tu.almost_equal(nan, nan),
        tu.almost_equal(nan, nan, equal_nan=True),
        tu.almost_equal(np.float32([1, 2]), near),
        passes(lambda: tu.assert_almost_equal(np.float32([1, 2]), near)),
    ]


def messages(mx: Any) -> Any:
    tu, infinite = mx.test_utils, np.array([1, np.inf])
    big, table = np.arange(24).reshape(2, 3, 4), np.array([[1.0, np.inf]])
    pairs = [
        (A, B),
        (infinite, np.array([1.0, 3])),
        (np.array([1.0, 3]), infinite),
        (table, np.array([[1.0, np.nan]])),
        (np.array([np.nan, 1]), np.array([np.nan, 1])),
        (np.int32([1, 2]), np.int32([1, 3])),
        (mx.nd.array([[1.0, 2]]), mx.nd.array([[1.0, 3]])),
        (3, 4.0),
    ]
    found = [told(lambda pair=pair: tu.assert_almost_equal(*pair)) for pair in pairs]
    found.append(told(lambda: tu.assert_almost_equal(big, np.zeros((2, 3, 4)), mismatches=(3, 4))))
    found.append(told(lambda: tu.assert_almost_equal(mx.nd.array(A), B, rtol=1e-3, atol=1e-2, names=("x", "y"))))
    found.append(told(lambda: tu.assert_allclose(mx.nd.array(A), B)))
    return found, told(lambda: tu.assert_almost_equal(np.arange(12.0), np.arange(12.0) + 1))["printed"]


def what_passes(mx: Any) -> Any:
    tu, nan, infinite = mx.test_utils, np.array([np.nan, 1]), np.array([1, np.inf])
    return [
        passes(lambda: tu.assert_almost_equal(nan, nan, equal_nan=True)),
        passes(lambda: tu.assert_almost_equal(infinite, infinite)),
        passes(lambda: tu.assert_almost_equal(3, 3.0)),
        passes(lambda: tu.assert_almost_equal(np.array([True, False]), np.array([True, True]))),
        passes(lambda: tu.assert_almost_equal(np.zeros((0, 3)), np.zeros((0, 3)))),
        passes(lambda: tu.assert_almost_equal(mx.nd.ones((2, 1)), np.ones((2, 2)))),
        passes(lambda: tu.assert_almost_equal(mx.nd.ones((2, 1)), np.ones((2, 2)), use_broadcast=False)),
        passes(lambda: tu.assert_almost_equal(np.int32([1, 2]), np.int32([1, 3]), rtol=1)),
        passes(lambda: tu.assert_allclose(mx.nd.array(A), B, rtol=1)),
        passes(lambda: tu.assert_almost_equal_ignore_nan(nan, np.array([2, 1.0]))),
        passes(lambda: tu.assert_almost_equal_ignore_nan(nan, np.array([2, 1.1]))),
        passes(lambda: tu.assert_almost_equal_with_err(A, B, etol=0.5)),
        passes(lambda: tu.assert_almost_equal_with_err(A, B, etol=0.7)),
        passes(lambda: tu.assert_almost_equal_with_err(A, B)),
        passes(lambda: tu.assert_exception(lambda x: 1 / x, ZeroDivisionError, 0)),
        passes(lambda: tu.assert_exception(lambda x: 1 / x, ZeroDivisionError, 1)),
        passes(lambda: tu.checkShapes(A, B)),
        passes(lambda: tu.checkShapes(A, B[:2])),
        passes(lambda: tu.compare_ndarray_tuple((mx.nd.ones(2), (mx.nd.ones(1),)), (mx.nd.ones(2), (mx.nd.ones(1),)))),
        passes(lambda: tu.compare_ndarray_tuple((mx.nd.ones(2), (mx.nd.ones(1),)), (mx.nd.ones(2), (mx.nd.zeros(1),)))),
        passes(lambda: tu.compare_ndarray_tuple(None, (mx.nd.ones(2),))),
    ]


def shapes_in_messages(mx: Any) -> Any:
    return told(lambda: mx.test_utils.checkShapes(A, B[:2])), mx.test_utils.locationError(A, B, (1,), ("x", "y"), maxError=True)


def memory(mx: Any) -> Any:
    tu, x = mx.test_utils, mx.nd.ones((2, 3))
    shared = [tu.same_array(x, other) for other in (mx.nd.ones((2, 3)), x, x[:], x.reshape((2, 3)), x.reshape((3, 2)), x.copy())]
    return shared, x
