"""Kernels compiled by LLVM that reduce rows: NumPy's bits, passes, memory and threads."""

import math
import random

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.backend.ledger import HAND_OFFS
from twofold.dtype import NUMPY
from twofold.testing.backend_conformance import step
from twofold_numpy.blocked import compile_kernel
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.jit.kernel import Machine
from twofold_numpy.jit.structure import structure_of

from tests.backend.jit import ALL_FLOATS, FLOATS, SPECIAL, EagerBackend, fresh, machine_code, offer_all, same_bits, two_threads
from tests.cases import later_in_ci

__all__ = ["fresh", "two_threads"]


def reduced(op, ref, dtype="float32"):
    """The sum, largest or smallest element of a row."""
    return step(op, ref, dtype=dtype, operand_dtype=dtype, axis=-1, keepdims=True)._replace(row=True)


def rows_program(name, shape, inputs, steps, outputs, in_place=()):
    """A row program on float32."""
    return RowProgram(name, shape, tuple(ArrayType(s, "float32") for s in inputs), steps, outputs, in_place)


def softmax(shape):
    """``exp(x - max) / sum``, which reads each row three times."""
    x, top, e, total = Ref("in", 0), Ref("step", 0), Ref("step", 2), Ref("step", 3)
    steps = (reduced("max", x), step("subtract", x, top), step("exp", Ref("step", 1)), reduced("sum", e), step("divide", e, total))
    return rows_program("softmax", shape, [shape], steps, (4,))


LENGTHS = [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 127, 128, 129, 130, 136, 255, 256, 257, 300, 1000, 1025, 5000, 65_536]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_and_extrema_of_rows_match_numpy_bitwise(length, dtype):
    x = np.random.default_rng(length).normal(size=(3, length)).astype(dtype)
    types = (ArrayType(x.shape, dtype),)
    program = RowProgram("rows", x.shape, types, tuple(reduced(op, Ref("in", 0), dtype) for op in ("sum", "max", "min")), (0, 1, 2))
    got = machine_code(program)(x, *[np.empty((3, 1), dtype) for _ in range(3)])
    for g, w in zip(got, (np.add, np.maximum, np.minimum), strict=True):
        assert same_bits(g, w.reduce(x, -1, keepdims=True))


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf, -0.0, 0.0])
@pytest.mark.parametrize("length", [1, 5, 8, 12, 40, 200])
def test_reductions_of_special_numbers(length, special):
    everywhere = np.full((1, length), special, np.float32)
    at_ends = np.ones((2, length), np.float32)
    at_ends[0, 0] = at_ends[1, -1] = special
    x = np.concatenate([everywhere, at_ends])
    program = rows_program("rows", x.shape, [x.shape], tuple(reduced(op, Ref("in", 0)) for op in ("sum", "max", "min")), (0, 1, 2))
    got = machine_code(program)(x, *[np.empty((3, 1), np.float32) for _ in range(3)])
    for g, w in zip(got, (np.add, np.maximum, np.minimum), strict=True):
        assert same_bits(g, w.reduce(x, -1, keepdims=True))


@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (64, 10), (7, 130), (3, 5, 33), (2, 1, 1, 700)])
def test_softmax_reads_each_row_three_times(shape):
    x = np.random.default_rng(1).normal(0, 5, shape).astype(np.float32)
    (got,) = machine_code(softmax(shape))(x, np.empty_like(x))
    e = np.exp((x - x.max(-1, keepdims=True)).astype(np.float64))
    np.testing.assert_allclose(got, e / e.sum(-1, keepdims=True), 3e-6)


