"""Kernels compiled by LLVM: accuracy against mpmath, the meaning of NumPy's ufuncs, when they are used, and their files."""

import gc
import math
import os
import random
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.backend.ledger import HAND_OFFS
from twofold.config import SETTINGS
from twofold.dtype import HALVES, NAME_OF, NUMPY
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.opdef.registry import primitives
from twofold.program.compile import Program
from twofold.testing import backend_conformance as conformance
from twofold.testing.backend_conformance import step
from twofold_numpy import NumpyBackend
from twofold_numpy.blocked import compile_kernel
from twofold_numpy.jit import callables, tiering
from twofold_numpy.jit.cache import CACHE
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.jit.kernel import Machine, kernel_ir
from twofold_numpy.jit.structure import structure_of

from tests.backend.jit import ALL_FLOATS, FLOATS, SPECIAL, EagerBackend, chain, fresh, machine_code, one, outputs_of, same_bits, two_threads
from tests.cases import spread_in_ci

__all__ = ["fresh", "two_threads"]

#: Allowed error of a compiled function, in units in the last place.
ULPS = 2.0
FUNCTIONS = ("exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos")


def test_a_function_may_be_freed_after_everything_else(monkeypatch):
    # as at exit, where modules are taken apart in no useful order
    x, definitions, of = np.ones(100, np.float32), [], callables.Definition

    def define(*given):
        made = of(*given)
        definitions.append(weakref.ref(made))
        return made

    callables._definition.cache_clear()
    monkeypatch.setattr(callables, "Definition", define)
    machine_code(chain((100,), "negative"))(x, x, np.empty_like(x))
    assert definitions
    callables._definition.cache_clear()
    gc.collect()
    assert all(one() is not None for one in definitions)


# accuracy


def samples(op, dtype):
    """Arguments over the whole range of the format, dense near features and limits of the function."""
    generator = np.random.default_rng(FUNCTIONS.index(op))
    kind = NUMPY[dtype]
    bits = generator.integers(0, 2 ** (8 * kind.itemsize), 700, np.uint64).astype(f"u{kind.itemsize}").view(kind)
    end = 105 if dtype == "float32" else 750
    parts = [generator.normal(0, 3, 1500), generator.uniform(-1, 2, 1500), generator.uniform(-end, end, 500), np.linspace(0.4, 1.1, 500)]
    if op in ("sin", "cos"):  # near their zeros
        parts.append(np.concatenate([generator.integers(1, 20_000, 1500), generator.integers(1, 600_000, 500)]) * (math.pi / 2))
    x = np.concatenate([bits, *[p.astype(kind) for p in parts], np.array(SPECIAL).astype(kind)])
    x = x[np.isfinite(x)]
    return x[x > 0] if op == "log" else x[x > -1] if op == "log1p" else x


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions_are_within_two_units_in_the_last_place(op, dtype):
    mpmath = pytest.importorskip("mpmath")
    with np.errstate(all="ignore"):
        x = samples(op, dtype)
        (got,) = machine_code(one(op, dtype, size=x.size))(x, np.empty_like(x))
    bits, largest, least = (24, 127, -126) if dtype == "float32" else (53, 1023, -1022)
    worst = 0.0
    with mpmath.workprec(120):
        for a, g in zip(x.tolist(), got.tolist(), strict=True):
            if op in ("exp", "expm1") and a > 800:
                assert g == math.inf
                continue
            want = getattr(mpmath, op)(mpmath.mpf(max(a, -800.0) if op == "exp" else a))
            exponent = max(mpmath.frexp(want)[1] - 1, least)
            if abs(want) >= mpmath.ldexp(2 - mpmath.ldexp(1, -bits), largest):  # rounds to infinity
                assert g == math.inf, (a, g)
                continue
            worst = max(worst, float(mpmath.ldexp(abs(g - want), bits - 1 - exponent)))
    assert worst <= ULPS, f"{op} of {dtype}: {worst:.2f} units"


