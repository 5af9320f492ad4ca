"""Products of small vectors and matrices in machine code: BLAS computes them without NumPy."""

import warnings

import numpy
import pytest

from twofold import autograd
from twofold import np as tnp

from tests.statements import frames_of

pytestmark = pytest.mark.usefixtures("code")

SIZES = (1, 2, 3, 7, 8, 16, 31, 64, 255, 511, 512, 513, 5000)


def vectors(n, dtype="float64", steps=(1, 1)):
    """NumPy's vectors and ours, with gaps between their elements."""
    random = numpy.random.default_rng(n)
    roots = [random.standard_normal(n * abs(step)).astype(dtype) for step in steps]
    return [[xp.array(root)[::step] for root, step in zip(roots, steps, strict=True)] for xp in (numpy, tnp)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("steps", [(1, 1), (3, 1), (2, -1), (-1, -3)])
@pytest.mark.parametrize("n", SIZES)
def test_products_have_the_bits_of_numpys_for_vectors_without_gaps(n, steps, dtype):
    (a, b), (x, y) = vectors(n, dtype, steps)
    wanted = numpy.dot(a.copy(), b.copy())
    for found in (x @ y, x.dot(y), tnp.dot(x, y)):
        assert (found.dtype, found.shape) == (wanted.dtype, ())
        if n < 4096:
            assert found == wanted
        else:
            numpy.testing.assert_allclose(float(found), wanted, rtol=1e-12 if dtype == "float64" else 1e-4, atol=1e-5)


#: Sizes of products: rows, inner size, columns; None: that operand is a vector.
PRODUCTS = [
    (m, k, n) for m in (None, 1, 2, 4, 7, 20) for k in (1, 2, 3, 8, 20) for n in (None, 1, 3, 4, 20) if m is not None or n is not None
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("m", "k", "n"), PRODUCTS)
def test_products_with_matrices_have_the_bits_of_numpys_for_matrices_without_gaps(m, k, n, dtype):
    random = numpy.random.default_rng(k)
    a, b = (random.standard_normal([s for s in shape if s is not None]).astype(dtype) for shape in ((m, k), (k, n)))
    wanted = a @ b
    for found in (tnp.array(a) @ tnp.array(b), tnp.array(a).dot(tnp.array(b))):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        numpy.testing.assert_array_equal(numpy.asarray(found), wanted)
    # rows of larger matrices
    wide = [numpy.zeros((*v.shape[:-1], v.shape[-1] + 3), dtype) for v in (a, b)]
    for v, w in zip((a, b), wide, strict=True):
        w[..., : v.shape[-1]] = v
    x, y = (tnp.array(w)[..., : v.shape[-1]] for v, w in zip((a, b), wide, strict=True))
    numpy.testing.assert_array_equal(numpy.asarray(x @ y), wanted)


@pytest.mark.parametrize(
    "text", ["A.T @ A", "A @ A.T", "A.T @ x", "x @ A.T", "A[:, ::2] @ x[:2]", "A.T[1:] @ A", "A[::-1] @ A[:, ::-1]", "A.T @ A[:, 1:2]"]
)
def test_products_of_transposed_matrices_have_the_bits_of_recorded_ones(text):
    random = numpy.random.default_rng(1)
    names = {"A": tnp.array(random.standard_normal((4, 4))), "x": tnp.array(random.standard_normal(4))}
    found = eval(text, {}, names)
    names["A"].attach_grad()
    with autograd.record():
        recorded = eval(text, {}, names)
    numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(recorded))
    numpy.testing.assert_allclose(numpy.asarray(found), eval(text, {}, {name: numpy.asarray(v) for name, v in names.items()}), rtol=1e-13)


def test_other_operands_are_multiplied_as_numpy_does():
    (a, b), (x, y) = vectors(4)
    assert float(x @ y.astype("float32")) == a @ b.astype("float32")
    assert int(tnp.arange(4) @ tnp.arange(4)) == 14
    assert (x @ (y + 1j)) == a @ (b + 1j)
    assert tnp.zeros(0) @ tnp.zeros(0) == 0
    assert (tnp.array([True, False]) @ tnp.array([True, True])).dtype == bool
    numpy.testing.assert_array_equal(numpy.asarray(tnp.ones((2, 4)) @ y), numpy.ones((2, 4)) @ b)
    for scalar in (lambda: x @ tnp.array(2.0), lambda: tnp.array(2.0) @ x):
        with pytest.raises(ValueError, match=r"matmul|dimension"):
            scalar()
    for way in (lambda: x @ y[1:], lambda: x.dot(y[1:]), lambda: tnp.dot(x[:0], y)):
        with pytest.raises(ValueError, match="4"):
            way()


@pytest.mark.parametrize("values", [[numpy.inf, 1.0], [numpy.nan, 1.0], [1e200, 1e200], [numpy.inf, -numpy.inf]])
def test_sums_that_are_not_finite_are_numpys_with_its_warnings(values):
    told = []
    for xp in (numpy, tnp):
        a = xp.array(values)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = a @ (a if values[0] == 1e200 else xp.ones(2))
            matrix = xp.array([values, values]) @ xp.ones((2, 3))
        told.append((str(float(result)), str(numpy.asarray(matrix)), [str(w.message) for w in caught]))
    assert told[0] == told[1]


def test_products_of_recorded_vectors_have_gradients():
    x, y = tnp.array([1.0, 2.0, 3.0]), tnp.array([4.0, 5.0, 6.0])
    x.attach_grad()
    with autograd.record():
        z = x @ y + x[1:] @ y[:2] + x.dot(x)
    z.backward()
    assert x.grad.tolist() == [6.0, 13.0, 17.0]


def test_products_wait_for_what_is_pending_and_see_writes():
    x, y = tnp.ones(300), tnp.arange(300.0)
    total = y * 2 + 1
    assert x @ total == 300 * 299 + 300
    row = total[10:20]
    total[12] = 1000.0
    assert row @ x[:10] == sum(2 * k + 1 for k in range(10, 20)) - 25 + 1000


@pytest.mark.parametrize(
    ("text", "most"),
    [("x @ y", 0), ("x[1:] @ y[:3]", 0), ("A[:, 1] @ x", 0), ("np.dot(A[1], A[:, 2])", 1), ("A @ A.T", 0), ("A @ x", 0), ("x @ A", 0)],
)
def test_products_enter_no_function_of_python(text, most):
    names = {"np": tnp, "x": tnp.ones(4), "y": tnp.ones(4), "A": tnp.ones((4, 4))}
    assert frames_of(text, names) <= most
