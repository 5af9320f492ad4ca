"""16-bit floats in compiled kernels: every one of the 65,536 numbers, as NumPy and ml_dtypes compute with them."""

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.dtype import HALVES, NUMPY
from twofold.testing.backend_conformance import step
from twofold_numpy.jit import tiering
from twofold_numpy.jit.primitives import APPROXIMATE, KINDS, UNDEFINED

from tests.backend.jit import fresh, machine_code, one
from tests.backend.test_jit import by_default

__all__ = ["fresh"]
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # signaling NaNs

BITS = np.arange(1 << 16, dtype=np.uint16)
UNARY = (
    *("negative", "absolute", "sign", "square", "sqrt", "floor", "ceil", "trunc", "round_even"),
    *("isnan", "isinf", "isfinite", "logical_not"),
    *("exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos"),
)
COMPARISONS = ("equal", "not_equal", "less", "greater_equal", "logical_and")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "copysign", *COMPARISONS)
TRUTHS = {"isnan", "isinf", "isfinite", "logical_not", *COMPARISONS}


def compared(program, *inputs):
    """What differs in bits, in units of the last place, between machine code and NumPy; NaNs are equal."""
    got, want = np.empty(program.shape, NUMPY[program.steps[0].dtype]), by_default(program, inputs)[0]
    (got,) = machine_code(program)(*inputs, got)
    if got.dtype.kind in "biu":
        return got != want
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    integers = {2: np.int16, 4: np.int32, 8: np.int64}[got.itemsize]
    return np.where(nan, 0, np.abs(got.view(integers).astype(np.int64) - want.view(integers)))


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_every_number(op, half):
    off = compared(one(op, half, size=BITS.size, dtype="bool" if op in TRUTHS else half), BITS.view(NUMPY[half]))
    # float32 functions differ in their last bits, which seldom decides how a result is rounded to 16
    assert off.max() <= (op in APPROXIMATE)
    assert np.count_nonzero(off) <= 8


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("op", BINARY)
def test_operations_on_random_pairs(op, half):
    draw = np.random.default_rng(len(op))
    x, y = (draw.integers(0, 1 << 16, 300_000).astype(np.uint16).view(NUMPY[half]) for _ in range(2))
    near = draw.integers(-40, 40, (2, 100_000)).astype(NUMPY[half]) / NUMPY[half].type(8)
    x, y = np.concatenate([x, near[0]]), np.concatenate([y, near[1]])
    assert not compared(one(op, half, half, size=x.size, dtype="bool" if op in TRUTHS else half), x, y).any()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("other", sorted(KINDS))
def test_casts_between_all_types(other, half):
    x, draw = BITS.view(NUMPY[half]), np.random.default_rng(len(other))
    if (half, other) not in UNDEFINED:
        assert not compared(one("astype", half, size=x.size, dtype=other), x).any()
    if (other, half) == ("float64", "float16"):
        return
    dtype = NUMPY[other]
    if other in HALVES:
        given = BITS.view(dtype)
    elif dtype.kind == "f":  # any bits, and numbers between two neighbors
        given = np.concatenate([draw.integers(0, 1 << 32, 200_000, np.uint32).view(np.float32), draw.normal(size=100_000)]).astype(dtype)
    else:
        given = draw.integers(0, 256, 8 * 100_000, np.uint8).view(np.int64).astype(dtype)
    assert not compared(one("astype", other, size=given.size, dtype=half), given).any()
    assert tiering.Stats.refused == 0


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("exponent", [-1.0, 0.5, 1.0, 2.0, 3.0, 1.7])
def test_powers_of_every_number(exponent, half):
    power = step("power", Ref("in", 0), Ref("const", exponent), dtype=half, operand_dtype=half)
    off = compared(RowProgram("power", BITS.shape, (ArrayType(BITS.shape, half),), (power,), (0,)), BITS.view(NUMPY[half]))
    assert off.max() <= 1
    assert np.count_nonzero(off) <= BITS.size // 100
