"""Reads and writes at index arrays and masks: NumPy's results, by one call of NumPy, without copies of the whole array."""

import tracemalloc

import numpy
import pytest

import twofold as mx
from twofold import np
from twofold.imperative.counters import COUNTERS

LARGE = 100_000


def arrays(np, n=LARGE):
    return {
        "np": np,
        "x": np.arange(n) * 0.5,
        "A": np.arange(n * 3).reshape(n, 3) % 17,
        "i": np.array([3, 1, -1, 3]),
        "rows": (np.arange(40) * 7) % n,
        "mask": np.arange(n) % 3 == 0,
        "k": np.arange(5)[3],
    }


READS = [
    "x[i]",
    "x[mask]",
    "A[rows]",
    "A[rows, 1]",
    "A[rows, i[0] - 2]",
    "A[:, ::2][rows]",
    "x[5:][mask[5:]]",
    "x[[4, 2]]",
    "A[1:9][:, [2, 0]]",
]
WRITES = [
    "x[i] = 1.5",
    "x[mask] = -1",
    "x[mask] *= 2",
    "A[rows] = 4",
    "A[rows, 1] += 3",
    "A[rows] = A[rows][:, ::-1]",
    "x[10:][mask[10:]] = 0.25",
    "np.add.at(x, i, 1.0)",
    "np.maximum.at(x, i, 30.0)",
    "np.subtract.at(A, (rows, rows % 3), 5)",
    "np.put(x, [0, 5], [7.0, 8.0])",
    "np.fill_diagonal(A[:3], 9)",
    "A[[0, 2]] = A[[2, 0]]",
]


@pytest.mark.parametrize("n", [50, LARGE])
@pytest.mark.parametrize("text", READS)
def test_index_arrays_select_what_numpy_selects(text, n):
    got, expected = eval(text, arrays(np, n)), eval(text, arrays(numpy, n))
    assert isinstance(got, np.ndarray)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    numpy.testing.assert_array_equal(numpy.asarray(got), expected)


@pytest.mark.parametrize("n", [50, LARGE])
@pytest.mark.parametrize("text", WRITES)
def test_writes_at_index_arrays_are_numpys_and_in_place(text, n):
    own, theirs = arrays(np, n), arrays(numpy, n)
    numpy.asarray(own["x"]), numpy.asarray(own["A"])
    COUNTERS.reset()
    exec(text, own)
    assert COUNTERS.copied == 0
    exec(text, theirs)
    for name in "xA":
        numpy.testing.assert_array_equal(numpy.asarray(own[name]), theirs[name])


def test_a_gather_from_a_large_array_is_not_deferred():
    x, i = np.arange(LARGE) * 0.5, np.array([3, 1])
    numpy.asarray(x)
    COUNTERS.reset()
    assert x[i].tolist() == [1.5, 0.5]
    assert (COUNTERS.deferred, COUNTERS.compiled) == (0, 0)


def test_a_write_at_index_arrays_leaves_what_is_still_to_read_the_array():
    x = np.ones(LARGE)
    y, alias = x * 2.0, x.copy()
    x[np.array([0, 1])] = 5.0
    assert (float(x[0]), float(y[0]), float(alias[0])) == (5, 2, 1)


@pytest.mark.parametrize("np_", [numpy, np], ids=["numpy", "twofold"])
def test_an_element_selects_as_a_number_and_gives_a_view(np_):
    A, k = np_.zeros((4, 5)), np_.array([2, 3])
    row = A[k[0]]
    row += 1
    A[k[0], k[1]] = 7
    A[k[0], 1:3] = 4
    k[k[0] - 2] += k[1]
    assert A[2].tolist() == [1, 4, 4, 7, 1]
    assert k.tolist() == [5, 3]
    assert (np_.arange(3)[k[1] - 2].shape, A[k[1]].shape) == ((), (5,))


def test_an_element_of_a_pending_array_gives_a_view():
    A, k = np.zeros((4, 5)), np.arange(LARGE) * 1
    row = A[k[2]]
    row += 1
    assert A.tolist() == [[0] * 5, [0] * 5, [1] * 5, [0] * 5]


