"""Kernels compiled by LLVM over strided inputs: NumPy's bits for any layout, few sources, and inputs that must be copied."""

import pickle
import random

import numpy as np
import pytest

from twofold.backend.kernel import ArrayType, Ref, RowProgram
from twofold.backend.ledger import HAND_OFFS
from twofold.config import SETTINGS
from twofold.graph.ir import leaf
from twofold.program.compile import Program
from twofold.testing.backend_conformance import step
from twofold_numpy import NumpyBackend
from twofold_numpy.jit import strided, tiering
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.jit.kernel import Machine
from twofold_numpy.jit.structure import BROADCAST, STRIDE_2, STRIDED, UNIT_STRIDE, element_strides, structure_of

from tests.backend.jit import SPECIAL, EagerBackend, chain, fresh, machine_code, offer_all, one, outputs_of, same_bits, two_threads
from tests.backend.test_jit import EXACT, by_default, random_program
from tests.backend.test_jit_rows import random_rows, row_outputs
from tests.cases import later_in_ci, spread_in_ci
from tests.core.test_slices import WINDOWS, pool, random_graph

__all__ = ["fresh", "two_threads"]


@pytest.fixture
def copied(monkeypatch):
    """The inputs that were copied."""
    found, as_kernel_input = [], tiering.as_kernel_input

    def watched(array, outputs):
        result = as_kernel_input(array, outputs)
        found.extend([array] if result is not array else [])
        return result

    monkeypatch.setattr(tiering, "as_kernel_input", watched)
    return found


@pytest.fixture(autouse=True)
def nothing_is_copied(request, monkeypatch):
    """Strided inputs are read in place, except in tests about copies."""
    monkeypatch.setattr(tiering, "SHORT", 0)
    if "copied" not in request.fixturenames:
        monkeypatch.setattr(tiering, "as_kernel_input", lambda array, outputs: pytest.fail("an input was copied"))


def relaid(draw, array):
    """The same elements as a view of a larger array: axes permuted, reversed, with gaps, or with stride 0 where possible."""
    if array.ndim and draw.random() < 0.2 and array.size and all((array == array.take([0], k)).all() for k in range(array.ndim)):
        return np.broadcast_to(array.reshape(-1)[0], array.shape)
    steps = [draw.choice([1, 1, 1, 2, 2, 3, -1, -2]) for _ in array.shape]
    order = list(range(array.ndim))
    if draw.random() < 0.5:
        draw.shuffle(order)
    sizes = [array.shape[k] * abs(steps[k]) + draw.randrange(2) for k in order]
    base = np.full(sizes, 77).astype(array.dtype)
    whole = base.transpose(np.argsort(order)) if order else base
    view = whole[tuple(slice(None, n * abs(s), abs(s)) for n, s in zip(array.shape, steps, strict=True))]
    view = view[tuple(slice(None, None, -1 if s < 0 else 1) for s in steps)]
    view[...] = array
    return view


@pytest.mark.parametrize("seed", later_in_ci(range(60), 24))
def test_random_programs_over_random_layouts_match_the_default_kernel_bitwise(seed):
    program, inputs = random_program(seed, EXACT, [*SPECIAL, 3.0, -0.25])
    want = by_default(program, inputs)
    run, draw = machine_code(program), random.Random(seed)
    for _ in range(2):
        given = [relaid(draw, a) for a in inputs]
        for g, w in zip(run(*given, *outputs_of(program)), want, strict=True):
            assert same_bits(g, w), f"seed {seed}: {program}: {[a.strides for a in given]}: {g} should be {w}"


def check_rows(seed):
    """Compare rows of strided inputs bitwise with contiguous ones."""
    program, inputs = random_rows(seed)
    run, draw = machine_code(program), random.Random(seed)
    want = run(*inputs, *row_outputs(program))
    given = [relaid(draw, a) for a in inputs]
    for g, w in zip(run(*given, *row_outputs(program)), want, strict=True):
        assert same_bits(g, w), f"seed {seed}: {program}: {[a.strides for a in given]}: {g} should be {w}"


@pytest.mark.parametrize("seed", later_in_ci(range(50), 20))
def test_rows_of_random_layouts_match_contiguous_ones_bitwise(seed):
    check_rows(seed)


@pytest.mark.parametrize("bits", [128, 256])
def test_layouts_with_shorter_vectors(bits, monkeypatch):
    monkeypatch.setattr(compiler(), "machine", Machine(bits, object.__basicsize__))
    for seed in range(12):
        check_rows(seed)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("size", spread_in_ci([1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 200], 3))
def test_every_dtype_and_length(dtype, size):
    base = np.arange(4 * size + 4).astype(dtype)
    run = machine_code(one("maximum" if dtype != "bool" else "logical_or", dtype, dtype, size=size))
    for s in (2, 3, -1, -2):
        x = base[::s][:size]
        for a, b in ((x, x), (x, base[:size]), (base[size : 2 * size], x)):
            (got,) = run(a, b, np.empty(size, dtype))
            assert same_bits(got, np.maximum(a, b))


