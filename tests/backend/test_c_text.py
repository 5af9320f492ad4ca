"""The C printer: every element-wise primitive and fused programs compile for GPUs, and match NumPy as host C++."""

import math
import random

import numpy as np
import pytest

from twofold.backend.c_text import kernel_unit, literal
from twofold.backend.kernel import ArrayType, KernelStep, Ref, RowProgram
from twofold.backend.strides import broadcast_strides, collapse, index_terms, row_major
from twofold.dtype import NAME_OF, NUMPY
from twofold.errors import KernelCompileError
from twofold.opdef.registry import primitives
from twofold.testing.backend_cases import cases, numbers
from twofold.testing.backend_conformance import TOLERANCE, names, one_step, step

from tests.backend.compilers import ARCHITECTURES, compile_for_gpu, compile_for_host, run_on_host

ELEMENTWISE = [name for name in names() if primitives()[name].elementwise]
CASES = [case for name in ELEMENTWISE for case in cases(name) if not case.is_weak]
#: Each compilation takes seconds, so the quick run uses a single architecture.
EACH_GPU = [a if a == "sm_90" else pytest.param(a, marks=pytest.mark.slow) for a in ARCHITECTURES]
#: Ufuncs of random programs, with the dtype that they take and give.
RANDOM_OPS = (
    *[(op, 2, "float32", "float32") for op in ("add", "subtract", "multiply", "maximum", "minimum", "copysign")],
    *[(op, 1, "float32", "float32") for op in ("negative", "absolute", "sign", "square", "tanh", "floor", "arctan")],
    *[(op, 2, "int32", "int32") for op in ("add", "multiply", "bitwise_xor", "maximum")],
    *[(op, 2, "float32", "bool") for op in ("greater", "less_equal", "equal")],
    *[(op, 2, "bool", "bool") for op in ("logical_and", "logical_or", "bitwise_xor")],
)


def differ(got, want):
    """Whether a result differs from NumPy's; floats may differ by the conformance suite's tolerance."""
    dtype = NAME_OF[want.dtype]
    if dtype not in TOLERANCE:
        return not np.array_equal(got, want)
    rtol = TOLERANCE[dtype]
    return not np.allclose(got.astype(np.float64), want.astype(np.float64), rtol, rtol / 10, equal_nan=True)


def random_program(seed):
    """A fused program of random steps over broadcast inputs, its operands, and NumPy's results step by step."""
    draw = random.Random(seed)
    shape = draw.choice([(3, 4), (2, 1, 5), (7,), (2, 3, 2, 2)])
    dtypes = ["float32", "float32", "int32", "bool"]
    inputs = [numbers(tuple(n if draw.random() < 0.6 else 1 for n in shape[draw.randrange(len(shape)) :]), d) for d in dtypes]
    inputs[0] = numbers(shape, "float32")
    known = [(Ref("in", k), a) for k, a in enumerate(inputs)]
    steps = []
    for number in range(draw.randrange(3, 12)):
        op, arity, takes, gives = draw.choice(RANDOM_OPS)
        chosen = [draw.choice([(r, v) for r, v in known if v.dtype == NUMPY[takes]]) for _ in range(arity)]
        if takes == "float32" and draw.random() < 0.3:
            chosen[-1] = (Ref("const", 0.1), np.float32(0.1))
        with np.errstate(all="ignore"):
            value = getattr(np, op)(*[v for _, v in chosen])
        steps.append(step(op, *[r for r, _ in chosen], dtype=gives, operand_dtype=takes))
        known.append((Ref("step", number), np.broadcast_to(value, shape)))
    outputs = tuple(dict.fromkeys([*draw.sample(range(len(steps)), 2), len(steps) - 1]))
    types = tuple(ArrayType(a.shape, NAME_OF[a.dtype]) for a in inputs)
    program = RowProgram("_".join(dict.fromkeys(s.op for s in steps)), shape, types, tuple(steps), outputs)
    return program, inputs, [known[len(inputs) + k][1] for k in outputs]


@pytest.fixture(scope="module")
def on_host(tmp_path_factory):
    """All element-wise cases, compiled by g++ at once, with their names."""
    unit = kernel_unit(*map(one_step, CASES))
    return compile_for_host(unit.source, tmp_path_factory.mktemp("kernels")), unit.names


@pytest.mark.ci
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_host_kernels_match_numpy(on_host, name):
    library, kernels = on_host
    for k, case in enumerate(CASES):
        if case.op == name:
            out = np.empty(case.want.shape, case.want.dtype)
            run_on_host(library, kernels[k], *map(np.ascontiguousarray, case.operands), out)
            assert not differ(out, case.want), f"{case}: {out} should be {case.want}"


def test_fused_host_kernels_match_numpy_step_by_step(tmp_path):
    programs, operands, wants = zip(*map(random_program, range(60)), strict=True)
    unit = kernel_unit(*programs)
    library = compile_for_host(unit.source, tmp_path)
    for seed, (name, inputs, want) in enumerate(zip(unit.names, operands, wants, strict=True)):
        outs = [np.empty(w.shape, w.dtype) for w in want]
        run_on_host(library, name, *inputs, *outs)
        assert not any(map(differ, outs, want)), f"seed {seed}: {programs[seed]}"


@pytest.mark.ci
@pytest.mark.parametrize("architecture", EACH_GPU)
def test_every_primitive_compiles_for_gpus_without_warnings(architecture):
    once = {(case.op, tuple(str(a.dtype) for a in case.operands), str(case.params)): one_step(case) for case in CASES}
    assert compile_for_gpu(kernel_unit(*once.values()).source, architecture) == ""


@pytest.mark.parametrize("architecture", EACH_GPU)
def test_fused_programs_compile_for_gpus(architecture):
    compile_for_gpu(kernel_unit(*[random_program(seed)[0] for seed in range(60)]).source, architecture)  # else fails the test