@pytest.mark.parametrize("op", FUNCTIONS)
def test_float32_functions_are_accurate_over_the_whole_range(op):
    x = np.random.default_rng(1).integers(0, 2**32, 400_000, np.uint64).astype(np.uint32).view(np.float32)
    reference = np.vectorize(math.erf, otypes=[np.float64]) if op == "erf" else getattr(np, op)
    with np.errstate(all="ignore"):
        x = np.concatenate([x[: 20_000 if op == "erf" else None], np.linspace(-12, 12, 30_001, dtype=np.float32)])
        (got,) = machine_code(one(op, "float32", size=x.size))(x, np.empty_like(x))
        want = reference(x.astype(np.float64))
        rounded = want.astype(np.float32)
        finite = np.isfinite(rounded)
        assert np.array_equal(got[~finite], rounded[~finite], equal_nan=True)
        unit = np.spacing(np.maximum(np.abs(rounded[finite]), np.finfo(np.float32).tiny)).astype(np.float64)
    assert (np.abs(got[finite] - want[finite]) / unit).max() <= ULPS


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "given", "want"),
    [
        ("exp", [math.inf, -math.inf, 0.0, -0.0, 1e30, -1e30], [math.inf, 0.0, 1.0, 1.0, math.inf, 0.0]),
        ("expm1", [math.inf, -math.inf, 0.0, -0.0, 1e30, -1e30], [math.inf, -1.0, 0.0, -0.0, math.inf, -1.0]),
        ("log", [math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0], [math.inf, math.nan, -math.inf, -math.inf, 0.0, math.nan]),
        ("log1p", [math.inf, -math.inf, 0.0, -0.0, -1.0, -2.0], [math.inf, math.nan, 0.0, -0.0, -math.inf, math.nan]),
        ("tanh", [math.inf, -math.inf, 0.0, -0.0, 50.0, -50.0], [1.0, -1.0, 0.0, -0.0, 1.0, -1.0]),
        ("sin", [math.inf, 0.0, -0.0, 2.0**-149], [math.nan, 0.0, -0.0, 2.0**-149]),
        ("cos", [math.inf, 0.0, -0.0, 1e-30], [math.nan, 1.0, 1.0, 1.0]),
        ("erf", [math.inf, -math.inf, 0.0, -0.0, 50.0, -50.0], [1.0, -1.0, 0.0, -0.0, 1.0, -1.0]),
    ],
)
def test_functions_at_their_limits(op, given, want, dtype):
    x = np.array([*given, math.nan], dtype)
    (got,) = machine_code(one(op, dtype, size=x.size))(x, np.empty_like(x))
    assert same_bits(got, np.array([*want, math.nan], dtype)), got


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["exp", "expm1", "log", "log1p", "tanh"])
def test_denormals_and_extreme_values_match_numpy(op, dtype):
    info = np.finfo(dtype)
    near = np.log(np.array([info.max, info.tiny, info.smallest_subnormal]).astype(np.float64)).astype(dtype)
    x = np.array([info.smallest_subnormal, info.tiny / 3, info.tiny, -info.tiny / 3, *near, *np.nextafter(near, near.dtype.type(0))], dtype)
    with np.errstate(all="ignore"):
        (got,) = machine_code(one(op, dtype, size=x.size))(x, np.empty_like(x))
        np.testing.assert_allclose(got, getattr(np, op)(x), 4 * info.eps, info.smallest_subnormal)


# the meaning of ufuncs


@pytest.mark.parametrize("name", spread_in_ci(conformance.names()))
def test_compiled_primitives_match_numpy(name):
    if primitives()[name].elementwise:
        conformance.check_primitive(EagerBackend(), name, ("bool", "int32", "int64", "uint64", *ALL_FLOATS))


@pytest.mark.parametrize("behaviour", conformance.BEHAVIOURS, ids=lambda f: f.__name__)
def test_compiled_kernels_keep_the_protocol(behaviour):
    behaviour(EagerBackend())


