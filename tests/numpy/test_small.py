"""What small operations cost, as counts of Python frames, and that what is cut from a large array is not deferred."""

import copy
import json
import math
import pickle
import tracemalloc

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import np
from twofold.device import ENTERED
from twofold.imperative.counters import COUNTERS
from twofold.imperative.invoke import data_of
from twofold.numpy.array import ndarray, ndarrayElement

from tests import probe
from tests.statements import frames_of, run_in


def names(np, n=10):
    return {
        "np": np,
        "numpy": numpy,
        "x": np.arange(n) * 0.5,
        "y": np.ones(n),
        "A": np.ones((10, 20)),
        "B": np.zeros((300, 300)),
        "I": np.array([1, 2, 0]),
        "r": np.zeros(20),
    }


#: Statements, and how many Python functions each enters.
FRAMES = {
    "x[5]": 1, "A[3, 4]": 1, "B[3, 4]": 1, "x[-1]": 1,
    "x[None]": 1, "x[:, None]": 1, "A[None, 3, :5]": 1, "A[:, None, 2]": 1, "A[0, 0, None]": 1, "x[[1, -2]]": 1, "A[[0, 2]]": 1, "A[[]]": 1,
    "x[[True, False] * 5]": 1, "x[[1, 2]] = 3.0": 1, "x[[0, 4]] += y[:2]": None, "A * x[:, None]": 2, "x[:, None][1:3]": 2,
    "x[1:9]": 1, "A[3, :9]": 1, "A[3]": 1, "B[3, :9]": 1, "x[1:9][2:4]": 2,
    "x[:5] + x[1:6]": 3, "x[1] * 2.0 + y[3]": 4, "x[1] < y[3]": 3, "x * y[3]": 2,
    "x + y": 1, "x * 2.0": 1, "x ** 2": 1, "2 ** x": 1, "x **= 2": None, "x += y": 1, "x > 0.5": 1, "-x": 1, "x @ y": 2, "A.T @ A": None,
    "x[3] = 1.5": 1, "x[2:6] = 0.0": 1, "x[3] = y[2]": 2, "x[1:9] = y[1:9]": 2, "A[3, 4] = 2.0": 1,
    "B[3, 4] = 2.0": 1, "B[3, :9] = y[:9]": 2,
    "x[x > 0.5]": 2, "float(x[5])": 2, "bool(x[5])": 2, "hash(x[5])": 2, "list(x)": 15, "f'{x[5]:.3f}'": 2,
    "x.reshape(2, 5)": 1, "np.sqrt(x)": 1, "np.sqrt(0.5)": 1, "np.maximum(x, y)": 1, "np.maximum(x, 2)": 1, "np.sqrt(x[5])": 2,
    "x.sum()": 1, "x.sum(axis=0)": 1, "A.max(axis=0)": 1, "A.sum(1)": 1, "x[1:9].sum()": 2, "A[:, 1].max()": 2, "np.sum(A, axis=0)": 1,
    "A.sum(1, keepdims=True)": 1,
    "A.max(keepdims=True)": 1, "A.mean(0)": 3, "x.std()": None, "x.argmin()": 1, "np.argmin(x)": 1, "x.any()": 1, "(x > 1).all()": 2,
    "x.cumsum()": 1, "np.cumsum(A, 1)": 1, "np.cumprod(x[1:])": 2, "A.prod(axis=-1)": 1, "np.any(A)": 1,
    "np.zeros(10)": 1, "np.zeros((3, 4), 'int8')": 1, "np.ones((2, 3))": 3, "np.full(3, 2.0)": 3, "np.eye(3)": 2, "np.arange(5)": 1,
    "np.array([1.0, 2.0])": 1, "np.array([[1, 2], [3, 4]])": 1, "np.array([1, 2], 'float32')": 1, "np.array([])": 1, "np.array(x)": 1,
    "np.asarray(x)": 1, "np.asarray([True, False])": 1, "np.array((1, 2.5))": 1,
    "x.copy()": 1, "A.flatten()": 1, "x.astype('float32')": 1, "np.where(x > 2, x, y)": 2, "np.clip(x, 0.5, 2.0)": 4, "np.dot(x, y)": 1,
    "np.concatenate([x, y])": 1, "np.concatenate((A, A), axis=1)": 1, "np.concatenate([x[1:], y[:3]])": 3, "np.stack([x, y])": 6,
    "np.stack([x, y], 1)": 6, "np.vstack([x, y])": 5, "np.hstack([x, y])": 5, "np.column_stack([x, y])": 3, "np.dstack([x, y])": 5,
    "np.outer(x, y)": 1, "np.roll(x, 1)": None, "np.cross(x[:3], y[:3])": None, "np.linalg.det(A[:9, :9])": None, "np.fft.fft(x)": None,
    "numpy.sin(x[5])": None, "numpy.float64(2.0) * x[5]": None, "numpy.hypot(x[5], 2.0)": None,
    "np.argsort(x)": None,
    "np.array([[x[1], 2], [y[0], x[3]]])": None, "np.array([x[1], A[0, 0]])": 3, "np.array([x[1], 2])": 3, "round(x[3], 1)": 3,
    "x.fill(2.0)": 1,
    "np.linalg.solve(A[:3, :3] + np.eye(3), x[:3])": None, "np.einsum('i,i', x, y)": 5, "np.einsum('ij->ji', A)[1]": None,
    "np.array([A[0], A[1]])": 3, "np.array([x, y])": 1, "np.asarray([x, y], 'float32')": 1, "np.reciprocal(y)": 1,
    "np.modf(x)[0]": 7, "np.bitwise_xor.reduce(I)": 1, "1j * x": 1, "x + 2j": 1, "A[:3, :3].diagonal()": None,
    # elements and arrays as indices
    "A[I[1], I[2]]": 3, "A[:, I[1]]": 2, "A[I[0], 2:]": 2, "A[I[1], 3] = 2.0": 2, "x[[I[0], 2]]": 3, "A[[I[1], 0]] = A[[0, I[1]]]": 6,
    "A[range(3), I]": 2, "A[I, 1]": 2, "A[x > 1, 2]": 3, "A[I, [1, 2, 3]] = y[:3]": 3, "A[I, None]": 2, "A[I, 1:3]": 2, "A[None, :, I]": 2,
    "A[I[:2], 1]": None,
    # views as operands
    "x[1:] - x[:-1]": 3, "x[::2] * y[::2]": 3, "A[:, 3] / A[:, 4]": 3, "-x[::2]": 2, "x[2] * A[3]": 3, "A[3] + x[2]": 3,
    "A[1:3] + A[:2]": 3,
    "B[3, 1:9] + B[4, :8]": 3, "A.T + 1.0": 2, "A[2, ::3] > 0.5": 2, "np.exp(x[1:3])": 2, "np.hypot(x[1:3], y[:2])": 3, "A.T / A.T": 3,
    "x[1:4] += y[:3]": 4, "A[3, 1:] -= x[2] * A[4, 1:]": 6, "B[3, 1:] -= x[2] * B[4, 1:]": 6, "A[:, 1] *= 2.0": 3, "A.T[1] += x": 4,
    "x[:4] @ y[:4]": 4, "A[:, :10] @ x": 3, "x @ A[:, 3]": 3, "A[:3, :4] @ A[:4, :3]": 4, "A @ A.T": 3, "A[:, :10].T @ x": None,
    "np.dot(x[:4], y[:4])": 5, "np.dot(A[:, :4], y[:4])": 5, "np.linalg.norm(x)": 1, "np.linalg.norm(A[:, 2])": 2, "np.linalg.norm(A)": 1,
    "np.zeros_like(x)": 1, "np.ones_like(A[:, 2])": 4, "np.empty_like(x).shape": 2, "np.zeros_like(A, 'int8')": 1, "x[2:].copy()": 2,
    "A[:, 1:3].copy()": 2, "A.T.flatten()": 2,
    # results go to small arrays that are given for them
    "np.add(x, y, out=y)": 1, "np.sqrt(x, out=y)": 1, "np.multiply(x, 2.0, out=x)": 1, "np.sum(A, axis=0, out=r)": 1, "A.max(1, out=x)": 1,
    "A.mean(1, out=x)": None, "x.sort()": None, "np.add(x[:3], 1, out=y[:3])": None,
    "A.T @ x": 3, "y @ A": 2, "B.T.sum(0)": None, "B.T.sum(0)[:3]": None,
    "A.T.reshape(-1)": 2, "A.T.reshape(4, -1)": 2, "B.T.reshape(-1)": 3, "A[:, ::2].reshape(5, 20)": 2,
    "np.outer(x[:3], A[0])": 3, "len(x[2:])": 2, "[*x[:2]]": 6, "sum(x[:2])": None,
    "np.reshape(A, (20, 10))": None, "np.split(x, 2)[1]": None, "np.nonzero(x > 1)[0]": None, "np.atleast_2d(x)": None,
    "np.inner(x, y)": 6, "np.inner(A, A)": None, "np.tensordot(A, A.T, 1)": None, "np.tensordot(B[:9, :9], A[:9], ([1], [0]))[0]": None,
    "np.exp2(x)": 1, "np.degrees(A)": 1, "np.radians(x[1:])": 2, "np.logaddexp(x, y)": 1, "np.logaddexp2(x, 1)": 1,
    "np.float_power(x, 2)": 1, "np.diag([1.0, 2.0], 1)": 2, "np.divmod(x, 0.7)[1]": 7,
    "np.fabs(x)": 1, "np.fmax(x, y)": 1, "np.fmin(A, x[:, None])": 2, "np.heaviside(x - 2, 0.5)": 2, "x.searchsorted(1.2)": 1,
    "np.add.reduceat(x, [0, 4])": None, "x.argpartition(3)": None, "np.array([*x.strides, *A.strides, *A.flat[3:5]])": None,
    "np.array([x.flags.owndata, A.flags.c_contiguous, A[:, 1].flags.f_contiguous, A.T.flags.c_contiguous])[1:]": None, "np.positive(x)": 1,
    "np.shape(A)": 2, "np.size(A)": 1, "np.ndim(A)": 1, "np.size(A, 1)": None, "np.add.reduce(x)": 2,
    "np.minimum.reduce(A, axis=1)": 2, "np.multiply.reduce(A, 0)": 2, "np.add.reduce(A, (0, 1))": 2, "A.sum((0, 1))": 1, "A.max((0,))": 1,
    "np.copyto(x, y)": 2, "np.copyto(A, x[1:2])": 3, "np.copyto(x[:3], y[:3])": 4, "np.where(x > 1)[0]": 3, "x.nonzero()[0]": 1,
    "np.where(A > 0, A, 0.0)": 2, "np.where(x > 1, x[1], y[2])": 4, "A.nonzero()[1]": 1, "np.where(x > 1, 2, 0)": 2,
    "np.diag(x)": 2, "np.diag(x, -1)": 2, "np.diag(A)[1:]": None, "np.diag(B, 2)": None, "A.transpose()": 3, "A.transpose(1, 0)": 5,
    "A.transpose([1, 0])[1:]": None, "A.transpose([numpy.array(1), numpy.array(0)])[2]": None, "A.swapaxes(numpy.array(1), 0)[3]": None,
    "A.swapaxes(0, -1)": 5, "A[None].transpose(1, 0, 2)": None, "A[None].squeeze()": 4,
    "A[:, None].squeeze(1)": None, "x.sort(0)": 1, "np.put(x, [1, 2], [3.0, 4.0])": 2, "np.putmask(x, x > 2, 0.0)": 2,
    "np.place(x, x > 3, [1.0, 2.0])": None, "np.fill_diagonal(A, 5.0)": None, "np.put(x[2:], 1, 9.0)": None, "x[...] = 2.0": 1,
    "x[...] = y": 1, "A[..., 1]": None, "A[..., 1:3] *= 2.0": None, "A[...][2]": None, "np.array_equal(x, y)": None, "np.eye(3, 2)": None,
    "np.linspace(0, 1, 5)": None, "np.arange(1.5, 4)": 1, "np.arange(5, 0, -2)": 1, "np.identity(3)": None, "np.eye(2, k=1)": None,
    "np.add.outer(x, y)": None, "np.einsum('ij,jk', A, A.T)": None, "np.einsum('i,j->ij', x, y)": None, "np.einsum('ii', B)": None,
    "np.einsum('ij,j->i', A[:, 1:], A[0, 1:])": None, "np.einsum('...,...', x, y)": None, "np.einsum('i,i,i->i', x, y, x)": None,
    "np.nan_to_num(x, False)": None, "np.ascontiguousarray(A.T)": 2, "np.ascontiguousarray(x)": 1, "np.squeeze(A[:1])": None,
}  # fmt: skip


