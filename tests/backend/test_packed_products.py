"""Products of float32 matrices in machine code that packs its operands: values, and bits that depend on nothing else."""

from types import FunctionType

import numpy as np
import pytest

import twofold as mx
from twofold.backend import workers
from twofold.config import SETTINGS
from twofold_numpy import packing, products
from twofold_numpy.blas import blas
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.products import Multiplication, _stacks, pieces_of

from .matrices import layouts, operands
from tests.cases import spread_in_ci

if not is_installed() or not packing.has_wide_vectors() or blas() is None:
    pytest.skip("no llvmlite, no vectors of 512 bits, or a BLAS with its own number of threads", allow_module_level=True)

from twofold_numpy.jit import packed_products

#: (batch, m, k, n): sides of whole tiles and of parts of them, more than one block of each side, and stacks.
SIZES = [
    (1, 64, 784, 128),
    (1, 32, 200, 800),
    (1, 16, 4096, 48),
    (1, 136, 513, 544),
    (1, 300, 1025, 170),
    (1, 8, 70_000, 16),
    (1, 1000, 64, 32),
    (12, 64, 32, 256),
    (3, 130, 70, 110),
]


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch):
    """Products are shared by two threads."""
    monkeypatch.setattr(SETTINGS, "threads", 2)


def transposed(x):
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def all_layouts(x):
    """`layouts`, and rows and columns backwards."""
    return [*layouts(x), x[..., ::-1, ::-1].copy()[..., ::-1, ::-1]]


def computed(a, b, pieces=None):
    """The product by the code, whatever its size."""
    first, second = _stacks(a, b)
    (batch, rows, inner), columns = first.shape, second.shape[2]
    out = np.full((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), rows, columns), np.nan, "float32")
    pieces = pieces_of(batch, rows, columns, inner) if pieces is None else pieces
    strides = first.strides, second.strides, (rows * columns * 4, columns * 4, 4)
    run = packed_products.packed_product(blas(), Multiplication(a.dtype, batch, rows, columns, inner, strides, pieces))
    run(a, b, out)
    return out


@pytest.fixture
def every_size(monkeypatch):
    """Small and narrow products are computed by the code, too."""
    monkeypatch.setattr(Multiplication, "is_packed", True)


@pytest.mark.parametrize(("batch", "m", "k", "n"), spread_in_ci(SIZES))
def test_products_are_right_in_all_layouts_and_by_any_number_of_threads(batch, m, k, n, monkeypatch):
    a, b = operands(batch, m, k, n)
    want = a.astype("float64") @ b.astype("float64")
    # each of k additions is rounded, relative to the sum of absolute products
    bound = 2 * np.finfo("float32").eps * np.sqrt(k) * (np.abs(a).astype("float64") @ np.abs(b).astype("float64"))
    bits = set()
    for first in all_layouts(a):
        for second in all_layouts(b):
            for count in (1, 2):
                monkeypatch.setattr(SETTINGS, "threads", count)
                found = computed(first, second)
                assert (np.abs(found - want) <= bound).all()
                bits.add(found.tobytes())
    assert len(bits) == 1


@pytest.mark.usefixtures("every_size")
def test_every_number_of_rows_and_columns_around_tiles():
    a, b = operands(1, 19, 21, 70)
    whole = computed(a, b)
    np.testing.assert_allclose(whole, a.astype("float64") @ b.astype("float64"), rtol=1e-4, atol=1e-5)
    for rows in range(1, 20):
        for columns in (*range(1, 36), 47, 48, 49, 63, 64, 65, 70):
            for first in (a[:rows], transposed(a[:rows])):
                for second in (b[:, :columns], transposed(b[:, :columns])):
                    # an element does not depend on the other rows and columns
                    np.testing.assert_array_equal(computed(first, second), whole[:rows, :columns])