#: Primitives whose compiled results are bitwise equal: number of operands, dtype of operands, dtype of the result.
EXACT = (
    *[(op, 2, d, d) for op in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "copysign") for d in ALL_FLOATS],
    *[(op, 1, d, d) for op in ("negative", "absolute", "sign", "square", "sqrt") for d in ALL_FLOATS],
    *[(op, 1, d, d) for op in ("floor", "ceil", "trunc", "round_even") for d in ALL_FLOATS],
    *[(op, 2, "int32", "int32") for op in ("add", "subtract", "multiply", "bitwise_xor", "bitwise_and", "maximum", "minimum")],
    *[(op, 1, "int32", "int32") for op in ("negative", "absolute", "sign", "invert")],
    *[(op, 2, d, "bool") for op in ("greater", "less_equal", "equal", "not_equal", "logical_and") for d in (*ALL_FLOATS, "int32", "bool")],
    *[(op, 2, "bool", "bool") for op in ("logical_or", "logical_xor", "bitwise_xor", "add", "multiply")],
    *[(op, 1, d, "bool") for op in ("isnan", "isinf", "isfinite", "logical_not") for d in ALL_FLOATS],
    *[("clip", 3, d, d) for d in ALL_FLOATS],
    *[("where", 3, d, d) for d in (*ALL_FLOATS, "int32")],
    *[("astype", 1, a, b) for a, b in (("float32", "float64"), ("float64", "float32"), ("int32", "float32"), ("bool", "float64"))],
    *[("astype", 1, a, b) for half in HALVES for a, b in (("float32", half), (half, "float32"), (half, "float64"), ("int32", half))],
)
BOUNDED = tuple((op, 1, d, d) for op in ("tanh", "erf") for d in FLOATS)


def random_program(seed, table, values):
    """A program of random steps over inputs, some of which lack axes, and its operands."""
    draw = random.Random(seed)
    shape = draw.choice([(1,), (37,), (3, 50), (5, 1, 17), (2, 3, 2, 2), (0, 4), (33, 3)])
    generator = np.random.default_rng(seed)
    dtypes = ["float32", "float32", "float64", "int32", "bool", "float16", "bfloat16"]
    inputs = []
    for dtype in dtypes:
        own = tuple(n if draw.random() < 0.7 else 1 for n in shape[draw.randrange(len(shape)) if len(inputs) else 0 :])
        with np.errstate(over="ignore"):
            drawn = generator.integers(-9, 9, own) if dtype == "int32" else generator.choice(values, own)
            inputs.append(drawn.astype(NUMPY[dtype]))
    known = [(Ref("in", k), d) for k, d in enumerate(dtypes)]
    steps = []
    for number in range(draw.randrange(2, 14)):
        op, arity, takes, gives = draw.choice(table)
        wanted = ["bool", takes, takes] if op == "where" else [takes] * arity
        args = [draw.choice([r for r, d in known if d == w]) for w in wanted]
        if takes in ALL_FLOATS and arity == 2 and draw.random() < 0.3:
            args[-1] = Ref("const", draw.choice([0.1, -2.0, math.inf, 1]))
        steps.append(step(op, *args, dtype=gives, operand_dtype=takes))
        known.append((Ref("step", number), gives))
    numbers = tuple(dict.fromkeys([*draw.sample(range(len(steps)), 2), len(steps) - 1]))
    return RowProgram("random", shape, tuple(ArrayType(a.shape, NAME_OF[a.dtype]) for a in inputs), tuple(steps), numbers), inputs