@pytest.mark.parametrize("text", [t for t, n in FRAMES.items() if n is not None])
def test_a_small_operation_enters_few_functions(text):
    assert frames_of(text, names(np)) <= FRAMES[text]


@pytest.mark.parametrize("text", FRAMES)
def test_a_small_operation_gives_what_numpy_gives(text):
    own, theirs = names(np), names(numpy)
    run_in(text, own, theirs)
    for name in "rxyAB":
        if theirs[name] is not None:
            found, want = numpy.asarray(own[name]), numpy.asarray(theirs[name])
            # GPUs have CUDA's functions, which are right to 2 units in the last place
            if want.dtype.kind == "f" and not mx.current_context().is_host:
                numpy.testing.assert_allclose(found, want, rtol=2 * numpy.finfo(want.dtype).eps)
            else:
                numpy.testing.assert_array_equal(found, want)
            assert found.dtype == want.dtype


#: Draws, which are compared from equal seeds.
DRAWS = ("rand()", "rand(3)", "randn(2, 3)", "randint(0, 9)", "normal(0.0, 2.0, (2, 2))", "uniform(size=4)")


@pytest.mark.parametrize("text", DRAWS)
def test_a_small_draw_enters_one_function_and_gives_what_numpy_gives(text):
    found = []
    for module in (np, numpy):
        draw = eval(f"lambda: random.{text}", {"random": module.random})
        draw()
        module.random.seed(3)
        found.append(draw())
    numpy.testing.assert_array_equal(numpy.asarray(found[0]), found[1])
    assert frames(eval(f"lambda: random.{text}", {"random": np.random})) == 1