def random_rows(seed):
    """A program of random steps and reductions over inputs, some of which lack axes; operand kinds are right by construction."""
    draw, generator = random.Random(seed), np.random.default_rng(seed)
    shape = draw.choice([(4, 50), (1, 129), (3, 2, 17), (6, 8), (2, 300), (5, 2)])
    dtype = draw.choice(ALL_FLOATS)
    row = (*shape[:-1], 1)
    own = [shape, row, shape[-1:], draw.choice([shape, row])]
    values = [*SPECIAL, 3.0, -0.25, 7.0] if draw.random() < 0.3 else [0.3, 1.7, -2.5, 3e3, 0.1]
    with np.errstate(over="ignore"):
        inputs = [generator.choice(values, s).astype(NUMPY[dtype]) for s in own]
    wide = [Ref("in", k) for k, s in enumerate(own) if s != row]
    narrow, consts = [Ref("in", k) for k, s in enumerate(own) if s == row], [Ref("const", v) for v in (0.1, -2.0)]
    steps, ends = [], []
    for _ in range(draw.randrange(3, 16)):
        kind = draw.random()
        ref = Ref("step", len(steps))
        if kind < 0.35:
            steps.append(reduced(draw.choice(["sum", "max", "min"]), draw.choice([w for w in wide if w != Ref("in", 2)][-3:]), dtype))
            ends.append(ref)
        elif kind < 0.5 and ends:
            op = draw.choice(["add", "multiply", "divide", "maximum"])
            pair = [draw.choice(ends), draw.choice([*ends, *narrow, *consts])]
            steps.append(step(op, *pair, dtype=dtype, operand_dtype=dtype)._replace(row=True))
            ends.append(ref)
        else:
            op = draw.choice(["add", "subtract", "multiply", "minimum", "copysign"])
            pair = [draw.choice(wide[-4:]), draw.choice(ends[-2:] if ends and draw.random() < 0.5 else [*wide, *narrow, *ends, *consts])]
            steps.append(step(op, *pair, dtype=dtype, operand_dtype=dtype))
            wide.append(ref)
    numbers = tuple(dict.fromkeys([*draw.sample(range(len(steps)), 2), len(steps) - 1]))
    types = tuple(ArrayType(s, dtype) for s in own)
    return RowProgram("random", shape, types, tuple(steps), numbers), inputs


def row_outputs(program):
    """Memory for a program's outputs, with one element per row for per-row outputs."""
    row = (*program.shape[:-1], 1)
    return [np.full(row if program.steps[s].row else program.shape, 77).astype(NUMPY[program.steps[s].dtype]) for s in program.outputs]


def check_bits(seed):
    """Compare the machine code of a random program bitwise with the default kernel."""
    program, inputs = random_rows(seed)
    with np.errstate(all="ignore"):
        want = row_outputs(program)
        compile_kernel(program)(*inputs, *want)
    for g, w in zip(machine_code(program)(*inputs, *row_outputs(program)), want, strict=True):
        assert same_bits(g, w), f"seed {seed}: {program}: {g} should be {w}"


@pytest.mark.parametrize("seed", later_in_ci(range(150), 60))
def test_random_row_programs_match_the_default_kernel_bitwise(seed):
    check_bits(seed)


@pytest.mark.parametrize("bits", [128, 256])
def test_rows_are_bitwise_equal_with_shorter_vectors(bits, monkeypatch):
    monkeypatch.setattr(compiler(), "machine", Machine(bits, object.__basicsize__))
    for seed in range(12):
        check_bits(seed)


def test_random_programs_take_several_passes():
    counts = [len(structure_of(random_rows(seed)[0])[0].passes()) for seed in range(150)]
    assert min(counts) == 1
    assert sum(c >= 3 for c in counts) > 30


@pytest.mark.parametrize("shape", [(9, 40), (4, 65_536), (300, 5000)])
def test_an_output_over_an_input_that_an_earlier_pass_reads(shape):
    x, y = Ref("in", 0), Ref("in", 1)
    steps = (
        reduced("sum", x),
        step("subtract", x, Ref("step", 0)),
        step("multiply", y, Ref("const", 2)),
        reduced("max", Ref("step", 1)),
        step("add", Ref("step", 1), Ref("step", 3)),
    )
    program = rows_program("both", shape, [shape, shape], steps, (2, 4), ((0, 0),))
    a, b = (np.random.default_rng(k).normal(size=shape).astype(np.float32) for k in range(2))
    centred = a - np.add.reduce(a, -1, keepdims=True)
    want = b * 2, centred + centred.max(-1, keepdims=True)
    out = np.empty_like(a)
    machine_code(program)(a, b, a, out)
    assert same_bits(a, want[0])
    assert same_bits(out, want[1])


@pytest.mark.usefixtures("two_threads")
def test_rows_are_split_between_threads():
    for shape in ((501, 300), (2, 3, 40_000), (1, 60_000)):
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        run = machine_code(softmax(shape))
        offer_all()
        before = HAND_OFFS.count
        (got,) = run(x, np.empty_like(x))
        np.testing.assert_allclose(got.sum(-1), 1, 1e-4)
        assert HAND_OFFS.count - before == (shape[0] > 1)


def test_rows_summed_in_blocks_use_the_default_kernel():
    shape = (2, 65_537)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    program = softmax(shape)
    kernel, out = EagerBackend().compile(program), np.empty_like(x)
    kernel(x, out)
    want = np.empty_like(x)
    compile_kernel(program)(x, want)
    assert same_bits(out, want)
