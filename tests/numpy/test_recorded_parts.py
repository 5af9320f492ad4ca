"""What is recorded of large arrays by parts: few elements are gathered at once, slices are views, and gradients cost no array each."""

import tracemalloc

import numpy
import pytest

import twofold as mx
from asv_benchmarks.ratios import recorded_frames
from twofold import np
from twofold.imperative.counters import COUNTERS

from tests import probe
from tests.probe import tape_entry

LARGE = 200_000


def variable(values):
    x = np.array(values)
    x.attach_grad()
    return x


@pytest.fixture
def x():
    return variable(numpy.random.default_rng(0).normal(size=LARGE))


@pytest.fixture
def A():
    return variable(numpy.random.default_rng(1).normal(size=(4, 5)))


FEW = [
    "x[i]",
    "x[i[:3]]",
    "x[i.reshape(2, 2)]",
    "np.take(x, i)",
    "np.take(x, i, mode='wrap')",
    "x.take(i)",
    "x.reshape(-1, 4)[i]",
    "x.reshape(-1, 4)[:9, i // 2]",
    "x[5:][i]",
    "np.take(x.reshape(4, -1), i // 2, axis=0)[:, :5]",
]


@pytest.mark.parametrize("text", FEW)
def test_gathers_from_large_variables_have_numpys_values_and_gradients(x, text):
    i = numpy.array([3, 0, 7, 3])
    want = eval(text, {"x": x.asnumpy(), "i": i, "np": numpy})
    weights = numpy.arange(1.0, want.size + 1).reshape(want.shape)
    places = eval(text, {"x": numpy.arange(LARGE), "i": i, "np": numpy})
    gradient = numpy.zeros(LARGE)
    numpy.add.at(gradient, places, weights)
    for _ in range(3):
        with mx.autograd.record():
            y = eval(text, {"x": x, "i": np.array(i), "np": np})
            z = (y * np.array(weights)).sum()
        z.backward()
        numpy.testing.assert_array_equal(y.asnumpy(), want)
        numpy.testing.assert_array_equal(x.grad.asnumpy(), gradient)


@pytest.mark.parametrize("text", FEW[:6])
def test_few_elements_of_a_large_variable_are_gathered_at_once(x, text):
    names = {"x": x, "i": np.array([3, 0, 7, 3]), "np": np}
    for _ in range(3):
        COUNTERS.reset()
        with mx.autograd.record():
            eval(text, names)
    assert (COUNTERS.deferred, COUNTERS.windows) == (0, 0)


def test_many_elements_of_a_large_variable_join_what_reads_them(x):
    i = np.arange(LARGE)[::-1].copy()
    for _ in range(3):
        COUNTERS.reset()
        with mx.autograd.record():
            y = (x[i] * 2.0).sum()
        y.backward()
        x.grad.wait_to_read()
    assert COUNTERS.windows == 1
    assert x.grad[:3].tolist() == [2.0, 2.0, 2.0]


def test_gathers_and_slices_in_a_loop_add_to_one_gradient(x):
    i = np.array([5, 1, 5])

    def step():
        with mx.autograd.record():
            total = 0.0
            for k in range(10):
                total = total + (x[i + k] * (k + 1.0)).sum() + (x[k : k + 3] ** 2).sum()
        total.backward()

    for _ in range(3):
        step()
    host, want = x.asnumpy(), numpy.zeros(LARGE)
    for k in range(10):
        numpy.add.at(want, numpy.array([5, 1, 5]) + k, k + 1.0)
        want[k : k + 3] += 2 * host[k : k + 3]
    numpy.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-13)
    tracemalloc.start()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * x.nbytes


def test_a_gather_adds_to_the_gradient_of_the_whole(x):
    i = np.array([5, 1, 5])
    for _ in range(3):
        with mx.autograd.record():
            y = (x * x).sum() + (x[i] * 3.0).sum()
        y.backward()
    want = 2 * x.asnumpy()
    numpy.add.at(want, [5, 1, 5], 3.0)
    numpy.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-13)