def test_what_short_calls_cannot_do_goes_the_general_way():
    x = np.arange(4.0)
    x.attach_grad()
    with mx.autograd.record():
        y = np.array([1.0, 2.0]).sum() * np.concatenate([x, x]).sum() + np.array([x[1], x[2]]).sum()
    y.backward()
    assert x.grad.tolist() == [6, 7, 7, 6]
    with pytest.raises(ValueError, match="pass"):
        np.concatenate([])
    with pytest.raises(ValueError, match="zero-size"):
        np.zeros(0).max()
    assert np.sum([1, 2, 3], 0) == 6
    out = np.zeros(20)
    assert np.ones((10, 20)).sum(axis=0, out=out) is out
    assert out.tolist() == [10] * 20
    assert np.array([2**70]).dtype == object
    assert isinstance(np.array(["a"]), numpy.ndarray)
    assert [np.ones(3, "bfloat16").sum().dtype, np.concatenate([np.ones(3, "bfloat16")]).dtype] == [np.ones(1, "bfloat16").dtype] * 2


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_results_of_reductions_are_in_row_major_order(axis):
    x = np.arange(24.0).reshape(2, 3, 4).copy()
    for name in ("sum", "max", "mean", "argmax", "any", "cumsum"):
        content = probe.content(getattr(x, name)(axis=axis))
        assert data_of(content).flags.c_contiguous, name


