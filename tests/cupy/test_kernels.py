"""Fused kernels against NumPy: chains and row programs over dtypes, broadcasting, strides, empty arrays and offsets beyond 32 bits."""

import math

import numpy as np
import pytest

from twofold.backend import strides as places
from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.device import interned
from twofold.dtype import NUMPY
from twofold.errors import KernelCompileError
from twofold.testing.backend_cases import numbers
from twofold.testing.backend_conformance import host_type, step

GPU = interned("gpu", 0)
cupy = pytest.importorskip("cupy")
kernels = pytest.importorskip("twofold_cupy.kernels")
rows = pytest.importorskip("twofold_cupy.rows")


def softmax_program(shape, dtype="float32"):
    """Softmax over the last axis with a scale and a mask per row, whose sum is an output too."""
    steps = (
        step("multiply", Ref("in", 0), Ref("in", 1), dtype=dtype, operand_dtype=dtype),
        step("max", Ref("step", 0), dtype=dtype, axis=-1, keepdims=True)._replace(row=True),
        step("subtract", Ref("step", 0), Ref("step", 1), dtype=dtype, operand_dtype=dtype),
        step("exp", Ref("step", 2), dtype=dtype, operand_dtype=dtype),
        step("sum", Ref("step", 3), dtype=dtype, axis=-1, keepdims=True)._replace(row=True),
        step("divide", Ref("step", 3), Ref("step", 4), dtype=dtype, operand_dtype=dtype),
        step("log", Ref("step", 4), dtype=dtype, operand_dtype=dtype)._replace(row=True),
        step("multiply", Ref("step", 5), Ref("in", 2), dtype=dtype, operand_dtype=dtype),
    )
    types = tuple(ArrayType(s, dtype) for s in (shape, (shape[-1],), (*shape[:-1], 1)))
    return RowProgram("softmax", shape, types, steps, (7, 6))


def softmax(x, scale, mask):
    z = x * scale
    e = np.exp(z - z.max(-1, keepdims=True))
    total = e.sum(-1, keepdims=True)
    return e / total * mask, np.log(total)


def run(backend, program, *arrays):
    kernel = backend.compile(program)
    operands = [backend.from_host(a, GPU) if isinstance(a, np.ndarray) else a for a in arrays]
    kinds = [program.steps[k] for k in program.outputs]
    outs = [backend.empty((*program.shape[:-1], 1) if s.row else program.shape, s.dtype) for s in kinds]
    backend.quietly(lambda: kernel(*operands, *outs))
    return [backend.to_host(o) for o in outs]