def test_index_spaces_beyond_32_bits_use_64_bit_indices():
    big, small = [
        RowProgram("add", (n, 3), (ArrayType((n, 1), "float32"),), (step("add", Ref("in", 0), Ref("in", 0)),), (0,)) for n in (2**30, 2**20)
    ]
    assert "TF_EACH(long long, i," in kernel_unit(big).source
    assert "TF_EACH(unsigned int, i," in kernel_unit(small).source


def test_a_kernel_is_named_after_its_steps():
    program = random_program(1)[0]._replace(name="multiply_add")
    assert kernel_unit(program, program).names == ("tf_multiply_add_0", "tf_multiply_add_1")


def test_special_functions_are_printed_only_where_used():
    one = kernel_unit(RowProgram("exp", (2,), (ArrayType((2,), "float32"),), (step("exp", Ref("in", 0)),), (0,)))
    assert "tf_polynomial" not in one.source


def test_special_functions_are_printed_once_for_all_kernels():
    x = (ArrayType((2,), "float32"),)
    both = (step("erfinv", Ref("in", 0)), step("polygamma", Ref("in", 0), order=2))
    found = kernel_unit(*[RowProgram("p", (2,), x, steps, (0,)) for steps in (both, both[1:])]).source
    assert [found.count(text) for text in ("double TF_ERFINV_TAIL_P[]", "double tf_polygamma_2(", "double tf_tail_2[]")] == [1, 1, 1]
    only = kernel_unit(RowProgram("p", (2,), x, both[:1], (0,))).source
    assert ("TF_TABLE double TF_ERFINV" in only, "TF_TABLE double TF_DIGAMMA" in only) == (True, False)


def test_a_step_without_c_source_is_rejected():
    bare = KernelStep("matmul", None, None, (Ref("in", 0),), "float32", "float32")
    with pytest.raises(KernelCompileError, match="matmul has no C expression"):
        kernel_unit(RowProgram("matmul", (2,), (ArrayType((2,), "float32"),), (bare,), (0,)))


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.1, "float64", "(0x1.999999999999ap-4)"),
        (0.1, "float32", "(0x1.99999a0000000p-4f)"),
        (0.1, "float16", "(0x1.9980000000000p-4f)"),
        (-0.0, "float32", "(-0x0.0p+0f)"),
        (math.inf, "float32", "((float)TF_INFINITY)"),
        (-math.inf, "float64", "((double)-TF_INFINITY)"),
        (math.nan, "float32", "((float)TF_NAN)"),
        (3, "int8", "((signed char)3)"),
        (-(2**63), "int64", "((long long)(-9223372036854775807LL - 1))"),
        (2**64 - 1, "uint64", "((unsigned long long)18446744073709551615ULL)"),
        (True, "bool", "true"),
        (2, "float32", "(0x1.0000000000000p+1f)"),
    ],
)
def test_constants_are_exact(value, dtype, text):
    assert literal(value, dtype) == text


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_read_and_rounded_exactly(tmp_path, dtype):
    every = np.arange(2**16, dtype=np.uint16).view(NUMPY[dtype])
    with np.errstate(all="ignore"):
        every = every[~np.isnan(every)]
        near = every.astype(np.float64)
        wide = np.concatenate([near, (near[:-1] + near[1:]) / 2, np.nextafter(near, 0), np.random.default_rng(0).normal(size=1000)])
        single = wide.astype(np.float32)
        wants = every.astype(np.float32), wide.astype(NUMPY[dtype]), single.astype(NUMPY[dtype])
    programs = [cast(dtype, "float32", every.shape), cast("float64", dtype, wide.shape), cast("float32", dtype, single.shape)]
    unit = kernel_unit(*programs)
    library = compile_for_host(unit.source, tmp_path)
    for name, operand, want in zip(unit.names, (every, wide, single), wants, strict=True):
        out = np.empty(want.shape, want.dtype)
        run_on_host(library, name, operand, out)
        assert np.array_equal(out.view(np.uint8), want.view(np.uint8))


def cast(source, target, shape):
    """A kernel that casts."""
    text = primitives()["astype"].execution.c
    one = KernelStep("astype", None, text, (Ref("in", 0),), target, source, (("dtype", target),))
    return RowProgram("astype", shape, (ArrayType(shape, source),), (one,), (0,))


@pytest.mark.parametrize(
    ("shape", "operands", "space", "collapsed"),
    [
        ((2, 3, 4), [(2, 3, 4), (4,)], (6, 4), [(6, 4), (1, 4)]),
        ((2, 3, 4), [(2, 3, 4), ()], (24,), [(24,), (1,)]),
        ((2, 1, 4), [(1, 1, 4), (2, 1, 1)], (2, 4), [(1, 4), (2, 1)]),
        ((), [(), (1,)], (1,), [(1,), (1,)]),
        ((3, 0), [(3, 0)], (0,), [(0,)]),
    ],
)
def test_axes_merge_where_every_operand_has_both_or_neither(shape, operands, space, collapsed):
    assert collapse(shape, operands) == (space, collapsed)


@pytest.mark.parametrize(("space", "operand"), [((2, 3, 4), (2, 1, 4)), ((5, 2), (1, 2)), ((3,), (1,)), ((4, 3), (4, 1))])
def test_element_offsets_follow_broadcasting(space, operand):
    want = np.broadcast_to(np.arange(math.prod(operand)).reshape(operand), space).reshape(-1)
    terms = index_terms(space, broadcast_strides(operand, row_major(operand), space))
    got = [sum(i // inner % size * stride for inner, size, stride in terms) for i in range(math.prod(space))]
    assert got == list(want)