def test_a_function_may_write_to_one_of_its_arguments():
    x = np.arange(4.0)
    assert np.cumsum(x, 0, None, x) is x
    assert x.tolist() == [0, 1, 3, 6]
    columns = np.ones((3, 2))
    np.cumsum(columns[:, 0], 0, None, columns[:, 1])  # a view that has to be copied to be read
    assert columns.tolist() == [[1, 1], [1, 2], [1, 3]]
    large = np.ones(100_000)
    shared = large[:3]
    result = large * 2.0  # is still to read the memory
    np.cumsum(shared, 0, None, shared)
    assert large[:4].tolist() == [1, 2, 3, 1]
    assert result[:4].tolist() == [2, 2, 2, 2]


def test_a_small_result_of_a_program_becomes_plain_when_it_is_an_operand():
    large = np.ones(100_000)
    total = (large + 1.0)[:8].sum() + 0.0 * (large * 2.0).sum()  # pending
    bias, x = np.ones(3) * total, np.arange(3.0)
    total.wait_to_read()
    assert frames_of("total * x[1]; x + bias", {"x": x, "total": total, "bias": bias}) <= 6
    assert (x[1] * total).item() == 16.0
    kept = total.as_nd_ndarray()
    assert frames_of("total * x[1]", {"x": x, "total": total}) <= 4
    kept[:] = 5.0
    assert total.item() == 5.0


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_part_of_a_large_matrix_is_multiplied_by_a_vector_where_it_lies(dtype):
    matrix = (np.arange(250_000.0).reshape(500, 500) / 3).astype(dtype).copy()
    vector = (np.arange(200.0) / 7).astype(dtype)
    matrix.wait_to_read()
    before = COUNTERS.deferred
    found = [matrix[100:, :200] @ vector, vector @ matrix[300:, 1:400], np.dot(matrix[100:, :200], vector)]
    assert COUNTERS.deferred == before
    copies = [matrix[100:, :200].copy() @ vector, vector @ matrix[300:, 1:400].copy()]
    for one, other in zip(found, [*copies, copies[0]], strict=True):
        assert numpy.asarray(one).tobytes() == numpy.asarray(other).tobytes()


