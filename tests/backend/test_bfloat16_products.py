"""Products of bfloat16 matrices: values in all layouts, with the processor's instructions and without."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

import twofold as mx
from twofold.config import SETTINGS
from twofold_numpy import bfloat16_products, products
from twofold_numpy.blas import blas
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.namespace import NumpyNamespace

if not is_installed() or blas() is None:
    pytest.skip("no llvmlite, or a BLAS with its own number of threads", allow_module_level=True)

from twofold_numpy.jit.compiler import compiler

own = compiler()
needs_instructions = pytest.mark.skipif(
    own is None or not own.has_bfloat16_products, reason="this processor has no instructions for products of bfloat16"
)
matmul = NumpyNamespace().matmul


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(products, "_bound", {})


def drawn(draw, shape, layout):
    """Numbers in one of the layouts: rows, columns, each row apart, every second number, rows backwards."""
    *lead, rows, columns = shape
    if layout == "columns":
        return draw.normal(size=(*lead, columns, rows)).astype(bfloat16).swapaxes(-1, -2)
    if layout == "apart":
        return draw.normal(size=(*lead, rows, columns + 3)).astype(bfloat16)[..., 1 : columns + 1]
    if layout == "every second":
        return draw.normal(size=(*lead, rows, 2 * columns)).astype(bfloat16)[..., ::2]
    x = draw.normal(size=shape).astype(bfloat16)
    return x[..., ::-1, :] if layout == "backwards" else x


LAYOUTS = ["rows", "columns", "apart", "every second", "backwards"]
#: Batches, rows, columns and the inner size.
SIZES = [((), 1, 700, 800), ((), 5, 170, 999), ((), 128, 64, 256), ((), 33, 130, 401), ((3,), 48, 64, 512), ((2, 4), 64, 96, 130)]


def compare(a, b):
    want, scale = a.astype("d") @ b.astype("d"), np.abs(a).astype("d") @ np.abs(b).astype("d")
    found = matmul(a, b)
    assert found.dtype == bfloat16
    # sums in float32, and one rounding to 8 bits
    assert (np.abs(found.astype("d") - want) <= np.abs(want) * 2.0**-8 + scale * 2e-6).all()
    return found


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_products_of_any_layout(first, second):
    draw = np.random.default_rng(len(first) * 7 + len(second))
    for lead, rows, columns, inner in SIZES:
        compare(drawn(draw, (*lead, rows, inner), first), drawn(draw, (*lead, inner, columns), second))


@needs_instructions
def test_instructions_are_used_where_there_are_any(monkeypatch):
    taken = []
    of = bfloat16_products.matmul
    monkeypatch.setattr(bfloat16_products, "matmul", lambda a, b: taken.append(of(a, b) is not None) or of(a, b))
    draw = np.random.default_rng(0)
    for rows, columns, inner in [(1, 1024, 512), (4, 256, 512), (128, 256, 512), (2, 3, 4)]:
        compare(drawn(draw, (rows, inner), "rows"), drawn(draw, (inner, columns), "columns"))
    assert taken == [True, True, True, False]
    dense = mx.gluon.nn.Dense(256, in_units=512, dtype="bfloat16")
    dense.initialize()
    found = dense(mx.nd.ones((4, 512), dtype="bfloat16")).astype("float32").asnumpy()
    sums = dense.weight.data().astype("float32").asnumpy().sum(axis=1)
    np.testing.assert_allclose(found, np.broadcast_to(sums, (4, 256)), rtol=2.0**-8, atol=1e-4)
    assert taken[4:] == [True]


@needs_instructions
def test_pairs_are_not_made_again_for_what_no_machine_code_takes(monkeypatch):
    made, of = [], bfloat16_products._pairs
    monkeypatch.setattr(bfloat16_products, "_refused", set())
    monkeypatch.setattr(bfloat16_products, "_pairs", lambda x, last: made.append(last) or of(x, last))
    draw = np.random.default_rng(2)
    a, b = drawn(draw, (9, 512), "rows"), drawn(draw, (512, 700), "rows")  # a third of the tiles of 8 rows would be in vain
    for _ in range(3):
        compare(a, b)
    assert made == [True, False]
    compare(drawn(draw, (64, 512), "rows"), b)
    assert made == [True, False] * 2


@needs_instructions
def test_sums_are_those_of_float32():
    """With sums in bfloat16, adding 1 to 256 would change nothing."""
    a, b = np.ones((8, 2048), bfloat16), np.ones((64, 2048), bfloat16).T
    assert (bfloat16_products.matmul(a, b) == 2048).all()
    a[3, 7], b[5, 9] = np.inf, np.nan
    found = bfloat16_products.matmul(a, b)
    assert np.isnan(found[:, 9]).all()
    others = np.delete(found, 9, axis=1)
    assert np.isposinf(others[3]).all()
    assert (np.delete(others, 3, axis=0) == 2048).all()


@needs_instructions
@pytest.mark.parametrize("rows", [6, 200])
def test_bits_depend_neither_on_threads_nor_on_other_rows(rows, monkeypatch):
    draw = np.random.default_rng(rows)
    a, b = drawn(draw, (rows, 700), "rows"), drawn(draw, (700, 600), "columns")
    found = bfloat16_products.matmul(a, b)
    assert found is not None
    for threads in (1, 3):
        monkeypatch.setattr(SETTINGS, "threads", threads)
        products._bound.clear()
        np.testing.assert_array_equal(bfloat16_products.matmul(a, b), found)
        np.testing.assert_array_equal(bfloat16_products.matmul(a[rows // 2 :], b), found[rows // 2 :])


def test_processors_without_the_instructions_multiply_float32(monkeypatch):
    if own is not None:
        monkeypatch.setattr(own, "has_bfloat16_products", False)
    monkeypatch.setattr(bfloat16_products, "multiply_pairs", None)  # no pairs are made
    draw = np.random.default_rng(1)
    for rows in (4, 128):
        a, b = drawn(draw, (rows, 512), "rows"), drawn(draw, (512, 256), "columns")
        assert bfloat16_products.matmul(a, b) is None
        compare(a, b)