def by_default(program, inputs):
    """The default kernel's results."""
    outs = outputs_of(program)
    with np.errstate(all="ignore"):
        compile_kernel(program)(*inputs, *outs)
    return outs


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_match_the_default_kernel_bitwise(seed):
    program, inputs = random_program(seed, EXACT, [*SPECIAL, 3.0, -0.25])
    got = machine_code(program)(*inputs, *outputs_of(program))
    for g, w in zip(got, by_default(program, inputs), strict=True):
        assert same_bits(g, w), f"seed {seed}: {program}: {g} should be {w}"


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_with_functions_are_within_the_tolerance(seed):
    smooth = [row for row in EXACT if row[0] in ("add", "subtract", "multiply", "maximum", "where", "astype", "greater", "sqrt")]
    program, inputs = random_program(seed, [*smooth, *BOUNDED, *BOUNDED], np.linspace(0, 3, 40))
    got = machine_code(program)(*inputs, *outputs_of(program))
    for g, w in zip(got, by_default(program, inputs), strict=True):
        if g.dtype.kind == "f":
            np.testing.assert_allclose(g, w, 2e-6, 2e-6, err_msg=f"seed {seed}")


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
@pytest.mark.parametrize("op", ["left_shift", "right_shift"])
def test_shifts_by_any_count(op, dtype):
    info, generator = np.iinfo(dtype), np.random.default_rng(0)
    x = generator.integers(info.min, info.max, 1001, dtype, endpoint=True)
    counts = generator.integers(max(info.min, -3), 80, 1001).astype(dtype)
    (got,) = machine_code(one(op, dtype, dtype, size=x.size))(x, counts, np.empty_like(x))
    assert same_bits(got, getattr(np, op)(x, counts))


@pytest.mark.parametrize("exponent", [-1.0, 0.5, 1.0, 2, 2.0, 3.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_by_a_constant(exponent, dtype):
    with np.errstate(over="ignore"):
        x = np.array([*SPECIAL, 3.7, -1.1]).astype(dtype)
    power = step("power", Ref("in", 0), Ref("const", exponent), dtype=dtype, operand_dtype=dtype)
    program = RowProgram("power", x.shape, (ArrayType(x.shape, dtype),), (power,), (0,))
    (got,) = machine_code(program)(x, np.empty_like(x))
    np.testing.assert_allclose(got, by_default(program, [x])[0], 2 * np.finfo(dtype).eps)


def test_any_power_of_float32():
    generator = np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, math.inf, -math.inf, math.nan, 2.0**24, 1e-40]
    pairs = np.array([(a, b) for a in special for b in special], np.float32)
    x = np.concatenate([pairs[:, 0], np.exp(generator.uniform(-20, 20, 5000)).astype(np.float32), -np.arange(100, dtype=np.float32)])
    y = np.concatenate([pairs[:, 1], generator.uniform(-4, 4, 5000).astype(np.float32), np.arange(100, dtype=np.float32) % 7 - 3])
    (got,) = machine_code(one("power", "float32", "float32", size=x.size))(x, y, np.empty_like(x))
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(got, want, 1.2e-7, 1e-45)
    zero = got == 0
    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def test_floats_become_integers_by_truncation():
    for target in ("int8", "uint8", "int16", "int32", "uint32", "int64"):
        x = np.array([1.9, 0.5, 100.7, 3.0, 7.99, 0.0, 12.3], "float32")
        (got,) = machine_code(one("astype", "float32", dtype=target))(x, np.empty(7, target))
        assert same_bits(got, x.astype(target))


@pytest.mark.parametrize(
    "program",
    [
        one("arctan", "float32"),
        one("astype", "float64", dtype="float16"),
        one("astype", "bfloat16", dtype="uint32"),
        one("astype", "float32", dtype="uint64"),
        one("power", "float64", "float64"),
        one("floor_divide", "int32", "int32"),
        one("remainder", "float64", "float64"),
    ],
    ids=lambda p: f"{p.name} of {p.inputs[0].dtype}",
)
def test_operations_without_machine_code_use_the_default_kernel(program):
    inputs = [np.array([3, 1, 2, 5, 4, 6, 7]).astype(NUMPY[t.dtype]) for t in program.inputs]
    outs = outputs_of(program)
    kernel = NumpyBackend().compile(program)
    for _ in range(3):
        kernel(*inputs, *outs)
    assert (tiering.Stats.refused, tiering.Stats.compiled) == (1, 0)
    assert same_bits(*[a.astype(np.float64) for a in (outs[0], by_default(program, inputs)[0])])


# shapes and memory


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1000])
@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool"])
def test_every_length_is_computed_completely_and_nothing_beyond(size, dtype):
    op = "logical_or" if dtype == "bool" else "add"
    x, y = (np.random.default_rng(k).integers(0, 2, size).astype(dtype) for k in range(2))
    memory = np.full(size + 64, 7).astype(dtype)
    machine_code(one(op, dtype, dtype, size=size))(x, y, memory[:size])
    assert same_bits(memory[:size], getattr(np, op)(x, y))
    assert (memory[size:] == np.array(7).astype(dtype)).all()