@pytest.mark.parametrize("text", ["~m", "m & n", "m ^ True", "np.logical_not(m)", "np.logical_and(m, n)"])
def test_large_masks_that_are_read_at_once_stop_waiting(text):
    env = {"np": np, "m": np.arange(100_000) % 3 == 0, "n": np.arange(100_000) % 2 == 0}
    code = compile(f"({text}).wait_to_read()", "<text>", "exec")
    for _ in range(8):
        exec(code, env)
    before = COUNTERS.deferred
    for _ in range(8):
        exec(code, env)
    assert COUNTERS.deferred == before
    expected = eval(text, {"np": numpy, "m": numpy.arange(100_000) % 3 == 0, "n": numpy.arange(100_000) % 2 == 0})
    numpy.testing.assert_array_equal(numpy.asarray(eval(text, env)), expected)


def test_a_flat_copy_of_a_transposed_variable_is_recorded():
    x = np.arange(6.0).reshape(2, 3).copy()
    x.attach_grad()
    with mx.autograd.record():
        y = (x.T.reshape(-1) * np.arange(6.0)).sum()
    y.backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]


def test_indices_of_elements_and_arrays_select_as_numpys():
    rng = numpy.random.default_rng(3)

    def item(size):
        k = int(rng.integers(-size, size))
        parts = [
            k,
            slice(None, k),
            numpy.array([0, k])[1],
            [0, k],
            range(size // 2),
            numpy.array([0, k]),
            numpy.arange(size) % 2 == 0,
            None,
        ]
        return parts[rng.integers(len(parts))]

    compared = 0
    for _ in range(600):
        theirs = numpy.arange(120.0).reshape(4, 5, 6)[:: rng.integers(1, 3)]
        own = np.array(theirs)[:]
        key = tuple(item(size) for size in theirs.shape[: rng.integers(1, 4)])
        ours = tuple(np.array(k) if isinstance(k, numpy.ndarray) else np.array([k])[0] if isinstance(k, numpy.integer) else k for k in key)
        try:
            expected = theirs[key]
        except IndexError:
            with pytest.raises(IndexError):
                own[ours]
            continue
        found = own[ours]
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)
        shares = numpy.shares_memory(expected, theirs)
        if expected.ndim and expected.size:
            found[...] = -1.0
            assert bool((own == -1.0).any()) == shares
        own[ours], theirs[key] = 7.0, 7.0
        if not shares:
            numpy.testing.assert_array_equal(numpy.asarray(own), theirs)
        compared += 1
    assert compared > 300


def test_results_of_short_calls_own_their_memory():
    x = np.arange(4.0)
    for other in (np.array(x), np.nan_to_num(x), np.atleast_1d(x.copy()), np.flip(x).copy(), x.astype("float64"), np.roll(x, 0)):
        other[:] = 9.0
        assert x.tolist() == [0, 1, 2, 3]


def test_views_that_functions_return_write_to_their_array():
    x = np.arange(4.0)
    for view in (np.flip(x), np.reshape(x, (2, 2)), np.split(x, 2)[0], np.transpose(x), np.squeeze(x), np.ravel(x)):
        for _ in range(2):
            view[...] = view + 1
    assert x.tolist() == [12, 13, 12, 13]


def test_results_are_on_the_current_device_if_there_are_no_operands():
    with mx.cpu(1):
        made = [np.zeros(3), np.array([1.0]), np.sqrt(0.5), np.maximum(1, 2), np.random.rand(2), np.linspace(0, 1, 3)]
    assert [a.context for a in made] == [mx.cpu(1)] * len(made)