@pytest.mark.usefixtures("every_size")
@pytest.mark.parametrize("inner", [1, 7, 8, 9, 511, 512, 513, 1030])
def test_every_length_of_sums(inner):
    a, b = operands(1, 24, inner, 40)
    want = a.astype("float64") @ b.astype("float64")
    for first in all_layouts(a):
        for second in all_layouts(b):
            np.testing.assert_allclose(computed(first, second), want, rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("every_size")
def test_numbers_that_are_not_finite_stay_in_their_rows_and_columns():
    a, b = operands(1, 21, 530, 37)
    a[20], b[:, 36] = np.nan, np.inf
    found = computed(a, b)
    assert np.isnan(found[20]).all()
    assert not np.isfinite(found[:, 36]).any()
    assert np.isfinite(found[:20, :36]).all()
    np.testing.assert_array_equal(found[:20, :36], computed(np.ascontiguousarray(a[:20]), np.ascontiguousarray(b[:, :36])))


@pytest.mark.usefixtures("every_size")
def test_results_are_written_inside_their_bounds():
    a, b = operands(1, 11, 33, 19)
    memory = np.full(11 * 19 + 64, 7, "float32")
    out = memory[32 : 32 + 11 * 19].reshape(11, 19)
    first, second = _stacks(a, b)
    of = Multiplication(a.dtype, 1, 11, 19, 33, (first.strides, second.strides, (11 * 19 * 4, 19 * 4, 4)), ((0, 1, 0, 11, 0, 19),))
    packed_products.packed_product(blas(), of)(a, b, out)
    np.testing.assert_allclose(out, a.astype("float64") @ b.astype("float64"), rtol=1e-4, atol=1e-5)
    assert (memory[:32] == 7).all()
    assert (memory[32 + 11 * 19 :] == 7).all()


@pytest.mark.parametrize("count", [1, 2])
def test_stacks_that_lie_apart(count, monkeypatch):
    monkeypatch.setattr(SETTINGS, "threads", count)
    monkeypatch.setattr(SETTINGS, "jit", True)
    draw = np.random.default_rng(0)
    # (texts, words, heads, size), as attention has them
    q, k = (draw.normal(size=(3, 80, 5, 32)).astype("float32") for _ in range(2))
    cases = [
        (q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1)),
        (q.transpose(0, 2, 1, 3), np.ascontiguousarray(k.transpose(0, 2, 3, 1))),
        (q.transpose(0, 2, 1, 3)[:, :, None], k.transpose(0, 2, 3, 1)[:, :, None]),
        (q.transpose(0, 2, 1, 3), np.broadcast_to(k[:1].transpose(0, 2, 3, 1), (3, 5, 32, 80))),
        (q.transpose(0, 2, 1, 3)[::-1], k.transpose(0, 2, 3, 1)[:, ::-1]),
    ]
    for a, b in cases:
        assert _stacks(a, b) is None
        found = products.multiply(a, b)
        assert isinstance(products._bound[a.dtype, a.shape, a.strides, b.shape, b.strides], FunctionType)
        plain = np.ascontiguousarray(a).reshape(-1, *a.shape[-2:]), np.ascontiguousarray(b).reshape(-1, *b.shape[-2:])
        np.testing.assert_array_equal(found.reshape(-1, *found.shape[-2:]), computed(*plain))
        np.testing.assert_allclose(found, a.astype("float64") @ b.astype("float64"), rtol=1e-3, atol=1e-4)


def test_a_matrix_that_is_broadcast_is_read_for_every_product():
    a, b = operands(4, 64, 200, 64)
    same = np.broadcast_to(b[:1], b.shape)
    np.testing.assert_array_equal(computed(a, same), computed(a, np.ascontiguousarray(same)))


@pytest.mark.parametrize(
    ("dtype", "sizes", "want"),
    [
        ("float32", (64, 784, 128), True),
        ("float64", (64, 784, 128), False),
        ("float32", (64, 64, 64), False),
        ("float32", (1, 10_000, 100), False),
        ("float32", (9, 10_000, 100), False),
        ("float32", (104, 1000, 17), False),
    ],
)
def test_which_products_are_packed(dtype, sizes, want):
    m, k, n = sizes
    assert packing.is_packed(np.dtype(dtype), 1, m, n, k) is want


def test_a_program_gets_the_same_bits_from_its_first_product_on(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(products._Patience, "used", 0)
    products._bound.clear()
    a, b = (mx.nd.array(x) for x in operands(1, 64, 784, 128))
    first = mx.nd.dot(a, b).asnumpy()
    np.testing.assert_array_equal(first, computed(a.asnumpy(), b.asnumpy()))
    assert workers.count() == 2
    for _ in range(products.PATIENCE + 1):
        np.testing.assert_array_equal(mx.nd.dot(a, b).asnumpy(), first)