def test_nothing_is_read_beyond_an_array():
    """Every second element up to the end of a page, after which nothing is mapped."""
    import ctypes
    import mmap

    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    whole = np.frombuffer(memory, np.float32)
    assert protect(whole.ctypes.data + page, page, 0) == 0
    try:
        x = whole[: page // 4]
        for n in (1, 5, 16, 31, 32, 33, 64, 100):
            last = x[page // 4 - 1 - 2 * (n - 1) :: 2]
            (got,) = machine_code(one("negative", "float32", size=n))(last, np.empty(n, np.float32))
            assert same_bits(got, -last)
            backwards = x[: 3 * n : 3][::-1]
            (got,) = machine_code(one("negative", "float32", size=n))(backwards, np.empty(n, np.float32))
            assert same_bits(got, -backwards)
    finally:
        assert protect(whole.ctypes.data + page, page, 3) == 0


def test_overlapping_windows():
    x = np.random.default_rng(0).normal(size=(3, 21)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, 5, 1)
    y = np.random.default_rng(1).normal(size=windows.shape).astype(np.float32)
    (got,) = machine_code(chain(windows.shape, "negative"))(windows, y, np.empty_like(y))
    assert same_bits(got, -(windows * 2 + y))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), ()])
def test_empty_and_single_element_arrays(shape):
    x, y = np.broadcast_to(np.float32(2), shape), np.ones((*shape, 2), np.float32)[..., 0]
    (got,) = machine_code(chain(shape, "negative"))(x, y, np.empty(shape, np.float32))
    assert same_bits(got, np.full(shape, -5, np.float32))


@pytest.mark.parametrize("shape", [(300, 257), (64, 64), (2, 1000), (1000, 3)])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("two_threads")
def test_transposed_inputs_are_read_in_blocks_by_both_threads(shape, threads, monkeypatch):
    monkeypatch.setattr(SETTINGS, "threads", threads)
    x, y = np.random.default_rng(0).normal(size=shape[::-1]).astype(np.float32).T, np.ones(shape, np.float32)
    run, before = machine_code(chain(shape, "negative")), HAND_OFFS.count
    for columns in (1, 7, 64):
        monkeypatch.setattr(strided, "COLUMNS", columns)
        offer_all()
        (got,) = run(x, y, np.empty(shape, np.float32))
        assert same_bits(got, -(x * 2 + y))
    assert HAND_OFFS.count - before == (3 if threads == 2 else 0)


def structure_for(program, *arrays):
    """The structure of a program over arrays."""
    return structure_of(program, [element_strides(a) for a in arrays])[0]


def test_one_compiled_source_serves_all_layouts_of_a_kind():
    a, b = np.zeros((40, 60), np.float32), np.zeros((90, 20), np.float32)
    small, large = chain((20, 30), "negative"), chain((45, 4), "negative")
    for one_, other in [
        ((a[::2, ::2], a[:20, :30]), (b[::2, ::5][:, ::2][:, :4], b[:45, :4])),
        ((a[1::2, ::2], a[:20, :30]), (b[::2, :8:2], b[45:, 2:6])),
        ((a[:20, ::-2], a[:20, 5:35]), (b[:45, :12:3], b[45:, :4])),
    ]:
        found = structure_for(small, *one_)
        assert found.row_strides in ((STRIDE_2, UNIT_STRIDE), (STRIDED, UNIT_STRIDE))
        if found.row_strides == (STRIDED, UNIT_STRIDE):
            assert found == structure_for(large, b[:45, :12:3], other[1])
    assert structure_for(small, a[::2, ::2], a[:20, :30]) == structure_for(large, b[::2, :8:2], b[45:, 2:6])
    row = np.zeros((20, 1), np.float32)
    program = chain((20, 30), "negative")._replace(inputs=(ArrayType((20, 30), "float32"), ArrayType((20, 1), "float32")))
    assert structure_for(program, a[:20, :30], row).row_strides == (UNIT_STRIDE, BROADCAST)


def test_adjacent_contiguous_axes_merge():
    x = np.zeros((4, 5, 6, 7), np.float32)
    structure, layout = structure_of(chain((4, 5, 3, 7), "negative"), [element_strides(x[:, :, ::2]), element_strides(x[:, :, :3])])
    assert layout.space == (20, 3, 7)
    assert structure.row_strides == (UNIT_STRIDE, UNIT_STRIDE)
    assert layout.strides == ((42, 14, 1), (42, 7, 1), (21, 7, 1))


# which arrays are taken