@pytest.mark.parametrize(
    ("shape", "operands"),
    [
        ((40, 50), [(40, 50), (50,)]),
        ((40, 50), [(40, 1), (50,)]),
        ((40, 50), [(), (40, 1)]),
        ((3, 4, 5, 6), [(4, 1, 6), (3, 1, 5, 1)]),
        ((3, 4, 5, 6), [(3, 4, 5, 6), (4, 1, 1)]),
        ((2, 1, 300), [(2, 1, 300), (1, 1, 1)]),
        ((1, 1), [(1, 1), (1,)]),
        ((3, 0, 2), [(3, 1, 2), (2,)]),
        ((0,), [(0,), ()]),
    ],
)
def test_inputs_broadcast(shape, operands):
    x, y = (np.random.default_rng(k).normal(size=s).astype(np.float32) for k, s in enumerate(operands))
    types = tuple(ArrayType(s, "float32") for s in operands)
    program = RowProgram("subtract", shape, types, (step("subtract", Ref("in", 0), Ref("in", 1)),), (0,))
    (got,) = machine_code(program)(x, y, np.empty(shape, np.float32))
    assert same_bits(got, np.broadcast_to(x - y, shape))


@pytest.mark.parametrize("size", [5, 64, 1000, 400_003])
def test_an_output_can_share_an_inputs_memory(size):
    x, y = (np.random.default_rng(k).normal(size=size).astype(np.float32) for k in range(2))
    steps = (step("add", Ref("in", 0), Ref("in", 1)), step("subtract", Ref("in", 0), Ref("in", 1)))
    program = RowProgram("both", (size,), (ArrayType((size,), "float32"),) * 2, steps, (0, 1), ((0, 1), (1, 0)))
    want = x + y, x - y
    machine_code(program)(x, y, y, x)
    assert same_bits(y, want[0])
    assert same_bits(x, want[1])


def test_strided_constant_and_read_only_inputs_are_accepted():
    base = np.arange(80, dtype=np.float32).reshape(8, 10)
    program = chain((10, 8), "negative")
    fixed = np.broadcast_to(np.float32(3), (10, 8))
    (got,) = machine_code(program)(base.T, fixed, np.empty((10, 8), np.float32))
    assert same_bits(got, -(base.T * 2 + fixed))


def test_strided_inputs_are_computed_by_machine_code_too(monkeypatch):
    x = np.arange(80, dtype=np.float32).reshape(8, 10).T
    kernel, out = machine_code(chain((10, 8), "negative")), np.empty((10, 8), np.float32)
    monkeypatch.setattr(tiering, "compile_kernel", None)
    kernel(x, x, out)
    assert same_bits(out, -(x * 2 + x))


@pytest.mark.usefixtures("two_threads")
def test_both_halves_reject_operands_together():
    memory, turned = np.arange(401, dtype=np.float32), np.ones((20, 20), np.float32).T
    x, y = (memory[k:][:400].reshape(20, 20) for k in (1, 0))  # the result overlaps the input, one element before it
    steps = step("add", Ref("in", 0), Ref("in", 1)), step("add", Ref("step", 0), Ref("in", 2))
    program = RowProgram("add", (20, 20), (ArrayType((20, 20), "float32"),) * 3, steps, (1,), ((0, 2),))
    want = x + turned + y
    machine_code(program)(x, turned, y, y)
    assert same_bits(y, want)


