"""Casts between all dtypes give NumPy's results on GPUs, also of floats that do not fit an integer; so do powers of whole numbers."""

import numpy
import pytest

import twofold as mx
from twofold.dtype import NUMPY

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
NUMBERS = (
    *(0.0, -0.5, 0.75, -1.0, -2.0, -128.75, -129.0, 127.5, 128.0, 255.0, 256.0, 300.0, -32769.0, 32768.0, 65535.0, 65536.0, 70000.0, -4e4),
    *(2.0**31 - 1, 2.0**31, 3e9, 2.0**32 - 1, 2.0**32, 5e9, -(2.0**31), -(2.0**31) - 1, -3e9, 9.2e18, 2.0**63, 1.2e19, 2.0**64, 3e19),
    *(-(2.0**63), -9.3e18, 1e30, -1e30, numpy.inf, -numpy.inf, numpy.nan),
)


def values_of(dtype):
    """Numbers that test casts from a dtype, as the host's array."""
    if dtype in FLOATS:
        with numpy.errstate(over="ignore"):
            return numpy.array(NUMBERS).astype(NUMPY[dtype])
    if dtype == "bool":
        return numpy.array([False, True])
    limits = numpy.iinfo(dtype)
    return numpy.array([0, 1, 2, 100, 127, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype)


def cast(values, dtype):
    """NumPy's casts, one by one: those of long arrays of float64 to uint32 differ with the place where numbers do not fit."""
    with numpy.errstate(all="ignore"):
        return numpy.concatenate([values[k : k + 1].astype(NUMPY[dtype]) for k in range(len(values))])


@pytest.mark.parametrize("to", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS])
def test_a_cast_is_numpys(gpus, source, to):
    values = values_of(source)
    given = mx.nd.array(values, ctx=gpus[0], dtype=source)
    found, want = given.astype(to).asnumpy(), cast(values, to)
    if to in FLOATS:
        numpy.testing.assert_array_equal(found.astype("float64"), want.astype("float64"))
    else:
        numpy.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_float_is_cast_by_every_kernel_as_by_numpy(gpus, dtype):
    values = numpy.array([-1, 300, 3e9, numpy.inf, numpy.nan], dtype)
    with gpus[0]:
        x = mx.np.array(values, dtype=dtype)
        want = cast(values, "int32")
        assert mx.np.cumsum(x, dtype="int32").tolist() == numpy.cumsum(want, dtype="int32").tolist()
        assert x.sum(dtype="int32").item() == want.sum(dtype="int32")
        target = mx.np.zeros(5, dtype="uint8")
        target[mx.np.array([4, 3, 2, 1, 0])] = x
        assert target.tolist() == cast(values, "uint8")[::-1].tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_powers_are_exact(gpus, dtype):
    base = numpy.array([-7, -3, -2, -1, -0.0, 0, 1, 2, 3, 5, 10, 19, 120, numpy.inf, -numpy.inf, numpy.nan], dtype)
    for exponent in (0, 1, 2, 3, 4, 5, 7, -1, -2, -3, numpy.inf, -numpy.inf, numpy.nan):
        exponents = numpy.full(len(base), exponent, dtype)
        with numpy.errstate(all="ignore"):
            want = numpy.power(base, exponents) if not exponent < 0 else 1 / numpy.power(base, -exponents)
        found = mx.nd.array(base, ctx=gpus[0], dtype=dtype) ** mx.nd.array(exponents, ctx=gpus[0], dtype=dtype)
        # a power is exact where it is a whole number or the inverse of one, but for those with too many digits
        exact = ~(abs(want) > 2.0 ** (24 if dtype == "float32" else 53)) | numpy.isinf(want)
        numpy.testing.assert_array_equal(found.asnumpy()[exact], want[exact], err_msg=str(exponent))
        numpy.testing.assert_array_equal(numpy.signbit(found.asnumpy()[want == 0]), numpy.signbit(want[want == 0]))
        numpy.testing.assert_array_max_ulp(found.asnumpy()[numpy.isfinite(want)], want[numpy.isfinite(want)], 8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_power_of_one_half_is_a_square_root(gpus, dtype):
    base = numpy.array([2, 3, 0.1, 0, -0.0, -1, numpy.inf, -numpy.inf, numpy.nan], dtype)
    with numpy.errstate(all="ignore"):
        want = numpy.array([*numpy.sqrt(base[:3]), 0, 0, numpy.nan, numpy.inf, numpy.inf, numpy.nan], dtype)
    found = mx.nd.array(base, ctx=gpus[0], dtype=dtype) ** mx.nd.full((9,), 0.5, ctx=gpus[0], dtype=dtype)
    numpy.testing.assert_array_equal(found.asnumpy(), want)
    assert not numpy.signbit(found.asnumpy()[3:5]).any()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_are_whole(gpus, dtype):
    for base in (2, 3, 5, 6, 7):
        for exponent in (0, 1, 2, 3, 4, 5):
            if base**exponent <= min(numpy.iinfo(dtype).max, 2**24):
                a, b = (mx.nd.array([n], ctx=gpus[0], dtype=dtype) for n in (base, exponent))
                assert [p.asnumpy().item() for p in (a**b, a**exponent, base**b)] == [base**exponent] * 3
