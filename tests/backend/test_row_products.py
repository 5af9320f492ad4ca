"""Products of a few rows and a large matrix in machine code: values, and bits that depend on nothing else."""

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold_numpy import packing, products
from twofold_numpy.blas import blas
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.products import Multiplication, blocks_of, multiply

if not is_installed() or not packing.has_wide_vectors() or blas() is None:
    pytest.skip("no llvmlite, no vectors of 512 bits, or a BLAS with its own number of threads", allow_module_level=True)

from twofold_numpy.jit import row_products

#: (inner, columns): parts of vectors, of blocks and of pairs of columns, and one column.
SIZES = [(1, 1), (15, 2), (16, 33), (512, 16), (513, 7), (1000, 49), (2065, 40)]


def computed(a, b):
    """The product by the code, whatever its size."""
    (rows, inner), columns = a.shape, b.shape[1]
    out = np.full((rows, columns), np.nan, "float32")
    strides = (0, *a.strides), (0, *b.strides), (rows * columns * 4, columns * 4, 4)
    of = Multiplication(a.dtype, 1, rows, columns, inner, strides, blocks_of(rows, columns, inner, 4), True)
    row_products.row_product(blas(), of)(a, b, out)
    return out


@pytest.mark.parametrize(("inner", "columns"), SIZES)
def test_products_are_right_and_bits_do_not_depend_on_other_rows(inner, columns, monkeypatch):
    draw = np.random.default_rng(inner)
    a = draw.normal(size=(8, inner + 3)).astype("f")[:, :inner]
    b = draw.normal(size=(columns, inner + 5)).astype("f")[:, :inner].T
    want, scale = a.astype("d") @ b.astype("d"), np.abs(a).astype("d") @ np.abs(b).astype("d")
    found = computed(a, b)
    assert (np.abs(found - want) <= 2e-7 * scale + 1e-30).all()
    for threads in (1, 3):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        for rows in range(2, 9):
            for first in range(9 - rows):
                np.testing.assert_array_equal(computed(a[first : first + rows], b), found[first : first + rows])


def test_infinite_numbers_stay_in_their_rows_and_columns():
    a, b = np.ones((5, 700), "f"), np.ones((700, 9), "f", order="F")
    a[2, 699], b[3, 4] = np.inf, np.nan
    found = computed(a, b)
    assert np.isnan(found[:, 4]).all()
    assert np.isposinf(np.delete(found, 4, axis=1)[2]).all()
    assert (np.delete(np.delete(found, 4, axis=1), 2, axis=0) == 700).all()


def test_a_layer_with_a_small_batch_takes_it(monkeypatch):
    taken, make = [], row_products.row_product
    monkeypatch.setattr(row_products, "row_product", lambda library, of: taken.append((of.rows, of.is_few_rows)) or make(library, of))
    monkeypatch.setattr(products, "_bound", {})
    monkeypatch.setattr(SETTINGS, "jit", True)
    w = np.random.default_rng(0).normal(size=(700, 512)).astype("f")
    for rows in (1, 2, 8, 9):
        x = np.ones((rows, 512), "f")
        np.testing.assert_allclose(multiply(x, w.T), x.astype("d") @ w.T.astype("d"), rtol=0, atol=1e-3)
    assert [rows for rows, is_taken in taken if is_taken] == [2, 8]
    dense = mx.gluon.nn.Dense(700, in_units=512)
    dense.initialize()
    found = dense(mx.nd.ones((4, 512))).asnumpy()
    np.testing.assert_allclose(found, np.broadcast_to(dense.weight.data().asnumpy().sum(axis=1), (4, 700)), rtol=0, atol=1e-4)