def test_earlier_layouts_are_found_again():
    base = np.random.default_rng(0).normal(size=(2, 12, 12)).astype(np.float32)
    kernel, y = EagerBackend().compile(chain((6, 6), "negative")), np.ones((6, 6), np.float32)
    for _ in range(2):
        for x in (base[0, :6, :6], base[1, ::2, ::2], base[0, :6, :6].T, y, base[0, 6:, :6]):
            out = np.empty_like(y)
            kernel(x, y, out)
            assert same_bits(out, -(x * 2 + y))
    assert tiering.Stats.compiled == 4  # contiguous, rows, every second element, and widely spaced
    assert len(kernel._variants) == 4


def test_the_number_of_kept_layouts_is_bounded(monkeypatch):
    monkeypatch.setattr(tiering, "MAX_VARIANTS", 3)
    kernel, base = EagerBackend().compile(chain((4,), "negative")), np.arange(100, dtype=np.float32)
    for s in range(1, 20):
        out = np.empty(4, np.float32)
        kernel(base[::s][:4], base[:4], out)
        assert same_bits(out, -(base[::s][:4] * 2 + base[:4]))
        assert len(kernel._variants) <= 3


@pytest.mark.parametrize("over", ["second", "behind", "before"])
def test_an_input_that_overlaps_the_output_is_copied_first(copied, over):
    memory = np.arange(64, dtype=np.float32)
    out = memory[16:32]
    x = {"second": memory[16:48:2], "behind": memory[17:33], "before": memory[4:28:2]}[over]
    out, y = out[: x.size], np.ones(2 * x.size, np.float32)[::2]
    size = x.size
    want = -(x * 2 + y)
    (got,) = machine_code(chain((size,), "negative"))(x, y, out)
    assert same_bits(got, want)
    assert copied[0] is x


def test_a_transposed_input_that_is_also_the_output(copied):
    memory = np.random.default_rng(0).normal(size=(33, 33)).astype(np.float32)
    want = -(memory.T * 2 + memory)
    machine_code(chain((33, 33), "negative"))(memory.T, memory, memory)
    assert same_bits(memory, want)


def test_an_output_over_an_input_of_equal_layout_needs_no_copy():
    x, y = np.arange(10, dtype=np.float32), np.arange(20, dtype=np.float32)[::2]
    want = -(x * 2 + y)
    machine_code(chain((10,), "negative"))(x, y, x)
    assert same_bits(x, want)


