"""Operands that are ready in memory go to NumPy at once, with its results, dtypes, bits and warnings, also where a call has options."""

import warnings

import numpy as onp
import pytest

import twofold.np as np
from asv_benchmarks.timing import frames

DTYPES = ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"]
REFUSED = (ValueError, TypeError, OverflowError)
SPECIAL = [4, 0.0, -0.0, 2.5, -4, onp.inf, -onp.inf, onp.nan, 1e30]


def values(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = onp.array(SPECIAL).astype(dtype)
    return found + found[::-1] * dtype_unit(dtype)


def dtype_unit(dtype):
    return onp.array(1j if "complex" in dtype else 0).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("exponent", [2, 0.5, -1, 1, 0, 3, 2.0, -2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_in_place_have_the_operators_bits(dtype, exponent):
    expected, found = values(dtype), np.array(values(dtype))
    try:
        expected **= exponent
    except REFUSED:
        with pytest.raises(REFUSED):
            found **= exponent
        return
    found **= exponent
    assert found.dtype == expected.dtype
    assert found.asnumpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "statement", ["x + True", "False - x", "x * True", "x == True", "x > False", "x / True", "np.maximum(True, x)", "np.add(x, True)"]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bools_of_python_are_operands(dtype, statement):
    numbers = onp.array([0, 1, 3]).astype(dtype)
    try:
        expected = eval(statement, {"x": numbers, "np": onp})
    except TypeError:
        with pytest.raises(TypeError):
            eval(statement, {"x": np.array(numbers), "np": np})
        return
    found = eval(statement, {"x": np.array(numbers), "np": np})
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


@pytest.mark.parametrize("operation", [lambda x: x + True, lambda x: np.add(x, True), lambda x: x.__iadd__(True)])
def test_bools_of_python_enter_no_more_functions_than_numbers(operation):
    x = np.ones(8)
    operation(x)
    assert frames(lambda: operation(x)) <= 2


@pytest.mark.parametrize(
    "call",
    [
        "np.divide(x, z, out=y)",
        "np.divide(x, z, out=y, where=z < 1)",
        "np.divide(x, z, dtype='float32')",
        "np.divide(x, z, out=(y,), casting='unsafe')",
        "np.sqrt(z - x, dtype='float32')",
        "np.sqrt(z - x, out=y)",
    ],
)
def test_calls_with_options_warn_as_numpys(call):
    results = []
    for xp in (onp, np):
        names = {"np": xp, "x": xp.ones(4), "z": xp.zeros(4), "y": xp.zeros(4)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = eval(call, names)
        results.append(([str(w.message) for w in caught], found.dtype, str(found)))
    assert results[0] == results[1]
    assert results[0][0]


@pytest.mark.parametrize(
    "call", ["np.add(x, x, dtype='float32')", "np.multiply(x, 2, dtype=float)", "np.subtract(x, 1, dtype='int8', casting='unsafe')"]
)
def test_a_dtype_is_what_numpy_computes_in(call):
    expected, found = (eval(call, {"np": xp, "x": xp.arange(5)}) for xp in (onp, np))
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES[:-2])
@pytest.mark.parametrize(
    "call", ["divmod(x, 3)", "divmod(7, x)", "divmod(x, x)", "np.divmod(x, -2.5)", "divmod(x, True)", "divmod(x[:0], 2)"]
)
def test_quotients_and_remainders_are_numpys(call, dtype):
    numbers = onp.array([0, 1, 3, 7, 100]).astype(dtype)
    expected = eval(call, {"np": onp, "x": numbers})
    found = eval(call, {"np": np, "x": np.array(numbers)})
    for e, f in zip(expected, found, strict=True):
        assert f.dtype == e.dtype
        assert f.asnumpy().tobytes() == e.tobytes()


@pytest.mark.parametrize("dtype", [object, "longdouble", "clongdouble", str, "complex64", bool])
def test_dtypes_that_only_numpy_has_are_what_it_computes_in(dtype):
    results = []
    for xp in (onp, np):
        try:
            found = xp.add(xp.ones(2), 1, dtype=dtype)
        except TypeError:  # no sum of texts, none of bools under the rule for casts
            results.append(TypeError)
        else:
            results.append((str(found.dtype), found.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 2)), ((60, 60), (60, 60)), ((4,), (4, 3)), ((3, 4), (4,)), ((2, 3, 4), (4, 5))])
def test_products_are_written_to_an_array_with_the_operators_bits(shapes, dtype):
    draw = onp.random.default_rng(0)
    a, b = [np.array((draw.normal(size=shape) * 9).astype(dtype)) for shape in shapes]
    expected = a @ b
    out = np.zeros_like(expected)
    assert np.matmul(a, b, out=out) is out
    assert out.tolist() == expected.tolist()
    if a.ndim <= 2:
        again = np.zeros_like(expected)
        assert np.dot(a, b, out=again) is again
        assert again.tolist() == expected.tolist()
    assert frames(lambda: np.matmul(a, b, out=out)) <= 12


@pytest.mark.parametrize("size", [2, 200_000])
def test_casts_of_operands_are_refused_where_numpy_refuses_them(size):
    for xp in (onp, np):
        single, double = xp.ones(size, "float32"), xp.ones(size)
        with pytest.raises(TypeError):
            xp.add(single, double, casting="no")
        assert xp.add(single, double, casting="safe").dtype == "float64"
        assert xp.add(single, 2.0, casting="no").dtype == "float32"


def test_large_operands_of_calls_with_options_wait():
    x = np.ones(200_000)
    y = np.sin(x, dtype="float64") * 2
    assert y._held.data is None
    out = np.empty(200_000)
    np.sin(x, out=out)
    assert (out * 2)._held.data is None