@pytest.mark.sanitizer
@pytest.mark.parametrize("length", [1, 3, 10, 100, 1000, 5000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_reduced_and_reused(backend, length, dtype):
    draw = np.random.default_rng(length)
    arrays = [draw.normal(size=s).astype(dtype) for s in ((2, 3, length), (length,), (2, 3, 1))]
    for got, want in zip(run(backend, softmax_program((2, 3, length), dtype), *arrays), softmax(*arrays), strict=True):
        np.testing.assert_allclose(got, want, 3e-6 if dtype == "float32" else 1e-13)


def test_rows_can_be_strided(backend):
    draw = np.random.default_rng(0)
    x, scale, mask = (draw.normal(size=s).astype(np.float32) for s in ((3, 40, 2), (40,), (2, 3, 1)))
    seen = backend.xp.permute_dims(backend.from_host(x, GPU), axes=(2, 0, 1))
    found = run(backend, softmax_program((2, 3, 40)), seen, scale, mask)
    for got, want in zip(found, softmax(x.transpose(2, 0, 1), scale, mask), strict=True):
        np.testing.assert_allclose(got, want, 3e-6)


def test_one_row_kernel_source_serves_all_column_strides(backend):
    draw, seen = np.random.default_rng(2), set()
    for far in (2, 3, 7):
        x, scale, mask = (draw.normal(size=s).astype(np.float32) for s in ((2, 40 * far), (40,), (2, 1)))
        before = rows.kernel_source.cache_info().misses
        found = run(backend, softmax_program((2, 40)), backend.from_host(x, GPU)[:, ::far], scale, mask)
        for got, want in zip(found, softmax(x[:, ::far], scale, mask), strict=True):
            np.testing.assert_allclose(got, want, 3e-6)
        seen.add(rows.kernel_source.cache_info().misses - before)
    assert seen <= {0, 1}
    assert rows.kernel_source.cache_info().misses == before, "the last ones have the first one's"


def test_a_row_output_can_share_an_inputs_memory(backend):
    program = softmax_program((4, 3000))
    x = np.random.default_rng(1).normal(size=(4, 3000)).astype(np.float32)
    scale, mask = np.ones(3000, np.float32), np.ones((4, 1), np.float32)
    there = [backend.from_host(a, GPU) for a in (x, scale, mask)]
    kernel, total = backend.compile(program), backend.empty((4, 1), "float32")
    backend.quietly(lambda: kernel(*there, there[0], total))
    np.testing.assert_allclose(backend.to_host(there[0]), softmax(x, scale, mask)[0], 3e-6)


def test_arrays_without_rows_or_columns(backend):
    for shape in ((0, 4), (2, 0, 3)):
        operands = [np.ones(s, np.float32) for s in (shape, shape[-1:], (*shape[:-1], 1))]
        assert run(backend, softmax_program(shape), *operands)[0].shape == shape


@pytest.mark.parametrize("length", [3, 700, 9000, 70_000])
def test_fused_sums_match_separate_sums_bitwise(backend, length):
    x = np.random.default_rng(length).normal(size=(2, length)).astype(np.float32)
    steps = (
        step("square", Ref("in", 0)),
        step("sum", Ref("step", 0), axis=-1, keepdims=True)._replace(row=True),
    )
    (fused,) = run(backend, RowProgram("square_sum", x.shape, (host_type(x),), steps, (1,)), x)
    there = backend.xp.square(backend.from_host(x, GPU))
    alone = backend.to_host(backend.xp.sum(there, axis=-1, keepdims=True))
    np.testing.assert_array_equal(fused, alone)


def test_a_fused_chain_matches_its_steps_bitwise(backend):
    x = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    steps = (
        step("multiply", Ref("in", 0), Ref("in", 1)),
        step("add", Ref("step", 0), Ref("in", 0)),
        step("divide", Ref("step", 1), Ref("const", 3.0)),
    )
    (fused,) = run(backend, RowProgram("multiply_add_divide", x.shape, (host_type(x),) * 2, steps, (2,)), x, x[:, ::-1].copy())
    np.testing.assert_array_equal(fused, (x * x[:, ::-1] + x) / np.float32(3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_float16_chains_are_rounded_once(backend, dtype):
    x = numbers((4, 5), dtype)
    kind = {"dtype": dtype, "operand_dtype": dtype}
    steps = (step("multiply", Ref("in", 0), Ref("in", 0), **kind), step("add", Ref("step", 0), Ref("in", 1), **kind))
    (got,) = run(backend, RowProgram("multiply_add", x.shape, (host_type(x),) * 2, steps, (1,)), x, x)
    want = (x.astype(np.float32) ** 2 + x.astype(np.float32)).astype(NUMPY[dtype])
    np.testing.assert_array_equal(got.view(np.uint16), want.view(np.uint16))


@pytest.mark.sanitizer
def test_operands_lie_as_they_like(backend):
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    there = backend.from_host(x, GPU)
    views = [
        (there[::-1, :, ::2], x[::-1, :, ::2]),
        (backend.xp.permute_dims(there, axes=(2, 0, 1)), x.transpose(2, 0, 1)),
        (backend.xp.broadcast_to(there[0, 0], shape=(3, 5)), np.broadcast_to(x[0, 0], (3, 5))),
        (there[1, 1, 1], x[1, 1, 1]),
    ]
    for got, want in views:
        np.testing.assert_array_equal(backend.to_host(backend.xp.add(got, got)), want + want)


@pytest.mark.sanitizer
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_packs_end_where_arrays_end(backend, dtype):
    """At any length, from any address, with operands that have one element, or each second one."""
    x = np.arange(1, 41).astype(dtype)
    there = backend.from_host(x, GPU)
    for first in range(3):
        for length in (*range(1, 11), 17, 37):
            part, spread = slice(first, first + length), slice(first, first + 2 * length, 2)
            want = x[part] + x[:1]
            np.testing.assert_array_equal(backend.to_host(backend.xp.add(there[part], there[:1])), want)
            if first + 2 * length <= x.size:
                np.testing.assert_array_equal(backend.to_host(backend.xp.add(there[part], there[spread])), x[part] + x[spread])


@pytest.mark.parametrize("columns", [1, 3, 4, 6, 8])
def test_packs_lie_within_rows(backend, columns):
    x = np.random.default_rng(columns).normal(size=(3, 5, columns)).astype(np.float32)
    row, column = x[0, 0], x[:, :1, :1]
    there, along, across = (backend.from_host(np.ascontiguousarray(a), GPU) for a in (x, row, column))
    for seen, host in ((there, x), (there[:, ::2], x[:, ::2]), (there[..., ::-1], x[..., ::-1])):
        np.testing.assert_array_equal(backend.to_host(backend.xp.multiply(backend.xp.add(seen, along), across)), (host + row) * column)


def test_a_pack_has_the_size_that_a_thread_reads_at_once():
    def pack(dtype, sizes, layouts=(kernels.PACKED, kernels.PACKED)):
        one = RowProgram("negative", (), (ArrayType((), dtype),), (step("negative", Ref("in", 0), dtype=dtype, operand_dtype=dtype),), (0,))
        return kernels.pack_of(one, sizes, layouts)

    assert [pack(dtype, (1000,)) for dtype in ("int8", "float16", "float32", "float64")] == [8, 8, 4, 2]
    assert pack("float32", (7, 8), ((0,), (0, kernels.NEXT))) == 4
    assert pack("float32", (8, 7), ((0,), (0, kernels.NEXT))) == 1, "a pack would reach into the next row"


def test_scalars_are_passed_to_kernels_by_value(backend):
    x = backend.from_host(np.ones((2, 2), np.float32), GPU)
    scale = backend.scalar(0.5, "float32")
    assert isinstance(scale, np.ndarray), "a number takes no memory of a device"
    np.testing.assert_array_equal(backend.to_host(backend.xp.multiply(x, scale)), np.full((2, 2), np.float32(0.5)))


def test_constants_keep_the_sign_of_zero(backend):
    x = np.array([2.0], np.float32)
    for zero in (0.0, -0.0):
        steps = (step("copysign", Ref("in", 0), Ref("const", zero)),)
        (got,) = run(backend, RowProgram("copysign", (1,), (host_type(x),), steps, (0,)), x)
        assert got[0] == math.copysign(2, zero)


def test_offsets_beyond_32_bits_are_64_bit_integers():
    big, small = 2**20, 2**10
    assert places.merge_axes((big, big), [(0, 1), (big, 1)]).is_long
    assert places.merge_axes((small, small), [(2**25, 1), (small, 1)]).is_long, "few elements far apart"
    assert not places.merge_axes((small, small), [(0, 1), (small, 1)]).is_long
    one = RowProgram("negative", (), (ArrayType((), "float32"),), (step("negative", Ref("in", 0)),), (0,))
    text = kernels.kernel_source(one, "tf_negative", 2, ((0,), kernels.PACKED), "long long")
    assert "TF_EACH(long long, i, count)" in text
    assert "const long long c0" in text


@pytest.mark.parametrize(
    ("shape", "strides", "sizes"),
    [
        ((2, 3, 4), [(12, 4, 1), (12, 4, 1)], (24,)),
        ((2, 3, 4), [(12, 4, 1), (0, 0, 1)], (6, 4)),
        ((2, 1, 4), [(4, 4, 1), (0, 0, 0)], (8,)),
        ((3, 4), [(1, 3), (4, 1)], (3, 4)),
        ((), [()], ()),
    ],
)
def test_axes_merge_if_every_operand_allows_it(shape, strides, sizes):
    assert places.merge_axes(shape, strides).sizes == sizes


def test_threads_per_row_depend_on_its_length_alone():
    for n, threads in ((1, 1), (8, 1), (9, 2), (20, 4), (1000, 128), (10**6, 256)):
        assert rows.threads_of_row(n) == threads


def test_a_kernel_that_does_not_compile_raises_with_its_source(backend):
    bad = step("add", Ref("in", 0), Ref("in", 0))._replace(op="mine", ufunc=None, c="no_such_function({0})")
    program = RowProgram("mine", (2,), (ArrayType((2,), "float32"),), (bad,), (0,))
    with pytest.raises(KernelCompileError, match="tf_mine_each does not compile") as caught:
        run(backend, program, np.ones(2, np.float32))
    assert "no_such_function(x0)" in str(caught.value)


def test_random_bits_match_numpy_across_counter_carries(backend):
    largest = 2**64 - 1
    for words in ((largest - 3, 0, 0, 0, 5, 6), (largest - 1, largest, largest, 7, 1, largest)):
        key = np.array(words, np.uint64)
        want = np.random.Philox(counter=key[:4], key=key[4:]).random_raw(40)
        np.testing.assert_array_equal(backend.to_host(backend.xp.random_bits(backend.from_host(key, GPU), shape=(40,))), want)


@pytest.mark.sanitizer
def test_scatters_add_in_element_order(backend):
    draw = np.random.default_rng(3)
    index, value = draw.integers(0, 5, 200), draw.normal(size=(200, 2)).astype(np.float32) * 10.0 ** draw.integers(-6, 6, (200, 1))
    value = value.astype(np.float32)
    want = np.zeros((5, 2), np.float32)
    np.add.at(want, index, value)
    zeros = backend.from_host(np.zeros((5, 2), np.float32), GPU)
    got = backend.xp.index_add(zeros, backend.from_host(value, GPU), backend.from_host(index, GPU), key=(0, None))
    np.testing.assert_array_equal(backend.to_host(got), want)


@pytest.mark.sanitizer
def test_long_sums_are_split_into_parts(backend):
    x = np.random.default_rng(0).normal(size=(3, 200_000)).astype(np.float32)
    there = backend.from_host(x, GPU)
    np.testing.assert_allclose(backend.to_host(backend.xp.sum(there)), math.fsum(x.ravel()), 1e-5)
    np.testing.assert_allclose(backend.to_host(backend.xp.max(there, axis=1)), x.max(1))


@pytest.mark.sanitizer
@pytest.mark.parametrize("name", ["convolve", "convolve_data", "convolve_weight"])
def test_a_batch_that_exceeds_the_workspace_is_split(backend, monkeypatch, name):
    draw = np.random.default_rng(0)
    data, weight, result = (draw.normal(size=s).astype(np.float32) for s in ((5, 2, 6, 6), (3, 2, 3, 3), (5, 3, 4, 4)))
    operands = {"convolve": (data, weight), "convolve_data": (result, weight), "convolve_weight": (data, result)}[name]
    params = {"stride": (1, 1), "dilate": (1, 1), "pad": (0, 0), "groups": 1}
    params |= {"convolve_data": {"size": (6, 6)}, "convolve_weight": {"kernel": (3, 3)}}.get(name, {})
    there = [backend.from_host(a, GPU) for a in operands]
    whole = backend.to_host(getattr(backend.xp, name)(*there, **params))
    convolution = pytest.importorskip("twofold_cupy.convolution")
    monkeypatch.setattr(convolution, "WORKSPACE", 2 * 2 * 9 * 16 * 4)  # two items
    assert list(convolution.batch_parts(5, 2, (3, 3), (4, 4), "float32")) == [(0, 2), (2, 4), (4, 5)]
    np.testing.assert_allclose(backend.to_host(getattr(backend.xp, name)(*there, **params)), whole, 1e-5, 1e-5)


def test_rows_with_large_column_strides_use_64_bit_offsets(backend, monkeypatch):
    memory, texts = backend.empty((16,), "float32"), {}
    far = cupy.ndarray((2, 4096), np.float32, memory.data, (4, 4 << 20))
    others = [backend.empty(shape, "float32") for shape in ((4096,), (2, 1), (2, 4096), (2, 1))]
    monkeypatch.setattr(rows, "function", lambda text, name: texts.setdefault(name, text))
    rows._plan(softmax_program((2, 4096)), 2, (far, *others))
    (text,) = texts.values()
    assert "const long long column0" in text
    assert "j * column0" in text