def test_a_gradient_of_gathers_has_a_gradient():
    x, i = variable(numpy.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])), np.array([1, 1])
    with mx.autograd.record():
        y = (x[i] ** 3).sum() + (x[np.array([0, 1])] ** 2).sum()
        (first,) = mx.autograd.grad(y, [x], create_graph=True)
        z = (first * first).sum()
    z.backward()
    # dy/dx1 = 6 x1² + 2 x1, so that d(dy/dx1)²/dx1 = 2 (6 x1² + 2 x1) (12 x1 + 2)
    assert first.tolist() == [2.0, 28.0, 0, 0, 0, 0, 0]
    assert x.grad.tolist() == [8.0, 2 * 28 * 26.0, 0, 0, 0, 0, 0]


def test_contiguous_slices_of_a_large_variable_are_recorded_as_views(x):
    memory = probe.data(x)
    with mx.autograd.record():
        part = x[1 : LARGE - 9]._operand
        assert numpy.shares_memory(part.data, memory)
        y = (x[1:] - x[:-1]) ** 2
        z = y.sum()
    z.backward()
    step = numpy.diff(x.asnumpy())
    want = numpy.zeros(LARGE)
    want[1:] += 2 * step
    want[:-1] -= 2 * step
    numpy.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-12, atol=1e-12)


def test_a_write_after_a_recorded_view_leaves_what_the_tape_has_read(x):
    before = x.asnumpy()
    with mx.autograd.record():
        y = (x[: LARGE - 1] * x[: LARGE - 1]).sum()
    x[:] = 7.0
    assert float(y) == pytest.approx(float((before[:-1] ** 2).sum()))
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy()[:-1], 2 * before[:-1])


def test_recorded_operations_that_are_always_read_at_once_stop_waiting(x):
    def step():
        with mx.autograd.record():
            y = x * 2.0
            y.wait_to_read()
        return y

    for _ in range(6):
        step()
    COUNTERS.reset()
    y = step()
    assert (COUNTERS.deferred, COUNTERS.windows, COUNTERS.recorded) == (0, 0, 1)
    y.backward()
    assert x.grad[:2].tolist() == [2.0, 2.0]


def test_a_recorded_operation_that_others_join_keeps_waiting(x):
    for _ in range(8):
        COUNTERS.reset()
        with mx.autograd.record():
            y = x * 2.0
            z = (y + 1.0).sum()
        z.backward()
        x.grad.wait_to_read()
    assert COUNTERS.windows == 1


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("A[i]", 16),
        ("A[i[:2]]", 24),
        ("A[:, i]", 16),
        ("np.take(A, i, axis=0)", 26),
        ("A.T.ravel()", 12),
        ("A.T.reshape(2, 10)", 12),
        ("A ** 2", 5),
    ],
)
def test_recorded_parts_enter_few_functions(A, text, most):
    i = np.array([2, 0, 2])
    function = eval(f"lambda: {text}", {"A": A, "i": i, "np": np})
    assert recorded_frames(function) <= most


VIEWS = [
    "A.T.ravel()",
    "A.T.reshape(2, -1)",
    "A.T.flatten()",
    "A[::2].ravel()",
    "A.T[1:].reshape(-1)",
    "A.T @ A[:, 0]",
    "A.T @ A",
    "A[0] @ A.T",
]


@pytest.mark.parametrize("text", VIEWS)
@pytest.mark.parametrize("scale", [1, 30])
def test_recorded_copies_of_views_and_products_agree_with_differences(text, scale):
    host = numpy.random.default_rng(2).normal(size=(4 * scale, 5 * scale))
    A = variable(host)
    for _ in range(3):
        with mx.autograd.record():
            y = eval(text, {"A": A})
            z = (y * y).sum()
        z.backward()
    numpy.testing.assert_allclose(y.asnumpy(), eval(text, {"A": host}), rtol=1e-12, atol=1e-12)
    direction = numpy.random.default_rng(3).normal(size=host.shape)
    value = lambda step: (eval(text, {"A": host + step * direction}) ** 2).sum()  # noqa: E731
    difference = (value(1e-5) - value(-1e-5)) / 2e-5
    assert float((A.grad.asnumpy() * direction).sum()) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("text", ["A.T.ravel()", "A.T.reshape(-1)"])