@pytest.mark.parametrize("np_", [np, mx.nd], ids=["np", "nd"])
def test_elements_and_small_slices_of_a_large_array_are_read_and_written_at_once(np_):
    x = np_.zeros(100_000)
    COUNTERS.reset()
    for i in range(1, 50):
        x[i] = 0.5 * x[i - 1] + 1
        x[i + 50 : i + 60] = x[i : i + 10] * 2
    assert COUNTERS.deferred == COUNTERS.windows == COUNTERS.copied == 0
    assert float(x[49]) == pytest.approx(2 - 0.5**48)


def test_small_parts_of_a_large_array_are_updated_in_place():
    A = np.ones((300, 300))
    expected = numpy.ones((300, 300))
    COUNTERS.reset()
    for M in (A, expected):
        for i in range(1, 20):
            M[i, i:] -= 0.5 * M[i - 1, i:]
            M[i:, i] *= 2.0
            M[i : i + 2] += M[i - 1 : i + 1]
    assert COUNTERS.deferred == COUNTERS.windows == COUNTERS.copied == 0
    numpy.testing.assert_array_equal(A.asnumpy(), expected)


def test_an_update_in_place_of_a_part_leaves_what_was_computed_before():
    A = np.ones((300, 300))
    doubled = A * 2.0
    A[3, 2:5] += 1.0
    assert doubled[3, 1:6].tolist() == [2] * 5
    assert A[3, 1:6].tolist() == [1, 2, 2, 2, 1]


def test_a_view_sees_what_is_written_to_its_base_after_the_base_has_got_another_content():
    x = np.arange(6.0)
    view = x[2:5]
    inner = view[1:]
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        x[3] = 7.0  # recorded: the base gets a new content
    assert view.tolist() == [2, 7, 4]
    assert inner.tolist() == [7, 4]
    assert y.tolist() == [0, 2, 4, 6, 8, 10]


def test_a_view_with_a_new_axis_writes_to_the_base_and_gives_it_a_gradient():
    x = np.arange(4.0)
    column = x[1:, None]
    column[0] = 7.0
    x[None][0, 3] = 9.0
    assert x.tolist() == [0, 7, 2, 9]
    assert (column.shape, column.base is x) == ((3, 1), True)
    x.attach_grad()
    with mx.autograd.record():
        (x[:, None] * x[None] + x[[0, 0, 1]].sum()).sum().backward()
    assert x.grad.tolist() == [36 + 32, 36 + 16, 36, 36]


def test_a_view_of_a_view_writes_to_the_base():
    x = np.zeros((4, 5))
    x[1:3][0][2:4] = 1.0
    x[1:3][1, 0] = 2.0
    assert x[1:3].tolist() == [[0, 0, 1, 1, 0], [2, 0, 0, 0, 0]]


def test_a_slice_made_outside_of_record_gives_its_base_a_gradient():
    x = np.arange(6.0)
    view = x[1:3]
    x.attach_grad()
    with mx.autograd.record():
        (view * view).sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 0, 0, 0]


def test_a_total_is_an_array_where_more_than_its_value_is_asked_for():
    x = np.arange(3.0)
    total = x[2:].sum()
    assert isinstance(total, np.ndarray)
    total[...] = 5.0
    assert (total.item(), x.tolist()) == (5.0, [0, 1, 2])
    variable = x[:2].sum()
    variable.attach_grad()
    with mx.autograd.record():
        (variable * 3.0).backward()
    assert variable.grad.item() == 3.0


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "complex128"])
def test_a_single_element_is_numpys_scalar(dtype):
    x, host = np.ones((2, 3), dtype=dtype), numpy.ones((2, 3), dtype=dtype)
    vector = x[1]
    for found in (x[1, 2], x[1][2], vector[-1], vector[np.array([1])[0]], *vector, *vector[::-1], *np.ones(2, dtype=dtype), x[0][()][0]):
        assert type(found) is type(host[1, 2])
    assert type(np.ones(2, dtype="bfloat16")[0]) is not type(host[1, 2])