@pytest.mark.parametrize("other", [np.float64, np.int32, ">f4", np.float16])
@pytest.mark.parametrize("every", [1, 2])
def test_an_input_of_another_dtype_is_not_reinterpreted(copied, other, every):
    """Not even one of the same size: the default kernel computes with what it is given."""
    x = (np.arange(14) - 3).astype(other)[:: 2 // every][:7]
    good = np.arange(14, dtype=np.float32)[::every][:7]
    kernel, out = EagerBackend().compile(chain((7,), "negative")), np.empty(7, np.float32)
    kernel(good, good, out)
    kernel(x, good, out)
    np.testing.assert_array_equal(out, -(x.astype(np.float32) * 2 + good))
    kernel(good, good, out)
    assert same_bits(out, -(good * 2 + good))


def test_equal_dtype_objects_share_a_kernel(monkeypatch):
    x = pickle.loads(pickle.dumps(np.arange(7, dtype=np.float32)))
    assert x.dtype is not np.dtype(np.float32)
    run, out = machine_code(chain((7,), "negative")), np.empty(7, np.float32)
    run(x, x, out)
    monkeypatch.setattr(tiering._JitKernel, "_dispatch", None)
    run(x, x, out)
    assert same_bits(out, -(x * 2 + x))


def test_unaligned_inputs_are_copied(copied):
    memory = np.zeros(4 * 9, np.uint8)
    x = memory[1:-3].view(np.float32)[:7]
    x[...] = range(7)
    y = np.arange(14, dtype=np.float32)[::2]
    for other in (x, y):
        (got,) = machine_code(chain((7,), "negative"))(x, other, np.empty(7, np.float32))
        assert same_bits(got, -(x * 2 + other))


def test_a_strided_output_uses_the_default_kernel(copied):
    out = np.zeros((4, 8), np.float32)
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    for a in (x, x.T):
        kernel = EagerBackend().compile(chain((4, 4), "negative"))
        kernel(a, x, out[:, ::2])
        assert same_bits(out[:, ::2], -(a * 2 + x))


def test_a_structure_too_long_over_strided_inputs_copies_them(copied, monkeypatch):
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    kernel_ir = tiering.kernel_ir

    def only_packed(structure, machine):
        if structure.row_strides:
            raise tiering.Unsupported("too long")
        return kernel_ir(structure, machine)

    monkeypatch.setattr(tiering, "kernel_ir", only_packed)
    kernel, out = EagerBackend().compile(chain((4, 4), "negative")), np.empty((4, 4), np.float32)
    monkeypatch.setattr(tiering, "compile_kernel", None)
    for a in (x.T, x, x.T):
        kernel(a, x, out)
        assert same_bits(out, -(a * 2 + x))
    assert (tiering.Stats.refused, tiering.Stats.compiled) == (1, 1)


def test_short_rows_of_costly_steps_are_copied(copied, monkeypatch):
    monkeypatch.setattr(tiering, "SHORT", 8)
    base = np.linspace(-1, 1, 80, dtype=np.float32).reshape(10, 8)
    for op, n, count in (("exp", 7, 1), ("exp", 8, 0), ("negative", 7, 0)):
        x = base[:, ::-1][:, :n]
        run, y = machine_code(chain((10, n), op)), np.ones((10, n), np.float32)
        (got,) = run(x, y, np.empty((10, n), np.float32))
        np.testing.assert_allclose(got, getattr(np, op)(x * 2 + 1), 1e-6)
        assert len(copied) == count
        copied.clear()


def test_uses_are_counted_for_each_layout():
    kernel, x = NumpyBackend().compile(chain((4, 4))), np.ones((4, 4), np.float32)
    for a in (x, x[:, ::-1], x, x[:, ::-1]):
        kernel(a, x, np.empty_like(x))
    assert tiering.Stats.compiled == 2


@pytest.mark.usefixtures("two_threads")
def test_halves_of_rows_of_strided_inputs():
    for seed in range(8):
        check_rows(seed)


def test_row_program_of_a_transposed_input():
    x = np.random.default_rng(0).normal(size=(130, 9)).astype(np.float32).T
    total = step("sum", Ref("in", 0), axis=-1, keepdims=True)._replace(row=True)
    program = RowProgram("sums", x.shape, (ArrayType(x.shape, "float32"),), (total,), (0,))
    (got,) = machine_code(program)(x, np.empty((9, 1), np.float32))
    assert same_bits(got, np.add.reduce(np.ascontiguousarray(x), -1, keepdims=True))


@pytest.mark.parametrize("every", [1, 2])
def test_an_array_of_another_shape_raises_as_in_the_default_kernel(copied, every):
    y = np.ones((6, 8), np.float32)[:, ::every]
    kernel, out = EagerBackend().compile(chain(y.shape, "negative")), np.empty(y.shape, np.float32)
    kernel(y, y, out)
    for wrong in (y[:5], y[:, :3]):
        with pytest.raises(ValueError, match=r"broadcast|reshape"):
            kernel(wrong, y, out)


# programs


# the maximum of two elements is one operation, and so no kernel
@pytest.mark.parametrize(("kernel", "stride", "pad", "kind"), [(*WINDOWS[0], "max"), (*WINDOWS[0], "avg"), (*WINDOWS[3], "avg")])
def test_pooling_of_windows_that_do_not_overlap_is_one_compiled_kernel(kernel, stride, pad, kind, monkeypatch):
    shape = (2, 5, 24, 70)[: len(kernel) + 2]
    x, found = leaf("x", shape, "float32"), np.random.default_rng(0).normal(size=shape).astype(np.float32)
    monkeypatch.setattr(SETTINGS, "jit", False)
    (want,) = Program([pool(x, kernel, stride, pad, kind)], [x], NumpyBackend()).run([found])
    monkeypatch.setattr(SETTINGS, "jit", True)
    program = Program([pool(x, kernel, stride, pad, kind)], [x], NumpyBackend())
    for _ in range(3):
        assert same_bits(program.run([found])[0], want)
    assert len(program.kernels) == tiering.Stats.compiled == 1
    assert not {"maximum", "add"} & {line.strip() for line in program.explain().splitlines()}


@pytest.mark.parametrize("seed", range(40))
def test_programs_of_views_match_the_default_path_bitwise(seed, monkeypatch):
    outputs, leaves, arrays = random_graph(seed)
    monkeypatch.setattr(SETTINGS, "jit", False)
    want = Program(outputs, leaves, NumpyBackend()).run(list(arrays))
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(SETTINGS, "jit_eager", True)
    for got, w in zip(Program(outputs, leaves, NumpyBackend()).run(list(arrays)), want, strict=True):
        assert same_bits(got, w)
    assert tiering.Stats.refused == 0


def test_deferred_operations_read_views_without_copying():
    import twofold as mx

    x, y = (mx.nd.array(np.random.default_rng(k).normal(size=(300, 250))) for k in range(2))
    for _ in range(3):
        result = (-(x.T * 2.5) + y.T * y.T).asnumpy()
    host = [a.asnumpy() for a in (x, y)]
    assert same_bits(result, -(host[0].T * np.float32(2.5)) + host[1].T * host[1].T)
    assert tiering.Stats.compiled == 1