def test_a_copy_of_a_recorded_view_is_made_once(A, text):
    function = eval(f"lambda: {text}", {"A": A})
    for _ in range(3):
        with mx.autograd.record():
            COUNTERS.reset()
            function()
    assert COUNTERS.recorded == 1


def test_a_product_with_a_recorded_transposed_matrix_copies_no_matrix(A):
    c = np.ones(4)
    for _ in range(3):
        with mx.autograd.record():
            COUNTERS.reset()
            A.T @ c
    assert COUNTERS.recorded == 1


def test_a_power_of_two_is_recorded_as_a_square():
    x = variable(numpy.array([3.0, -2.0, 0.0]))
    for _ in range(3):
        with mx.autograd.record():
            y = x**2
        y.backward()
        assert (y.tolist(), x.grad.tolist()) == ([9.0, 4.0, 0.0], [6.0, -4.0, 0.0])


SORTED = [
    ("np.sort(x)", numpy.array([3.0, 1.0, 2.0, 1.0, numpy.inf])),
    ("np.sort(x, axis=0)", numpy.array([[3.0, 1.0], [2.0, 5.0], [2.5, -1.0]])),
    ("np.sort(x, axis=None)", numpy.array([[3.0, 1.0], [2.0, 5.0]])),
    ("np.sort(x.T)", numpy.array([[3.0, 1.0], [2.0, 5.0], [2.5, -1.0]])),
]


@pytest.mark.parametrize(("text", "values"), SORTED)
def test_sorting_is_recorded_without_the_places(text, values):
    x = variable(values)
    with mx.autograd.record():
        y = eval(text, {"np": np, "x": x})
        assert all(v.data.dtype == numpy.float64 for v in tape_entry(y).saved)
        z = (y * np.arange(1.0, y.size + 1).reshape(y.shape)).sum()
    z.backward()
    numpy.testing.assert_array_equal(y.asnumpy(), eval(text, {"np": numpy, "x": values}))
    rank = (eval(text, {"np": numpy, "x": values}), numpy.arange(1.0, y.size + 1).reshape(y.shape))
    for value in numpy.unique(values):  # equal elements share their weights in any order
        assert x.grad.asnumpy()[values == value].sum() == rank[1][rank[0] == value].sum()


@pytest.mark.parametrize("operation", ["p * 0.5", "p + p", "np.tanh(p)", "-p", "np.multiply(p, 0.5)"])
@pytest.mark.parametrize("part", ["a.T", "np.swapaxes(a, 0, -1)", "np.broadcast_to(a[0], (4, 5)).T"])
def test_results_on_transposed_views_are_row_major_so_reshapes_of_them_are_views(A, part, operation):
    # from the second time on, the operation is recorded on a short path, which uses NumPy's function directly
    for _ in range(3):
        with mx.autograd.record():
            a = A * 1.0
            p = eval(part, {"np": np, "a": a})
            result = eval(operation, {"np": np, "p": p})
            seen = result.reshape(2, -1)
            result[0] = 100.0
        assert (seen.asnumpy() == 100).sum() == (result.asnumpy() == 100).sum() == result.shape[-1]


def test_an_element_of_a_result_is_an_operand():
    for _ in range(3):  # the short path too
        x = np.array([1.0, 2.0, 4.0])
        x.attach_grad()
        with mx.autograd.record():
            loss = ((x * 3.0)[1] - 0.5) ** 2
        loss.backward()
        assert x.grad.tolist() == [0.0, 33.0, 0.0]