@pytest.mark.parametrize("np_", [numpy, np], ids=["numpy", "twofold"])
def test_elements_found_by_elements_make_an_array(np_):
    before, k = np_.array([-1, 0, 1]), np_.array([2])[0]
    found = []
    while k >= 0:
        found.append(k)
        k = before[k]
    assert np_.array(found).tolist() == [2, 1, 0]


@pytest.mark.parametrize("text", ["x[i] = 1.5", "np.add.at(x, i, 2.0)"])
def test_a_recorded_write_at_index_arrays_has_a_gradient(text):
    x = np.ones(6)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 3.0
        exec(text, {"x": y, "i": np.array([0, 2]), "np": np})
        y.sum().backward()
    assert x.grad.tolist() == ([0, 3, 0, 3, 3, 3] if "=" in text else [3] * 6)


def test_index_errors_are_pythons():
    x = np.zeros(LARGE)
    with pytest.raises(IndexError):
        x[np.array([0, LARGE])]
    with pytest.raises(IndexError):
        x[np.array([LARGE])] = 1.0
    with pytest.raises(IndexError):
        x[np.array([0.5])]


def test_parts_of_a_large_array_are_updated_as_in_numpy():
    found = []
    for np_ in (numpy, np):
        A = np_.arange(90_000.0).reshape(300, 300)
        for k in range(1, 40):
            A[k, k:] -= A[0, k:] * 0.5
            A[k:, k] *= 2.0
            A.T[k, 3] += 1
        found.append(numpy.asarray(A))
    numpy.testing.assert_array_equal(*found)


def test_updating_a_part_of_a_large_array_defers_and_copies_nothing():
    A = np.ones((300, 300))
    numpy.asarray(A)
    COUNTERS.reset()
    for k in range(1, 40):
        A[k, k:] -= A[0, k:] * 0.5
    assert (COUNTERS.deferred, COUNTERS.copied, COUNTERS.rebound) == (0, 0, 0)
    assert A[39, 38:41].tolist() == [1, 0.5, 0.5]


def test_rows_of_a_large_transposed_array_are_views():
    A = np.arange(90_000.0).reshape(300, 300)
    rows = A.T
    assert rows[3, 1:4].tolist() == [303, 603, 903]
    row = rows[3]
    A[2, 3] = -1.0
    row[0] = -2.0
    assert (row[2].item(), A[0, 3].item(), rows[3][:3].tolist()) == (-1, -2, [-2, 303, -1])


PRODUCTS = ["A.T @ v", "w @ A.T", "np.dot(A.T, v)", "np.matmul(w, A.T)", "A[:7].T @ v[:7]", "A[:, 1:].T @ v", "A.T.T @ w"]


@pytest.mark.parametrize("rows", [9, 9000])
@pytest.mark.parametrize("text", PRODUCTS)
def test_products_of_transposed_matrices_and_vectors_have_numpys_bits_in_every_mode(text, rows):
    random = numpy.random.default_rng(3)
    host = {"np": numpy, "A": random.normal(size=(rows, 11)), "v": random.normal(size=rows), "w": random.normal(size=11)}
    own = {"np": np, **{k: np.array(host[k]) for k in "Avw"}}
    expected = eval(text, host)
    numpy.testing.assert_array_equal(numpy.asarray(eval(text, own)), expected)
    numpy.testing.assert_array_equal(numpy.asarray(eval(text, own | {"A": own["A"] + 0.0})), expected)
    own["A"].attach_grad()
    with mx.autograd.record():
        recorded = eval(text, own)
        recorded.sum().backward()
    numpy.testing.assert_array_equal(numpy.asarray(recorded), expected)
    assert float(abs(own["A"].grad).sum()) > 0


def test_a_product_of_a_large_transposed_matrix_and_a_vector_copies_no_matrix():
    A, v = np.ones((9000, 11)), np.ones(9000)
    product = lambda: numpy.asarray(A.T @ v)  # noqa: E731
    product()
    tracemalloc.start()
    assert product().tolist() == [9000.0] * 11
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < A.nbytes / 2