def test_an_element_that_needs_a_gradient_or_a_device_is_an_array():
    x = np.arange(3.0)
    x.attach_grad()
    with mx.autograd.record():
        (x[2] * x[1] * numpy.float64(2.0) + numpy.float64(3.0) * x[1]).backward()
    assert x.grad.tolist() == [0, 7, 2]
    assert type(x[2]) is numpy.float64
    with mx.cpu(1):
        assert isinstance(np.arange(3.0)[2], np.ndarray)


def test_elements_combine_with_arrays_from_both_sides():
    x, host = np.arange(4.0), numpy.arange(4.0)
    large, large_host = np.arange(100_000.0), numpy.arange(100_000.0)
    for text in (
        "{e} * {x}",
        "{x} - {e}",
        "{e} / ({x} + 1)",
        "{x} ** {e}",
        "{e} < {x}",
        "{e} - {x}.sum()",
        "{x}.sum() - {e}",
        "{e} // ({x} + 1)",
    ):
        for a, b in ((x, host), (x[1:], host[1:]), (large, large_host)):
            found, expected = (eval(text.format(e="e", x="x"), {"e": v[2], "x": v}) for v in (a, b))
            assert isinstance(found, np.ndarray)
            numpy.testing.assert_array_equal(found.asnumpy(), expected)
    x[1] = x[3]
    x[1:3] *= x[3]
    assert x.tolist() == [0, 9, 6, 3]


def test_iteration_sees_what_is_written_meanwhile():
    x = np.zeros(4)
    large = np.ones((100_000, 4))
    seen = []
    for k, v in enumerate(x):
        seen.append(float(v))
        if k == 0:
            x[1] = 5.0
        elif k == 1:
            pending = large * x  # is to read the elements as they are now
            x[2] = 6.0
        else:
            x += 1.0
    assert seen == [0, 5, 6, 1]
    assert pending[0].tolist() == [0, 5, 0, 0]


def test_iteration_is_recorded_from_where_recording_begins():
    x = np.arange(3.0)
    total = 0.0
    with mx.autograd.record():
        for k, v in enumerate(x[:]):
            total = total + v * v
            if k == 0:
                x.attach_grad()
        total.backward()
    assert x.grad.tolist() == [0, 2, 4]


SCALAR = (
    "[5, 6, 7][i[1]]", "list(range(i[2]))", "x[:i[2]]", "x[i[1]]", "{x[1]: 1}[2.0]", "x[1] in [1.0, 2.0]", "x[1] == None", "str(x[1])",
    "f'{x[1]:5.2f}'", "'%d' % x[1]", "x[1].shape", "x[1][()]", "x[1][None]", "json.dumps([x[1]], default=float)", "math.sqrt(x[1])",
    "round(x[1], 1)", "x[1].astype('int32').dtype", "x[1].item()", "x[1].tolist()", "max(x[0], x[2])", "sum(x)", "2 ** x[1]", "x[2] // 2",
    "i[1] / i[2]", "i[1] << 2", "~i[1]", "complex(x[1])", "np.float32(3) * x[1]", "x[1] * numpy.float32(2)", "numpy.ones(3) * x[1]",
    "i[1] + numpy.int64(3)", "x[1] + x[1:]", "(x[0] > 0) & (x[1] > 1)", "x[x[0] > 0]", "np.clip(x[1], 0, 1)", "x[-i[1]]", "np.zeros(i[2])",
    "pickle.loads(pickle.dumps(x[1]))", "copy.deepcopy(x[1])", "np.random.default_rng(i[1]).random(2)", "numpy.array([x[0], x[1]])",
)  # fmt: skip


REPEATED = [
    "[0] * x.sum()",
    "x.max() * (1, 2)",
    "'ab' * x[2]",
    "b'ab' * np.argmax(x)",
    "[0] * (x.max() + 1)",
    "[1, 2] * x[2:3]",
    "[2] * np.array(3)",
]


@pytest.mark.parametrize("text", REPEATED)
def test_an_element_repeats_a_sequence(text):
    found, wanted = (eval(text, {"np": xp, "x": xp.arange(4)}) for xp in (np, numpy))
    assert (type(found) in (list, tuple, str, bytes)) == (type(wanted) in (list, tuple, str, bytes))
    assert list(found) == list(wanted)
    with pytest.raises(TypeError):
        [1, 2] * np.ones(3).sum()
    total = np.arange(3).sum()
    total *= [0, 1]
    assert total == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("text", SCALAR)
