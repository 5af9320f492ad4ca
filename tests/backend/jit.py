"""Shared by the tests of compiled kernels: a backend that compiles at first use, and a bitwise comparison."""

import math

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.config import SETTINGS
from twofold.dtype import NUMPY
from twofold.testing.backend_conformance import step
from twofold_numpy import NumpyBackend
from twofold_numpy.jit import handoff, tiering
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.jit.compiler import compiler

from tests.conftest import absent

if not is_installed():
    absent("no llvmlite: install twofold[jit]")
if compiler() is None:
    absent("kernels cannot be compiled for this machine")

FLOATS = ("float32", "float64")
ALL_FLOATS = (*FLOATS, "float16", "bfloat16")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf, math.nan, 1e-310, -5e-324, 1e-40, 1e30, -1e300, 88.7, 709.7)


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    """Enable kernels, small ones too at the second use, with no known structures, a cache folder of the test's own, and counts at 0."""
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(tiering, "WORTH", 0)
    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path))
    monkeypatch.setattr(tiering, "_entries", type(tiering._entries)())
    for name in ("compiled", "loaded", "refused"):
        monkeypatch.setattr(tiering.Stats, name, 0)


@pytest.fixture
def two_threads(monkeypatch):
    """Kernels of all sizes are split between two threads, of which one waits to be woken."""
    monkeypatch.setattr(tiering, "SPLIT", 0)
    monkeypatch.setattr(tiering, "WAKE", 0)
    monkeypatch.setattr(SETTINGS, "threads", 2)
    handoff.start(compiler())
    offer_all()


def offer_all():
    """Forget that the helper was late."""
    handoff._board[handoff.ALONE] = handoff._board[handoff.LEVEL] = 0


class EagerKernel(tiering._JitKernel):
    """A kernel that is compiled at its structure's first use."""

    def _first_use(self):
        return 1


class EagerBackend(NumpyBackend):
    """Compiles at the first use."""

    def compile(self, program):
        return EagerKernel(program)


def machine_code(program):
    """The compiled kernel of a program, which must be supported."""
    kernel = EagerBackend().compile(program)

    def run(*arrays):
        with np.errstate(all="ignore"):
            kernel(*arrays)
        assert tiering.Stats.refused == 0, program
        return arrays[len(program.inputs) :]

    return run


def outputs_of(program):
    """Memory for a program's outputs, filled with a value that no result has."""
    return [np.full(program.shape, 77).astype(NUMPY[program.steps[s].dtype]) for s in program.outputs]


def one(op, *dtypes, size=7, dtype=None, **params):
    """A program of one primitive on inputs of these dtypes."""
    types = tuple(ArrayType((size,), d) for d in dtypes)
    refs = [Ref("in", k) for k in range(len(dtypes))]
    return RowProgram(op, (size,), types, (step(op, *refs, dtype=dtype or dtypes[0], operand_dtype=dtypes[0], **params),), (0,))


def chain(shape=(7,), op="exp"):
    """A short program: ``op(x * 2 + y)``."""
    steps = (step("multiply", Ref("in", 0), Ref("const", 2)), step("add", Ref("step", 0), Ref("in", 1)), step(op, Ref("step", 1)))
    return RowProgram("chain", shape, (ArrayType(shape, "float32"),) * 2, steps, (2,))


def same_bits(got, want):
    """Whether arrays are equal, signs of zeros included; all NaNs count as equal."""
    is_float = got.dtype.name in ALL_FLOATS
    if got.dtype != want.dtype or not np.array_equal(got, want, equal_nan=is_float):
        return False
    return not is_float or np.array_equal(np.signbit(got)[got == 0], np.signbit(want)[got == 0])