@pytest.mark.parametrize("number", [np.float32(3), np.float32(3).reshape(1).view(np.recarray), 3.0])
def test_operands_other_than_plain_arrays_are_converted(number):
    types = ArrayType((9,), "float32"), ArrayType((), "float32")
    program = RowProgram("add", (9,), types, (step("add", Ref("in", 0), Ref("in", 1)),), (0,))
    x = np.arange(9, dtype=np.float32)
    (got,) = machine_code(program)(x, number, np.empty_like(x))
    assert same_bits(got, x + 3)


def test_an_array_of_another_size_raises_as_in_the_default_kernel():
    kernel = machine_code(chain((8,)))
    small, large = np.ones(4, np.float32), np.ones(8, np.float32)
    for arrays in ((small, large, large), (large, large, small)):
        with pytest.raises(ValueError, match="broadcast"):
            kernel(*arrays)


@pytest.mark.parametrize(
    ("shape", "operand"), [((700_001,), (1,)), ((2, 400_000), (2, 1)), ((1000, 500), (500,)), ((100, 5, 1000), (5, 1))]
)
@pytest.mark.usefixtures("two_threads")
def test_large_spaces_are_computed_by_two_threads(shape, operand):
    x, y = (np.random.default_rng(k).normal(size=s).astype(np.float32) for k, s in enumerate((shape, operand)))
    types = ArrayType(shape, "float32"), ArrayType(operand, "float32")
    program = RowProgram("multiply", shape, types, (step("multiply", Ref("in", 0), Ref("in", 1)),), (0,))
    run, before = machine_code(program), HAND_OFFS.count
    (got,) = run(x, y, np.empty(shape, np.float32))
    assert same_bits(got, x * y)
    assert HAND_OFFS.count == before + 1


def test_many_threads_can_share_a_kernel():
    program = chain((5000,), "tanh")
    kernel = NumpyBackend().compile(program)
    data = [np.random.default_rng(k).normal(size=(2, 5000)).astype(np.float32) for k in range(8)]
    outs = [np.empty((20, 5000), np.float32) for _ in data]

    def work(k):
        for out in outs[k]:
            kernel(*data[k], out)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (x, y), out in zip(data, outs, strict=True):
        np.testing.assert_allclose(out, np.broadcast_to(np.tanh(x * 2 + y), out.shape), 1e-6, 1e-6)
    assert tiering.Stats.compiled == 1


# when


def test_a_structure_is_compiled_at_its_second_use_regardless_of_sizes():
    x = np.ones(7, np.float32)
    first, second = (NumpyBackend().compile(chain(shape)) for shape in ((7,), (9,)))
    first(x, x, np.empty_like(x))
    assert tiering.Stats.compiled == 0
    y = np.ones(9, np.float32)
    second(y, y, np.empty_like(y))
    first(x, x, np.empty_like(x))
    assert tiering.Stats.compiled == 1


def test_small_work_is_compiled_at_a_later_use(monkeypatch):
    monkeypatch.setattr(tiering, "WORTH", 10_000)
    x, y = np.ones(7, np.float32), np.ones(100_000, np.float32)
    small, large = NumpyBackend().compile(chain((7,))), NumpyBackend().compile(chain((100_000,)))
    for _ in range(tiering.LATE - 1):
        small(x, x, np.empty_like(x))
        assert tiering.Stats.compiled == 0
    large(y, y, np.empty_like(y))
    assert tiering.Stats.compiled == 1


def test_programs_of_any_size_are_fused_where_kernels_are_compiled(monkeypatch):
    def kernels():
        x, y = (leaf(k, (3, 4), "float32") for k in range(2))
        return len(Program([G.tanh(x + y)], [x, y], NumpyBackend()).kernels)

    assert kernels() == 1
    monkeypatch.setattr(SETTINGS, "jit", False)
    assert kernels() == 0


def test_structures_differing_in_a_constants_sign_or_type_are_distinct():
    x = np.array([-0.0], np.float32)
    for value in (0.0, -0.0):
        add = step("add", Ref("in", 0), Ref("const", value))
        (got,) = machine_code(RowProgram("add", (1,), (ArrayType((1,), "float32"),), (add,), (0,)))(x, np.empty_like(x))
        assert same_bits(got, x + np.float32(value))