def test_an_element_is_used_as_numpys_scalar_is(text):
    found = []
    for module in (np, numpy):
        env = {"np": module, "numpy": numpy, "json": json, "math": math, "pickle": pickle, "copy": copy}
        env |= {"x": module.array([1.0, 2.0, 3.0]), "i": module.array([0, 1, 2])}
        found.append(str(eval(text, env)))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("exponent", [2, 2.0, 3])
def test_powers_are_numpys(dtype, exponent):
    values = numpy.array([0, 1, 1.7, 3, 16]).astype(dtype)
    own, expected = np.array(values) ** exponent, values**exponent
    assert own.dtype == expected.dtype
    numpy.testing.assert_array_equal(own.asnumpy(), expected)


def test_adding_to_an_element_in_place_makes_a_new_one():
    x = np.arange(3.0)
    a = b = x[1]
    a += 1
    assert (a.item(), b.item(), x.tolist()) == (2.0, 1.0, [0, 1, 2])


def test_a_pending_large_array_is_computed_when_an_element_is_asked_for():
    x = np.ones(100_000)
    for i in range(3):
        y = x + i
        assert y[i] == 1 + i
        y[i] = 9.0
        assert y[i : i + 2].tolist() == [9, 1 + i]


def test_a_write_to_a_small_part_computes_what_is_still_to_read_the_array():
    x = np.ones(100_000)
    y = x * 2.0
    COUNTERS.reset()
    x[3] = 7.0
    assert COUNTERS.copied == 0
    assert (y[3].item(), x[3].item()) == (2, 7)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "float32", "bool", "complex64"])
def test_elements_keep_their_dtype(dtype):
    x = np.ones(3, dtype)
    assert [x[1].dtype, (x[1] * x[2]).dtype, (x * x[1]).dtype] == [x.dtype] * 3
    assert x[1].tolist() == 1


@pytest.mark.parametrize("name", ["__bool__", "__float__", "__int__", "__complex__", "__hash__", "__round__", "__array__", "item"])
def test_a_number_is_read_although_another_thread_has_made_an_array_of_it_meanwhile(name):
    total = np.arange(3.0).sum()
    assert type(total) is ndarrayElement
    begun = getattr(ndarrayElement, name)  # as the interpreter finds it, before it calls it
    total._held  # noqa: B018
    assert type(total) is ndarray
    assert begun(total) == (hash(3) if name == "__hash__" else True if name == "__bool__" else 3)


def test_formatting_and_integers_of_such_numbers():
    total = np.arange(3).sum()
    total._held  # noqa: B018
    assert ndarrayElement.__index__(total) == 3
    assert ndarrayElement.__format__(total, "05d") == "00003"
    assert ndarrayElement.__array__(total, copy=False) == 3


@pytest.mark.parametrize("text", ["np.trace(A)", "A.trace(1)", "np.shares_memory(A, C)", "np.may_share_memory(A, A)"])
def test_what_concerns_few_elements_of_a_large_array_numbers_none_of_the_others(text):
    own, theirs = ({"np": xp, "A": xp.ones((1000, 1000)), "C": xp.ones((1000, 1000))} for xp in (np, numpy))
    tracemalloc.start()
    found = eval(text, own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == eval(text, theirs)
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "text", ["np.interp(0.5, x, x)", "np.take(x, [1, 2])", "np.bincount(I, weights=x[:3])", "np.correlate(x[:5], x[:3])"]
)
def test_large_arrays_that_numpy_only_reads_are_not_copied(text):
    own, theirs = ({"np": xp, "x": xp.arange(1e6) / 1e6, "I": xp.array([1, 2, 0])} for xp in (np, numpy))
    own["x"].wait_to_read()
    tracemalloc.start()
    found = eval(text, own)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.tolist() == eval(text, theirs).tolist()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "text", ["np.random.seed(0)", "np.random.shuffle(np.arange(3))", "np.load(file)", "np.array(['a'])", "np.random.rand(2)"]
)
def test_no_device_is_chosen_where_none_is_named(text, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(3))
    entered = [*ENTERED]
    ENTERED.clear()
    try:
        eval(text, {"np": np, "file": tmp_path / "x.npy"})
        assert ENTERED == []
    finally:
        ENTERED[:] = entered