def test_the_setting_turns_it_off(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    x = np.ones(7, np.float32)
    kernel = NumpyBackend().compile(chain())
    for _ in range(3):
        kernel(x, x, np.empty_like(x))
    assert tiering.Stats.compiled == 0


def test_the_environment_turns_it_off():
    code = "from twofold.config import SETTINGS; print(SETTINGS.jit)"
    for value, want in (("0", "False"), ("1", "True")):
        run = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TWOFOLD_JIT": value}, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == want


def test_without_llvmlite_the_default_kernel_is_used(monkeypatch):
    monkeypatch.setattr("twofold_numpy.adapter.is_installed", lambda: False)
    x = np.ones(7, np.float32)
    kernel = NumpyBackend().compile(chain())
    for _ in range(3):
        kernel(x, x, np.empty_like(x))
    assert tiering.Stats.compiled == 0


def test_a_machine_that_cannot_compile_uses_the_default_kernel(monkeypatch):
    monkeypatch.setattr(tiering, "compiler", lambda: None)
    x = np.ones(7, np.float32)
    out = np.empty_like(x)
    kernel = NumpyBackend().compile(chain())
    for _ in range(3):
        kernel(x, x, out)
    assert same_bits(out, by_default(chain(), [x, x])[0])


def test_source_rejected_by_llvm_falls_back_to_the_default_kernel(monkeypatch):
    monkeypatch.setattr(tiering, "kernel_ir", lambda structure, machine: "define nothing")
    x = np.ones(7, np.float32)
    out = np.empty_like(x)
    kernel = NumpyBackend().compile(chain())
    for _ in range(3):
        kernel(x, x, out)
    assert tiering.Stats.refused == 1
    assert same_bits(out, by_default(chain(), [x, x])[0])


def test_the_loop_is_vectorized():
    program = one("tanh", "float32")
    assembly = compiler().assembly(kernel_ir(structure_of(program)[0], compiler().machine))
    if compiler().triple.startswith("x86_64"):
        assert assembly.count("vfmadd") + assembly.count("vfnmadd") >= 10
        assert not re.search(r"\bv(add|sub|mul|div|fn?madd\d+)ss\b", assembly)  # arithmetic of one float32


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_sources_for_other_vector_lengths_compile(bits):
    program, _ = random_program(3, [*EXACT, *BOUNDED], SPECIAL)
    text = kernel_ir(structure_of(program)[0], Machine(bits, object.__basicsize__))
    assert compiler().object_code(text)


# files


def use_twice(program):
    """Compile a program as a new process would."""
    tiering._entries.clear()
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    out = np.empty_like(x)
    kernel = NumpyBackend().compile(program)
    for _ in range(2):
        kernel(x, x, out)
    np.testing.assert_allclose(out, np.exp(x * 2 + x), 1e-6)
    return tiering.Stats.compiled, tiering.Stats.loaded


def test_object_code_is_read_from_the_disk():
    assert use_twice(chain()) == (1, 0)
    assert use_twice(chain()) == (1, 1)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"x" * 4000]
)
def test_a_damaged_file_is_recompiled(damage):
    use_twice(chain())
    (path,) = CACHE.folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert use_twice(chain()) == (2, 0)
    assert use_twice(chain()) == (2, 1)


def test_an_unwritable_folder_is_not_an_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TWOFOLD_CACHE", str(tmp_path / "file"))
    assert use_twice(chain()) == (1, 0)


def test_programs_of_the_package_are_compiled():
    """From arrays to machine code, with a window of operations that no other test uses."""
    import twofold as mx

    x = mx.nd.array(np.linspace(-3, 3, 70_000, dtype=np.float32))
    results = [(mx.nd.tanh(x * 1.25 - 0.0625) * x + x).asnumpy() for _ in range(3)]
    host = x.asnumpy()
    for result in results:
        np.testing.assert_allclose(result, np.tanh(host * np.float32(1.25) - np.float32(0.0625)) * host + host, 2e-6, 1e-6)
    assert tiering.Stats.compiled == 1
